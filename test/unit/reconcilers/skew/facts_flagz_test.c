/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of an API server: those of its Pod, or else those of /flagz. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "reconcilers/skew/facts.h"
#include "test/support/suite.h"
#include "test/support/view_fixture.h"

#define SERVER "slice 10.0.0.1\nnode cp-a ip=10.0.0.1 role=control-plane\n"
#define POD    "pod kube-apiserver cp-a ip=10.0.0.1 cmd="

static const struct {
    const char *name, *script, *flag;
    const char *gate; /* NULL: the flags are not read; "": no gate is set */
} rows[] = {
    {"a server without a Pod", SERVER, "--feature-gates=:A=true", "A"},
    {"no gate was set", SERVER, "--feature-gates=", ""},
    {"the Pod comes first", SERVER POD "kube-apiserver|--feature-gates=B=true",
     "--feature-gates=:A=true", "B"},
    {"a Pod whose command is a shell", SERVER POD "sh|-c", "--feature-gates=:A=true", "A"},
    {"the emulation version of the server", SERVER, "--emulated-version=[1.35]", ""},
    {"that of another server", SERVER, "--emulated-version=[1.36]", NULL},
    {"neither", SERVER, NULL, NULL},
    {"flags that cannot be read", SERVER, "--feature-gates=:A", NULL},
};

START_TEST(flags)
{
    EK_AUTOPTR(ek_view_fixture, ek_view_fixture_free) *fx = ek_view_fixture_new(NULL);
    struct ek_arena *arena = ek_arena_new((size_t)16 << 20);
    struct ek_probe *probe = ek_view_fixture_add_probe(fx, "10.0.0.1:6443");
    struct ek_probe_target *targets;
    struct ek_skew_facts facts;
    size_t n;

    ek_view_fixture_script(fx, rows[_i].script);
    const struct ek_skew_view *view = ek_view_fixture_view(fx);
    probe->proven = true;
    probe->version_answer.good_at_ms = view->now_ms;
    snprintf(probe->git_version, sizeof probe->git_version, "v1.36.2");
    probe->binary = EK_MINOR(1, 36);
    probe->emulation = EK_MINOR(1, 35);
    probe->min_compat = EK_MINOR(1, 34);
    probe->reach.good_at_ms = probe->flagz_answer.good_at_ms = view->now_ms;
    if (rows[_i].flag) {
        probe->flagz = ek_xalloc(sizeof *probe->flagz);
        probe->flagz[probe->n_flagz++] = ek_xstrdup(rows[_i].flag);
    }
    ek_skew_facts_collect(view, arena, &facts, &targets, &n);
    ck_assert_uint_eq(facts.n_peers, 1);
    const struct ek_peer_fact *peer = &facts.peers[0];
    ck_assert_msg(peer->flags_read == (rows[_i].gate != NULL), "%s", rows[_i].name);
    const char *gate = peer->n_flag_gates ? peer->flag_gates[0].name : "";
    ck_assert_msg(!strcmp(gate, rows[_i].gate ? rows[_i].gate : ""), "%s: %s", rows[_i].name, gate);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("facts_flagz");

    tcase_add_loop_test(tc, flags, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("facts_flagz", tc);
}
