/* SPDX-License-Identifier: Apache-2.0 */
/* What policies that behave Extended can do to an object, one policy at a time. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/policies.h"
#include "test/support/suite.h"

#define W(spec) "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"spec\":{" spec "}}"
#define R(spec) "{\"spec\":{" spec "}}"
#define TWO     "\"containers\":[{\"name\":\"a\",\"image\":\"x\"},{\"name\":\"b\"}]"

struct row {
    const char *name;
    struct ek_policy_row policy;
    const char *object, *want; /* want: the result, or within the denial's message */
};

#define P(...)                                                                                     \
    {                                                                                              \
        .name = "p", .expression = __VA_ARGS__                                                     \
    }

static const struct row rows[] = {
    /* ---- Unsetting ---- */
    {"a field", P("Object{spec: Object.spec{?size: optional.none()}}"),
     W("\"size\":1,\"color\":\"red\""), R("\"color\":\"red\"")},
    {"in tree it is left out",
     P("Object{spec: Object.spec{?size: optional.none()}}", .in_tree = true), W("\"size\":1"),
     R("\"size\":1")},
    {"a field without `?`", P("Object{spec: Object.spec{size: optional.none()}}"), W("\"size\":1"),
     R("")},
    {"a field that is not there", P("Object{spec: Object.spec{?size: optional.none()}}"),
     W("\"color\":\"red\""), R("\"color\":\"red\"")},
    {"what holds nothing makes nothing",
     P("Object{spec: Object.spec{options: {?'a': optional.none()}}}"), W("\"size\":1"),
     R("\"size\":1")},
    {"a key of a map", P("Object{spec: Object.spec{options: {?'a': optional.none()}}}"),
     W("\"options\":{\"a\":\"1\",\"b\":\"2\"}"), R("\"options\":{\"b\":\"2\"}")},
    {"one key goes, one comes",
     P("Object{spec: Object.spec{options: {?'a': optional.none(), 'c': '3'}}}"),
     W("\"options\":{\"a\":\"1\"}"), R("\"options\":{\"c\":\"3\"}")},
    {"on a condition, met",
     P("Object{spec: Object.spec{?size: object.spec.size > 3 ? optional.none() : "
       "optional.of(object.spec.size + 1)}}"),
     W("\"size\":4"), R("")},
    {"on a condition, not met",
     P("Object{spec: Object.spec{?size: object.spec.size > 3 ? optional.none() : "
       "optional.of(object.spec.size + 1)}}"),
     W("\"size\":3"), R("\"size\":4")},
    {"by a variable",
     P("Object{spec: Object.spec{?size: variables.v}}", .variable = "object.spec.?other"),
     W("\"size\":1"), R("")},
    {"a key written twice is there",
     P("Object{spec: Object.spec{options: {?'a': optional.none(), 'a': 'x'}}}"),
     W("\"options\":{\"a\":\"1\"}"), R("\"options\":{\"a\":\"x\"}")},
    {"move an annotation to a field",
     P("Object{metadata: Object.metadata{annotations: {?'c': optional.none()}}, "
       "spec: Object.spec{color: object.metadata.annotations['c']}}"),
     "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"annotations\":{\"c\":"
     "\"red\",\"d\":\"1\"}},\"spec\":{}}",
     "{\"metadata\":{\"annotations\":{\"d\":\"1\"}},\"spec\":{\"color\":\"red\"}}"},
    {"a field that there is not", P("Object{spec: Object.spec{?sise: optional.none()}}"),
     W("\"size\":1"), ".spec.sise: field not declared in schema"},
    {"the kind", P("Object{?kind: optional.none()}"), W(""), "may not remove apiVersion or kind"},
    {"an explicit null", P("Object{spec: Object.spec{replicas: null}}"), W("\"replicas\":1"),
     R("\"replicas\":null")},

    /* ---- Lists ---- */
    {"an item of a list with keys",
     P("Object{spec: Object.spec{containers: [objects.remove(Object.spec.containers{name: "
       "'a'})]}}"),
     W(TWO), R("\"containers\":[{\"name\":\"b\"}]")},
    {"other fields do not matter",
     P("Object{spec: Object.spec{containers: [objects.remove(object.spec.containers[0])]}}"),
     W(TWO), R("\"containers\":[{\"name\":\"b\"}]")},
    {"an item that is not there",
     P("Object{spec: Object.spec{containers: [objects.remove(Object.spec.containers{name: "
       "'c'})]}}"),
     W(TWO), R(TWO)},
    {"those of a kind",
     P("Object{spec: Object.spec{containers: object.spec.containers.filter(c, has(c.image))"
       ".map(c, objects.remove(Object.spec.containers{name: c.name}))}}"),
     W(TWO), R("\"containers\":[{\"name\":\"b\"}]")},
    {"one comes, one goes",
     P("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'c'}, "
       "objects.remove(Object.spec.containers{name: 'b'})]}}"),
     W(TWO), R("\"containers\":[{\"name\":\"a\",\"image\":\"x\"},{\"name\":\"c\"}]")},
    {"an item without its key",
     P("Object{spec: Object.spec{containers: [objects.remove(Object.spec.containers{image: "
       "'x'})]}}"),
     W(TWO), "may not remove from .spec.containers"},
    {"a field of an item",
     P("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', "
       "?image: optional.none()}]}}"),
     W(TWO), R("\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]")},
    {"a field of an item that is not there",
     P("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'z', "
       "?image: optional.none()}]}}"),
     W(TWO), R(TWO)},
    {"an environment variable of all containers",
     P("Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{"
       "name: c.name, env: [objects.remove(Object.spec.containers.env{name: 'E'})]})}}"),
     W("\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"E\",\"value\":\"1\"},{\"name\":\"F\"}]"
       "},"
       "{\"name\":\"b\"}]"),
     R("\"containers\":[{\"name\":\"a\",\"env\":[{\"name\":\"F\"}]},{\"name\":\"b\"}]")},
    {"an item of a set", P("Object{spec: Object.spec{tags: [objects.remove('x'), 'z']}}"),
     W("\"tags\":[\"x\",\"y\"]"), R("\"tags\":[\"y\",\"z\"]")},
    {"a finalizer",
     P("Object{metadata: Object.metadata{finalizers: [objects.remove('example.com/f')]}}"),
     "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"finalizers\":["
     "\"example.com/e\",\"example.com/f\"]}}",
     "{\"metadata\":{\"finalizers\":[\"example.com/e\"]}}"},
    {"of a list without keys",
     P("Object{spec: Object.spec{tolerations: [objects.remove(Object.spec.tolerations{key: "
       "'a'})]}}",
       .replace = true),
     W("\"tolerations\":[{\"key\":\"a\"}]"), "the items of this list have no keys"},
    {"outside of a list", P("Object{spec: Object.spec{size: objects.remove(1)}}"), W("\"size\":1"),
     "objects.remove() is for items of lists"},
    {"in a JSON patch", P("[JSONPatch{op: 'add', path: '/spec/size', value: objects.remove(1)}]"),
     W("\"size\":1"), "could not marshal"},

    /* ---- Atomics ---- */
    {"atomics are refused", P("Object{spec: Object.spec{tolerations: []}}"), W(""),
     "may not mutate atomic arrays, maps or structs: .spec.tolerations"},
    {"a list",
     P("Object{spec: Object.spec{tolerations: object.spec.tolerations.filter(t, "
       "t.key != 'a')}}",
       .replace = true),
     W("\"tolerations\":[{\"key\":\"a\"},{\"key\":\"b\"}]"),
     R("\"tolerations\":[{\"key\":\"b\"}]")},
    {"a list of literals",
     P("Object{spec: Object.spec{tolerations: [Object.spec.tolerations{key: 'n', "
       "?effect: optional.none()}]}}",
       .replace = true),
     W("\"tolerations\":[{\"key\":\"a\"}]"), R("\"tolerations\":[{\"key\":\"n\"}]")},
    {"a map", P("Object{spec: Object.spec{nodeSelector: {'b': '2'}}}", .replace = true),
     W("\"nodeSelector\":{\"a\":\"1\"}"), R("\"nodeSelector\":{\"b\":\"2\"}")},
    {"a key of an atomic map",
     P("Object{spec: Object.spec{nodeSelector: {?'a': optional.none()}}}", .replace = true),
     W("\"nodeSelector\":{\"a\":\"1\",\"b\":\"2\"}"), R("\"nodeSelector\":{\"b\":\"2\"}")},
    {"a key of an atomic map, refused",
     P("Object{spec: Object.spec{nodeSelector: {?'a': optional.none()}}}"),
     W("\"nodeSelector\":{\"a\":\"1\"}"), "may not mutate atomic"},
    {"a struct",
     P("Object{spec: Object.spec{strategy: Object.spec.strategy{type: 'R'}}}", .replace = true),
     W("\"strategy\":{\"type\":\"Q\",\"max\":1}"), R("\"strategy\":{\"type\":\"R\"}")},
    {"args of a container",
     P("Object{spec: Object.spec{containers: [Object.spec.containers{name: 'a', args: ['-v']}]}}",
       .replace = true),
     W(TWO),
     R("\"containers\":[{\"name\":\"a\",\"image\":\"x\",\"args\":[\"-v\"]},{\"name\":\"b\"}]")},

    /* ---- Nested literals ---- */
    {"nested literals",
     P("Object{spec: Object.spec{matrix: {'a': {'b': [1, 2]}}}}", .replace = true), W(""),
     R("\"matrix\":{\"a\":{\"b\":[1,2]}}")},
    {"nested unsetting", P("Object{spec: Object.spec{matrix: {'a': {?'b': optional.none()}}}}"),
     W("\"matrix\":{\"a\":{\"b\":[1],\"c\":[2]}}"), R("\"matrix\":{\"a\":{\"c\":[2]}}")},
    {"an unsigned number", P("Object{spec: Object.spec{size: 3u}}"), W(""), R("\"size\":3")},

    /* ---- objects.apply ---- */
    {"apply to items of an atomic list",
     P("Object{spec: Object.spec{tolerations: object.spec.tolerations.map(t, objects.apply(t, "
       "Object.spec.tolerations{effect: 'NoExecute'}))}}",
       .replace = true),
     W("\"tolerations\":[{\"key\":\"a\"},{\"key\":\"b\",\"effect\":\"x\"}]"),
     R("\"tolerations\":[{\"key\":\"a\",\"effect\":\"NoExecute\"},{\"key\":\"b\",\"effect\":"
       "\"NoExecute\"}]")},
    {"apply takes away",
     P("Object{spec: Object.spec{tolerations: object.spec.tolerations.map(t, objects.apply(t, "
       "Object.spec.tolerations{?effect: optional.none()}))}}",
       .replace = true),
     W("\"tolerations\":[{\"key\":\"b\",\"effect\":\"x\"}]"),
     R("\"tolerations\":[{\"key\":\"b\"}]")},
    {"apply merges lists with keys",
     P("Object{spec: Object.spec{size: size(objects.apply(object.spec, Object.spec{containers: ["
       "Object.spec.containers{name: 'b', image: 'y'}, Object.spec.containers{name: 'c'}]})"
       ".containers)}}"),
     W(TWO), R(TWO ",\"size\":3")},
    {"apply in a variable",
     P("Object{spec: Object.spec{color: variables.v}}",
       .variable = "has(object.spec.size) ? 'sized' : 'free'"),
     W("\"size\":1"), R("\"size\":1,\"color\":\"sized\"")},
    {"apply of what does not fit",
     P("Object{spec: Object.spec{size: objects.apply(object.spec, Object.spec{size: 'x'}).size}}"),
     W("\"size\":1"), "objects.apply: failed to convert patch object"},
    {"apply where there is no such field",
     P("Object{spec: Object.spec{size: objects.apply(object.spec, Object.spce{size: 1}).size}}"),
     W("\"size\":1"), "did you mean \\\"spec\\\"?"},
    {"apply of a map",
     P("Object{spec: Object.spec{size: objects.apply(object.spec, {'size': 1}).size}}"),
     W("\"size\":1"), "the patch must be an Object"},
};

