/* SPDX-License-Identifier: Apache-2.0 */
/* The validation of custom resources against what a real API server answered. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "api/validation/validate.h"
#include "api/yaml.h"
#include "test/support/jsonlines.h"
#include "test/support/suite.h"

#define ARENA_MAX ((size_t)16 << 20)

/* A definition with one version v1, whose objects have that schema (JSON). */
static yyjson_doc *definition_of(const char *schema)
{
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"spec\":{\"group\":\"g.test\",\"names\":{\"kind\":\"Thing\",\"plural\":\"things\"},"
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":%s}}]}}",
        schema);
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);

    ck_assert_ptr_nonnull(doc);
    return doc;
}

/* The same for the schema of the spec. */
static yyjson_doc *definition(const char *spec)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("{\"type\":\"object\",\"properties\":{\"spec\":%s}}", spec);
    return definition_of(text);
}

static char *written(yyjson_val *value)
{
    return yyjson_val_write_opts(value, 0, &ek_json_xalc, NULL, NULL);
}

/* Validates a spec, as JSON. Texts of *ret live in the arena. */
static void validate_as(const char *schema, const char *spec, struct ek_arena *arena,
                        struct ek_work *work, bool hides, struct ek_validation *ret)
{
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"apiVersion\":\"g.test/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"},"
        "\"spec\":%s}",
        spec);
    yyjson_doc *crd = definition(schema), *object = ek_json_parse(text, strlen(text), NULL);
    struct ek_validator *validator = NULL;
    struct ek_err err = {0};

    ck_assert_ptr_nonnull(object);
    ck_assert_msg(!ek_validator_new(yyjson_doc_get_root(crd), "v1", &validator, &err), "%s",
                  err.message);
    ek_validate(validator, yyjson_doc_get_root(object), arena, work, hides, ret);
    ek_validator_free(validator);
    yyjson_doc_free(object);
    yyjson_doc_free(crd);
}

static void validate(const char *schema, const char *spec, struct ek_arena *arena,
                     struct ek_work *work, struct ek_validation *ret)
{
    validate_as(schema, spec, arena, work, false, ret);
}

static bool has(const struct ek_field_errors *errors, const char *text)
{
    for (size_t i = 0; i < errors->n; i++)
        if (!strcmp(errors->texts[i], text))
            return true;
    return false;
}

static void compare(const char *name, yyjson_val *recorded, const struct ek_field_errors *errors)
{
    yyjson_val *text;
    size_t i, n;
    EK_AUTO(ek_buf) all;

    ek_buf_init(&all, EK_BUF_SMALL_MAX);
    ek_field_errors_join(errors, &all);
    yyjson_arr_foreach(recorded, i, n, text)
    {
        ck_assert_msg(has(errors, yyjson_get_str(text)), "%s: missing: %s\nhere: %s", name,
                      yyjson_get_str(text), ek_buf_str(&all));
    }
    for (size_t k = 0; k < errors->n; k++) {
        bool found = false;
        yyjson_arr_foreach(recorded, i, n, text)
        {
            found |= !strcmp(yyjson_get_str(text), errors->texts[k]);
        }
        ck_assert_msg(found, "%s: not in the answer: %s", name, errors->texts[k]);
    }
}

static void check_object(void *ctx, size_t line, yyjson_val *row)
{
    const char *name = ek_json_text(row, "name");
    EK_AUTOFREE char *schema = written(yyjson_obj_get(row, "schema"));
    EK_AUTOFREE char *spec = written(yyjson_obj_get(row, "spec"));
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_validation v;

    (void)ctx, (void)line;
    validate(schema, spec, arena, NULL, &v);
    ck_assert_msg(!v.unknown, "%s: unknown: %s", name, v.unknown ? v.unknown : "");
    compare(name, yyjson_obj_get(row, "errors"), &v.as_created);
    ek_arena_free(arena);
}

START_TEST(objects_are_judged_as_by_an_api_server)
{
    ck_assert_uint_gt(jsonlines_read(EK_TEST_DATA "/validation/cases.jsonl", check_object, NULL),
                      150);
}
END_TEST

