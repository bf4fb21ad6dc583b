/* SPDX-License-Identifier: Apache-2.0 */
/* The server as a whole, and the way of a request: path and query, who, may they, which verb. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/ascii.h"
#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

#define WINDOW_DEFAULT 10000

static void changed(void *ctx, int resource)
{
    struct ek_apiserver *server = ctx;

    (void)resource;
    if (server->on_change)
        server->on_change(server->on_change_ctx);
}

void ek_apiserver_on_change(struct ek_apiserver *server, void (*fn)(void *ctx), void *ctx)
{
    server->on_change = fn;
    server->on_change_ctx = ctx;
}

uint64_t ek_apiserver_rv(const struct ek_apiserver *server)
{
    return ek_mvcc_rv(server->store);
}

void ek_apiserver_set_rv(struct ek_apiserver *server, uint64_t rv)
{
    ek_mvcc_set_rv(server->store, rv);
}

void ek_apiserver_compact(struct ek_apiserver *server)
{
    ek_mvcc_compact(server->store, -1, ek_mvcc_rv(server->store));
}

int ek_apiserver_seed(struct ek_apiserver *server, const char *group, const char *version,
                      const char *plural, const char *json, size_t len, struct ek_err *err)
{
    const struct ek_kind *kind = ek_kinds_find(&server->kinds, group, version, plural);
    yyjson_doc *doc = kind ? ek_json_parse(json, len, err) : NULL;

    if (!kind)
        return ek_err_set(err, EK_E_NOENT, "no resource \"%s\" in \"%s/%s\"", plural, group,
                          version);
    if (!doc)
        return EK_E_PARSE;
    yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
    const char *space = ek_meta_str(root, "namespace"), *name = ek_meta_str(root, "name");
    uint64_t rv = strtoull(ek_meta_str(root, "resourceVersion"), NULL, 10);
    char key[EK_KEY_SIZE];

    snprintf(key, sizeof(key), "%s%s%s", space, *space ? "/" : "", name);
    if (rv > ek_mvcc_rv(server->store) + 1)
        ek_mvcc_set_rv(server->store, rv - 1);
    struct ek_mvcc_value *value =
        ek_write_encode(copy, root, rv ? rv : ek_mvcc_rv(server->store) + 1);
    uint64_t before = ek_mvcc_rv(server->store);
    ek_mvcc_put(server->store, kind->storage, key, value);
    /* A recorded object may be older than what was stored before it. */
    ek_mvcc_set_rv(server->store, before);
    yyjson_mut_doc_free(copy);
    yyjson_doc_free(doc);
    return 0;
}

static void seed_namespaces(struct ek_apiserver *server, int64_t now_ms)
{
    static const char *const names[] = {"default", "kube-node-lease", "kube-public", "kube-system"};
    char now[EK_TIME_SIZE], uid[37];

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        ek_server_uid(server, uid);
        char *json = ek_xasprintf(
            "{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"creationTimestamp\":\"%s\","
            "\"labels\":{\"kubernetes.io/metadata.name\":\"%s\"}},\"spec\":{\"finalizers\":["
            "\"kubernetes\"]},\"status\":{\"phase\":\"Active\"}}",
            names[i], uid, ek_time_format(now_ms, now), names[i]);
        (void)ek_apiserver_seed(server, "", "v1", "namespaces", json, strlen(json), NULL);
        ek_free(json);
    }
}

struct ek_apiserver *ek_apiserver_new(const struct ek_apiserver_config *config, int64_t now_ms)
{
    struct ek_apiserver *server = ek_xalloc(sizeof(*server));

    server->store = ek_mvcc_new(config->window ? config->window : WINDOW_DEFAULT);
    server->random = config->seed;
    server->rbac = config->rbac;
    ek_kinds_init(&server->kinds, server->store);
    ek_mvcc_on_change(server->store, changed, server);
    /* Row 0 is how peers speak to themselves, see peer.c; without rules it may do nothing. */
    server->n_tokens = 1;
    server->tokens[0] = (struct ek_test_token){.token = ek_xstrdup("loopback"),
                                               .user = ek_xstrdup("system:apiserver"),
                                               .groups = ek_xstrdup("system:authenticated")};
    seed_namespaces(server, now_ms);
    return server;
}

void ek_apiserver_free(struct ek_apiserver *server)
{
    if (!server)
        return;
    for (size_t i = 0; i < server->n_peers; i++)
        ek_peer_free(server->peers[i]);
    for (size_t i = 0; i < server->n_tokens; i++) {
        ek_free(server->tokens[i].token);
        ek_free(server->tokens[i].user);
        ek_free(server->tokens[i].groups);
        ek_free(server->tokens[i].rules);
    }
    ek_mvcc_free(server->store);
    ek_kinds_done(&server->kinds);
    ek_free(server);
}

