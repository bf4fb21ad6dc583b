/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-vectors: recorded cases through our code. One subject per kind of file; each answers a case
 * in the shape of the record, so that the comparison needs no knowledge of the subject.
 */
#ifndef TEST_VECTORS_VECTORS_H
#define TEST_VECTORS_VECTORS_H

#include <stdbool.h>
#include <yyjson.h>

struct ek_vectors_subject {
    const char *name;
    const char *options;  /* for the usage line: "[--vars FILE]"; "" for none */
    bool some_without_id; /* a case without an id is told by its line */
    /* Reads the n options before the file (names and values), and returns the state that answer
     * gets. NULL, after a line on stderr, when they are no good. NULL for a subject without. */
    void *(*open)(char **options, int n);
    void (*close)(void *state);
    /* Adds our members to answer, an object of doc that already has the case's id. False when the
     * line is no case of the subject. */
    bool (*answer)(void *state, yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer);
    /* In place of answer for a subject whose file is one history and not a list of cases: reads the
     * next record, and prints its own lines. Returns NULL, or what is wrong with the record. */
    const char *(*next)(void *state, yyjson_val *record);
};

extern const struct ek_vectors_subject ek_vectors_versions;
extern const struct ek_vectors_subject ek_vectors_cel;
extern const struct ek_vectors_subject ek_vectors_mutation;
extern const struct ek_vectors_subject ek_vectors_policy_validation;
extern const struct ek_vectors_subject ek_vectors_validating;
extern const struct ek_vectors_subject ek_vectors_crd_decode;
extern const struct ek_vectors_subject ek_vectors_definitions;
extern const struct ek_vectors_subject ek_vectors_decode;
extern const struct ek_vectors_subject ek_vectors_feature_gates;
extern const struct ek_vectors_subject ek_vectors_discovery_merge;
extern const struct ek_vectors_subject ek_vectors_discovery_order;
extern const struct ek_vectors_subject ek_vectors_discovery_ingest;
extern const struct ek_vectors_subject ek_vectors_peer_leases;
extern const struct ek_vectors_subject ek_vectors_failforward;

#endif
