/* SPDX-License-Identifier: Apache-2.0 */
/* The search for an order of steps. */
#include "reconcilers/plan/steps.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/map.h"
#include "reconcilers/plan/start.h"

#define STATES_MAX 50000
/* Binaries up to this minor emulate only themselves; the flag of the minimum compatibility version
 * exists from the second on (component-base/compatibility/registry.go, README of skew). */
#define EMULATES_ABOVE_MINOR 31
#define COMPAT_FLAG_MINOR    35

struct search {
    const struct ek_steps_goal *goal;
    struct ek_arena *arena;
    size_t n;
    struct ek_minor min_compat; /* of API servers at the end */
    struct ek_minor binary;     /* of the way back, at the end */
    struct ek_map seen;
    size_t n_seen;
    struct ek_upgrade_step *path; /* of API servers */
    size_t n_path, max_path;
    size_t deepest; /* longest path that was seen, and the rule at its end */
    enum ek_rule rule;
    size_t rule_part;
    bool full;
};

static bool is_server(const struct ek_part *part)
{
    return part->component == EK_KUBE_APISERVER;
}

static bool emulates(const struct ek_part *part)
{
    return is_server(part) || part->component == EK_KUBE_CONTROLLER_MANAGER ||
           part->component == EK_KUBE_SCHEDULER;
}

static bool is_node(const struct ek_part *part)
{
    return part->component == EK_KUBELET || part->component == EK_KUBE_PROXY;
}

static bool at_least(struct ek_minor a, struct ek_minor b)
{
    return ek_minor_cmp(a, b) >= 0;
}

/* ---- Rules ---- */

static struct ek_server server_of(const struct ek_part *part)
{
    return (struct ek_server){part->name, part->at.binary, part->at.emulation, part->at.min_compat};
}

static struct ek_bounds bounds_of(const struct ek_part *parts, size_t n)
{
    EK_AUTOFREE struct ek_server *servers = ek_xalloc((n + 1) * sizeof *servers);
    size_t n_servers = 0;

    for (size_t i = 0; i < n; i++)
        if (is_server(&parts[i]))
            servers[n_servers++] = server_of(&parts[i]);
    return ek_policy_bounds(servers, n_servers);
}

/* True when the binary of part a fits the kubelet, or the kube-proxies, of the same nodes. */
static bool fits(const struct ek_part *a, struct ek_minor binary, const struct ek_part *b)
{
    if (!(a->nodes & b->nodes) || a->component == b->component)
        return true;
    return a->component == EK_KUBE_PROXY ? ek_policy_proxy_fits_kubelet(binary, b->at.binary)
                                         : ek_policy_proxy_fits_kubelet(b->at.binary, binary);
}

static bool fits_all(const struct ek_part *parts, size_t n, const struct ek_part *part,
                     struct ek_minor binary)
{
    for (size_t i = 0; i < n; i++)
        if (!fits(part, binary, &parts[i]))
            return false;
    return true;
}

bool ek_steps_within(const struct ek_part *parts, size_t n, const struct ek_skew_policy *policy,
                     enum ek_rule *ret_rule, size_t *ret_part)
{
    const struct ek_bounds bounds = bounds_of(parts, n);

    for (size_t i = 0; i < n; i++) {
        enum ek_rule rules[EK_SERVER_RULES_MAX], rule = EK_RULE_NONE;
        size_t n_rules = 0;
        *ret_part = i;
        if (is_server(&parts[i])) {
            const struct ek_server server = server_of(&parts[i]);
            ek_policy_check_server(&server, &bounds, policy, rules, &n_rules);
            rule = n_rules ? rules[0] : EK_RULE_NONE;
        } else {
            ek_policy_check(parts[i].component, parts[i].at.binary, parts[i].at.emulation, &bounds,
                            policy, &rule);
        }
        if (rule == EK_RULE_NONE && parts[i].component == EK_KUBE_PROXY &&
            !fits_all(parts, n, &parts[i], parts[i].at.binary))
            rule = EK_RULE_KUBE_PROXY_NODE_RANGE;
        *ret_rule = rule;
        if (rule != EK_RULE_NONE)
            return false;
    }
    *ret_rule = EK_RULE_NONE;
    return true;
}

/* True when parts are within the rules after part i has changed, and while the instances of part i
 * change one after the other. */
