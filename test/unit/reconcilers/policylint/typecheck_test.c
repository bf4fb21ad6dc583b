/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/schema/builtin.h"
#include "reconcilers/policylint/typecheck.h"
#include "test/support/suite.h"

#define TEXT_MAX 4096

static const struct ek_gvk deployment = {"apps", "v1", "Deployment"},
                           daemon_set = {"apps", "v1", "DaemonSet"},
                           config_map = {"", "v1", "ConfigMap"};

enum place { CONDITION, VARIABLE, APPLY, PATCH };

static const struct {
    const char *name;
    enum place place;
    const char *text;
    const char *want; /* lines of "position message", with " [kinds]" when these are not all */
    bool two;         /* DaemonSets are matched as well as Deployments */
} rows[] = {
    {"a field that is there", CONDITION, "object.spec.replicas > 1", "", false},
    {"a misspelt field", CONDITION, "object.spec.replcas > 1",
     "11 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"of the object itself", CONDITION, "object.sepc.replicas > 1",
     "6 the object has no field \"sepc\"; did you mean \"spec\"?\n", false},
    {"of the old object", CONDITION, "oldObject == null || oldObject.spec.x == 1",
     "35 \"spec\" has no field \"x\"\n", false},
    {"only tested for", CONDITION, "has(object.spec.replcas)",
     "3 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"an optional", CONDITION, "object.?spec.?replcas.orValue(1) > 1",
     "14 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"by a key", CONDITION, "object['spec']['replcas'] > 1",
     "15 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"by in", CONDITION, "'replcas' in object.spec",
     "0 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"free members", CONDITION, "object.metadata.labels['a/b'] == 'x'", "", false},
    {"elements of lists", CONDITION, "object.spec.template.spec.containers.all(c, c.imag != '')",
     "45 \"spec.template.spec.containers\" has no field \"imag\"; did you mean \"image\"?\n",
     false},
    {"an element", CONDITION, "object.spec.template.spec.containers[0].imag != ''",
     "39 \"spec.template.spec.containers\" has no field \"imag\"; did you mean \"image\"?\n",
     false},
    {"a list has no fields", CONDITION, "object.spec.template.spec.containers.image != ''",
     "36 \"spec.template.spec.containers\" is a list and has no field \"image\"\n", false},
    {"through map and filter", CONDITION,
     "object.spec.template.spec.containers.filter(c, has(c.ports)).map(c, c.resources)"
     ".exists(r, has(r.limit))",
     "94 \"spec.template.spec.containers.resources\" has no field \"limit\"; did you mean "
     "\"limits\"?\n",
     false},
    {"a number and a string", CONDITION, "object.spec.replicas == '3'",
     "24 \"spec.replicas\" is a number and is compared with a string\n", false},
    {"quantities are either", CONDITION,
     "object.spec.template.spec.containers[0].resources.limits['cpu'] == 1", "", false},
    {"another kind has it", CONDITION, "object.spec.replicas > 1",
     "11 \"spec\" has no field \"replicas\" [apps/v1 DaemonSet]\n", true},
    {"neither kind has it", CONDITION, "object.spec.selectr == null",
     "11 \"spec\" has no field \"selectr\"; did you mean \"selector\"?\n", true},
    {"one kind knows what was meant", CONDITION, "object.spec.replcas > 1",
     "11 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", true},
    {"a loop's name hides", CONDITION, "[{'spec': 1}].all(object, object.nope == 1)", "", false},
    {"params", CONDITION, "params.dta.x == '1'",
     "6 the object has no field \"dta\"; did you mean \"data\"?\n", false},
    {"a variable is followed", VARIABLE, "object.spec.template.spec",
     "m 11 \"spec.template.spec\" has no field \"container\"; did you mean \"containers\"?\n",
     false},
    {"an object", APPLY, "Object{spec: Object.spec{replicas: 3}}", "", false},
    {"a field of an object", APPLY, "Object{spec: Object.spec{ replcas : 3}}",
     "26 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"a field behind characters of more than one byte", APPLY,
     "Object{metadata: Object.metadata{labels: {'a': 'äöü'}}, spec: Object.spec{replcas: 3}}",
     "74 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"fields of all depths", APPLY,
     "Object{spec: Object.spec{a: 1, template: Object.spec.template{b: 1}, c: 1}, d: 1}",
     "25 \"spec\" has no field \"a\"\n62 \"spec.template\" has no field \"b\"\n69 \"spec\" has no "
     "field \"c\"\n76 "
     "the object has no field \"d\"\n",
     false},
    {"a type's name", APPLY, "Object{spec: Object.metadata{}}",
     "28 Object.metadata{} stands where Object.spec{} belongs: type names are the path from "
     "Object\n",
     false},
    {"an atomic list", APPLY,
     "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{"
     "containers: [Object.spec.template.spec.containers{name: 'a', args: ['x']}]}}}}",
     "149 \"spec.template.spec.containers[name=\\\"a\\\"].args\" is atomic, which an "
     "ApplyConfiguration may not change: use a JSONPatch\n",
     false},
    {"an item without key", APPLY,
     "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{"
     "containers: [Object.spec.template.spec.containers{image: 'a'}]}}}}",
     "137 an item of \"spec.template.spec.containers\" lacks its key \"name\": it would be added "
     "as an item of its own\n",
     false},
    {"a string for a number", APPLY, "Object{spec: Object.spec{replicas: '3'}}",
     "35 \"spec.replicas\" is a number and cannot be a string\n", false},
    {"in both arms", APPLY, "object.metadata.name == 'a' ? Object{} : Object{nope: 1}",
     "48 the object has no field \"nope\"\n", false},
    {"in a loop", APPLY,
     "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{"
     "containers: object.spec.template.spec.containers.map(c, "
     "Object.spec.template.spec.containers{name: c.name, imag: 'x'})}}}}",
     "195 \"spec.template.spec.containers\" has no field \"imag\"; did you mean \"image\"?\n",
     false},
    {"labels", APPLY, "Object{metadata: Object.metadata{labels: {'a/b': 'c'}}}", "", false},
    {"a patch", PATCH, "[JSONPatch{op: 'add', path: '/spec/replicas', value: 3}]", "", false},
    {"a patch's path", PATCH, "[JSONPatch{op: 'add', path: '/spec/replcas', value: 3}]",
     "28 \"spec\" has no field \"replcas\"; did you mean \"replicas\"?\n", false},
    {"a patch's path with data", PATCH,
     "[JSONPatch{op: 'add', path: '/sepc/' + object.metadata.name, value: 3}]",
     "37 the object has no field \"sepc\"; did you mean \"spec\"?\n", false},
    {"an escaped key", PATCH,
     "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), value: 'x'}]",
     "48 \"metadata.labels\" may be absent, and add fails below what is absent: add the parent "
     "where "
     "has() is false, or use an ApplyConfiguration\n",
     false},
    {"a list by name", PATCH,
     "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/web/image', value: 'x'}]",
     "28 \"spec.template.spec.containers\" is a list: a path goes on with an index or \"-\", not "
     "\"web\"\n",
     false},
    {"a patch's value", PATCH, "[JSONPatch{op: 'add', path: '/spec/replicas', value: 'x'}]",
     "53 \"spec.replicas\" is a number and cannot be a string\n", false},
    {"an object in a patch", PATCH,
     "[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', "
     "value: Object.spec.template.spec.containers{nam: 'x'}}]",
     "28 each run adds an item to \"spec.template.spec.containers\": nothing tests whether the "
     "item is "
     "there\n108 \"spec.template.spec.containers[-]\" has no field \"nam\"; did you mean "
     "\"name\"?\n",
     false},
};

/* Values for a list of containers, L being the list that the object has and O an Object; whether
 * kube-apiserver 1.36.2 ended the connection. at is the place in value. Before an @ is what is
 * around the JSONPatch. */
static const struct {
    const char *name, *value;
    int at;     /* -1: it answered */
    bool empty; /* it ended where a list was empty */
} crash_rows[] = {
    {"added at the end", "L + [O]", -1, false},
    {"at the start", "[O] + L", -1, false},
    {"two lists", "[O] + [O]", -1, false},
    {"three lists", "L + [O] + [O]", -1, false},
    {"alone", "[O]", 0, false},
    {"to an empty list", "[] + [O]", 3, true},
    {"an empty list to it", "[O] + []", 4, true},
    {"to an absent list", "object.spec.?b.orValue([]) + [O]", 27, true},
    {"to a filtered list", "L.filter(c, c.a) + [O]", 17, true},
    {"to a new list", "L.map(c, c) + [O]", 12, true},
    {"objects to an object", "L.map(c, O) + [O]", 12, true},
    {"in one arm", "L.size() > 0 ? L + [O] : [O]", 25, false},
    {"made in a loop", "L.map(c, O)", 5, false},
    {"made by index", "L.transformList(i, c, O)", 15, false},
    {"a sum's elements", "(L + [O]).map(c, c)", 13, false},
    {"some of a sum", "(L + [O]).slice(0, 2)", 15, false},
    {"an object in a map", "{\"a\": O}", 0, false},
    {"a sum in a map", "{\"a\": L + [O]}", -1, false},
    {"lists of objects in a sum", "L + [dyn([O])]", 4, false},
    {"no objects", "L.filter(c, c.a) + [{\"name\": \"a\"}]", -1, false},
    {"an object", "O", -1, false},
    {"an object with a list of objects", "Object.a{b: [O]}", -1, false},
    {"how many", "[O].size()", -1, false},
    {"added to an optional list", "object.spec.?list.optMap(l, l + [O]).orValue([])", -1, false},
    {"alone in an optional", "object.spec.?list.optMap(l, [O]).orValue([])", 24, false},
    {"lists that become one", "[[O]].flatten()", 0, false},
    {"a list in a map", "{\"k\": [O]}[\"k\"]", 10, false},
    {"a list in a map by name", "{\"k\": [O]}.k", 10, false},
    {"a list in a map, optional", "{\"k\": [O]}[?\"k\"].value()", 10, false},
    {"a list in a map by name, optional", "{\"k\": [O]}.?k.value()", 10, false},
    {"a list of a list", "[[O]][0]", 5, false},
    {"a list of a list, first", "[[O]].first().value()", 11, false},
    {"a list of a loop around", "[[O]].map(v, @v", 14, false},
    {"a list of optMap around", "optional.of([O]).optMap(v, [@v", 29, false},
    {"an object of a list", "[O][0]", -1, false},
    {"an object of lists", "[[O]][0][0]", -1, false},
    {"an object of a map", "{\"k\": O}.k", -1, false},
    {"an object of a loop around", "[O].map(v, @v", -1, false},
    {"a key of a loop around", "{\"a\": [O]}.map(v, @v", -1, false},
    {"keys of a map", "{\"a\": [O]}.map(k, k)", -1, false},
    {"a field of an object", "Object.a{b: [O]}.b", -1, false},
    {"a sum in a map by name", "{\"k\": L + [O]}.k", -1, false},
    {"whether there is one", "has({\"k\": [O]}.k)", -1, false},
};

static void add_expression(yyjson_mut_doc *doc, yyjson_mut_val *spec, enum place place,
                           const char *text)
{
    yyjson_mut_val *v =
        yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, spec,
                                                           place == CONDITION  ? "matchConditions"
                                                           : place == VARIABLE ? "variables"
                                                                               : "mutations"));
    bool apply = place == APPLY;

    if (place == CONDITION || place == VARIABLE) {
        yyjson_mut_obj_add_str(doc, v, "name", "m");
        yyjson_mut_obj_add_str(doc, v, "expression", text);
        return;
    }
    yyjson_mut_obj_add_str(doc, v, "patchType", apply ? "ApplyConfiguration" : "JSONPatch");
    yyjson_mut_obj_add_str(
        doc, yyjson_mut_obj_add_obj(doc, v, apply ? "applyConfiguration" : "jsonPatch"),
        "expression", text);
}

