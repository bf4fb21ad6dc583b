/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An informer: one resource of the cluster, kept in a store by list and watch.
 *
 * It is the thin shell around the reflector's state machine (informers/cache/reflector.h): it
 * starts the requests of the machine, frames and decodes what comes, and feeds events
 * back. All decisions (what to list, when to back off, when to fall back) are in the machine.
 *
 * Threading: the loop thread. Handlers of the store are called from the loop.
 */
#ifndef INFORMERS_CACHE_INFORMER_H
#define INFORMERS_CACHE_INFORMER_H

#include "api/resource.h"
#include "informers/cache/store.h"
#include "informers/client/client.h"

struct ek_informer;
struct ek_reflector;        /* informers/cache/reflector.h */
struct ek_reflector_config; /* likewise */

/* The status of an informer, for /readyz, metrics and debugging. Strings are borrowed. */
struct ek_informer_status {
    bool synced;            /* the first replace happened (or the resource is not served) */
    bool served;            /* false while an optional resource answers 404 */
    const char *state;      /* the reflector's state name */
    const char *last_error; /* "" when the last exchange went well */
    int last_error_code;    /* EK_E_*, 0 when it went well */
    int64_t last_event_ms;  /* uv_now of the last frame, 0 before */
    unsigned long long lists, watches, events, failures;
};

/* Makes an informer that is not started yet, with the defaults of the reflector. client must
 * outlive it. resource is copied. */
struct ek_informer *ek_informer_new(uv_loop_t *loop, struct ek_client *client,
                                    const struct ek_resource *resource);

/* As above with the reflector's numbers given; optional is still the resource's, and a seed of 0
 * means a random one. */
struct ek_informer *ek_informer_new_configured(uv_loop_t *loop, struct ek_client *client,
                                               const struct ek_resource *resource,
                                               const struct ek_reflector_config *config);

/* Starts listing and watching; to be called once. Nothing happens before the loop runs. */
void ek_informer_start(struct ek_informer *informer);

/* Stops for good; on_stopped (may be NULL) is called from the loop when its requests and timers
 * are gone. The store stays readable until ek_informer_free. May be called from handlers and the
 * observer; a second call is ignored. */
void ek_informer_stop(struct ek_informer *informer, void (*on_stopped)(void *ctx), void *ctx);

/*
 * Ends the wait after a failure (client-go waits up to 30 s), because there is reason to believe
 * that the API server is back: at once where the connection failed, and after a second (or its
 * Retry-After) where the server answered 429 or 5xx, as one that stops does. Other waits go on. To
 * be called once a second at most; not from inside a handler or the observer.
 */
void ek_informer_hurry(struct ek_informer *informer);

/*
 * Notes that the CustomResourceDefinition of an optional resource has changed, or is gone: one that
 * is not served is requested soon, and one whose definition is gone at once, so that the store does
 * not keep what exists no more. Not from inside a handler or the observer of this informer; from
 * those of another one.
 */
void ek_informer_definition(struct ek_informer *informer, bool gone);

/* Releases the informer and its store; not from inside a handler or the observer. One that was not
 * stopped is stopped first, its on_stopped is not called any more. NULL is fine. */
void ek_informer_free(struct ek_informer *informer);

struct ek_store *ek_informer_store(struct ek_informer *informer);

/* The resource that informer watches; borrowed. */
const struct ek_resource *ek_informer_resource(const struct ek_informer *informer);

/* The state machine of informer, read-only: status and history. Times are uv_now's. Borrowed. */
const struct ek_reflector *ek_informer_reflector(const struct ek_informer *informer);
void ek_informer_status(const struct ek_informer *informer, struct ek_informer_status *ret_status);

/* Sends the requests to one API server ("ip:port", copied) instead of the configured address; to be
 * called before the start. It must prove the name kubernetes.default.svc. */
void ek_informer_set_server(struct ek_informer *informer, const char *address);

/* Calls fn whenever synced, served or the error text changes. One observer. */
void ek_informer_set_observer(struct ek_informer *informer, void (*fn)(void *ctx), void *ctx);

/* The API path of a resource's collection, "/apis/<g>/<v>/namespaces/<ns>/<plural>" or
 * "/api/v1/<plural>", without a query; appended to out. */
int ek_resource_path(const struct ek_resource *resource, struct ek_buf *out);

#endif
