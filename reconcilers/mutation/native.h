/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Policies of admissionregistration.k8s.io: which API servers run them, in which version they are
 * read, and from which API server. Pure.
 *
 * The version is the best that any API server serves. Two sources know it: the table of peers, and
 * the answers of the configured address. On a control plane of mixed versions the configured
 * address may lead to an API server that serves less, or nothing. Therefore a peer that serves the
 * version is queried directly, as long as others do not serve it.
 */
#ifndef RECONCILERS_MUTATION_NATIVE_H
#define RECONCILERS_MUTATION_NATIVE_H

#include "api/obj.h"
#include "reconcilers/mutation/enforcement.h"
#include "reconcilers/peers/table.h"

#define EK_NATIVE_GROUP "admissionregistration.k8s.io"

/* The i-th version of mutatingadmissionpolicies, best first; NULL beyond the last. Constant. */
const char *ek_native_version(size_t i);

/* ---- The API servers ---- */

struct ek_native_peers {
    struct ek_plugin_census census; /* of the live API servers */
    const char *version;            /* the best that a live one serves; NULL: none. Constant */
    bool all;                       /* every API server has answered, so version is the truth */
    const char *server; /* "ip:port" of the table: of a trusted peer that serves version,
                           when another live one does not, or has not proven its identity;
                           NULL: any server */
};

/* current (NULL: none) is the server of the last time. It stays the server while it serves version,
 * because another one means that all policies are listed again. */
void ek_native_peers_read(const struct ek_peer_table *table, const char *current,
                          struct ek_native_peers *ret);

/* True when a and b have the same counts. */
bool ek_plugin_census_is_same(const struct ek_plugin_census *a, const struct ek_plugin_census *b);

/* ---- Both sources ---- */

/* Zero: nothing is known. Texts are constants of ek_native_version. */
struct ek_native_source {
    bool answered;          /* the configured address has answered for a version, or for all */
    const char *configured; /* the best that the configured address has listed; NULL: none */
    const char *peers;      /* as in struct ek_native_peers */
    bool all;
};

/* Notes the answer of the configured address for the i-th version: list is an APIResourceList, NULL
 * for none. Returns true when no other version needs a request. A version that was listed once
 * stays known: the next answer may come from another API server behind the same address. */
bool ek_native_source_answer(struct ek_native_source *source, size_t i, yyjson_val *list);

/* The version to read policies in; NULL: no API server serves them, as far as is known. */
const char *ek_native_source_version(const struct ek_native_source *source);

/* True when the version is more than a guess. */
bool ek_native_source_is_known(const struct ek_native_source *source);

#endif
