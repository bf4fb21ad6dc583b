/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every walk over JSON values, at all the depth that JSON may have, on the stack that the program's
 * threads have: what it takes of it is printed, and may be half of it at most.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "api/patch/jsondiff.h"
#include "api/patch/jsonpatch.h"
#include "api/schema/merge.h"
#include "api/schema/schema.h"
#include "api/yaml.h"
#include "reconcilers/mutation/engine.h"
#include "reconcilers/mutation/safety.h"
#include "test/support/celtest.h"
#include "test/support/deep.h"
#include "test/support/gates_case.h"
#include "test/support/json_text.h"
#include "test/support/mutation_world.h"
#include "test/support/suite.h"

#define OUT_MAX ((size_t)256 << 20)

/* ---- Measuring ---- */

struct measured {
    void (*body)(void);
    void *stack;
};

static void *run_measured(void *arg)
{
    struct measured *m = arg;

    m->body();
    return NULL;
}

/* The bytes of stack that body takes, of pages that were touched. */
static size_t stack_of(void (*body)(void))
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = EK_STACK_SIZE / page, touched = 0;
    unsigned char *resident = ek_xalloc(n);
    struct measured m = {.body = body};
    pthread_attr_t attr;
    pthread_t thread;

    m.stack = mmap(NULL, EK_STACK_SIZE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    ck_assert(m.stack != MAP_FAILED);
    madvise(m.stack, EK_STACK_SIZE, MADV_NOHUGEPAGE);
    pthread_attr_init(&attr);
    ck_assert_int_eq(pthread_attr_setstack(&attr, m.stack, EK_STACK_SIZE), 0);
    ck_assert_int_eq(pthread_create(&thread, &attr, run_measured, &m), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attr);
    ck_assert_int_eq(mincore(m.stack, EK_STACK_SIZE, resident), 0);
    for (size_t i = 0; i < n && !touched; i++)
        touched = resident[i] & 1 ? EK_STACK_SIZE - i * page : 0;
    munmap(m.stack, EK_STACK_SIZE);
    ek_free(resident);
    return touched;
}

/* ---- The walks ---- */

static const bool kinds[] = {false, true}; /* objects, lists */

/* Two documents that differ in the deepest place alone. */
struct pair {
    yyjson_doc *one, *two;
    yyjson_mut_doc *doc;
    yyjson_mut_val *copy; /* of two, in doc */
};

static struct pair pair_of(size_t levels, bool list)
{
    char *a = ek_deep_json(levels, list, "1"), *b = ek_deep_json(levels, list, "2");
    struct pair p = {.one = ek_json_parse(a, strlen(a), NULL),
                     .two = ek_json_parse(b, strlen(b), NULL),
                     .doc = yyjson_mut_doc_new(NULL)};

    ck_assert(p.one && p.two);
    p.copy = yyjson_val_mut_copy(p.doc, yyjson_doc_get_root(p.two));
    ck_assert_ptr_nonnull(p.copy);
    ek_free(a);
    ek_free(b);
    return p;
}

static void pair_done(struct pair *p)
{
    yyjson_doc_free(p->one);
    yyjson_doc_free(p->two);
    yyjson_mut_doc_free(p->doc);
}

static void compare(void)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++) {
        struct pair p = pair_of(EK_JSON_DEPTH_MAX, kinds[i]);
        yyjson_val *one = yyjson_doc_get_root(p.one), *two = yyjson_doc_get_root(p.two);
        ck_assert(!ek_json_equal(one, two));
        ck_assert(ek_json_equal(one, one));
        ck_assert(ek_jsondiff_equal(two, p.copy, NULL) && !ek_jsondiff_equal(one, p.copy, NULL));
        pair_done(&p);
    }
}

static void copy(void)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++) {
        struct pair p = pair_of(EK_JSON_DEPTH_MAX, kinds[i]);
        yyjson_mut_val *again = yyjson_mut_val_mut_copy(p.doc, p.copy);
        struct ek_obj *obj = ek_obj_from_mut(again);
        struct ek_obj *item = ek_obj_from_item(ek_obj_root(obj), "v1", "Kind");
        EK_AUTOFREE char *json = test_json_text(obj, NULL);
        ck_assert(item && json && ek_json_equal(ek_obj_root(obj), yyjson_doc_get_root(p.two)));
        ek_obj_unref(obj);
        ek_obj_unref(item);
        pair_done(&p);
    }
}

