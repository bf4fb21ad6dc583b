/* SPDX-License-Identifier: Apache-2.0 */
#include "api/schema/merge.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/support/deep.h"
#include "test/support/jsonlines.h"
#include "test/support/suite.h"

/* The kind that most rows are about. */
static const char document[] =
    "{\"components\":{\"schemas\":{\"K\":{\"type\":\"object\",\"x-kubernetes-group-version-kind\":["
    "{"
    "\"group\":\"g\",\"version\":\"v1\",\"kind\":\"K\"}],\"properties\":{"
    "\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},"
    "\"t\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"labels\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"o\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"},\"y\":{\"type\":"
    "\"string\"},\"o\":{\"$ref\":\"#/components/schemas/K\"}}},"
    "\"set\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}"
    "},"
    "\"nums\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
    "\"number\"}},"
    "\"list\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-"
    "keys\":["
    "\"k\"],\"items\":{\"type\":\"object\",\"properties\":{\"k\":{\"type\":\"string\"},\"v\":{"
    "\"type\":\"integer\"},\"a\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"set\":{"
    "\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":\"string\"}}}}},"
    "\"ports\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"port\",\"proto\"],\"items\":{\"type\":\"object\","
    "\"properties\":{\"port\":{\"type\":\"integer\"},\"proto\":{\"type\":\"string\",\"default\":"
    "\"TCP\"},\"name\":{\"type\":\"string\"}}}},"
    "\"atom\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},"
    "\"frozen\":{\"type\":\"object\",\"x-kubernetes-map-type\":\"atomic\",\"properties\":{\"a\":{"
    "\"type\":\"string\"},\"b\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}},"
    "\"byName\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"object\","
    "\"x-kubernetes-map-type\":\"atomic\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{"
    "\"type\":\"string\"}}}},"
    "\"any\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"
    "\"raw\":{\"x-kubernetes-preserve-unknown-fields\":true}}}}}}";

#define TYPED   "failed to convert patch object to typed object: "
#define INVALID "invalid ApplyConfiguration: "
#define ATOMIC  INVALID "may not mutate atomic arrays, maps or structs: "

static struct ek_schema *schema;
static uint32_t type;

static void setup(void)
{
    yyjson_doc *doc = ek_json_parse(document, sizeof document - 1, NULL);

    ck_assert_int_eq(ek_schema_compile(yyjson_doc_get_root(doc), &schema, NULL), 0);
    ck_assert_int_eq(ek_schema_find_kind(schema, "g", "v1", "K", &type, NULL), 0);
    yyjson_doc_free(doc);
}

static void teardown(void)
{
    ek_schema_unref(schema);
}

static yyjson_mut_val *read_value(yyjson_mut_doc *doc, const char *json)
{
    yyjson_doc *read = ek_json_parse(json, strlen(json), NULL);
    yyjson_mut_val *value = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));

    ck_assert_msg(value != NULL, "%s", json);
    yyjson_doc_free(read);
    return value;
}

