/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-vectors: recorded cases through our code. One subject per kind of file; each answers a case
 * in the shape of the record, so that the comparison needs no knowledge of the subject.
 */
#ifndef TEST_VECTORS_VECTORS_H
#define TEST_VECTORS_VECTORS_H

#include <stdbool.h>
#include <yyjson.h>

/* Adds our members to answer, an object of doc that already has the case's id. False when the
 * line is no case of the subject. */
typedef bool (*ek_vectors_fn)(yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer);

bool ek_vectors_versions(yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer);

#endif
