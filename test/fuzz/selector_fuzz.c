/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors. The input is a selector's text, a line feed, and the JSON of labels or of a
 * LabelSelector: what parses prints as something that selects the same, and prints the same again.
 */
#include <string.h>

#include "api/obj.h"
#include "api/selector.h"
#include "test/fuzz/fuzz.h"

#define OUT_MAX ((size_t)64 * 1024 * 1024)

/* Checks a selector, which it releases. */
static void check(struct ek_selector *selector, yyjson_val *labels, bool from_object)
{
    struct ek_selector *again = NULL;
    EK_AUTO(ek_buf) first;
    EK_AUTO(ek_buf) second;

    ek_buf_init(&first, OUT_MAX);
    ek_buf_init(&second, OUT_MAX);
    fuzz_require(ek_selector_format(selector, &first) == 0);
    bool matches = ek_selector_matches(selector, labels);
    fuzz_require(!ek_selector_is_empty(selector) || (matches && first.len == 0));
    /* An object may select nothing at all, or want a value of "": neither has a text. */
    int rc = ek_selector_parse(ek_buf_str(&first), &again, NULL);
    fuzz_require(rc == 0 || from_object);
    if (!rc && (first.len > 0 || !from_object)) {
        fuzz_require(ek_selector_format(again, &second) == 0);
        fuzz_require(!strcmp(ek_buf_str(&first), ek_buf_str(&second)));
        fuzz_require(matches == ek_selector_matches(again, labels));
    }
    ek_selector_free(again);
    ek_selector_free(selector);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *all = (const char *)data, *split = size ? memchr(all, '\n', size) : NULL;
    size_t len = split ? (size_t)(split - all) : size;
    EK_AUTOFREE char *text = ek_xstrndup(all, len);
    yyjson_doc *doc = split ? ek_json_parse(split + 1, size - len - 1, NULL) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct ek_selector *selector = NULL;
    struct ek_err err = {0};

    int rc = ek_selector_parse(text, &selector, &err);
    fuzz_require(rc == err.code && (rc == 0) == (selector != NULL) && !strchr(err.message, '\n'));
    if (!rc)
        check(selector, root, false);
    selector = NULL;
    if (ek_selector_from_json(root, &selector, &err) == 0)
        check(selector, root, true);
    yyjson_doc_free(doc);
    return 0;
}
