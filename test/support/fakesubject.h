/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subject that does what a test says, and notes which of its functions are called, on a
 * subjectbench: for tests of the frame. It watches ConfigMaps with the label watched=yes in the
 * namespace default. One at a time. Threading: one thread.
 */
#ifndef TEST_SUPPORT_FAKESUBJECT_H
#define TEST_SUPPORT_FAKESUBJECT_H

#include "test/support/subjectbench.h"

#define FAKE_MAPS "/api/v1/namespaces/default/configmaps"

/* One intent that a stage plans. Each has an object of its own, made-0, made-1, ... */
enum fake_what {
    FAKE_NONE,
    FAKE_GOOD,   /* applies the object */
    FAKE_BAD,    /* applies the status, which a ConfigMap does not have: 404 */
    FAKE_CREATE, /* creates the object */
    FAKE_EVENT,
    FAKE_PATCH,
    FAKE_PATCH_STATUS,
    FAKE_DELETE,
    FAKE_LIST,
};

struct fake_planned {
    enum fake_what what;
    bool depends, stops;
    bool guarded; /* a write with the preconditions fake.uid and fake.version */
};

struct fake {
    struct subjectbench bench;
    struct ek_controller *controller;
    int n_named;      /* objects so far */
    char trace[4096]; /* of calls, by words */
    enum ek_observed observed;
    int64_t observe_again_ms, stage_again_ms, second_again_ms;
    struct fake_planned first[6], second[6];
    const struct ek_resource *resource; /* of writes: ConfigMaps of the namespace default */
    const char *content;                /* of writes, JSON; NULL: none */
    const char *status;                 /* of FAKE_BAD, JSON; NULL: {} */
    const char *uid, *version;          /* preconditions of guarded writes; NULL: none */
    unsigned batches;                   /* of the first stage */
    unsigned planned;                   /* batches of it so far in this run */
    struct ek_err failure;
    bool forgives, rewords, skips; /* in answered */
    bool without_recorder;         /* there is no recorder of Events */
    char kind[64];                 /* of the last object in an answer */
    bool peers_matter, facts_matter;
    bool is_ready;  /* true from the start */
    int lose_after; /* leads no more after so many answers; 0: never */
    int n_answers;
    bool leads; /* at the start */
    struct ek_queue_config queue;
    int n_runs, n_failed;
    enum ek_reconciled result; /* of the last run */
    int code;                  /* of the last failure */
    char error[sizeof((struct ek_err *)0)->message];
};

extern struct fake fake;

/* The keys are "all", or "see" and "write". A test may run a changed copy. */
extern const struct ek_subject fakesubject_one_key, fakesubject_two_keys;

/* The word of the trace for the answer to a write. Constant. */
const char *fakesubject_word(enum fake_what what);

/* Sets what the subject does without a word of the test: observes all, leads, plans nothing. */
void fakesubject_setup(void);

/* Starts a bench with the subject, and makes its controller. rules as for apiworld_start. */
void fakesubject_make(const struct ek_subject *subject, const char *rules);

/* The same, starts its informers, waits for them, and starts its runner. The trace is empty then.
 */
void fakesubject_start(const struct ek_subject *subject, const char *rules);

/* Waits until n runs have ended since the start. */
void fakesubject_run(int n);

/* Waits until the first stage is in the trace: its writes are under way. */
void fakesubject_run_to_write(void);

/* Empties the trace. */
void fakesubject_forget(void);

/* What the queue knows of a key: all zero for nothing. ready_ms is from now. */
struct ek_queue_entry fakesubject_key(const char *key);

void fakesubject_stop(void);

#endif