/* Rows of results: want is the merged object. Order of items and members counts. */
static const struct {
    const char *name, *live, *patch, *want;
} merges[] = {
    {"scalar wins", "{\"s\":\"a\",\"n\":1}", "{\"s\":\"b\"}", "{\"s\":\"b\",\"n\":1}"},
    {"members are added at the end", "{\"n\":1}", "{\"s\":\"b\",\"b\":true}",
     "{\"n\":1,\"s\":\"b\",\"b\":true}"},
    {"nothing", "{\"n\":1}", "{}", "{\"n\":1}"},
    {"free map", "{\"labels\":{\"a\":\"1\"}}", "{\"labels\":{\"b\":\"2\",\"a\":\"3\"}}",
     "{\"labels\":{\"a\":\"3\",\"b\":\"2\"}}"},
    {"struct, nested", "{\"o\":{\"x\":\"1\",\"o\":{\"s\":\"a\"}}}", "{\"o\":{\"o\":{\"n\":2}}}",
     "{\"o\":{\"x\":\"1\",\"o\":{\"s\":\"a\",\"n\":2}}}"},
    {"null is a value of a scalar", "{\"n\":5}", "{\"n\":null}", "{\"n\":null}"},
    {"null in a free map", "{\"labels\":{\"a\":\"1\"}}", "{\"labels\":{\"a\":null}}",
     "{\"labels\":{\"a\":null}}"},
    {"null, {} and [] leave what has members",
     "{\"labels\":{\"a\":\"1\"},\"o\":{\"x\":\"1\"},\"set\":[\"a\"],\"list\":[{\"k\":\"a\"}]}",
     "{\"labels\":null,\"o\":{},\"set\":[],\"list\":null}",
     "{\"labels\":{\"a\":\"1\"},\"o\":{\"x\":\"1\"},\"set\":[\"a\"],\"list\":[{\"k\":\"a\"}]}"},
    {"among empty ones the patch's wins", "{\"labels\":{},\"o\":null,\"set\":[]}",
     "{\"labels\":null,\"o\":{},\"set\":null}", "{\"labels\":null,\"o\":{},\"set\":null}"},
    {"empty where there is nothing", "{}", "{\"labels\":{},\"set\":[],\"list\":null}",
     "{\"labels\":{},\"set\":[],\"list\":null}"},
    {"set: union", "{\"set\":[\"a\",\"b\"]}", "{\"set\":[\"c\",\"b\"]}",
     "{\"set\":[\"a\",\"c\",\"b\"]}"},
    {"set: the patch's order", "{\"set\":[\"x\",\"y\"]}", "{\"set\":[\"z\",\"x\"]}",
     "{\"set\":[\"z\",\"x\",\"y\"]}"},
    {"set: numbers by value", "{\"nums\":[1,2.5]}", "{\"nums\":[2.5,1.0]}", "{\"nums\":[2.5,1.0]}"},
    {"keys: merged and added", "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"b\"}]}",
     "{\"list\":[{\"k\":\"b\",\"v\":2},{\"k\":\"c\"}]}",
     "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"b\",\"v\":2},{\"k\":\"c\"}]}"},
    {"keys: a new one behind", "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\"}]}",
     "{\"list\":[{\"k\":\"c\"}]}", "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\"},{\"k\":\"c\"}]}"},
    {"keys: a new one before a shared one", "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\"}]}",
     "{\"list\":[{\"k\":\"c\"},{\"k\":\"a\"}]}",
     "{\"list\":[{\"k\":\"c\"},{\"k\":\"a\"},{\"k\":\"b\"}]}"},
    {"keys: turned round", "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\"}]}",
     "{\"list\":[{\"k\":\"b\"},{\"k\":\"a\"}]}", "{\"list\":[{\"k\":\"b\"},{\"k\":\"a\"}]}"},
    {"keys: live-only ones stay near",
     "{\"list\":[{\"k\":\"a\"},{\"k\":\"x\"},{\"k\":\"b\"},{\"k\":\"y\"},{\"k\":\"c\"}]}",
     "{\"list\":[{\"k\":\"c\"},{\"k\":\"a\"}]}",
     "{\"list\":[{\"k\":\"x\"},{\"k\":\"b\"},{\"k\":\"y\"},{\"k\":\"c\"},{\"k\":\"a\"}]}"},
    {"keys: twice in live, not named, both stay",
     "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"a\",\"v\":2}]}", "{\"list\":[{\"k\":\"b\"}]}",
     "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"a\",\"v\":2},{\"k\":\"b\"}]}"},
    {"keys: twice in live, named, become the patch's",
     "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"b\"},{\"k\":\"a\",\"set\":[\"x\"]}]}",
     "{\"list\":[{\"k\":\"a\"}]}", "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\"}]}"},
    {"keys: default of one that is absent",
     "{\"ports\":[{\"port\":80,\"proto\":\"TCP\"},{\"port\":80,"
     "\"proto\":\"UDP\"}]}",
     "{\"ports\":[{\"port\":80,\"name\":\"http\"}]}",
     "{\"ports\":[{\"port\":80,\"proto\":\"TCP\",\"name\":\"http\"},{\"port\":80,\"proto\":\"UDP\"}"
     "]}"},
    {"keys: the default alone is a key", "{\"ports\":[{\"proto\":\"TCP\"}]}",
     "{\"ports\":[{\"name\":\"x\"}]}", "{\"ports\":[{\"proto\":\"TCP\",\"name\":\"x\"}]}"},
    {"lists within items", "{\"list\":[{\"k\":\"a\",\"set\":[\"x\"]}]}",
     "{\"list\":[{\"k\":\"a\",\"set\":[\"y\"]}]}",
     "{\"list\":[{\"k\":\"a\",\"set\":[\"x\",\"y\"]}]}"},
    {"atomic struct in a free map is replaced", "{\"byName\":{\"p\":{\"a\":\"1\",\"b\":\"2\"}}}",
     "{\"byName\":{\"p\":{\"a\":\"3\"}}}", "{\"byName\":{\"p\":{\"a\":\"3\"}}}"},
    {"without a schema: maps merge, lists are replaced",
     "{\"any\":{\"m\":{\"a\":1},\"l\":[1,2],\"s\":1}}",
     "{\"any\":{\"m\":{\"b\":2},\"l\":[3],\"s\":{\"x\":1}}}",
     "{\"any\":{\"m\":{\"a\":1,\"b\":2},\"l\":[3],\"s\":{\"x\":1}}}"},
    {"without a schema: null for a list, for a map",
     "{\"any\":{\"l\":[1],\"m\":{\"a\":1},\"s\":1}}",
     "{\"any\":{\"l\":null,\"m\":null,\"s\":null}}",
     "{\"any\":{\"l\":null,\"m\":{\"a\":1},\"s\":null}}"},
    {"scalar for a map without a schema", "{\"raw\":{\"a\":1}}", "{\"raw\":\"x\"}",
     "{\"raw\":\"x\"}"},
    {"null on atomics passes", "{\"atom\":[\"a\"],\"frozen\":{\"a\":\"1\"}}",
     "{\"atom\":null,\"frozen\":null}", "{\"atom\":null,\"frozen\":null}"},
};