static const struct ek_policy *make(enum place place, const char *text)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *spec;

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "admissionregistration.k8s.io/v1");
    yyjson_mut_obj_add_str(doc, root, "kind", "MutatingAdmissionPolicy");
    yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, root, "metadata"), "name", "p");
    spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    yyjson_mut_val *kind = yyjson_mut_obj_add_obj(doc, spec, "paramKind");
    yyjson_mut_obj_add_str(doc, kind, "apiVersion", "v1");
    yyjson_mut_obj_add_str(doc, kind, "kind", "ConfigMap");
    add_expression(doc, spec, place, text);
    if (place == VARIABLE)
        add_expression(doc, spec, APPLY, "variables.m.container.size() > 0 ? Object{} : Object{}");
    else if (place == CONDITION)
        add_expression(doc, spec, APPLY, "Object{}");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_mut(root);
    const struct ek_policy *policy = ek_policy_new(obj, 0);
    yyjson_mut_doc_free(doc);
    return policy;
}

START_TEST(expressions_are_checked)
{
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};
    const struct ek_policy *policy = make(rows[_i].place, rows[_i].text);
    struct ek_arena *arena = ek_arena_new(16 << 20);
    struct ek_type_findings found;
    char got[TEXT_MAX] = "";

    ck_assert_msg(ek_schema_builtin_open(36, &schema, &err) == 0, "%s", err.message);
    const struct ek_typecheck_kind kinds[] = {{deployment, schema}, {daemon_set, schema}};
    const struct ek_typecheck_kind params = {config_map, schema};
    ck_assert_int_eq(
        ek_typecheck_policy(policy, kinds, rows[_i].two ? 2 : 1, &params, arena, &found), 0);
    for (size_t i = 0; i < found.n; i++) {
        const struct ek_type_finding *f = &found.list[i];
        size_t n = strlen(got);
        bool of_mutation = strstr(f->field, "mutations") && rows[_i].place == VARIABLE;
        snprintf(got + n, sizeof got - n, "%s%u %s%s%s%s\n", of_mutation ? "m " : "", f->position,
                 f->message, f->all_kinds ? "" : " [", f->all_kinds ? "" : f->kinds,
                 f->all_kinds ? "" : "]");
    }
    ck_assert_msg(!strcmp(got, rows[_i].want), "%s: got\n%sinstead of\n%s", rows[_i].name, got,
                  rows[_i].want);
    ck_assert_uint_eq(found.n_kinds, rows[_i].two ? 2 : 1);
    ek_arena_free(arena);
    ek_policy_unref(policy);
    ek_schema_unref(schema);
}
END_TEST

