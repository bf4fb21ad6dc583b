/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CEL expressions in table rows: from text to text in one call.
 */
#ifndef TEST_SUPPORT_CELTEST_H
#define TEST_SUPPORT_CELTEST_H

#include "api/cel/cel.h"

/*
 * What expr comes to in that set of functions, owned: "VALUE cost N" as ek_cel_format writes it,
 * "compile: MESSAGE" with the first issue, or "eval: MESSAGE". `object` is bound to json, or to
 * null when that is NULL.
 */
char *ek_celtest(enum ek_cel_env_set set, const char *expr, const char *json);

/* A row: its name in messages, an expression, and the answer that is expected. */
struct ek_celtest_row {
    const char *name, *expr, *want;
};

/* Fails the test unless ek_celtest answers row->want: the whole of it, or begins with it. */
void ek_celtest_is(enum ek_cel_env_set set, const struct ek_celtest_row *row, const char *json);
void ek_celtest_begins(enum ek_cel_env_set set, const struct ek_celtest_row *row, const char *json);

/* Compiles expr; fails the test where that is not possible. The caller owns the program. */
struct ek_cel_program *ek_celtest_compile(struct ek_cel_env *env, const char *expr);

/*
 * Evaluates expr with ever more memory until there is enough. Fails the test when one of those
 * evaluations ends otherwise than for want of memory, or when enough comes to something other
 * than plenty does.
 */
void ek_celtest_starve(enum ek_cel_env_set set, const char *expr);

#endif
