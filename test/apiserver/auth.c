/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls and what they may do: a table of tokens with simple rules, and RBAC by the objects in
 * the storage where the server is configured so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

void ek_apiserver_add_token(struct ek_apiserver *server, const char *token, const char *user,
                            const char *groups, const char *rules)
{
    /* The table is small; when it is full the oldest tokens, but the first half, make room. */
    size_t at = server->n_tokens < EK_TOKENS_MAX
                    ? server->n_tokens++
                    : EK_TOKENS_MAX / 2 + ek_server_random(server) % (EK_TOKENS_MAX / 2);
    struct ek_test_token *row = &server->tokens[at];

    ek_free(row->token);
    ek_free(row->user);
    ek_free(row->groups);
    ek_free(row->rules);
    *row = (struct ek_test_token){
        .token = ek_xstrdup(token),
        .user = ek_xstrdup(user),
        .groups = ek_xasprintf("%s%ssystem:authenticated", groups ? groups : "",
                               groups && *groups ? " " : ""),
        .rules = ek_xstrdup(rules ? rules : ""),
    };
}

static const struct ek_test_token *find_token(const struct ek_apiserver *server, const char *token,
                                              int64_t now_ms)
{
    for (size_t i = 0; i < server->n_tokens; i++) {
        const struct ek_test_token *row = &server->tokens[i];
        if (row->rules && strcmp(row->token, token) == 0 &&
            (!row->expires_ms || row->expires_ms > now_ms))
            return row;
    }
    return NULL;
}

const char *ek_ask_user(const struct ek_ask *call)
{
    return call->token ? call->token->user : "system:anonymous";
}

bool ek_auth_identify(struct ek_ask *call)
{
    const char *header = call->request->authorization;

    if (!header || !*header)
        return true;
    if (strncmp(header, "Bearer ", 7) == 0)
        call->token = find_token(call->server, header + 7, call->now_ms);
    if (call->token)
        return true;
    ek_reply_status(call, 401, "Unauthorized", NULL, "Unauthorized");
    return false;
}

bool ek_apiserver_is_admin(struct ek_apiserver *server, const char *authorization, int64_t now_ms)
{
    const struct ek_test_token *token = authorization && strncmp(authorization, "Bearer ", 7) == 0
                                            ? find_token(server, authorization + 7, now_ms)
                                            : NULL;

    return token && ek_words_have(token->groups, "system:masters");
}

/* The requested access; resource may hold a subresource ("nodes/status"). */
struct access {
    const char *verb, *group, *resource, *name_space, *name;
    const char *path; /* instead of a resource */
};

static bool list_has(const char *list, size_t len, const char *word)
{
    size_t word_len = strlen(word);

    while (len > 0) {
        size_t n = 0;
        while (n < len && list[n] != ',')
            n++;
        if ((n == 1 && *list == '*') || (n == word_len && memcmp(list, word, n) == 0))
            return true;
        list += n + (n < len);
        len -= n + (n < len);
    }
    return false;
}

/* "get,list leases,nodes coordination.k8s.io" */
static bool row_allows(const char *row, size_t len, const struct access *access)
{
    const char *words[3] = {"", "*", "*"};
    size_t lens[3] = {0, 1, 1}, n = 0;

    for (size_t i = 0; i < len && n < 3;) {
        size_t from = i;
        while (i < len && row[i] != ' ')
            i++;
        if (i > from) {
            words[n] = row + from;
            lens[n++] = i - from;
        }
        i += i < len;
    }
    return n > 0 && list_has(words[0], lens[0], access->verb) &&
           list_has(words[1], lens[1], access->path ? access->path : access->resource) &&
           (access->path || list_has(words[2], lens[2], access->group));
}

static bool rules_allow(const char *rules, const struct access *access)
{
    if (strcmp(rules, "*") == 0)
        return true;
    while (*rules) {
        size_t len = strcspn(rules, ";");
        if (row_allows(rules, len, access))
            return true;
        rules += len + (rules[len] == ';');
    }
    return false;
}

/* --- RBAC --- */