/* --- requests --- */

const char *ek_ask_param(const struct ek_ask *call, const char *name)
{
    for (size_t i = 0; i < call->n_params; i++) {
        if (strcmp(call->params[i].name, name) == 0)
            return call->params[i].value;
    }
    return "";
}

bool ek_ask_flag(const struct ek_ask *call, const char *name)
{
    const char *value = ek_ask_param(call, name);

    return strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
}

const char *ek_ask_key(const struct ek_ask *call, const char *name, char buf[EK_KEY_SIZE])
{
    snprintf(buf, EK_KEY_SIZE, "%s%s%s", call->name_space, *call->name_space ? "/" : "", name);
    return buf;
}

/* Decodes in place. */
static void decode(char *s, bool plus)
{
    char *to = s;

    for (; *s; s++) {
        if (*s == '%' && ek_hex_digit(s[1]) >= 0 && ek_hex_digit(s[2]) >= 0) {
            *to++ = (char)(ek_hex_digit(s[1]) << 4 | ek_hex_digit(s[2]));
            s += 2;
        } else {
            *to++ = plus && *s == '+' ? ' ' : *s;
        }
    }
    *to = '\0';
}

/* Splits path and query into parts and parameters. */
static void split(struct ek_ask *call)
{
    const char *query = call->request->query ? call->request->query : "";
    char *save = NULL;

    call->texts = ek_xasprintf("%s%c%s", call->request->path, '\n', query);
    char *rest = strchr(call->texts, '\n');
    *rest++ = '\0';
    for (char *part = strtok_r(call->texts, "/", &save); part; part = strtok_r(NULL, "/", &save)) {
        if (call->n_parts == EK_ARRAY_SIZE(call->parts))
            break;
        decode(part, false);
        call->parts[call->n_parts++] = part;
    }
    for (char *pair = strtok_r(rest, "&", &save); pair; pair = strtok_r(NULL, "&", &save)) {
        if (call->n_params == EK_ARRAY_SIZE(call->params))
            break;
        char *value = strchr(pair, '=');
        if (value)
            *value++ = '\0';
        else
            value = pair + strlen(pair);
        decode(pair, true);
        decode(value, true);
        call->params[call->n_params++] = (struct ek_param){pair, value};
    }
}

/* Finds kind, namespace, name and subresource; false when the path names no resource. */
static bool find_resource(struct ek_ask *call)
{
    size_t at = 2, n = call->n_parts;
    const char *group = "";
    char **parts = call->parts;

    if (n >= 3 && strcmp(parts[0], "apis") == 0)
        group = parts[at++ - 1];
    else if (n < 3 || strcmp(parts[0], "api") != 0)
        return false;
    if (at >= n)
        return false;
    const char *version = parts[at - 1];
    bool namespaces = strcmp(parts[at], "namespaces") == 0;
    bool own = n > at + 2 && strcmp(parts[at + 2], "status") != 0 &&
               strcmp(parts[at + 2], "finalize") != 0;
    if (namespaces && own) {
        call->name_space = parts[at + 1];
        at += 2;
    }
    call->kind = ek_kinds_find(&call->server->kinds, group, version, parts[at]);
    if (n > at + 1)
        call->name = parts[at + 1];
    if (n > at + 2)
        call->subresource = parts[at + 2];
    if (call->kind && namespaces && !own && *call->name)
        call->name_space = "";
    return call->kind && n <= at + 3 && ek_peer_serves(call->peer, call->kind) &&
           (*call->name_space == '\0' || (call->kind->flags & EK_KIND_NAMESPACED));
}

static const char *verb_of(const struct ek_ask *call)
{
    const char *method = call->request->method;
    bool named = *call->name != '\0', watch = ek_ask_flag(call, "watch");

    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0)
        return !call->kind ? "get" : watch ? "watch" : named ? "get" : "list";
    if (strcmp(method, "POST") == 0)
        return "create";
    if (strcmp(method, "PUT") == 0)
        return "update";
    if (strcmp(method, "PATCH") == 0)
        return "patch";
    if (strcmp(method, "DELETE") == 0)
        return named ? "delete" : "deletecollection";
    return "";
}

static void method_not_allowed(struct ek_ask *call)
{
    ek_reply_failure(call, 405, "MethodNotAllowed", "",
                     "the server does not allow this method on the requested resource");
}