/* What OLM sees, which validates without defaults and rules; and what pruning drops. */
static const struct {
    const char *schema, *spec, *stored, *created, *dropped;
    size_t n_dropped;
} stored[] = {
    {"{type: object, properties: {a: {type: integer, default: 3}}, required: [a]}", "{}",
     "spec.a: Required value", "", NULL, 0},
    {"{type: object, properties: {a: {type: integer}}, "
     "x-kubernetes-validations: [{rule: self.a < 3, message: m}]}",
     "{\"a\": 5}", "", "spec: Invalid value: m", NULL, 0},
    {"{type: object, properties: {a: {type: integer, maximum: 3}}}", "{\"a\": 5}",
     "spec.a: Invalid value: 5: spec.a in body should be less than or equal to 3",
     "spec.a: Invalid value: 5: spec.a in body should be less than or equal to 3", NULL, 0},
    {"{type: object, properties: {a: {type: object, properties: {b: {type: string}}}}}",
     "{\"a\": {\"b\": \"x\", \"c\": 1}, \"d\": 2}", "", "", "spec.a.c", 2},
    {"{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: object}}}",
     "{\"a\": {\"c\": 1}, \"d\": 2}", "", "", "spec.a.c", 1},
    {"{type: object, additionalProperties: {type: array, items: {type: object}}}",
     "{\"x\": [{}, {\"y\": 1}]}", "", "", "spec[x][1].y", 1},
};

START_TEST(olm_judges_without_defaults_and_rules)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    yyjson_doc *yaml = NULL;
    ck_assert_int_eq(
        ek_yaml_parse(stored[_i].schema, strlen(stored[_i].schema), 1 << 20, &yaml, NULL), 0);
    EK_AUTOFREE char *schema = written(yyjson_doc_get_root(yaml));
    EK_AUTO(ek_buf) as_stored, as_created;
    struct ek_validation v;

    ek_buf_init(&as_stored, EK_BUF_SMALL_MAX);
    ek_buf_init(&as_created, EK_BUF_SMALL_MAX);
    validate(schema, stored[_i].spec, arena, NULL, &v);
    ck_assert_msg(!v.unknown, "%s", v.unknown);
    ek_field_errors_join(&v.as_stored, &as_stored);
    ek_field_errors_join(&v.as_created, &as_created);
    ck_assert_str_eq(ek_buf_str(&as_stored), stored[_i].stored);
    ck_assert_str_eq(ek_buf_str(&as_created), stored[_i].created);
    ck_assert_uint_eq(v.n_dropped, stored[_i].n_dropped);
    ck_assert_pstr_eq(v.dropped, stored[_i].dropped);
    yyjson_doc_free(yaml);
    ek_arena_free(arena);
}
END_TEST

/* Values that may be secret do not reach an error, whatever finds it. */
static const struct {
    const char *schema, *spec, *created;
} hidden[] = {
    {"{type: string, pattern: '^a$'}", "\"s3cret\"",
     "spec: Invalid value: <value>: spec in body should match '^a$'"},
    {"{type: string, minLength: 9}", "\"s3cret\"",
     "spec: Invalid value: <value>: spec in body should be at least 9 chars long"},
    {"{type: string, enum: [a]}", "\"s3cret\"",
     "spec: Unsupported value: <value>: supported values: \"a\""},
    {"{type: string, format: ipv4}", "\"s3cret\"",
     "spec: Invalid value: <value>: spec in body must be of type ipv4: <value>"},
    {"{type: integer, maximum: 3}", "77",
     "spec: Invalid value: <value>: spec in body should be less than or equal to 3"},
    {"{type: integer, multipleOf: 5}", "77",
     "spec: Invalid value: <value>: spec in body should be a multiple of 5"},
    {"{type: array, x-kubernetes-list-type: set, items: {type: string}}",
     "[\"s3cret\", \"s3cret\"]", "spec[1]: Duplicate value: <value>"},
    {"{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: "
     "object, properties: {k: {type: string}}}}",
     "[{\"k\": \"s3cret\"}, {\"k\": \"s3cret\"}]", "spec[1]: Duplicate value: <value>"},
    {"{type: string, x-kubernetes-validations: [{rule: self == 'a', messageExpression: self}]}",
     "\"s3cret\"", "spec: Invalid value: <value>: failed rule: self == 'a'"},
    {"{type: string, x-kubernetes-validations: [{rule: self == 'a', message: m, reason: "
     "FieldValueDuplicate}]}",
     "\"s3cret\"", "spec: Duplicate value: <value>"},
    {"{type: string, x-kubernetes-validations: [{rule: int(self) == 1}]}", "\"s3cret\"",
     "spec: Invalid value: \"string\": error evaluating rule: int(self) == 1"},
};

