/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/steps.h"

#include <string.h>

#include "reconcilers/plan/start.h"

const char *ek_rehearse_change_name(enum ek_rehearse_change change)
{
    static const char *const names[] = {"before", "binary", "emulation", "minimum compatibility",
                                        "way back"};

    return change < EK_REHEARSE_CHANGE_MAX ? names[change] : "";
}

static struct ek_minor at_least(struct ek_minor v, struct ek_minor floor)
{
    return ek_minor_cmp(v, floor) < 0 ? floor : v;
}

/* The default of a minimum compatibility version. */
static struct ek_minor compat_of(struct ek_minor emulation, struct ek_minor binary)
{
    return at_least(ek_minor_offset(emulation, -1), ek_start_floor(binary));
}

static void add(struct ek_rehearse_step *steps, size_t *n, enum ek_rehearse_change change,
                struct ek_minor binary, struct ek_minor emulation, struct ek_minor min_compat)
{
    bool emulates = ek_minor_cmp(emulation, binary) < 0;
    bool is_default = ek_minor_cmp(min_compat, compat_of(emulation, binary)) == 0;

    if (*n < EK_REHEARSE_STEPS_MAX)
        steps[(*n)++] = (struct ek_rehearse_step){.change = change,
                                                  .binary = binary,
                                                  .emulation = emulation,
                                                  .min_compat = min_compat,
                                                  .says_emulation = emulates,
                                                  .says_min_compat = !is_default};
}

const char *ek_rehearse_steps(const struct ek_rehearse_route *route,
                              struct ek_rehearse_step steps[EK_REHEARSE_STEPS_MAX], size_t *ret_n)
{
    struct ek_minor to = route->binary, from = route->from, old = route->old_binary;
    struct ek_minor floor = ek_start_floor(to);
    size_t n = 0;

    *ret_n = 0;
    if (ek_minor_cmp(from, to) > 0)
        return "the cluster is newer than --kube-apiserver";
    if (ek_minor_cmp(from, floor) < 0)
        return "--kube-apiserver cannot emulate the version of the cluster: rehearse an older "
               "binary first";
    if (old.known && (ek_minor_cmp(old, from) < 0 || ek_minor_cmp(from, ek_start_floor(old)) < 0))
        return "--kube-apiserver-old cannot run the version of the cluster";
    struct ek_minor compat = route->min_compat.known ? route->min_compat : compat_of(from, to);
    struct ek_minor held = at_least(compat, floor);
    if (old.known) {
        struct ek_minor before = at_least(compat, ek_start_floor(old));
        add(steps, &n, EK_REHEARSE_BEFORE, old, from, before);
        steps[n - 1].old_binary = true;
    }
    add(steps, &n, EK_REHEARSE_BINARY, to, from, held);
    for (struct ek_minor at = ek_minor_offset(from, 1); ek_minor_cmp(at, to) <= 0;
         at = ek_minor_offset(at, 1))
        add(steps, &n, EK_REHEARSE_EMULATION, to, at, held);
    if (ek_minor_cmp(compat_of(to, to), held) > 0)
        add(steps, &n, EK_REHEARSE_MIN_COMPAT, to, to, compat_of(to, to));
    add(steps, &n, EK_REHEARSE_BACK, old.known ? old : to, from,
        at_least(compat, ek_start_floor(old.known ? old : to)));
    steps[n - 1].old_binary = old.known;
    *ret_n = n;
    return NULL;
}

struct ek_minor ek_rehearse_version(const char *text)
{
    static const char word[] = "Kubernetes ";
    const char *at = strstr(text, word);

    return at ? ek_minor_parse(at + sizeof word - 1) : EK_MINOR_UNKNOWN;
}