START_TEST(patches_are_merged)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL), *other = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = read_value(doc, merges[_i].live);
    struct ek_merge_patch patch = {.value = read_value(other, merges[_i].patch)};
    struct ek_err err = {0};

    int rc = ek_merge_apply(schema, type, doc, live, &patch, 0, NULL, &err);
    yyjson_mut_doc_free(other); /* nothing of the patch is shared */
    ck_assert_msg(rc == 0, "%s: %s", merges[_i].name, err.message);
    char *got = jsonlines_mut_text(live);
    ck_assert_msg(!strcmp(got, merges[_i].want), "%s: got %s", merges[_i].name, got);
    free(got);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* Rows of refusals: live is {}. */
static const struct {
    const char *name, *patch, *want;
} refusals[] = {
    {"undeclared", "{\"o\":{\"z\":1}}", TYPED ".o.z: field not declared in schema"},
    {"undeclared at the top", "{\"z\":{}}", TYPED ".z: field not declared in schema"},
    {"number for a string", "{\"labels\":{\"a\":3}}",
     TYPED ".labels.a: expected string, got &value.valueUnstructured{Value:3}"},
    {"list for a string", "{\"s\":[\"x\",{\"b\":null,\"a\":1.5}]}",
     TYPED ".s: expected string, got &value.valueUnstructured{Value:[]interface {}{\"x\", "
           "map[string]interface {}{\"a\":1.5, \"b\":interface {}(nil)}}}"},
    {"boolean for a number", "{\"n\":true}", TYPED ".n: expected numeric (int or float), got bool"},
    {"map for a number", "{\"n\":{}}",
     TYPED ".n: expected numeric (int or float), got map[string]interface {}"},
    {"string for a boolean", "{\"b\":\"true\"}", TYPED ".b: expected boolean, got &{true}"},
    {"float for a boolean", "{\"b\":1000000.0}", TYPED ".b: expected boolean, got &{1e+06}"},
    {"list for a time", "{\"t\":[1,null]}", TYPED ".t: expected any scalar, got &{[1 <nil>]}"},
    {"scalar for a list", "{\"set\":\"a\"}", TYPED ".set: expected list, got &{a}"},
    {"list for a map", "{\"labels\":[\"x\"]}", TYPED ".labels: expected map, got &{[x]}"},
    {"map for a list", "{\"atom\":{\"b\":1,\"a\":[]}}",
     TYPED ".atom: expected list, got &{map[a:[] b:1]}"},
    {"wrong item of an atomic list", "{\"atom\":[\"a\",1]}",
     TYPED ".atom[1]: expected string, got &value.valueUnstructured{Value:1}"},
    {"item twice", "{\"set\":[\"a\",\"b\",\"a\"]}",
     TYPED ".set: duplicate entries for key [=\"a\"]"},
    {"number twice", "{\"nums\":[1,1.0]}", TYPED ".nums: duplicate entries for key [=1]"},
    {"key twice", "{\"ports\":[{\"port\":1},{\"proto\":\"TCP\",\"port\":1}]}",
     TYPED ".ports: duplicate entries for key [port=1,proto=\"TCP\"]"},
    {"item without a key", "{\"list\":[{\"k\":\"a\"},{\"v\":1}]}",
     TYPED ".list: element 1: associative list with keys has an element that omits all key fields "
           "[\"k\"] (and doesn't have default values for any key fields)"},
    {"item is no map", "{\"list\":[3]}",
     TYPED ".list: element 0: associative list with keys may not have non-map elements"},
    {"item is null", "{\"list\":[null]}",
     TYPED ".list: element 0: associative list with keys may not have a null element"},
    {"map in a set", "{\"set\":[{}]}",
     TYPED ".set: element 0: associative list without keys has an element that's a map type"},
    {"list in a set", "{\"set\":[[]]}",
     TYPED ".set: element 0: not supported: associative list with lists as elements"},
    {"null in a set", "{\"set\":[\"a\",null]}",
     TYPED ".set: element 1: associative list without keys has an element that's an explicit null"},
    {"several", "{\"n\":\"x\",\"o\":{\"x\":1},\"list\":[{\"k\":\"a\",\"v\":\"y\"}]}",
     TYPED "errors:\n  .n: expected numeric (int or float), got string\n"
           "  .o.x: expected string, got &value.valueUnstructured{Value:1}\n"
           "  .list[k=\"a\"].v: expected numeric (int or float), got string"},
    {"no object", "[1]", TYPED "expected map, got &{[1]}"},
    {"atomic list", "{\"atom\":[]}", ATOMIC ".atom"},
    {"atomic struct, and the list in it", "{\"frozen\":{\"b\":[\"x\"]}}",
     ATOMIC ".frozen, .frozen.b"},
    {"in items, by their place",
     "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\",\"a\":[\"x\"]}],\"atom\":[]}",
     ATOMIC ".list[1].a, .atom"},
    {"list where there is no schema", "{\"raw\":[1]}", ATOMIC ".raw"},
};