START_TEST(values_are_hidden)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    yyjson_doc *yaml = NULL;
    ck_assert_int_eq(
        ek_yaml_parse(hidden[_i].schema, strlen(hidden[_i].schema), 1 << 20, &yaml, NULL), 0);
    EK_AUTOFREE char *schema = written(yyjson_doc_get_root(yaml));
    EK_AUTO(ek_buf) as_created;
    struct ek_validation v;

    ek_buf_init(&as_created, EK_BUF_SMALL_MAX);
    validate_as(schema, hidden[_i].spec, arena, NULL, true, &v);
    ck_assert_msg(!v.unknown, "%s", v.unknown);
    ek_field_errors_join(&v.as_created, &as_created);
    ck_assert_str_eq(ek_buf_str(&as_created), hidden[_i].created);
    yyjson_doc_free(yaml);
    ek_arena_free(arena);
}
END_TEST

/* An alternative of which not all is evaluated refuses nothing. */
static const char *const unsure[] = {
    "{\"not\":{\"type\":\"string\",\"format\":\"isbn\"}}",
    "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"string\",\"format\":\"isbn\"}]}",
    "{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\",\"format\":\"isbn\"}]}",
};

START_TEST(what_is_not_evaluated_refuses_nothing)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_validation v;

    validate(unsure[_i], "\"x\"", arena, NULL, &v);
    ck_assert_pstr_eq(v.unknown, "spec: the format isbn is not evaluated");
    ck_assert_uint_eq(v.as_stored.n, 0);
    ck_assert_uint_eq(v.as_created.n, 0);
    ek_arena_free(arena);
}
END_TEST

static bool is_over(void *arg)
{
    const struct ek_work *work = arg;
    return work->steps > 10000;
}

/* A schema whose alternatives multiply is given up, and says so. */
START_TEST(work_is_bounded)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_work work = {.is_over = is_over};
    EK_AUTO(ek_buf) schema, tail;
    struct ek_validation v;

    work.arg = &work;
    ek_buf_init(&schema, 1 << 20);
    ek_buf_init(&tail, 1 << 20);
    for (int i = 0; i < 20; i++)
        ek_buf_puts(&schema, "{\"allOf\":[");
    ek_buf_puts(&schema, "{\"type\":\"integer\"}");
    for (int i = 0; i < 20; i++)
        ek_buf_puts(&schema, "]}");
    EK_AUTOFREE char *twice = ek_xasprintf("{\"type\":\"array\",\"items\":{\"anyOf\":[%s,%s]}}",
                                           ek_buf_str(&schema), ek_buf_str(&schema));
    ek_buf_puts(&tail, "[1");
    for (int i = 0; i < 5000; i++)
        ek_buf_puts(&tail, ",\"x\"");
    ek_buf_puts(&tail, "]");
    validate(twice, ek_buf_str(&tail), arena, &work, &v);
    ck_assert_pstr_eq(v.unknown, "the object takes too long to validate");
    ek_arena_free(arena);
}
END_TEST

