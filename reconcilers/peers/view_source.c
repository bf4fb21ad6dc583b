/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/view_source.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"

/* What is known of one server. Strings are owned. */
struct source {
    char *name, *server_id; /* NULL in one that was taken */
    char *address;          /* "" when none is trusted */
    char *last_address;     /* the newest one, trusted or not; NULL before */
    struct ek_api_groups *core, *groups;
    int64_t seen_ms;       /* when something in the cluster named it last */
    bool listed;           /* the configuration names its address */
    int64_t fetched_ms;    /* EK_TIME_UNSET before */
    int64_t answered_ms;   /* when it was reachable last; before, when it came into the table */
    int64_t tried_ms;      /* the last attempt to read the documents that was counted */
    int64_t mismatched_ms; /* the last attempt that another server answered; EK_TIME_UNSET before */
    const char *why_not;   /* constant; "" while it is routable */
    bool down;
};

struct ek_view_source {
    struct source *sources; /* by name: those of the newest table, and those that have gone */
    size_t n;
    struct ek_view *view;
    struct ek_view_counts counts;
};

const char *const ek_view_reasons[] = {"NoAddress",           "NotTrusted",  "LeaseStale",
                                       "CertificateMismatch", "Unreachable", "NotReady",
                                       "NoDocuments",         "Gone",        NULL};

struct ek_view_source *ek_view_source_new(void)
{
    return ek_xalloc(sizeof(struct ek_view_source));
}

static void free_sources(struct source *sources, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        ek_free(sources[i].name);
        ek_free(sources[i].server_id);
        ek_free(sources[i].address);
        ek_free(sources[i].last_address);
        ek_api_groups_unref(sources[i].core);
        ek_api_groups_unref(sources[i].groups);
    }
    ek_free(sources);
}

void ek_view_source_free(struct ek_view_source *source)
{
    if (!source)
        return;
    free_sources(source->sources, source->n);
    ek_view_unref(source->view);
    ek_free(source);
}

const struct ek_view *ek_view_source_view(const struct ek_view_source *source)
{
    return source->view;
}

const char *ek_view_source_why_not(const struct ek_view_source *source, size_t i)
{
    return i < source->n ? source->sources[i].why_not : "";
}

struct ek_view_counts ek_view_source_counts(const struct ek_view_source *source)
{
    return source->counts;
}

/* A Lease says that its server has ended only while Leases of others are seen to be renewed long
 * after it: else the watch of Leases may be what stands still. Leases of servers that live become
 * stale one after the other then, within one period of their renewal. */
static bool lease_has_ended(const struct ek_peer_table *table, const struct ek_peer *peer)
{
    if (!peer->lease_stale)
        return false;
    for (size_t i = 0; i < table->n; i++) {
        const struct ek_peer *other = &table->peers[i];
        if (!*other->server_id || other->lease_age_ms < 0)
            continue;
        if (peer->lease_age_ms < 0
                ? !other->lease_stale
                : peer->lease_age_ms - other->lease_age_ms > EK_VIEW_LEASE_LAG_MS)
            return true;
    }
    return false;
}

static const char *why_not(const struct ek_peer *peer, const struct source *source, bool ended)
{
    if (!*peer->address)
        return peer->lease_stale ? "LeaseStale" : "NoAddress";
    if (!peer->trusted)
        return "NotTrusted";
    if (ended)
        return "LeaseStale";
    if (peer->mismatched)
        return "CertificateMismatch";
    if (!peer->reachable || !peer->probe || !peer->probe->proven)
        return "Unreachable";
    if (!ek_probe_is_ready(peer->probe))
        return "NotReady";
    return source->core ? "" : "NoDocuments";
}

/* A server that starts lists only a part of what it will serve (kube-aggregator adds group versions
 * as it finds them): what it lists before it is ready is no reason to say that the rest does not
 * exist. Nor is what another server at its address lists, at that time or in a probe that has kept
 * it. */
static void take_documents(struct source *source, const struct ek_peer *peer)
{
    const struct ek_probe *probe = peer->probe;

    if (peer->mismatched && probe)
        source->mismatched_ms = probe->reach.tried_at_ms;
    if (peer->mismatched || !probe || !probe->core || !probe->groups || !ek_probe_is_ready(probe))
        return;
    if (source->mismatched_ms != EK_TIME_UNSET &&
        probe->discovery_answer.good_at_ms <= source->mismatched_ms)
        return;
    struct ek_api_groups *core = source->core, *groups = source->groups;
    source->core = ek_api_groups_ref(probe->core);
    source->groups = ek_api_groups_ref(probe->groups);
    source->fetched_ms = probe->discovery_answer.good_at_ms;
    ek_api_groups_unref(core);
    ek_api_groups_unref(groups);
}

