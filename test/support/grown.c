/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/grown.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/base/buf.h"
#include "test/support/mutation_world.h"

#define TEXT_MAX ((size_t)64 << 20)
#define DEPTH    200

#define TEXTS "{'type':'object','additionalProperties':{'type':'string'}}"
#define META                                                                                       \
    "'metadata':{'type':'object','properties':{'name':{'type':'string'},'namespace':"              \
    "{'type':'string'},'labels':" TEXTS ",'annotations':" TEXTS "}},"                              \
    "'apiVersion':{'type':'string'},'kind':{'type':'string'}"
#define KIND(group)                                                                                \
    "'x-kubernetes-group-version-kind':[{'group':'" group "','version':'v1','kind':'Thing'}]"
#define NEST(prefix)                                                                               \
    "'" prefix "Nest':{'type':'object','properties':{'next':{'$ref':'#/components/schemas/" prefix \
    "Nest'},'mode':{'type':'string','default':'m'},'note':{'type':'string'}}},"
#define SPEC(prefix)                                                                               \
    "'" prefix "ThingSpec':{'type':'object','properties':{'map':" TEXTS ",'free':{'type':"         \
    "'object','x-kubernetes-preserve-unknown-fields':true},'items':{'type':'array',"               \
    "'x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name'],'items':{'type':"        \
    "'object','properties':{'name':{'type':'string'},'value':{'type':'string'},'mode':{'type':"    \
    "'string','default':'m'}}}},'set':{'type':'array','x-kubernetes-list-type':'set','items':"     \
    "{'type':'string'}},'atomic':{'type':'array','x-kubernetes-list-type':'atomic','items':"       \
    "{'type':'object','properties':{'name':{'type':'string'},'value':{'type':'string'},"           \
    "'mode':{'type':'string','default':'m'}}}},'words':{'type':'array',"                           \
    "'x-kubernetes-list-type':'atomic','items':{'type':'string'}},'text':{'type':'string'},"       \
    "'nests':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':"         \
    "['note'],'items':{'$ref':'#/components/schemas/" prefix "Nest'}}},"                           \
    "'x-kubernetes-preserve-unknown-fields':true},"
#define THING(prefix, group)                                                                       \
    NEST(prefix)                                                                                   \
    SPEC(prefix)                                                                                   \
    "'" prefix "Thing':{'type':'object','properties':{" META ",'spec':{'$ref':"                    \
    "'#/components/schemas/" prefix "ThingSpec'}}," KIND(group) "}"

static const char schemas[] = "{'components':{'schemas':{" THING(
    "io.k8s.api.apps.v1.", "apps") "," THING("com.example.v1.", "example.com") "}}}";

struct ek_schema *test_grown_schema(void)
{
    yyjson_doc *doc = test_mutation_json(schemas);
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};

    if (ek_schema_compile(yyjson_doc_get_root(doc), &schema, &err)) {
        fprintf(stderr, "grown: %s\n", err.message);
        abort();
    }
    yyjson_doc_free(doc);
    return schema;
}

/* ---- Shapes ---- */

/* One part of a shape that has number i; another is the one that only the new object has. */
struct shape {
    const char *name;
    const char *before, *after;
    void (*part)(struct ek_buf *out, size_t i, bool another);
};

static void member(struct ek_buf *out, size_t i, bool another)
{
    ek_buf_printf(out, "\"k%zu\":\"v%s\"", i, another ? "w" : "");
}

static void similar(struct ek_buf *out, size_t i, bool another)
{
    ek_buf_printf(out,
                  "\"the.same.prefix.of.all.names.which.is.as.long.as.names.are/%08zu\":\"%s\"", i,
                  another ? "w" : "");
}

static void item(struct ek_buf *out, size_t i, bool another)
{
    ek_buf_printf(out, "{\"name\":\"k%zu\",\"value\":\"v%s\",\"mode\":\"m\"}", i,
                  another ? "w" : "");
}

static void word(struct ek_buf *out, size_t i, bool another)
{
    ek_buf_printf(out, "\"%s%zu\"", another ? "another" : "word", i);
}

