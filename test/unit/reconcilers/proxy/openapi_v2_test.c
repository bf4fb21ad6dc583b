/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/openapi_v2.h"

#include <string.h>

#include "test/support/suite.h"

static const struct {
    const char *method, *target;
    bool is_document;
} requests[] = {
    {"GET", "/openapi/v2", true},   {"GET", "/openapi/v2?timeout=32s", true},
    {"HEAD", "/openapi/v2", false}, {"POST", "/openapi/v2", false},
    {"GET", "/openapi/v2/", false}, {"GET", "/openapi/v3", false},
    {"GET", "/api/v1/pods", false},
};

START_TEST(reads_requests)
{
    EK_AUTO(ek_proxy_request) request;
    struct ek_proxy_answer refusal;

    ck_assert(ek_proxy_request_read(requests[_i].method, requests[_i].target, &request, &refusal));
    ck_assert_int_eq(ek_openapi_v2_is_document(&request), requests[_i].is_document);
}
END_TEST

static const struct {
    const char *type;
    int form; /* -1: another one */
} types[] = {
    {"application/json", EK_OPENAPI_V2_JSON},
    {"Application/JSON; charset=utf-8", EK_OPENAPI_V2_JSON},
    {"application/com.github.proto-openapi.spec.v2.v1.0+protobuf", EK_OPENAPI_V2_PROTOBUF},
    {"application/com.github.proto-openapi.spec.v2@v1.0+protobuf", EK_OPENAPI_V2_PROTOBUF},
    {"application/jsonx", -1},
    {"text/plain", -1},
    {"", -1},
};

START_TEST(reads_types)
{
    enum ek_openapi_v2_form form;

    ck_assert_int_eq(ek_openapi_v2_form(types[_i].type, &form), types[_i].form >= 0);
    if (types[_i].form >= 0)
        ck_assert_int_eq(form, types[_i].form);
}
END_TEST

static const struct {
    const char *if_none_match;
    bool known;
} tags[] = {
    {"\"A\"", true}, {"W/\"A\"", true}, {"\"B\" , \"A\"", true},
    {"*", true},     {"\"B\"", false},  {"A", false},
    {"", false},     {"\"AB\"", false}, {"W/\"B\"", false},
    {"W/", false},
};

START_TEST(compares_tags)
{
    ck_assert_msg(ek_openapi_v2_is_known(tags[_i].if_none_match, "\"A\"") == tags[_i].known, "%s",
                  tags[_i].if_none_match);
}
END_TEST

/* ---- Merging: what of each is used ("y", "n"), and the result ---- */

#define DOCS 4

static void expect_merged(enum ek_openapi_v2_form form, const struct ek_str *texts,
                          const char *used, struct ek_str merged)
{
    EK_AUTO(ek_buf) out;
    struct ek_openapi_v2_doc docs[DOCS] = {0};
    size_t n = strlen(used);

    for (size_t i = 0; i < n; i++)
        docs[i].text = texts[i];
    ek_buf_init(&out, 1 << 20);
    bool done = ek_openapi_v2_merge(form, docs, n, &out);
    for (size_t i = 0; i < n; i++)
        ck_assert_int_eq(docs[i].used, used[i] == 'y');
    ck_assert_int_eq(done, strchr(used, 'y') != NULL);
    if (!done)
        return;
    ck_assert_msg(out.len == merged.len && !memcmp(out.data, merged.p, out.len), "%s",
                  ek_buf_str(&out));
}

#define INFO(version) "\"info\":{\"version\":\"" version "\"}"

