/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grants: the requests for discovery that an API server has allowed in the last seconds. A client
 * that repeats such a request gets its answer without a further request to an API server.
 *
 * An API server keeps the user of a token for 10 seconds itself (pkg/kubeapiserver/options/
 * authentication.go:NewBuiltInAuthenticationOptions of Kubernetes 1.36, TokenSuccessCacheTTL; a
 * failure is not kept). A grant is kept for at most as long, counted from the time at which the
 * request was read, and is not renewed by its use. Refusals are not kept.
 *
 * A grant is found by a keyed hash (HMAC-SHA256, with a random key of the table) of all octets by
 * which the API server has judged the request, credentials and address of the client included, so
 * that neither credentials nor requests are kept, and nobody can choose a hash. The table has a
 * fixed size. A client (IP address) has a place of EK_GRANTS_OF_CLIENT grants, which it may share
 * with other clients: it cannot displace the grants of another place.
 *
 * Times are monotonic milliseconds and arguments. Threading: one thread at a time.
 */
#ifndef CONTROLLER_PROXY_GRANTS_H
#define CONTROLLER_PROXY_GRANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"

/* Grants that are kept at most of one client. */
#define EK_GRANTS_OF_CLIENT 128

/* Requests with a longer head get no grant: an API server judges each of them. */
#define EK_GRANTS_HEAD_MAX ((size_t)16 * 1024)

struct ek_grants;

/* ttl_ms is the lifetime of a grant. Returns an owned object, or NULL when ttl_ms is 0 or random
 * octets are missing. All functions take NULL, and then keep no grant. */
struct ek_grants *ek_grants_new(int64_t ttl_ms);
void ek_grants_free(struct ek_grants *grants);

/* The properties of a request by which a grant is found. */
struct ek_grants_request {
    const char *ip;     /* of the client */
    uint64_t peers;     /* ek_proxy_board_changes: a grant holds as long as no API server begins or
                           ceases to take requests */
    bool ours;          /* sent with the credentials of the proxy */
    struct ek_str head; /* as the API server gets it: request line and all header lines */
};

/* The hash of a request, in the memory of the caller. */
struct ek_grants_key {
    bool known; /* false: the request is judged each time */
    uint32_t place;
    int64_t until_ms; /* until when a grant would hold */
    uint8_t hash[32];
};

/* Makes the key of a request that was read at now_ms. */
void ek_grants_key(struct ek_grants *grants, const struct ek_grants_request *request,
                   int64_t now_ms, struct ek_grants_key *ret_key);

/* Whether there is a grant for the request of the key that has not ended at now_ms. */
bool ek_grants_has(const struct ek_grants *grants, const struct ek_grants_key *key, int64_t now_ms);

/* Adds a grant: an API server has allowed the request of the key. In a full place, the new grant
 * replaces the grant that ends first. */
void ek_grants_add(struct ek_grants *grants, const struct ek_grants_key *key, int64_t now_ms);

#endif
