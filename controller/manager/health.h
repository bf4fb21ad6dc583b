/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health endpoints in the format of controller-runtime (pkg/healthz/healthz.go: Handler):
 * a list of named checks behind one path. "/readyz" answers 200 "ok", or 500 with a line per check;
 * "?verbose" always lists; "?exclude=x" (repeatable) leaves a check out; "/readyz/x" runs one. A
 * failing check's reason is logged, and shown only under its own path. A change of what a check
 * comes to is logged at info, the other failures at debug: a replica that starts is not ready yet.
 *
 * Checks are quick callbacks that look at state; they do no I/O, and are called on the thread that
 * serves the route (controller/manager/health_board.h brings them there from another). Without any
 * check a "ping" that always succeeds is listed. Threading: the thread that serves the route.
 */
#ifndef CONTROLLER_MANAGER_HEALTH_H
#define CONTROLLER_MANAGER_HEALTH_H

#include "api/base/err.h"
#include "controller/http/handler.h"
#include "controller/telemetry/log.h"

struct ek_health;

/* Returns 0 when all is well, else a code with err set: one line that is fit to be shown. */
typedef int (*ek_health_check_fn)(void *ctx, struct ek_err *err);

/* path is "/healthz" or "/readyz" (copied); log (may be NULL) is borrowed. */
struct ek_health *ek_health_new(const char *path, struct ek_log *log);
void ek_health_free(struct ek_health *health);
EK_CLEANUP_PTR(ek_health, ek_health_free)

/* Adds a check; name is copied and must be usable as one path segment. */
void ek_health_add(struct ek_health *health, const char *name, ek_health_check_fn fn, void *ctx);

/* The route to put into a server's table; borrows health. */
struct ek_http_route ek_health_route(struct ek_health *health);

#endif
