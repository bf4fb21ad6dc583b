/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/view_source.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/groups_fixture.h"
#include "test/support/suite.h"

#define NOW 1000000

static struct ek_api_groups *document_of(const char *group)
{
    EK_AUTOFREE char *json =
        ek_xasprintf("{\"items\":[{\"metadata\":{\"name\":\"%s\"},\"versions\":[{\"version\":"
                     "\"v1\",\"resources\":[]}]}]}",
                     group);

    return ek_test_groups(json);
}

static struct ek_api_groups *document(void)
{
    return document_of("g");
}

static struct ek_probe *probe_of(bool documents, bool ready, int64_t at_ms)
{
    struct ek_probe *probe = ek_probe_new();

    probe->proven = true;
    probe->ready_answer.good_at_ms = at_ms;
    probe->ready = ready;
    if (documents) {
        probe->core = document();
        probe->groups = document();
        probe->discovery_answer.good_at_ms = at_ms;
    }
    return probe;
}

/* A server that answers, as the probe has it. */
static struct ek_peer server(struct ek_probe *probe)
{
    return (struct ek_peer){.name = "a",
                            .server_id = "id",
                            .address = "1.1.1.1:1",
                            .address_source = "",
                            .trusted = true,
                            .reachable = true,
                            .probe = probe};
}

/* A peer beside one whose Lease is renewed (renewed false: whose Lease is stale, too). */
static const struct row {
    const char *label;
    struct ek_peer peer;
    bool documents, unready, others_stale;
    const char *why_not;
    bool down;
} rows[] = {
    {"routable",
     {.address = "1.1.1.1:1", .trusted = true, .reachable = true},
     true,
     false,
     false,
     "",
     false},
    {"no address", {.address = "", .reachable = false}, true, false, false, "NoAddress", false},
    {"crashed", {.address = "", .lease_stale = true}, false, false, false, "LeaseStale", true},
    {"a pod's word",
     {.address = "1.1.1.1:1", .reachable = true},
     true,
     false,
     false,
     "NotTrusted",
     false},
    {"stale lease",
     {.address = "1.1.1.1:1", .trusted = true, .reachable = true, .lease_stale = true},
     true,
     false,
     false,
     "LeaseStale",
     false},
    {"all leases are stale",
     {.address = "1.1.1.1:1", .trusted = true, .reachable = true, .lease_stale = true},
     true,
     false,
     true,
     "",
     false},
    {"no answer",
     {.address = "1.1.1.1:1", .trusted = true},
     true,
     false,
     false,
     "Unreachable",
     false},
    {"another server answers",
     {.address = "1.1.1.1:1", .trusted = true, .reachable = true, .mismatched = true},
     true,
     false,
     false,
     "CertificateMismatch",
     false},
    {"not ready",
     {.address = "1.1.1.1:1", .trusted = true, .reachable = true},
     true,
     true,
     false,
     "NotReady",
     false},
    {"no documents",
     {.address = "1.1.1.1:1", .trusted = true, .reachable = true},
     false,
     false,
     false,
     "NoDocuments",
     false},
};

/* What else may be unlike the rest. */
enum oddity {
    NONE,
    NO_LEASES,  /* the other peer has none */
    NO_READYZ,  /* it may not be read */
    NOT_PROVEN, /* that an API server answers */
};

static const struct {
    enum oddity oddity;
    struct row row;
} odd_rows[] = {
    {NO_LEASES,
     {"no leases but a stale one",
      {.address = "1.1.1.1:1", .trusted = true, .reachable = true, .lease_stale = true},
      true,
      false,
      false,
      "",
      false}},
    {NO_READYZ,
     {"readiness is not known",
      {.address = "1.1.1.1:1", .trusted = true, .reachable = true},
      true,
      true,
      false,
      "",
      false}},
    {NOT_PROVEN,
     {"something else answers",
      {.address = "1.1.1.1:1", .trusted = true, .reachable = true},
      true,
      false,
      false,
      "Unreachable",
      false}},
};

