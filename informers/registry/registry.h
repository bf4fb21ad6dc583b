/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an operator catalog from its registry, over gRPC (operator-registry,
 * pkg/api/registry.proto: GetPackage for each package in question, then ListBundles).
 *
 * The registry is a process at the address that a CatalogSource names, and is not trusted. No
 * secret is sent: requests are HTTP/2 by prior knowledge, without TLS, credentials, proxy or
 * redirects, as OLM does (operator-lifecycle-manager v0.46,
 * pkg/controller/registry/grpc/source.go). Limits apply to the time and the bytes of the whole
 * read, to each message, and to the head of each answer.
 *
 * Each call has a connection of its own. SIGPIPE must be ignored, as ek_client_new does.
 *
 * Threading: one loop thread. Hooks run from the loop, never inside ek_registry_read. A hook must
 * not cancel the read; a hook that returns an error ends the read.
 */
#ifndef INFORMERS_REGISTRY_REGISTRY_H
#define INFORMERS_REGISTRY_REGISTRY_H

#include <uv.h>

#include "api/base/err.h"
#include "informers/registry/wire.h"

struct ek_registry_read;

struct ek_registry_query {
    const char *address;         /* "host:port"; an IPv6 address in brackets */
    const char *const *packages; /* n_packages names, without duplicates */
    size_t n_packages;
    int64_t timeout_ms; /* for everything */
    size_t max_bytes;   /* received in all */
};

struct ek_registry_hooks {
    /* A package of the query that the catalog has. Strings are borrowed. */
    int (*on_package)(void *ctx, struct ek_str name, struct ek_str default_channel);
    /* An entry of a channel of such a package: a bundle comes once for each of its channels. */
    int (*on_bundle)(void *ctx, const struct ek_registry_bundle *bundle);
    /* Once, unless the read is cancelled. err is NULL when everything was read, and borrowed. */
    void (*on_done)(void *ctx, const struct ek_err *err);
    /* All memory of the read was released, also after a cancellation. */
    void (*on_closed)(void *ctx);
    void *ctx;
};

/*
 * Starts a read; everything in query is copied. *ret_read is valid until on_done is called or the
 * read is cancelled. Returns EK_E_INVAL for an invalid address; then *ret_read is unchanged and no
 * hook is called.
 */
int ek_registry_read(uv_loop_t *loop, const struct ek_registry_query *query,
                     const struct ek_registry_hooks *hooks, struct ek_registry_read **ret_read,
                     struct ek_err *err);

/* Ends a read without on_done; NULL is fine. */
void ek_registry_read_cancel(struct ek_registry_read *read);

#endif
