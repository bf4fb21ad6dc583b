/* SPDX-License-Identifier: Apache-2.0 */
#include "api/patch/jsonpatch.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/patch/pointer.h"
#include "test/support/deep.h"
#include "test/support/jsonlines.h"
#include "test/support/suite.h"

static yyjson_doc *read_doc(const char *json)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(json, strlen(json), &err);

    ck_assert_msg(doc != NULL, "%s: %s", json, err.message);
    return doc;
}

static const struct {
    const char *name, *token, *escaped;
} tokens[] = {
    {"plain", "a b", "/a b"},
    {"empty", "", "/"},
    {"slash", "a/b", "/a~1b"},
    {"tilde", "~", "/~0"},
    {"both, often", "~/~1", "/~0~1~01"},
    {"label", "k8s.io/x", "/k8s.io~1x"},
};

START_TEST(tokens_are_escaped_and_read)
{
    EK_AUTO(ek_buf) pointer, scratch;
    struct ek_str rest, token;

    ek_buf_init(&pointer, 100);
    ek_buf_init(&scratch, 100);
    ek_buf_puts(&pointer, "/before");
    ck_assert_int_eq(ek_pointer_push(&pointer, ek_str_from(tokens[_i].token)), 0);
    ek_pointer_push_index(&pointer, 12);
    rest = (struct ek_str){pointer.data, pointer.len};
    ck_assert(ek_pointer_next(&rest, &token) && ek_str_eq(token, EK_STR("before")));
    ck_assert(ek_pointer_next(&rest, &token));
    ck_assert_msg(ek_str_eq(token, ek_str_from(tokens[_i].escaped + 1)), "%s", tokens[_i].name);
    ck_assert_msg(ek_str_eq(ek_pointer_unescape(token, &scratch), ek_str_from(tokens[_i].token)),
                  "%s", tokens[_i].name);
    ck_assert(ek_pointer_next(&rest, &token) && ek_str_eq(token, EK_STR("12")));
    ck_assert(!ek_pointer_next(&rest, &token));
    ek_pointer_pop(&pointer);
    ek_pointer_pop(&pointer);
    ck_assert_str_eq(ek_buf_str(&pointer), "/before");
}
END_TEST

START_TEST(odd_escapes_stand_for_themselves)
{
    EK_AUTO(ek_buf) scratch;

    ek_buf_init(&scratch, 100);
    ck_assert(ek_str_eq(ek_pointer_unescape(EK_STR("~2~"), &scratch), EK_STR("~2~")));
    ck_assert(ek_str_eq(ek_pointer_unescape(EK_STR("~01"), &scratch), EK_STR("~1")));
}
END_TEST