/* An object, before or after an update. */
static yyjson_doc *object_of(yyjson_val *row, const char *spec, size_t status)
{
    EK_AUTOFREE char *text = written(yyjson_obj_get(row, spec));
    yyjson_val *is = yyjson_arr_get(yyjson_obj_get(row, "status"), status);
    EK_AUTOFREE char *more = is ? written(is) : NULL;
    EK_AUTOFREE char *all = ek_xasprintf(
        "{\"apiVersion\":\"g.test/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"},"
        "\"spec\":%s%s%s}",
        text, more ? ",\"status\":" : "", more ? more : "");
    yyjson_doc *doc = ek_json_parse(all, strlen(all), NULL);

    ck_assert_ptr_nonnull(doc);
    return doc;
}

static void check_update(void *ctx, size_t line, yyjson_val *row)
{
    const char *name = ek_json_text(row, "name"), *unknown;
    EK_AUTOFREE char *schema = written(yyjson_obj_get(row, "schema"));
    yyjson_doc *crd = definition_of(schema);
    yyjson_doc *old = object_of(row, "old", 0), *new = object_of(row, "new", 1);
    const struct ek_custom_write write = {.object = yyjson_doc_get_root(new),
                                          .old = yyjson_doc_get_root(old),
                                          .is_status = yyjson_obj_get(row, "status") != NULL};
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_validator *validator = NULL;
    struct ek_field_errors errors;
    struct ek_err err = {0};
    EK_AUTO(ek_buf) all;

    (void)ctx, (void)line;
    ek_buf_init(&all, EK_BUF_SMALL_MAX);
    ck_assert_msg(!ek_validator_new(yyjson_doc_get_root(crd), "v1", &validator, &err), "%s",
                  err.message);
    ek_validate_write(validator, &write, arena, NULL, &errors, &unknown);
    if (errors.n)
        ek_field_errors_join(&errors, &all);
    ck_assert_msg(!strcmp(ek_buf_str(&all), ek_json_text(row, "refusal")), "%s: %s", name,
                  ek_buf_str(&all));
    ck_assert_msg(!unknown, "%s: %s", name, unknown ? unknown : "");
    ek_validator_free(validator);
    ek_arena_free(arena);
    yyjson_doc_free(new);
    yyjson_doc_free(old);
    yyjson_doc_free(crd);
}

START_TEST(updates_are_judged_as_by_an_api_server)
{
    ck_assert_uint_ge(jsonlines_read(EK_TEST_DATA "/validation/updates.jsonl", check_update, NULL),
                      50);
}
END_TEST

/* Sets and maps in rules: what the order of their items means. */
#define SET(type) "{\"type\":\"array\",\"items\":{" type "},\"x-kubernetes-list-type\":\"set\"}"
#define MAP(key, type)                                                                             \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"" key "\":{" type        \
    "},\"v\":{\"type\":\"integer\"},\"s\":" SET(                                                   \
        "\"type\":\"string\"") "}},"                                                               \
                               "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-"       \
                               "keys\":[\"" key "\"]}"
#define STRINGS SET("\"type\":\"string\"")
#define NAMED   MAP("k", "\"type\":\"string\"")

