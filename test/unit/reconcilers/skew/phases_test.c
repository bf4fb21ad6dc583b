/* SPDX-License-Identifier: Apache-2.0 */
/* Which API servers there are while their Leases and endpoints change: recorded. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"
#include "reconcilers/skew/facts.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

#define ARENA_LIMIT ((size_t)64 * 1024 * 1024)

/* The recorded phases: which peers there are, and what ties them. */
static const struct {
    const char *name, *now, *leases, *slices, *peers;
} phases[] = {
    {"a server without the peer address", "2026-11-20T10:56:09Z",
     "phases/without-peer-endpoint.leases.json",
     "slice 10.99.0.11 10.99.0.12 10.99.0.13 10.99.0.14 10.99.0.15 port=7443",
     "cp-a Annotation\ncp-b Annotation\ncp-c Elimination\ncp-d Annotation\ncp-e Annotation\n"},
    {"and another that has no lease yet", "2026-11-20T10:56:09Z",
     "phases/without-peer-endpoint.leases.json", "endpointslices.json",
     "10.99.0.13:7443 -\n10.99.0.16:7443 -\ncp-a Annotation\ncp-b Annotation\ncp-d Annotation\n"
     "cp-e Annotation\n"},
    {"crashed, at once", "2026-11-20T11:10:48Z", "phases/crash.before.leases.json",
     "endpointslices.json",
     "cp-a Annotation\ncp-b Annotation\ncp-c Annotation\ncp-d Annotation\ncp-e Annotation\ncp-f "
     "Annotation\n"},
    {"crashed, 25 s later: the endpoint is gone, the lease not yet stale", "2026-11-20T11:11:11Z",
     "phases/crash.after-25s.leases.json", "phases/crash.after-25s.endpointslices.json",
     "cp-a Annotation\ncp-b Annotation\ncp-c Annotation\ncp-d - NoAddress\ncp-e Annotation\ncp-f "
     "Annotation\n"},
    {"crashed, two minutes later", "2026-11-20T11:11:46Z", "phases/crash.after-25s.leases.json",
     "phases/crash.after-25s.endpointslices.json",
     "cp-a Annotation\ncp-b Annotation\ncp-c Annotation\ncp-d - LeaseStale\ncp-e Annotation\ncp-f "
     "Annotation\n"},
};

START_TEST(recorded_phase)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(phases[_i].now);
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_skew_facts facts;
    struct ek_probe_target *targets;
    size_t n_targets;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 65536);
    ek_view_fixture_add_file(fx, phases[_i].leases);
    if (strchr(phases[_i].slices, ' '))
        ek_view_fixture_script(fx, phases[_i].slices);
    else
        ek_view_fixture_add_file(fx, phases[_i].slices);
    ek_skew_facts_collect(ek_view_fixture_view(fx), arena, &facts, &targets, &n_targets);
    for (size_t i = 0; i < facts.n_peers; i++) {
        const struct ek_peer_fact *p = &facts.peers[i];
        bool told = strcmp(p->unreachable_reason, "NotProbed") != 0;
        ek_buf_printf(&out, "%s %s%s%s\n", p->name, *p->tied_by ? p->tied_by : "-", told ? " " : "",
                      told ? p->unreachable_reason : "");
    }
    ck_assert_msg(!strcmp(ek_buf_str(&out), phases[_i].peers), "%s: got\n%s", phases[_i].name,
                  ek_buf_str(&out));
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("phases");

    if (!ek_view_fixture_has_recording()) {
        puts("no recorded cases: skipped");
        return 77;
    }
    tcase_add_loop_test(tc, recorded_phase, 0, (int)EK_ARRAY_SIZE(phases));
    return ek_test_run("phases", tc);
}
