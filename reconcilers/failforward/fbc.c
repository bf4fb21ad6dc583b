/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/failforward/fbc-internal.h"

int ek_fbc_each(const struct ek_fbc *fbc, const char *schema,
                int (*fn)(void *ctx, yyjson_val *blob), void *ctx)
{
    int rc = 0;

    for (size_t d = 0; d < fbc->n && !rc; d++) {
        yyjson_val *root = yyjson_doc_get_root(fbc->docs[d]), *blob;
        size_t i, n;
        if (!yyjson_is_arr(root)) {
            rc = strcmp(ek_json_text(root, "schema"), schema) != 0 ? 0 : fn(ctx, root);
            continue;
        }
        yyjson_arr_foreach(root, i, n, blob)
        {
            rc = strcmp(ek_json_text(blob, "schema"), schema) != 0 ? 0 : fn(ctx, blob);
            if (rc)
                break;
        }
    }
    return rc;
}

/* The length of the JSON value at the start of text, up to the end of its outermost object; len
 * when the object has no end. */
static size_t value_len(const char *p, size_t len)
{
    size_t depth = 0;
    bool quoted = false;

    for (size_t i = 0; i < len; i++) {
        if (quoted) {
            if (p[i] == '\\')
                i++;
            else if (p[i] == '"')
                quoted = false;
            continue;
        }
        quoted = p[i] == '"';
        depth += p[i] == '{';
        if (p[i] == '}' && --depth == 0)
            return i + 1;
    }
    return len;
}

static void add_doc(struct ek_fbc *fbc, yyjson_doc *doc)
{
    if (fbc->n == fbc->cap) {
        fbc->cap = fbc->cap ? fbc->cap * 2 : 16;
        fbc->docs = ek_xrealloc(fbc->docs, fbc->cap, sizeof(yyjson_doc *));
    }
    fbc->docs[fbc->n++] = doc;
}

static bool is_white(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Reads JSON objects one after another. */
static int read_json(struct ek_fbc *fbc, const char *p, size_t len, struct ek_err *err)
{
    for (;;) {
        while (len > 0 && is_white(*p)) {
            p++;
            len--;
        }
        if (len == 0)
            return 0;
        if (*p != '{')
            return ek_err_set(err, EK_E_PARSE, "a catalog has values that are no objects");
        size_t n = value_len(p, len);
        yyjson_doc *doc = ek_json_parse(p, n, err);
        if (!doc)
            return err->code;
        add_doc(fbc, doc);
        p += n;
        len -= n;
    }
}

static int read_text(struct ek_fbc *fbc, const char *p, size_t len, size_t limit,
                     struct ek_err *err)
{
    size_t start = 0;
    yyjson_doc *doc = NULL;

    while (start < len && is_white(p[start]))
        start++;
    if (start < len && p[start] == '{')
        return read_json(fbc, p + start, len - start, err);
    int rc = ek_yaml_parse_all(p, len, limit, &doc, err);
    if (!rc)
        add_doc(fbc, doc);
    return rc;
}

/* Reads the values of a ConfigMap. Another ConfigMap in one of them is not read. */
static int read_values(struct ek_fbc *fbc, yyjson_val *map, struct ek_err *err)
{
    yyjson_val *data = yyjson_obj_get(map, "data"), *key, *value;
    size_t i, n;

    if (strcmp(ek_json_text(map, "kind"), "ConfigMap") != 0 ||
        strcmp(ek_json_text(map, "apiVersion"), "v1") != 0)
        return 0;
    ek_json_each_member(data, i, n, key, value)
    {
        size_t len = yyjson_get_len(value);
        int rc = yyjson_is_str(value) ? read_text(fbc, yyjson_get_str(value), len, len, err) : 0;
        if (!rc)
            continue;
        ek_err_prefix(err, "ConfigMap %s, %s",
                      ek_json_text(yyjson_obj_get(map, "metadata"), "name"), yyjson_get_str(key));
        return rc;
    }
    return 0;
}

static int read_config_maps(struct ek_fbc *fbc, struct ek_err *err)
{
    size_t n_docs = fbc->n, i, n;
    int rc = 0;

    for (size_t d = 0; d < n_docs && !rc; d++) {
        yyjson_val *root = yyjson_doc_get_root(fbc->docs[d]), *value;
        if (!yyjson_is_arr(root)) {
            rc = read_values(fbc, root, err);
            continue;
        }
        yyjson_arr_foreach(root, i, n, value)
        {
            rc = read_values(fbc, value, err);
            if (rc)
                break;
        }
    }
    return rc;
}

int ek_fbc_read(struct ek_fbc *fbc, const char *p, size_t len, size_t limit, struct ek_err *err)
{
    struct ek_err local = {0};

    err = err ? err : &local;
    int rc = read_text(fbc, p, len, limit, err);
    return rc ? rc : read_config_maps(fbc, err);
}

void ek_fbc_done(struct ek_fbc *fbc)
{
    for (size_t i = 0; i < fbc->n; i++)
        yyjson_doc_free(fbc->docs[i]);
    ek_free(fbc->docs);
    *fbc = (struct ek_fbc){0};
}