static bool words_match(yyjson_val *list, const char *word, bool empty_matches)
{
    size_t index, max;
    yyjson_val *item;

    if (yyjson_arr_size(list) == 0)
        return empty_matches;
    yyjson_arr_foreach(list, index, max, item)
    {
        const char *s = yyjson_get_str(item);
        size_t len = s ? strlen(s) : 0;
        if (s && (strcmp(s, "*") == 0 || strcmp(s, word) == 0))
            return true;
        if (len > 1 && s[len - 1] == '*' && strncmp(s, word, len - 1) == 0)
            return true;
    }
    return false;
}

static bool role_allows(yyjson_val *role, const struct access *access)
{
    size_t index, max;
    yyjson_val *rule;

    yyjson_arr_foreach(yyjson_obj_get(role, "rules"), index, max, rule)
    {
        if (!words_match(yyjson_obj_get(rule, "verbs"), access->verb, false))
            continue;
        if (access->path) {
            if (words_match(yyjson_obj_get(rule, "nonResourceURLs"), access->path, false))
                return true;
            continue;
        }
        if (words_match(yyjson_obj_get(rule, "apiGroups"), access->group, false) &&
            words_match(yyjson_obj_get(rule, "resources"), access->resource, false) &&
            words_match(yyjson_obj_get(rule, "resourceNames"), access->name, true))
            return true;
    }
    return false;
}

static bool is_subject(yyjson_val *binding, const struct ek_test_token *token)
{
    size_t index, max;
    yyjson_val *subject;

    yyjson_arr_foreach(yyjson_obj_get(binding, "subjects"), index, max, subject)
    {
        const char *kind = ek_json_str(subject, "kind", NULL);
        const char *name = ek_json_str(subject, "name", NULL);
        const char *space = ek_json_str(subject, "namespace", NULL);
        char account[600];
        if (!kind || !name)
            continue;
        snprintf(account, sizeof(account), "system:serviceaccount:%s:%s", space ? space : "", name);
        if ((strcmp(kind, "User") == 0 && strcmp(name, token->user) == 0) ||
            (strcmp(kind, "Group") == 0 && ek_words_have(token->groups, name)) ||
            (strcmp(kind, "ServiceAccount") == 0 && strcmp(account, token->user) == 0))
            return true;
    }
    return false;
}

static yyjson_doc *read_object(struct ek_apiserver *server, const char *plural, const char *key)
{
    const struct ek_kind *kind =
        ek_kinds_find(&server->kinds, "rbac.authorization.k8s.io", "v1", plural);
    const struct ek_mvcc_value *value = ek_mvcc_get(server->store, kind->storage, key);

    return value ? yyjson_read(value->json, value->len, 0) : NULL;
}

/* Whether one binding gives the access; space is its namespace, "" for a ClusterRoleBinding. */
static bool binding_allows(struct ek_apiserver *server, const struct ek_mvcc_value *value,
                           const char *space, const struct ek_test_token *token,
                           const struct access *access)
{
    yyjson_doc *doc = yyjson_read(value->json, value->len, 0), *role = NULL;
    yyjson_val *binding = yyjson_doc_get_root(doc);
    const char *kind = ek_json_str(binding, "roleRef", "kind", NULL);
    const char *name = ek_json_str(binding, "roleRef", "name", NULL);
    char key[EK_KEY_SIZE];

    if (kind && name && is_subject(binding, token)) {
        bool cluster = strcmp(kind, "ClusterRole") == 0;
        snprintf(key, sizeof(key), "%s%s%s", cluster ? "" : space, cluster ? "" : "/", name);
        role = read_object(server, cluster ? "clusterroles" : "roles", key);
    }
    bool allowed = role && role_allows(yyjson_doc_get_root(role), access);
    yyjson_doc_free(role);
    yyjson_doc_free(doc);
    return allowed;
}

