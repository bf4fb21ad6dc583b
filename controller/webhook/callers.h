/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which addresses the webhook takes for those of API servers (--webhook-callers).
 *
 * An API server that shows no client certificate proves nothing but the address that its connection
 * comes from, and a connection cannot be made from an address that answers do not reach. So this is
 * a proof only where no proxy or NAT in between rewrites addresses. What follows from
 * it is the webhook's decision (controller/webhook/webhook.h).
 *
 * A set is immutable once it is published, and refcounted. Threading: one thread fills a set; after
 * that any thread reads, references and releases it.
 */
#ifndef CONTROLLER_WEBHOOK_CALLERS_H
#define CONTROLLER_WEBHOOK_CALLERS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/err.h"
#include "reconcilers/peers/table.h"

#define EK_WEBHOOK_CALLERS_MAX 1024 /* addresses and prefixes of a set */

struct ek_webhook_callers;

/* An empty set: one reference for the caller. */
struct ek_webhook_callers *ek_webhook_callers_new(void);
struct ek_webhook_callers *ek_webhook_callers_ref(struct ek_webhook_callers *callers);
void ek_webhook_callers_unref(struct ek_webhook_callers *callers); /* NULL is fine */

/* Adds "10.0.0.1", "10.0.0.1:6443", "[fd00::1]:6443", "10.0.0.0/8" or "fd00::/8". Returns 0,
 * EK_E_INVAL for what is none of them, EK_E_LIMIT when the set is full. */
int ek_webhook_callers_add(struct ek_webhook_callers *callers, const char *text);

/* Whether the address of a connection ("10.0.0.1:41213", "[::ffff:10.0.0.1]:41213") is in the
 * set. */
bool ek_webhook_callers_has(const struct ek_webhook_callers *callers, const char *remote);

/* True when two sets have the same addresses in the same order. */
bool ek_webhook_callers_equal(const struct ek_webhook_callers *a,
                              const struct ek_webhook_callers *b);

/* What the flag says: "any"; or "apiservers", prefixes, or both, separated by commas. */
struct ek_webhook_caller_rules {
    bool any, api_servers;
    char *prefixes; /* the rest, owned; "" for none */
};

/* Errors: EK_E_INVAL, with the part that is wrong. Release with ek_webhook_caller_rules_done. */
int ek_webhook_caller_rules_parse(const char *text, struct ek_webhook_caller_rules *ret_rules,
                                  struct ek_err *err);
void ek_webhook_caller_rules_done(struct ek_webhook_caller_rules *rules);

/*
 * The set that rules give: the prefixes; and with api_servers the addresses of API servers that the
 * default/kubernetes EndpointSlices or the ControlPlane name, and the process's own addresses, from
 * which only the same host or pod can connect. peers NULL: no API server is known. NULL for any.
 * One reference for the caller. The loop thread.
 */
struct ek_webhook_callers *ek_webhook_callers_make(const struct ek_webhook_caller_rules *rules,
                                                   const struct ek_peer_table *peers);

#endif
