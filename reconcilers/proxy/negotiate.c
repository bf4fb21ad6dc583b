/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/negotiate.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/words.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/proxy/accept.h"

/* Shorter bodies are not compressed (writers.go:defaultGzipThresholdBytes). */
#define GZIP_ABOVE ((size_t)128 * 1024)

#define JSON   "application/json"
#define YAML   "application/yaml"
#define V2     ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define V2BETA ";g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

const char *const ek_negotiate_permission_accept = JSON V2 ";profile=nopeer," JSON;

bool ek_negotiate_is_granted(int status)
{
    return status == 200 || status == 304 || status == 404;
}

/* ---- Which document ---- */

/* negotiate.go:isPrettyPrint; strconv.ParseBool */
static bool is_for_people(const char *query, const char *user_agent)
{
    static const char *const truths[] = {"1", "t", "T", "true", "TRUE", "True", NULL};
    static const char *const people[] = {"curl", "Wget", "Mozilla/5.0"};
    char value[8];

    if (strstr(query, "pretty")) {
        ek_proxy_query_first(query, "pretty", value, sizeof value);
        if (*value)
            return ek_is_one_of(value, truths);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(people); i++)
        if (!strncmp(user_agent, people[i], strlen(people[i])))
            return true;
    return false;
}

/* Splits the path of a discovery document into group and version. False when it is none.
 * *ret_slash: it is a root with a slash at its end. */
static bool read_path(struct ek_negotiate_choice *ret, char *path, bool *ret_slash)
{
    char *group = NULL, *version = NULL, *more = NULL;

    *ret_slash = false;
    if (!strncmp(path, "/apis", 5) && (!path[5] || path[5] == '/'))
        group = path[5] ? path + 6 : NULL;
    else if (!strncmp(path, "/api", 4) && (!path[4] || path[4] == '/'))
        ret->core = true;
    else
        return false;
    if (ret->core)
        version = path[4] ? path + 5 : NULL;
    else if (group && (version = strchr(group, '/')))
        *version++ = '\0';
    if (version && (more = strchr(version, '/')))
        *more++ = '\0';
    if (more && *more)
        return false;
    *ret_slash = (ret->core ? version : group) != NULL;
    ret->group = group ? group : "";
    ret->version = version ? version : "";
    ret->kind = *ret->version ? EK_NEGOTIATE_RESOURCES
                : *ret->group ? EK_NEGOTIATE_GROUP
                              : EK_NEGOTIATE_ROOT;
    return true;
}

/* The clause by which the client gets a document; NULL for an empty header, or with 406. */
static const struct ek_accept_clause *choose_clause(const struct ek_accept *accept, bool aggregated,
                                                    struct ek_negotiate_choice *ret)
{
    const struct ek_accept_clause *clause = aggregated ? ek_accept_aggregated(accept) : NULL;

    if (clause) {
        ret->form = ek_str_eq(clause->v, EK_STR("v2")) ? EK_NEGOTIATE_V2 : EK_NEGOTIATE_V2BETA1;
        ret->own = ek_str_eq(clause->profile, EK_STR("nopeer"));
        return clause;
    }
    clause = ek_accept_plain(accept);
    if (!clause) {
        ret->kind = EK_NEGOTIATE_REFUSE;
        ek_proxy_answer_set(&ret->answer, 406, 0,
                            "only the following media types are accepted: " JSON ", " YAML);
    }
    return clause;
}

void ek_negotiate_choose(const struct ek_proxy_request *request,
                         const struct ek_negotiate_headers *headers,
                         struct ek_negotiate_choice *ret)
{
    struct ek_accept accept;
    bool slash;

    *ret = (struct ek_negotiate_choice){
        .kind = EK_NEGOTIATE_FORWARD, .form = EK_NEGOTIATE_PLAIN, .group = "", .version = ""};
    if (request->is_resource || !request->reads)
        return;
    size_t len = strlen(request->path);
    ret->text = ek_alloc(len + 1);
    if (!ret->text) {
        ret->kind = EK_NEGOTIATE_REFUSE;
        ek_proxy_answer_set(&ret->answer, 503, 1, "out of memory");
        return;
    }
    memcpy(ret->text, request->path, len);
    if (!read_path(ret, ret->text, &slash))
        return;
    ret->pretty = is_for_people(request->query, headers->user_agent);
    if (!*headers->accept)
        return;
    ek_accept_read(headers->accept, &accept);
    /* "/apis/" is the list of groups alone (kube-aggregator, pkg/apiserver/apiserver.go). */
    bool aggregated = ret->kind == EK_NEGOTIATE_ROOT && (ret->core || !slash);
    const struct ek_accept_clause *clause = choose_clause(&accept, aggregated, ret);
    ret->yaml = clause && ek_accept_is_yaml(clause);
    ret->pretty = !ret->yaml && (ret->pretty || (clause && ek_str_eq(clause->pretty, EK_STR("1"))));
}

void ek_negotiate_done(struct ek_negotiate_choice *choice)
{
    ek_free(choice->text);
    choice->text = NULL;
}

/* ---- The reply ---- */

