/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Accept header as API servers read it: github.com/munnerz/goautoneg (ParseAccept), then
 * apiserver 1.36, pkg/endpoints/handlers/negotiation/negotiate.go, for a server whose media types
 * are application/json and application/yaml. Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_ACCEPT_H
#define RECONCILERS_PROXY_ACCEPT_H

#include <stdbool.h>

#include "api/base/buf.h"

/* Clauses of a header and parameters of a clause that are read; the rest is as if it were not
 * there. */
#define EK_ACCEPT_CLAUSES_MAX 32

struct ek_accept_clause {
    struct ek_str type, subtype;
    double q;
    /* The last parameter of each name; p NULL where there is none. */
    struct ek_str g, v, as, stream, sv, pretty, profile;
};

struct ek_accept {
    struct ek_accept_clause clauses[EK_ACCEPT_CLAUSES_MAX]; /* in the order of preference */
    size_t n;
};

/* Reads header, which the clauses borrow. */
void ek_accept_read(const char *header, struct ek_accept *ret);

/* True for a clause that YAML satisfies and JSON does not. */
bool ek_accept_is_yaml(const struct ek_accept_clause *clause);

/* The first clause that JSON or YAML satisfies and that requests the aggregated discovery document
 * (negotiation.go:IsAggregatedDiscoveryGVK, with v2beta1); NULL when there is none. */
const struct ek_accept_clause *ek_accept_aggregated(const struct ek_accept *accept);

/* The first clause that JSON or YAML satisfies without a conversion; NULL when there is none. */
const struct ek_accept_clause *ek_accept_plain(const struct ek_accept *accept);

#endif
