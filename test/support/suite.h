/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a Check program with one suite. */
#ifndef TEST_SUPPORT_SUITE_H
#define TEST_SUPPORT_SUITE_H

#include <check.h>

/*
 * Runs a suite of the given cases, a list that ends with NULL, and frees them. CK_VERBOSITY chooses
 * what is printed (CK_ENV of Check). Returns the exit code of the program: EXIT_SUCCESS, or
 * EXIT_FAILURE where a test failed.
 */
int ek_test_run_cases(const char *name, TCase *const *cases);

/* The same with the cases as arguments: return ek_test_run("arena", tcase); */
#define ek_test_run(name, ...) ek_test_run_cases(name, (TCase *const[]){__VA_ARGS__, NULL})

#endif