/* want is the document after the patch, or the message of its failure. */
static const struct {
    const char *name, *doc, *patch, *want;
    int code;
    unsigned flags;
} rows[] = {
    {"add a member", "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/b\",\"value\":{\"c\":[]}}]",
     "{\"a\":1,\"b\":{\"c\":[]}}", 0, 0},
    {"add what is there: replaced in place", "{\"a\":1,\"b\":2}",
     "[{\"op\":\"add\",\"path\":\"/a\",\"value\":3}]", "{\"a\":3,\"b\":2}", 0, 0},
    {"add an item", "[1,3]", "[{\"op\":\"add\",\"path\":\"/1\",\"value\":2}]", "[1,2,3]", 0, 0},
    {"add at the end", "[1]", "[{\"op\":\"add\",\"path\":\"/-\",\"value\":2}]", "[1,2]", 0, 0},
    {"add behind the end", "[1]", "[{\"op\":\"add\",\"path\":\"/2\",\"value\":2}]",
     "error in add for path: '/2': Unable to access invalid index: 2: invalid index referenced",
     EK_E_INVAL, 0},
    {"add from the end", "[1,3]", "[{\"op\":\"add\",\"path\":\"/-2\",\"value\":2}]", "[1,2,3]", 0,
     0},
    {"add under a missing parent", "{}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]",
     "add operation does not apply: doc is missing path: \"/a/b\": missing value", EK_E_INVAL, 0},
    {"add without a value", "{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "{\"a\":null}", 0, 0},
    {"add the document", "{}", "[{\"op\":\"add\",\"path\":\"\",\"value\":{}}]",
     "add operation does not apply: doc is missing path: \"\": missing value", EK_E_INVAL, 0},
    {"what is before the first slash does not count", "{\"a\":{}}",
     "[{\"op\":\"add\",\"path\":\"data/b\",\"value\":1}]", "{\"a\":{},\"b\":1}", 0, 0},
    {"add to a scalar", "{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]",
     "add operation does not apply: doc is missing path: \"/a/b\": missing value", EK_E_INVAL, 0},
    {"index is a word", "{\"a\":[]}", "[{\"op\":\"add\",\"path\":\"/a/x\",\"value\":1}]",
     "error in add for path: '/a/x': value was not a proper array index: 'x': strconv.Atoi: "
     "parsing "
     "\"x\": invalid syntax",
     EK_E_INVAL, 0},
    {"index is huge", "[1]", "[{\"op\":\"remove\",\"path\":\"/99999999999999999999\"}]",
     "error in remove for path: '/99999999999999999999': strconv.Atoi: parsing "
     "\"99999999999999999999\": value out of range",
     EK_E_INVAL, 0},
    {"index with a sign and zeros", "[1,2]", "[{\"op\":\"remove\",\"path\":\"/+01\"}]", "[1]", 0,
     0},
    {"remove", "{\"a\":1,\"b\":[1,2]}",
     "[{\"op\":\"remove\",\"path\":\"/a\"},{\"op\":\"remove\",\"path\":\"/b/0\"}]", "{\"b\":[2]}",
     0, 0},
    {"remove from the end", "[1,2]", "[{\"op\":\"remove\",\"path\":\"/-1\"}]", "[1]", 0, 0},
    {"remove what is not there", "{}", "[{\"op\":\"remove\",\"path\":\"/a\"}]",
     "error in remove for path: '/a': Unable to remove nonexistent key: a: missing value",
     EK_E_INVAL, 0},
    {"replace", "{\"a\":{\"b\":1}}", "[{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":2}]",
     "{\"a\":{\"b\":2}}", 0, 0},
    {"replace what is not there", "{}", "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2}]",
     "{\"a\":2}", 0, 0},
    {"replace an item", "[1,2,3]", "[{\"op\":\"replace\",\"path\":\"/-2\",\"value\":[]}]",
     "[1,[],3]", 0, 0},
    {"replace behind the end", "[1]", "[{\"op\":\"replace\",\"path\":\"/1\",\"value\":2}]",
     "replace operation does not apply: doc is missing key: /1: missing value", EK_E_INVAL, 0},
    {"replace the document", "{\"a\":1}",
     "[{\"op\":\"replace\",\"path\":\"\",\"value\":[1]},{\"op\":\"add\",\"path\":\"/"
     "0\",\"value\":0}]",
     "[0,1]", 0, 0},
    {"replace the document by a scalar", "{}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":1}]",
     "replace operation value must be object or array: %!w(<nil>)", EK_E_INVAL, 0},
    {"move", "{\"a\":{\"b\":[1]},\"c\":0}", "[{\"op\":\"move\",\"from\":\"/a/b\",\"path\":\"/d\"}]",
     "{\"a\":{},\"c\":0,\"d\":[1]}", 0, 0},
    {"move an item", "[1,2,3]", "[{\"op\":\"move\",\"from\":\"/0\",\"path\":\"/2\"}]", "[2,3,1]", 0,
     0},
    {"move into itself", "{\"a\":{\"b\":{}}}",
     "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b/c\"}]",
     "move operation does not apply: doc is missing destination path: /a/b/c: missing value",
     EK_E_INVAL, 0},
    {"move what is not there", "{\"o\":{}}",
     "[{\"op\":\"move\",\"from\":\"/o/x\",\"path\":\"/a\"}]",
     "error in move for path: 'x': Unable to remove nonexistent key: x: missing value", EK_E_INVAL,
     0},
    {"move without from", "{}", "[{\"op\":\"move\",\"path\":\"/a\"}]",
     "move operation failed to decode from: operation, missing from field: missing value",
     EK_E_INVAL, 0},
    {"copy", "{\"a\":[1]}",
     "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},{\"op\":\"add\",\"path\":\"/b/"
     "-\",\"value\":2}]",
     "{\"a\":[1],\"b\":[1,2]}", 0, 0},
    {"copy into itself", "{\"a\":{\"x\":1}}",
     "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/b\"}]", "{\"a\":{\"x\":1,\"b\":{\"x\":1}}}",
     0, 0},
    {"copy what is not there", "{}", "[{\"op\":\"copy\",\"from\":\"/x\",\"path\":\"/a\"}]",
     "{\"a\":null}", 0, 0},
    {"escapes", "{\"x/y\":{\"~\":1}}", "[{\"op\":\"replace\",\"path\":\"/x~1y/~0\",\"value\":2}]",
     "{\"x/y\":{\"~\":2}}", 0, 0},
    {"empty names", "{\"\":{\"\":1}}", "[{\"op\":\"remove\",\"path\":\"//\"}]", "{\"\":{}}", 0, 0},
    {"test", "{\"a\":{\"b\":[1,\"x\",null],\"c\":true}}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"c\":true,\"b\":[1,\"x\",null]}}]",
     "{\"a\":{\"b\":[1,\"x\",null],\"c\":true}}", 0, 0},
    {"test fails", "{\"a\":1}",
     "[{\"op\":\"add\",\"path\":\"/b\",\"value\":1},{\"op\":\"test\",\"path\":\"/a\",\"value\":2}]",
     "testing value /a failed: test failed", EK_E_CONFLICT, 0},
    {"test what is not there", "{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]",
     "testing value /a failed: test failed", EK_E_CONFLICT, 0},
    {"test for what is not there", "{}", "[{\"op\":\"test\",\"path\":\"/a\"}]", "{}", 0, 0},
    {"test for null what is not there", "{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]",
     "testing value /a failed: test failed", EK_E_CONFLICT, 0},
    {"test for null what is empty", "{\"a\":[]}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{\"a\":[]}", 0, 0},
    {"test for null the document's null", "{\"a\":null}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "testing value /a failed: test failed",
     EK_E_CONFLICT, 0},
    {"test for null a null that was added", "{}",
     "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null},{\"op\":\"test\",\"path\":\"/"
     "a\",\"value\":null}]",
     "{\"a\":null}", 0, 0},
    {"test under a missing parent", "{}", "[{\"op\":\"test\",\"path\":\"/a/b\",\"value\":1}]",
     "test operation does not apply: is missing path: /a/b: missing value", EK_E_INVAL, 0},
    {"test numbers by value", "{\"a\":1,\"b\":-1}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1.0},{\"op\":\"test\",\"path\":\"/"
     "b\",\"value\":-1}]",
     "{\"a\":1,\"b\":-1}", 0, 0},
    {"test 2^64-1 is not -1", "{\"a\":-1}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":18446744073709551615}]",
     "testing value /a failed: test failed", EK_E_CONFLICT, 0},
    {"test the document", "{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}}]",
     "{\"a\":1}", 0, 0},
    {"test the document for nothing", "{}", "[{\"op\":\"test\",\"path\":\"\"}]",
     "test operation on the document: missing value", EK_E_INVAL, 0},
    {"unknown operation", "{}", "[{\"op\":\"ADD\",\"path\":\"/a\"}]", "Unexpected kind: ADD",
     EK_E_INVAL, 0},
    {"no operation", "{}", "[{\"path\":\"/a\"}]", "Unexpected kind: unknown", EK_E_INVAL, 0},
    {"no path", "{}", "[{\"op\":\"replace\"}]",
     "replace operation failed to decode path: operation missing path field: missing value",
     EK_E_INVAL, 0},
    {"member of null", "{}",
     "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null},{\"op\":\"add\",\"path\":\"/a/"
     "b\",\"value\":1}]",
     "error in add for path: '/a/b': null has no members", EK_E_INVAL, 0},
    {"control character in a path", "{}", "[{\"op\":\"add\",\"path\":\"/a\\u0001b\",\"value\":1}]",
     "{\"a\\u0001b\":1}", 0, 0},
    {"the same through quoting", "{}", "[{\"op\":\"add\",\"path\":\"/a\\u0001b\",\"value\":1}]",
     "add operation failed to decode path: missing value", EK_E_INVAL, EK_JSONPATCH_QUOTED},
    {"another operation through quoting", "{}",
     "[{\"op\":\"test\",\"path\":\"/a\\u000b\",\"value\":1}]",
     "test operation failed to decode path: invalid character 'v' in string escape code",
     EK_E_INVAL, EK_JSONPATCH_QUOTED},
    {"quoting that reads as JSON", "{}",
     "[{\"op\":\"add\",\"path\":\"/\\u00e9\\t\\\"\\\\\\u00a0\",\"value\":1}]",
     "{\"\xc3\xa9\\t\\\"\\\\\xc2\xa0\":1}", 0, EK_JSONPATCH_QUOTED},
    {"operation through quoting", "{}", "[{\"op\":\"a\\u0007\",\"path\":\"/a\"}]",
     "Unexpected kind: unknown", EK_E_INVAL, EK_JSONPATCH_QUOTED},
};

