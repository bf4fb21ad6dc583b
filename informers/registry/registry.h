/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an operator catalog from its registry, over gRPC (operator-registry,
 * pkg/api/registry.proto: GetPackage for each package in question, then ListBundles).
 *
 * The registry is whoever listens at the address that a CatalogSource names; nothing is known about
 * it, and nothing secret is sent: HTTP/2 by prior knowledge, without TLS, without credentials,
 * without a proxy, without redirects, as OLM does
 * (operator-lifecycle-manager v0.46, pkg/controller/registry/grpc/source.go). All that it sends is
 * bounded: the time and the bytes of the whole read, each message, the head of each answer.
 *
 * Each call has a connection of its own. SIGPIPE must be ignored, which ek_client_new sees to.
 *
 * Threading: one loop thread. Hooks run from the loop, never inside ek_registry_read. Hooks must
 * not cancel the read; a hook that returns an error ends it.
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
    /* Nothing of the read is left, cancelled or not. */
    void (*on_closed)(void *ctx);
    void *ctx;
};

/*
 * Starts a read; everything in query is copied. The returned read is valid until on_done was called
 * or it is cancelled. EK_E_INVAL for an address that is none, with *ret_read untouched and no hook
 * called.
 */
int ek_registry_read(uv_loop_t *loop, const struct ek_registry_query *query,
                     const struct ek_registry_hooks *hooks, struct ek_registry_read **ret_read,
                     struct ek_err *err);

/* Ends a read without on_done; NULL is fine. */
void ek_registry_read_cancel(struct ek_registry_read *read);

#endif
