/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of a binary, read as the binary reads them. */
#include "reconcilers/plan/start.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/plan/features-internal.h"

#define COMPONENT "kube"
/* The floor of the oldest binaries that emulate (kubeEffectiveVersionFloors). */
#define OLDEST_FLOOR_MINOR 31
#define FLOOR_DISTANCE     3

enum our_flag { EMULATED, MIN_COMPAT, GATES, N_FLAGS };
static const char *const names[N_FLAGS] = {"emulated-version", "min-compatibility-version",
                                           "feature-gates"};

struct reader {
    struct ek_arena *arena;
    struct ek_start *start;
    size_t max;
    const char **values[N_FLAGS]; /* of each flag, in the order of the arguments */
    size_t n_values[N_FLAGS];
};

struct ek_minor ek_start_floor(struct ek_minor binary)
{
    struct ek_minor floor = ek_minor_offset(binary, -FLOOR_DISTANCE);
    struct ek_minor oldest = EK_MINOR(1, OLDEST_FLOOR_MINOR);

    return ek_minor_cmp(floor, oldest) < 0 ? oldest : floor;
}

static void refuse(struct reader *r, enum ek_start_stage stage, const char *text)
{
    struct ek_start *start = r->start;
    const char **errors = ek_arena_alloc(r->arena, (start->n_errors + 1) * sizeof(char *));

    if (start->n_errors)
        memcpy(errors, start->errors, start->n_errors * sizeof(char *));
    errors[start->n_errors++] = text;
    start->errors = errors;
    start->stage = stage;
}

/* ---- Arguments ---- */

/* The flag that an argument is; *ret_value is NULL when the value is the next argument. */
static enum our_flag flag_of(const char *arg, const char **ret_value)
{
    *ret_value = NULL;
    for (size_t i = 0; i < N_FLAGS && !strncmp(arg, "--", 2); i++) {
        size_t len = strlen(names[i]);
        if (strncmp(arg + 2, names[i], len) != 0)
            continue;
        if (arg[2 + len] == '=')
            *ret_value = arg + 3 + len;
        if (!arg[2 + len] || *ret_value)
            return (enum our_flag)i;
    }
    return N_FLAGS;
}

static bool read_args(struct reader *r, const char *const *args, size_t n)
{
    for (size_t f = 0; f < N_FLAGS; f++)
        r->values[f] = ek_arena_alloc(r->arena, (n + 1) * sizeof(char *));
    for (size_t i = 0; i < n; i++) {
        const char *value;
        enum our_flag flag = flag_of(args[i], &value);
        if (!strcmp(args[i], "--"))
            return true;
        if (flag == N_FLAGS)
            continue;
        if (!value && i + 1 == n) {
            refuse(r, EK_START_PARSE,
                   ek_arena_printf(r->arena, "flag needs an argument: --%s", names[flag]));
            return false;
        }
        r->values[flag][r->n_values[flag]++] = value ? value : args[++i];
    }
    return true;
}

/* ---- Versions ---- */

static const char *version_text(struct reader *r, const struct ek_version *v)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    ek_version_format(v, &text);
    return ek_arena_strdup(r->arena, ek_buf_str(&text));
}

/* One item of a version flag; *before is the text of the version that was set before. */
static bool read_item(struct reader *r, struct ek_str item, struct ek_minor *ret,
                      const char **before, const char **ret_unknown)
{
    const char *equals = item.len ? memchr(item.p, '=', item.len) : NULL;
    struct ek_str component = EK_STR(COMPONENT), value = item;
    struct ek_version v;
    EK_AUTO(ek_buf) why;

    if (equals) {
        component = ek_feature_trim__((struct ek_str){item.p, (size_t)(equals - item.p)});
        value = ek_feature_trim__(
            (struct ek_str){equals + 1, item.len - (size_t)(equals + 1 - item.p)});
    }
    ek_buf_init(&why, EK_BUF_SMALL_MAX);
    if (ek_version_parse(value, EK_VERSION_ANY, &v)) {
        ek_version_explain(value, EK_VERSION_ANY, &why);
        refuse(r, EK_START_SET, ek_arena_strdup(r->arena, ek_buf_str(&why)));
        return false;
    }
    const char *text = version_text(r, &v);
    const char *name = ek_arena_strndup(r->arena, component.p, component.len);
    if (v.patch) {
        refuse(r, EK_START_SET,
               ek_arena_printf(r->arena, "patch version not allowed, got: %s=%s", name, text));
        return false;
    }
    if (strcmp(name, COMPONENT) != 0) {
        *ret_unknown = name;
        return true;
    }
    if (*before) {
        refuse(r, EK_START_SET,
               ek_arena_printf(r->arena, "duplicate version flag, %s=%s and %s=%s", name, *before,
                               name, text));
        return false;
    }
    *before = text;
    *ret = EK_MINOR(v.major, v.minor);
    return true;
}

