/* SPDX-License-Identifier: Apache-2.0 */
/* What the status says about the documents that a proxy merges. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "api/cond.h"
#include "reconcilers/peers/view.h"
#include "test/support/skew_plans.h"
#include "test/support/skew_scripts.h"
#include "test/support/suite.h"

static const struct {
    const char *servers, *want, *says;
} rows[] = {
    {"cp-a cp-b", "True Complete", "documents of 2 API servers"},
    {"cp-a", "True Complete", "documents of 1 API server"},
    {"cp-a cp-b-", "True OldDocuments", "take no requests: cp-b; resources"},
    {"cp-a- cp-b-", "True OldDocuments", "cp-a; cp-b"},
    {"cp-a cp-b!", "False PartlyRead", "never read: cp-b; a proxy answers 503, and not 404"},
    {"cp-a- cp-b!", "False PartlyRead", "never read: cp-b;"},
    {"cp-a cp-b?", "False NotRead", "never read: cp-b; a proxy answers discovery by 503"},
    {"cp-a! cp-b!", "False NotRead", "cp-a; cp-b"},
    {"", "Unknown NoPeers", "no API server"},
};

START_TEST(condition_row)
{
    EK_AUTO(ek_test_plans) p;
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_test_documents(rows[_i].servers);

    ek_test_plans_init(&p);
    p.documents = view;
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert_str_eq(ek_test_plans_condition(&p, "DiscoveryMerged"), rows[_i].want);
    ck_assert_msg(strstr(ek_test_plans_message(&p, "DiscoveryMerged"), rows[_i].says) != NULL, "%s",
                  ek_test_plans_message(&p, "DiscoveryMerged"));
}
END_TEST

#define MANIFESTS(a, b) "manifests cp-a " a "\nmanifests cp-b " b "\n"

/* Static admission manifests: the condition, which is there while an API server has any, and the
 * Event after two servers without any. */
static const struct {
    const char *facts, *want, *says, *event;
    size_t n_rows;
} manifests[] = {
    {FINE, "", "", "", 0},
    {FINE MANIFESTS("P=1", "P=1"), "True Consistent",
     "static admission manifests: the same at 2 API servers", "", 0},
    {FINE MANIFESTS("P=1", "P=2"), "False AdmissionManifestsDiffer",
     "the manifests of P differ between cp-b and cp-a; requests are judged",
     "!AdmissionManifestsDiffer", 1},
    {FINE MANIFESTS("P=1 Q=1", "Q=1"), "False AdmissionManifestsDiffer",
     "the manifests of P are not loaded at cp-b;", "!AdmissionManifestsDiffer", 1},
    {FINE "manifests cp-a P=1\nforget cp-b gates 90\n", "Unknown NotCompared", "get on /metrics",
     "", 0},
    {A OLD_B MANIFESTS("P=1", ""), "False AdmissionManifestsDifferByVersion",
     "one emulation version", "AdmissionManifestsDiffer", 1},
};

START_TEST(manifests_row)
{
    EK_AUTO(ek_test_plans) p;
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_test_documents("cp-a cp-b");
    static const char type[] = "AdmissionManifestsConsistent";

    ek_test_plans_init(&p);
    p.documents = view;
    ek_test_plans_step(&p, FINE, NULL);
    ek_test_plans_step(&p, manifests[_i].facts, NULL);
    yyjson_val *conditions = ek_json_get(ek_test_plans_status(&p), "conditions", NULL);
    yyjson_val *list =
        ek_json_get(ek_test_plans_status(&p), "differences", "admissionManifests", NULL);
    ck_assert_uint_eq(yyjson_arr_size(list), manifests[_i].n_rows);
    ck_assert_msg(strstr(ek_test_plans_events(&p), manifests[_i].event) != NULL, "%s",
                  ek_test_plans_events(&p));
    if (!*manifests[_i].want) {
        ck_assert_ptr_null(ek_cond_find(conditions, type));
        return;
    }
    ck_assert_str_eq(ek_test_plans_condition(&p, type), manifests[_i].want);
    ck_assert_msg(strstr(ek_test_plans_message(&p, type), manifests[_i].says) != NULL, "%s",
                  ek_test_plans_message(&p, type));
}
END_TEST

