/* SPDX-License-Identifier: Apache-2.0 */
/* Label and field selectors of lists and watches. */
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

/* The field labels that a kind knows beyond metadata.name and metadata.namespace. */
static const struct {
    const char *plural, *fields;
} field_labels[] = {
    {"pods", "spec.nodeName spec.restartPolicy spec.schedulerName spec.serviceAccountName "
             "spec.hostNetwork status.phase status.podIP status.nominatedNodeName"},
    {"events", "involvedObject.kind involvedObject.namespace involvedObject.name "
               "involvedObject.uid involvedObject.apiVersion involvedObject.resourceVersion "
               "involvedObject.fieldPath reason reportingComponent source type"},
    {"nodes", "spec.unschedulable"},
    {"namespaces", "status.phase"},
    {"secrets", "type"},
    {"services", "spec.clusterIP spec.type"},
};

static bool is_known_field(const struct ek_kind *kind, const char *path)
{
    if (strcmp(path, "metadata.name") == 0 || strcmp(path, "metadata.namespace") == 0)
        return true;
    for (size_t i = 0; i < EK_ARRAY_SIZE(field_labels); i++) {
        if (strcmp(field_labels[i].plural, kind->plural) == 0 &&
            ek_words_have(field_labels[i].fields, path))
            return true;
    }
    return false;
}

/* events.k8s.io calls the involved object "regarding". */
static char *storage_path(const char *path, size_t len)
{
    static const char regarding[] = "regarding.";

    if (len > sizeof(regarding) - 1 && memcmp(path, regarding, sizeof(regarding) - 1) == 0)
        return ek_xasprintf("involvedObject.%.*s", (int)(len - sizeof(regarding) + 1),
                            path + sizeof(regarding) - 1);
    return ek_xstrndup(path, len);
}

static bool read_term(struct ek_ask *call, struct ek_filter *filter, const char *term, size_t len)
{
    const char *equals = memchr(term, '=', len);

    if (!equals || filter->n_fields == EK_FIELD_TERMS_MAX) {
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "invalid selector: '%.*s'; can't understand '%.*s'", (int)len, term,
                        (int)len, term);
        return false;
    }
    struct ek_field_term *field = &filter->fields[filter->n_fields++];
    const char *value = equals[1] == '=' ? equals + 2 : equals + 1;
    field->differs = equals > term && equals[-1] == '!';
    field->path = storage_path(term, (size_t)(equals - term) - field->differs);
    field->value = ek_xstrndup(value, (size_t)(term + len - value));
    if (is_known_field(call->kind, field->path))
        return true;
    ek_reply_status(call, 400, "BadRequest", NULL, "field label not supported: %s", field->path);
    return false;
}

static bool read_fields(struct ek_ask *call, struct ek_filter *filter)
{
    for (const char *p = ek_ask_param(call, "fieldSelector"); *p;) {
        size_t len = strcspn(p, ",");
        if (len > 0 && !read_term(call, filter, p, len))
            return false;
        p += len + (p[len] == ',');
    }
    return true;
}

/* What the API server's own lexer says about "a===b" and its like. */
static void explain_selector(struct ek_ask *call, const char *text, const struct ek_err *err)
{
    const char *equals = strstr(text, "===");

    if (equals)
        ek_reply_status(call, 400, "BadRequest", NULL,
                        "unable to parse requirement: found '=', expected: identifier");
    else
        ek_reply_status(call, 400, "BadRequest", NULL, "unable to parse requirement: %s",
                        err->message);
}

bool ek_filter_read(struct ek_ask *call, struct ek_filter *ret_filter)
{
    const char *labels = ek_ask_param(call, "labelSelector");
    struct ek_err err = {0};

    *ret_filter = (struct ek_filter){
        .prefix = *call->name_space ? ek_xasprintf("%s/", call->name_space) : ek_xstrdup(""),
    };
    if (*labels && ek_selector_parse(labels, &ret_filter->labels, &err) < 0) {
        explain_selector(call, labels, &err);
        return false;
    }
    if (!read_fields(call, ret_filter))
        return false;
    if (!*call->name)
        return true;
    /* A watch of one name, the old way: GET .../name?watch=1. */
    ret_filter->fields[ret_filter->n_fields++] = (struct ek_field_term){
        .path = ek_xstrdup("metadata.name"), .value = ek_xstrdup(call->name)};
    return true;
}

void ek_filter_done(struct ek_filter *filter)
{
    ek_free(filter->prefix);
    ek_selector_free(filter->labels);
    for (size_t i = 0; i < filter->n_fields; i++) {
        ek_free(filter->fields[i].path);
        ek_free(filter->fields[i].value);
    }
    *filter = (struct ek_filter){0};
}

bool ek_filter_is_open(const struct ek_filter *filter)
{
    return !filter->labels && filter->n_fields == 0;
}

static yyjson_val *labels_of(struct ek_mvcc_value *value)
{
    if (!value->labels) {
        yyjson_doc *doc = yyjson_read(value->json, value->len, 0);
        yyjson_val *labels = ek_json_get(yyjson_doc_get_root(doc), "metadata", "labels", NULL);
        yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);
        yyjson_mut_doc_set_root(copy,
                                labels ? yyjson_val_mut_copy(copy, labels) : yyjson_mut_obj(copy));
        value->labels = yyjson_mut_doc_imut_copy(copy, NULL);
        yyjson_mut_doc_free(copy);
        yyjson_doc_free(doc);
    }
    return yyjson_doc_get_root(value->labels);
}

/* A scalar at a dotted path as text, "" when absent. */
static void field_text(yyjson_val *root, const char *path, char *buf, size_t size)
{
    while (root && *path) {
        size_t len = strcspn(path, ".");
        root = yyjson_obj_getn(root, path, len);
        path += len + (path[len] == '.');
    }
    if (yyjson_is_str(root))
        snprintf(buf, size, "%s", yyjson_get_str(root));
    else
        snprintf(buf, size, "%s", yyjson_is_true(root) ? "true" : "");
}

static bool field_holds(const struct ek_field_term *term, const char *key, yyjson_val *root)
{
    char text[1024];
    const char *slash = strchr(key, '/'), *value = text;

    if (strcmp(term->path, "metadata.name") == 0) {
        value = slash ? slash + 1 : key;
    } else if (strcmp(term->path, "metadata.namespace") == 0) {
        snprintf(text, sizeof(text), "%.*s", slash ? (int)(slash - key) : 0, key);
    } else {
        field_text(root, term->path, text, sizeof(text));
        if (!*text && strcmp(term->path, "spec.unschedulable") == 0)
            value = "false";
    }
    return (strcmp(value, term->value) == 0) != term->differs;
}

static bool needs_content(const struct ek_filter *filter)
{
    for (size_t i = 0; i < filter->n_fields; i++) {
        if (strncmp(filter->fields[i].path, "metadata.", 9) != 0)
            return true;
    }
    return false;
}

bool ek_filter_matches(const struct ek_filter *filter, const char *key, struct ek_mvcc_value *value)
{
    yyjson_doc *doc = NULL;
    bool matches = true;

    if (strncmp(key, filter->prefix, strlen(filter->prefix)) != 0)
        return false;
    if (filter->labels && !ek_selector_matches(filter->labels, labels_of(value)))
        return false;
    if (needs_content(filter))
        doc = yyjson_read(value->json, value->len, 0);
    for (size_t i = 0; matches && i < filter->n_fields; i++)
        matches = field_holds(&filter->fields[i], key, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return matches;
}