START_TEST(patches_are_refused)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = yyjson_mut_obj(doc);
    struct ek_merge_patch patch = {.value = read_value(doc, refusals[_i].patch)};
    EK_AUTO(ek_buf) text;
    struct ek_err err = {0};

    ek_buf_init(&text, EK_MERGE_TEXT_MAX);
    int rc = ek_merge_apply(schema, type, doc, live, &patch, 0, &text, &err);
    ck_assert_msg(rc == EK_E_INVAL && err.code == rc, "%s: %d", refusals[_i].name, rc);
    ck_assert_msg(!strcmp(ek_buf_str(&text), refusals[_i].want), "%s: got %s", refusals[_i].name,
                  ek_buf_str(&text));
    ck_assert_msg(!strcmp(err.message, refusals[_i].want), "%s: err %s", refusals[_i].name,
                  err.message);
    ck_assert_uint_eq(yyjson_mut_obj_size(live), 0);
    yyjson_mut_doc_free(doc);
}
END_TEST

START_TEST(live_objects_may_hold_items_twice)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *value = read_value(doc, "{\"set\":[\"a\",\"a\"]}");

    ck_assert_int_eq(ek_merge_validate(schema, type, value, 0, NULL, NULL, NULL), EK_E_INVAL);
    ck_assert_int_eq(ek_merge_validate(schema, type, value, EK_MERGE_DUPLICATES, NULL, NULL, NULL),
                     0);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* Values that JSON has no form for, in the words of recorded answers. */