static bool may_change(struct search *s, struct ek_part *parts, size_t i,
                       struct ek_part_versions to, enum ek_rule *rule, size_t *part)
{
    EK_AUTOFREE struct ek_part *mixed = ek_xalloc((s->n + 1) * sizeof *mixed);

    memcpy(mixed, parts, s->n * sizeof *mixed);
    mixed[i].at = to;
    if (!ek_steps_within(mixed, s->n, s->goal->policy, rule, part))
        return false;
    if (parts[i].count < 2)
        return true;
    mixed[s->n] = parts[i];
    bool good = ek_steps_within(mixed, s->n + 1, s->goal->policy, rule, part);
    if (*part == s->n)
        *part = i;
    return good;
}

/* ---- Moves ---- */

/* New binaries that a part may take in one step; a node that is further behind takes several. */
#define BINARIES_MAX 14
#define MOVES_MAX    (BINARIES_MAX + 2)
struct moves {
    struct ek_upgrade_step list[MOVES_MAX];
    size_t n;
};

static void add_move(struct moves *moves, enum ek_upgrade_step_kind kind, size_t i,
                     const struct ek_part *part, struct ek_part_versions to)
{
    if (moves->n < MOVES_MAX)
        moves->list[moves->n++] = (struct ek_upgrade_step){kind, i, part->at, to, EK_MINOR_UNKNOWN};
}

/* The versions of a binary of that version with the flags that keep the other versions; false when
 * the binary cannot keep the emulation version. */
static bool with_binary(const struct ek_part *part, struct ek_minor binary,
                        struct ek_part_versions *ret)
{
    *ret = part->at;
    ret->binary = binary;
    if (!emulates(part)) {
        ret->emulation = ret->min_compat = binary;
        return true;
    }
    if (binary.minor <= EMULATES_ABOVE_MINOR) { /* the emulation version goes with the binary */
        ret->emulation = binary;
        ret->min_compat = ek_policy_default_min_compat(binary, binary);
        return binary.minor == part->at.binary.minor + 1;
    }
    struct ek_minor floor = ek_start_floor(binary);
    if (!at_least(part->at.emulation, floor))
        return false;
    if (binary.minor < COMPAT_FLAG_MINOR)
        ret->min_compat = ek_policy_default_min_compat(binary, part->at.emulation);
    else if (!at_least(ret->min_compat, floor))
        ret->min_compat = floor;
    return true;
}

/* The versions of an older binary with the flags that keep the other versions; false when the
 * binary cannot keep them. Without the flag, the minimum compatibility version follows the
 * emulation version, and could rise before that is the target's. */
static bool with_older_binary(const struct search *s, const struct ek_part *part,
                              struct ek_minor binary, struct ek_part_versions *ret)
{
    *ret = part->at;
    ret->binary = binary;
    if (!emulates(part)) {
        ret->emulation = ret->min_compat = binary;
        return true;
    }
    if (!at_least(binary, part->at.emulation))
        return false;
    if (!is_server(part) || binary.minor < COMPAT_FLAG_MINOR)
        ret->min_compat = ek_policy_default_min_compat(binary, part->at.emulation);
    return !is_server(part) || at_least(part->at.min_compat, ret->min_compat) ||
           at_least(s->goal->version, part->at.emulation);
}

/* The steps down that part i may take, the preferred one first. */
static void list_moves_back(const struct search *s, const struct ek_part *part, size_t i,
                            struct moves *moves)
{
    struct ek_minor target = s->goal->version, lowest = emulates(part) ? s->binary : target;
    struct ek_minor nearest = ek_minor_offset(part->at.binary, -BINARIES_MAX);
    struct ek_part_versions to = part->at;

    to.emulation = ek_minor_offset(to.emulation, -1);
    if (emulates(part) && at_least(to.emulation, target) &&
        at_least(to.emulation, ek_start_floor(to.binary))) {
        if (to.binary.minor < COMPAT_FLAG_MINOR || !is_server(part))
            to.min_compat = ek_policy_default_min_compat(to.binary, to.emulation);
        add_move(moves, EK_UPGRADE_EMULATION, i, part, to);
    }
    for (struct ek_minor v = at_least(lowest, nearest) ? lowest : nearest;
         ek_minor_cmp(v, part->at.binary) < 0; v = ek_minor_offset(v, 1))
        if (with_older_binary(s, part, v, &to))
            add_move(moves, EK_UPGRADE_BINARY, i, part, to);
}

