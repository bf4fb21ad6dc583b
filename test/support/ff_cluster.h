/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cluster with OLM, and with the objects of an upgrade that failed, for fail forward in the frame
 * (subjectbench.h). All is in the namespace ns; the Subscription is op, of the package op.
 *
 * Failures fail the test. Threading: the loop of the bench.
 */
#ifndef TEST_SUPPORT_FF_CLUSTER_H
#define TEST_SUPPORT_FF_CLUSTER_H

#include "test/support/subjectbench.h"

#define FF_CLUSTER_OLM     "/apis/operators.coreos.com/v1alpha1/namespaces/ns/"
#define FF_CLUSTER_GROUPS  "/apis/operators.coreos.com/v1/namespaces/ns/operatorgroups"
#define FF_CLUSTER_REPORTS "/apis/evenkeel.dev/v1alpha1/namespaces/ns/failforwardstatuses"

/* The kinds of OLM, and those of fail forward. */
void ff_cluster_install_olm(struct subjectbench *bench);
void ff_cluster_install_reports(struct subjectbench *bench);

/* A merge patch, which must succeed. */
void ff_cluster_patch(struct subjectbench *bench, const char *path, const char *body);

/* The namespace with its operator group. */
void ff_cluster_make_namespace(struct subjectbench *bench);

/* The Subscription, with the names of its current and its installed CSV. */
void ff_cluster_make_sub(struct subjectbench *bench, const char *current, const char *installed);

/* A CSV: replaces as text, "" for none; status as members of its status. */
void ff_cluster_make_csv(struct subjectbench *bench, const char *name, const char *replaces,
                         const char *status);

/* An InstallPlan of one CSV, which the Subscription owns, if it is there: status as above. */
void ff_cluster_make_plan(struct subjectbench *bench, const char *name, int generation,
                          const char *csv, const char *status);

/* Failures. first: the plan of the first version failed. absent: the plan of version 2 failed
 * before its CSV was created. failed: after that. switched_on: the same, with fail forward of the
 * operator group on. waiting: the same, held, and the plan of version 3 waits for approval.
 * replaced: as switched_on, and the CSV of version 3 is there. */
void ff_cluster_first(struct subjectbench *bench);
void ff_cluster_absent(struct subjectbench *bench);
void ff_cluster_failed(struct subjectbench *bench);
void ff_cluster_switched_on(struct subjectbench *bench);
void ff_cluster_waiting(struct subjectbench *bench);
void ff_cluster_replaced(struct subjectbench *bench);

/* Entries of a channel: version 3 replaces version 2, or skips version 2. */
#define FF_CLUSTER_ENTRY(name, more) "{\"name\":\"" name "\"" more "}"
#define FF_CLUSTER_V1                FF_CLUSTER_ENTRY("v1", "")
#define FF_CLUSTER_V2                FF_CLUSTER_ENTRY("v2", ",\"replaces\":\"v1\"")
#define FF_CLUSTER_AFTER                                                                           \
    FF_CLUSTER_V1 "," FF_CLUSTER_V2 "," FF_CLUSTER_ENTRY("v3", ",\"replaces\":\"v2\"")
#define FF_CLUSTER_PAST                                                                            \
    FF_CLUSTER_V1 "," FF_CLUSTER_V2                                                                \
                  "," FF_CLUSTER_ENTRY("v3", ",\"replaces\":\"v1\",\"skips\":[\"v2\"]")

/* Serves a READY catalog with these entries of a channel, one at a time, until ff_cluster_stop. */
void ff_cluster_make_catalog(struct subjectbench *bench, const char *entries);

/* Stops the bench, and the catalog if there is one. */
void ff_cluster_stop(struct subjectbench *bench);

/* Version 2 failed at the webhook of version 1, with its plan p2. */
void ff_cluster_make_failure(struct subjectbench *bench);

/* The policy of all namespaces: a mode, the versions of OLM, and further members of the spec, each
 * with a comma before it. There is no grace. */
void ff_cluster_consent(struct subjectbench *bench, const char *mode, const char *versions,
                        const char *more);

#endif
