/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/gates_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/patch/jsonpatch.h"
#include "api/yaml.h"

#define YAML_MAX  ((size_t)1 << 20)
#define ARENA_MAX ((size_t)16 << 20)

static void must(bool truth, const char *what, const char *input)
{
    if (truth)
        return;
    fprintf(stderr, "%s: %s\n", what, input ? input : "");
    abort();
}

yyjson_doc *test_gates_yaml(const char *text)
{
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    must(ek_yaml_parse(text, strlen(text), YAML_MAX, &doc, &err) == 0, err.message, text);
    return doc;
}

uint64_t test_gates_seed(void)
{
    const char *given = getenv("EK_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 2608;

    printf("EK_SEED=%llu\n", (unsigned long long)seed);
    fflush(stdout);
    return seed * 2654435761u | 1;
}

unsigned test_gates_rounds(unsigned rounds)
{
    const char *given = getenv("EK_ROUNDS");

    return given ? (unsigned)strtoul(given, NULL, 10) : rounds;
}

const struct ek_gates *test_gates_new(const char *spec)
{
    EK_AUTOFREE char *text = ek_xasprintf("{apiVersion: evenkeel.dev/v1alpha1, "
                                          "kind: CustomFeatureGates, metadata: {name: "
                                          "crontabs.stable.example.com, generation: 7}, spec: %s}",
                                          spec);
    yyjson_doc *doc = test_gates_yaml(text);
    const struct ek_gates *gates = ek_gates_new(yyjson_doc_get_root(doc), NULL, 0);

    yyjson_doc_free(doc);
    return gates;
}

void test_gates_open(struct test_gates_write *w, const struct test_gates_case *c)
{
    test_gates_open_keyed(w, c, NULL);
}

void test_gates_open_keyed(struct test_gates_write *w, const struct test_gates_case *c,
                           const char *keyed)
{
    struct ek_err err = {0};

    *w = (struct test_gates_write){.gates = test_gates_new(c->spec)};
    w->arena = ek_arena_new(ARENA_MAX);
    w->shape.has_status = c->has_status;
    if (c->replicas) {
        must(ek_field_path_parse(c->replicas, w->arena, &w->replicas, &err) == 0, err.message,
             c->replicas);
        w->shape.replicas = &w->replicas;
    }
    if (keyed) {
        static const char *const keys[] = {"name"};
        w->keyed = (struct ek_gates_keyed_list){keyed, keys, 1};
        w->shape.lists = &w->keyed;
        w->shape.n_lists = 1;
    }
    w->old = c->old ? test_gates_yaml(c->old) : NULL;
    w->new = test_gates_yaml(c->new);
    w->request = (struct ek_admission_request){
        .operation = c->old ? "UPDATE" : "CREATE",
        .subresource = c->subresource ? c->subresource : "",
        .object = yyjson_doc_get_root(w->new),
        .old_object = yyjson_doc_get_root(w->old),
    };
    must(test_gates_decide(w, &err) == 0, err.message, c->new);
}

void test_gates_close(struct test_gates_write *w)
{
    ek_gates_unref(w->gates);
    yyjson_doc_free(w->old);
    yyjson_doc_free(w->new);
    yyjson_doc_free(w->stored);
    yyjson_mut_doc_free(w->doc);
    ek_arena_free(w->arena);
}

static yyjson_doc *carry_out(yyjson_mut_doc *doc, yyjson_val *object, yyjson_mut_val *patch)
{
    yyjson_mut_val *tree = yyjson_val_mut_copy(doc, object);
    struct ek_jsonpatch_op *ops = NULL;
    size_t n = 0;
    yyjson_doc *stored = NULL;

    if (!patch)
        return yyjson_mut_val_imut_copy(tree, NULL);
    yyjson_doc *read = yyjson_mut_val_imut_copy(patch, NULL);
    if (ek_jsonpatch_parse(yyjson_doc_get_root(read), doc, &ops, &n, NULL) == 0 &&
        ek_jsonpatch_apply(doc, &tree, ops, n, 0, NULL, NULL, NULL) == 0)
        stored = yyjson_mut_val_imut_copy(tree, NULL);
    ek_free(ops);
    yyjson_doc_free(read);
    return stored;
}

int test_gates_decide(struct test_gates_write *w, struct ek_err *err)
{
    w->doc = yyjson_mut_doc_new(NULL);
    int rc =
        ek_gates_decide(w->gates, &w->shape, &w->request, w->arena, NULL, w->doc, &w->outcome, err);
    if (rc == 0 && w->outcome.allowed && w->request.object)
        w->stored = carry_out(w->doc, w->request.object, w->outcome.patch);
    return rc;
}

static bool suppresses(const struct ek_gates_outcome *outcome)
{
    for (size_t i = 0; i < outcome->n_hits; i++)
        if (!outcome->hits[i].deprecated)
            return true;
    return false;
}

static const char *broken_law_of_denial(const struct ek_gates_outcome *o)
{
    if (!o->message || !*o->message || !o->reason)
        return "a denial without a reason";
    if (o->code != 403 && o->code != 422)
        return "a denial with another code";
    return o->patch || o->n_warnings ? "a denial with a patch or warnings" : NULL;
}

const char *test_gates_broken_law(const struct test_gates_write *w)
{
    struct ek_admission_request again = w->request;
    struct ek_gates_outcome outcome;
    const char *broken = NULL;

    if (!w->outcome.allowed)
        return broken_law_of_denial(&w->outcome);
    if (w->request.object && !w->stored)
        return "the patch does not apply";
    if (w->outcome.n_warnings > EK_GATES_WARNINGS_MAX + 1)
        return "too many warnings";
    again.object = yyjson_doc_get_root(w->stored);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    if (ek_gates_decide(w->gates, &w->shape, &again, w->arena, NULL, doc, &outcome, NULL))
        broken = "the decision fails the second time";
    else if (!outcome.allowed || outcome.patch || suppresses(&outcome))
        broken = "the decision changes its own result";
    else if (ek_gates_verify(w->gates, &w->shape, &again, w->arena, NULL, &outcome, NULL))
        broken = "the backstop fails";
    else if (!outcome.allowed)
        broken = "the backstop denies the result";
    yyjson_mut_doc_free(doc);
    return broken;
}

static yyjson_doc *without_metadata(yyjson_val *object, bool has_status)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, object);

    yyjson_mut_obj_remove_key(copy, "metadata");
    if (has_status)
        yyjson_mut_obj_remove_key(copy, "status");
    yyjson_doc *result = yyjson_mut_val_imut_copy(copy, NULL);
    yyjson_mut_doc_free(doc);
    return result;
}

bool test_gates_moves_generation(const struct test_gates_write *w)
{
    yyjson_doc *old = without_metadata(yyjson_doc_get_root(w->old), w->shape.has_status);
    yyjson_doc *stored = without_metadata(yyjson_doc_get_root(w->stored), w->shape.has_status);
    bool moves = !ek_json_equal(yyjson_doc_get_root(old), yyjson_doc_get_root(stored));

    yyjson_doc_free(old);
    yyjson_doc_free(stored);
    return moves;
}