/* The steps that part i may take towards the target, the preferred one first. */
static void list_moves(const struct search *s, const struct ek_part *parts, size_t i,
                       struct moves *moves)
{
    const struct ek_part *part = &parts[i];
    struct ek_minor target = s->goal->version;
    struct ek_minor highest = ek_minor_offset(part->at.binary, BINARIES_MAX);
    struct ek_part_versions to;

    if (s->goal->back) {
        list_moves_back(s, part, i, moves);
        return;
    }
    for (struct ek_minor v = at_least(highest, target) ? target : highest;
         ek_minor_cmp(v, part->at.binary) > 0; v = ek_minor_offset(v, -1))
        if (with_binary(part, v, &to))
            add_move(moves, EK_UPGRADE_BINARY, i, part, to);
    if (!emulates(part))
        return;
    to = part->at;
    to.emulation = ek_minor_offset(to.emulation, 1);
    if (at_least(part->at.binary, to.emulation) && at_least(target, to.emulation)) {
        if (to.binary.minor < COMPAT_FLAG_MINOR || !is_server(part))
            to.min_compat = ek_policy_default_min_compat(to.binary, to.emulation);
        add_move(moves, EK_UPGRADE_EMULATION, i, part, to);
    }
    to = part->at;
    to.min_compat = ek_minor_offset(to.min_compat, 1);
    if (is_server(part) && to.binary.minor >= COMPAT_FLAG_MINOR &&
        at_least(to.emulation, to.min_compat) && at_least(s->min_compat, to.min_compat))
        add_move(moves, EK_UPGRADE_MIN_COMPAT, i, part, to);
}

/* ---- Components that follow the API servers ---- */

/* A list of steps that is written while parts change. */
struct record {
    struct ek_upgrade_step *list;
    size_t n, max;
};

static void note(struct search *s, struct record *record, const struct ek_upgrade_step *step)
{
    if (!record)
        return;
    if (record->n == record->max) {
        size_t max = record->max ? record->max * 2 : 32;
        struct ek_upgrade_step *list = ek_arena_alloc(s->arena, max * sizeof *list);
        if (record->n)
            memcpy(list, record->list, record->n * sizeof *list);
        record->list = list;
        record->max = max;
    }
    record->list[record->n++] = *step;
}

/* Lets part i, a follower, take one step; false when the rules allow none. All parts are within the
 * rules: what a follower may be depends on the bounds, which are those of the API servers, and for
 * kubelets and kube-proxies on each other. */
static bool raise_one(struct search *s, struct ek_part *parts, size_t i,
                      const struct ek_bounds *bounds, struct record *record)
{
    struct moves moves = {.n = 0};
    enum ek_rule rule = EK_RULE_NONE;

    list_moves(s, parts, i, &moves);
    for (size_t m = 0; m < moves.n; m++) {
        const struct ek_part_versions *to = &moves.list[m].after;
        ek_policy_check(parts[i].component, to->binary, to->emulation, bounds, s->goal->policy,
                        &rule);
        if (rule != EK_RULE_NONE || !fits_all(parts, s->n, &parts[i], to->binary))
            continue;
        parts[i].at = *to;
        note(s, record, &moves.list[m]);
        return true;
    }
    return false;
}

/* Raises (on the way back, lowers) the followers as far as the rules allow: controllers, and nodes
 * where that is asked. */
static void settle(struct search *s, struct ek_part *parts, bool nodes, struct record *record)
{
    const struct ek_bounds bounds = bounds_of(parts, s->n);
    bool moved = true;

    while (moved) {
        moved = false;
        for (size_t i = 0; i < s->n; i++)
            if (!is_server(&parts[i]) && (nodes || !is_node(&parts[i])))
                moved |= raise_one(s, parts, i, &bounds, record);
    }
}

/* ---- Search ---- */

#define CODE_BITS 16