static void put_expanded(const char *value, int n, struct ek_buf *out)
{
    for (int i = 0; value[i] && (n < 0 || i < n); i++)
        if ((value[i] == 'L' && value[i + 1] != 'i') || (value[i] == 'O' && value[i + 1] != 'b'))
            ek_buf_puts(out, value[i] == 'L' ? "object.spec.list" : "Object.a{}");
        else
            ek_buf_append(out, &value[i], 1);
}

START_TEST(values_that_crash_are_found)
{
    struct ek_arena *arena = ek_arena_new(16 << 20);
    struct ek_type_findings found;
    EK_AUTO(ek_buf) text;
    char got[160] = "none", want[160] = "none";
    const char *value = crash_rows[_i].value, *around = strchr(value, '@');
    int from = around ? (int)(around - value) + 1 : 0;

    ek_buf_init(&text, 4096);
    put_expanded(around ? value : "[", around ? from - 1 : 1, &text);
    ek_buf_puts(&text, "JSONPatch{op: \"add\", path: \"/a\", value: ");
    put_expanded(value + from, crash_rows[_i].at < 0 ? 0 : crash_rows[_i].at - from, &text);
    if (crash_rows[_i].at >= 0)
        snprintf(want, sizeof want, "%zu %s", text.len,
                 crash_rows[_i].empty ? "if one of the two" : "a list or map with");
    put_expanded(value + (crash_rows[_i].at < 0 ? from : crash_rows[_i].at), -1, &text);
    ek_buf_puts(&text, !around ? "}]" : around[-1] == '[' ? "}]).value()" : "})");
    const struct ek_policy *policy = make(PATCH, ek_buf_str(&text));
    ck_assert_msg(policy->mutations[0].expression.program != NULL, "%s: %s does not compile",
                  crash_rows[_i].name, ek_buf_str(&text));
    ck_assert_int_eq(ek_typecheck_policy(policy, NULL, 0, NULL, arena, &found), 0);
    for (size_t i = 0; i < found.n; i++)
        if (found.list[i].problem == EK_TYPE_CRASH)
            snprintf(got, sizeof got, "%u %.*s", found.list[i].position,
                     crash_rows[_i].empty ? 17 : 18, found.list[i].message);
    ck_assert_msg(!strcmp(got, want), "%s: got %s instead of %s", crash_rows[_i].name, got, want);
    ek_arena_free(arena);
    ek_policy_unref(policy);
}
END_TEST

