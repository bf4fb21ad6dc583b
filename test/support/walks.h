/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walks over what comes from the cluster, in one form: an old and a new object go in. For the
 * tests that count their steps and for the bench that measures their time; one thread. Failures
 * end the program.
 */
#ifndef TEST_SUPPORT_WALKS_H
#define TEST_SUPPORT_WALKS_H

#include "api/base/arena.h"
#include "api/base/work.h"
#include "test/support/grown.h"

struct test_walk_input {
    yyjson_val *old, *new;
    bool custom;            /* they are of the custom kind */
    struct ek_arena *arena; /* reset before each walk */
    bool ends;              /* the work is over before the walk is */
    int rc;                 /* what the walk returned, where it returns an error */
    struct ek_work work;    /* of the walk: its steps */
};

struct test_walk {
    const char *name;
    bool fails; /* it returns an error when the work is over; else the work has the error */
    bool cheap; /* a megabyte takes less than a tenth of a second, and no octet of three more */
    void (*run)(struct test_walk_input *in);
};

extern const struct test_walk test_walks[];
extern const size_t test_n_walks;

/* Before the first walk, and after the last. */
void test_walks_open(void);
void test_walks_close(void);

#endif
