/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which versions the catalog offers, as far as a decision about one subscription needs it. The
 * struct is filled by the reader of the catalog. An edge leads from X to Y when Y has `replaces:
 * X`, X is in `skips` of Y, or the version of X is in `skipRange` of Y
 * (operator-framework/operator-lifecycle-manager at 992bb097, pkg/controller/registry/resolver/
 * resolver.go:getSubscriptionVariables). Plain data; strings are borrowed. Threading: none.
 */
#ifndef RECONCILERS_FAILFORWARD_EDGES_H
#define RECONCILERS_FAILFORWARD_EDGES_H

#include <stdbool.h>
#include <stdint.h>

/* One edge. next is NULL where no edge leads on. */
struct ek_ff_edge {
    const char *next;    /* name of the CSV that OLM would choose, "widget.v3.0.0" */
    const char *version; /* its version, "3.0.0"; NULL if unknown */
};

struct ek_ff_edges {
    bool known;                     /* false: no reader of the catalog answered */
    const char *source;             /* which reader: "registry", "fbc"; NULL if not known */
    struct ek_ff_edge from_failing; /* from the CSV that fails */
    struct ek_ff_edge from_running; /* from the CSV that ran before; never to the failing CSV */
    const char *head;               /* name of the head of the first channel; NULL if unknown */
    int64_t changed_ms; /* when the content of the catalog changed last, milliseconds since the
                           epoch; 0 if unknown */
    int64_t known_ms;   /* since when the process knows this content, likewise */
};

#endif
