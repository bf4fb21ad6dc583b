/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects that an enemy would write: each shape can be grown to any size, and comes twice, as the
 * old and as the new object, whose members and items stand in another order, so that a search
 * from the start takes long. All are Things, a kind that the schema here has as one of
 * Kubernetes' own (group apps) and as a custom resource (group example.com).
 *
 * For tests and benches; one thread. Failures end the program.
 */
#ifndef TEST_SUPPORT_GROWN_H
#define TEST_SUPPORT_GROWN_H

#include <stdbool.h>

#include "api/schema/schema.h"

enum test_grown_shape {
    TEST_GROWN_MEMBERS, /* a map of short texts */
    TEST_GROWN_SIMILAR, /* a map whose names differ in their last octets alone */
    TEST_GROWN_FREE,    /* an object without a schema */
    TEST_GROWN_ITEMS,   /* a list with keys */
    TEST_GROWN_SET,     /* a set of texts */
    TEST_GROWN_ATOMIC,  /* a list of objects with neither */
    TEST_GROWN_TWO,     /* an atomic list of two texts, again and again */
    TEST_GROWN_DEEP,    /* objects in objects, changed at the bottom */
    TEST_GROWN_WIDE,    /* members that no schema knows, beside those that one does */
    TEST_GROWN_ESCAPES, /* one long text of characters that have to be escaped */
    TEST_GROWN_LABELS,  /* labels of the object itself */
    TEST_GROWN_MAX,
};

const char *test_grown_name(enum test_grown_shape shape);

/* Such a Thing of about size octets. custom: of example.com/v1, else of apps/v1. Owned. */
yyjson_doc *test_grown(enum test_grown_shape shape, size_t size, bool custom, bool new_one);

/* The schema of Things. Owned. */
struct ek_schema *test_grown_schema(void);

#endif