static int by_code(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The versions of all API servers as an owned text, the same for any order of the servers. */
static char *key_of(const struct search *s, const struct ek_part *parts)
{
    EK_AUTOFREE uint64_t *codes = ek_xalloc((s->n + 1) * sizeof *codes);
    size_t n = 0;
    struct ek_buf text;

    for (size_t i = 0; i < s->n; i++)
        if (is_server(&parts[i]))
            codes[n++] = ((parts[i].at.binary.minor << CODE_BITS | parts[i].at.emulation.minor)
                              << CODE_BITS |
                          parts[i].at.min_compat.minor)
                             << 1 |
                         (parts[i].count > 1);
    qsort(codes, n, sizeof *codes, by_code);
    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&text, "%" PRIx64 " ", codes[i]);
    return ek_buf_steal(&text);
}

static bool has_arrived(const struct search *s, const struct ek_part_versions *at)
{
    if (s->goal->back)
        return at_least(s->binary, at->binary) && at_least(s->goal->version, at->emulation);
    return at_least(at->binary, s->goal->version) && at_least(at->emulation, s->goal->version) &&
           at_least(at->min_compat, s->min_compat);
}

static bool servers_arrived(const struct search *s, const struct ek_part *parts)
{
    for (size_t i = 0; i < s->n; i++)
        if (is_server(&parts[i]) && !has_arrived(s, &parts[i].at))
            return false;
    return true;
}

static int by_preference(const void *a, const void *b)
{
    const struct ek_upgrade_step *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    /* The largest step to a new binary; else the server that is most behind. */
    if (x->kind == EK_UPGRADE_BINARY && ek_minor_cmp(x->after.binary, y->after.binary))
        return -ek_minor_cmp(x->after.binary, y->after.binary);
    int sign = x->kind == EK_UPGRADE_MIN_COMPAT
                   ? ek_minor_cmp(x->after.min_compat, y->after.min_compat)
                   : ek_minor_cmp(x->after.emulation, y->after.emulation);
    return sign ? sign : x->part < y->part ? -1 : x->part > y->part;
}

/* The opposite order: emulation versions first, the newest first. */
static int by_preference_back(const void *a, const void *b)
{
    const struct ek_upgrade_step *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind > y->kind ? -1 : 1;
    int sign = x->kind == EK_UPGRADE_BINARY ? ek_minor_cmp(x->after.binary, y->after.binary)
                                            : ek_minor_cmp(y->after.emulation, x->after.emulation);
    return sign ? sign : x->part < y->part ? -1 : x->part > y->part;
}

static bool dfs(struct search *s, struct ek_part *parts);

/* Takes a step of an API server, and searches on. */
static bool try_step(struct search *s, const struct ek_part *parts,
                     const struct ek_upgrade_step *step)
{
    EK_AUTOFREE struct ek_part *next = ek_xalloc((s->n + 1) * sizeof *next);
    enum ek_rule rule;
    size_t part;

    memcpy(next, parts, s->n * sizeof *next);
    if (!may_change(s, next, step->part, step->after, &rule, &part)) {
        if (s->n_path > s->deepest || s->rule == EK_RULE_NONE) {
            s->deepest = s->n_path;
            s->rule = rule;
            s->rule_part = part;
        }
        return false;
    }
    if (s->n_path == s->max_path)
        return false;
    next[step->part].at = step->after;
    s->path[s->n_path++] = *step;
    if (dfs(s, next))
        return true;
    s->n_path--;
    return false;
}

/* All steps of API servers, the preferred one first; owned. */
static struct ek_upgrade_step *list_all(const struct search *s, const struct ek_part *parts,
                                        size_t *ret_n)
{
    struct ek_upgrade_step *all = ek_xalloc((s->n * MOVES_MAX + 1) * sizeof *all);

    *ret_n = 0;
    for (size_t i = 0; i < s->n; i++) {
        struct moves moves = {.n = 0};
        if (!is_server(&parts[i]))
            continue;
        list_moves(s, parts, i, &moves);
        memcpy(all + *ret_n, moves.list, moves.n * sizeof *all);
        *ret_n += moves.n;
    }
    qsort(all, *ret_n, sizeof *all, s->goal->back ? by_preference_back : by_preference);
    return all;
}

/* parts: API servers after the path; the followers are raised as high, or on the way back lowered
 * as far, as the rules allow. */
