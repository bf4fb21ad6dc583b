/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/differences.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/buf.h"
#include "test/support/skew_facts.h"

#define A "peer cp-a v1.36.2/1.36/1.35\n"
#define B "peer cp-b v1.35.2/1.35/1.34\n"
#define C "peer cp-c v1.36.2/1.36/1.35\n"

static void put_some(struct ek_buf *out, const struct ek_some_peers *some)
{
    for (size_t i = 0; i < some->n_names; i++)
        ek_buf_printf(out, "%s%s", i ? "," : "", some->names[i]);
    if (some->n > some->n_names)
        ek_buf_printf(out, "+%zu", some->n - some->n_names);
}

/* Each row "group/version resource served/missing" and so on, in one line. */
static void put_discovery(struct ek_buf *out, const struct ek_differences *d)
{
    for (size_t i = 0; i < d->discovery.n_rows; i++) {
        const struct ek_discovery_difference *row = &d->discovery_rows[i];
        ek_buf_printf(out, "%s%s %s %zu ", i ? "; " : "", row->group_version,
                      row->resource[0] ? row->resource : "*", row->n_resources);
        put_some(out, &row->served_by);
        ek_buf_puts(out, "/");
        put_some(out, &row->missing_from);
    }
    if (d->discovery.not_compared.n) {
        ek_buf_puts(out, " not:");
        put_some(out, &d->discovery.not_compared);
    }
    if (d->discovery.drift)
        ek_buf_printf(out, " drift:%s", d->discovery.drift_example);
}

static const struct {
    const char *name, *facts, *want;
    const char *missing; /* per peer, "-" where not compared */
} discovery[] = {
    {"alike",
     A B "serves cp-a core/v1/pods apps/v1/deployments\n"
         "serves cp-b core/v1/pods apps/v1/deployments",
     "", "0 0"},
    {"one resource", A B "serves cp-a core/v1/pods core/v1/newpods\nserves cp-b core/v1/pods",
     "v1 newpods 1 cp-a/cp-b", "0 1"},
    {"whole group version in one row",
     A B "serves cp-a core/v1/pods x.io/v1/as x.io/v1/as/status x.io/v1/bs\n"
         "serves cp-b core/v1/pods",
     "x.io/v1 * 2 cp-a/cp-b", "0 2"},
    {"either lacks something",
     A B "serves cp-a core/v1/pods x.io/v1/as\n"
         "serves cp-b core/v1/pods x.io/v1beta1/as",
     "x.io/v1 * 1 cp-a/cp-b; x.io/v1beta1 * 1 cp-b/cp-a", "1 1"},
    {"subresource of a served resource",
     A B "serves cp-a core/v1/pods core/v1/pods/resize\n"
         "serves cp-b core/v1/pods",
     "v1 pods/resize 1 cp-a/cp-b", "0 1"},
    {"subresource falls with its resource",
     A B "serves cp-a core/v1/nodes core/v1/pods core/v1/pods/resize\nserves cp-b core/v1/nodes",
     "v1 pods 1 cp-a/cp-b", "0 1"},
    {"a name before the slash in order",
     A B "serves cp-a x.io/v1/as x.io/v1/as-b x.io/v1/as/scale\nserves cp-b x.io/v1/as-b",
     "x.io/v1 as 1 cp-a/cp-b", "0 1"},
    {"three peers, gone at one and partial at another",
     A B C "serves cp-a x.io/v1/as x.io/v1/bs\nserves cp-b core/v1/pods\nserves cp-c x.io/v1/as",
     "v1 * 1 cp-b/cp-a,cp-c; x.io/v1 * 2 cp-a,cp-c/cp-b; x.io/v1 bs 1 cp-a/cp-c "
     "drift:x.io/v1 bs",
     "1 2 2"},
    {"same versions differ: drift",
     A C "serves cp-a core/v1/pods core/v1/x\n"
         "serves cp-c core/v1/pods",
     "v1 x 1 cp-a/cp-c drift:v1 x", "0 1"},
    {"one without an answer", A B C "serves cp-a core/v1/pods\nserves cp-b core/v1/pods",
     " not:cp-c", "0 0 -"},
    {"old answer is not compared",
     A B "serves cp-a core/v1/pods\nserves cp-b core/v1/x\nforget cp-b discovery 61", " not:cp-b",
     "0 -"},
    {"one failed attempt does not matter",
     A B "serves cp-a core/v1/pods\nserves cp-b core/v1/pods\nforget cp-b discovery 59", "", "0 0"},
    {"one without an answer, the others differ",
     A B C "serves cp-a core/v1/pods core/v1/x\nserves cp-b core/v1/pods",
     "v1 x 1 cp-a/cp-b not:cp-c", "0 1 -"},
    {"dead peers are no peers",
     A "peer cp-z v1.36.2/1.36/1.35 dead\nserves cp-a core/v1/pods\n"
       "serves cp-z core/v1/x",
     "", "0 -"},
    {"a server that serves nothing", A B "serves cp-a core/v1/pods\nserves cp-b",
     "v1 * 1 cp-a/cp-b", "0 1"},
    {"alone", A "serves cp-a core/v1/pods", "", "0"},
    {"nobody", "", "", ""},
};