/* writers.go:negotiateContentEncoding: an element "gzip", without parameters. */
bool ek_negotiate_takes_gzip(const char *header)
{
    for (const char *s = header; *s;) {
        size_t len = strcspn(s, ",");
        const char *start = s, *end = s + len;
        while (start < end && (*start == ' ' || *start == '\t'))
            start++;
        while (end > start && (end[-1] == ' ' || end[-1] == '\t'))
            end--;
        if (ek_str_eq((struct ek_str){start, (size_t)(end - start)}, EK_STR("gzip")))
            return true;
        s += len + (s[len] != '\0');
    }
    return false;
}

void ek_negotiate_reply(const struct ek_negotiate_choice *choice,
                        const struct ek_negotiate_headers *headers,
                        const struct ek_negotiate_document *document,
                        struct ek_negotiate_reply *ret)
{
    static const char *const types[][2] = {
        {JSON V2, YAML V2}, {JSON V2BETA, YAML V2BETA}, {JSON, YAML}};
    size_t n_vary = 0;

    *ret = (struct ek_negotiate_reply){.code = 200, .cache_control = "no-cache, private"};
    if (choice->form != EK_NEGOTIATE_PLAIN) {
        ret->etag = document->etag;
        ret->cache_control = "public";
        ret->vary[n_vary++] = "Accept";
        if (!strcmp(headers->if_none_match, document->etag)) {
            ret->code = 304;
            return;
        }
    }
    ret->content_type = types[choice->form][choice->yaml];
    ret->body = document->body;
    if (document->gzip.len && document->body.len > GZIP_ABOVE &&
        ek_negotiate_takes_gzip(headers->accept_encoding)) {
        ret->body = document->gzip;
        ret->content_encoding = "gzip";
        ret->vary[n_vary] = "Accept-Encoding";
    }
}

/* ---- For people ---- */

static void new_line(struct ek_buf *out, size_t depth)
{
    ek_buf_puts(out, "\n");
    for (size_t i = 0; i < depth && !out->failed; i++)
        ek_buf_puts(out, "  ");
}

/* The octets of the string that begins at s. */
static size_t string_len(struct ek_str s)
{
    for (size_t i = 1; i < s.len; i++) {
        if (s.p[i] == '"')
            return i + 1;
        i += s.p[i] == '\\';
    }
    return s.len;
}

int ek_negotiate_indent(struct ek_str json, struct ek_buf *out)
{
    size_t depth = 0;
    bool opened = false;

    for (size_t i = 0; i < json.len && !out->failed; i++) {
        char c = json.p[i];
        if (strchr(" \t\r\n", c) && c)
            continue;
        bool closes = c == '}' || c == ']';
        if (closes)
            depth -= depth > 0;
        if (opened != closes)
            new_line(out, depth);
        opened = c == '{' || c == '[';
        if (c == '"') {
            size_t len = string_len((struct ek_str){json.p + i, json.len - i});
            ek_buf_append(out, json.p + i, len);
            i += len - 1;
            continue;
        }
        ek_buf_append(out, &c, 1);
        depth += opened;
        if (c == ':')
            ek_buf_puts(out, " ");
        else if (c == ',')
            new_line(out, depth);
    }
    return out->failed;
}

/* ---- YAML ---- */

static int by_key(const void *a, const void *b)
{
    yyjson_val *const *x = a, *const *y = b;
    return strcmp(yyjson_get_str(*x), yyjson_get_str(*y));
}

static yyjson_mut_val *sorted(yyjson_mut_doc *doc, yyjson_val *value);

static yyjson_mut_val *sorted_object(yyjson_mut_doc *doc, yyjson_val *object)
{
    yyjson_mut_val *copy = yyjson_mut_obj(doc);
    yyjson_val **keys = ek_xalloc((yyjson_obj_size(object) + 1) * sizeof(yyjson_val *));
    yyjson_val *key, *value;
    size_t i, n, n_keys = 0;

    ek_json_each_member(object, i, n, key, value) keys[n_keys++] = key;
    qsort(keys, n_keys, sizeof(yyjson_val *), by_key);
    for (size_t k = 0; k < n_keys; k++)
        yyjson_mut_obj_add(copy, yyjson_val_mut_copy(doc, keys[k]),
                           sorted(doc, unsafe_yyjson_get_next(keys[k])));
    ek_free(keys);
    return copy;
}

/* A copy with the members of each object in the order of their names. The depth is that of
 * ek_json_parse. */
static yyjson_mut_val *sorted(yyjson_mut_doc *doc, yyjson_val *value)
{
    yyjson_val *item;
    size_t i, n;

    if (yyjson_is_obj(value))
        return sorted_object(doc, value);
    if (!yyjson_is_arr(value))
        return yyjson_val_mut_copy(doc, value);
    yyjson_mut_val *copy = yyjson_mut_arr(doc);
    yyjson_arr_foreach(value, i, n, item) yyjson_mut_arr_append(copy, sorted(doc, item));
    return copy;
}

int ek_negotiate_yaml(struct ek_str json, struct ek_buf *out)
{
    struct ek_err err = {0};
    yyjson_doc *given = ek_json_parse(json.p, json.len, &err);

    if (!given)
        return err.code;
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(doc, sorted(doc, yyjson_doc_get_root(given)));
    yyjson_doc *made = yyjson_mut_doc_imut_copy(doc, NULL);
    int rc = ek_yaml_write(out, yyjson_doc_get_root(made), &err);
    yyjson_doc_free(made);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(given);
    return rc;
}