START_TEST(foreign_values_fit_nowhere)
{
    static const struct {
        const char *field, *type, *syntax, *text, *want;
    } foreign[] = {
        {"n", "uint64", "0x3", "3", ".n: expected numeric (int or float), got uint64"},
        {"n", "structpb.NullValue", "0", "NULL_VALUE",
         ".n: expected numeric (int or float), got structpb.NullValue"},
        {"s", "structpb.NullValue", "0", "NULL_VALUE",
         ".s: expected string, got &value.valueUnstructured{Value:0}"},
        {"t", "time.Time", "x", "2026-02-03 04:05:06 +0000 UTC",
         ".t: expected any scalar, got &{2026-02-03 04:05:06 +0000 UTC}"},
        {"set", "[]ref.Val", "x", "[2]", ".set: expected list, got &{[2]}"},
        {"any", "x", "x", "a\nb", ".any: expected map, got &{a\nb}"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(foreign); i++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *value = yyjson_mut_obj(doc);
        EK_AUTO(ek_buf) text;
        ek_buf_init(&text, 1000);
        yyjson_mut_obj_add_val(
            doc, value, foreign[i].field,
            ek_merge_foreign(doc, foreign[i].type, foreign[i].syntax, foreign[i].text));
        ck_assert_int_eq(ek_merge_validate(schema, type, value, 0, NULL, &text, NULL), EK_E_INVAL);
        ck_assert_str_eq(ek_buf_str(&text), foreign[i].want);
        yyjson_mut_doc_free(doc);
    }
}
END_TEST

/* Removals are written as an array of paths: a string is a member, {"item": x} are items like x. */
static void read_removals(yyjson_mut_val *paths, struct ek_merge_removal *ret,
                          struct ek_merge_step steps[][8])
{
    size_t i, j, max, max_j;
    yyjson_mut_val *path, *step;

    yyjson_mut_arr_foreach(paths, i, max, path)
    {
        yyjson_mut_arr_foreach(path, j, max_j, step)
        {
            steps[i][j] = (struct ek_merge_step){
                {yyjson_mut_get_str(step), yyjson_mut_get_len(step)},
                yyjson_mut_obj_get(step, "item"),
            };
        }
        ret[i] = (struct ek_merge_removal){steps[i], max_j};
    }
}

static const struct {
    const char *name, *live, *patch, *removals, *want;
    unsigned flags;
    int code;
} extended[] = {
    {"atomics are replaced", "{\"atom\":[\"a\"],\"frozen\":{\"a\":\"1\"}}",
     "{\"atom\":[\"b\"],\"frozen\":{\"b\":[]}}", "[]", "{\"atom\":[\"b\"],\"frozen\":{\"b\":[]}}",
     EK_MERGE_ATOMIC, 0},
    {"a member", "{\"s\":\"a\",\"n\":1}", NULL, "[[\"s\"]]", "{\"n\":1}", 0, 0},
    {"a member that is not there", "{\"n\":1}", NULL, "[[\"s\"],[\"o\",\"o\",\"s\"]]", "{\"n\":1}",
     0, 0},
    {"a member of a free map", "{\"labels\":{\"a\":\"1\",\"b\":\"2\"}}", NULL,
     "[[\"labels\",\"a\"]]", "{\"labels\":{\"b\":\"2\"}}", 0, 0},
    {"the last member leaves an empty map", "{\"labels\":{\"a\":\"1\"}}", NULL,
     "[[\"labels\",\"a\"]]", "{\"labels\":{}}", 0, 0},
    {"an atomic list as a whole", "{\"atom\":[\"a\"],\"n\":1}", NULL, "[[\"atom\"]]", "{\"n\":1}",
     0, 0},
    {"a value of a set", "{\"set\":[\"a\",\"b\",\"c\"]}", NULL,
     "[[\"set\",{\"item\":\"b\"}],[\"set\",{\"item\":\"z\"}]]", "{\"set\":[\"a\",\"c\"]}", 0, 0},
    {"an item by its key", "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"b\"}]}", NULL,
     "[[\"list\",{\"item\":{\"k\":\"a\",\"v\":9}}]]", "{\"list\":[{\"k\":\"b\"}]}", 0, 0},
    {"values one behind the other all go", "{\"set\":[\"a\",\"b\",\"b\",\"b\"]}", NULL,
     "[[\"set\",{\"item\":\"b\"}]]", "{\"set\":[\"a\"]}", 0, 0},
    {"items twice under a key all go", "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\"},{\"k\":\"a\"}]}",
     NULL, "[[\"list\",{\"item\":{\"k\":\"a\"}}]]", "{\"list\":[{\"k\":\"b\"}]}", 0, 0},
    {"an item by a key's default",
     "{\"ports\":[{\"port\":1,\"proto\":\"TCP\"},{\"port\":1,\"proto\":"
     "\"UDP\"}]}",
     NULL, "[[\"ports\",{\"item\":{\"port\":1}}]]", "{\"ports\":[{\"port\":1,\"proto\":\"UDP\"}]}",
     0, 0},
    {"a member of an item", "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"b\",\"v\":2}]}", NULL,
     "[[\"list\",{\"item\":{\"k\":\"b\"}},\"v\"]]",
     "{\"list\":[{\"k\":\"a\",\"v\":1},{\"k\":\"b\"}]}", 0, 0},
    {"a value of a set in an item", "{\"list\":[{\"k\":\"a\",\"set\":[\"x\",\"y\"]}]}", NULL,
     "[[\"list\",{\"item\":{\"k\":\"a\"}},\"set\",{\"item\":\"x\"}]]",
     "{\"list\":[{\"k\":\"a\",\"set\":[\"y\"]}]}", 0, 0},
    {"what the patch sets, a removal takes", "{\"list\":[{\"k\":\"a\"}]}",
     "{\"s\":\"x\",\"list\":[{\"k\":\"b\"}]}", "[[\"s\"],[\"list\",{\"item\":{\"k\":\"a\"}}]]",
     "{\"list\":[{\"k\":\"b\"}]}", 0, 0},
    {"where there is no schema", "{\"any\":{\"a\":{\"b\":1,\"c\":2}}}", NULL,
     "[[\"any\",\"a\",\"b\"]]", "{\"any\":{\"a\":{\"c\":2}}}", 0, 0},
    {"in an atomic struct, when allowed", "{\"frozen\":{\"a\":\"1\",\"b\":[]}}", NULL,
     "[[\"frozen\",\"a\"]]", "{\"frozen\":{\"b\":[]}}", EK_MERGE_ATOMIC, 0},
    {"in an atomic struct, when not", "{\"frozen\":{\"a\":\"1\"}}", NULL, "[[\"frozen\",\"a\"]]",
     ATOMIC ".frozen", 0, EK_E_INVAL},
    {"undeclared", "{\"n\":1}", NULL, "[[\"n\"],[\"o\",\"z\"]]",
     INVALID "may not remove .o.z: field not declared in schema", 0, EK_E_INVAL},
    {"a member of a scalar", "{\"n\":1}", NULL, "[[\"n\",\"x\"]]",
     INVALID "may not remove .n.x: field not declared in schema", 0, EK_E_INVAL},
    {"a key", "{\"list\":[{\"k\":\"a\"}]}", NULL, "[[\"list\",{\"item\":{\"k\":\"a\"}},\"k\"]]",
     INVALID "may not remove .list[k=\"a\"].k: the field is a key of the items of its list", 0,
     EK_E_INVAL},
    {"items without keys", "{\"atom\":[\"a\"]}", NULL, "[[\"atom\",{\"item\":\"a\"}]]",
     INVALID "may not remove .atom: its items have no keys", EK_MERGE_ATOMIC, EK_E_INVAL},
    {"an item that has no key itself", "{\"list\":[{\"k\":\"a\"}]}", NULL,
     "[[\"list\",{\"item\":{\"v\":1}}]]",
     INVALID "may not remove from .list: associative list with keys has an element that omits all "
             "key fields [\"k\"] (and doesn't have default values for any key fields)",
     0, EK_E_INVAL},
    {"everything", "{\"n\":1}", NULL, "[[]]", INVALID "may not remove : the object as a whole", 0,
     EK_E_INVAL},
};

START_TEST(extended_patches)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = read_value(doc, extended[_i].live);
    yyjson_mut_val *paths = read_value(doc, extended[_i].removals);
    struct ek_merge_removal removals[8];
    struct ek_merge_step steps[8][8];
    struct ek_err err = {0};

    read_removals(paths, removals, steps);
    struct ek_merge_patch patch = {extended[_i].patch ? read_value(doc, extended[_i].patch) : NULL,
                                   removals, yyjson_mut_arr_size(paths), NULL};
    int rc = ek_merge_apply(schema, type, doc, live, &patch, extended[_i].flags, NULL, &err);
    char *got = jsonlines_mut_text(live);
    ck_assert_msg(rc == extended[_i].code, "%s: %s", extended[_i].name, err.message);
    ck_assert_msg(!strcmp(rc ? err.message : got, extended[_i].want), "%s: got %s",
                  extended[_i].name, rc ? err.message : got);
    if (rc)
        ck_assert_str_eq(got, extended[_i].live);
    free(got);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* Large maps take sorting instead of searching. */
START_TEST(large_maps)
{
    enum { N = 50000 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = read_value(doc, "{\"labels\":{}}");
    yyjson_mut_val *value = read_value(doc, "{\"labels\":{}}");
    yyjson_mut_val *old = yyjson_mut_obj_get(live, "labels"),
                   *new = yyjson_mut_obj_get(value, "labels");
    struct ek_merge_patch patch = {.value = value};
    struct ek_err err = {0};
    char text[16];

    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "n%d", i);
        yyjson_mut_obj_add(old, yyjson_mut_strcpy(doc, text), yyjson_mut_str(doc, "old"));
        snprintf(text, sizeof text, "n%d", 2 * (N - i));
        yyjson_mut_obj_add(new, yyjson_mut_strcpy(doc, text), yyjson_mut_str(doc, "new"));
    }
    ck_assert_int_eq(ek_merge_apply(schema, type, doc, live, &patch, 0, NULL, &err), 0);
    ck_assert_uint_eq(yyjson_mut_obj_size(old), N + N / 2 + 1);
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(old, "n4")), "new");
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(old, "n5")), "old");
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_obj_get(old, "n100000")), "new");
    yyjson_mut_doc_free(doc);
}
END_TEST

