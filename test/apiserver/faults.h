/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Faults that the test API server shows on demand: a list of rules, evaluated once per request.
 *
 * A rule names a peer (or any), a path prefix, how often it applies and with which probability.
 * Chances come from a seeded generator, so a run can be repeated. What a fault does to the bytes is
 * done by the shell; this module only decides. Pure; not thread safe.
 */
#ifndef TEST_APISERVER_FAULTS_H
#define TEST_APISERVER_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"

#define EK_FAULT_KINDS(X)                                                                          \
    X(GONE, "gone")                 /* 410: as an ERROR event in a watch, as a status elsewhere */ \
    X(RESET, "reset")               /* the connection is reset after `bytes` of the answer */      \
    X(TRUNCATE, "truncate")         /* a chunk ends `bytes` in, short of what it announced */      \
    X(THROTTLE, "throttle")         /* 429 with Retry-After: `seconds` */                          \
    X(STALL, "stall")               /* nothing after `bytes` of the answer, for ever */            \
    X(SLOW, "slow")                 /* the answer comes `ms` late */                               \
    X(NO_BOOKMARK, "no-bookmark")   /* a streaming list without its end */                         \
    X(DUPLICATE, "duplicate")       /* initial events come twice */                                \
    X(REORDER, "reorder")           /* initial events come in reverse order */                     \
    X(GARBAGE, "garbage")           /* 200 with a body that is no JSON */                          \
    X(UNAUTHORIZED, "unauthorized") /* 401 */                                                      \
    X(FORBIDDEN, "forbidden")       /* 403 */                                                      \
    X(BROKEN, "error")              /* 500 */

enum ek_fault_kind {
    EK_FAULT_NONE,
#define X(name, text) EK_FAULT_##name,
    EK_FAULT_KINDS(X)
#undef X
        EK_FAULT_MAX,
};

#define EK_FAULTS_MAX 64

struct ek_fault {
    enum ek_fault_kind kind;
    char peer[64];  /* "" for any */
    char path[256]; /* prefix; "" for any */
    bool watch_only;
    unsigned count;   /* how many more times; 0: without end */
    unsigned percent; /* chance in each case, 1 to 100; 0 means 100 */
    size_t bytes;
    int64_t ms; /* for SLOW */
    int seconds;
};

struct ek_faults {
    struct ek_fault items[EK_FAULTS_MAX];
    size_t n;
    uint64_t random; /* set it to a seed before use */
    unsigned long n_applied;
};

/* Adds a rule; EK_E_LIMIT when there are too many. */
int ek_faults_add(struct ek_faults *faults, const struct ek_fault *fault, struct ek_err *err);

/* Reads a rule such as {"kind":"reset","peer":"cp-a","path":"/apis","count":1,"bytes":100}. */
int ek_fault_parse(const char *json, size_t len, struct ek_fault *ret_fault, struct ek_err *err);

/* Appends all rules as a JSON array. */
void ek_faults_format(const struct ek_faults *faults, struct ek_buf *out);

/* Forgets all rules. */
void ek_faults_clear(struct ek_faults *faults);

/* The fault for one request, counted; kind NONE when there is none. */
struct ek_fault ek_faults_take(struct ek_faults *faults, const char *peer, const char *path,
                               bool watch);

const char *ek_fault_name(enum ek_fault_kind kind);

#endif