static void diff(void)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++) {
        struct pair p = pair_of(EK_JSON_DEPTH_MAX, kinds[i]);
        yyjson_mut_val *patch = NULL,
                       *tree = yyjson_val_mut_copy(p.doc, yyjson_doc_get_root(p.one));
        struct ek_jsonpatch_op *ops;
        struct ek_err err = {0};
        size_t n;
        ck_assert_msg(!ek_jsondiff(yyjson_doc_get_root(p.one), p.copy, p.doc, NULL, &patch, &err),
                      "%s", err.message);
        yyjson_doc *read = yyjson_mut_val_imut_copy(patch, NULL);
        ck_assert_int_eq(ek_jsonpatch_parse(yyjson_doc_get_root(read), p.doc, &ops, &n, &err), 0);
        ck_assert_msg(!ek_jsonpatch_apply(p.doc, &tree, ops, n, 0, NULL, NULL, &err), "%s",
                      err.message);
        ck_assert(ek_jsondiff_equal(yyjson_doc_get_root(p.two), tree, NULL));
        ek_free(ops);
        yyjson_doc_free(read);
        pair_done(&p);
    }
}

/* One level below what is read, so that it fits beside the list that documents come in. */
static void yaml(void)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++) {
        EK_AUTOFREE char *json = ek_deep_json(EK_JSON_DEPTH_MAX, kinds[i], NULL);
        EK_AUTO(ek_buf) out;
        struct ek_err err = {0};
        yyjson_doc *doc = NULL;
        ek_buf_init(&out, OUT_MAX);
        ck_assert_msg(!ek_yaml_parse(json, strlen(json), OUT_MAX, &doc, &err), "%s", err.message);
        ck_assert_msg(!ek_yaml_write(&out, yyjson_doc_get_root(doc), &err), "%s", err.message);
        yyjson_doc_free(doc);
    }
}

/* A kind that holds itself, and keeps what is not declared. */
static const char openapi[] =
    "{\"components\":{\"schemas\":{\"T\":{\"type\":\"object\",\"properties\":{"
    "\"apiVersion\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\"},"
    "\"metadata\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"labels\":{"
    "\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}}},"
    "\"a\":{\"$ref\":\"#/components/schemas/T\"},"
    "\"any\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}},"
    "\"x-kubernetes-group-version-kind\":[{\"group\":\"g\",\"version\":\"v\",\"kind\":\"T\"}]}}}}";

static struct ek_schema *schema_of_t(void)
{
    yyjson_doc *declared = ek_json_parse(openapi, strlen(openapi), NULL);
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};

    int rc = ek_schema_compile(yyjson_doc_get_root(declared), &schema, &err);
    ck_assert_msg(rc == 0, "%s", err.message);
    yyjson_doc_free(declared);
    return schema;
}

/* The deepest value is an object, so that it fits the schema. */
static void merge(void)
{
    EK_AUTOPTR(ek_schema, ek_schema_unref) *schema = schema_of_t();
    EK_AUTOFREE char *a = ek_deep_json(EK_JSON_DEPTH_MAX - 1, false, "{\"kind\":\"x\"}");
    EK_AUTOFREE char *b = ek_deep_json(EK_JSON_DEPTH_MAX - 1, false, "{\"kind\":\"y\"}");
    yyjson_doc *one = ek_json_parse(a, strlen(a), NULL), *two = ek_json_parse(b, strlen(b), NULL);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = yyjson_val_mut_copy(doc, yyjson_doc_get_root(one));
    struct ek_merge_patch patch = {.value = yyjson_val_mut_copy(doc, yyjson_doc_get_root(two))};
    struct ek_err err = {0};
    uint32_t type;

    ck_assert_int_eq(ek_schema_find_kind(schema, "g", "v", "T", &type, &err), 0);
    int rc = ek_merge_apply(schema, type, doc, live, &patch, 0, NULL, &err);
    ck_assert_msg(rc == 0, "%s", err.message);
    ck_assert(ek_jsondiff_equal(yyjson_doc_get_root(two), live, NULL));
    yyjson_doc_free(one);
    yyjson_doc_free(two);
    yyjson_mut_doc_free(doc);
}

/* Expressions that walk all of the object. */
static void cel(void)
{
    static const struct {
        const char *expr, *want;
        bool list; /* what object is */
    } rows[] = {
        {"{'a': object.a} == object", "true ", false},
        {"[object].indexOf(object)", "0 ", false},
        {"object in [{'a': object.a}]", "true ", false},
        {"object.flatten(20000).size()", "1 ", true},
        {"'%s'.format([object]).size() > 10000", "true ", false},
        {"{'x': object}", "{\"x\": ", false},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTOFREE char *json = ek_deep_json(EK_JSON_DEPTH_MAX, rows[i].list, NULL);
        EK_AUTOFREE char *got = ek_celtest(EK_CEL_ENV_MUTATION, rows[i].expr, json);
        ck_assert_msg(!strncmp(got, rows[i].want, strlen(rows[i].want)), "%s: %.200s", rows[i].expr,
                      got);
    }
}

/* ---- Decisions ---- */

/* A creation or update of {"any": <deep>}. */
static char *request_of(size_t levels, const char *old_leaf)
{
    EK_AUTOFREE char *any = ek_deep_json(levels, false, NULL);
    EK_AUTOFREE char *old = ek_deep_json(levels, false, old_leaf);
    static const char head[] =
        "'kind':{'group':'g','version':'v','kind':'T'},"
        "'resource':{'group':'g','version':'v','resource':'ts'},'operation':'UPDATE',";
    static const char object[] =
        "{'apiVersion':'g/v','kind':'T','metadata':{'name':'x','labels':{}},'any':";

    return ek_xasprintf("%s'object':%s%s},'oldObject':%s%s}", head, object, any, object, old);
}