/* Long lists take sorting instead of searching, and the same rules. */
START_TEST(long_lists)
{
    enum { N = 5000 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = read_value(doc, "{\"set\":[]}"),
                   *value = read_value(doc, "{\"set\":[]}");
    yyjson_mut_val *set = yyjson_mut_obj_get(live, "set"), *more = yyjson_mut_obj_get(value, "set");
    struct ek_merge_patch patch = {.value = value};
    struct ek_err err = {0};
    char text[16];

    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "v%d", i);
        yyjson_mut_arr_add_strcpy(doc, set, text);
    }
    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "v%d", i * 2);
        yyjson_mut_arr_add_strcpy(doc, more, text);
    }
    ck_assert_int_eq(ek_merge_apply(schema, type, doc, live, &patch, 0, NULL, &err), 0);
    ck_assert_uint_eq(yyjson_mut_arr_size(set), N + N / 2);
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_arr_get(set, N - 1)), "v4999");
    ck_assert_str_eq(yyjson_mut_get_str(yyjson_mut_arr_get(set, N)), "v5000");
    yyjson_mut_arr_add_str(doc, more, "v0");
    ck_assert_int_eq(ek_merge_apply(schema, type, doc, live, &patch, 0, NULL, &err), EK_E_INVAL);
    ck_assert_str_eq(err.message, TYPED ".set: duplicate entries for key [=\"v0\"]");
    yyjson_mut_doc_free(doc);
}
END_TEST

