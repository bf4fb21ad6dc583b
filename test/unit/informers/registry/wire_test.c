/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "informers/registry/wire.h"
#include "test/support/suite.h"

#define BYTES(literal)                                                                             \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

static const struct {
    const char *name;
    struct ek_str message;
    int rc;
    const char *text; /* name|package|channel|version|skipRange|replaces|skips,|deprecated */
} bundles[] = {
    {"all fields",
     BYTES("\x0a\x02v2\x12\x01p\x1a\x06stable\x4a\x05"
           "2.0.0\x52\x06<3.0.0\x6a\x02v1\x72\x02s1\x72\x02s2"),
     0, "v2|p|stable|2.0.0|<3.0.0|v1|s1,s2,|"},
    {"nothing", BYTES(""), 0, "|||||||"},
    {"the last one stays",
     BYTES("\x0a\x01"
           "a\x0a\x01"
           "b"),
     0, "b|||||||"},
    {"other fields are passed over",
     BYTES("\x22\x03"
           "csv\x2a\x00\x3a\x01x\x78\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x81\x01"
           "12345678\x85\x01"
           "1234\x0a\x01n"),
     0, "n|||||||"},
    {"another wire type", BYTES("\x08\x05\x0a\x01n"), 0, "n|||||||"},
    {"another wire type behind", BYTES("\x0a\x01n\x08\x05"), 0, "n|||||||"},
    {"deprecated", BYTES("\x0a\x01n\x62\x12\x12\x00\x0a\x0eolm.deprecated\x62\x03\x0a\x01x"), 0,
     "n|||||||deprecated"},
    {"a value of that text is no type", BYTES("\x62\x10\x12\x0eolm.deprecated"), 0, "|||||||"},
    {"UTF-8", BYTES("\x0a\x02\xc3\xa9"), 0, "\xc3\xa9|||||||"},
    {"no UTF-8", BYTES("\x0a\x01\xc3"), EK_E_PARSE, NULL},
    {"a NUL",
     BYTES("\x0a\x03"
           "a\0b"),
     EK_E_PARSE, NULL},
    {"a NUL in a skip", BYTES("\x72\x01\0"), EK_E_PARSE, NULL},
    {"a text longer than the message",
     BYTES("\x0a\x05"
           "ab"),
     EK_E_PARSE, NULL},
    {"a length of 64 bits", BYTES("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), EK_E_PARSE,
     NULL},
    {"a varint of eleven bytes", BYTES("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"),
     EK_E_PARSE, NULL},
    {"a varint over 64 bits", BYTES("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), EK_E_PARSE,
     NULL},
    {"a key without a value", BYTES("\x0a"), EK_E_PARSE, NULL},
    {"field 0", BYTES("\x02\x00"), EK_E_PARSE, NULL},
    {"a group", BYTES("\x0b"), EK_E_PARSE, NULL},
    {"eight bytes that are not there", BYTES("\x09\x00"), EK_E_PARSE, NULL},
    {"four bytes that are not there", BYTES("\x0d\x00"), EK_E_PARSE, NULL},
    {"a malformed property", BYTES("\x62\x01\x0a"), EK_E_PARSE, NULL},
};

START_TEST(bundles_are_read)
{
    struct ek_registry_bundle bundle = {0};
    struct ek_err err = {0};
    char skips[128] = "", got[512];

    int rc = ek_registry_bundle_read(bundles[_i].message, &bundle, &err);
    ck_assert_msg(rc == bundles[_i].rc && rc == err.code, "%s: %d %s", bundles[_i].name, rc,
                  err.message);
    if (rc)
        return;
    size_t n = 0;
    for (size_t i = 0; i < bundle.n_skips; i++)
        n += (size_t)snprintf(skips + n, sizeof skips - n, "%.*s,", (int)bundle.skips[i].len,
                              bundle.skips[i].p);
#define TEXT(s) (int)(s).len, (s).p ? (s).p : ""
    snprintf(got, sizeof got, "%.*s|%.*s|%.*s|%.*s|%.*s|%.*s|%s|%s", TEXT(bundle.name),
             TEXT(bundle.package), TEXT(bundle.channel), TEXT(bundle.version),
             TEXT(bundle.skip_range), TEXT(bundle.replaces), skips,
             bundle.deprecated ? "deprecated" : "");
    const char *want = bundles[_i].text;
    ck_assert_msg(!strcmp(got, want), "%s: %s, not %s", bundles[_i].name, got, want);
    ek_registry_bundle_done(&bundle);
}
END_TEST

START_TEST(skips_are_bounded)
{
    EK_AUTO(ek_buf) message;
    struct ek_registry_bundle bundle = {0};

    ek_buf_init(&message, 1 << 20);
    for (int i = 0; i < EK_REGISTRY_SKIPS_MAX; i++)
        ek_buf_append(&message, "\x72\x01s", 3);
    ck_assert_int_eq(
        ek_registry_bundle_read((struct ek_str){message.data, message.len}, &bundle, NULL), 0);
    ck_assert_uint_eq(bundle.n_skips, EK_REGISTRY_SKIPS_MAX);
    ek_registry_bundle_done(&bundle);
    ek_buf_append(&message, "\x72\x01s", 3);
    ck_assert_int_eq(
        ek_registry_bundle_read((struct ek_str){message.data, message.len}, &bundle, NULL),
        EK_E_LIMIT);
}
END_TEST

START_TEST(packages_have_a_default_channel)
{
    static const struct ek_str good = BYTES("\x0a\x01p\x12\x03\x0a\x01"
                                            "a\x1a\x06stable\x18\x05");
    static const struct ek_str bad[] = {BYTES("\x1a\x06stab"), BYTES("\x1a\x01\0")};
    struct ek_str channel;

    ck_assert_int_eq(ek_registry_package_read(good, &channel, NULL), 0);
    ck_assert(ek_str_eq(channel, EK_STR("stable")));
    for (size_t i = 0; i < EK_ARRAY_SIZE(bad); i++)
        ck_assert_int_eq(ek_registry_package_read(bad[i], &channel, NULL), EK_E_PARSE);
}
END_TEST

static int note(void *ctx, struct ek_str message, struct ek_err *err)
{
    struct ek_buf *seen = ctx;

    if (ek_str_eq(message, EK_STR("stop")))
        return ek_err_set(err, EK_E_CANCELED, "stop");
    ek_buf_append(seen, message.p, message.len);
    return ek_buf_puts(seen, ";");
}

static const struct {
    const char *name;
    struct ek_str body;
    int rc;
    const char *seen;
    bool complete;
} bodies[] = {
    {"two messages", BYTES("\0\0\0\0\1a\0\0\0\0\2bc"), 0, "a;bc;", true},
    {"an empty message", BYTES("\0\0\0\0\0\0\0\0\0\1a"), 0, ";a;", true},
    {"nothing", BYTES(""), 0, "", true},
    {"half a prefix", BYTES("\0\0\0\0\1a\0\0"), 0, "a;", false},
    {"half a message", BYTES("\0\0\0\0\3ab"), 0, "", false},
    {"compressed", BYTES("\1\0\0\0\1a"), EK_E_UNSUPPORTED, "", false},
    {"another flag", BYTES("\2\0\0\0\1a"), EK_E_PARSE, "", false},
    {"as long as may be", BYTES("\0\0\x40\0\0"), 0, "", false},
    {"too long by one", BYTES("\0\0\x40\0\1"), EK_E_LIMIT, "", false},
    {"as long as can be said", BYTES("\0\xff\xff\xff\xff"), EK_E_LIMIT, "", false},
    {"the receiver ends it", BYTES("\0\0\0\0\1a\0\0\0\0\4stop\0\0\0\0\1b"), EK_E_CANCELED, "a;",
     false},
};

/* Every body in pieces of every size. */
START_TEST(bodies_are_cut_into_messages)
{
    struct ek_str body = bodies[_i].body;

    for (size_t piece = 1; piece <= body.len + 1; piece++) {
        struct ek_grpc_reader reader;
        EK_AUTO(ek_buf) seen;
        int rc = 0;
        ek_buf_init(&seen, 1000);
        ek_grpc_reader_init(&reader);
        for (size_t at = 0; at < body.len && !rc; at += piece) {
            size_t n = body.len - at < piece ? body.len - at : piece;
            rc = ek_grpc_read(&reader, (struct ek_str){body.p + at, n}, note, &seen, NULL);
        }
        ck_assert_msg(rc == bodies[_i].rc, "%s in pieces of %zu: %d", bodies[_i].name, piece, rc);
        ck_assert_str_eq(ek_buf_str(&seen), bodies[_i].seen);
        ck_assert_msg(rc || ek_grpc_is_complete(&reader) == bodies[_i].complete, "%s",
                      bodies[_i].name);
        ek_grpc_reader_done(&reader);
    }
}
END_TEST

START_TEST(requests_have_one_text)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1000);
    ek_grpc_request(&out, 1, EK_STR("ab"));
    ek_grpc_request(&out, 1, (struct ek_str){0});
    ck_assert_uint_eq(out.len, 14);
    ck_assert_mem_eq(out.data, "\0\0\0\0\4\x0a\2ab\0\0\0\0\0", 14);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("wire");

    tcase_add_loop_test(tcase, bundles_are_read, 0, EK_ARRAY_SIZE(bundles));
    tcase_add_test(tcase, skips_are_bounded);
    tcase_add_test(tcase, packages_have_a_default_channel);
    tcase_add_loop_test(tcase, bodies_are_cut_into_messages, 0, EK_ARRAY_SIZE(bodies));
    tcase_add_test(tcase, requests_have_one_text);
    return ek_test_run("wire", tcase);
}