START_TEST(patches_are_applied)
{
    yyjson_doc *read = read_doc(rows[_i].doc), *patch = read_doc(rows[_i].patch);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL), *other = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    struct ek_jsonpatch_op *ops = NULL;
    EK_AUTO(ek_buf) text;
    struct ek_err err = {0};
    size_t n = 0;

    ek_buf_init(&text, EK_JSONPATCH_TEXT_MAX);
    ck_assert_int_eq(ek_jsonpatch_parse(yyjson_doc_get_root(patch), other, &ops, &n, &err), 0);
    int rc = ek_jsonpatch_apply(doc, &root, ops, n, rows[_i].flags, NULL, &text, &err);
    ek_free(ops);
    yyjson_doc_free(patch);
    yyjson_mut_doc_free(other); /* nothing of the patch is shared */
    char *got = jsonlines_mut_text(root);
    ck_assert_msg(rc == rows[_i].code, "%s: %d %s", rows[_i].name, rc, err.message);
    ck_assert_msg(!strcmp(rc ? ek_buf_str(&text) : got, rows[_i].want), "%s: got %s", rows[_i].name,
                  rc ? ek_buf_str(&text) : got);
    if (rc) {
        ck_assert_str_eq(err.message, ek_buf_str(&text));
        ck_assert_str_eq(got, rows[_i].doc);
    }
    free(got);
    yyjson_doc_free(read);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* All kinds of changes, and then a failure: everything is where it was, in the order it had. */
