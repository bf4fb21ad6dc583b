/* SPDX-License-Identifier: Apache-2.0 */
/* Custom resources as they are decoded, one question a row; vectors/crd-decode has what a real API
 * server made of a thousand. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/decode/custom.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "test/support/suite.h"

#define ARENA_MAX ((size_t)1 << 20)

struct decoded {
    char *object; /* JSON, owned; NULL: there is an error */
    const char *error;
    char unknown[256]; /* joined by blanks */
    int rc;
};

static yyjson_doc *read_yaml(const char *text)
{
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    ck_assert_msg(!ek_yaml_parse(text, strlen(text), 1 << 20, &doc, &err), "%s", err.message);
    return doc;
}

/* Decodes an object of g.test/v1 Thing whose schema (YAML) has that schema of spec. */
static void decode(const char *schema, const char *object, bool from_storage,
                   struct ek_arena *arena, struct ek_work *work, struct decoded *ret)
{
    EK_AUTOFREE char *crd_text = ek_xasprintf(
        "spec: {group: g.test, scope: Namespaced, names: {kind: Thing}, versions: [{name: v1, "
        "subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: "
        "{metadata: {type: object}, spec: %s}}}}]}",
        schema);
    yyjson_doc *crd = read_yaml(crd_text), *sent = read_yaml(object);
    struct ek_custom_version version;
    struct ek_custom_decoding decoding;
    const struct ek_custom_options options = {
        .from_storage = from_storage, .defaults = true, .arena = arena, .work = work};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *copy = doc ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(sent)) : NULL;

    *ret = (struct decoded){.rc = EK_E_NOMEM};
    ck_assert(ek_custom_version_of(yyjson_doc_get_root(crd), "v1", &version));
    ck_assert(version.has_status && version.namespaced);
    if (copy)
        ret->rc = ek_custom_decode(&version, doc, copy, &options, &decoding);
    if (!ret->rc) {
        ret->error = decoding.error;
        if (!ret->error)
            ret->object = yyjson_mut_val_write_opts(copy, 0, &ek_json_xalc, NULL, NULL);
        for (size_t i = 0; i < decoding.unknown.n; i++)
            snprintf(ret->unknown + strlen(ret->unknown),
                     sizeof ret->unknown - strlen(ret->unknown), "%s%s", i ? " " : "",
                     decoding.unknown.list[i]);
    }
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(sent);
    yyjson_doc_free(crd);
}

#define HEAD      "{apiVersion: g.test/v1, kind: Thing"
#define OUT       "{\"apiVersion\":\"g.test/v1\",\"kind\":\"Thing\""
#define EMBEDDED  "x-kubernetes-embedded-resource: true"
#define PRESERVED "x-kubernetes-preserve-unknown-fields: true"