static int depth_is_bounded_body(void *unused)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = yyjson_mut_obj(doc), *value = yyjson_mut_obj(doc);
    struct ek_err err = {0};

    (void)unused;
    for (int i = 0; i <= EK_JSON_DEPTH_MAX; i++) {
        yyjson_mut_val *outer = yyjson_mut_obj(doc);
        yyjson_mut_obj_add_val(doc, outer, i < EK_JSON_DEPTH_MAX ? "a" : "any", value);
        value = outer;
    }
    struct ek_merge_patch patch = {.value = value};
    ck_assert_int_eq(ek_merge_apply(schema, type, doc, live, &patch, 0, NULL, &err), EK_E_LIMIT);
    yyjson_mut_doc_free(doc);
    return 0;
}

START_TEST(depth_is_bounded)
{
    EK_DEEP(depth_is_bounded_body);
}
END_TEST

/* Every allocation fails in turn: an error each time, and memory is given back. */
START_TEST(memory_may_end)
{
    int rc = EK_E_NOMEM;

    for (long n = 1; rc && n < 200; n++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
        yyjson_mut_val *live = read_value(doc, "{\"list\":[{\"k\":\"a\"},{\"k\":\"b\"}]}");
        struct ek_merge_patch patch = {
            .value = read_value(doc, "{\"list\":[{\"k\":\"c\",\"set\":[\"x\"]},{\"k\":\"b\"}]}")};
        ek_alloc_fail_after(n);
        rc = ek_merge_apply(schema, type, doc, live, &patch, 0, NULL, NULL);
        ek_alloc_fail_after(0);
        ck_assert_msg(rc == 0 || rc == EK_E_NOMEM, "%ld: %d", n, rc);
        yyjson_mut_doc_free(doc);
    }
    ck_assert_int_eq(rc, 0);
}
END_TEST

/* The answers of Kubernetes to generated cases; see test/data/merge/README.md. */
struct recorded {
    struct ek_schema *schema;
    const char *file;
    size_t line, n_cases;
};

static void check_answer(const struct recorded *r, yyjson_val *one, size_t i, int rc,
                         yyjson_mut_val *live, const char *text)
{
    const char *error = yyjson_get_str(yyjson_obj_get(one, "error"));
    yyjson_val *result = yyjson_obj_get(one, "result");

    ck_assert_msg(rc == (error ? EK_E_INVAL : 0), "%s:%zu case %zu: %d %s", r->file, r->line, i, rc,
                  text);
    /* of several findings the reference names some, in any order */
    bool exact = error && !strstr(error, "errors:") && !strstr(error, "not declared");
    if (exact)
        ck_assert_msg(!strcmp(text, error), "%s:%zu case %zu: %s", r->file, r->line, i, text);
    if (!result)
        return;
    yyjson_doc *got = yyjson_mut_val_imut_copy(live, NULL);
    char *json = jsonlines_mut_text(live);
    ck_assert_msg(ek_json_equal(yyjson_doc_get_root(got), result), "%s:%zu case %zu: %s", r->file,
                  r->line, i, json);
    free(json);
    yyjson_doc_free(got);
}

