/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/jsonlines.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/err.h"
#include "api/obj.h"

size_t jsonlines_read(const char *path, void (*fn)(void *ctx, size_t line, yyjson_val *value),
                      void *ctx)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t cap = 0, n = 0;
    ssize_t len;

    ck_assert_msg(file != NULL, "%s", path);
    while ((len = getline(&line, &cap, file)) > 0) {
        struct ek_err err = {0};
        yyjson_doc *doc = ek_json_parse(line, (size_t)len, &err);
        ck_assert_msg(doc != NULL, "%s:%zu: %s", path, n + 1, err.message);
        fn(ctx, ++n, yyjson_doc_get_root(doc));
        yyjson_doc_free(doc);
    }
    free(line);
    fclose(file);
    return n;
}

yyjson_doc *jsonlines_document(const char *path)
{
    yyjson_doc *doc = yyjson_read_file(path, 0, &ek_json_alc, NULL);

    ck_assert_msg(doc != NULL, "%s", path);
    return doc;
}

char *jsonlines_text(yyjson_val *value)
{
    char *text = yyjson_val_write(value, 0, NULL);

    ck_assert_ptr_nonnull(text);
    return text;
}

char *jsonlines_mut_text(yyjson_mut_val *value)
{
    char *text = yyjson_mut_val_write(value, YYJSON_WRITE_ALLOW_INF_AND_NAN, NULL);

    ck_assert_ptr_nonnull(text);
    return text;
}