/* All that was found, as text. */
static void show(const struct ek_type_findings *found, struct ek_buf *out)
{
    for (size_t i = 0; i < found->n; i++)
        ek_buf_printf(out, "%s %u %s [%s]\n", found->list[i].field, found->list[i].position,
                      found->list[i].message, found->list[i].kinds);
    for (size_t i = 0; i < found->n_writes; i++)
        ek_buf_printf(out, "%zu %s=%s\n", found->writes[i].mutation, found->writes[i].path,
                      found->writes[i].value ? found->writes[i].value : "?");
}

/* Each allocation fails in turn: it is said, or nothing is missing and nothing is made up. */
START_TEST(memory_may_end)
{
    struct ek_schema *schema = NULL;
    const struct ek_policy *policy = make(rows[_i].place, rows[_i].text);
    struct ek_type_findings found;
    EK_AUTO(ek_buf) want;
    bool met = true;

    ck_assert_int_eq(ek_schema_builtin_open(36, &schema, NULL), 0);
    const struct ek_typecheck_kind kinds[] = {{deployment, schema}, {daemon_set, schema}};
    const struct ek_typecheck_kind params = {config_map, schema};
    ek_buf_init(&want, EK_BUF_SMALL_MAX);
    for (long n = 0; met; n++) {
        struct ek_arena *arena = ek_arena_new(16 << 20);
        EK_AUTO(ek_buf) got;
        ek_buf_init(&got, EK_BUF_SMALL_MAX);
        ek_alloc_fail_after(n);
        int rc = ek_typecheck_policy(policy, kinds, 2, &params, arena, &found);
        met = n == 0 || !ek_alloc_unfailed();
        ek_alloc_fail_after(0);
        ck_assert_msg(rc == 0 || (n && (rc == EK_E_LIMIT || rc == EK_E_NOMEM)), "%s: %ld: %d",
                      rows[_i].name, n, rc);
        if (!rc)
            show(&found, n ? &got : &want);
        ck_assert_msg(rc || !n || !strcmp(ek_buf_str(&got), ek_buf_str(&want)),
                      "%s: allocation %ld failed, and it says\n%sinstead of\n%s", rows[_i].name, n,
                      ek_buf_str(&got), ek_buf_str(&want));
        ek_arena_free(arena);
    }
    ek_policy_unref(policy);
    ek_schema_unref(schema);
}
END_TEST

