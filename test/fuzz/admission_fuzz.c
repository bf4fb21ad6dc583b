/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bodies of admission requests through the mutation engine with five policies, two of which have
 * selectors that cannot be read. Whatever comes in
 * is refused, denied or answered by a patch that makes the result of the object that came.
 */
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "api/patch/jsondiff.h"
#include "api/patch/jsonpatch.h"
#include "test/fuzz/fuzz.h"
#include "test/support/mutation_world.h"

#define ARENA_LIMIT ((size_t)16 << 20)

#define SECRETS                                                                                    \
    "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['*'],"                  \
    "'apiVersions':['*'],'resources':['secrets']}]},"
#define UNREADABLE                                                                                 \
    "'matchConstraints':{'namespaceSelector':{'matchExpressions':[{'key':'a','operator':'Like'}]}" \
    ","                                                                                            \
    "'resourceRules':[{'operations':['*'],'apiGroups':['*'],'apiVersions':['*'],"                  \
    "'resources':['*/*']}]},"
#define LABEL                                                                                      \
    "'mutations':[{'patchType':'ApplyConfiguration','applyConfiguration':{'expression':"           \
    "'Object{metadata: Object.metadata{labels: {`a`: `b`}}}'}}]"

static struct test_mutation_world world;

static void open_world(void)
{
    static bool opened;

    if (opened)
        return;
    opened = true;
    test_mutation_open(&world);
    test_mutation_apply(&world, "label",
                        "Object{metadata: Object.metadata{labels: {`by`: request.operation}}}");
    test_mutation_add(
        &world, "sidecar",
        "'failurePolicy':'Ignore','reinvocationPolicy':'IfNeeded','matchConditions':[{'name':'c',"
        "'expression':'has(object.spec)'}],'mutations':[{'patchType':'ApplyConfiguration',"
        "'applyConfiguration':{'expression':'Object{spec: Object.spec{containers: "
        "[Object.spec.containers{name: `side`, image: `s`}]}}'}}]",
        "");
    test_mutation_add(
        &world, "patch",
        "'failurePolicy':'Ignore','variables':[{'name':'n','expression':"
        "'object.?metadata.?name.orValue(`none`)'}],'mutations':[{'patchType':'JSONPatch',"
        "'jsonPatch':{'expression':'[JSONPatch{op: `test`, path: `/kind`, value: object.kind}, "
        "JSONPatch{op: `add`, path: `/data/name`, value: variables.n}]'}}]",
        "");
    struct ek_bound *keys = test_mutation_add(
        &world, "keys",
        "'failurePolicy':'Ignore','mutations':[{'patchType':'JSONPatch','jsonPatch':{'expression':"
        "'[JSONPatch{op: `add`, path: `/metadata/annotations`, value: "
        "object.spec.tolerations.transformMap(i, v, v.key)}]'}}]",
        "");
    ((struct ek_policy *)(uintptr_t)keys->policy)->behaviour = EK_POLICY_EXTENDED;
    test_mutation_add(&world, "binding", SECRETS LABEL,
                      "'matchResources':{'objectSelector':{'matchLabels':{'a b':'c'}}}");
    test_mutation_add(&world, "policy", "'failurePolicy':'Ignore'," UNREADABLE LABEL, "");
}

static void check_patch(const struct ek_admission_request *request,
                        const struct ek_mutation_outcome *outcome)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *tree = yyjson_val_mut_copy(doc, request->object);
    yyjson_doc *read = outcome->patch ? yyjson_mut_doc_imut_copy(outcome->patch, NULL) : NULL;
    struct ek_jsonpatch_op *ops = NULL;
    size_t n = 0;

    if (read) {
        fuzz_require(ek_jsonpatch_parse(yyjson_doc_get_root(read), doc, &ops, &n, NULL) == 0);
        fuzz_require(ek_jsonpatch_apply(doc, &tree, ops, n, 0, NULL, NULL, NULL) == 0);
    }
    fuzz_require(ek_jsondiff_equal(yyjson_doc_get_root(outcome->result), tree, NULL));
    ek_free(ops);
    yyjson_doc_free(read);
    yyjson_mut_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_admission_review review;
    struct ek_mutation_outcome outcome;

    open_world();
    if (ek_admission_review_parse((const char *)data, size, &review, NULL))
        return 0;
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    int rc = ek_engine_run(&world.set, &review.request, &world.world,
                           &(struct ek_engine_options){0}, arena, &outcome);
    fuzz_require(rc == 0 || rc == EK_E_LIMIT);
    if (rc == 0) {
        fuzz_require(!outcome.pending);
        fuzz_require(outcome.allowed || (outcome.message && *outcome.message && outcome.code));
        fuzz_require(outcome.allowed || !outcome.patch);
        if (outcome.allowed && review.request.object && outcome.result)
            check_patch(&review.request, &outcome);
        ek_mutation_outcome_done(&outcome);
    }
    ek_arena_free(arena);
    ek_admission_review_done(&review);
    return 0;
}