static const struct {
    const char *schema, *object, *seen, *error, *unknown;
} rows[] = {
    /* Pruning. */
    {"{type: object, properties: {a: {type: integer}}}", HEAD ", spec: {a: 1, b: 2}, c: 3}",
     OUT ",\"spec\":{\"a\":1}}", NULL, "c spec.b"},
    {"{type: object, " PRESERVED ", properties: {a: {type: object}}}",
     HEAD ", spec: {a: {x: 1}, b: {w: null}}}", OUT ",\"spec\":{\"a\":{},\"b\":{\"w\":null}}}",
     NULL, "spec.a.x"},
    {"{type: object, additionalProperties: true}", HEAD ", spec: {a: {x: 1}, b: 2}}",
     OUT ",\"spec\":{\"a\":{},\"b\":2}}", NULL, "spec.a.x"},
    {"{type: array, items: {type: object}}", HEAD ", spec: [{b: 1, a: 2}, 5]}",
     OUT ",\"spec\":[{},5]}", NULL, "spec[0].a spec[0].b"},
    {"{type: array}", HEAD ", spec: [{b: 1}, [{c: 1}]]}", OUT ",\"spec\":[{},[{}]]}", NULL,
     "spec[0].b spec[1][0].c"},
    {"{type: array, " PRESERVED "}", HEAD ", spec: [{b: 1}]}", OUT ",\"spec\":[{\"b\":1}]}", NULL,
     ""},
    {"{type: object}", HEAD ", spec: {}, metadata: {z: 1}, a: 1}",
     OUT ",\"spec\":{},\"metadata\":{}}", NULL, "metadata.z a"},
    /* Nulls and defaults. */
    {"{type: object, properties: {a: {type: string}, b: {type: string, nullable: true}, c: {type: "
     "string, default: x}, d: {type: string, nullable: true, default: x}}}",
     HEAD ", spec: {a: null, b: null, c: null, d: null}}",
     OUT ",\"spec\":{\"b\":null,\"c\":\"x\",\"d\":null}}", NULL, ""},
    {"{type: object, default: {}, properties: {a: {default: {x: 1}, properties: {w: {default: "
     "2}}}}}",
     HEAD "}", OUT ",\"spec\":{\"a\":{\"x\":1,\"w\":2}}}", NULL, ""},
    {"{type: object, properties: {a: {default: null}}}", HEAD ", spec: {}}", OUT ",\"spec\":{}}",
     NULL, ""},
    {"{type: array, items: {type: integer, default: 7}}", HEAD ", spec: [null, 1]}",
     OUT ",\"spec\":[7,1]}", NULL, ""},
    {"{type: array, items: {type: integer}}", HEAD ", spec: [null]}", OUT ",\"spec\":[null]}", NULL,
     ""},
    {"{type: object, additionalProperties: {type: integer, default: 7}}", HEAD ", spec: {a: null}}",
     OUT ",\"spec\":{\"a\":7}}", NULL, ""},
    {"{type: object, additionalProperties: {type: integer}}", HEAD ", spec: {a: null}}",
     OUT ",\"spec\":{}}", NULL, ""},
    /* Metadata. */
    {"{type: object}", HEAD ", metadata: {name: a, labels: {a: null}, annotations: {}, uid: ''}}",
     OUT ",\"metadata\":{\"labels\":{\"a\":\"\"},\"name\":\"a\"}}", NULL, ""},
    {"{type: object}", HEAD ", metadata: null}", OUT ",\"metadata\":{}}", NULL, ""},
    {"{type: object}",
     HEAD ", metadata: {ownerReferences: [{name: a, x: 1}], deletionTimestamp: "
          "'2020-01-01T01:00:00.5+01:00'}}",
     OUT ",\"metadata\":{\"deletionTimestamp\":\"2020-01-01T00:00:00Z\",\"ownerReferences\":"
         "[{\"name\":\"a\",\"apiVersion\":\"\",\"kind\":\"\",\"uid\":\"\"}]}}",
     NULL, "metadata.ownerReferences[0].x"},
    {"{type: object}", HEAD ", metadata: {labels: {a: 1}, name: 5}}", NULL,
     "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string", ""},
    {"{type: object}", HEAD ", metadata: {labels: {a: 1}, deletionTimestamp: x}}", NULL,
     "parsing time \"x\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"x\" as \"2006\"", ""},
    {"{type: object}", HEAD ", metadata: {generation: 1.5}}", NULL,
     "json: cannot unmarshal number 1.5 into Go struct field ObjectMeta.generation of type int64",
     ""},
    {"{type: object}", HEAD ", metadata: {ownerReferences: [{uid: 1}]}}", NULL,
     "json: cannot unmarshal number into Go struct field OwnerReference.ownerReferences.uid of "
     "type types.UID",
     ""},
    {"{type: object}", HEAD ", metadata: {deletionTimestamp: '2023-02-29T00:00:00Z'}}", NULL,
     "parsing time \"2023-02-29T00:00:00Z\": day out of range", ""},
    {"{type: object}", HEAD ", metadata: [1]}", NULL,
     "json: cannot unmarshal array into Go value of type v1.ObjectMeta", ""},
    {"{type: object}", "{apiVersion: g.test/v1, kind: 7}", NULL,
     ".kind accessor error: 7 is of the type int64, expected string", ""},
    {"{type: object}", "{apiVersion: a/b/c, kind: Thing}", NULL,
     "unexpected GroupVersion string: a/b/c", ""},
    /* Embedded resources. */
    {"{type: object, " EMBEDDED ", properties: {a: {type: integer, default: 3}}}",
     HEAD ", spec: {apiVersion: v1, kind: Pod, metadata: {name: p, z: 1}, b: 1}}",
     OUT ",\"spec\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\"},"
         "\"a\":3}}",
     NULL, "spec.b spec.metadata.z"},
    {"{type: object, additionalProperties: {type: object, " EMBEDDED "}}",
     HEAD ", spec: {k: {kind: [b, {z: '<', a: 1e21}]}}}", NULL,
     "spec[k].kind: Invalid value: [\"b\",{\"a\":1e+21,\"z\":\"\\u003c\"}]: must be a string", ""},
    {"{type: object, " EMBEDDED "}", HEAD ", spec: {metadata: {name: 1}}}", NULL,
     "spec.metadata: Invalid value: {\"name\":1}: json: cannot unmarshal number into Go struct "
     "field ObjectMeta.name of type string",
     ""},
    /* Another kind, or version: the schema is not its. */
    {"{type: object}", "{apiVersion: g.test/v1, kind: Other, metadata: {z: 1}, a: 1}",
     "{\"apiVersion\":\"g.test/v1\",\"kind\":\"Other\",\"metadata\":{},\"a\":1}", NULL,
     "metadata.z"},
    {"{type: object, default: {}}", "{apiVersion: g.test/v2, kind: Thing, a: 1}",
     "{\"apiVersion\":\"g.test/v2\",\"kind\":\"Thing\"}", NULL, "a"},
};

