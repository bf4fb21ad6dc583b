/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/groups_fixture.h"

#include <check.h>
#include <string.h>

#include "api/obj.h"

struct ek_api_groups *ek_test_groups(const char *json)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(json, strlen(json), &err);

    ck_assert_msg(doc != NULL, "%s", err.message);
    struct ek_api_groups *groups =
        ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, &err);
    ck_assert_msg(groups != NULL, "%s", err.message);
    yyjson_doc_free(doc);
    return groups;
}