/* The same for an arena of any size. */
START_TEST(the_arena_may_end)
{
    struct ek_schema *schema = NULL;
    const struct ek_policy *policy = make(rows[_i].place, rows[_i].text);
    const struct ek_typecheck_kind params = {config_map, NULL};
    struct ek_type_findings found;
    int rc = EK_E_LIMIT;

    ck_assert_int_eq(ek_schema_builtin_open(36, &schema, NULL), 0);
    const struct ek_typecheck_kind kinds[] = {{deployment, schema}, {daemon_set, schema}};
    for (size_t limit = 4096; rc && limit < 1 << 20; limit += limit / 4) {
        struct ek_arena *arena = ek_arena_new(limit);
        rc = ek_typecheck_policy(policy, kinds, 2, &params, arena, &found);
        ck_assert_msg(rc == 0 || rc == EK_E_LIMIT, "%s: %zu: %d", rows[_i].name, limit, rc);
        ek_arena_free(arena);
    }
    ck_assert_int_eq(rc, 0);
    ek_policy_unref(policy);
    ek_schema_unref(schema);
}
END_TEST

/* Texts that make much of little: head, unit as often as it says, tail. */
static const struct {
    const char *name;
    enum place place;
    const char *head, *unit, *tail;
    size_t times;
} large_rows[] = {
    {"a deep pointer", PATCH, "[JSONPatch{op: 'add', path: '", "/a", "', value: 1}]", 45000},
    {"a pointer into free members", PATCH, "[JSONPatch{op: 'add', path: '/metadata/labels", "/a",
     "', value: 1}]", 45000},
    {"a pointer in pieces", PATCH, "[JSONPatch{op: 'add', path: '/metadata'",
     " + "
     "'/"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaa'",
     ", value: 1}]", 200},
    {"an escaped key", PATCH,
     "[JSONPatch{op: 'add', path: '/metadata/labels/' + "
     "jsonpatch.escapeKey('",
     "~/", "'), value: 1}]", 45000},
    {"a long member", CONDITION, "object.metadata.labels.a", "aaaaaaaaaa", " == ''", 9000},
    {"a long key", APPLY, "Object{metadata: Object.metadata{labels: {'", "aaaaaaaaaa", "': ''}}}",
     9000},
    {"many findings", PATCH, "[JSONPatch{}", ", JSONPatch{op: 'add', path: '/x' + '/y', value: 1}",
     "]", 1500},
    {"many names", CONDITION, "object.metadata.labels.size() > 0", " && object.metadata.a == 1", "",
     200},
};