START_TEST(a_failure_leaves_no_trace)
{
    static const char before[] =
        "{\"a\":{\"x\":1,\"y\":[1,2,3],\"z\":null},\"b\":[{\"k\":\"v\"},[],7]}";
    static const char changes[] =
        "[{\"op\":\"remove\",\"path\":\"/a/x\"},{\"op\":\"add\",\"path\":\"/a/y/1\",\"value\":{}},"
        "{\"op\":\"move\",\"from\":\"/a/y\",\"path\":\"/b/0/k\"},{\"op\":\"replace\",\"path\":\"/b/"
        "2\","
        "\"value\":\"q\"},{\"op\":\"copy\",\"from\":\"/b\",\"path\":\"/a/"
        "z\"},{\"op\":\"remove\",\"path\":"
        "\"/b/0/k/-1\"},{\"op\":\"add\",\"path\":\"/"
        "c\",\"value\":[]},{\"op\":\"replace\",\"path\":\"\","
        "\"value\":{\"n\":1}},{\"op\":\"add\",\"path\":\"/"
        "m\",\"value\":2},{\"op\":\"remove\",\"path\":"
        "\"/gone\"}]";
    yyjson_doc *read = read_doc(before), *patch = read_doc(changes);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    struct ek_jsonpatch_op *ops = NULL;
    size_t n = 0;

    ck_assert_int_eq(ek_jsonpatch_parse(yyjson_doc_get_root(patch), doc, &ops, &n, NULL), 0);
    for (size_t i = 1; i < n; i++) { /* the last one always fails */
        struct ek_jsonpatch_op some[16];
        memcpy(some, ops, i * sizeof *ops);
        some[i] = ops[n - 1];
        ck_assert_int_eq(ek_jsonpatch_apply(doc, &root, some, i + 1, 0, NULL, NULL, NULL),
                         EK_E_INVAL);
        char *got = jsonlines_mut_text(root);
        ck_assert_str_eq(got, before);
        free(got);
    }
    ck_assert_int_eq(ek_jsonpatch_apply(doc, &root, ops, n - 1, 0, NULL, NULL, NULL), 0);
    char *got = jsonlines_mut_text(root);
    ck_assert_str_eq(got, "{\"n\":1,\"m\":2}");
    free(got);
    ek_free(ops);
    yyjson_doc_free(read);
    yyjson_doc_free(patch);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* A tree that doubles with each operation ends at three mebibytes of copies. */
START_TEST(copies_are_bounded)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_doc *read = read_doc("{\"a\":{\"x\":\"0123456789012345678901234567890123456789\"}}");
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    struct ek_jsonpatch_op ops[100];
    char paths[100][16];
    struct ek_err err = {0};

    for (int i = 0; i < 100; i++) {
        snprintf(paths[i], sizeof paths[i], "/a/%d", i);
        ops[i] =
            (struct ek_jsonpatch_op){EK_STR("copy"), ek_str_from(paths[i]), EK_STR("/a"), NULL};
    }
    ck_assert_int_eq(ek_jsonpatch_apply(doc, &root, ops, 100, 0, NULL, NULL, &err), EK_E_LIMIT);
    ck_assert_ptr_nonnull(strstr(err.message, "exceeding the limit 3145728"));
    char *got = jsonlines_mut_text(root);
    ck_assert_uint_lt(strlen(got), 100);
    free(got);
    yyjson_doc_free(read);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* Large objects in another order compare equal, and unequal, without a search for each member. */
START_TEST(large_objects_are_compared)
{
    enum { N = 30000 };
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc), *value = yyjson_mut_obj(doc);
    struct ek_jsonpatch_op op = {EK_STR("test"), EK_STR(""), {NULL, 0}, value};
    char text[16];

    for (int i = 0; i < N; i++) {
        snprintf(text, sizeof text, "n%d", i);
        yyjson_mut_obj_add(root, yyjson_mut_strcpy(doc, text), yyjson_mut_int(doc, i));
        snprintf(text, sizeof text, "n%d", N - 1 - i);
        yyjson_mut_obj_add(value, yyjson_mut_strcpy(doc, text), yyjson_mut_int(doc, N - 1 - i));
    }
    ck_assert_int_eq(ek_jsonpatch_apply(doc, &root, &op, 1, 0, NULL, NULL, NULL), 0);
    yyjson_mut_set_int(yyjson_mut_obj_get(value, "n777"), 778);
    ck_assert_int_eq(ek_jsonpatch_apply(doc, &root, &op, 1, 0, NULL, NULL, NULL), EK_E_CONFLICT);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* Operations that each nest a little deeper end at the depth of JSON. */
static int depth_is_bounded_body(void *unused)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    struct ek_err err = {0};
    EK_AUTO(ek_buf) path;
    int rc = 0, n = 0;

    (void)unused;
    ek_buf_init(&path, 4 * EK_JSON_DEPTH_MAX);
    while (!rc && n < 2 * EK_JSON_DEPTH_MAX) {
        ek_buf_puts(&path, "/a");
        struct ek_jsonpatch_op op = {
            EK_STR("add"), {path.data, path.len}, {NULL, 0}, yyjson_mut_obj(doc)};
        rc = ek_jsonpatch_apply(doc, &root, &op, 1, 0, NULL, NULL, &err);
        n++;
    }
    ck_assert_int_eq(rc, EK_E_LIMIT);
    ck_assert_int_eq(n, EK_JSON_DEPTH_MAX);
    yyjson_mut_doc_free(doc);
    return 0;
}

