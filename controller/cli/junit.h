/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks as a report of test cases in JUnit's XML, which GitLab, Jenkins and Azure Pipelines show
 * (github.com/testmoapp/junitxml lists the elements that they read). Each file of manifests is a
 * test suite, and each object in it a test case.
 *
 * Threading: one thread.
 */
#ifndef CONTROLLER_CLI_JUNIT_H
#define CONTROLLER_CLI_JUNIT_H

#include "api/base/buf.h"
#include "api/base/mem.h"

struct ek_junit;

/* All borrowed. */
struct ek_junit_case {
    const char *file;    /* "" for none */
    size_t line;         /* in the file, from 1; 0 where it is not known */
    const char *name;    /* "Deployment shop/web" */
    const char *type;    /* of the failure, one word */
    const char *failure; /* texts of several lines; NULL: the case passed */
    const char *output;  /* what else there is to say; "" for nothing */
};

/* name: of the report. */
struct ek_junit *ek_junit_new(const char *name);
void ek_junit_free(struct ek_junit *junit);
EK_CLEANUP_PTR(ek_junit, ek_junit_free)

/* Suites stand in the order of their first case. What a terminal or a CI log would obey is escaped
 * (ek_quote_lines). */
void ek_junit_add(struct ek_junit *junit, const struct ek_junit_case *test);

/* Appends the report. Returns 0, EK_E_LIMIT or EK_E_NOMEM. */
int ek_junit_write(const struct ek_junit *junit, struct ek_buf *out);

#endif