START_TEST(extended_row)
{
    const struct row *row = &rows[_i];
    struct ek_policies policies;
    struct ek_policies_run run;

    ek_policies_init(&policies, &row->policy, 1);
    ek_policies_run(&policies, row->object, false, &run);
    EK_AUTOFREE char *got = ek_policies_text(&run);
    bool fine = *row->want == '{' ? strcmp(got, row->want) == 0 : strstr(got, row->want) != NULL;
    ck_assert_msg(fine && run.outcome.allowed == (*row->want == '{'), "%s: %s, not %s", row->name,
                  got, row->want);
    ek_policies_run_done(&run);
    ek_policies_done(&policies);
}
END_TEST

/* What a mutation takes of its arena that sets size, for an object of 1,000 tags. */
static size_t memory_of(const char *size)
{
    EK_AUTO(ek_buf) object;
    EK_AUTOFREE char *expression = ek_xasprintf("Object{spec: Object.spec{size: %s}}", size);
    struct ek_policy_row policy = P(expression);
    struct ek_policies policies;
    struct ek_policies_run run;

    ek_buf_init(&object, 1 << 20);
    ek_buf_puts(&object, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"spec\":{"
                         "\"tags\":[\"t\"");
    for (int i = 0; i < 999; i++)
        ek_buf_printf(&object, ",\"t%d\"", i);
    ek_buf_puts(&object, "]}}");
    ek_policies_init(&policies, &policy, 1);
    ek_policies_run(&policies, ek_buf_str(&object), false, &run);
    EK_AUTOFREE char *got = ek_policies_text(&run);
    ck_assert_msg(run.outcome.allowed, "%s", got);
    size_t used = ek_arena_used(run.arena);
    ek_policies_run_done(&run);
    ek_policies_done(&policies);
    return used;
}

#define REMOVED "object.spec.tags.map(t, objects.remove(Object.spec.containers{name: t}))"

/* The notes of an application are in the arena, whose meter counts them. Of each item, the values
 * of the patch take 114 octets, and the notes 80. */
START_TEST(memory_of_applications)
{
    size_t patch = memory_of("size(" REMOVED ")");
    size_t applied = memory_of("size(objects.apply({'containers': []}, "
                               "Object.spec{containers: " REMOVED "}))");

    ck_assert_uint_ge(applied, patch + (size_t)1000 * 160);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("rows");

    tcase_add_loop_test(tcase, extended_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, memory_of_applications);
    return ek_test_run("extended", tcase);
}
