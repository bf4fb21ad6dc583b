/* SPDX-License-Identifier: Apache-2.0 */
/* Where events end, in pieces of any size. */
#include "reconcilers/proxy/stream.h"

#include "api/base/mem.h"
#include "test/support/suite.h"

#define JSON     "application/json"
#define PROTOBUF "application/vnd.kubernetes.protobuf;stream=watch"
#define BYTES(s) (s), sizeof(s) - 1

/* before: octets that were sent; then comes data, of which n octets go on when the stream ends. */
static const struct {
    const char *name, *type, *encoding;
    const char *before;
    size_t n_before;
    bool between; /* after before */
    const char *data;
    size_t n_data, n;
    bool ends; /* after data */
} rows[] = {
    {"nothing", JSON, NULL, BYTES(""), true, BYTES("{}\n{}\n"), 3, true},
    {"a line", JSON, NULL, BYTES("{}\n"), true, BYTES("{}\n"), 3, true},
    {"half a line", JSON, NULL, BYTES("{}\n{"), false, BYTES("}\n{}"), 2, true},
    {"no end of a line", JSON, NULL, BYTES("{"), false, BYTES("\"a\""), 3, false},
    {"parameters", JSON "; charset=utf-8", NULL, BYTES("{"), false, BYTES("}\n"), 2, true},
    {"another case", "Application/JSON", NULL, BYTES("{"), false, BYTES("}\n"), 2, true},
    {"no frame", PROTOBUF, NULL, BYTES(""), true, BYTES("\0\0\0\1a\0\0\0\1b"), 5, true},
    {"a frame", PROTOBUF, NULL, BYTES("\0\0\0\1\n"), true, BYTES("\0\0\0\1b"), 5, true},
    {"an empty frame", PROTOBUF, NULL, BYTES("\0\0\0\0"), true, BYTES("\0\0\0\0"), 4, true},
    {"half a length", PROTOBUF, NULL, BYTES("\0\0"), false, BYTES("\0\1ab"), 3, true},
    {"a length", PROTOBUF, NULL, BYTES("\0\0\0\2"), false, BYTES("abc"), 2, true},
    {"half a frame", PROTOBUF, NULL, BYTES("\0\0\0\3a\n"), false, BYTES("b\n"), 1, true},
    {"a long frame", PROTOBUF, NULL, BYTES("\0\0\1\1a"), false, BYTES("b\n"), 2, false},
    {"the longest", PROTOBUF, NULL, BYTES("\377\377\377\377"), false, BYTES("b\n"), 2, false},
    {"no type", NULL, NULL, BYTES("{}\n"), false, BYTES("{}\n"), 3, false},
    {"no type, nothing", NULL, NULL, BYTES(""), true, BYTES("{}\n"), 3, false},
    {"CBOR", "application/cbor-seq", NULL, BYTES("\n"), false, BYTES("\n"), 1, false},
    {"a longer name", "application/json-seq", NULL, BYTES("{}\n"), false, BYTES("\n"), 1, false},
    {"compressed", JSON, "gzip", BYTES("\n"), false, BYTES("\n"), 1, false},
    {"not compressed", JSON, "identity", BYTES("\n"), true, BYTES("\n\n"), 1, true},
};

START_TEST(whole)
{
    struct ek_stream stream;

    ek_stream_begin(&stream, rows[_i].type, rows[_i].encoding);
    ck_assert(stream.between);
    ck_assert_uint_eq(ek_stream_read(&stream, rows[_i].before, rows[_i].n_before, false),
                      rows[_i].n_before);
    ck_assert_msg(stream.between == rows[_i].between, "%s", rows[_i].name);
    size_t n = ek_stream_read(&stream, rows[_i].data, rows[_i].n_data, true);
    ck_assert_msg(n == rows[_i].n && stream.between == rows[_i].ends, "%s: %zu", rows[_i].name, n);
}
END_TEST

/* The same, an octet at a time. */
START_TEST(octets)
{
    struct ek_stream stream;
    size_t n = 0;

    ek_stream_begin(&stream, rows[_i].type, rows[_i].encoding);
    for (size_t i = 0; i < rows[_i].n_before; i++)
        ek_stream_read(&stream, rows[_i].before + i, 1, false);
    ck_assert_msg(stream.between == rows[_i].between, "%s", rows[_i].name);
    do
        n += ek_stream_read(&stream, rows[_i].data + n, 1, true);
    while (n < rows[_i].n_data && !stream.between);
    ck_assert_msg(n == rows[_i].n && stream.between == rows[_i].ends, "%s: %zu", rows[_i].name, n);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("stream");

    tcase_add_loop_test(tcase, whole, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, octets, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("proxy_stream", tcase);
}
