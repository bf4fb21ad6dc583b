/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/walks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/library.h"
#include "api/gotypes/internal_form.h"
#include "api/gotypes/structural.h"
#include "api/gotypes/typed.h"
#include "api/obj.h"
#include "api/patch/jsondiff.h"
#include "api/patch/jsonpatch.h"
#include "api/patch/pointer.h"
#include "api/schema/merge.h"
#include "reconcilers/mutation/fights.h"
#include "reconcilers/mutation/safety.h"
#include "test/support/gates_case.h"
#include "test/support/mutation_world.h"

static struct test_mutation_world labels, extended, removals, reads, keys, items, views;
static struct ek_schema *schema;
static const struct ek_gates *frozen, *deprecated, *inner;

static void must(bool truth, const char *what)
{
    if (truth)
        return;
    fprintf(stderr, "walks: %s\n", what);
    abort();
}

/* Takes what a walk returned: nothing, that the object does not fit, or that its time is over. */
static void settle_rc(struct test_walk_input *in, int rc)
{
    in->rc = rc;
    must(!rc || rc == EK_E_INVAL || (in->ends && rc == EK_E_CANCELED), ek_strerror(rc));
}

static void open_world(struct test_mutation_world *w)
{
    test_mutation_open(w);
    ek_schema_unref(w->schema);
    w->schema = test_grown_schema();
}

/* Things have a second version. */
static void each_equivalent(void *arg, const struct ek_gvr *resource, const char *subresource,
                            bool (*fn)(void *, const struct ek_gvr *, const struct ek_gvk *),
                            void *fn_arg)
{
    (void)arg;
    (void)subresource;
    fn(fn_arg, &(struct ek_gvr){resource->group, "v2", "things"},
       &(struct ek_gvk){resource->group, "v2", "Thing"});
}

static const struct ek_equivalents equivalents = {each_equivalent, NULL};

void test_walks_open(void)
{
    schema = test_grown_schema();
    open_world(&labels);
    test_mutation_apply(&labels, "l", "Object{metadata: Object.metadata{labels: {`l`: `on`}}}");
    open_world(&extended);
    struct ek_bound *bound = test_mutation_apply(
        &extended, "e", "Object{metadata: Object.metadata{labels: {`l`: `on`}}}");
    ((struct ek_policy *)(uintptr_t)bound->policy)->behaviour = EK_POLICY_EXTENDED;
    open_world(&removals);
    test_mutation_add(&removals, "r",
                      "'mutations':[{'patchType':'JSONPatch','jsonPatch':{'expression':'[JSONPatch{"
                      "op: `add`, path: `/metadata/labels`, value: {`l`: `on`}}]'}}]",
                      "");
    open_world(&keys);
    bound = test_mutation_add(
        &keys, "k",
        "'mutations':[{'patchType':'JSONPatch','jsonPatch':{'expression':'[JSONPatch{op: `add`, "
        "path: `/metadata/annotations`, value: object.?spec.?items.orValue([]).transformMap(i, v, "
        "v.name)}]'}}]",
        "");
    ((struct ek_policy *)(uintptr_t)bound->policy)->behaviour = EK_POLICY_EXTENDED;
    open_world(&items);
    bound = test_mutation_apply(
        &items, "i",
        "Object{spec: Object.spec{items: object.?spec.?items.orValue([]).map(i, "
        "objects.remove(Object.spec.items{name: i.name})), set: object.?spec.?set.orValue([])"
        ".map(s, objects.remove(s))}}");
    ((struct ek_policy *)(uintptr_t)bound->policy)->behaviour = EK_POLICY_EXTENDED;
    open_world(&views);
    views.world.equivalents = &equivalents;
    test_mutation_add(&views, "v",
                      "'matchConstraints':{'matchPolicy':'Equivalent','resourceRules':[{"
                      "'apiGroups':['*'],'apiVersions':['v2'],'operations':['UPDATE'],"
                      "'resources':['things']}]},'mutations':[{'patchType':'JSONPatch',"
                      "'jsonPatch':{'expression':'[]'}}]",
                      "");
    open_world(&reads);
    test_mutation_apply(&reads, "c",
                        "Object{metadata: Object.metadata{labels: {`same`: object == oldObject ? "
                        "`yes` : `no`}}}");
    frozen = test_gates_new("{featureGates: [{name: A, preRelease: alpha, fieldPaths: [.spec]}]}");
    deprecated = test_gates_new(
        "{featureGates: [{name: A, preRelease: deprecated, default: true, fieldPaths: [.spec, "
        ".spec.map, .spec.free, .spec.items]}, {name: B, preRelease: alpha, fieldPaths: "
        "[.spec.map.b, .spec.free.b]}]}");
    inner = test_gates_new("{featureGates: [{name: A, preRelease: alpha, fieldPaths: "
                           "['.spec.items[*].value', '.spec.atomic[*].value', '.spec.map[*]', "
                           "'.spec.set[*]', '.spec.words[*]', '.spec.nests[*].next']}]}");
}