static const struct {
    const char *texts[DOCS], *used, *merged;
} jsons[] = {
    /* the newest one goes before, whatever the order; others add what it lacks */
    {{"{\"paths\":{\"/a\":1,\"/b\":1}," INFO("v1.34.9") ",\"definitions\":{\"A\":1,\"B\":1}}",
      "{\"swagger\":\"2.0\"," INFO("v1.36.0") ",\"paths\":{\"/a\":2},\"definitions\":{\"A\":2}}"},
     "yy",
     "{\"swagger\":\"2.0\"," INFO("v1.36.0") ",\"paths\":{\"/a\":2,\"/b\":1},"
                                             "\"definitions\":{\"A\":2,\"B\":1}}"},
    /* of equal ones the first */
    {{"{\"paths\":{\"/a\":1}," INFO("v1.36.0") "}", "{\"paths\":{\"/a\":2,\"/b\":2},"
                                                    "\"x\":1," INFO("v1.36.1") "}"},
     "yy",
     "{\"paths\":{\"/a\":1,\"/b\":2}," INFO("v1.36.0") "}"},
    /* a version that is not known is the oldest */
    {{"{\"paths\":{\"/a\":1}}", "{\"paths\":{\"/a\":2}," INFO("unversioned") "}",
      "{\"paths\":{\"/a\":3}," INFO("v1.2.0") "}"},
     "yyy",
     "{\"paths\":{\"/a\":3}," INFO("v1.2.0") "}"},
    /* each map of names */
    {{"{\"paths\":{}}", "{\"paths\":{},\"parameters\":{\"p\":1},\"responses\":{\"r\":1},"
                        "\"securityDefinitions\":{\"s\":1},\"tags\":{\"t\":1}}"},
     "yy",
     "{\"paths\":{},\"parameters\":{\"p\":1},\"responses\":{\"r\":1},"
     "\"securityDefinitions\":{\"s\":1}}"},
    {{"{\"paths\":{},\"parameters\":{\"p\":1}}", "{\"paths\":{},\"parameters\":{\"q\":2,\"p\":2}}"},
     "yy",
     "{\"paths\":{},\"parameters\":{\"p\":1,\"q\":2}}"},
    /* names are text, and texts that stand twice are one */
    {{"{\"paths\":{\"/\\u00e4\":1}}", "{\"paths\":{\"/\xC3\xA4\":2,\"/\\\"\":[{}]}}"},
     "yy",
     "{\"paths\":{\"/\xC3\xA4\":1,\"/\\\"\":[{}]}}"},
    {{"{\"paths\":{\"/a\":1,\"/a\":2}}"}, "y", "{\"paths\":{\"/a\":2}}"},
    {{"{\"paths\":{\"/a\":1}}"}, "y", "{\"paths\":{\"/a\":1}}"},
    /* what is no document is left out */
    {{"{\"paths\":{\"/a\":1}}", "{\"paths\":[]}", "{\"paths\":{\"/b\":1}", ""},
     "ynnn",
     "{\"paths\":{\"/a\":1}}"},
    {{"[]", "{\"paths\":{\"/\\u0000\":1}}", "{\"paths\":{},\"definitions\":[]}", "{}"}, "nnnn", ""},
    {{"{\"paths\":{},\"\\u0000\":1}", "{\"paths\":{},\"parameters\":{\"\\u0000\":1}}"}, "nn", ""},
};

START_TEST(merges_json)
{
    struct ek_str texts[DOCS];

    for (size_t i = 0; i < DOCS; i++)
        texts[i] = ek_str_from(jsons[_i].texts[i] ? jsons[_i].texts[i] : "");
    expect_merged(EK_OPENAPI_V2_JSON, texts, jsons[_i].used, ek_str_from(jsons[_i].merged));
}
END_TEST

/* Fields by hand: tag, size, octets. "\x42" is paths, "\x4a" definitions, "\x12" a path item of
 * paths, "\x0a" a name, or an entry of definitions; "\x12\x04\x12\x02" info.version of two octets.
 */
#define V(a)    "\x12\x06\x12\x04v1." a
#define PATH(a) "\x12\x03\x0a\x01" a
#define B(text) EK_STR(text)

