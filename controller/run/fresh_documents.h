/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the documents of API servers fresh between two regular rounds of probes, for those who
 * serve them: `evenkeel proxy`, and `evenkeel run` with its discovery endpoint. Documents are read
 * again when somebody wants that (proxy_recheck.h), and when a CRD or an APIService changes: at
 * once, and a second later, because an object may change before the documents of each API server
 * have. The APIServices also give the group versions that a merge leaves out (custom_watch.h).
 *
 * Threading: the loop thread.
 */
#ifndef CONTROLLER_RUN_FRESH_DOCUMENTS_H
#define CONTROLLER_RUN_FRESH_DOCUMENTS_H

#include "controller/manager/subject.h"
#include "controller/run/proxy_recheck.h"
#include "controller/skew/custom_watch.h"

struct ek_fresh_documents {
    uv_timer_t timer; /* of the next look */
    struct ek_proxy_recheck recheck;
    struct ek_custom_watch *custom;   /* NULL: nothing is watched */
    struct ek_controller *controller; /* whose prober reads the documents */
    char *problem;                    /* that was logged; NULL: none */
    struct ek_log *log;
};

/* Initializes a struct, which must not move until the loop has closed its timer. */
void ek_fresh_documents_init(struct ek_fresh_documents *fresh, uv_loop_t *loop);

/* Makes the informers of CRDs and APIServices, which the runnable starts. client and log are
 * borrowed. */
void ek_fresh_documents_watch(struct ek_fresh_documents *fresh, struct ek_client *client,
                              struct ek_log *log);

/* Names the controller of the skew subject, borrowed; before the loop runs. */
void ek_fresh_documents_set_reader(struct ek_fresh_documents *fresh,
                                   struct ek_controller *controller);

/* The informers as a part of the process. */
void ek_fresh_documents_runnable(struct ek_fresh_documents *fresh,
                                 struct ek_runnable *ret_runnable);

/* The documents do not serve somebody as they should: they are read again. */
void ek_fresh_documents_want(struct ek_fresh_documents *fresh);

/* The group versions to leave out, as struct ek_subject_env has it. */
const struct ek_exclusions *ek_fresh_documents_exclusions(struct ek_fresh_documents *fresh,
                                                          int64_t now_ms, int64_t *ret_again_ms);

/* Stops and releases what it has; the loop has to run afterwards. */
void ek_fresh_documents_close(struct ek_fresh_documents *fresh);

#endif
