/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks of a status that a subject computes: the conditions of a row, and the schema of the custom
 * resource in deploy/crd. A failed check fails the test and names the row.
 */
#ifndef TEST_SUPPORT_STATUSTEST_H
#define TEST_SUPPORT_STATUSTEST_H

#include <yyjson.h>

#include "api/base/arena.h"
#include "api/schema/schema.h"

/* The schema of one kind of evenkeel.dev/v1alpha1. */
struct statustest {
    yyjson_doc *crd;
    struct ek_schema *schema;
    const char *kind;
    struct ek_arena *arena; /* for what a test makes, as the next */
    yyjson_mut_doc *doc;
};

/* Reads a file of deploy/crd. test owns all but kind, which is borrowed. */
void statustest_load(struct statustest *test, const char *file, const char *kind);
void statustest_free(struct statustest *test);

/* The fields, types and lists of a status, a value of test->doc, are those of the schema. */
void statustest_schema(const struct statustest *test, const char *row, yyjson_mut_val *status);

/* What the conditions of a status must be. */
struct statustest_want {
    const char *row, *const *types;    /* types ends with NULL */
    const char *statuses;              /* T, F or U for each of types */
    const char *type;                  /* the condition of the following: */
    const char *reason, *message_part; /* message_part is contained in the message */
};

void statustest_conditions(const struct statustest_want *want, yyjson_val *status);

/* Neither the time of a condition nor anything else differs between the two. */
void statustest_same(const char *row, yyjson_val *first, yyjson_mut_val *second);

#endif
