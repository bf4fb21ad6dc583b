/* SPDX-License-Identifier: Apache-2.0 */
/* Questions about users: TokenReview, the access reviews, and tokens for service accounts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

#define TOKEN_SECONDS_DEFAULT 3600

void ek_auth_put_user(struct ek_buf *out, const char *user, const char *groups)
{
    ek_buf_puts(out, "{\"username\":");
    ek_json_quote(out, user);
    ek_buf_puts(out, ",\"groups\":[");
    for (size_t n = 0; *groups; n++) {
        size_t len = strcspn(groups, " ");
        ek_buf_printf(out, "%s\"%.*s\"", n ? "," : "", (int)len, groups);
        groups += len + (groups[len] == ' ');
    }
    ek_buf_puts(out, "]}");
}

/* Answers with the object that was sent and a status (JSON). */
static void answer(struct ek_ask *call, yyjson_val *sent, const char *status)
{
    struct ek_buf *body = &call->response->body;
    char version[EK_GV_SIZE];
    char *spec = yyjson_val_write(yyjson_obj_get(sent, "spec"), 0, NULL);

    ek_reply_type(call, 201, "application/json");
    ek_buf_printf(body, "{\"kind\":\"%s\",\"apiVersion\":\"%s\",\"metadata\":{},", call->kind->kind,
                  ek_kind_api_version(call->kind, version));
    if (spec)
        ek_buf_printf(body, "\"spec\":%s,", spec);
    ek_buf_printf(body, "\"status\":%s}\n", status);
    free(spec);
}

static void review_token(struct ek_ask *call, yyjson_val *sent)
{
    const char *text = ek_json_str(sent, "spec", "token", NULL);
    struct ek_apiserver_request request = *call->request;
    struct ek_ask other = {.server = call->server, .request = &request, .now_ms = call->now_ms};
    struct ek_apiserver_response unused = {0};
    EK_AUTO(ek_buf) status;
    char *header = ek_xasprintf("Bearer %s", text ? text : "");

    ek_buf_init(&status, 65536);
    ek_buf_init(&unused.body, 65536);
    request.authorization = header;
    other.response = &unused;
    if (text && ek_auth_identify(&other) && other.token) {
        ek_buf_puts(&status, "{\"authenticated\":true,\"user\":");
        ek_auth_put_user(&status, other.token->user, other.token->groups);
        ek_buf_puts(&status, "}");
    } else {
        ek_buf_puts(&status, "{\"user\":{},\"error\":\"invalid bearer token\"}");
    }
    answer(call, sent, ek_buf_str(&status));
    ek_buf_done(&unused.body);
    ek_free(header);
}

static const char *attribute(yyjson_val *spec, const char *name)
{
    const char *s = ek_json_str(spec, "resourceAttributes", name, NULL);

    return s ? s : "";
}

/* The user that a SubjectAccessReview names, as a token; texts are owned. */
static struct ek_test_token subject_of(struct ek_ask *call, yyjson_val *spec)
{
    const char *user = ek_json_str(spec, "user", NULL);
    size_t index, max;
    yyjson_val *group;
    EK_AUTO(ek_buf) groups;

    ek_buf_init(&groups, 65536);
    yyjson_arr_foreach(yyjson_obj_get(spec, "groups"), index, max, group)
    {
        ek_buf_printf(&groups, "%s%s", index ? " " : "", yyjson_get_str(group));
    }
    struct ek_test_token token = {.user = ek_xstrdup(user ? user : ""),
                                  .groups = ek_buf_steal(&groups)};
    /* Rules belong to the user, whichever token it came with. */
    for (size_t i = 1; i < call->server->n_tokens && !token.rules; i++) {
        if (strcmp(call->server->tokens[i].user, token.user) == 0)
            token.rules = ek_xstrdup(call->server->tokens[i].rules);
    }
    token.rules = token.rules ? token.rules : ek_xstrdup("");
    return token;
}

