/* SPDX-License-Identifier: Apache-2.0 */
/* The gates of a process: settings, special gates, dependencies. */
#include "reconcilers/plan/features.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/quote.h"
#include "reconcilers/plan/features-internal.h"

/* A growing list of problems. */
struct problems {
    struct ek_arena *arena;
    struct ek_feature_problem *list;
    size_t n, max;
};

static void add(struct problems *p, enum ek_feature_problem_kind kind, const char *gate,
                const char *text)
{
    if (p->n == p->max) {
        size_t max = p->max ? p->max * 2 : 8;
        struct ek_feature_problem *list = ek_arena_alloc(p->arena, max * sizeof *list);
        if (p->n)
            memcpy(list, p->list, p->n * sizeof *list);
        p->list = list;
        p->max = max;
    }
    p->list[p->n++] = (struct ek_feature_problem){kind, gate, text};
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct ek_feature_problem *)a)->text,
                  ((const struct ek_feature_problem *)b)->text);
}

static const char *bool_text(bool value)
{
    return value ? "true" : "false";
}

void ek_features_init(struct ek_features *gates, const struct ek_feature_registry *registry,
                      struct ek_arena *arena, struct ek_minor emulation, struct ek_minor min_compat)
{
    *gates = (struct ek_features){
        .registry = registry,
        .arena = arena,
        .emulation = emulation,
        .min_compat = min_compat.known ? min_compat : ek_minor_offset(emulation, -1),
        .values = ek_arena_alloc(arena, registry->n + 1),
    };
    memset(gates->values, -1, registry->n + 1);
}

static const struct ek_feature_spec *spec_of(const struct ek_features *gates,
                                             const struct ek_feature *gate)
{
    return ek_feature_spec_at(gate, gates->emulation, gates->min_compat);
}

static bool value_of(const struct ek_features *gates, const signed char *values, size_t i)
{
    return values[i] < 0 ? spec_of(gates, &gates->registry->gates[i])->on : values[i] > 0;
}

bool ek_features_on(const struct ek_features *gates, const struct ek_feature *gate)
{
    return value_of(gates, gates->values, (size_t)(gate - gates->registry->gates));
}

/* ---- Text ---- */

struct ek_str ek_feature_trim__(struct ek_str s)
{
    while (s.len && strchr(" \t\n\v\f\r", s.p[0]) && s.p[0]) {
        s.p++;
        s.len--;
    }
    while (s.len && strchr(" \t\n\v\f\r", s.p[s.len - 1]) && s.p[s.len - 1])
        s.len--;
    return s;
}

/* Go's strconv.ParseBool. */
static bool parse_bool(struct ek_str s, bool *ret)
{
    static const char *const words[] = {"1", "t", "T", "true",  "TRUE",  "True",
                                        "0", "f", "F", "false", "FALSE", "False"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++)
        if (ek_str_eq(s, ek_str_from(words[i]))) {
            *ret = i < EK_ARRAY_SIZE(words) / 2;
            return true;
        }
    return false;
}

static const char *bad_bool(struct ek_arena *arena, struct ek_str name, struct ek_str value)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    ek_buf_printf(&text, "invalid value of %.*s=%.*s, err: strconv.ParseBool: parsing ",
                  (int)name.len, name.p, (int)value.len, value.p);
    ek_quote(&text, value);
    ek_buf_puts(&text, ": invalid syntax");
    return ek_arena_strdup(arena, ek_buf_str(&text));
}

static void put_setting(struct ek_features *gates, struct ek_str name, bool on)
{
    for (size_t i = 0; i < gates->n_raw; i++)
        if (ek_str_eq(ek_str_from(gates->raw[i].name), name)) {
            gates->raw[i].on = on;
            return;
        }
    struct ek_feature_setting *raw = ek_arena_alloc(gates->arena, (gates->n_raw + 1) * sizeof *raw);
    if (gates->n_raw)
        memcpy(raw, gates->raw, gates->n_raw * sizeof *raw);
    raw[gates->n_raw++] =
        (struct ek_feature_setting){ek_arena_strndup(gates->arena, name.p, name.len), on};
    gates->raw = raw;
}

