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

/* Version 2 failed at the webhook of version 1, with its plan p2. */
void ff_cluster_make_failure(struct subjectbench *bench);

/* The policy of all namespaces: a mode, the versions of OLM, and further members of the spec, each
 * with a comma before it. There is no grace. */
void ff_cluster_consent(struct subjectbench *bench, const char *mode, const char *versions,
                        const char *more);

#endif