/* A policy that is accepted must not end the process that checks it, nor fill its memory. */
START_TEST(what_is_large_is_bounded)
{
    struct ek_typecheck_kind kinds[EK_TYPECHECK_KINDS_MAX];
    struct ek_schema *schema = NULL;
    struct ek_type_findings found;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 1 << 20);
    ek_buf_puts(&text, large_rows[_i].head);
    for (size_t i = 0; i < large_rows[_i].times; i++)
        ek_buf_puts(&text, large_rows[_i].unit);
    ek_buf_puts(&text, large_rows[_i].tail);
    const struct ek_policy *policy = make(large_rows[_i].place, ek_buf_str(&text));
    ck_assert_msg(policy->n_problems == 0 || !strstr(policy->problems[0], "compilation"),
                  "%s: %.200s", large_rows[_i].name, policy->problems[0]);
    ck_assert_int_eq(ek_schema_builtin_open(36, &schema, NULL), 0);
    for (size_t i = 0; i < EK_TYPECHECK_KINDS_MAX; i++)
        kinds[i] = (struct ek_typecheck_kind){i % 2 ? deployment : daemon_set, schema};
    struct ek_arena *arena = ek_arena_new(16 << 20);
    int rc = ek_typecheck_policy(policy, kinds, EK_TYPECHECK_KINDS_MAX, NULL, arena, &found);
    ck_assert_msg(rc == 0, "%s: %d, %zu octets", large_rows[_i].name, rc, ek_arena_used(arena));
    ek_arena_free(arena);
    ek_policy_unref(policy);
    ek_schema_unref(schema);
}
END_TEST

static const struct {
    const char *name;
    enum place place;
    const char *text, *want; /* paths, in order, with their values */
} write_rows[] = {
    {"leaves", APPLY, "Object{metadata: Object.metadata{labels: {'a/b': 'c'}}}",
     "metadata.labels[\"a/b\"]=\"c\" "},
    {"computed", APPLY, "Object{spec: Object.spec{replicas: object.spec.replicas + 1}}",
     "spec.replicas=? "},
    {"removed", APPLY, "Object{spec: Object.spec{?replicas: optional.none()}}",
     "-spec.replicas=? "},
    {"operations", PATCH,
     "[JSONPatch{op: 'test', path: '/spec/replicas', value: 3}, JSONPatch{op: 'remove', path: "
     "'/metadata/labels/a~1b'}, JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', "
     "value: {}}]",
     "-metadata.labels[\"a/b\"]=? spec.template.spec.containers[-]=? "},
    {"as far as it is constant", PATCH,
     "[JSONPatch{op: 'add', path: '/metadata/labels/' + object.metadata.name, value: 'x'}]",
     "metadata.labels=\"x\" "},
};

START_TEST(writes_are_told)
{
    const struct ek_policy *policy = make(write_rows[_i].place, write_rows[_i].text);
    struct ek_arena *arena = ek_arena_new(16 << 20);
    struct ek_type_findings found;
    char got[TEXT_MAX] = "";

    ck_assert_int_eq(ek_typecheck_policy(policy, NULL, 0, NULL, arena, &found), 0);
    for (size_t i = 0; i < found.n_writes; i++) {
        size_t n = strlen(got);
        snprintf(got + n, sizeof got - n, "%s%s=%s ", found.writes[i].removes ? "-" : "",
                 found.writes[i].path, found.writes[i].value ? found.writes[i].value : "?");
    }
    ck_assert_msg(!strcmp(got, write_rows[_i].want), "%s: got %s instead of %s",
                  write_rows[_i].name, got, write_rows[_i].want);
    ck_assert_uint_eq(found.n + found.n_kinds, 0);
    ek_arena_free(arena);
    ek_policy_unref(policy);
}
END_TEST

START_TEST(little_memory_is_an_error)
{
    const struct ek_policy *policy = make(APPLY, rows[0].text);
    struct ek_arena *arena = ek_arena_new(16);
    struct ek_type_findings found;

    ck_assert_int_eq(ek_typecheck_policy(policy, NULL, 0, NULL, arena, &found), EK_E_LIMIT);
    ek_arena_free(arena);
    ek_policy_unref(policy);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("typecheck");
    tcase_add_loop_test(tc, values_that_crash_are_found, 0, EK_ARRAY_SIZE(crash_rows));
    tcase_add_loop_test(tc, expressions_are_checked, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, memory_may_end, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, what_is_large_is_bounded, 0, EK_ARRAY_SIZE(large_rows));
    tcase_add_loop_test(tc, the_arena_may_end, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, writes_are_told, 0, EK_ARRAY_SIZE(write_rows));
    tcase_add_test(tc, little_memory_is_an_error);
    return ek_test_run("typecheck", tc);
}