/* Reads the settings of a text; none is kept when one is malformed, as in the binary. */
static bool read_text(struct ek_features *gates, struct ek_str text, struct problems *problems)
{
    size_t n_before = gates->n_raw;
    struct ek_feature_setting *before =
        ek_arena_alloc(gates->arena, (n_before + 1) * sizeof *before);

    if (n_before)
        memcpy(before, gates->raw, n_before * sizeof *before);
    while (text.len) {
        const char *comma = memchr(text.p, ',', text.len);
        struct ek_str item = {text.p, comma ? (size_t)(comma - text.p) : text.len};
        text.p += item.len + (comma != NULL);
        text.len -= item.len + (comma != NULL);
        if (!item.len)
            continue;
        const char *equals = memchr(item.p, '=', item.len);
        struct ek_str name = ek_feature_trim__(
            (struct ek_str){item.p, equals ? (size_t)(equals - item.p) : item.len});
        struct ek_str value = {0};
        bool on;
        if (equals)
            value = ek_feature_trim__(
                (struct ek_str){equals + 1, item.len - (size_t)(equals + 1 - item.p)});
        if (equals && parse_bool(value, &on)) {
            put_setting(gates, name, on);
            continue;
        }
        add(problems, EK_FEATURE_BAD_TEXT, "",
            equals ? bad_bool(gates->arena, name, value)
                   : ek_arena_printf(gates->arena, "missing bool value for %.*s", (int)name.len,
                                     name.p));
        gates->raw = before;
        gates->n_raw = n_before;
        return false;
    }
    return true;
}

/* ---- Values ---- */

/* AllAlpha and AllBeta: every gate of the stage that has no value yet. */
static void fill(const struct ek_features *gates, signed char *values, enum ek_feature_stage stage,
                 bool on)
{
    for (size_t i = 0; i < gates->registry->n; i++) {
        const struct ek_feature *gate = &gates->registry->gates[i];
        if (values[i] < 0 && strcmp(gate->name, "AllAlpha") != 0 &&
            strcmp(gate->name, "AllBeta") != 0 && spec_of(gates, gate)->stage == stage)
            values[i] = on;
    }
}

static void apply(const struct ek_features *gates, const struct ek_feature_setting *setting,
                  signed char *values, struct problems *problems)
{
    const struct ek_feature *gate = ek_feature_find(gates->registry, ek_str_from(setting->name));
    struct ek_arena *arena = problems->arena;
    char emulation[EK_MINOR_SIZE], min_compat[EK_MINOR_SIZE];

    if (!gate) {
        add(problems, EK_FEATURE_UNKNOWN, setting->name,
            ek_arena_printf(arena, "unrecognized feature gate: %s", setting->name));
        return;
    }
    const struct ek_feature_spec *spec = spec_of(gates, gate);
    if (spec->locked && spec->on != setting->on) {
        add(problems, EK_FEATURE_LOCKED, gate->name,
            ek_arena_printf(arena, "cannot set feature gate %s to %s, feature is locked to %s",
                            gate->name, bool_text(setting->on), bool_text(spec->on)));
        return;
    }
    bool is_alpha = !strcmp(gate->name, "AllAlpha");
    if (is_alpha || !strcmp(gate->name, "AllBeta")) {
        fill(gates, values, is_alpha ? EK_FEATURE_ALPHA : EK_FEATURE_BETA, setting->on);
    } else if (spec->stage == EK_FEATURE_PRE_ALPHA) {
        add(problems, EK_FEATURE_TOO_NEW, gate->name,
            ek_arena_printf(arena,
                            "cannot set feature gate %s to %s, feature is PreAlpha at emulated "
                            "version %s, min compatibility version %s",
                            gate->name, bool_text(setting->on),
                            ek_minor_format(gates->emulation, emulation),
                            ek_minor_format(gates->min_compat, min_compat)));
        return;
    }
    values[gate - gates->registry->gates] = setting->on;
}

/* Each gate that is on needs all gates that it depends on. */
static void check_needs(const struct ek_features *gates, const signed char *values,
                        struct problems *problems)
{
    for (size_t i = 0; i < gates->registry->n; i++) {
        const struct ek_feature *gate = &gates->registry->gates[i];
        const char *off = "";
        if (!gate->n_needs || !value_of(gates, values, i))
            continue;
        for (size_t k = 0; k < gate->n_needs; k++)
            if (!value_of(gates, values, gate->needs[k]))
                off = ek_arena_printf(problems->arena, "%s%s%s", off, *off ? " " : "",
                                      gates->registry->gates[gate->needs[k]].name);
        if (*off)
            add(problems, EK_FEATURE_DEPENDENT, gate->name,
                ek_arena_printf(problems->arena,
                                "%s is enabled, but depends on features that are disabled: [%s]",
                                gate->name, off));
    }
}

void ek_features_set(struct ek_features *gates, struct ek_str text,
                     struct ek_feature_problems *ret_problems)
{
    struct problems problems = {.arena = gates->arena};
    signed char *values = ek_arena_alloc(gates->arena, gates->registry->n + 1);

    memcpy(values, gates->values, gates->registry->n);
    if (read_text(gates, text, &problems)) {
        for (size_t i = 0; i < gates->n_raw; i++)
            apply(gates, &gates->raw[i], values, &problems);
        if (!problems.n)
            check_needs(gates, values, &problems);
        if (!problems.n)
            gates->values = values;
    }
    if (problems.n)
        qsort(problems.list, problems.n, sizeof *problems.list, by_text);
    *ret_problems = (struct ek_feature_problems){problems.list, problems.n};
}