START_TEST(discovery_row)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out, missing;
    struct ek_differences d;
    ek_buf_init(&out, 65536);
    ek_buf_init(&missing, 1024);
    ek_test_facts_init(&t, discovery[_i].facts);
    ek_skew_compare(&t.facts, t.arena, &d);
    put_discovery(&out, &d);
    for (size_t i = 0; i < t.facts.n_peers; i++)
        if (d.missing_resources[i] == SIZE_MAX)
            ek_buf_printf(&missing, "%s-", i ? " " : "");
        else
            ek_buf_printf(&missing, "%s%zu", i ? " " : "", d.missing_resources[i]);
    ck_assert_msg(strcmp(ek_buf_str(&out), discovery[_i].want) == 0, "%s: %s", discovery[_i].name,
                  ek_buf_str(&out));
    ck_assert_msg(strcmp(ek_buf_str(&missing), discovery[_i].missing) == 0, "%s: missing %s",
                  discovery[_i].name, ek_buf_str(&missing));
}
END_TEST

static const struct {
    const char *name, *facts, *want;
    size_t n_missing;
} gates[] = {
    {"alike", A B "gates cp-a X=on Y=off\ngates cp-b X=on Y=off", "", 0},
    {"differs between versions", A B "gates cp-a X=on\ngates cp-b X=off",
     "X on:cp-a off:cp-b ?:", 0},
    {"does not exist at the other's version", A B "gates cp-a X=on Y=on\ngates cp-b X=on", "", 1},
    {"does not exist at the same version: drift", A C "gates cp-a X=on Y=on\ngates cp-c X=on",
     "Y on:cp-a off: ?:cp-c drift:Y", 1},
    {"differs at the same version: drift", A C "gates cp-a X=on\ngates cp-c X=off",
     "X on:cp-a off:cp-c ?: drift:X", 0},
    {"drift among three",
     A B C "gates cp-a X=on Y=on\ngates cp-b X=off Y=on\n"
           "gates cp-c X=on Y=off",
     "X on:cp-a,cp-c off:cp-b ?:; Y on:cp-a,cp-b off:cp-c ?: drift:Y", 0},
    {"one without an answer", A B "gates cp-a X=on", " not:cp-b", 0},
    {"old answer", A B "gates cp-a X=on\ngates cp-b X=off\nforget cp-b gates 90", " not:cp-b", 0},
    {"asked rarely: between two questions the answer holds",
     A B "gates cp-a X=on\ngates cp-b X=off\nasked cp-a gates 299\nasked cp-b gates 299",
     "X on:cp-a off:cp-b ?:", 0},
    {"not reached any more",
     A B "gates cp-a X=on\ngates cp-b X=off\nasked cp-b gates 90\nforget cp-b reach 90",
     " not:cp-b", 0},
    {"last in order", A B "gates cp-a A=on Z=on\ngates cp-b A=on Z=off",
     "Z on:cp-a off:cp-b ?:", 0},
};

START_TEST(gate_row)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) out;
    struct ek_differences d;
    ek_buf_init(&out, 65536);
    ek_test_facts_init(&t, gates[_i].facts);
    ek_skew_compare(&t.facts, t.arena, &d);
    for (size_t i = 0; i < d.gates.n_rows; i++) {
        ek_buf_printf(&out, "%s%s on:", i ? "; " : "", d.gate_rows[i].gate);
        put_some(&out, &d.gate_rows[i].enabled_by);
        ek_buf_puts(&out, " off:");
        put_some(&out, &d.gate_rows[i].disabled_by);
        ek_buf_puts(&out, " ?:");
        put_some(&out, &d.gate_rows[i].missing_from);
    }
    if (d.gates.not_compared.n) {
        ek_buf_puts(&out, " not:");
        put_some(&out, &d.gates.not_compared);
    }
    if (d.gates.drift)
        ek_buf_printf(&out, " drift:%s", d.gates.drift_example);
    ck_assert_msg(strcmp(ek_buf_str(&out), gates[_i].want) == 0, "%s: %s", gates[_i].name,
                  ek_buf_str(&out));
    ck_assert_msg(d.n_gates_missing == gates[_i].n_missing, "%s: %zu missing", gates[_i].name,
                  d.n_gates_missing);
}
END_TEST

START_TEST(lists_are_bounded)
{
    EK_AUTO(ek_test_facts) t;
    EK_AUTO(ek_buf) script;
    struct ek_differences d;
    ek_buf_init(&script, 1 << 20);
    for (int i = 0; i < 10; i++)
        ek_buf_printf(&script, "peer p%d v1.36.2/1.36/1.35\n", i);
    ek_buf_puts(&script, "serves p0");
    for (int i = 0; i < 60; i++)
        ek_buf_printf(&script, " g%d.io/v1/as", i);
    for (int i = 1; i < 10; i++)
        ek_buf_printf(&script, "\nserves p%d core/v1/pods", i);
    for (int p = 0; p < 2; p++) {
        ek_buf_printf(&script, "\ngates p%d", p);
        for (int i = 0; i < 60; i++)
            ek_buf_printf(&script, " Gate%02d=%s", i, p ? "on" : "off");
    }
    ek_test_facts_init(&t, ek_buf_str(&script));
    ek_skew_compare(&t.facts, t.arena, &d);
    ck_assert_uint_eq(d.discovery.n, 61);
    ck_assert_uint_eq(d.discovery.n_rows, EK_DIFFERENCES_MAX);
    ck_assert_uint_eq(d.discovery_rows[1].missing_from.n, 9);
    ck_assert_uint_eq(d.discovery_rows[1].missing_from.n_names, EK_DIFFERENCES_NAMES_MAX);
    ck_assert_uint_eq(d.gates.n, 60);
    ck_assert_uint_eq(d.gates.n_rows, EK_DIFFERENCES_MAX);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("differences");
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, discovery_row, 0, (int)EK_ARRAY_SIZE(discovery));
    tcase_add_loop_test(tc, gate_row, 0, (int)EK_ARRAY_SIZE(gates));
    tcase_add_test(tc, lists_are_bounded);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
