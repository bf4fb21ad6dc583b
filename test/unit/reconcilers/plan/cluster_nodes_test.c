/* SPDX-License-Identifier: Apache-2.0 */
/* Which kubelets and kube-proxies of a cluster are on the same nodes. */
#include "reconcilers/plan/cluster.h"
#include "test/support/suite.h"

#define ARENA_MAX ((size_t)16 << 20)

/* The second group of kube-proxies is on the nodes of the second group of kubelets alone. */
START_TEST(kubelets_and_kube_proxies_of_the_same_nodes)
{
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_MAX)};
    struct ek_node_pair pairs[] = {{EK_MINOR(1, 36), EK_MINOR(1, 36), 1, NULL, 0},
                                   {EK_MINOR(1, 32), EK_MINOR(1, 33), 1, NULL, 0}};
    struct ek_node_group groups[4];
    static const unsigned minors[] = {36, 32, 36, 33};
    struct ek_skew_facts facts = {.groups = groups, .n_groups = 4, .pairs = pairs, .n_pairs = 2};
    struct ek_skew_spec spec = {.policy = {1, EK_SKEW_UNSET, EK_SKEW_UNSET, 0, 0}};
    struct ek_plan_cluster cluster;
    struct ek_plan_data data;

    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        groups[i] = (struct ek_node_group){.component = i < 2 ? EK_KUBELET : EK_KUBE_PROXY,
                                           .version = "v",
                                           .versions = {.binary_string = "",
                                                        .binary = EK_MINOR(1, minors[i]),
                                                        .emulation = EK_MINOR(1, minors[i]),
                                                        .unknown_reason = "",
                                                        .conflict = ""},
                                           .count = 1};
    ek_plan_cluster_read(&facts, &spec, &data, &report, &cluster);
    ck_assert_uint_eq(cluster.n, 4);
    ck_assert(cluster.parts[0].nodes & cluster.parts[2].nodes);
    ck_assert(cluster.parts[1].nodes & cluster.parts[3].nodes);
    ck_assert(!(cluster.parts[0].nodes & cluster.parts[3].nodes));
    ek_arena_free(report.arena);
    ek_plan_data_done(&data);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cluster nodes");

    tcase_add_test(tcase, kubelets_and_kube_proxies_of_the_same_nodes);
    return ek_test_run("cluster nodes", tcase);
}
