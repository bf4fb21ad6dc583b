/* SPDX-License-Identifier: Apache-2.0 */
#include "test/apiserver/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

void ek_fixture_init(struct ek_fixture *fixture, size_t window)
{
    const struct ek_apiserver_config config = {.window = window, .seed = 1, .rbac = true};
    const struct ek_apiserver_peer_config peer = {
        .name = "cp-a", .address = "10.99.0.11", .port = 7443, .binary = "1.36.2"};
    struct ek_err err;

    *fixture = (struct ek_fixture){.now_ms = 1795172400000, .token = "admin"};
    fixture->server = ek_apiserver_new(&config, fixture->now_ms);
    if (ek_apiserver_add_peer(fixture->server, &peer, &fixture->peer, &err) < 0)
        abort();
    ek_apiserver_add_token(fixture->server, "admin", "admin", "system:masters", NULL);
}

static void forget(struct ek_fixture *fixture)
{
    ek_apiserver_response_done(&fixture->response);
    yyjson_doc_free(fixture->json);
    fixture->json = NULL;
}

void ek_fixture_done(struct ek_fixture *fixture)
{
    forget(fixture);
    ek_apiserver_free(fixture->server);
}

static int ask(struct ek_fixture *fixture, const char *method, const char *target, const char *type,
               const char *accept, const char *body)
{
    const char *query = strchr(target, '?');
    char *path = ek_xstrndup(target, query ? (size_t)(query - target) : strlen(target));
    char *authorization = fixture->token ? ek_xasprintf("Bearer %s", fixture->token) : NULL;
    const struct ek_apiserver_request request = {
        .method = method,
        .path = path,
        .query = query ? query + 1 : "",
        .accept = accept,
        .content_type = type,
        .user_agent = "test/1.0",
        .authorization = authorization,
        .body = ek_str_from(body),
    };

    forget(fixture);
    ek_apiserver_handle(fixture->peer, &request, fixture->now_ms, &fixture->response);
    fixture->json = ek_json_parse(ek_fixture_body(fixture), fixture->response.body.len, NULL);
    ek_free(path);
    ek_free(authorization);
    return fixture->response.status;
}

int ek_fixture_send(struct ek_fixture *fixture, const char *method, const char *target,
                    const char *type, const char *body)
{
    return ask(fixture, method, target, type ? type : "application/json", "application/json", body);
}

int ek_fixture_get(struct ek_fixture *fixture, const char *target, const char *accept)
{
    return ask(fixture, "GET", target, NULL, accept ? accept : "application/json", NULL);
}

const char *ek_fixture_body(const struct ek_fixture *fixture)
{
    return ek_buf_str(&fixture->response.body);
}

const char *ek_fixture_text(const struct ek_fixture *fixture, const char *pointer)
{
    const char *s = yyjson_get_str(yyjson_doc_ptr_get(fixture->json, pointer));

    return s ? s : "";
}

long long ek_fixture_number(const struct ek_fixture *fixture, const char *pointer)
{
    return yyjson_get_sint(yyjson_doc_ptr_get(fixture->json, pointer));
}

struct ek_apiserver_watch *ek_fixture_take_watch(struct ek_fixture *fixture)
{
    struct ek_apiserver_watch *watch = fixture->response.watch;

    fixture->response.watch = NULL;
    return watch;
}

char *ek_fixture_read(const char *path)
{
    FILE *file = fopen(path, "rb");
    EK_AUTO(ek_buf) text = {0};
    char chunk[65536];
    size_t n;

    if (!file)
        return NULL;
    ek_buf_init(&text, (size_t)256 * 1024 * 1024);
    while ((n = fread(chunk, 1, sizeof(chunk), file)) > 0)
        ek_buf_append(&text, chunk, n);
    fclose(file);
    return ek_buf_steal(&text);
}

static unsigned long long version_of(yyjson_val *item)
{
    const char *text = ek_json_str(item, "metadata", "resourceVersion", NULL);

    return text ? strtoull(text, NULL, 10) : 0;
}

static int by_version(const void *a, const void *b)
{
    unsigned long long left = version_of(*(yyjson_val *const *)a);
    unsigned long long right = version_of(*(yyjson_val *const *)b);

    return left < right ? -1 : left > right;
}

int ek_fixture_load(struct ek_fixture *fixture, const char *path, const char *group,
                    const char *version, const char *plural)
{
    char *text = ek_fixture_read(path);
    yyjson_doc *doc = text ? ek_json_parse(text, strlen(text), NULL) : NULL;
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(doc), "items"), *item;
    size_t index, max, n = yyjson_arr_size(items);
    yyjson_val **sorted = ek_xalloc((n + 1) * sizeof(yyjson_val *));

    yyjson_arr_foreach(items, index, max, item)
    {
        sorted[index] = item;
    }
    qsort(sorted, n, sizeof(sorted[0]), by_version);
    for (size_t i = 0; i < n; i++) {
        size_t len;
        char *json = yyjson_val_write(sorted[i], 0, &len);
        if (ek_apiserver_seed(fixture->server, group, version, plural, json, len, NULL) < 0)
            n = 0;
        free(json);
    }
    const char *rv = ek_json_str(yyjson_doc_get_root(doc), "metadata", "resourceVersion", NULL);
    ek_apiserver_set_rv(fixture->server, rv ? strtoull(rv, NULL, 10) : 0);
    ek_free(sorted);
    yyjson_doc_free(doc);
    ek_free(text);
    return doc ? (int)n : -1;
}
