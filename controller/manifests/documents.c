/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/manifests/documents.h"

#include <string.h>

#include "api/obj.h"
#include "api/yaml.h"

/* ---- YAML ---- */

/* True for the line that separates documents; it can stand nowhere else (YAML 1.1, 5.2). */
static bool is_separator(const char *line, size_t len)
{
    return len >= 3 && !memcmp(line, "---", 3) &&
           (len == 3 || line[3] == ' ' || line[3] == '\t' || line[3] == '\r');
}

/* The CR within a line, which end lines as well. */
static size_t count_returns(const char *line, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i + 1 < len; i++)
        n += line[i] == '\r';
    return n;
}

int ek_manifest_each_document(const char *text, size_t len, ek_manifest_document_fn fn, void *ctx,
                              struct ek_err *err)
{
    const char *start = text, *end = text + len;
    size_t line = 0, first_line = 0;
    int rc = 0;

    for (const char *p = start; p <= end && !rc; line++) {
        const char *stop = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        size_t n = (size_t)((stop ? stop : end) - p);
        bool last = !stop;
        if (last || (is_separator(p, n) && p > start)) {
            const char *to = last ? end : p;
            rc = fn(ctx, &(struct ek_manifest_document){{start, (size_t)(to - start)}, first_line},
                    err);
            start = p;
            first_line = line;
        }
        if (last)
            break;
        line += count_returns(p, n);
        p = stop + 1;
    }
    return rc;
}

/* ---- JSON ---- */

/* Octets up to the end of the first value of a text, an object or list, whether it is JSON or not.
 */
static size_t value_end(const char *text, size_t len)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (in_string) {
            i += c == '\\';
            in_string = c != '"';
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && depth && !--depth) {
            return i + 1;
        }
    }
    return len;
}

static size_t skip_blanks(const char *text, size_t at, size_t len)
{
    while (at < len && strchr(" \t\r\n", text[at]) && text[at])
        at++;
    return at;
}

static size_t count_lines(const char *text, size_t len)
{
    size_t n = 0;

    for (size_t i = 0; i < len; i++)
        n += text[i] == '\n';
    return n;
}

int ek_manifest_each_value(const char *text, size_t len, ek_manifest_document_fn fn, void *ctx,
                           struct ek_err *err)
{
    size_t line = 0, counted = 0;
    int rc = 0;

    for (size_t at = skip_blanks(text, 0, len); at < len && !rc;) {
        size_t end = at + value_end(text + at, len - at);
        line += count_lines(text + counted, at - counted);
        counted = at;
        rc = fn(ctx, &(struct ek_manifest_document){{text + at, end - at}, line}, err);
        at = skip_blanks(text, end, len);
    }
    return rc;
}

/* ---- Lines ---- */

/* Keeps the documents that have a value. */
static int keep(void *ctx, const struct ek_manifest_document *document, struct ek_err *err)
{
    struct ek_manifest_lines *lines = ctx;
    yyjson_doc *doc = NULL;
    int rc = lines->json
                 ? 0
                 : ek_yaml_parse(document->text.p, document->text.len, lines->len, &doc, err);
    bool empty = doc && yyjson_is_null(yyjson_doc_get_root(doc));

    yyjson_doc_free(doc);
    if (rc || empty)
        return rc;
    /* The items of a JSON list count as documents of their own, which have no text here. */
    if (lines->json && *document->text.p != '{')
        return ek_err_set(err, EK_E_UNSUPPORTED, "a list");
    lines->documents =
        ek_xrealloc(lines->documents, lines->n_documents + 1, sizeof *lines->documents);
    lines->documents[lines->n_documents++] = *document;
    return 0;
}

static void split(struct ek_manifest_lines *lines)
{
    struct ek_err err = {0};

    if (lines->documents || lines->failed)
        return;
    lines->failed =
        lines->json ? ek_manifest_each_value(lines->text, lines->len, keep, lines, &err) != 0
                    : ek_manifest_each_document(lines->text, lines->len, keep, lines, &err) != 0;
}

size_t ek_manifest_line(struct ek_manifest_lines *lines, size_t number, const char *path)
{
    split(lines);
    if (lines->failed || !number || number > lines->n_documents)
        return 0;
    const struct ek_manifest_document *document = &lines->documents[number - 1];
    if (lines->at != number) {
        ek_yaml_places_free(lines->places);
        lines->places = ek_yaml_places_new(document->text.p, document->text.len);
        lines->at = number;
    }
    return document->first_line + ek_yaml_line(lines->places, path);
}

void ek_manifest_lines_done(struct ek_manifest_lines *lines)
{
    ek_yaml_places_free(lines->places);
    ek_free(lines->documents);
    *lines = (struct ek_manifest_lines){0};
}
