/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects: whatever parses can be read, copied, slimmed, written and parsed again; its labels can
 * be selected by, its conditions merged, and it can go through YAML and come back.
 */
#include <stdlib.h>
#include <string.h>

#include "api/cond.h"
#include "api/obj.h"
#include "api/selector.h"
#include "api/yaml.h"
#include "test/fuzz/fuzz.h"
#include "test/support/json_text.h"

#define OUT_MAX ((size_t)256 * 1024 * 1024)

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_selector(yyjson_val *root)
{
    struct ek_selector *selector = NULL, *again = NULL;
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, OUT_MAX);
    if (ek_selector_from_json(ek_json_get(root, "spec", "selector", NULL), &selector, NULL))
        return;
    require(ek_selector_format(selector, &text) == 0);
    bool matches = ek_selector_matches(selector, ek_json_get(root, "metadata", "labels", NULL));
    if (text.len > 0 && ek_selector_parse(ek_buf_str(&text), &again, NULL) == 0)
        require(matches ==
                ek_selector_matches(again, ek_json_get(root, "metadata", "labels", NULL)));
    ek_selector_free(again);
    ek_selector_free(selector);
}

static void check_conditions(yyjson_val *root)
{
    static const struct ek_cond want[] = {{"Ready", EK_COND_TRUE, "Fuzzed", "x"}};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_val *old = ek_json_get(root, "status", "conditions", NULL);

    require(ek_conds_merge(doc, old, want, 1, 1, 0) != NULL);
    ek_cond_status(old, "Ready");
    yyjson_mut_doc_free(doc);
}

/* No object that has been read has two members of one name, which would be an error in YAML. */
static void check_yaml(yyjson_val *root)
{
    EK_AUTO(ek_buf) text;
    yyjson_doc *again = NULL;
    struct ek_err err = {0};

    ek_buf_init(&text, OUT_MAX);
    require(ek_yaml_write(&text, root, NULL) == 0);
    require(ek_yaml_parse(text.data, text.len, OUT_MAX, &again, &err) == 0);
    require(ek_json_equal(root, yyjson_doc_get_root(again)));
    yyjson_doc_free(again);
}

static void check_text_selector(const uint8_t *data, size_t size)
{
    struct ek_selector *selector = NULL, *again = NULL;
    EK_AUTO(ek_buf) first, second;
    char *text = ek_xstrndup((const char *)data, size);

    ek_buf_init(&first, OUT_MAX);
    ek_buf_init(&second, OUT_MAX);
    if (!ek_selector_parse(text, &selector, NULL)) {
        require(ek_selector_format(selector, &first) == 0);
        require(ek_selector_parse(ek_buf_str(&first), &again, NULL) == 0);
        require(ek_selector_format(again, &second) == 0 &&
                !strcmp(ek_buf_str(&first), ek_buf_str(&second)));
    }
    ek_selector_free(selector);
    ek_selector_free(again);
    ek_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_obj *obj = NULL, *again = NULL;
    struct ek_err err = {0};
    size_t len;

    check_text_selector(data, size);
    int rc = ek_obj_parse((const char *)data, size, &obj, &err);
    require(rc == err.code && (rc == 0) == (obj != NULL));
    if (rc)
        return 0;
    char *json = test_json_text(obj, &len);
    require(json && ek_obj_parse(json, len, &again, NULL) == 0);
    require(!strcmp(ek_obj_key(obj), ek_obj_key(again)));
    struct ek_obj *item = ek_obj_from_item(ek_obj_root(obj), "v1", "Kind");
    require(item && !strcmp(ek_obj_uid(item), ek_obj_uid(obj)));
    check_selector(ek_obj_root(obj));
    check_conditions(ek_obj_root(obj));
    check_yaml(ek_obj_root(obj));
    ek_obj_unref(item);
    ek_obj_unref(again);
    ek_obj_unref(obj);
    ek_free(json);
    return 0;
}
