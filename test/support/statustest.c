/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/statustest.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cond.h"
#include "api/obj.h"
#include "api/schema/merge.h"
#include "api/yaml.h"

void statustest_load(struct statustest *test, const char *file, const char *kind)
{
    static char text[1 << 17];
    char path[512];
    struct ek_err err = {0};

    snprintf(path, sizeof path, EK_TEST_DATA "/../../deploy/crd/%s", file);
    FILE *stream = fopen(path, "r");
    ck_assert_msg(stream != NULL, "%s", path);
    size_t len = fread(text, 1, sizeof text, stream);
    fclose(stream);
    *test =
        (struct statustest){.kind = kind, .arena = ek_arena_new(1 << 20), .doc = ek_json_doc_new()};
    ck_assert_msg(!ek_yaml_parse(text, len, 1 << 20, &test->crd, &err), "%s", err.message);
    ck_assert_msg(
        !ek_schema_compile_crd(yyjson_doc_get_root(test->crd), "v1alpha1", &test->schema, &err),
        "%s", err.message);
}

void statustest_free(struct statustest *test)
{
    yyjson_mut_doc_free(test->doc);
    ek_arena_free(test->arena);
    ek_schema_unref(test->schema);
    yyjson_doc_free(test->crd);
}

void statustest_schema(const struct statustest *test, const char *row, yyjson_mut_val *status)
{
    EK_AUTO(ek_buf) text;
    uint32_t type;
    yyjson_mut_val *object = yyjson_mut_obj(test->doc);

    ek_buf_init(&text, 1 << 16);
    yyjson_mut_obj_add_val(test->doc, object, "status", status);
    ck_assert_int_eq(
        ek_schema_find_kind(test->schema, "evenkeel.dev", "v1alpha1", test->kind, &type, NULL), 0);
    int rc = ek_merge_validate(test->schema, type, object, 0, NULL, &text, NULL);
    ck_assert_msg(rc == 0, "%s: %s", row, ek_buf_str(&text));
}

void statustest_conditions(const struct statustest_want *want, yyjson_val *status)
{
    static const char letters[] = "UFT";
    yyjson_val *conditions = yyjson_obj_get(status, "conditions");
    yyjson_val *condition = ek_cond_find(conditions, want->type);
    const char *reason = ek_json_str(condition, "reason", NULL);
    const char *message = ek_json_str(condition, "message", NULL);
    char got[16] = "";

    for (size_t i = 0; want->types[i] && i + 1 < sizeof got; i++)
        got[i] = letters[ek_cond_status(conditions, want->types[i])];
    ck_assert_msg(strcmp(got, want->statuses) == 0, "%s: %s, not %s", want->row, got,
                  want->statuses);
    ck_assert_msg(strcmp(reason, want->reason) == 0, "%s: %s, not %s", want->row, reason,
                  want->reason);
    ck_assert_msg(strstr(message, want->message_part) != NULL, "%s: %s", want->row, message);
}

void statustest_same(const char *row, yyjson_val *first, yyjson_mut_val *second)
{
    yyjson_doc *copy = yyjson_mut_val_imut_copy(second, NULL);

    ck_assert_msg(ek_json_equal(first, yyjson_doc_get_root(copy)), "%s: it moves with the clock",
                  row);
    yyjson_doc_free(copy);
}
