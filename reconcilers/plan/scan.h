/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One reading of the objects of a cluster for a CompatibilityPlan, page by page: the users of API
 * versions that are removed (uses.h), and the API versions that webhooks, admission policies and
 * CustomResourceDefinitions name (objects.h). Expressions are not compiled, because the author of
 * an expression could then block the thread of the controller.
 *
 * The caller sends the request that ek_plan_scan_next returns, passes on the response, and takes
 * the result when no request is left. Pure; threading: one thread.
 */
#ifndef RECONCILERS_PLAN_SCAN_H
#define RECONCILERS_PLAN_SCAN_H

#include "api/base/err.h"
#include "reconcilers/plan/uses.h"

/* A page at most: objects, and octets of the answer. A parsed page takes about eight times its
 * octets at worst, and whoever may create objects decides what is in it. */
#define EK_PLAN_SCAN_PAGE     100
#define EK_PLAN_SCAN_BODY_MAX ((size_t)4 << 20)

/* Pages of one resource: 100,000 objects where the pages are full. */
#define EK_PLAN_SCAN_PAGES_MAX 1000

/* Findings of each severity that a result keeps. */
#define EK_PLAN_SCAN_FINDINGS_MAX 64

/* What a reading came to. */
struct ek_plan_seen {
    struct ek_minor from, to;
    int64_t at_ms;                /* the end, in ms since the epoch */
    uint64_t n_objects;           /* that were read */
    struct ek_plan_report report; /* owns its arena */
    size_t n_more;                /* findings that were left out */
    const char **unread;          /* "roles.rbac.authorization.k8s.io: forbidden"; of that arena */
    size_t n_unread;
    bool is_partial; /* some of them for a reason that may pass by itself */
};

/* Releases the result; NULL is fine. */
void ek_plan_seen_free(struct ek_plan_seen *seen);

struct ek_plan_scan;

/* Begins a reading for a target whose from is known; the data is borrowed. before: the result of
 * the last reading, borrowed until this one is released (NULL: there is none): of a list that
 * cannot be read, its findings for the same versions stay. Owned. */
struct ek_plan_scan *ek_plan_scan_new(const struct ek_plan_target *target,
                                      const struct ek_plan_seen *before);

/* Releases the reading; NULL is fine. */
void ek_plan_scan_free(struct ek_plan_scan *scan);

/* A page of a list; borrowed until the answer is handed over. */
struct ek_plan_scan_request {
    const char *group, *version, *resource;
    const char *next; /* continue token; "": the first page */
    unsigned limit;   /* objects */
    bool metadata;    /* PartialObjectMetadata is enough */
};

/* The next request. False when nothing is left to read. */
bool ek_plan_scan_next(const struct ek_plan_scan *scan, struct ek_plan_scan_request *ret_request);

/* The answer to that request. Everything is borrowed. */
struct ek_plan_scan_page {
    yyjson_val *list;         /* NULL: the request failed */
    const struct ek_err *err; /* why; not read with list */
    yyjson_val *status;       /* the metav1.Status of a failure; NULL: none */
};

/*
 * Takes the answer. EK_E_LIMIT requests the same page again with half of the objects, down to one.
 * EK_E_GONE, when a list has expired, goes on with metadata.continue of the Status (KEP-365). A
 * resource that is not served has no objects; any other failure leaves the rest of it unread.
 */
void ek_plan_scan_heard(struct ek_plan_scan *scan, const struct ek_plan_scan_page *page);

/* The result of a reading that is over, at at_ms (ms since the epoch). Owned. */
struct ek_plan_seen *ek_plan_scan_result(const struct ek_plan_scan *scan, int64_t at_ms);

#endif