static bool dfs(struct search *s, struct ek_part *parts)
{
    size_t n;

    if (servers_arrived(s, parts))
        return true;
    char *key = key_of(s, parts);
    size_t max = s->goal->max_states ? s->goal->max_states : STATES_MAX;
    bool seen = ek_map_get(&s->seen, key) != NULL;
    if (seen || s->n_seen == max) {
        s->full |= !seen;
        ek_free(key);
        return false;
    }
    s->n_seen++;
    ek_map_put(&s->seen, key, key);
    settle(s, parts, true, NULL); /* depends on the API servers alone: once for each state */
    EK_AUTOFREE struct ek_upgrade_step *all = list_all(s, parts, &n);
    for (size_t i = 0; i < n && !s->full; i++)
        if (try_step(s, parts, &all[i]))
            return true;
    return false;
}

/* ---- The list ---- */

/* True when all API servers agree in a version. */
static bool servers_agree(const struct search *s, const struct ek_part *parts,
                          enum ek_upgrade_step_kind kind)
{
    const struct ek_part *first = NULL;

    for (size_t i = 0; i < s->n; i++) {
        if (!is_server(&parts[i]))
            continue;
        first = first ? first : &parts[i];
        if (kind == EK_UPGRADE_BINARY ? ek_minor_cmp(first->at.binary, parts[i].at.binary)
                                      : ek_minor_cmp(first->at.emulation, parts[i].at.emulation))
            return false;
    }
    return true;
}

/* Takes the step of an API server, after those of the parts that the step would leave behind. */
static bool replay(struct search *s, struct ek_part *parts, const struct ek_upgrade_step *step,
                   struct record *record)
{
    enum ek_rule rule;
    size_t part, before;

    while (!may_change(s, parts, step->part, step->after, &rule, &part)) {
        before = record->n;
        if (is_server(&parts[part]))
            return false;
        const struct ek_bounds bounds = bounds_of(parts, s->n);
        if (!raise_one(s, parts, part, &bounds, record))
            settle(s, parts, true, record);
        if (record->n == before)
            return false;
    }
    struct ek_upgrade_step taken = *step;
    taken.before = parts[step->part].at;
    parts[step->part].at = step->after;
    note(s, record, &taken);
    if (!s->goal->back && step->kind != EK_UPGRADE_MIN_COMPAT &&
        servers_agree(s, parts, step->kind))
        settle(s, parts, false, record);
    return true;
}

static struct ek_minor highest_compat(const struct ek_part *parts, size_t n)
{
    struct ek_minor ret = EK_MINOR_UNKNOWN;

    for (size_t i = 0; i < n; i++)
        if (is_server(&parts[i]) && (!ret.known || ek_minor_cmp(parts[i].at.min_compat, ret) > 0))
            ret = parts[i].at.min_compat;
    return ret;
}

/* The step that raises the highest minimum compatibility version above a version is the last from
 * which the API servers can go back to that version. A binary that does not emulate has no way
 * back. */
static void mark_lost(struct ek_part *parts, size_t n, const struct record *record)
{
    for (size_t i = 0; i < record->n; i++) {
        struct ek_minor before = highest_compat(parts, n);
        parts[record->list[i].part].at = record->list[i].after;
        struct ek_minor after = highest_compat(parts, n);
        struct ek_minor lost = ek_minor_offset(after, -1);
        if (ek_minor_cmp(after, before) > 0 && at_least(lost, EK_STEPS_OLDEST_WAY_BACK))
            record->list[i].lost = lost;
    }
}

static void write_list(struct search *s, const struct ek_part *parts, struct ek_steps *ret)
{
    struct ek_part *now = ek_arena_alloc(s->arena, (s->n + 1) * sizeof *now);
    struct record record = {.n = 0};

    memcpy(now, parts, s->n * sizeof *now);
    for (size_t i = 0; i < s->n_path; i++)
        if (!replay(s, now, &s->path[i], &record)) {
            ret->outcome = EK_STEPS_TOO_LARGE;
            return;
        }
    settle(s, now, !s->goal->keep_nodes, &record);
    memcpy(now, parts, s->n * sizeof *now);
    if (!s->goal->back)
        mark_lost(now, s->n, &record);
    ret->outcome = EK_STEPS_FOUND;
    ret->list = record.list;
    ret->n = record.n;
}

/* ---- Entry ---- */