static void mutation(void)
{
    EK_AUTOFREE char *members = request_of(EK_JSON_DEPTH_MAX - 10, "2");
    struct ek_arena *arena = ek_arena_new((size_t)64 << 20);
    struct ek_mutation_outcome outcome;
    struct ek_admission_request request;
    struct test_mutation_world w;

    test_mutation_open(&w);
    ek_schema_unref(w.schema);
    w.schema = schema_of_t();
    test_mutation_add(&w, "label",
                      "'failurePolicy':'Fail','matchConditions':[{'name':'c','expression':"
                      "'object.any != oldObject.any'}],'mutations':[{'patchType':"
                      "'ApplyConfiguration','applyConfiguration':{'expression':"
                      "'Object{metadata: Object.metadata{labels: {`set`: `yes`}}}'}}]",
                      "");
    test_mutation_add(
        &w, "copy",
        "'failurePolicy':'Fail','mutations':[{'patchType':'JSONPatch','jsonPatch':"
        "{'expression':'[JSONPatch{op: `add`, path: `/any/a/twin`, value: object.any}]'"
        "}}]",
        "");
    yyjson_doc *doc = test_mutation_request(members, &request);
    int rc =
        ek_engine_run(&w.set, &request, &w.world, &(struct ek_engine_options){0}, arena, &outcome);
    ck_assert_int_eq(rc, 0);
    ck_assert_msg(outcome.allowed, "%s", outcome.message);
    yyjson_val *root = yyjson_doc_get_root(outcome.result);
    ck_assert_str_eq(ek_json_str(root, "metadata", "labels", "set", NULL), "yes");
    ck_assert(ek_json_equal(ek_json_get(root, "any", "a", "twin", NULL),
                            ek_json_get(request.object, "any", NULL)));
    struct ek_safety_outcome checked;
    request.object = root;
    ck_assert_int_eq(ek_safety_check(&w.set, &request, &w.world, &(struct ek_engine_options){0},
                                     arena, &checked),
                     0);
    ek_mutation_outcome_done(&outcome);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
    test_mutation_close(&w);
}

static void gates(void)
{
    static const char *const old_leaves[] = {NULL, "2"};
    static const char *const policies[] = {"Suppress", "Reject"};

    for (size_t i = 0; i < 4; i++) {
        EK_AUTOFREE char *spec = ek_xasprintf("{onDisabled: %s, featureGates: [{name: F, "
                                              "preRelease: alpha, fieldPaths: [.spec.foo]}]}",
                                              policies[i / 2]);
        EK_AUTOFREE char *foo = ek_deep_json(EK_JSON_DEPTH_MAX - 2, i % 2, "1");
        EK_AUTOFREE char *old_foo = ek_deep_json(EK_JSON_DEPTH_MAX - 2, i % 2, "2");
        EK_AUTOFREE char *new = ek_xasprintf("{\"spec\":{\"foo\":%s}}", foo);
        EK_AUTOFREE char *old = ek_xasprintf("{\"spec\":{\"foo\":%s}}", old_foo);
        struct test_gates_case c = {
            .spec = spec, .old = old_leaves[i % 2] ? old : NULL, .new = new};
        struct test_gates_write w;
        test_gates_open(&w, &c);
        const char *broken = test_gates_broken_law(&w);
        ck_assert_msg(!broken, "%zu: %s", i, broken);
        ck_assert(w.outcome.allowed == (i < 2));
        if (w.outcome.allowed)
            ck_assert(ek_json_equal(
                ek_json_get(yyjson_doc_get_root(w.stored), "spec", "foo", NULL),
                w.old ? ek_json_get(yyjson_doc_get_root(w.old), "spec", "foo", NULL) : NULL));
        test_gates_close(&w);
    }
}

static const struct {
    const char *name;
    void (*body)(void);
} walks[] = {
    {"compare", compare}, {"copy", copy}, {"difference and patch", diff},    {"YAML", yaml},
    {"merge", merge},     {"CEL", cel},   {"mutation and safety", mutation}, {"field gates", gates},
};

START_TEST(walks_fit_the_stack)
{
    size_t bytes = stack_of(walks[_i].body);

    printf("%-22s %8zu kB of stack at %d levels\n", walks[_i].name, bytes / 1024,
           EK_JSON_DEPTH_MAX);
    ck_assert_msg(bytes <= EK_STACK_SIZE / 2, "%s takes %zu bytes", walks[_i].name, bytes);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("depth");

    tcase_set_timeout(tcase, 300);
    tcase_add_loop_test(tcase, walks_fit_the_stack, 0, EK_ARRAY_SIZE(walks));
    return ek_test_run("depth", tcase);
}