void test_walks_close(void)
{
    test_mutation_close(&labels);
    test_mutation_close(&extended);
    test_mutation_close(&removals);
    test_mutation_close(&keys);
    test_mutation_close(&items);
    test_mutation_close(&views);
    test_mutation_close(&reads);
    ek_schema_unref(schema);
    ek_gates_unref(frozen);
    ek_gates_unref(deprecated);
    ek_gates_unref(inner);
}

static uint32_t type_of(const struct test_walk_input *in)
{
    uint32_t type = 0;

    must(!ek_schema_find_kind(schema, in->custom ? "example.com" : "apps", "v1", "Thing", &type,
                              NULL),
         "no Things");
    return type;
}

static yyjson_mut_val *copied(yyjson_mut_doc *doc, yyjson_val *value)
{
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, value);

    must(copy != NULL, "no memory");
    yyjson_mut_doc_set_root(doc, copy);
    return copy;
}

/* ---- Comparing ---- */

static void run_equal(struct test_walk_input *in)
{
    ek_json_equal_within(in->old, in->new, &in->work);
}

static void run_difference(struct test_walk_input *in)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *patch;

    settle_rc(in, ek_jsondiff(in->old, copied(doc, in->new), doc, &in->work, &patch, NULL));
    yyjson_mut_doc_free(doc);
}

static void run_changes(struct test_walk_input *in)
{
    const struct ek_change *changes;

    ek_changes_of(in->old, in->new, &in->work, in->arena, &changes);
}

/* ---- Patches ---- */

/* A patch that adds a member and takes away every other one, in an order of its own. */
static struct ek_jsonpatch_op *make_ops(yyjson_mut_doc *doc, yyjson_val *container,
                                        const char *path, size_t *ret_n)
{
    bool list = yyjson_is_arr(container);
    struct ek_jsonpatch_op *ops = ek_xrealloc(NULL, 2 * yyjson_get_len(container) + 2, sizeof *ops);
    size_t n = 0, size = yyjson_get_len(container);

    for (size_t i = 0; i < size; i++) {
        char *at = ek_xasprintf(list ? "%s/%zu" : "%s/k%zu", path, size - 1 - i);
        yyjson_mut_val *text = yyjson_mut_strcpy(doc, at);
        ek_free(at);
        ops[n++] =
            (struct ek_jsonpatch_op){.op = EK_STR("replace"),
                                     .path = {yyjson_mut_get_str(text), yyjson_mut_get_len(text)},
                                     .value = yyjson_mut_str(doc, "x")};
        if (i % 2)
            ops[n++] = (struct ek_jsonpatch_op){
                .op = EK_STR("remove"),
                .path = {yyjson_mut_get_str(text), yyjson_mut_get_len(text)}};
    }
    *ret_n = n;
    return ops;
}

/* The list or map of the object that is long, and where it is. */
static yyjson_val *find_container(struct test_walk_input *in, const char **ret_path)
{
    static const char *const lists[] = {"items", "set", "atomic", "words"};
    yyjson_val *spec = yyjson_obj_get(in->old, "spec"), *container = spec;
    const char *path = "/spec";

    for (size_t i = 0; i < EK_ARRAY_SIZE(lists); i++)
        if (yyjson_obj_get(spec, lists[i])) {
            container = yyjson_obj_get(spec, lists[i]);
            path = ek_arena_printf(in->arena, "/spec/%s", lists[i]);
        }
    if (yyjson_obj_get(spec, "free")) {
        container = yyjson_obj_get(spec, "free");
        path = "/spec/free";
    }
    *ret_path = path;
    return container;
}

static void run_patch(struct test_walk_input *in)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = copied(doc, in->old);
    const char *path;
    yyjson_val *container = find_container(in, &path);
    size_t n;

    struct ek_jsonpatch_op *ops = make_ops(doc, container, path, &n);
    int rc = ek_jsonpatch_apply(doc, &root, ops, n, 0, &in->work, NULL, NULL);
    settle_rc(in, rc);
    ek_free(ops);
    yyjson_mut_doc_free(doc);
}