static bool same(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

static void check_row(const struct decoded *d, const char *seen, const char *error,
                      const char *unknown)
{
    bool good = !d->rc && same(d->error, error) && same(d->object, seen) &&
                (error || same(d->unknown, unknown));

    ck_assert_msg(good, "%d, error %s, unknown %s, %s", d->rc, d->error ? d->error : "(none)",
                  d->unknown, d->object ? d->object : "(none)");
}

START_TEST(objects_are_decoded)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct decoded d;

    decode(rows[_i].schema, rows[_i].object, false, arena, NULL, &d);
    check_row(&d, rows[_i].seen, rows[_i].error, rows[_i].unknown);
    ek_free(d.object);
    ek_arena_free(arena);
}
END_TEST

/* What an older server stored is read as far as it can be. */
START_TEST(stored_objects_lose_what_does_not_fit)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct decoded d;

    decode("{type: object, " EMBEDDED "}",
           HEAD ", metadata: {name: a, labels: {a: 1}, creationTimestamp: x}, spec: {kind: 1, "
                "apiVersion: v1}}",
           true, arena, NULL, &d);
    check_row(&d, OUT ",\"metadata\":{\"name\":\"a\"},\"spec\":{\"apiVersion\":\"v1\"}}", NULL, "");
    ek_free(d.object);
    ek_arena_free(arena);
}
END_TEST

static bool is_over(void *arg)
{
    const struct ek_work *work = arg;
    return work->steps > 20;
}

START_TEST(work_is_bounded)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_work work = {.is_over = is_over, .next = 1};
    struct decoded d;
    EK_AUTO(ek_buf) text;

    work.arg = &work;
    ek_buf_init(&text, ARENA_MAX);
    ek_buf_puts(&text, HEAD ", spec: [");
    for (int i = 0; i < 5000; i++)
        ek_buf_puts(&text, "{},");
    ek_buf_puts(&text, "{}]}");
    decode("{type: array, items: {type: object, properties: {a: {default: 1}}}}", ek_buf_str(&text),
           false, arena, &work, &d);
    ck_assert_int_eq(d.rc, EK_E_CANCELED);
    ek_free(d.object);
    ek_arena_free(arena);
}
END_TEST

/* Without memory there is an error, and no wrong object. */
START_TEST(lack_of_memory_is_an_error)
{
    static const char text[] =
        "{\"apiVersion\":\"g.test/v1\",\"kind\":\"Thing\",\"metadata\":{\"labels\":{\"a\":\"b\"},"
        "\"finalizers\":[\"a\"],\"ownerReferences\":[{\"name\":\"x\"}]},\"spec\":{\"a\":null}}";
    static const char definition[] = "{\"spec\":{\"group\":\"g.test\",\"names\":{\"kind\":"
                                     "\"Thing\"},\"versions\":[{\"name\":\"v1\","
                                     "\"schema\":{\"openAPIV3Schema\":{\"properties\":{\"spec\":{"
                                     "\"properties\":{\"a\":{\"default\":"
                                     "[1,{\"b\":2}]}}}}}}}]}}";
    yyjson_doc *crd = ek_json_parse(definition, strlen(definition), NULL);
    yyjson_doc *sent = ek_json_parse(text, strlen(text), NULL);
    struct ek_custom_version version;
    bool done = false;

    ck_assert(ek_custom_version_of(yyjson_doc_get_root(crd), "v1", &version));
    for (long n = 1; !done; n++) {
        struct ek_arena *arena = ek_arena_new(ARENA_MAX);
        const struct ek_custom_options options = {.defaults = true, .arena = arena};
        yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
        yyjson_mut_val *copy = yyjson_val_mut_copy(doc, yyjson_doc_get_root(sent));
        struct ek_custom_decoding decoding;
        ek_alloc_fail_after(n);
        int rc = ek_custom_decode(&version, doc, copy, &options, &decoding);
        done = ek_alloc_unfailed();
        ek_alloc_fail_after(0);
        ck_assert_msg(rc == EK_E_NOMEM || (!rc && !decoding.error), "%ld: %d", n, rc);
        if (!rc)
            ck_assert_uint_eq(
                yyjson_mut_arr_size(yyjson_mut_obj_get(yyjson_mut_obj_get(copy, "spec"), "a")), 2);
        yyjson_mut_doc_free(doc);
        ek_arena_free(arena);
    }
    yyjson_doc_free(sent);
    yyjson_doc_free(crd);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("custom");

    tcase_add_loop_test(tcase, objects_are_decoded, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, stored_objects_lose_what_does_not_fit);
    tcase_add_test(tcase, work_is_bounded);
    tcase_add_test(tcase, lack_of_memory_is_an_error);
    return ek_test_run("custom", tcase);
}
