/* SPDX-License-Identifier: Apache-2.0 */
/* Encryption without plug-ins. */
#include "reconcilers/rehearse/encryption.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/support/suite.h"

static const struct {
    const char *json, *expected;
    size_t removed;
} rows[] = {
    {"{\"resources\":[{\"providers\":[{\"kms\":{\"endpoint\":\"unix:///k\"}},{\"aescbc\":{}}]}]}",
     "{\"resources\":[{\"providers\":[{\"aescbc\":{}}]}]}", 1},
    {"{\"resources\":[{\"providers\":[{\"kms\":{}},{\"kms\":{}}]},{\"providers\":[{\"kms\":1}]}]}",
     "{\"resources\":[{\"providers\":[{\"identity\":{}}]},{\"providers\":[{\"identity\":{}}]}]}",
     3},
    {"{\"resources\":[{\"providers\":[{\"identity\":{}}]}]}",
     "{\"resources\":[{\"providers\":[{\"identity\":{}}]}]}", 0},
    {"{\"resources\":[{\"providers\":{}}]}", NULL, 0},
    {"{\"resources\":[{\"providers\":[1]}]}", NULL, 0},
    {"{\"resources\":[1]}", NULL, 0},
    {"{}", NULL, 0},
    {"[]", NULL, 0},
};

START_TEST(encryption_row)
{
    yyjson_doc *doc = ek_json_parse(rows[_i].json, strlen(rows[_i].json), NULL);
    size_t removed;
    EK_AUTOFREE char *text = ek_rehearse_encryption(yyjson_doc_get_root(doc), &removed);

    ck_assert_pstr_eq(text, rows[_i].expected);
    ck_assert_uint_eq(removed, rows[_i].removed);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("encryption");

    tcase_add_loop_test(tcase, encryption_row, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("rehearse encryption", tcase);
}
