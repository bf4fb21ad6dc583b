/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/spec.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/time.h"
#include "reconcilers/peers/address.h"
#include "reconcilers/skew/policy.h"
#include "reconcilers/skew/text.h"

#define PROBE_INTERVAL_MS 15000
#define PROBE_TIMEOUT_MS  5000
#define FORGET_AFTER_MS   600000
#define DAY_MS            (24LL * 3600000)

struct parser {
    struct ek_arena *arena;
    struct ek_skew_spec *spec;
};

__attribute__((format(printf, 2, 3))) static void complain(struct parser *p, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (p->spec->n_errors < EK_SPEC_ERRORS_MAX)
        p->spec->errors[p->spec->n_errors++] = ek_arena_strdup(p->arena, text);
}

static bool known_endpoint(const struct ek_skew_spec *spec, const char *s)
{
    for (size_t i = 0; i < spec->n_endpoints; i++)
        if (strcmp(spec->endpoints[i], s) == 0)
            return true;
    return false;
}

static void parse_endpoints(struct parser *p, yyjson_val *list)
{
    struct ek_skew_spec *spec = p->spec;
    char address[EK_ADDRESS_SIZE];
    spec->endpoints = ek_arena_alloc(p->arena, EK_SPEC_ENDPOINTS_MAX * sizeof(char *));
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
    {
        const char *s = yyjson_get_str(item);
        if (!ek_address_parse(s, address, NULL)) {
            complain(p, "spec.peers.endpoints[%zu]: %s is not \"ip:port\"", i,
                     s ? ek_skew_clean(p->arena, s) : "the value");
        } else if (spec->n_endpoints == EK_SPEC_ENDPOINTS_MAX) {
            complain(p, "spec.peers.endpoints: more than %d, the rest is ignored",
                     EK_SPEC_ENDPOINTS_MAX);
            return;
        } else if (!known_endpoint(spec, address)) {
            spec->endpoints[spec->n_endpoints++] = ek_arena_strdup(p->arena, address);
        }
    }
}

/* A duration field between min and max; fallback where it is absent or bad. */
static int64_t parse_duration(struct parser *p, yyjson_val *value, const char *field,
                              int64_t fallback, int64_t min, int64_t max)
{
    int64_t ms = 0;
    if (!value || yyjson_is_null(value))
        return fallback;
    const char *s = yyjson_get_str(value);
    if (!s || ek_duration_parse(s, &ms) < 0) {
        complain(p, "%s: not a duration such as \"15s\"", field);
        return fallback;
    }
    if (ms < min || ms > max) {
        complain(p, "%s: %s is not between %lldms and %llds", field, ek_skew_clean(p->arena, s),
                 (long long)min, (long long)(max / 1000));
        return fallback;
    }
    return ms;
}

static int parse_int(struct parser *p, yyjson_val *value, const char *field, int fallback, int max)
{
    if (!value || yyjson_is_null(value))
        return fallback;
    int64_t n = yyjson_is_int(value) ? yyjson_get_sint(value) : -1;
    if (n < 0 || n > max) {
        complain(p, "%s: not a whole number between 0 and %d", field, max);
        return fallback;
    }
    return (int)n;
}

