/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One write on gated fields, as tests, fuzzers and the bench try it: a definition, the old and the
 * new object; decided, carried out, and held against what must be true of every decision. One
 * thread; what is wrong with the input of a test ends the program.
 */
#ifndef TEST_SUPPORT_GATES_CASE_H
#define TEST_SUPPORT_GATES_CASE_H

#include "api/obj.h"
#include "reconcilers/fieldgates/decide.h"

/* What to try. Texts are YAML; NULL where nothing is. */
struct test_gates_case {
    const char *spec;        /* of the definition */
    const char *old, *new;   /* old NULL: a create */
    const char *subresource; /* NULL: the object itself */
    bool has_status;
    const char *replicas; /* a path */
};

/* The same, read. Everything is owned. */
struct test_gates_write {
    const struct ek_gates *gates;
    struct ek_gates_shape shape;
    struct ek_field_path replicas;
    struct ek_gates_keyed_list keyed;
    yyjson_doc *old, *new;
    struct ek_admission_request request;
    struct ek_arena *arena;
    yyjson_mut_doc *doc;
    struct ek_gates_outcome outcome;
    yyjson_doc *stored; /* new with the patch; NULL when it was denied */
};

/*
 * The first state of a test's random numbers, and how many rounds the test plays. The gate plays
 * the same rounds each time; .ci/long sets EK_SEED and EK_ROUNDS. The seed is printed.
 */
uint64_t test_gates_seed(void);
unsigned test_gates_rounds(unsigned rounds);

/* A definition of crontabs.stable.example.com with that spec. */
const struct ek_gates *test_gates_new(const char *spec);

/* YAML of a test. Owned. */
yyjson_doc *test_gates_yaml(const char *text);

/* Reads c and decides it. Released by test_gates_close. */
void test_gates_open(struct test_gates_write *w, const struct test_gates_case *c);

/* The same where "name" tells the items of a list apart, whose path is keyed: ".spec.items[*]". */
void test_gates_open_keyed(struct test_gates_write *w, const struct test_gates_case *c,
                           const char *keyed);
void test_gates_close(struct test_gates_write *w);

/*
 * Decides what w has as gates, shape and request, and carries out the patch. Returns what the
 * decision returns.
 */
int test_gates_decide(struct test_gates_write *w, struct ek_err *err);

/*
 * What must be true of every decision that was not denied: the patch applies, deciding its result
 * changes nothing and suppresses nothing, and the backstop accepts it; and of one that was: it says
 * why. Returns what is not; NULL when all is.
 */
const char *test_gates_broken_law(const struct test_gates_write *w);

/* True when the generation would move: stored and old differ in more than metadata. */
bool test_gates_moves_generation(const struct test_gates_write *w);

#endif