START_TEST(depth_is_bounded)
{
    EK_DEEP(depth_is_bounded_body);
}
END_TEST

static const struct {
    const char *name, *patch, *message;
} malformed[] = {
    {"no array", "{}", "a JSON patch must be an array of operations"},
    {"no object", "[{\"op\":\"add\"},1]", "operation 1 of the JSON patch is not an object"},
    {"op is a number", "[{\"op\":1}]", "operation 0 of the JSON patch: op is not a string"},
    {"path is null", "[{\"op\":\"add\",\"path\":null}]",
     "operation 0 of the JSON patch: path is not a string"},
    {"from is a list", "[{\"from\":[]}]", "operation 0 of the JSON patch: from is not a string"},
};

START_TEST(malformed_patches_are_refused)
{
    yyjson_doc *patch = read_doc(malformed[_i].patch);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    struct ek_jsonpatch_op *ops = NULL;
    struct ek_err err = {0};
    size_t n = 0;

    ck_assert_int_eq(ek_jsonpatch_parse(yyjson_doc_get_root(patch), doc, &ops, &n, &err),
                     EK_E_PARSE);
    ck_assert_msg(!strcmp(err.message, malformed[_i].message), "%s: %s", malformed[_i].name,
                  err.message);
    yyjson_doc_free(patch);
    yyjson_mut_doc_free(doc);
}
END_TEST

