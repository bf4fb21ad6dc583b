/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/remember.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

/* What was published before, then what is seen now; the names and reasons that follow. */
static const struct {
    const char *name, *old_peers, *script, *expected;
} rows[] = {
    {"its lease and address tell the name", "[]",
     "lease cp-a claim=10.0.0.1:6443\nslice 10.0.0.1 port=6443\nprobe 10.0.0.1:6443\n", "cp-a\n"},
    {"the lease is gone, the address is not", "[{\"name\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}]",
     "slice 10.0.0.1 port=6443\nprobe 10.0.0.1:6443 error=refused\n", "cp-a\n"},
    {"it still answers, and its certificate agrees",
     "[{\"name\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}]",
     "slice 10.0.0.1 port=6443\nprobe 10.0.0.1:6443 cert=cp-a,10.0.0.1\n", "cp-a\n"},
    {"another server has the address now", "[{\"name\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}]",
     "slice 10.0.0.1 port=6443\nprobe 10.0.0.1:6443 cert=cp-z,10.0.0.1\n", "10.0.0.1:6443\n"},
    {"the name moved to another address", "[{\"name\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}]",
     "lease cp-a claim=10.0.0.2:6443\nslice 10.0.0.1 10.0.0.2 port=6443\n"
     "probe 10.0.0.1:6443 error=refused\nprobe 10.0.0.2:6443\n",
     "10.0.0.1:6443\ncp-a\n"},
    {"nothing names it any more", "[{\"name\":\"cp-a\",\"address\":\"10.0.0.1:6443\"}]",
     "lease cp-b claim=10.0.0.2:6443\nslice 10.0.0.2 port=6443\nprobe 10.0.0.2:6443\n",
     "cp-a Gone\ncp-b\n"},
    {"long gone",
     "[{\"name\":\"cp-a\",\"address\":\"10.0.0.1:6443\",\"lastSeen\":\"2020-01-01T00:00:00Z\"}]",
     "lease cp-b claim=10.0.0.2:6443\nslice 10.0.0.2 port=6443\nprobe 10.0.0.2:6443\n", "cp-b\n"},
    {"a mistake in the user's list, corrected",
     "[{\"name\":\"10.9.9.9:6443\",\"address\":\"10.9.9.9:6443\",\"addressSource\":\"Static\"}]",
     "lease cp-b claim=10.0.0.2:6443\nslice 10.0.0.2 port=6443\nprobe 10.0.0.2:6443\n", "cp-b\n"},
    {"a nameless one is remembered by its address",
     "[{\"name\":\"10.0.0.1:6443\",\"address\":\"10.0.0.1:6443\"}]",
     "slice 10.0.0.1 port=6443\nprobe 10.0.0.1:6443 error=refused\n", "10.0.0.1:6443\n"},
};

START_TEST(names_last_longer_than_leases)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_skew_facts facts;
    struct ek_skew_spec spec;
    struct ek_probe_target *targets;
    size_t n_targets;
    int64_t forget_ms;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    ek_view_fixture_script(fx, rows[_i].script);
    const struct ek_skew_view *view = ek_view_fixture_view(fx);
    EK_AUTOFREE char *json = ek_xasprintf("{\"peers\":%s}", rows[_i].old_peers);
    yyjson_doc *old = yyjson_read(json, strlen(json), 0);
    ek_skew_spec_parse(NULL, arena, &spec);
    ek_skew_facts_collect(view, arena, &facts, &targets, &n_targets);
    ek_skew_remember(&facts, &spec, yyjson_doc_get_root(old), view->now_ms, arena, &forget_ms);
    for (size_t i = 0; i < facts.n_peers; i++) {
        bool gone = !strcmp(facts.peers[i].unreachable_reason, "Gone");
        ek_buf_printf(&out, "%s%s\n", facts.peers[i].name, gone ? " Gone" : "");
    }
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].expected), "%s: got %s", rows[_i].name,
                  ek_buf_str(&out));
    yyjson_doc_free(old);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("remember");
    tcase_add_loop_test(tc, names_last_longer_than_leases, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("remember", tc);
}