static bool rbac_allows(struct ek_apiserver *server, const struct ek_test_token *token,
                        const struct access *access)
{
    const char *spaces[2] = {"", access->name_space};

    for (int i = 0; i < 2; i++) {
        if (i == 1 && (!*access->name_space || access->path))
            break;
        const struct ek_kind *kind =
            ek_kinds_find(&server->kinds, "rbac.authorization.k8s.io", "v1",
                          i == 0 ? "clusterrolebindings" : "rolebindings");
        struct ek_mvcc_iter iter;
        struct ek_mvcc_value *value;
        const char *key;
        char prefix[EK_KEY_SIZE];
        snprintf(prefix, sizeof(prefix), "%s%s", spaces[i], i == 0 ? "" : "/");
        ek_mvcc_seek(server->store, kind->storage, prefix, ek_mvcc_rv(server->store), &iter);
        while ((value = ek_mvcc_next(&iter, &key)) != NULL &&
               strncmp(key, prefix, strlen(prefix)) == 0) {
            if (binding_allows(server, value, spaces[i], token, access))
                return true;
        }
    }
    return false;
}

/* What the roles system:discovery and system:public-info-viewer give to everyone. */
static bool is_public(const char *path, bool authenticated)
{
    static const char *const info[] = {"/healthz", "/livez", "/readyz", "/version"};
    static const char *const discovery[] = {"/api", "/apis", "/openapi"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(info); i++) {
        size_t len = strlen(info[i]);
        if (strncmp(path, info[i], len) == 0 && (path[len] == '\0' || path[len] == '/'))
            return true;
    }
    for (size_t i = 0; authenticated && i < EK_ARRAY_SIZE(discovery); i++) {
        size_t len = strlen(discovery[i]);
        if (strncmp(path, discovery[i], len) == 0 && (path[len] == '\0' || path[len] == '/'))
            return true;
    }
    return false;
}

/* Every authenticated user may ask about itself. */
static bool is_self_review(const struct access *access)
{
    return !access->path && strcmp(access->verb, "create") == 0 &&
           strncmp(access->resource, "selfsubject", 11) == 0;
}

bool ek_auth_allows(struct ek_apiserver *server, const struct ek_test_token *token,
                    const char *verb, const char *group, const char *resource,
                    const char *name_space, const char *name, const char *path)
{
    static const struct ek_test_token anonymous = {.user = (char *)(uintptr_t) "system:anonymous",
                                                   .groups =
                                                       (char *)(uintptr_t) "system:unauthenticated",
                                                   .rules = (char *)(uintptr_t) ""};
    const struct access access = {verb, group, resource, name_space, name, path};
    bool authenticated = token != NULL;

    if (path && strcmp(verb, "get") == 0 && is_public(path, authenticated))
        return true;
    if (!token)
        token = &anonymous;
    if (authenticated && is_self_review(&access))
        return true;
    return ek_words_have(token->groups, "system:masters") || rules_allow(token->rules, &access) ||
           (server->rbac && rbac_allows(server, token, &access));
}

static void full_resource(const struct ek_ask *call, char buf[EK_GV_SIZE])
{
    snprintf(buf, EK_GV_SIZE, "%s%s%s", call->kind->plural, *call->subresource ? "/" : "",
             call->subresource);
}

bool ek_auth_check(struct ek_ask *call)
{
    char resource[EK_GV_SIZE], qualified[EK_GV_SIZE], named[700] = "", where[700];
    const char *user = ek_ask_user(call);

    if (!call->kind) {
        if (ek_auth_allows(call->server, call->token, call->verb, "", "", "", "",
                           call->request->path))
            return true;
        ek_reply_status(call, 403, "Forbidden", "{}",
                        "forbidden: User \"%s\" cannot %s path \"%s\"", user, call->verb,
                        call->request->path);
        return false;
    }
    full_resource(call, resource);
    if (ek_auth_allows(call->server, call->token, call->verb, call->kind->group, resource,
                       call->name_space, call->name, NULL))
        return true;
    if (*call->name)
        snprintf(named, sizeof(named), " \"%s\"", call->name);
    if (*call->name_space)
        snprintf(where, sizeof(where), "in the namespace \"%s\"", call->name_space);
    else
        snprintf(where, sizeof(where), "at the cluster scope");
    ek_reply_failure(call, 403, "Forbidden", call->name,
                     "%s%s is forbidden: User \"%s\" cannot %s resource \"%s\" in API group \"%s\" "
                     "%s",
                     ek_kind_resource_name(call->kind, qualified), named, user, call->verb,
                     resource, call->kind->group, where);
    return false;
}