/* The answers of the reference to generated patches; see test/data/merge/README.md. */
static void run_case(void *ctx, size_t line, yyjson_val *value)
{
    const char *error = yyjson_get_str(yyjson_obj_get(value, "error"));
    bool test = yyjson_get_bool(yyjson_obj_get(value, "test"));
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_obj_get(value, "doc"));
    struct ek_jsonpatch_op *ops = NULL;
    struct ek_err err = {0};
    size_t n = 0;

    (void)ctx;
    ck_assert_int_eq(ek_jsonpatch_parse(yyjson_obj_get(value, "patch"), doc, &ops, &n, &err), 0);
    int rc = ek_jsonpatch_apply(doc, &root, ops, n, 0, NULL, NULL, &err);
    ck_assert_msg(rc == (!error ? 0
                         : test ? EK_E_CONFLICT
                                : EK_E_INVAL),
                  "line %zu: %d %s", line, rc, err.message);
    if (error)
        ck_assert_msg(!strcmp(err.message, error), "line %zu: %s", line, err.message);
    yyjson_doc *got = yyjson_mut_val_imut_copy(root, NULL);
    ck_assert_msg(
        ek_json_equal(yyjson_doc_get_root(got), yyjson_obj_get(value, error ? "doc" : "result")),
        "line %zu", line);
    yyjson_doc_free(got);
    ek_free(ops);
    yyjson_mut_doc_free(doc);
}

START_TEST(answers_to_generated_patches)
{
    ck_assert_uint_ge(jsonlines_read(EK_TEST_DATA "/jsonpatch/jsonpatch.jsonl", run_case, NULL),
                      300);
}
END_TEST

/* Every allocation fails in turn: an error, and the tree as it was. */
START_TEST(memory_may_end)
{
    static const char before[] = "{\"a\":{\"b\":[1]}}";
    yyjson_doc *read = read_doc(before);
    yyjson_doc *patch =
        read_doc("[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c~1d\"},{\"op\":\"add\","
                 "\"path\":\"/a/b/0\",\"value\":{\"x\":\"y\"}},{\"op\":\"remove\","
                 "\"path\":\"/a\"}]");
    int rc = EK_E_NOMEM;

    for (long k = 1; rc && k < 200; k++) {
        yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc), *other = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
        struct ek_jsonpatch_op *ops = NULL;
        size_t n = 0;
        ck_assert_int_eq(ek_jsonpatch_parse(yyjson_doc_get_root(patch), other, &ops, &n, NULL), 0);
        ek_alloc_fail_after(k);
        rc = ek_jsonpatch_apply(doc, &root, ops, n, 0, NULL, NULL, NULL);
        ek_alloc_fail_after(0);
        char *got = jsonlines_mut_text(root);
        ck_assert_msg(rc == 0 || rc == EK_E_NOMEM, "%ld: %d", k, rc);
        ck_assert_str_eq(got, rc ? before : "{\"c/d\":{\"b\":[1]}}");
        free(got);
        ek_free(ops);
        yyjson_mut_doc_free(doc);
        yyjson_mut_doc_free(other);
    }
    ck_assert_int_eq(rc, 0);
    yyjson_doc_free(read);
    yyjson_doc_free(patch);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("jsonpatch");

    tcase_add_loop_test(t, tokens_are_escaped_and_read, 0, EK_ARRAY_SIZE(tokens));
    tcase_add_test(t, odd_escapes_stand_for_themselves);
    tcase_add_loop_test(t, patches_are_applied, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(t, a_failure_leaves_no_trace);
    tcase_add_test(t, copies_are_bounded);
    tcase_add_test(t, large_objects_are_compared);
    tcase_add_test(t, depth_is_bounded);
    tcase_add_loop_test(t, malformed_patches_are_refused, 0, EK_ARRAY_SIZE(malformed));
    tcase_add_test(t, answers_to_generated_patches);
    tcase_add_test(t, memory_may_end);
    return ek_test_run("jsonpatch", t);
}
