/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/plan_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/map.h"
#include "api/base/mem.h"
#include "test/support/suite.h"

const struct ek_skew_policy test_parts_defaults = {1, EK_SKEW_UNSET, EK_SKEW_UNSET, 0, 0};

static const struct {
    const char *word;
    enum ek_component component;
} words[] = {
    {"cp", EK_KUBE_APISERVER},    {"kcm", EK_KUBE_CONTROLLER_MANAGER},
    {"sched", EK_KUBE_SCHEDULER}, {"ccm", EK_CLOUD_CONTROLLER_MANAGER},
    {"kubelet", EK_KUBELET},      {"proxy", EK_KUBE_PROXY},
};

bool test_parts_is_node(const struct ek_part *part)
{
    return part->component == EK_KUBELET || part->component == EK_KUBE_PROXY;
}

size_t test_parts_parse(const char *text, struct ek_part parts[TEST_PARTS_MAX])
{
    static char names[TEST_PARTS_MAX][64];
    char copy[512], *save = NULL;
    size_t n = 0;

    snprintf(copy, sizeof copy, "%s", text);
    for (char *item = strtok_r(copy, ";", &save); item; item = strtok_r(NULL, ";", &save)) {
        char word[16];
        unsigned count = 1, bv = 0, ev = 0, mcv = 0;
        item += strspn(item, " ");
        size_t len = strcspn(item, "* ");
        snprintf(word, sizeof word, "%.*s", (int)len, item);
        if (item[len] == '*')
            count = (unsigned)strtoul(item + len + 1, &item, 10);
        else
            item += len;
        int got = sscanf(item, " %u/%u/%u", &bv, &ev, &mcv);
        ck_assert_int_ge(got, 1);
        snprintf(names[n], sizeof names[n], "%s-%zu", word, n);
        parts[n] =
            (struct ek_part){.name = names[n], .count = count, .component = EK_COMPONENT_MAX};
        for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++)
            if (!strcmp(word, words[i].word))
                parts[n].component = words[i].component;
        ck_assert_int_ne(parts[n].component, EK_COMPONENT_MAX);
        parts[n].nodes = test_parts_is_node(&parts[n]);
        parts[n].at = (struct ek_part_versions){EK_MINOR(1, bv), EK_MINOR(1, got > 1 ? ev : bv),
                                                EK_MINOR(1, got > 2 ? mcv : bv - 1)};
        n++;
    }
    return n;
}

void test_parts_print(const struct ek_part *parts, const struct ek_steps *steps, struct ek_buf *out)
{
    static const char letters[] = "bem";

    for (size_t i = 0; i < steps->n; i++) {
        const struct ek_upgrade_step *step = &steps->list[i];
        struct ek_minor to = step->kind == EK_UPGRADE_BINARY      ? step->after.binary
                             : step->kind == EK_UPGRADE_EMULATION ? step->after.emulation
                                                                  : step->after.min_compat;
        ek_buf_printf(out, "%s%s %c%u", i ? ", " : "", parts[step->part].name, letters[step->kind],
                      (unsigned)to.minor);
        if (step->lost.known)
            ek_buf_printf(out, "!%u", (unsigned)step->lost.minor);
    }
}

static uint64_t random_state;

void test_parts_seed(uint64_t seed)
{
    random_state = seed;
}

