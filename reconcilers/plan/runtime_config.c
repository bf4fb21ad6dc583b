/* SPDX-License-Identifier: Apache-2.0 */
/* --runtime-config: keys, values, and what a server refuses. */
#include "reconcilers/plan/runtime_config-internal.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/plan/features-internal.h"

#define CORE "/v1"

static const char *const levels[] = {"api/all", "api/ga", "api/beta", "api/alpha"};

static bool is_level(const char *key)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(levels); i++)
        if (!strcmp(key, levels[i]))
            return true;
    return false;
}

static bool starts_with(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

/* ---- Reading ---- */

static const char *copy(struct ek_arena *arena, struct ek_str s)
{
    s = ek_feature_trim__(s);
    return ek_arena_strndup(arena, s.len ? s.p : "", s.len);
}

/* Options.Complete makes one key of all that name the core group, and forgets api/legacy. */
static const char *complete(const char *key)
{
    if (!strcmp(key, "api/legacy"))
        return NULL;
    return !strcmp(key, "v1") || starts_with(key, "v1/") || !strcmp(key, "api/v1") ||
                   starts_with(key, "api/v1/")
               ? CORE
               : key;
}

void ek_runtime_config_read__(const char *text, struct ek_arena *arena,
                              struct ek_runtime_config *ret)
{
    size_t max = 1, n = 0;

    for (const char *p = text; *p; p++)
        max += *p == ',';
    struct ek_runtime_setting *list = ek_arena_alloc(arena, max * sizeof *list);
    for (const char *p = text; *p; p += *p == ',') {
        size_t len = strcspn(p, ","), left = strcspn(p, ",="), at = 0;
        if (!len)
            continue;
        const char *key = complete(copy(arena, (struct ek_str){p, left}));
        const char *value =
            left < len ? copy(arena, (struct ek_str){p + left + 1, len - left - 1}) : "";
        p += len;
        if (!key)
            continue;
        while (at < n && strcmp(list[at].key, key) != 0)
            at++;
        list[at] = (struct ek_runtime_setting){key, value};
        n += at == n;
    }
    *ret = (struct ek_runtime_config){list, n};
}

/* strconv.ParseBool: -1 for another spelling. */
static int parse_bool(const char *s)
{
    static const char *const words[2][6] = {{"0", "f", "F", "false", "FALSE", "False"},
                                            {"1", "t", "T", "true", "TRUE", "True"}};
    for (size_t i = 0; i < 12; i++)
        if (!strcmp(s, words[i / 6][i % 6]))
            return i >= 6;
    return -1;
}

static int value_of(const struct ek_runtime_setting *s)
{
    if (is_level(s->key))
        return !strcmp(s->value, "true") ? 1 : !strcmp(s->value, "false") ? 0 : -1;
    return *s->value ? parse_bool(s->value) : 1;
}

static const struct ek_runtime_setting *find(const struct ek_runtime_config *config,
                                             const char *key)
{
    for (size_t i = 0; i < config->n; i++)
        if (!strcmp(config->list[i].key, key))
            return &config->list[i];
    return NULL;
}

int ek_runtime_config_get__(const struct ek_runtime_config *config, const char *key)
{
    const struct ek_runtime_setting *s = find(config, key);

    return s ? value_of(s) : -1;
}

/* ---- Refusals ---- */

/* The parts of a key between its slashes; parts[3] and what follows are not kept. */
struct key {
    const char *parts[3];
    size_t n;
};

static struct key split(const char *text, struct ek_arena *arena)
{
    struct key ret = {.n = 0};

    for (const char *p = text;; p++) {
        size_t len = strcspn(p, "/");
        if (ret.n < EK_ARRAY_SIZE(ret.parts))
            ret.parts[ret.n] = ek_arena_strndup(arena, p, len);
        ret.n++;
        p += len;
        if (!*p)
            return ret;
    }
}

/* Validation of the options: what is said before the server reads any API. */
static const char *conflict(const struct ek_runtime_config *config, struct ek_arena *arena)
{
    static const char *const keys[] = {"flowcontrol.apiserver.k8s.io/v1", "api/ga", "api/all"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(keys); i++) {
        const struct ek_runtime_setting *s = find(config, keys[i]);
        if (s && !strcmp(s->value, "true"))
            return NULL;
        if (s && !strcmp(s->value, "false"))
            return ek_arena_printf(arena,
                                   "--runtime-config=%s=false conflicts with "
                                   "--enable-priority-and-fairness=true",
                                   keys[i]);
    }
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char *unknown_groups(const struct ek_runtime_config *config,
                                  const struct ek_plan_data *data, struct ek_arena *arena)
{
    const char **list = ek_arena_alloc(arena, (config->n + 1) * sizeof(char *));
    const char *text = NULL;
    size_t n = 0;

    for (size_t i = 0; i < config->n; i++) {
        const char *key = config->list[i].key;
        if (is_level(key))
            continue;
        const struct key k = split(key, arena);
        if (k.n != 2 && k.n != 3)
            return ek_arena_printf(arena, "runtime-config invalid key %s", key);
        if (!yyjson_obj_get(data->priority, k.parts[0]))
            list[n++] = ek_arena_printf(arena, "%s/%s", k.parts[0], k.parts[1]);
    }
    if (n)
        qsort(list, n, sizeof *list, by_text);
    for (size_t i = 0; i < n; i++) /* a set */
        if (!i || strcmp(list[i], list[i - 1]) != 0)
            text = text ? ek_arena_printf(arena, "%s,%s", text, list[i]) : list[i];
    return text ? ek_arena_printf(arena, "unknown api groups %s", text) : NULL;
}

static bool is_registered(const struct ek_plan_data *data, const struct key *k)
{
    yyjson_val *version;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(data->priority, k->parts[0]), i, n, version)
    {
        if (yyjson_equals_str(version, k->parts[1]))
            return true;
    }
    return false;
}

static bool has_upper(const char *s)
{
    for (; *s; s++)
        if (*s >= 'A' && *s <= 'Z')
            return true;
    return false;
}

/* A key with the form of a version or a resource, of a group that is registered. */
static const char *bad_setting(const struct ek_runtime_setting *s, const struct ek_plan_data *data,
                               struct ek_arena *arena)
{
    const struct key k = split(s->key, arena);

    if (!is_registered(data, &k))
        return ek_arena_printf(arena, "group version %s%s%s that has not been registered",
                               k.parts[0], *k.parts[0] ? "/" : "", k.parts[1]);
    if (value_of(s) < 0)
        return ek_arena_printf(
            arena,
            "invalid value of %s: %s, err: strconv.ParseBool: parsing \"%s\": invalid syntax",
            s->key, s->value, s->value);
    if (k.n == 3 && has_upper(k.parts[2]))
        return ek_arena_printf(arena,
                               "invalid key %s: group/version/resource and resource is always "
                               "lowercase plural, not \"%s\"",
                               s->key, k.parts[2]);
    return NULL;
}

const char *ek_runtime_config_refusal__(const struct ek_runtime_config *config,
                                        const struct ek_plan_data *data, bool no_fairness,
                                        struct ek_arena *arena)
{
    const char *why = no_fairness ? NULL : conflict(config, arena);

    if (!why && config->n == 1 && !ek_runtime_config_get__(config, levels[0]))
        why = "invalid runtime-config with only api/all=false";
    if (!why)
        why = unknown_groups(config, data, arena);
    for (size_t i = 0; i < EK_ARRAY_SIZE(levels) && !why; i++) {
        const struct ek_runtime_setting *s = find(config, levels[i]);
        if (s && value_of(s) < 0)
            why = ek_arena_printf(arena, "invalid value %s=%s", s->key, s->value);
    }
    for (size_t i = 0; i < config->n && !why; i++)
        if (!is_level(config->list[i].key))
            why = bad_setting(&config->list[i], data, arena);
    return why;
}