static void check(const struct row *row, enum oddity oddity)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(row->documents, !row->unready, NOW);
    struct ek_peer peers[2] = {row->peer,
                               {.name = "b",
                                .server_id = oddity == NO_LEASES ? "" : "id-b",
                                .address = "1.1.1.2:1",
                                .address_source = "",
                                .trusted = true,
                                .reachable = true,
                                .lease_stale = row->others_stale,
                                .lease_age_ms = row->others_stale ? 61000 : 0,
                                .probe = probe}};
    size_t n;

    if (oddity == NO_READYZ)
        probe->ready_answer = (struct ek_probe_answer){.error = {.code = EK_E_FORBIDDEN},
                                                       .good_at_ms = EK_TIME_UNSET};
    probe->proven = oddity != NOT_PROVEN;
    peers[0].name = "a";
    peers[0].server_id = "id-a";
    peers[0].address_source = "";
    peers[0].lease_age_ms = row->peer.lease_stale ? 61000 : 0;
    peers[0].probe = probe;
    const struct ek_peer_table table = {.peers = peers, .n = 2};
    const struct ek_view *view = ek_view_source_update(source, &table, &none, NOW);
    ck_assert_ptr_nonnull(view);
    const struct ek_view_peer *got = ek_view_peers(view, &n);
    ck_assert_msg(!strcmp(ek_view_source_why_not(source, 0), row->why_not), "%s: %s", row->label,
                  ek_view_source_why_not(source, 0));
    ck_assert_msg(got[0].routable == !*row->why_not, "%s", row->label);
    ck_assert_msg(got[0].down == row->down, "%s", row->label);
    ck_assert_msg(!*got[0].address == (!*row->peer.address || !row->peer.trusted), "%s",
                  row->label);
    ek_view_source_free(source);
    ek_probe_unref(probe);
}

START_TEST(row)
{
    check(&rows[_i], NONE);
}
END_TEST

START_TEST(odd_row)
{
    check(&odd_rows[_i].row, odd_rows[_i].oddity);
}
END_TEST

/* How long ago the Leases of "a" and "b" were renewed. The watch of Leases that stands still takes
 * no server out, although Leases become stale one after the other. */
static const struct {
    int64_t a_ms, b_ms;
    bool a_stale, b_stale, a_answers;
    const char *why_not; /* of "a" */
    bool down;
} leases[] = {
    {61000, 51000, true, false, true, "", false},
    {61000, 61000, true, true, true, "", false},
    {3600000, 3590000, true, true, true, "", false},
    {61000, 61000 - EK_VIEW_LEASE_LAG_MS, true, false, true, "", false},
    {61001, 61000 - EK_VIEW_LEASE_LAG_MS, true, false, true, "LeaseStale", false},
    {61000, 9000, true, false, true, "LeaseStale", false},
    {200000, 100000, true, true, true, "LeaseStale", false},
    {9000, 61000, false, true, true, "", false},
    {-1, 9000, true, false, true, "LeaseStale", false},
    {-1, 61000, true, true, true, "", false},
    {61000, -1, true, true, true, "", false},
    {61000, 9000, true, false, false, "LeaseStale", true},
    {61000, 51000, true, false, false, "Unreachable", false},
};

START_TEST(lease_row)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_peer peers[2];
    size_t n;

    for (size_t i = 0; i < 2; i++)
        peers[i] = (struct ek_peer){.name = i ? "b" : "a",
                                    .server_id = i ? "id-b" : "id-a",
                                    .address = i ? "1.1.1.2:1" : "1.1.1.1:1",
                                    .address_source = "",
                                    .trusted = true,
                                    .reachable = i || leases[_i].a_answers,
                                    .lease_stale = i ? leases[_i].b_stale : leases[_i].a_stale,
                                    .lease_age_ms = i ? leases[_i].b_ms : leases[_i].a_ms,
                                    .probe = probe};
    const struct ek_peer_table table = {.peers = peers, .n = 2};
    const struct ek_view *view = ek_view_source_update(source, &table, &none, NOW);
    ck_assert_str_eq(ek_view_source_why_not(source, 0), leases[_i].why_not);
    ck_assert_int_eq(ek_view_peers(view, &n)[0].down, leases[_i].down);
    ek_view_source_free(source);
    ek_probe_unref(probe);
}
END_TEST

