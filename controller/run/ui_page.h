/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of /debug/ui, made of what a process knows: the page of `evenkeel check -o html`, with
 * the replica, admission policies and their order and fights, field gates, Events and informers.
 *
 * Every text is foreign and escaped (controller/page). Bounded: a table has at most
 * EK_UI_ROWS_MAX rows, a page EK_UI_PAGE_MAX bytes; what is left out is counted on the page. Pure;
 * any thread.
 */
#ifndef CONTROLLER_RUN_UI_PAGE_H
#define CONTROLLER_RUN_UI_PAGE_H

#include "api/base/buf.h"
#include "api/obj.h"

#define EK_UI_ROWS_MAX 200
#define EK_UI_PAGE_MAX ((size_t)4 << 20)

/* What a process knows at one moment. Everything is owned. */
struct ek_ui_facts {
    struct ek_obj *control_plane; /* a reference; NULL: there is none */
    struct ek_obj **policies;     /* PolicyStatus objects; as ek_store_snapshot */
    size_t n_policies;
    struct ek_obj **gates; /* CustomFeatureGates objects; likewise */
    size_t n_gates;
    char *leader;    /* the answer "leader" of `evenkeel debug`, JSON */
    char *informers; /* the answer "informers", JSON */
    char *events;    /* a list of {time, type, count, object, reason, note}, JSON */
    int64_t at_ms;   /* milliseconds since the epoch */
};

/* Releases the facts and what they own; NULL is fine. */
void ek_ui_facts_free(struct ek_ui_facts *facts);

/* Appends the page to out; sorts the policies of facts by their order. Returns 0 or the error of
 * the buffer. */
int ek_ui_page(struct ek_ui_facts *facts, struct ek_buf *out);

#endif