/* The server by its id, or by its name while one of the two has no id: a server that restarts has
 * no Lease for a moment. */
static bool is_of(const struct source *source, const struct ek_peer *peer)
{
    if (!source->name)
        return false;
    if (*source->server_id && *peer->server_id)
        return !strcmp(source->server_id, peer->server_id);
    return !strcmp(source->name, peer->name);
}

/* What was known of the server until now, taken out of the old sources; else a new one. */
static struct source take_source(struct ek_view_source *from, const struct ek_peer *peer,
                                 int64_t now_ms)
{
    for (size_t i = 0; i < from->n; i++) {
        if (!is_of(&from->sources[i], peer))
            continue;
        struct source taken = from->sources[i];
        from->sources[i] = (struct source){0};
        return taken;
    }
    return (struct source){.seen_ms = now_ms,
                           .fetched_ms = EK_TIME_UNSET,
                           .answered_ms = now_ms,
                           .tried_ms = EK_TIME_UNSET,
                           .mismatched_ms = EK_TIME_UNSET,
                           .why_not = ""};
}

static void replace(char **text, const char *with)
{
    char *copy = ek_xstrdup(with);

    ek_free(*text);
    *text = copy;
}

static void describe(struct source *source, const struct ek_peer *peer, int64_t now_ms)
{
    replace(&source->name, peer->name);
    replace(&source->server_id, peer->server_id);
    replace(&source->address, peer->trusted ? peer->address : "");
    if (*peer->address)
        replace(&source->last_address, peer->address);
    source->listed = !strcmp(peer->address_source, "Static");
    /* The table may have a server that nothing names any more (reconcilers/skew/remember.h). */
    if (peer->live || peer->lease_stale || *peer->address_source || source->seen_ms > now_ms)
        source->seen_ms = now_ms;
}

static bool is_down(const struct ek_peer *peer, const struct source *source, bool ended,
                    int64_t now_ms)
{
    if (!*source->why_not)
        return false;
    return (ended && !peer->reachable) || now_ms - source->answered_ms >= EK_VIEW_DOWN_AFTER_MS;
}

/* Each attempt counts once, however often it is looked at. */
static void count_attempt(struct source *source, const struct ek_probe *probe,
                          struct ek_view_counts *counts)
{
    if (!probe || probe->discovery_answer.tried_at_ms == source->tried_ms)
        return;
    source->tried_ms = probe->discovery_answer.tried_at_ms;
    counts->fetch_errors += probe->discovery_answer.error.code != 0;
}

static void observe(struct source *source, const struct ek_peer *peer, bool ended, int64_t now_ms,
                    struct ek_view_counts *counts)
{
    const struct ek_api_groups *core = source->core, *groups = source->groups;
    const char *before = source->why_not;

    describe(source, peer, now_ms);
    take_documents(source, peer);
    source->why_not = why_not(peer, source, ended);
    count_attempt(source, peer->probe, counts);
    counts->documents += source->core != core || source->groups != groups;
    counts->address_errors +=
        !strcmp(source->why_not, "NoAddress") && strcmp(before, "NoAddress") != 0;
    /* The clock may have been set back. */
    if (!*source->why_not || source->answered_ms > now_ms)
        source->answered_ms = now_ms;
    source->down = is_down(peer, source, ended, now_ms);
}

/* The one of n sources with documents that has the address of source; NULL for none. */
static struct source *find_address(struct source *sources, size_t n, const struct source *source)
{
    for (size_t i = 0; source->last_address && i < n; i++)
        if (sources[i].core && sources[i].last_address &&
            !strcmp(sources[i].last_address, source->last_address))
            return &sources[i];
    return NULL;
}

/* A server has the address of one that has gone. A name without an id does not replace an id: the
 * Lease may come back before its address is known. */
static bool is_replaced(const struct source *gone, struct source *sources, size_t n)
{
    const struct source *by = find_address(sources, n, gone);

    return by && (*by->server_id || !*gone->server_id);
}

/* Before a server that restarts has a Lease, its address is its name, and what was known at that
 * address is the server's. It is not routable before its own documents are read. */
static void adopt(struct source *source, const struct source *from)
{
    source->core = ek_api_groups_ref(from->core);
    source->groups = ek_api_groups_ref(from->groups);
    source->fetched_ms = from->fetched_ms;
}

/* Whether what the server served is still unavailable, and not unknown, now that nothing names it.
 */