/* Reads all values of a version flag; *ret stays unknown where none sets it. */
static bool read_version(struct reader *r, enum our_flag flag, struct ek_minor *ret)
{
    const char *before = NULL, *unknown = NULL;

    for (size_t i = 0; i < r->n_values[flag]; i++) {
        const char *p = r->values[flag][i];
        while (*p) {
            size_t len = strcspn(p, ",");
            if (!read_item(r, (struct ek_str){p, len}, ret, &before, &unknown))
                return false;
            p += len;
            p += *p == ',';
        }
    }
    if (unknown)
        refuse(r, EK_START_SET, ek_arena_printf(r->arena, "component not registered: %s", unknown));
    return !unknown;
}

static bool read_versions(struct reader *r, struct ek_minor binary, struct ek_minor emulation,
                          struct ek_minor min_compat)
{
    struct ek_minor floor = ek_start_floor(binary);
    struct ek_minor ev = EK_MINOR_UNKNOWN, mcv = EK_MINOR_UNKNOWN;

    if (!read_version(r, EMULATED, &ev) || !read_version(r, MIN_COMPAT, &mcv))
        return false;
    if (emulation.known)
        ev = emulation;
    if (min_compat.known)
        mcv = min_compat;
    r->start->emulation = ev.known ? ev : binary;
    if (!mcv.known) {
        mcv = ek_minor_offset(r->start->emulation, -1);
        mcv = ek_minor_cmp(mcv, floor) < 0 ? floor : mcv;
    }
    r->start->min_compat = mcv;
    return true;
}

/* A version is allowed within the floor and the version above it. */
static void validate(struct reader *r, struct ek_minor binary)
{
    struct ek_minor floor = ek_start_floor(binary);
    struct ek_minor ev = r->start->emulation, mcv = r->start->min_compat;
    char low[EK_MINOR_SIZE], high[EK_MINOR_SIZE], at[EK_MINOR_SIZE];

    ek_minor_format(floor, low);
    if (ek_minor_cmp(ev, binary) > 0 || ek_minor_cmp(ev, floor) < 0)
        refuse(r, EK_START_VALIDATE,
               ek_arena_printf(r->arena, "emulation version %s is not between [%s, %s.0]",
                               ek_minor_format(ev, at), low, ek_minor_format(binary, high)));
    if (ek_minor_cmp(mcv, ev) > 0 || ek_minor_cmp(mcv, floor) < 0)
        refuse(r, EK_START_VALIDATE,
               ek_arena_printf(r->arena,
                               "minCompatibilityVersion version %s is not between [%s, %s]",
                               ek_minor_format(mcv, at), low, ek_minor_format(ev, high)));
}

/* ---- Feature gates ---- */

/* The settings of the component as one text; false when the flag is refused before it is read. */
static bool join_gates(struct reader *r, struct ek_buf *out)
{
    bool bare = false, prefixed = false;
    const char *unknown = NULL;

    for (size_t i = 0; i < r->n_values[GATES]; i++) {
        const char *p = r->values[GATES][i];
        while (*p) {
            struct ek_str item = {p, strcspn(p, ",")}, component = EK_STR("");
            p += item.len;
            p += *p == ',';
            if (!item.len)
                continue;
            const char *colon = memchr(item.p, ':', item.len);
            if (colon) {
                component = ek_feature_trim__((struct ek_str){item.p, (size_t)(colon - item.p)});
                item = (struct ek_str){colon + 1, item.len - (size_t)(colon + 1 - item.p)};
            }
            item = ek_feature_trim__(item);
            bare |= !component.len;
            prefixed |= ek_str_eq(component, EK_STR(COMPONENT));
            if (component.len && !ek_str_eq(component, EK_STR(COMPONENT)))
                unknown = ek_arena_strndup(r->arena, component.p, component.len);
            else if (ek_buf_printf(out, "%s%.*s", out->len ? "," : "", (int)item.len, item.p))
                unknown = "(the flag is too long)";
        }
    }
    if (bare && prefixed)
        refuse(r, EK_START_SET,
               "set kube feature gates with default empty prefix or kube: prefix consistently, do "
               "not mix use");
    else if (unknown)
        refuse(r, EK_START_SET, ek_arena_printf(r->arena, "component not registered: %s", unknown));
    return !(bare && prefixed) && !unknown;
}

static void read_gates(struct reader *r, const struct ek_feature_registry *registry)
{
    struct ek_start *start = r->start;
    EK_AUTO(ek_buf) text;

    ek_features_init(&start->gates, registry, r->arena, start->emulation, start->min_compat);
    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    if (!join_gates(r, &text))
        return;
    ek_features_set(&start->gates, (struct ek_str){ek_buf_str(&text), text.len}, &start->problems);
    for (size_t i = 0; i < start->problems.n; i++)
        refuse(r, EK_START_SET, start->problems.list[i].text);
}

void ek_start_read(const struct ek_feature_registry *registry, struct ek_minor binary,
                   const char *const *args, size_t n, struct ek_minor emulation,
                   struct ek_minor min_compat, struct ek_arena *arena, struct ek_start *ret_start)
{
    struct reader r = {.arena = arena, .start = ret_start};

    *ret_start = (struct ek_start){.stage = EK_START_OK};
    if (!read_args(&r, args, n) || !read_versions(&r, binary, emulation, min_compat))
        return;
    read_gates(&r, registry);
    if (ret_start->stage == EK_START_OK)
        validate(&r, binary);
}
