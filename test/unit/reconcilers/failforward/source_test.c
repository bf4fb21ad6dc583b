/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "reconcilers/failforward/source.h"
#include "test/support/suite.h"

#define SERVICE(port)                                                                              \
    "\"status\":{\"registryService\":{\"serviceName\":\"cat\",\"serviceNamespace\":\"olm\","       \
    "\"port\":" port "}}"

static const struct {
    const char *name, *source, *address;
} rows[] = {
    {"address", "{\"spec\":{\"address\":\"10.0.0.1:50051\"},\"status\":{}}", "10.0.0.1:50051"},
    {"Service", "{\"spec\":{}," SERVICE("\"50051\"") "}", "cat.olm.svc:50051"},
    {"the address is preferred", "{\"spec\":{\"address\":\"a:1\"}," SERVICE("\"50051\"") "}",
     "a:1"},
    {"an empty address is none", "{\"spec\":{\"address\":\"\"}," SERVICE("\"50051\"") "}",
     "cat.olm.svc:50051"},
    {"a port of a wrong type", "{\"spec\":{}," SERVICE("50051") "}", ""},
    {"no port yet", "{\"spec\":{}," SERVICE("\"\"") "}", ""},
    {"nothing", "{}", ""},
};

START_TEST(a_source_has_an_address)
{
    struct ek_obj *source;
    char address[EK_FF_SOURCE_TEXT_SIZE];

    ck_assert_int_eq(ek_obj_parse(rows[_i].source, strlen(rows[_i].source), &source, NULL), 0);
    ek_ff_source_address(source, address);
    ck_assert_msg(!strcmp(address, rows[_i].address), "%s: \"%s\"", rows[_i].name, address);
    ek_obj_unref(source);
}
END_TEST

START_TEST(a_text_that_is_too_long_is_none)
{
    char text[1000], address[EK_FF_SOURCE_TEXT_SIZE];
    struct ek_obj *source;

    int n = snprintf(text, sizeof text, "{\"spec\":{\"address\":\"%0*d:1\"}}",
                     EK_FF_SOURCE_TEXT_SIZE, 1);
    ck_assert_int_eq(ek_obj_parse(text, (size_t)n, &source, NULL), 0);
    ek_ff_source_address(source, address);
    ck_assert_str_eq(address, "");
    ek_obj_unref(source);
}
END_TEST

START_TEST(a_revision_follows_the_connection)
{
    static const char *const sources[] = {
        "{\"metadata\":{\"uid\":\"a\"}}",
        "{\"metadata\":{\"uid\":\"b\"}}",
        "{\"metadata\":{\"uid\":\"b\"},\"status\":{\"connectionState\":{\"lastConnect\":\"1\"}}}",
        "{\"metadata\":{\"uid\":\"b\"},\"status\":{\"connectionState\":{\"lastConnect\":\"1\","
        "\"lastObservedState\":\"READY\"}}}",
    };
    char last[EK_FF_SOURCE_TEXT_SIZE] = "", revision[EK_FF_SOURCE_TEXT_SIZE];

    for (size_t i = 0; i < EK_ARRAY_SIZE(sources); i++) {
        struct ek_obj *source;
        ck_assert_int_eq(ek_obj_parse(sources[i], strlen(sources[i]), &source, NULL), 0);
        ek_ff_source_revision(source, revision);
        ck_assert_str_ne(revision, last);
        memcpy(last, revision, sizeof last);
        ek_obj_unref(source);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("source");

    tcase_add_loop_test(tcase, a_source_has_an_address, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, a_text_that_is_too_long_is_none);
    tcase_add_test(tcase, a_revision_follows_the_connection);
    return ek_test_run("source", tcase);
}