static const struct {
    const char *name, *list, *rule, *a, *b;
    bool good, is_unknown;
} compared[] = {
    {"a set", STRINGS, "self.a == self.b", "[\"x\",\"y\"]", "[\"y\",\"x\"]", true, false},
    {"another set", STRINGS, "self.a == self.b", "[\"x\",\"y\"]", "[\"y\",\"z\"]", false, false},
    {"a longer set", STRINGS, "self.a == self.b", "[\"x\"]", "[\"x\",\"z\"]", false, false},
    {"the reverse", STRINGS, "self.a != self.b", "[\"x\",\"y\"]", "[\"y\",\"x\"]", false, false},
    {"empty sets", STRINGS, "self.a == self.b", "[]", "[]", true, false},
    {"a set and a literal", STRINGS, "self.a == [\"y\",\"x\"]", "[\"x\",\"y\"]", "[]", true, false},
    {"a literal and a set", STRINGS, "[\"y\",\"x\"] == self.a", "[\"x\",\"y\"]", "[]", false,
     false},
    {"a filtered set", STRINGS, "self.a.filter(i, true) == self.b", "[\"x\",\"y\"]",
     "[\"y\",\"x\"]", false, false},
    {"with a filtered set", STRINGS, "self.b == self.a.filter(i, true)", "[\"x\",\"y\"]",
     "[\"y\",\"x\"]", true, false},
    {"a set of integers", SET("\"type\":\"integer\""), "self.a == self.b", "[1,2,3]", "[3,1,2]",
     true, false},
    {"a set of numbers", SET("\"type\":\"number\""), "self.a == self.b", "[1,2]", "[1,2]", true,
     true},
    {"a set of times", SET("\"type\":\"string\",\"format\":\"date\""), "self.a == self.b",
     "[\"2020-01-01\"]", "[\"2020-01-01\"]", true, true},
    {"a sum", STRINGS, "self.a + self.b == self.a", "[\"x\"]", "[\"x\"]", true, true},
    {"a map", NAMED, "self.a == self.b", "[{\"k\":\"x\",\"v\":1},{\"k\":\"y\"}]",
     "[{\"k\":\"y\"},{\"v\":1,\"k\":\"x\"}]", true, false},
    {"a map with another value", NAMED, "self.a == self.b", "[{\"k\":\"x\",\"v\":1},{\"k\":\"y\"}]",
     "[{\"k\":\"y\"},{\"k\":\"x\",\"v\":2}]", false, false},
    {"a map with another key", NAMED, "self.a == self.b", "[{\"k\":\"x\"},{\"k\":\"y\"}]",
     "[{\"k\":\"y\"},{\"k\":\"z\"}]", false, false},
    {"a map without a key", NAMED, "self.a == self.b", "[{\"k\":\"x\"},{\"v\":1}]",
     "[{\"v\":1},{\"k\":\"x\"}]", true, false},
    {"a filtered map", NAMED, "self.b == self.a.filter(i, true)", "[{\"k\":\"x\"},{\"k\":\"y\"}]",
     "[{\"k\":\"y\"},{\"k\":\"x\"}]", true, false},
    {"a set in a map", NAMED, "self.a == self.b", "[{\"k\":\"x\",\"s\":[\"1\",\"2\"]}]",
     "[{\"k\":\"x\",\"s\":[\"2\",\"1\"]}]", true, false},
    {"a map whose key has another name in rules", MAP("namespace", "\"type\":\"string\""),
     "self.a == self.b", "[]", "[]", true, true},
    {"in other values", STRINGS, "{\"x\": self.a} == {\"x\": self.b}", "[\"x\",\"y\"]",
     "[\"y\",\"x\"]", true, false},
    {"a list in order", "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "self.a == self.b",
     "[\"x\",\"y\"]", "[\"y\",\"x\"]", false, false},
};

START_TEST(sets_and_maps_are_compared_without_order)
{
    EK_AUTOFREE char *schema = ek_xasprintf(
        "{\"type\":\"object\",\"properties\":{\"a\":%s,\"b\":%s},\"x-kubernetes-validations\":["
        "{\"rule\":\"RULE\",\"message\":\"no\"}]}",
        compared[_i].list, compared[_i].list);
    EK_AUTOFREE char *spec = ek_xasprintf("{\"a\":%s,\"b\":%s}", compared[_i].a, compared[_i].b);
    EK_AUTO(ek_buf) text = {0};
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_validation v;

    /* The rule, with its quotes escaped. */
    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    char *at = strstr(schema, "RULE");
    ek_buf_append(&text, schema, (size_t)(at - schema));
    for (const char *c = compared[_i].rule; *c; c++)
        ek_buf_printf(&text, *c == '"' ? "\\%c" : "%c", *c);
    ek_buf_puts(&text, at + 4);
    validate(ek_buf_str(&text), spec, arena, NULL, &v);
    ck_assert_msg(compared[_i].is_unknown == (v.unknown != NULL), "%s: %s", compared[_i].name,
                  v.unknown ? v.unknown : "known");
    ck_assert_msg(v.as_created.n == !compared[_i].good, "%s: %zu errors: %s", compared[_i].name,
                  v.as_created.n, v.as_created.n ? v.as_created.texts[0] : "");
    ek_arena_free(arena);
}
END_TEST

