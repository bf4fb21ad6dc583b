/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /debug/ui: the page with the state of this process (ui_page.h).
 *
 * The control loop collects facts: references to objects of the informers' caches, and short texts.
 * The serving thread makes the page from the facts. Both happen at most once a second, at any rate
 * of requests; a request within the same second gets the same page.
 *
 * Threading: new, collect and free on the control loop; the route on the serving thread.
 */
#ifndef CONTROLLER_RUN_UI_H
#define CONTROLLER_RUN_UI_H

#include "controller/debug/debug.h"
#include "controller/events/events.h"
#include "controller/http/handler.h"

struct ek_ui;

/* debug (whose registry is read, too) and recorder are borrowed; recorder may be NULL. */
struct ek_ui *ek_ui_new(const struct ek_debug *debug, const struct ek_recorder *recorder);

/* Releases the page after the serving thread has ended; NULL is fine. */
void ek_ui_free(struct ek_ui *ui);

/* Collects the facts, unless the last ones are younger than a second. */
void ek_ui_collect(struct ek_ui *ui, const struct ek_debug_now *now);

/* GET /debug/ui for a table of routes. The responses: 200 with the page; 503 while no facts were
 * collected; 500 where the page has no room for them. */
struct ek_http_route ek_ui_route(struct ek_ui *ui);

#endif