static void one_of_two(struct ek_buf *out, size_t i, bool another)
{
    ek_buf_printf(out, "\"%s\"",
                  another ? "c"
                  : i % 2 ? "the one that is odd"
                          : "the one that is even");
}

static void nest(struct ek_buf *out, size_t i, bool another)
{
    ek_buf_printf(out, "{\"note\":\"n%zu\",\"mode\":\"m\"", i);
    for (int level = 0; level < DEPTH; level++)
        ek_buf_puts(out, ",\"next\":{\"mode\":\"m\"");
    ek_buf_printf(out, ",\"note\":\"%s\"", another ? "b" : "a");
    for (int level = 0; level < DEPTH; level++)
        ek_buf_puts(out, "}");
    ek_buf_puts(out, "}");
}

static void escaped(struct ek_buf *out, size_t i, bool another)
{
    ek_buf_puts(out, another ? "z" : i % 2 ? "\\\"~/" : "\\u0001\\\\");
}

static const struct shape shapes[TEST_GROWN_MAX] = {
    [TEST_GROWN_MEMBERS] = {"members", "\"spec\":{\"map\":{", "}}", member},
    [TEST_GROWN_SIMILAR] = {"similar names", "\"spec\":{\"map\":{", "}}", similar},
    [TEST_GROWN_FREE] = {"free members", "\"spec\":{\"free\":{", "}}", member},
    [TEST_GROWN_ITEMS] = {"items by key", "\"spec\":{\"items\":[", "]}", item},
    [TEST_GROWN_SET] = {"a set", "\"spec\":{\"set\":[", "]}", word},
    [TEST_GROWN_ATOMIC] = {"items", "\"spec\":{\"atomic\":[", "]}", item},
    [TEST_GROWN_TWO] = {"equal items", "\"spec\":{\"words\":[", "]}", one_of_two},
    [TEST_GROWN_DEEP] = {"deep", "\"spec\":{\"nests\":[", "]}", nest},
    [TEST_GROWN_WIDE] = {"unknown members", "\"spec\":{", "}", member},
    [TEST_GROWN_ESCAPES] = {"escapes", "\"spec\":{\"text\":\"", "\"}", escaped},
    [TEST_GROWN_LABELS] = {"labels", NULL, NULL, member},
};

const char *test_grown_name(enum test_grown_shape shape)
{
    return shapes[shape].name;
}

/* How many parts make up that size. */
static size_t count(const struct shape *s, size_t size)
{
    EK_AUTO(ek_buf) one;

    ek_buf_init(&one, TEXT_MAX);
    s->part(&one, 10000, false);
    return size / (one.len + 1) + 2;
}

/* The parts in order, or backwards with one in their middle changed. */
static void add_parts(struct ek_buf *out, const struct shape *s, size_t n, bool new_one)
{
    const char *comma = s->part == escaped ? "" : ",";

    for (size_t i = 0; i < n; i++) {
        ek_buf_puts(out, i ? comma : "");
        s->part(out, new_one ? n - 1 - i : i, new_one && i == n / 2);
    }
}

yyjson_doc *test_grown(enum test_grown_shape shape, size_t size, bool custom, bool new_one)
{
    const struct shape *s = &shapes[shape];
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, TEXT_MAX);
    ek_buf_printf(&out,
                  "{\"apiVersion\":\"%s/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":"
                  "\"a\",\"namespace\":\"shop\"",
                  custom ? "example.com" : "apps");
    if (s->before) {
        ek_buf_printf(&out, "},%s", s->before);
    } else {
        ek_buf_puts(&out, ",\"labels\":{");
    }
    add_parts(&out, s, count(s, size), new_one);
    ek_buf_printf(&out, "%s}", s->before ? s->after : "}}");
    yyjson_doc *doc = yyjson_read(ek_buf_str(&out), out.len, 0);
    if (!doc) {
        fprintf(stderr, "grown: %s of %zu octets is no JSON\n", s->name, size);
        abort();
    }
    return doc;
}