static void run_merge(struct test_walk_input *in)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL), *other = yyjson_mut_doc_new(NULL);
    struct ek_merge_patch patch = {.value = copied(other, in->new), .work = &in->work};
    yyjson_mut_val *live = copied(doc, in->old);

    yyjson_mut_obj_remove_key(patch.value, "apiVersion");
    yyjson_mut_obj_remove_key(patch.value, "kind");
    int rc = ek_merge_apply(schema, type_of(in), doc, live, &patch, EK_MERGE_ATOMIC, NULL, NULL);
    settle_rc(in, rc);
    yyjson_mut_doc_free(doc);
    yyjson_mut_doc_free(other);
}

/* ---- The forms that API servers bring objects into ---- */

static void run_settle(struct test_walk_input *in)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_typed typed = {schema, type_of(in), doc, false, in->arena, &in->work};
    const char *error = NULL;
    int rc = ek_typed_settle(&typed, copied(doc, in->new), in->old, &error);

    settle_rc(in, rc);
    yyjson_mut_doc_free(doc);
}

static void run_defaults(struct test_walk_input *in)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

    settle_rc(in, ek_structural_defaults(schema, type_of(in), doc, copied(doc, in->new), in->old,
                                         &in->work));
    yyjson_mut_doc_free(doc);
}

/* The map of an object, or what has its list. */
static yyjson_val *map_of(yyjson_val *object)
{
    yyjson_val *spec = yyjson_obj_get(object, "spec"), *map = yyjson_obj_get(spec, "map");

    map = map ? map : yyjson_obj_get(spec, "free");
    map = map ? map : spec;
    return map ? map : ek_json_get(object, "metadata", "labels", NULL);
}

static void run_secret(struct test_walk_input *in)
{
    static const struct ek_gvk kind = {"", "v1", "Secret"};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *secret = yyjson_mut_obj(doc);

    yyjson_mut_obj_add_val(doc, secret, "data", copied(doc, map_of(in->old)));
    yyjson_mut_obj_add_val(doc, secret, "stringData", copied(doc, map_of(in->new)));
    settle_rc(in, ek_internal_form(&kind, doc, secret, NULL, &in->work));
    yyjson_mut_doc_free(doc);
}

/* A container whose requests are one map, and whose limits are the other. */
static void run_pod(struct test_walk_input *in)
{
    static const struct ek_gvk kind = {"", "v1", "Pod"};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *pod = yyjson_mut_obj(doc), *spec = yyjson_mut_obj_add_obj(doc, pod, "spec");
    yyjson_mut_val *containers = yyjson_mut_obj_add_arr(doc, spec, "containers");
    yyjson_mut_val *container = yyjson_mut_arr_add_obj(doc, containers);
    yyjson_mut_val *resources = yyjson_mut_obj_add_obj(doc, container, "resources");

    yyjson_mut_obj_add_val(doc, resources, "requests", copied(doc, map_of(in->old)));
    yyjson_mut_obj_add_val(doc, resources, "limits", copied(doc, map_of(in->new)));
    settle_rc(in, ek_internal_form(&kind, doc, pod, NULL, &in->work));
    yyjson_mut_doc_free(doc);
}

/* ---- Gates ---- */

static void decide_by(struct test_walk_input *in, const struct ek_gates *gates,
                      const struct ek_gates_shape *shape)
{
    const struct ek_admission_request request = {
        .operation = "UPDATE", .subresource = "", .object = in->new, .old_object = in->old};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_gates_outcome outcome;

    settle_rc(in,
              ek_gates_decide(gates, shape, &request, in->arena, &in->work, doc, &outcome, NULL));
    yyjson_mut_doc_free(doc);
}

static void decide(struct test_walk_input *in, const struct ek_gates *gates)
{
    static const struct ek_gates_shape shape;

    decide_by(in, gates, &shape);
}

static void run_inner(struct test_walk_input *in)
{
    decide(in, inner);
}

static void run_inner_by_key(struct test_walk_input *in)
{
    static const char *const name[] = {"name"}, *const note[] = {"note"};
    static const struct ek_gates_keyed_list lists[] = {{".spec.items[*]", name, 1},
                                                       {".spec.nests[*]", note, 1}};
    static const struct ek_gates_shape shape = {.lists = lists, .n_lists = EK_ARRAY_SIZE(lists)};

    decide_by(in, inner, &shape);
}

static void run_frozen(struct test_walk_input *in)
{
    decide(in, frozen);
}

static void run_deprecated(struct test_walk_input *in)
{
    decide(in, deprecated);
}

/* ---- Values of expressions ---- */

/* A map with as many keys as the object has values. mixed: every other key is a text, which is also
 * that of a number before. */