static const struct {
    struct ek_str texts[DOCS];
    const char *used;
    struct ek_str merged;
} wires[] = {
    {{B("\x0a\x03"
        "2.0" V("4") "\x42\x05" PATH("a") "\x4a\x05\x0a\x03\x0a\x01"
                                          "D"),
      B(V("6") "\x42\x0a" PATH("a") PATH("b"))},
     "yy",
     B(V("6") "\x42\x0a" PATH("a") PATH("b") "\x4a\x05\x0a\x03\x0a\x01"
                                             "D")},
    /* of a map in two parts; the value of an entry, and fields of other types, stay as they are */
    {{B("\x42\x05" PATH("a") "\x42\x05" PATH("b")),
      B("\x42\x05" PATH("b") "\x42\x0b\x12\x09\x0a\x01"
                             "c\x12\x04\xff\xff\xff\xff\x08\x07")},
     "yy",
     B("\x42\x05" PATH("a") "\x42\x05" PATH("b") "\x42\x0b\x12\x09\x0a\x01"
                                                 "c\x12\x04\xff\xff\xff\xff")},
    /* the last name counts */
    {{B("\x42\x05" PATH("b")), B("\x42\x08\x12\x06\x0a\x01"
                                 "a\x0a\x01"
                                 "b")},
     "yy",
     B("\x42\x05" PATH("b"))},
    /* parameters, responses, securityDefinitions */
    {{B("\x42\x00"), B("\x42\x00\x52\x05\x0a\x03\x0a\x01"
                       "p\x5a\x05\x0a\x03\x0a\x01"
                       "r"
                       "\x6a\x05\x0a\x03\x0a\x01"
                       "s")},
     "yy",
     B("\x42\x00\x52\x05\x0a\x03\x0a\x01"
       "p\x5a\x05\x0a\x03\x0a\x01"
       "r"
       "\x6a\x05\x0a\x03\x0a\x01"
       "s")},
    /* no documents: no paths, cut off, a length beyond the end, a group, a tag of 0, a NUL */
    {{B("\x0a\x03"
        "2.0"),
      B("\x42\x05\x12\x03\x0a\x01"),
      B("\x42\x05\x12\x07\x0a\x01"
        "a"),
      B("")},
     "nnnn",
     B("")},
    {{B("\x42\x00\x0b\x0c"), B("\x42\x00\x02\x00"), B("\x42\x05\x12\x03\x0a\x01\x00"),
      B("\x42\x00\x12\x02\x12\x05")},
     "nnnn",
     B("")},
    {{B("\x42\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
      B("\x42\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
      B("\x42\x00\x09"
        "1234567"),
      B("\x42\x00\x42\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
     "ynnn",
     B("\x42\x00\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")},
    {{B("\x42\x00\x09"
        "12345678\x0d"
        "1234"),
      B("\x42\x00\x0e"), B("\x42\x00\x0f")},
     "ynn",
     B("\x42\x00\x09"
       "12345678\x0d"
       "1234")},
};

START_TEST(merges_protobuf)
{
    expect_merged(EK_OPENAPI_V2_PROTOBUF, wires[_i].texts, wires[_i].used, wires[_i].merged);
}
END_TEST

START_TEST(needs_room)
{
    static const struct ek_str texts[] = {B("{\"paths\":{\"/a\":1}}"), B("\x42\x05" PATH("a"))};
    struct ek_openapi_v2_doc doc = {.text = texts[_i]};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, texts[_i].len - 1);
    ck_assert(
        !ek_openapi_v2_merge(_i ? EK_OPENAPI_V2_PROTOBUF : EK_OPENAPI_V2_JSON, &doc, 1, &out));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("openapi_v2");

    tcase_add_loop_test(tcase, reads_requests, 0, (int)EK_ARRAY_SIZE(requests));
    tcase_add_loop_test(tcase, reads_types, 0, (int)EK_ARRAY_SIZE(types));
    tcase_add_loop_test(tcase, compares_tags, 0, (int)EK_ARRAY_SIZE(tags));
    tcase_add_loop_test(tcase, merges_json, 0, (int)EK_ARRAY_SIZE(jsons));
    tcase_add_loop_test(tcase, merges_protobuf, 0, (int)EK_ARRAY_SIZE(wires));
    tcase_add_loop_test(tcase, needs_room, 0, 2);
    return ek_test_run("proxy_openapi_v2", tcase);
}
