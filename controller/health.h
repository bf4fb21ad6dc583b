/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health endpoints in the format of controller-runtime (ecosystem sheet, section 1, "Endpoints"):
 * a list of named checks behind one path. "/readyz" answers 200 "ok", or 500 with a line per check;
 * "?verbose" always lists; "?exclude=x" (repeatable) leaves a check out; "/readyz/x" runs one. A
 * failing check's reason is logged, and shown only under its own path.
 *
 * Checks are quick callbacks that look at state; they do no I/O. Without any check a "ping" that
 * always succeeds is listed. Threading: the loop's thread.
 */
#ifndef CONTROLLER_HEALTH_H
#define CONTROLLER_HEALTH_H

#include "api/err.h"
#include "controller/http.h"
#include "controller/log.h"

struct ek_health;

/* Returns 0 when all is well, else a code with err set: one line that is fit to be shown. */
typedef int (*ek_health_check_fn)(void *ctx, struct ek_err *err);

/* path is "/healthz" or "/readyz" (copied); log (may be NULL) is borrowed. */
struct ek_health *ek_health_new(const char *path, struct ek_log *log);
void ek_health_free(struct ek_health *health);
EK_CLEANUP_PTR(ek_health, ek_health_free)

/* Adds a check; name is copied and must be usable as one path segment. */
void ek_health_add(struct ek_health *health, const char *name, ek_health_check_fn fn, void *ctx);

/* True when every check succeeds. */
bool ek_health_is_good(struct ek_health *health);

/* The route to put into a server's table; borrows health. */
struct ek_http_route ek_health_route(struct ek_health *health);

#endif