static bool is_remembered(const struct source *source, int64_t now_ms)
{
    return source->name && !source->listed && source->core && source->seen_ms <= now_ms &&
           now_ms - source->seen_ms < EK_VIEW_FORGET_AFTER_MS;
}

static void depart(struct source *source)
{
    replace(&source->address, "");
    source->why_not = "Gone";
    source->down = true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct source *)a)->name, ((const struct source *)b)->name);
}

static bool same_documents(const struct ek_view *a, const struct ek_view *b)
{
    size_t n, m;
    const struct ek_view_peer *x = ek_view_peers(a, &n), *y = ek_view_peers(b, &m);

    if (n != m || ek_view_is_complete(a) != ek_view_is_complete(b) || !ek_view_shares_merged(a, b))
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct ek_view_document *p = ek_view_own(a, i, EK_VIEW_APIS, EK_VIEW_V2);
        const struct ek_view_document *q = ek_view_own(b, i, EK_VIEW_APIS, EK_VIEW_V2);
        if (strcmp(x[i].name, y[i].name) != 0 || strcmp(x[i].server_id, y[i].server_id) != 0 ||
            strcmp(x[i].address, y[i].address) != 0 || x[i].routable != y[i].routable ||
            strcmp(x[i].why_not, y[i].why_not) != 0 || x[i].down != y[i].down ||
            x[i].fetched_ms != y[i].fetched_ms || p != q)
            return false;
    }
    return true;
}

static struct ek_view *build(const struct ek_view_source *source,
                             const struct ek_exclusions *exclusions)
{
    struct ek_view_input_peer *peers = ek_xalloc((source->n + 1) * sizeof *peers);

    for (size_t i = 0; i < source->n; i++) {
        const struct source *known = &source->sources[i];
        peers[i].peer = (struct ek_view_peer){.name = known->name,
                                              .server_id = known->server_id,
                                              .address = known->address,
                                              .routable = !*known->why_not,
                                              .why_not = known->why_not,
                                              .down = known->down,
                                              .fetched_ms = known->fetched_ms};
        peers[i].core = known->core;
        peers[i].groups = known->groups;
    }
    struct ek_view *view = ek_view_build(&(struct ek_view_input){
        .peers = peers, .n = source->n, .exclusions = *exclusions, .previous = source->view});
    ek_free(peers);
    return view;
}

const struct ek_view *ek_view_source_update(struct ek_view_source *source,
                                            const struct ek_peer_table *table,
                                            const struct ek_exclusions *exclusions, int64_t now_ms)
{
    struct source *sources = ek_xalloc((table->n + source->n + 1) * sizeof *sources);
    size_t n = table->n;

    for (size_t i = 0; i < table->n; i++) {
        sources[i] = take_source(source, &table->peers[i], now_ms);
        observe(&sources[i], &table->peers[i], lease_has_ended(table, &table->peers[i]), now_ms,
                &source->counts);
    }
    for (size_t i = 0; i < table->n; i++) {
        const struct source *known = find_address(sources, table->n, &sources[i]);
        known = known ? known : find_address(source->sources, source->n, &sources[i]);
        if (!sources[i].core && known)
            adopt(&sources[i], known);
    }
    for (size_t i = 0; i < source->n; i++) {
        if (!is_remembered(&source->sources[i], now_ms) ||
            is_replaced(&source->sources[i], sources, table->n))
            continue;
        sources[n] = source->sources[i];
        source->sources[i] = (struct source){0};
        depart(&sources[n++]);
    }
    qsort(sources, n, sizeof *sources, by_name);
    free_sources(source->sources, source->n);
    source->sources = sources;
    source->n = n;
    struct ek_view *view = build(source, exclusions);
    if (source->view && same_documents(source->view, view)) {
        ek_view_unref(view);
        return NULL;
    }
    ek_view_unref(source->view);
    source->view = view;
    return view;
}

/* When time alone changes what is known of the server; EK_TIME_UNSET for never. */
static int64_t due_ms(const struct source *s)
{
    if (!strcmp(s->why_not, "Gone"))
        return s->seen_ms + EK_VIEW_FORGET_AFTER_MS;
    return *s->why_not && !s->down ? s->answered_ms + EK_VIEW_DOWN_AFTER_MS : EK_TIME_UNSET;
}

int64_t ek_view_source_again_ms(const struct ek_view_source *source, int64_t now_ms)
{
    int64_t again = 0;

    for (size_t i = 0; i < source->n; i++) {
        int64_t due = due_ms(&source->sources[i]), left = due - now_ms;
        if (due != EK_TIME_UNSET && left > 0 && (!again || left < again))
            again = left;
    }
    return again;
}
