/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The headers from which the API servers take an identity, as the ConfigMap
 * kube-system/extension-apiserver-authentication has them. Each API server adds the names of its
 * own flags to the ConfigMap and removes none (pkg/controlplane/controller/
 * clusterauthenticationtrust/cluster_authentication_trust_controller.go of Kubernetes 1.36), so it
 * has those of all. An API server takes groups from each name that it is configured with
 * (pkg/authentication/request/headerrequest/requestheader.go:allHeaderValues), so a name that the
 * proxy let pass would give a client any group.
 *
 * Immutable, with counted references. Threading: any thread.
 */
#ifndef RECONCILERS_PROXY_IDENTITY_NAMES_H
#define RECONCILERS_PROXY_IDENTITY_NAMES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "api/obj.h"

#define EK_IDENTITY_CONFIG_MAP "extension-apiserver-authentication"

struct ek_identity_names {
    atomic_uint refs;
    char **names; /* of user names, UIDs and groups; without blanks around them */
    size_t n_names;
    char **prefixes; /* of extra fields */
    size_t n_prefixes;
    bool takes_user; /* X-Remote-User, by which the proxy names the user, is one of the names */
};

/* Reads the ConfigMap. NULL with err (EK_E_PARSE) for what is not such a ConfigMap: a member that
 * is no list of header names. Owned by the caller. */
struct ek_identity_names *ek_identity_names_read(const struct ek_obj *config_map,
                                                 struct ek_err *err);

/* NULL is fine for both. */
struct ek_identity_names *ek_identity_names_ref(struct ek_identity_names *names);
void ek_identity_names_unref(struct ek_identity_names *names);
EK_CLEANUP_PTR(ek_identity_names, ek_identity_names_unref)

/* Whether a header is one of them, or begins with one of the prefixes. */
bool ek_identity_names_have(const struct ek_identity_names *names, const char *header);

#endif
