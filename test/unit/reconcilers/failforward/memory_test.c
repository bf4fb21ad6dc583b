/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of an episode as a value, both ways round. */
#include "reconcilers/failforward/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

#define NOW  INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define HELD "\"held\":\"v2\""

/* What comes back of a value; "null" for an empty memory. */
static const struct {
    const char *name, *value, *back;
} rows[] = {
    {"nothing", "{}", "null"},
    {"no object", "[1]", "null"},
    {"all of it",
     "{\"failing\":\"v2\",\"since\":\"2025-12-31T23:00:00Z\",\"held\":\"v2\",\"switched\":true,"
     "\"recovered\":true,\"hops\":2,\"hopsSince\":\"2025-12-31T22:00:00Z\",\"writes\":[{\"name\":"
     "\"Hold\",\"count\":3,\"lastTime\":\"2025-12-31T23:59:00Z\"}]}",
     NULL},
    {"a change of the catalog",
     "{\"failing\":\"v3\",\"since\":\"2025-12-31T23:00:00Z\",\"catalogChanged\":"
     "\"2025-12-31T23:59:00Z\"}",
     NULL},
    {"a change of the catalog without a failure", "{\"catalogChanged\":\"2025-12-31T23:59:00Z\"}",
     "null"},
    {"another version that failed",
     "{\"failing\":\"v3\",\"since\":\"2025-12-31T23:00:00Z\",\"before\":[{\"writes\":[{\"name\":"
     "\"Release\",\"count\":2,\"lastTime\":\"2025-12-31T23:59:00Z\"}],\"failing\":\"v2\"}]}",
     NULL},
    {"other versions without a failure",
     "{\"before\":[{\"failing\":\"v2\",\"writes\":[{\"name\":"
     "\"Release\",\"count\":2}]}]}",
     "null"},
    {"more versions than are remembered, and others without a write",
     "{\"failing\":\"v9\",\"since\":\"2025-12-31T23:00:00Z\",\"before\":[{\"failing\":\"v8\"},7,{},"
     "{\"failing\":\"v5\"},{\"failing\":\"v4\",\"writes\":[{\"name\":\"Hold\",\"count\":1}]}]}",
     "{\"failing\":\"v9\",\"since\":\"2025-12-31T23:00:00Z\"}"},
    {"a failure without its begin is none", "{\"failing\":\"v2\"," HELD "}", "{" HELD "}"},
    {"a begin that is no time", "{\"failing\":\"v2\",\"since\":\"soon\"}", "null"},
    {"a time to come is now", "{\"failing\":\"v2\",\"since\":\"2027-01-01T00:00:00Z\"}",
     "{\"failing\":\"v2\",\"since\":\"2026-01-01T00:00:00Z\"}"},
    {"a time before the epoch", "{\"failing\":\"v2\",\"since\":\"1960-01-01T00:00:00Z\"}",
     "{\"failing\":\"v2\",\"since\":\"1960-01-01T00:00:00Z\"}"},
    {"a negative count", "{\"writes\":[{\"name\":\"Hold\",\"count\":-1}]}", "null"},
    {"a large count", "{\"hops\":99999999999}", "{\"hops\":1000000}"},
    {"a write that is none", "{\"writes\":[{\"name\":\"Destroy\",\"count\":1},7]}", "null"},
    {"wrong types", "{\"held\":1,\"switched\":\"true\",\"hops\":\"1\",\"writes\":{}}", "null"},
};

START_TEST(values)
{
    yyjson_doc *in = ek_json_parse(rows[_i].value, strlen(rows[_i].value), NULL);
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_ff_memory memory;

    ek_ff_memory_read(yyjson_doc_get_root(in), NOW, &memory);
    yyjson_mut_val *out = ek_ff_memory_write(doc, &memory);
    char *text = out ? yyjson_mut_val_write(out, YYJSON_WRITE_NOFLAG, NULL) : strdup("null");
    ck_assert_msg(!strcmp(text, rows[_i].back ? rows[_i].back : rows[_i].value), "%s: %s",
                  rows[_i].name, text);
    free(text);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(in);
}
END_TEST

/* A name that no object can have is dropped, and not cut to the name of another one. */
START_TEST(long_names)
{
    char value[512];
    struct ek_ff_memory memory;

    snprintf(value, sizeof value, "{\"held\":\"%0300d\"}", 0);
    yyjson_doc *in = ek_json_parse(value, strlen(value), NULL);
    ek_ff_memory_read(yyjson_doc_get_root(in), NOW, &memory);
    ck_assert_str_eq(memory.pinned, "");
    yyjson_doc_free(in);
}
END_TEST

START_TEST(names)
{
    for (int act = EK_FF_POKE; act < EK_FF_ACT_MAX; act++)
        for (int other = EK_FF_NO_ACT; other < act; other++)
            ck_assert_str_ne(ek_ff_act_name((enum ek_ff_act)act),
                             ek_ff_act_name((enum ek_ff_act)other));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("memory");

    tcase_add_loop_test(tc, values, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, long_names);
    tcase_add_test(tc, names);
    return ek_test_run("memory", tc);
}