static void review_access(struct ek_ask *call, yyjson_val *sent, bool self)
{
    yyjson_val *spec = yyjson_obj_get(sent, "spec");
    struct ek_test_token subject = self ? (struct ek_test_token){0} : subject_of(call, spec);
    const struct ek_test_token *token = self ? call->token : &subject;
    const char *path = ek_json_str(spec, "nonResourceAttributes", "path", NULL);
    const char *verb = ek_json_str(spec, "nonResourceAttributes", "verb", NULL);
    char resource[512];

    snprintf(resource, sizeof(resource), "%s%s%s", attribute(spec, "resource"),
             *attribute(spec, "subresource") ? "/" : "", attribute(spec, "subresource"));
    bool allowed =
        ek_auth_allows(call->server, token, path ? (verb ? verb : "") : attribute(spec, "verb"),
                       attribute(spec, "group"), resource, attribute(spec, "namespace"),
                       attribute(spec, "name"), path);
    answer(call, sent, allowed ? "{\"allowed\":true}" : "{\"allowed\":false}");
    ek_free(subject.user);
    ek_free(subject.groups);
    ek_free(subject.rules);
}

void ek_ask_review(struct ek_ask *call)
{
    struct ek_str body = call->request->body;
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(body.p ? body.p : "", body.len, &err);
    yyjson_val *root = yyjson_doc_get_root(doc);

    if (!yyjson_is_obj(root)) {
        ek_reply_status(call, 400, "BadRequest", NULL, "the object provided is unrecognized: %s",
                        err.message);
    } else if (strcmp(call->kind->kind, "TokenReview") == 0) {
        review_token(call, root);
    } else if (strcmp(call->kind->kind, "SelfSubjectReview") == 0) {
        EK_AUTO(ek_buf) status;
        ek_buf_init(&status, 65536);
        ek_buf_puts(&status, "{\"userInfo\":");
        ek_auth_put_user(&status, ek_ask_user(call),
                         call->token ? call->token->groups : "system:unauthenticated");
        ek_buf_puts(&status, "}");
        answer(call, root, ek_buf_str(&status));
    } else {
        review_access(call, root, strncmp(call->kind->kind, "Self", 4) == 0);
    }
    yyjson_doc_free(doc);
}

void ek_ask_token(struct ek_ask *call)
{
    struct ek_apiserver *server = call->server;
    struct ek_str body = call->request->body;
    yyjson_doc *doc = ek_json_parse(body.p ? body.p : "", body.len, NULL);
    yyjson_val *asked = ek_json_get(yyjson_doc_get_root(doc), "spec", "expirationSeconds", NULL);
    int64_t seconds = asked ? yyjson_get_sint(asked) : TOKEN_SECONDS_DEFAULT;
    char key[EK_KEY_SIZE], token[64], user[600], groups[600], until[EK_TIME_SIZE];

    yyjson_doc_free(doc);
    if (!ek_mvcc_get(server->store, call->kind->storage, ek_ask_key(call, call->name, key))) {
        ek_reply_not_found(call, call->name);
        return;
    }
    snprintf(token, sizeof(token), "sa-%016llx%016llx",
             (unsigned long long)ek_server_random(server),
             (unsigned long long)ek_server_random(server));
    snprintf(user, sizeof(user), "system:serviceaccount:%s:%s", call->name_space, call->name);
    snprintf(groups, sizeof(groups), "system:serviceaccounts system:serviceaccounts:%s",
             call->name_space);
    ek_apiserver_add_token(server, token, user, groups, NULL);
    for (size_t i = 0; i < server->n_tokens; i++) {
        if (strcmp(server->tokens[i].token, token) == 0)
            server->tokens[i].expires_ms = call->now_ms + seconds * 1000;
    }
    ek_reply_type(call, 201, "application/json");
    ek_buf_printf(&call->response->body,
                  "{\"kind\":\"TokenRequest\",\"apiVersion\":\"authentication.k8s.io/v1\","
                  "\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},\"spec\":{\"audiences\":["
                  "\"https://kubernetes.default.svc\"],\"expirationSeconds\":%lld},\"status\":{"
                  "\"token\":\"%s\",\"expirationTimestamp\":\"%s\"}}\n",
                  call->name, call->name_space, (long long)seconds, token,
                  ek_time_format(call->now_ms + seconds * 1000, until));
}