static yyjson_val *routable(struct ek_test_plans *p, size_t i)
{
    yyjson_val *peers = ek_json_get(ek_test_plans_status(p), "peers", NULL);
    return yyjson_obj_get(yyjson_arr_get(peers, i), "routable");
}

START_TEST(each_peer_says_whether_it_is_routable)
{
    EK_AUTO(ek_test_plans) p;
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_test_documents("cp-a cp-b-");
    EK_AUTOPTR(ek_view, ek_view_unref) *one = ek_test_documents("cp-b");

    ek_test_plans_init(&p);
    p.documents = view;
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert(yyjson_is_true(routable(&p, 0)));
    ck_assert(yyjson_is_false(routable(&p, 1)));
    p.documents = one;
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert_ptr_null(routable(&p, 0));
    ck_assert(yyjson_is_true(routable(&p, 1)));
}
END_TEST

/* For a caller that keeps no documents. */
START_TEST(without_documents_nothing_is_said)
{
    EK_AUTO(ek_test_plans) p;

    ek_test_plans_init(&p);
    ek_test_plans_step(&p, FINE, NULL);
    yyjson_val *conditions = ek_json_get(ek_test_plans_status(&p), "conditions", NULL);
    ck_assert_ptr_null(ek_cond_find(conditions, "DiscoveryMerged"));
    ck_assert_uint_eq(yyjson_arr_size(conditions), 6);
    ck_assert_ptr_null(routable(&p, 0));
}
END_TEST

/* A view that is a moment younger changes no status. */
START_TEST(ages_change_nothing)
{
    EK_AUTO(ek_test_plans) p;
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_test_documents("cp-a cp-b");
    EK_AUTOPTR(ek_view, ek_view_unref) *next = ek_test_documents("cp-a cp-b");

    ek_test_plans_init(&p);
    p.documents = view;
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert(p.plan.status_changed);
    p.documents = next;
    p.now_ms += 5000;
    ek_test_plans_step(&p, FINE, NULL);
    ck_assert(!p.plan.status_changed);
}
END_TEST

/* The samples of the last step: the labels of each are one line. */
static const struct {
    const char *name, *documents, *metric, *samples;
} samples[] = {
    {"the documents of each API server that has any, and the merged one", "cp-a cp-b!",
     "evenkeel_discovery_bytes", "peer=cp-a 151\npeer= 151\n"},
    {"the reason for which each API server is not routable; a routable one has no sample",
     "cp-a cp-b- cp-c!", "evenkeel_peer_not_routable",
     "peer=cp-b reason=NotReady 1\npeer=cp-c reason=Unreachable 1\n"},
};

START_TEST(samples_row)
{
    EK_AUTO(ek_test_plans) p;
    EK_AUTO(ek_buf) out;
    EK_AUTOPTR(ek_view, ek_view_unref) *view = ek_test_documents(samples[_i].documents);

    ek_buf_init(&out, 4096);
    ek_test_plans_init(&p);
    p.documents = view;
    ek_test_plans_step(&p, FINE, NULL);
    for (size_t i = 0; i < p.plan.n_metrics; i++) {
        const struct ek_skew_metric *m = &p.plan.metrics[i];
        if (strcmp(m->name, samples[_i].metric) != 0)
            continue;
        for (size_t k = 0; k < EK_ARRAY_SIZE(m->labels) && m->labels[k][0]; k++)
            ek_buf_printf(&out, "%s=%s ", m->labels[k][0], m->labels[k][1]);
        ek_buf_printf(&out, "%g\n", m->value);
    }
    ck_assert_msg(!strcmp(ek_buf_str(&out), samples[_i].samples), "%s: %s", samples[_i].name,
                  ek_buf_str(&out));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("merged");

    tcase_add_loop_test(tcase, condition_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, manifests_row, 0, (int)EK_ARRAY_SIZE(manifests));
    tcase_add_test(tcase, each_peer_says_whether_it_is_routable);
    tcase_add_test(tcase, without_documents_nothing_is_said);
    tcase_add_test(tcase, ages_change_nothing);
    tcase_add_loop_test(tcase, samples_row, 0, (int)EK_ARRAY_SIZE(samples));
    return ek_test_run("merged", tcase);
}