static void run_json(struct test_walk_input *in, bool mixed)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    uint32_t n = (uint32_t)(unsafe_yyjson_get_next(in->old) - in->old);
    struct ek_cel_entries *entries =
        ek_xalloc(sizeof *entries + 2 * (size_t)n * sizeof entries->v[0]);
    struct ek_cel_val map = {.kind = EK_CEL_MAP, .n = n, .entries = entries};

    entries->used = entries->cap = n;
    for (uint32_t i = 0; i < n; i++) {
        char *text = mixed && i % 2 ? ek_arena_printf(in->arena, "%u", i / 3) : NULL;
        entries->v[2 * (size_t)i] =
            text ? ek_cel_string(text, strlen(text)) : ek_cel_int((int64_t)i);
        entries->v[2 * (size_t)i + 1] = ek_cel_int(1);
    }
    struct ek_err err = {0};
    bool made = ek_cel_to_json(&map, EK_CEL_JSON_PLAIN, doc, &in->work, &err) != NULL;
    settle_rc(in, made ? 0 : err.code);
    ek_free(entries);
    yyjson_mut_doc_free(doc);
}

static void run_numbers(struct test_walk_input *in)
{
    run_json(in, false);
}

static void run_mixed(struct test_walk_input *in)
{
    run_json(in, true);
}

/* ---- Policies ---- */

static struct ek_admission_request request_of(struct test_walk_input *in)
{
    struct ek_admission_request request = {
        .kind = {in->custom ? "example.com" : "apps", "v1", "Thing"},
        .resource = {in->custom ? "example.com" : "apps", "v1", "things"},
        .operation = "UPDATE",
        .subresource = "",
        .name = "a",
        .namespace = "shop",
        .object = in->new,
        .old_object = in->old,
        .root = in->old};

    request.request_kind = request.kind;
    request.request_resource = request.resource;
    return request;
}

static void run_engine(struct test_walk_input *in, struct test_mutation_world *w)
{
    struct ek_admission_request request = request_of(in);
    struct ek_mutation_outcome outcome;
    int rc = ek_engine_run(&w->set, &request, &w->world,
                           &(struct ek_engine_options){.work = &in->work}, in->arena, &outcome);

    settle_rc(in, rc);
    if (!rc)
        ek_mutation_outcome_done(&outcome);
}

static void run_labels(struct test_walk_input *in)
{
    run_engine(in, &labels);
}

static void run_extended(struct test_walk_input *in)
{
    run_engine(in, &extended);
}

static void run_removals(struct test_walk_input *in)
{
    run_engine(in, &removals);
}

static void run_keys(struct test_walk_input *in)
{
    run_engine(in, &keys);
}

static void run_reads(struct test_walk_input *in)
{
    run_engine(in, &reads);
}

static void run_remove(struct test_walk_input *in)
{
    run_engine(in, &items);
}

static void run_views(struct test_walk_input *in)
{
    run_engine(in, &views);
}

static void run_safety(struct test_walk_input *in)
{
    struct ek_admission_request request = request_of(in);
    struct ek_safety_outcome outcome;
    struct ek_policy *policy = (struct ek_policy *)(uintptr_t)extended.bound[0].policy;

    ((struct ek_mutation *)(uintptr_t)policy->mutations)[0].safety = EK_SAFETY_EXACT;
    settle_rc(in,
              ek_safety_check(&extended.set, &request, &extended.world,
                              &(struct ek_engine_options){.work = &in->work}, in->arena, &outcome));
}

const struct test_walk test_walks[] = {
    {"equal", false, true, run_equal},
    {"difference", true, true, run_difference},
    {"changes", false, true, run_changes},
    {"patch", true, false, run_patch},
    {"merge", true, true, run_merge},
    {"settle", true, true, run_settle},
    {"defaults", true, true, run_defaults},
    {"gates, frozen", true, true, run_frozen},
    {"gates, deprecated", true, true, run_deprecated},
    {"gates, items", true, true, run_inner},
    {"gates, items by key", true, true, run_inner_by_key},
    {"internal form of a Secret", false, true, run_secret},
    {"internal form of a Pod", false, true, run_pod},
    {"policy, a label", true, false, run_labels},
    {"policy, Extended", true, false, run_extended},
    {"policy, JSON Patch", true, false, run_removals},
    {"policy, ==", true, false, run_reads},
    {"policy, remove", true, false, run_remove},
    {"policy, another version", true, false, run_views},
    {"policy, Extended JSON Patch", true, false, run_keys},
    {"JSON of a map with int keys", true, true, run_numbers},
    {"JSON of a map with keys of two kinds", true, true, run_mixed},
    {"safety, Exact", true, false, run_safety},
};
const size_t test_n_walks = EK_ARRAY_SIZE(test_walks);
