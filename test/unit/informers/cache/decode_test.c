/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding of pages and frames that no healthy server sends; healthy ones are replayed elsewhere.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "informers/cache/decode.h"
#include "test/support/list_text.h"
#include "test/support/suite.h"

static const struct ek_decode_type lease = {"coordination.k8s.io/v1", "Lease", false};

static const struct {
    const char *name, *json;
    int code;
} documents[] = {
    {"no JSON", "<html>", EK_E_PARSE},
    {"cut", "{\"kind\":\"LeaseList\",\"items\":[", EK_E_PARSE},
    {"no object", "[]", EK_E_PARSE},
    {"not a list", "{\"kind\":\"Lease\"}", EK_E_PARSE},
    {"a table", "{\"kind\":\"Table\",\"rows\":[]}", EK_E_UNSUPPORTED},
    {"items of another kind",
     "{\"kind\":\"LeaseList\",\"items\":[{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}]}",
     EK_E_UNSUPPORTED},
    {"an item without a name", "{\"kind\":\"LeaseList\",\"items\":[{\"metadata\":{}}]}",
     EK_E_PARSE},
    {"an item that is no object", "{\"kind\":\"LeaseList\",\"items\":[1]}", EK_E_PARSE},
    {"items of the wrong type", "{\"kind\":\"LeaseList\",\"items\":{}}", EK_E_PARSE},
    {"items null", "{\"kind\":\"LeaseList\",\"items\":null}", 0},
    {"items absent", "{\"kind\":\"LeaseList\"}", 0},
    {"metadata of the wrong type", "{\"kind\":\"LeaseList\",\"metadata\":7,\"items\":[]}", 0},
};

START_TEST(a_page_is_checked)
{
    struct ek_list_page page;
    struct ek_err err = {0};
    int rc = list_text_read(documents[_i].json, strlen(documents[_i].json), &lease, &page, &err);

    ck_assert_msg(rc == documents[_i].code && rc == err.code, "%s: %d %s", documents[_i].name, rc,
                  err.message);
    if (!rc)
        ek_list_page_done(&page);
}
END_TEST

static const struct {
    const char *name, *json;
    int code;
    enum ek_watch_type type;
} frames[] = {
    {"no type", "{\"object\":{}}", EK_E_PARSE, EK_WATCH_UNKNOWN},
    {"no object", "{\"type\":\"ADDED\"}", EK_E_PARSE, EK_WATCH_UNKNOWN},
    {"no name", "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Lease\"}}", EK_E_PARSE,
     EK_WATCH_UNKNOWN},
    {"new type of event", "{\"type\":\"SIGH\",\"object\":{}}", 0, EK_WATCH_UNKNOWN},
    {"another kind", "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\"}}", 0, EK_WATCH_UNKNOWN},
    {"a table", "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Table\"}}", 0, EK_WATCH_UNKNOWN},
    {"a bookmark without a version", "{\"type\":\"BOOKMARK\",\"object\":{}}", 0, EK_WATCH_BOOKMARK},
    {"an error without a status", "{\"type\":\"ERROR\",\"object\":{}}", 0, EK_WATCH_ERROR},
    {"an absurd error",
     "{\"type\":\"ERROR\",\"object\":{\"code\":-7,\"details\":{\"retryAfterSeconds\":"
     "9223372036854775807}}}",
     0, EK_WATCH_ERROR},
};

START_TEST(a_frame_is_checked)
{
    struct ek_watch_frame frame;
    struct ek_err err = {0};
    int rc = ek_decode_watch_frame(frames[_i].json, strlen(frames[_i].json), &lease, &frame, &err);

    ck_assert_msg(rc == frames[_i].code && rc == err.code, "%s: %d %s", frames[_i].name, rc,
                  err.message);
    if (rc)
        return;
    ck_assert_msg(frame.type == frames[_i].type, "%s: type %d", frames[_i].name, (int)frame.type);
    if (frame.type == EK_WATCH_ERROR)
        ck_assert_int_ne(frame.status.code, 0);
    ek_watch_frame_done(&frame);
}
END_TEST

/* The option selects metadata alone; without the option, objects are whole. */
START_TEST(metadata_alone_is_another_kind_unless_wanted)
{
    static const struct ek_decode_type light = {"coordination.k8s.io/v1", "Lease", true};
    static const char page_json[] = "{\"kind\":\"PartialObjectMetadataList\",\"items\":[{\"kind\":"
                                    "\"PartialObjectMetadata\",\"metadata\":{\"name\":\"a\"}}]}";
    static const char frame_json[] = "{\"type\":\"ADDED\",\"object\":{\"kind\":"
                                     "\"PartialObjectMetadata\",\"metadata\":{\"name\":\"a\"}}}";
    struct ek_list_page page;
    struct ek_watch_frame frame;

    ck_assert_int_eq(list_text_read(page_json, strlen(page_json), &lease, &page, NULL),
                     EK_E_UNSUPPORTED);
    ck_assert_int_eq(list_text_read(page_json, strlen(page_json), &light, &page, NULL), 0);
    ck_assert_uint_eq(page.n, 1);
    ek_list_page_done(&page);
    ck_assert_int_eq(ek_decode_watch_frame(frame_json, strlen(frame_json), &lease, &frame, NULL),
                     0);
    ck_assert_int_eq(frame.type, EK_WATCH_UNKNOWN);
    ek_watch_frame_done(&frame);
    ck_assert_int_eq(ek_decode_watch_frame(frame_json, strlen(frame_json), &light, &frame, NULL),
                     0);
    ck_assert_int_eq(frame.type, EK_WATCH_ADDED);
    ek_watch_frame_done(&frame);
}
END_TEST