/* A clock that was set back puts no server's silence off. */
START_TEST(takes_a_clock_that_is_set_back)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_peer peer = server(probe);
    const struct ek_peer_table table = {.peers = &peer, .n = 1};

    ck_assert_ptr_nonnull(ek_view_source_update(source, &table, &none, NOW));
    peer.reachable = false;
    ck_assert_ptr_nonnull(ek_view_source_update(source, &table, &none, NOW - 500000));
    ck_assert_int_eq(ek_view_source_again_ms(source, NOW - 500000), EK_VIEW_DOWN_AFTER_MS);
    ek_view_source_free(source);
    ek_probe_unref(probe);
}
END_TEST

/* The one that has been silent for longest is down first. */
START_TEST(looks_again_when_the_first_is_down)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_peer peers[2];
    const struct ek_peer_table table = {.peers = peers, .n = 2};

    for (size_t i = 0; i < 2; i++)
        peers[i] = (struct ek_peer){.name = i ? "b" : "a",
                                    .server_id = i ? "id-b" : "id-a",
                                    .address = i ? "1.1.1.2:1" : "1.1.1.1:1",
                                    .address_source = "",
                                    .trusted = true,
                                    .reachable = true,
                                    .probe = probe};
    ek_view_source_update(source, &table, &none, NOW);
    peers[0].reachable = false;
    ek_view_source_update(source, &table, &none, NOW + 1000);
    peers[1].reachable = false;
    ek_view_source_update(source, &table, &none, NOW + 2000);
    ck_assert_int_eq(ek_view_source_again_ms(source, NOW + 2000), EK_VIEW_DOWN_AFTER_MS - 2000);
    ek_view_source_free(source);
    ek_probe_unref(probe);
}
END_TEST

/* Documents outlive the address of their server; silence declares it down. */
START_TEST(remembers_a_server_that_has_gone)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_peer peer = server(probe);
    struct ek_peer_table table = {.peers = &peer, .n = 1};
    size_t n;

    ck_assert_ptr_nonnull(ek_view_source_update(source, &table, &none, NOW));
    ck_assert_ptr_null(ek_view_source_update(source, &table, &none, NOW + 1000));
    ck_assert_int_eq(ek_view_source_again_ms(source, NOW + 1000), 0);
    peer.address = "";
    peer.reachable = false;
    peer.probe = NULL;
    const struct ek_view *view = ek_view_source_update(source, &table, &none, NOW + 2000);
    ck_assert_ptr_nonnull(view);
    const struct ek_view_peer *got = ek_view_peers(view, &n);
    ck_assert(got->fetched && !got->routable && !got->down && got->fetched_ms == NOW);
    ck_assert_int_eq(ek_view_serves(view, 0, "g", "v1", "", ""), EK_VIEW_YES);
    ck_assert_int_eq(ek_view_source_again_ms(source, NOW + 2000), EK_VIEW_DOWN_AFTER_MS - 1000);
    view = ek_view_source_update(source, &table, &none, NOW + 1000 + EK_VIEW_DOWN_AFTER_MS);
    ck_assert_ptr_nonnull(view);
    ck_assert(ek_view_peers(view, &n)->down && ek_view_is_complete(view));
    ek_view_source_free(source);
    ek_probe_unref(probe);
}
END_TEST

/* A server that restarts takes its Lease with it: what it serves stays known meanwhile, and is the
 * server's again afterwards, whether it comes back under its id or first under its name alone. */
