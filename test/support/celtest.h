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

/*
 * Evaluates expr with ever more memory until there is enough. Fails the test when one of those
 * evaluations ends otherwise than for want of memory, or when enough comes to something other
 * than plenty does.
 */
void ek_celtest_starve(enum ek_cel_env_set set, const char *expr);

#endif