START_TEST(what_goes_back_in_a_path_is_bounded)
{
    static const struct {
        const char *name, *before;
        size_t n;
        const char *after;
        bool frame;
        int code;
    } rows[] = {
        {"the longest token", "{'kind':'LeaseList','metadata':{'continue':'", EK_CONTINUE_MAX,
         "'}}", false, 0},
        {"a longer token", "{'kind':'LeaseList','metadata':{'continue':'", EK_CONTINUE_MAX + 1,
         "'}}", false, EK_E_LIMIT},
        {"a list's longest version", "{'kind':'LeaseList','metadata':{'resourceVersion':'",
         EK_RESOURCE_VERSION_MAX, "'}}", false, 0},
        {"a list's longer version", "{'kind':'LeaseList','metadata':{'resourceVersion':'",
         EK_RESOURCE_VERSION_MAX + 1, "'}}", false, EK_E_LIMIT},
        {"a bookmark's", "{'type':'BOOKMARK','object':{'metadata':{'resourceVersion':'",
         EK_RESOURCE_VERSION_MAX + 1, "'}}}", true, EK_E_LIMIT},
        {"an object's", "{'type':'ADDED','object':{'metadata':{'name':'a','resourceVersion':'",
         EK_RESOURCE_VERSION_MAX + 1, "'}}}", true, EK_E_LIMIT},
    };
    EK_AUTO(ek_buf) json;
    struct ek_list_page page = {0};
    struct ek_watch_frame frame = {0};
    struct ek_err err = {0};

    ek_buf_init(&json, 20000);
    ek_buf_puts(&json, rows[_i].before);
    for (size_t i = 0; i < rows[_i].n; i++)
        ek_buf_puts(&json, "7");
    ek_buf_puts(&json, rows[_i].after);
    for (size_t i = 0; i < json.len; i++)
        if (json.data[i] == '\'')
            json.data[i] = '"';
    int rc = rows[_i].frame ? ek_decode_watch_frame(json.data, json.len, &lease, &frame, &err)
                            : list_text_read(json.data, json.len, &lease, &page, &err);
    ck_assert_msg(rc == rows[_i].code && rc == err.code, "%s: %d", rows[_i].name, rc);
    ek_list_page_done(&page);
    ek_watch_frame_done(&frame);
}
END_TEST

/* Without memory for one of many objects the page fails as a whole and leaks nothing. */
START_TEST(a_page_without_memory_fails_cleanly)
{
    static const char json[] = "{\"kind\":\"LeaseList\",\"items\":[{\"metadata\":{\"name\":\"a\"}},"
                               "{\"metadata\":{\"name\":\"b\",\"namespace\":\"n\"}}]}";
    struct ek_list_page page;
    int rc = EK_E_NOMEM;
    long n = 0;

    while (rc == EK_E_NOMEM) {
        ek_alloc_fail_after(++n);
        rc = list_text_read(json, sizeof json - 1, &lease, &page, NULL);
    }
    ek_alloc_fail_after(0);
    ck_assert_int_eq(rc, 0);
    ck_assert_int_gt(n, 1); /* some allocation did fail before */
    ck_assert_uint_eq(page.n, 2);
    ck_assert_str_eq(ek_obj_key(page.items[1]), "n/b");
    ck_assert_str_eq(ek_obj_kind(page.items[1]), "Lease");
    ck_assert_str_eq(ek_obj_api_version(page.items[1]), "coordination.k8s.io/v1");
    ek_list_page_done(&page);
}
END_TEST

/* Whatever the server puts into a Status, the error is a clean line. */
START_TEST(a_status_becomes_one_clean_line)
{
    static const char json[] = "{\"code\":410,\"reason\":\"Ex\\npired\",\"message\":"
                               "\"too\\r\\nold \\u001b[31m\"}";
    yyjson_doc *doc = ek_json_parse(json, sizeof json - 1, NULL);
    struct ek_err err = {0};

    ck_assert_int_eq(ek_decode_status(yyjson_doc_get_root(doc), &err), EK_E_GONE);
    ck_assert_str_eq(err.message, "too  old  [31m");
    ck_assert_str_eq(err.reason, "Ex pired");
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("decode");

    tcase_add_loop_test(tcase, a_page_is_checked, 0, (int)EK_ARRAY_SIZE(documents));
    tcase_add_loop_test(tcase, a_frame_is_checked, 0, (int)EK_ARRAY_SIZE(frames));
    tcase_add_loop_test(tcase, what_goes_back_in_a_path_is_bounded, 0, 6);
    tcase_add_test(tcase, metadata_alone_is_another_kind_unless_wanted);
    tcase_add_test(tcase, a_status_becomes_one_clean_line);
    tcase_add_test(tcase, a_page_without_memory_fails_cleanly);
    return ek_test_run("decode", tcase);
}