static void parse_peers(struct parser *p, yyjson_val *peers)
{
    struct ek_skew_spec *spec = p->spec;
    const char *mode = ek_json_str(peers, "discovery", NULL);
    if (mode && strcmp(mode, "Static") == 0)
        spec->mode = EK_PEERS_STATIC;
    else if (mode && strcmp(mode, "Auto") != 0)
        complain(p, "spec.peers.discovery: %s is neither Auto nor Static",
                 ek_skew_clean(p->arena, mode));
    parse_endpoints(p, ek_json_get(peers, "endpoints", NULL));
    if (spec->mode == EK_PEERS_STATIC && spec->n_endpoints == 0) {
        complain(p, "spec.peers.endpoints: Static discovery needs at least one \"ip:port\"");
        spec->mode = EK_PEERS_AUTO;
    }
    spec->probe_interval_ms =
        parse_duration(p, ek_json_get(peers, "probeInterval", NULL), "spec.peers.probeInterval",
                       PROBE_INTERVAL_MS, 1000, 600000);
    spec->probe_timeout_ms =
        parse_duration(p, ek_json_get(peers, "probeTimeout", NULL), "spec.peers.probeTimeout",
                       PROBE_TIMEOUT_MS, 100, 60000);
    spec->forget_after_ms = parse_duration(p, ek_json_get(peers, "forgetAfter", NULL),
                                           "spec.peers.forgetAfter", FORGET_AFTER_MS, 0, DAY_MS);
}

static void parse_ignored(struct parser *p, yyjson_val *list)
{
    size_t i, max;
    yyjson_val *item;
    yyjson_arr_foreach(list, i, max, item)
    {
        const char *s = yyjson_get_str(item);
        int found = EK_COMPONENT_MAX;
        for (int c = 0; s && c < EK_COMPONENT_MAX; c++)
            if (strcmp(ek_component_name((enum ek_component)c), s) == 0)
                found = c;
        if (found < EK_COMPONENT_MAX)
            p->spec->policy.ignored |= 1u << found;
        else
            complain(p, "spec.skewPolicy.ignoredComponents[%zu]: no such component: %s", i,
                     s ? ek_skew_clean(p->arena, s) : "the value");
    }
}

static void parse_policy(struct parser *p, yyjson_val *policy)
{
    struct ek_skew_policy *out = &p->spec->policy;
    out->max_apiserver_skew = parse_int(p, ek_json_get(policy, "maxAPIServerSkew", NULL),
                                        "spec.skewPolicy.maxAPIServerSkew", 1, 3);
    out->max_controller_skew = parse_int(p, ek_json_get(policy, "maxControllerSkew", NULL),
                                         "spec.skewPolicy.maxControllerSkew", EK_SKEW_UNSET, 3);
    out->max_kubelet_skew = parse_int(p, ek_json_get(policy, "maxKubeletSkew", NULL),
                                      "spec.skewPolicy.maxKubeletSkew", EK_SKEW_UNSET, 5);
    out->grace_ms = parse_duration(p, ek_json_get(policy, "violationGracePeriod", NULL),
                                   "spec.skewPolicy.violationGracePeriod", 0, 0, DAY_MS);
    parse_ignored(p, ek_json_get(policy, "ignoredComponents", NULL));
}

static void parse_next_version(struct parser *p, yyjson_val *value)
{
    if (!value || yyjson_is_null(value))
        return;
    const char *s = yyjson_get_str(value);
    p->spec->next_version = ek_policy_usable(ek_minor_parse(s ? s : ""));
    if (!p->spec->next_version.known)
        complain(p, "spec.nextVersion: %s is not a version such as \"1.37\"",
                 s ? ek_skew_clean(p->arena, s) : "the value");
}

void ek_skew_spec_parse(const struct ek_obj *control_plane, struct ek_arena *arena,
                        struct ek_skew_spec *ret_spec)
{
    *ret_spec = (struct ek_skew_spec){0};
    ret_spec->errors = ek_arena_alloc(arena, EK_SPEC_ERRORS_MAX * sizeof(char *));
    struct parser p = {arena, ret_spec};
    yyjson_val *spec = control_plane ? ek_json_get(ek_obj_root(control_plane), "spec", NULL) : NULL;
    parse_peers(&p, ek_json_get(spec, "peers", NULL));
    parse_policy(&p, ek_json_get(spec, "skewPolicy", NULL));
    parse_next_version(&p, ek_json_get(spec, "nextVersion", NULL));
}

bool ek_skew_ignored(const struct ek_skew_spec *spec, enum ek_component component)
{
    return spec->policy.ignored & (1u << component);
}