static const struct {
    const char *label;
    const char *source; /* of the address */
    struct ek_peer back;
    int64_t after_ms;
    size_t n;                /* peers in the view meanwhile */
    size_t n_after, n_known; /* when it is back, and those of them with documents */
} restarts[] = {
    {"under its id", "EndpointSlice", {.name = "a", .server_id = "id"}, 1000, 1, 1, 1},
    {"under its id, another name", "", {.name = "1.1.1.1:1", .server_id = "id"}, 1000, 1, 1, 1},
    {"without a Lease", "Pod", {.name = "a", .server_id = ""}, 1000, 1, 1, 1},
    {"another one beside", "Pod", {.name = "c", .server_id = "id-c"}, 1000, 1, 2, 1},
    {"of the configuration", "Static", {.name = "a", .server_id = "id"}, 1000, 0, 1, 0},
    {"under its address", "Pod", {.name = "1.1.1.1:1", .address = "1.1.1.1:1"}, 1000, 1, 2, 2},
    {"replaced", "", {.name = "c", .server_id = "id-c", .address = "1.1.1.1:1"}, 1000, 1, 1, 1},
    {"unread under its address",
     "Pod",
     {.name = "1.1.1.1:1", .address = "1.1.1.1:1", .live = true},
     1000,
     1,
     2,
     2},
    {"another address", "Pod", {.name = "c", .address = "1.1.1.3:1"}, 1000, 1, 2, 2},
    {"after the time", "Pod", {.name = "c", .server_id = "id-c"}, EK_VIEW_FORGET_AFTER_MS, 0, 1, 0},
};

START_TEST(remembers_a_server_that_restarts)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_peer peer = {.name = "a",
                           .server_id = "id",
                           .address = "1.1.1.1:1",
                           .address_source = restarts[_i].source,
                           .trusted = true,
                           .reachable = true,
                           .probe = probe};
    struct ek_peer_table table = {.peers = &peer, .n = 1};
    int64_t now_ms = NOW + restarts[_i].after_ms;
    const char *label = restarts[_i].label;
    size_t n, known = 0;

    ck_assert_ptr_nonnull(ek_view_source_update(source, &table, &none, NOW));
    table.n = 0;
    const struct ek_view *view = ek_view_source_update(source, &table, &none, now_ms);
    ck_assert_ptr_nonnull(view);
    const struct ek_view_peer *got = ek_view_peers(view, &n);
    ck_assert_msg(n == restarts[_i].n && ek_view_is_complete(view) == (n > 0), "%s: %zu", label, n);
    if (n > 0) {
        ck_assert_msg(!got->routable && got->down && !*got->address, "%s", label);
        ck_assert_str_eq(ek_view_source_why_not(source, 0), "Gone");
        ck_assert_int_eq(ek_view_serves(view, 0, "g", "v1", "", ""), EK_VIEW_YES);
        ck_assert_int_eq(ek_view_source_again_ms(source, now_ms),
                         NOW + EK_VIEW_FORGET_AFTER_MS - now_ms);
    }
    peer = restarts[_i].back;
    peer.address_source = "";
    peer.address = peer.address ? peer.address : "";
    peer.server_id = peer.server_id ? peer.server_id : "";
    peer.probe = *peer.address && !peer.live ? probe : NULL;
    table.n = 1;
    view = ek_view_source_update(source, &table, &none, now_ms + 1);
    got = ek_view_peers(view, &n);
    ck_assert_msg(!got[0].routable, "%s", label);
    for (size_t i = 0; i < n; i++)
        known += ek_view_serves(view, i, "g", "v1", "", "") == EK_VIEW_YES;
    ck_assert_msg(n == restarts[_i].n_after && known == restarts[_i].n_known, "%s: %zu, %zu", label,
                  n, known);
    ek_view_source_free(source);
    ek_probe_unref(probe);
}
END_TEST

