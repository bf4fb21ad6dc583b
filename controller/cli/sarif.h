/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings as SARIF 2.1.0, for code scanners: GitHub shows them at the lines of a pull request
 * (docs.oasis-open.org/sarif/sarif/v2.1.0). One run of one tool.
 *
 * Threading: one thread.
 */
#ifndef CONTROLLER_CLI_SARIF_H
#define CONTROLLER_CLI_SARIF_H

#include <stdint.h>
#include <yyjson.h>

struct ek_sarif;

/* All borrowed, and copied. */
struct ek_sarif_result {
    const char *rule;           /* the id of a rule */
    const char *level;          /* "error", "warning", "note" (SARIF, 3.27.10) */
    const char *severity;       /* the command's own word */
    const char *message;        /* for people */
    const char *source;         /* path of the file; "" for none */
    uint64_t line;              /* in the file, from 1; 0 where it is not known */
    const char *object, *field; /* what the result is about; "" for none */
};

struct ek_sarif *ek_sarif_new(void);

/* Declares a rule with a short description (NULL: none). A rule that a result names and nobody has
 * declared is declared without one. */
void ek_sarif_rule(struct ek_sarif *sarif, const char *id, const char *text);

void ek_sarif_add(struct ek_sarif *sarif, const struct ek_sarif_result *result);

/* Adds a property of the run. */
void ek_sarif_property(struct ek_sarif *sarif, const char *name, const char *text);

/* Frees sarif, and returns the document (owned; NULL without memory). */
yyjson_doc *ek_sarif_end(struct ek_sarif *sarif);

#endif
