/* SPDX-License-Identifier: Apache-2.0 */
/* What etcd holds, read with the gateway of etcd (JSON over HTTP, etcd Documentation, "gRPC
 * gateway"). Threading: the thread of the loop. */
#ifndef CONTROLLER_REHEARSE_KEYS_H
#define CONTROLLER_REHEARSE_KEYS_H

#include "controller/rehearse/ask.h"

/* Handles a key; value is "" where only keys were requested. Good for the call. False ends. */
typedef bool (*ek_rehearse_key_fn)(void *ctx, const char *key, const char *value, size_t size);

/* Calls fn for each key that begins with prefix, page by page, with its value or without. Returns
 * 0, or an error of the request with err. */
int ek_rehearse_keys(struct ek_rehearse_ask *ask, struct ek_client *etcd, const char *prefix,
                     bool values, ek_rehearse_key_fn fn, void *ctx, struct ek_err *err);

#endif