/* Two sets of many items in the opposite order are compared in time. */
START_TEST(large_sets_are_compared)
{
    EK_AUTO(ek_buf) spec = {0};
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_validation v;

    ek_buf_init(&spec, 1 << 20);
    ek_buf_puts(&spec, "{\"a\":[");
    for (unsigned i = 0; i < 20000; i++)
        ek_buf_printf(&spec, "%s%u", i ? "," : "", i);
    ek_buf_puts(&spec, "],\"b\":[");
    for (unsigned i = 20000; i > 0; i--)
        ek_buf_printf(&spec, "%u%s", i - 1, i > 1 ? "," : "");
    ek_buf_puts(&spec, "]}");
    validate(
        "{\"type\":\"object\",\"properties\":{\"a\":" SET("\"type\":\"integer\"") ",\"b\":" SET(
            "\"type\":\"integer\"") "},\"x-kubernetes-validations\":[{\"rule\":"
                                    "\"self.a == self.b\"}]}",
        ek_buf_str(&spec), arena, NULL, &v);
    ck_assert_ptr_null(v.unknown);
    ck_assert_uint_eq(v.as_created.n, 0);
    ek_arena_free(arena);
}
END_TEST

/* What the scale subresource reads, and numbers that are no integers. */
static const struct {
    const char *spec, *status;
    bool is_status;
    const char *want;
} scales[] = {
    {"{\"size\":3}", "{\"n\":3,\"labels\":\"a=b\"}", false, ""},
    {"{}", "{}", false, ""},
    {"{\"size\":3.5}", "{}", false,
     "[spec.size: Invalid value: \"number\": spec.size in body must be of type integer: "
     "\"number\", "
     "<nil>: Invalid value: \"\": Checked value must be of type integer (default format) in "
     "spec.size, .spec.size: Invalid value: 0: .spec.size accessor error: 3.5 is of the type "
     "float64, expected int64, <nil>: Invalid value: null: some validation rules were not checked "
     "because the object was invalid; correct the existing errors to complete validation]"},
    {"{\"size\":3.0}", "{}", false,
     "[.spec.size: Invalid value: 0: .spec.size accessor error: 3 is of the type float64, expected "
     "int64, spec: Invalid value: \"object\": invalid data, expected int, got float64 evaluating "
     "rule: !has(self.size) || self.size < 100]"},
    {"{\"port\":3.0}", "{}", false,
     "spec: Invalid value: \"object\": invalid data, expected XIntOrString value to be either a "
     "string or integer evaluating rule: !has(self.port) || self.port != 7"},
    {"{\"share\":3.0}", "{}", false, ""},
    {"{\"size\":-1}", "{}", false,
     ".spec.size: Invalid value: -1: should be a non-negative integer"},
    {"{\"size\":2147483648}", "{}", false,
     "[.spec.size: Invalid value: 2147483648: should be less than or equal to 2147483647, spec: "
     "Invalid value: failed rule: !has(self.size) || self.size < 100]"},
    {"{\"size\":-1}", "{\"n\":-2}", true,
     ".status.n: Invalid value: -2: should be a non-negative integer"},
    {"{}", "{\"labels\":7}", false,
     ".status.labels: Invalid value: \"\": .status.labels accessor error: 7 is of the type int64, "
     "expected string"},
    {"{}", "\"none\"", false,
     "[.status.n: Invalid value: 0: .status.n accessor error: none is of the type string, expected "
     "map[string]interface{}, .status.labels: Invalid value: \"\": .status.labels accessor error: "
     "none is of the type string, expected map[string]interface{}]"},
};