static bool knows_subresource(const struct ek_kind *kind, const char *name)
{
    if (!*name)
        return true;
    return (strcmp(name, "status") == 0 && (kind->flags & EK_KIND_STATUS)) ||
           ek_words_have(kind->subresources, name);
}

static void dispatch(struct ek_ask *call)
{
    const char *verb = call->verb;
    bool named = *call->name != '\0';
    bool space_needed = (call->kind->flags & EK_KIND_NAMESPACED) && !*call->name_space;

    if (!knows_subresource(call->kind, call->subresource)) {
        ek_reply_status(call, 404, "NotFound", "{}",
                        "the server could not find the requested resource");
    } else if (call->kind->flags & EK_KIND_REVIEW) {
        strcmp(verb, "create") == 0 ? ek_ask_review(call) : method_not_allowed(call);
    } else if (strcmp(verb, "list") == 0) {
        ek_ask_list(call);
    } else if (strcmp(verb, "watch") == 0) {
        ek_ask_watch(call);
    } else if (strcmp(verb, "deletecollection") == 0) {
        ek_ask_delete_collection(call);
    } else if (space_needed) {
        method_not_allowed(call);
    } else if (strcmp(verb, "create") == 0) {
        if (strcmp(call->subresource, "token") == 0)
            ek_ask_token(call);
        else if (named)
            method_not_allowed(call);
        else
            ek_ask_create(call);
    } else if (!named) {
        method_not_allowed(call);
    } else if (strcmp(verb, "get") == 0) {
        ek_ask_get(call);
    } else if (strcmp(verb, "update") == 0) {
        ek_ask_update(call);
    } else if (strcmp(verb, "patch") == 0) {
        ek_ask_patch(call);
    } else if (strcmp(verb, "delete") == 0 && !*call->subresource) {
        ek_ask_delete(call);
    } else {
        method_not_allowed(call);
    }
}

/* Paths that are no resources: discovery, OpenAPI, health, metrics. */
static void dispatch_other(struct ek_ask *call)
{
    if (ek_ask_well_known(call) || ek_ask_openapi(call) || ek_ask_discovery(call))
        return;
    bool group_path =
        call->n_parts >= 3 || (call->n_parts == 2 && strcmp(call->parts[0], "api") == 0);
    if (group_path && (strcmp(call->parts[0], "apis") == 0 || strcmp(call->parts[0], "api") == 0))
        ek_reply_status(call, 404, "NotFound", "{}",
                        "the server could not find the requested resource");
    else
        ek_reply_text(call, 404, "404 page not found\n");
}

static void note_for_audit(struct ek_ask *call)
{
    struct ek_apiserver_response *r = call->response;
    char resource[EK_GV_SIZE];

    snprintf(r->user, sizeof(r->user), "%s", ek_ask_user(call));
    snprintf(r->verb, sizeof(r->verb), "%s", call->verb);
    snprintf(r->name_space, sizeof(r->name_space), "%.127s", call->name_space);
    if (*call->name || !*r->name)
        snprintf(r->name, sizeof(r->name), "%.255s", call->name);
    if (call->kind)
        snprintf(r->resource, sizeof(r->resource), "%.90s%s%.30s",
                 ek_kind_resource_name(call->kind, resource), *call->subresource ? "/" : "",
                 call->subresource);
    else
        snprintf(r->resource, sizeof(r->resource), "%.127s", call->request->path);
}

void ek_apiserver_handle(struct ek_apiserver_peer *peer, const struct ek_apiserver_request *request,
                         int64_t now_ms, struct ek_apiserver_response *ret_response)
{
    bool again = ek_admission_has_begun(request->admission);
    struct ek_ask call = {
        .server = peer->server,
        .peer = peer,
        .request = request,
        .response = ret_response,
        .now_ms = ek_admission_enter(request->admission, peer->server, now_ms),
        .name_space = "",
        .name = "",
        .subresource = "",
    };

    memset(ret_response, 0, sizeof(*ret_response));
    ek_buf_init(&ret_response->body, EK_REPLY_MAX);
    split(&call);
    bool resource = find_resource(&call);
    if (!resource) {
        call.kind = NULL;
        call.name_space = call.name = call.subresource = "";
    }
    call.verb = verb_of(&call);
    if (ek_auth_identify(&call) && ek_auth_check(&call)) {
        if (resource)
            dispatch(&call);
        else
            dispatch_other(&call);
    }
    ek_admission_leave(request->admission, peer->server, again);
    note_for_audit(&call);
    ek_free(call.texts);
}

void ek_apiserver_response_done(struct ek_apiserver_response *response)
{
    ek_buf_done(&response->body);
    ek_apiserver_watch_free(response->watch);
    response->watch = NULL;
}
