/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/openapi.h"

#include <string.h>
#include <strings.h>

#include "api/obj.h"

#define ROOT "/openapi/v3"

bool ek_openapi_is_index(const struct ek_proxy_request *request)
{
    return !strcmp(request->verb, "get") && !strcmp(request->path, ROOT);
}

void ek_openapi_document_read(const struct ek_proxy_request *request,
                              struct ek_openapi_document *ret)
{
    const char *path = request->path, *gv = NULL;

    *ret = (struct ek_openapi_document){0};
    if (request->is_resource || !request->reads)
        return;
    if (!strncmp(path, ROOT "/api/", strlen(ROOT "/api/")))
        gv = path + strlen(ROOT "/api");
    else if (!strncmp(path, ROOT "/apis/", strlen(ROOT "/apis/")))
        gv = path + strlen(ROOT "/apis/");
    if (!gv || !*gv)
        return;
    size_t len = strcspn(gv, "/");
    const char *version = gv[len] ? gv + len + 1 : "";
    if ((gv[len] && !*version) || strchr(version, '/'))
        return;
    ret->group = ek_xstrdup(gv);
    ret->group[len] = '\0';
    ret->version = ret->group + len + (gv[len] == '/'); /* or the end */
}

void ek_openapi_document_done(struct ek_openapi_document *document)
{
    ek_free(document->group);
    *document = (struct ek_openapi_document){0};
}

bool ek_openapi_drops_header(const char *name, bool v2)
{
    static const char *const names[] = {
        "accept", /* first: not of v2 */
        "accept-encoding", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since",
        "if-range",        "range"};

    for (size_t i = v2; i < EK_ARRAY_SIZE(names); i++)
        if (!strcasecmp(name, names[i]))
            return true;
    return false;
}

static void add_missing(yyjson_mut_doc *doc, yyjson_mut_val *paths, const char *group_version)
{
    EK_AUTOFREE char *key =
        ek_xasprintf("%s%s", *group_version == '/' ? "api" : "apis/", group_version);
    EK_AUTOFREE char *url = ek_xasprintf(ROOT "/%s", key);

    if (yyjson_mut_obj_get(paths, key))
        return;
    yyjson_mut_val *item = yyjson_mut_obj(doc);
    yyjson_mut_obj_add_strcpy(doc, item, "serverRelativeURL", url);
    yyjson_mut_obj_add(paths, yyjson_mut_strcpy(doc, key), item);
}

bool ek_openapi_merge(struct ek_str index, const char *const *group_versions, size_t n,
                      struct ek_buf *out)
{
    yyjson_doc *read = ek_json_parse(index.p, index.len, NULL);
    yyjson_val *root = yyjson_doc_get_root(read);
    bool is_index = yyjson_is_obj(root) && yyjson_is_obj(yyjson_obj_get(root, "paths"));

    if (is_index) {
        yyjson_mut_doc *doc = ek_json_doc_new();
        yyjson_mut_val *merged = yyjson_val_mut_copy(doc, root);
        yyjson_mut_val *paths = yyjson_mut_obj_get(merged, "paths");
        for (size_t i = 0; i < n; i++)
            add_missing(doc, paths, group_versions[i]);
        size_t len = 0;
        char *text = yyjson_mut_val_write_opts(merged, 0, &ek_json_alc, &len, NULL);
        is_index = text && ek_buf_append(out, text, len) == 0;
        ek_free(text);
        yyjson_mut_doc_free(doc);
    }
    yyjson_doc_free(read);
    return is_index;
}
