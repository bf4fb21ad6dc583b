/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations that the sweep of allocation failures goes through. Each works on constant input
 * and puts what it made into a result, which is shown as text when memory is plenty again.
 */
#ifndef TEST_FAULT_ALLOC_ROWS_H
#define TEST_FAULT_ALLOC_ROWS_H

#include "api/base/buf.h"
#include "api/discovery.h"
#include "api/obj.h"
#include "api/selector.h"
#include "informers/cache/decode.h"
#include "informers/client/kubeconfig.h"
#include "informers/probe/probe.h"

/* What an operation made; owned. Unused members are NULL. */
struct alloc_result {
    struct ek_obj *obj;
    yyjson_doc *doc;
    struct ek_discovery *discovery; /* sealed */
    struct ek_selector *selector;
    struct ek_list_page page;
    struct ek_probe *probe;
    struct ek_client_config *config;
    char *text;
};

void alloc_result_done(struct alloc_result *result);
EK_CLEANUP(alloc_result, alloc_result_done)

/* Appends everything that is in the result. */
void alloc_result_show(const struct alloc_result *result, struct ek_buf *out);

struct alloc_row {
    const char *name;
    int (*run)(struct alloc_result *result, struct ek_err *err);
    long at_least; /* allocations that the sweep must have made fail */
};

extern const struct alloc_row alloc_rows[];
extern const size_t alloc_n_rows;

#endif
