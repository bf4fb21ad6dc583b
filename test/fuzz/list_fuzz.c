/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzzes the reader of lists. The first byte chooses how the rest is cut; whatever the cut, the
 * outcome and the objects must be the same as those of the whole, and a list that is read is JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/list_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct ek_decode_type type = {"coordination.k8s.io/v1", "Lease", false};

static void compare(const struct ek_list_page *a, const struct ek_list_page *b)
{
    if (a->n != b->n || strcmp(a->next, b->next) != 0 ||
        strcmp(a->resource_version, b->resource_version) != 0)
        abort();
    for (size_t i = 0; i < a->n; i++)
        if (!ek_json_equal(ek_obj_root(a->items[i]), ek_obj_root(b->items[i])))
            abort();
}

static void check_json(const char *text, size_t len)
{
    yyjson_doc *doc = ek_json_parse_envelope(text, len, EK_JSON_ENVELOPE_MAX, NULL);

    if (!doc)
        abort();
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_list_page whole = {0}, pieces = {0};

    if (size < 2)
        return 0;
    const char *text = (const char *)data + 1;
    size_t len = size - 1;
    int rc = list_text_read(text, len, &type, &whole, NULL);
    if (rc != list_text_read_pieces(text, len, 1 + data[0] % 64u, &type, &pieces, NULL))
        abort();
    if (!rc) {
        compare(&whole, &pieces);
        check_json(text, len);
    }
    ek_list_page_done(&whole);
    ek_list_page_done(&pieces);
    return 0;
}
