/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File-based catalogs: whatever is read answers each question with a whole answer, and never with
 * an edge to where the question starts. And the definitions of its bundles.
 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/failforward/bundles.h"
#include "test/fuzz/fuzz.h"

#define LIMIT ((size_t)1 << 20)

static void question(const struct ek_ff_graph *graph, struct ek_str channel, struct ek_str name,
                     struct ek_str except)
{
    struct ek_ff_from from = {EK_STR("p"), channel, name, EK_STR("1.0.0"), except};
    struct ek_ff_answer answer;

    if (ek_ff_graph_edges(graph, &from, &answer))
        return;
    struct ek_str next = ek_str_from(answer.next);
    fuzz_require((answer.reach == EK_FF_REACH_FOUND) == (answer.n > 0));
    fuzz_require((answer.reach == EK_FF_REACH_FOUND) == (answer.kind != EK_FF_EDGE_NONE));
    fuzz_require((answer.reach == EK_FF_REACH_BROKEN) == (answer.why[0] != '\0'));
    fuzz_require(answer.reach != EK_FF_REACH_FOUND ||
                 (!ek_str_eq(next, name) && (!except.len || !ek_str_eq(next, except))));
    fuzz_require(answer.reach == EK_FF_REACH_FOUND || next.len == 0);
}

static void definitions(const char *text, size_t len)
{
    struct ek_ff_bundles *bundles = NULL;
    struct ek_err err = {0};

    int rc = ek_ff_bundles_read(text, len, LIMIT, &bundles, &err);
    fuzz_require(rc == err.code && !rc == (bundles != NULL));
    const struct ek_ff_bundle *b = rc ? NULL : ek_ff_bundles_find(bundles, "p", "v1");
    fuzz_require(!b || (!strcmp(b->package, "p") && !strcmp(b->name, "v1")));
    for (size_t i = 0; b && i < b->n_definitions; i++) {
        fuzz_require(!strcmp(ek_json_text(b->definitions[i], "kind"), "CustomResourceDefinition"));
        ek_ff_serves(b->definitions[i], "v1");
    }
    ek_ff_bundles_free(bundles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_ff_graph *graph = ek_ff_graph_new(LIMIT);
    struct ek_err err = {0};

    int rc = ek_ff_graph_read(graph, (const char *)data, size, &err);
    fuzz_require(rc == err.code && (rc == 0) == !err.message[0]);
    if (!rc) {
        question(graph, EK_STR("stable"), EK_STR("v1"), (struct ek_str){0});
        question(graph, (struct ek_str){0}, EK_STR("v1"), EK_STR("v2"));
    }
    ek_ff_graph_free(graph);
    definitions((const char *)data, size);
    return 0;
}