static bool is_complete(const struct ek_part *parts, size_t n, struct ek_steps *ret)
{
    bool any = false;

    for (size_t i = 0; i < n; i++) {
        const struct ek_part_versions *at = &parts[i].at;
        ret->part = i;
        any |= is_server(&parts[i]);
        if (!at->binary.known || !at->emulation.known ||
            (is_server(&parts[i]) && !at->min_compat.known))
            return false;
    }
    return any;
}

static bool is_newer(const struct ek_part *parts, size_t n, struct ek_minor target,
                     struct ek_steps *ret)
{
    for (size_t i = 0; i < n; i++) {
        ret->part = i;
        if (is_server(&parts[i]) && ek_minor_cmp(parts[i].at.emulation, target) > 0)
            return true;
    }
    return false;
}

/* True when the way back ends above the target: API servers may have stored what versions below
 * their minimum compatibility version cannot read (KEP-4330), or no binary emulates the target. */
static bool has_no_way_back(const struct ek_part *parts, size_t n, struct ek_minor target,
                            struct ek_steps *ret)
{
    for (size_t i = 0; i < n; i++) {
        bool ends = is_server(&parts[i]) && ek_minor_cmp(parts[i].at.min_compat, target) > 0;
        ret->part = i;
        ret->rule = ends && at_least(target, EK_STEPS_OLDEST_WAY_BACK)
                        ? EK_RULE_APISERVER_COMPATIBILITY
                        : EK_RULE_NONE;
        if (ends || (is_server(&parts[i]) && !at_least(target, EK_STEPS_OLDEST_WAY_BACK) &&
                     ek_minor_cmp(parts[i].at.emulation, target) > 0))
            return true;
    }
    return false;
}

/* The minimum compatibility of controllers counts for nothing; it is set so that states compare. */
static struct ek_part *copy_parts(const struct ek_part *parts, size_t n, struct ek_arena *arena)
{
    struct ek_part *ret = ek_arena_alloc(arena, (n + 1) * sizeof *ret);

    memcpy(ret, parts, n * sizeof *ret);
    for (size_t i = 0; i < n; i++) {
        if (!emulates(&ret[i]))
            ret[i].at.emulation = ret[i].at.binary;
        if (!is_server(&ret[i]))
            ret[i].at.min_compat =
                ek_policy_default_min_compat(ret[i].at.binary, ret[i].at.emulation);
    }
    return ret;
}

static void forget(struct search *s)
{
    size_t cursor = 0;
    void *key;

    while (ek_map_next(&s->seen, &cursor, NULL, &key))
        ek_free(key);
    ek_map_done(&s->seen);
}

void ek_steps_find(const struct ek_part *parts, size_t n, const struct ek_steps_goal *goal,
                   struct ek_arena *arena, struct ek_steps *ret_steps)
{
    struct search s = {.goal = goal, .arena = arena, .n = n, .max_path = n * 64 + 64};

    *ret_steps = (struct ek_steps){.outcome = EK_STEPS_UNKNOWN};
    if (!is_complete(parts, n, ret_steps) || !goal->version.known)
        return;
    ret_steps->outcome = goal->back ? EK_STEPS_NO_WAY_BACK : EK_STEPS_BACK;
    if (goal->back ? has_no_way_back(parts, n, goal->version, ret_steps)
                   : is_newer(parts, n, goal->version, ret_steps))
        return;
    struct ek_part *copy = copy_parts(parts, n, arena);
    ret_steps->outcome = EK_STEPS_OUTSIDE;
    if (!ek_steps_within(copy, n, goal->policy, &ret_steps->rule, &ret_steps->part))
        return;
    s.min_compat = goal->min_compat.known
                       ? goal->min_compat
                       : ek_policy_default_min_compat(goal->version, goal->version);
    s.binary = goal->binary.known ? goal->binary : goal->version;
    s.path = ek_arena_alloc(arena, s.max_path * sizeof *s.path);
    bool found = dfs(&s, copy_parts(copy, n, arena));
    forget(&s);
    if (found) {
        write_list(&s, copy, ret_steps);
        return;
    }
    ret_steps->outcome = s.full ? EK_STEPS_TOO_LARGE : EK_STEPS_IMPOSSIBLE;
    ret_steps->rule = s.rule;
    ret_steps->part = s.rule_part;
}