START_TEST(what_the_scale_reads_is_of_its_type)
{
    static const char crd_text[] =
        "{\"spec\":{\"group\":\"g.test\",\"names\":{\"kind\":\"Thing\",\"plural\":\"things\"},"
        "\"versions\":[{\"name\":\"v1\",\"subresources\":{\"status\":{},\"scale\":{"
        "\"specReplicasPath\":\".spec.size\",\"statusReplicasPath\":\".status.n\","
        "\"labelSelectorPath\":\".status.labels\"}},\"schema\":{\"openAPIV3Schema\":{\"type\":"
        "\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{\"size\":{"
        "\"type\":"
        "\"integer\"},\"share\":{\"type\":\"number\"},\"port\":{\"x-kubernetes-int-or-string\":"
        "true}},"
        "\"x-kubernetes-validations\":[{\"rule\":\"!has(self.size) || self.size < 100\"},{\"rule\":"
        "\"!has(self.port) || self.port != 7\"},{\"rule\":\"!has(self.share) || self.share < "
        "7.0\"}]},"
        "\"status\":{\"x-kubernetes-preserve-unknown-fields\":true}}}}}]}}";
    const char *spec = scales[_i].spec, *status = scales[_i].status, *unknown;
    EK_AUTOFREE char *text = ek_xasprintf(
        "{\"apiVersion\":\"g.test/v1\",\"kind\":\"Thing\",\"metadata\":{\"name\":\"a\"},"
        "\"spec\":%s,\"status\":%s}",
        spec, status);
    yyjson_doc *crd = ek_json_parse(crd_text, strlen(crd_text), NULL);
    yyjson_doc *object = ek_json_parse(text, strlen(text), NULL);
    const struct ek_custom_write write = {.object = yyjson_doc_get_root(object),
                                          .is_status = scales[_i].is_status};
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_validator *validator = NULL;
    struct ek_field_errors errors;
    EK_AUTO(ek_buf) all;

    ek_buf_init(&all, EK_BUF_SMALL_MAX);
    ck_assert(!ek_validator_new(yyjson_doc_get_root(crd), "v1", &validator, NULL));
    ek_validate_write(validator, &write, arena, NULL, &errors, &unknown);
    if (errors.n)
        ek_field_errors_join(&errors, &all);
    ck_assert_msg(!strcmp(ek_buf_str(&all), scales[_i].want), "%s %s: %s", spec, status,
                  ek_buf_str(&all));
    ck_assert_ptr_null(unknown);
    ek_validator_free(validator);
    ek_arena_free(arena);
    yyjson_doc_free(object);
    yyjson_doc_free(crd);
}
END_TEST

/* Of a list, "head", n times the item with its number, "tail". */
static char *long_list(const char *head, unsigned n, const char *item, const char *tail)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, 1 << 20);
    ek_buf_puts(&text, head);
    for (unsigned i = 0; i < n; i++)
        ek_buf_printf(&text, "%s%s%u", i ? "," : "", item, i);
    ek_buf_puts(&text, tail);
    return ek_xstrdup(ek_buf_str(&text));
}

/* What is found after the end of the work, as two items that are not told apart any more, refuses
 * nothing. */
START_TEST(what_is_found_too_late_refuses_nothing)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_work work = {.is_over = is_over};
    EK_AUTOFREE char *spec = long_list("[", 3000, "", "]");
    struct ek_validation v;

    work.arg = &work;
    validate("{\"type\":\"array\",\"uniqueItems\":true,\"items\":{\"type\":\"integer\"}}", spec,
             arena, &work, &v);
    ck_assert_pstr_eq(v.unknown, "the object takes too long to validate");
    ck_assert_uint_eq(v.as_stored.n + v.as_created.n, 0);
    ek_arena_free(arena);
}
END_TEST

/* Neither an ISBN nor none: each item has a reason why it is not decided, and memory is for the
 * first. */
START_TEST(reasons_are_bounded)
{
    struct ek_arena *arena = ek_arena_new((size_t)64 << 10);
    EK_AUTO(ek_buf) spec;
    struct ek_validation v;

    ek_buf_init(&spec, 1 << 20);
    ek_buf_puts(&spec, "[\"00\"");
    for (int i = 0; i < 5000; i++)
        ek_buf_puts(&spec, ",\"00\"");
    ek_buf_puts(&spec, "]");
    validate("{\"type\":\"array\",\"items\":{\"oneOf\":[{\"format\":\"isbn10\"},{\"format\":"
             "\"isbn13\"}]}}",
             ek_buf_str(&spec), arena, NULL, &v);
    ck_assert_ptr_nonnull(v.unknown);
    ck_assert_uint_eq(v.as_stored.n + v.as_created.n, 0);
    ek_arena_free(arena);
}
END_TEST