/* Its Lease comes back before the Lease is tied to the address. */
START_TEST(knows_a_server_by_both_names)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_peer peers[2] = {
        {.name = "a",
         .server_id = "id",
         .address = "1.1.1.1:1",
         .address_source = "",
         .probe = probe},
        {.name = "1.1.1.1:1", .server_id = "", .address = "1.1.1.1:1", .address_source = ""}};
    struct ek_peer_table table = {.peers = peers, .n = 1};
    size_t n;

    ck_assert_ptr_nonnull(ek_view_source_update(source, &table, &none, NOW));
    table.peers = peers + 1;
    ck_assert_ptr_nonnull(ek_view_source_update(source, &table, &none, NOW + 1000));
    peers[0].address = "";
    peers[0].probe = NULL;
    table = (struct ek_peer_table){.peers = peers, .n = 2};
    const struct ek_view *view = ek_view_source_update(source, &table, &none, NOW + 2000);
    ck_assert_ptr_nonnull(view);
    ek_view_peers(view, &n);
    ck_assert(n == 2 && ek_view_is_complete(view));
    ck_assert_int_eq(ek_view_serves(view, 0, "g", "v1", "", ""), EK_VIEW_YES);
    ck_assert_int_eq(ek_view_serves(view, 1, "g", "v1", "", ""), EK_VIEW_YES);
    peers[0].address = "1.1.1.1:1";
    table.n = 1;
    view = ek_view_source_update(source, &table, &none, NOW + 3000);
    ek_view_peers(view, &n);
    ck_assert(n == 1 && ek_view_is_complete(view));
    ek_view_source_free(source);
    ek_probe_unref(probe);
}
END_TEST

/* What a server lists while it starts replaces nothing, and is nothing by itself. */
START_TEST(takes_documents_of_ready_servers)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *starts = probe_of(true, false, NOW), *ready = probe_of(true, true, NOW);
    struct ek_probe *again = probe_of(false, false, NOW + 2000);
    struct ek_peer peer = server(starts);
    const struct ek_peer_table table = {.peers = &peer, .n = 1};
    size_t n;

    again->core = document();
    again->groups = document_of("part");
    const struct ek_view *view = ek_view_source_update(source, &table, &none, NOW);
    ck_assert(!ek_view_peers(view, &n)->fetched && !ek_view_is_complete(view));
    ck_assert_int_eq(ek_view_serves(view, 0, "g", "v1", "", ""), EK_VIEW_UNKNOWN);
    peer.probe = ready;
    view = ek_view_source_update(source, &table, &none, NOW + 1000);
    ck_assert(ek_view_peers(view, &n)->routable);
    peer.probe = again;
    view = ek_view_source_update(source, &table, &none, NOW + 2000);
    ck_assert_ptr_nonnull(view);
    ck_assert(!ek_view_peers(view, &n)->routable);
    ck_assert_int_eq(ek_view_serves(view, 0, "g", "v1", "", ""), EK_VIEW_YES);
    ck_assert_int_eq(ek_view_serves(view, 0, "part", "v1", "", ""), EK_VIEW_NO);
    ek_view_source_free(source);
    ek_probe_unref(starts);
    ek_probe_unref(ready);
    ek_probe_unref(again);
}
END_TEST

/* Rounds of the prober, seen twice each: a failed one counts once, and documents once that are the
 * same in all rounds. */
START_TEST(counts_what_fails)
{
    static const struct ek_exclusions none = {0};
    static const struct {
        int64_t tried_ms;
        bool failed;
        const char *address;
        uint64_t fetch, resolve, documents;
    } rounds[] = {{NOW, false, "1.1.1.1:1", 0, 0, 1},
                  {NOW + 5000, true, "1.1.1.1:1", 1, 0, 1},
                  {NOW + 10000, true, "1.1.1.1:1", 2, 0, 1},
                  {NOW + 10000, true, "", 2, 1, 1},
                  {NOW + 15000, false, "1.1.1.1:1", 2, 1, 1}};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_peer peer = {.name = "a",
                           .server_id = "id-a",
                           .address_source = "",
                           .trusted = true,
                           .reachable = true,
                           .probe = probe};
    const struct ek_peer_table table = {.peers = &peer, .n = 1};

    for (size_t i = 0; i < EK_ARRAY_SIZE(rounds); i++) {
        probe->discovery_answer.tried_at_ms = rounds[i].tried_ms;
        probe->discovery_answer.error.code = rounds[i].failed ? EK_E_TIMEOUT : 0;
        peer.address = rounds[i].address;
        for (int twice = 0; twice < 2; twice++)
            ek_view_source_update(source, &table, &none, rounds[i].tried_ms + twice);
        const struct ek_view_counts counts = ek_view_source_counts(source);
        ck_assert_msg(counts.fetch_errors == rounds[i].fetch &&
                          counts.address_errors == rounds[i].resolve &&
                          counts.documents == rounds[i].documents,
                      "round %zu", i);
    }
    ek_view_source_free(source);
    ek_probe_unref(probe);
}
END_TEST