static unsigned below(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

static struct ek_part random_part(enum ek_component component, const char *name)
{
    unsigned bv = 33 + below(4), ev = bv - below(bv - 33 + 1), mcv = ev - below(ev - 33 + 1);

    if (component == EK_KUBELET || component == EK_KUBE_PROXY)
        ev = bv = 32 + below(5);
    if (component == EK_KUBE_APISERVER && bv < 35)
        mcv = ev > 33 ? ev - 1 : 33;
    return (struct ek_part){component,
                            name,
                            1 + (component == EK_KUBE_APISERVER && !below(4)),
                            {EK_MINOR(1, bv), EK_MINOR(1, ev), EK_MINOR(1, mcv)},
                            component == EK_KUBELET || component == EK_KUBE_PROXY};
}

size_t test_parts_random(struct ek_part parts[TEST_PARTS_MAX])
{
    size_t n = 0;

    parts[n++] = random_part(EK_KUBE_APISERVER, "cp-a");
    if (below(2))
        parts[n++] = random_part(EK_KUBE_APISERVER, "cp-b");
    parts[n++] = random_part(EK_KUBE_CONTROLLER_MANAGER, "kcm");
    parts[n++] = random_part(EK_KUBELET, "nodes");
    if (below(2))
        parts[n++] = random_part(EK_KUBE_PROXY, "proxies");
    return n;
}

struct ek_skew_policy test_parts_random_policy(void)
{
    struct ek_skew_policy ret = test_parts_defaults;

    ret.max_apiserver_skew = below(4) ? 1 : 0;
    ret.max_kubelet_skew = below(3) ? EK_SKEW_UNSET : (int)below(3);
    ret.max_controller_skew = below(3) ? EK_SKEW_UNSET : (int)below(2);
    return ret;
}

/* ---- All orders ---- */

#define OLDEST 31
#define NEWEST 36

/* A cluster where each instance is a part of its own. */
struct world {
    struct ek_part parts[TEST_PARTS_MAX];
    size_t n;
};

struct flood {
    const struct ek_steps_goal *goal;
    const struct test_moves *moves;
    struct ek_map seen;
    struct world *queue;
    size_t n, max;
};

static void visit(struct flood *f, const struct world *w)
{
    enum ek_rule rule;
    size_t part;
    char key[256] = "";

    for (size_t i = 0; i < w->n; i++) {
        size_t len = strlen(key);
        snprintf(key + len, sizeof key - len, "%u/%u/%u ", (unsigned)w->parts[i].at.binary.minor,
                 (unsigned)w->parts[i].at.emulation.minor,
                 (unsigned)w->parts[i].at.min_compat.minor);
    }
    if (ek_map_get(&f->seen, key) ||
        !ek_steps_within(w->parts, w->n, f->goal->policy, &rule, &part))
        return;
    char *owned = ek_xstrdup(key);
    ek_map_put(&f->seen, owned, owned);
    if (f->n == f->max) {
        f->max = f->max ? f->max * 2 : 64;
        f->queue = ek_xrealloc(f->queue, f->max, sizeof *f->queue);
    }
    f->queue[f->n++] = *w;
}

static void move(struct flood *f, const struct world *from, size_t i)
{
    bool server = from->parts[i].component == EK_KUBE_APISERVER;

    for (unsigned b = OLDEST; b <= NEWEST; b++)
        for (unsigned e = OLDEST; e <= b; e++)
            for (unsigned m = OLDEST; m <= (server ? NEWEST : OLDEST); m++) {
                struct world w = *from;
                struct ek_part_versions *at = &w.parts[i].at;
                at->binary = EK_MINOR(1, b);
                at->emulation = EK_MINOR(1, e);
                if (server)
                    at->min_compat = EK_MINOR(1, m);
                if (f->moves->may_become(&from->parts[i], at, f->goal->version))
                    visit(f, &w);
            }
}

bool test_parts_reachable(const struct ek_part *parts, size_t n, const struct ek_steps_goal *goal,
                          const struct test_moves *moves)
{
    struct flood f = {.goal = goal, .moves = moves};
    struct world start = {.n = 0};
    bool found = false;
    size_t cursor = 0;
    void *key;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < parts[i].count; k++) {
            start.parts[start.n] = parts[i];
            start.parts[start.n++].count = 1;
        }
    visit(&f, &start);
    for (size_t i = 0; i < f.n && !found; i++) {
        struct world now = f.queue[i];
        found = moves->is_there(now.parts, now.n, goal->version);
        for (size_t k = 0; k < now.n && !found; k++)
            move(&f, &now, k);
    }
    while (ek_map_next(&f.seen, &cursor, NULL, &key))
        ek_free(key);
    ek_map_done(&f.seen);
    ek_free(f.queue);
    return found;
}