/* A key of 60 kB stands in the path of each of 20,000 values: only errors that are kept have the
 * text of their path. */
static const struct {
    const char *items;
    bool is_refused;
} below_long_keys[] = {
    {"{\"type\":\"integer\",\"minimum\":0}", false},
    {"{\"type\":\"integer\",\"enum\":[-1]}", true},
    {"{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}", false},
    {"{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self >= 0\"}]}", false},
    {"{\"type\":\"integer\",\"x-kubernetes-validations\":[{\"rule\":\"self < 0\"}]}", true},
};

START_TEST(paths_are_made_for_errors_that_are_kept)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    EK_AUTOFREE char *key = ek_xalloc(60001);
    struct ek_validation v;

    memset(key, 'k', 60000);
    EK_AUTOFREE char *head = ek_xasprintf("{\"%s\":[", key);
    EK_AUTOFREE char *spec = long_list(head, 20000, "", "]}");
    EK_AUTOFREE char *schema = ek_xasprintf("{\"type\":\"object\",\"additionalProperties\":{"
                                            "\"type\":\"array\",\"items\":%s}}",
                                            below_long_keys[_i].items);
    validate(schema, spec, arena, NULL, &v);
    ck_assert(!v.unknown || below_long_keys[_i].is_refused);
    ck_assert(below_long_keys[_i].is_refused == (v.as_created.n > 0));
    ek_arena_free(arena);
}
END_TEST

static const struct {
    const char *version, *schema;
    int rc;
} bad[] = {
    {"v2", "{\"type\":\"object\"}", EK_E_NOENT},
    {"v1", "{\"$ref\":\"#/x\"}", 0},
};

START_TEST(a_version_that_is_absent_is_an_error)
{
    yyjson_doc *crd = definition(bad[_i].schema);
    struct ek_validator *validator = NULL;
    struct ek_err err = {0};

    int rc = ek_validator_new(yyjson_doc_get_root(crd), bad[_i].version, &validator, &err);
    ck_assert_int_eq(rc, bad[_i].rc);
    ck_assert(!rc == (validator != NULL));
    ek_validator_free(validator);
    yyjson_doc_free(crd);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("validate");

    tcase_add_test(tcase, objects_are_judged_as_by_an_api_server);
    tcase_add_test(tcase, updates_are_judged_as_by_an_api_server);
    tcase_add_loop_test(tcase, sets_and_maps_are_compared_without_order, 0,
                        EK_ARRAY_SIZE(compared));
    tcase_add_test(tcase, large_sets_are_compared);
    tcase_add_loop_test(tcase, what_the_scale_reads_is_of_its_type, 0, EK_ARRAY_SIZE(scales));
    tcase_add_loop_test(tcase, olm_judges_without_defaults_and_rules, 0, EK_ARRAY_SIZE(stored));
    tcase_add_loop_test(tcase, values_are_hidden, 0, EK_ARRAY_SIZE(hidden));
    tcase_add_loop_test(tcase, what_is_not_evaluated_refuses_nothing, 0, EK_ARRAY_SIZE(unsure));
    tcase_add_test(tcase, work_is_bounded);
    tcase_add_test(tcase, what_is_found_too_late_refuses_nothing);
    tcase_add_test(tcase, reasons_are_bounded);
    tcase_add_loop_test(tcase, paths_are_made_for_errors_that_are_kept, 0,
                        EK_ARRAY_SIZE(below_long_keys));
    tcase_add_loop_test(tcase, a_version_that_is_absent_is_an_error, 0, EK_ARRAY_SIZE(bad));
    return ek_test_run("validate", tcase);
}