/* What another server at the address lists is not taken: not while it answers, and not from a probe
 * that has kept it when the right one is back and its documents cannot be read. */
START_TEST(takes_no_documents_of_another_server)
{
    static const struct ek_exclusions none = {0};
    struct ek_view_source *source = ek_view_source_new();
    struct ek_probe *probe = probe_of(true, true, NOW);
    struct ek_probe *other = probe_of(true, true, NOW + 1000);
    struct ek_peer peer = server(probe);
    struct ek_peer_table table = {.peers = &peer, .n = 1};
    size_t n;

    ek_api_groups_unref(other->groups);
    other->groups = document_of("other");
    other->reach.tried_at_ms = NOW + 1000;
    ck_assert_ptr_nonnull(ek_view_source_update(source, &table, &none, NOW));
    peer.probe = other;
    peer.mismatched = true;
    const struct ek_view *view = ek_view_source_update(source, &table, &none, NOW + 1000);
    ck_assert_ptr_nonnull(view);
    ck_assert_str_eq(ek_view_peers(view, &n)->why_not, "CertificateMismatch");
    ck_assert(!ek_view_peers(view, &n)->routable && !ek_view_peers(view, &n)->down);
    ck_assert_int_eq(ek_view_peers(view, &n)->fetched_ms, NOW);
    ck_assert_int_eq(ek_view_serves(view, 0, "g", "v1", "", ""), EK_VIEW_YES);
    ck_assert_int_eq(ek_view_serves(view, 0, "other", "v1", "", ""), EK_VIEW_NO);
    peer.mismatched = false;
    view = ek_view_source_update(source, &table, &none, NOW + 2000);
    ck_assert_ptr_nonnull(view);
    ck_assert(ek_view_peers(view, &n)->routable);
    ck_assert_int_eq(ek_view_serves(view, 0, "g", "v1", "", ""), EK_VIEW_YES);
    ck_assert_int_eq(ek_view_serves(view, 0, "other", "v1", "", ""), EK_VIEW_NO);
    other->discovery_answer.good_at_ms = NOW + 3000;
    view = ek_view_source_update(source, &table, &none, NOW + 3000);
    ck_assert_ptr_nonnull(view);
    ck_assert_int_eq(ek_view_serves(view, 0, "other", "v1", "", ""), EK_VIEW_YES);
    ek_view_source_free(source);
    ek_probe_unref(probe);
    ek_probe_unref(other);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("view_source");

    tcase_add_loop_test(tcase, row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, lease_row, 0, EK_ARRAY_SIZE(leases));
    tcase_add_loop_test(tcase, odd_row, 0, EK_ARRAY_SIZE(odd_rows));
    tcase_add_test(tcase, takes_a_clock_that_is_set_back);
    tcase_add_test(tcase, looks_again_when_the_first_is_down);
    tcase_add_test(tcase, remembers_a_server_that_has_gone);
    tcase_add_loop_test(tcase, remembers_a_server_that_restarts, 0, EK_ARRAY_SIZE(restarts));
    tcase_add_test(tcase, knows_a_server_by_both_names);
    tcase_add_test(tcase, takes_documents_of_ready_servers);
    tcase_add_test(tcase, counts_what_fails);
    tcase_add_test(tcase, takes_no_documents_of_another_server);
    return ek_test_run("view_source", tcase);
}
