/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input of two JSON values, the first one on the first line: each becomes a part of a document,
 * between a text before and a text after the value.
 */
#ifndef TEST_FUZZ_PAIR_H
#define TEST_FUZZ_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

struct fuzz_around {
    const char *before, *after;
};

struct fuzz_pair {
    yyjson_doc *first, *second; /* owned */
};

/* Reads both documents. Returns false, with nothing to release, where there is one value only or
 * one of them is no JSON. */
bool fuzz_pair_read(const uint8_t *data, size_t size, struct fuzz_around first,
                    struct fuzz_around second, struct fuzz_pair *ret_pair);
void fuzz_pair_done(struct fuzz_pair *pair);

#endif