static void run_case(struct recorded *r, yyjson_val *one, size_t i)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *live = yyjson_val_mut_copy(doc, yyjson_obj_get(one, "live"));
    struct ek_merge_patch patch = {.value = yyjson_val_mut_copy(doc, yyjson_obj_get(one, "patch"))};
    bool twice = patch.value || yyjson_get_bool(yyjson_obj_get(one, "duplicates"));
    const char *version = yyjson_mut_get_str(yyjson_mut_obj_get(live, "apiVersion"));
    const char *slash = strchr(version, '/');
    EK_AUTOFREE char *group = ek_xstrndup(version, slash ? (size_t)(slash - version) : 0);
    EK_AUTO(ek_buf) text;
    uint32_t of = 0;

    ek_buf_init(&text, EK_MERGE_TEXT_MAX);
    ck_assert_int_eq(ek_schema_find_kind(r->schema, group, slash ? slash + 1 : version,
                                         yyjson_mut_get_str(yyjson_mut_obj_get(live, "kind")), &of,
                                         NULL),
                     0);
    EK_AUTO(ek_buf) live_text;
    ek_buf_init(&live_text, EK_MERGE_TEXT_MAX);
    ek_buf_puts(&live_text,
                patch.value ? "failed to convert original object to typed object: " : "");
    int live_rc = ek_merge_validate(r->schema, of, live, twice ? EK_MERGE_DUPLICATES : 0, NULL,
                                    &live_text, NULL);
    int rc = 0;
    if (patch.value) /* the reference checks the patch first */
        rc = ek_merge_apply(r->schema, of, doc, live_rc ? yyjson_mut_obj(doc) : live, &patch, 0,
                            &text, NULL);
    if (!rc && live_rc)
        ek_buf_puts(&text, ek_buf_str(&live_text));
    rc = rc ? rc : live_rc;
    check_answer(r, one, i, rc, live, ek_buf_str(&text));
    r->n_cases++;
    yyjson_mut_doc_free(doc);
}

static void run_line(void *ctx, size_t line, yyjson_val *value)
{
    struct recorded *r = ctx;
    struct ek_err err = {0};
    size_t i, max;
    yyjson_val *one, *cases = yyjson_obj_get(value, "cases");

    r->line = line;
    int rc = ek_schema_compile(yyjson_obj_get(value, "document"), &r->schema, &err);
    ck_assert_msg((rc == 0) == (cases != NULL), "line %zu: %s", line, err.message);
    yyjson_arr_foreach(cases, i, max, one)
    {
        run_case(r, one, i);
    }
    if (rc == 0)
        ek_schema_unref(r->schema);
}

START_TEST(answers_to_generated_schemas)
{
    struct recorded r = {.file = "merge.jsonl"};

    ck_assert_uint_ge(jsonlines_read(EK_TEST_DATA "/merge/merge.jsonl", run_line, &r), 15);
    ck_assert_uint_ge(r.n_cases, 150);
}
END_TEST

static void run_object(void *ctx, size_t line, yyjson_val *value)
{
    struct recorded *r = ctx;
    EK_AUTOFREE char *path = ek_xasprintf(EK_SHARED_DATA "/mutation/openapi/%s.json",
                                          yyjson_get_str(yyjson_obj_get(value, "schema")));
    yyjson_doc *doc = jsonlines_document(path);

    r->line = line;
    ck_assert_int_eq(ek_schema_compile(yyjson_doc_get_root(doc), &r->schema, NULL), 0);
    run_case(r, value, 0);
    ek_schema_unref(r->schema);
    yyjson_doc_free(doc);
}

START_TEST(answers_to_generated_objects)
{
    struct recorded r = {.file = "objects.jsonl"};

    ck_assert_uint_ge(jsonlines_read(EK_TEST_DATA "/merge/objects.jsonl", run_object, &r), 30);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("merge");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, patches_are_merged, 0, EK_ARRAY_SIZE(merges));
    tcase_add_loop_test(t, patches_are_refused, 0, EK_ARRAY_SIZE(refusals));
    tcase_add_test(t, live_objects_may_hold_items_twice);
    tcase_add_test(t, foreign_values_fit_nowhere);
    tcase_add_loop_test(t, extended_patches, 0, EK_ARRAY_SIZE(extended));
    tcase_add_test(t, large_maps);
    tcase_add_test(t, long_lists);
    tcase_add_test(t, depth_is_bounded);
    tcase_add_test(t, memory_may_end);
    tcase_add_test(t, answers_to_generated_schemas);
    if (access(EK_SHARED_DATA "/mutation/openapi", R_OK) == 0)
        tcase_add_test(t, answers_to_generated_objects);
    else
        printf("no recorded schemas in %s: their cases are not run\n", EK_SHARED_DATA);
    return ek_test_run("merge", t);
}
