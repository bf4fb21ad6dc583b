/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kinds of OLM and of Evenkeel a cluster serves, out of documents of discovery
 * (APIResourceList of k8s.io/apimachinery pkg/apis/meta/v1), and which version of OLM runs.
 *
 * Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_SERVED_H
#define RECONCILERS_FAILFORWARD_SERVED_H

#include "reconcilers/failforward/observe.h"

#define EK_FF_OLM_GROUP "operators.coreos.com"

/* What is known of a cluster; zero: nothing is served. */
struct ek_ff_served {
    bool olm;                       /* all kinds of OLM v0 that a decision requires */
    bool reports;                   /* FailForwardPolicy and FailForwardStatus */
    const char *groups_version;     /* of OperatorGroups; constant; NULL: not served */
    const char *conditions_version; /* of OperatorConditions; constant; NULL: not served */
};

/* The path of the i-th document, to be read in this order; NULL after the last. */
const char *ek_ff_served_path(size_t i);

/* Notes the i-th document; NULL where the API server answered that there is none. Returns false
 * when the documents that follow are of no use. */
bool ek_ff_served_note(struct ek_ff_served *served, size_t i, yyjson_val *document);

/*
 * The version of OLM, borrowed; "" where it is not known. It is that of the CSV "packageserver" in
 * one of the two namespaces that OLM is installed in (operator-lifecycle-manager at v0.46.0,
 * deploy/chart/templates/_packageserver.clusterserviceversion.yaml; values.yaml and the manifests
 * of OpenShift). A CSV of that name in another namespace proves nothing.
 */
const char *ek_ff_olm_version(const struct ek_ff_objs *csvs);

/* True for the namespaces above. */
bool ek_ff_is_olm_namespace(const char *name);

/*
 * True for a namespace whose CatalogSources OLM gives to the Subscriptions of all namespaces: "olm"
 * of the manifests of operator-lifecycle-manager, "openshift-marketplace" of OpenShift (the flag
 * --namespace of the catalog operator: README.md of this folder). No object of the cluster says
 * which it is that a user of another namespace could not write.
 */
bool ek_ff_is_catalog_namespace(const char *name);

/* True for a version that the ladder was played against: test/data/failforward/README.md. */
bool ek_ff_olm_is_tried(const char *version);

#endif
