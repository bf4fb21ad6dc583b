/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/params.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

#define RETRY_MS      5000
#define TIMEOUT_MS    30000
#define DISCOVERY_MAX ((size_t)16 << 20)

/* One kind, from its look-up to its informer. Lives until its requests and its informer have
 * ended. */
struct kind {
    struct ek_mutation_params *params;
    char *api_version, *name;
    struct ek_call *call; /* the look-up */
    struct ek_informer *informer;
    uv_timer_t timer;
    bool known, namespaced, answered, leaving;
    unsigned long version;
    int n_stopping;
    char error[256];
    int error_code; /* of error */
};

struct ek_mutation_params {
    uv_loop_t *loop;
    struct ek_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    struct kind *kinds[EK_MUTATION_PARAMS_MAX];
    size_t n_kinds;
    unsigned long born; /* kinds so far: their stores' versions never meet */
    size_t n_leaving;   /* kinds that are not in the list any more */
    bool closing;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static void look_up(struct kind *kind);

/* ---- Leaving ---- */

static void maybe_closed(struct ek_mutation_params *params)
{
    if (!params->closing || params->n_leaving)
        return;
    if (params->on_closed)
        params->on_closed(params->closed_ctx);
    ek_free(params);
}

static void on_part_gone(struct kind *kind)
{
    struct ek_mutation_params *params = kind->params;

    if (--kind->n_stopping > 0)
        return;
    ek_informer_free(kind->informer);
    ek_free(kind->api_version);
    ek_free(kind->name);
    ek_free(kind);
    params->n_leaving--;
    maybe_closed(params);
}

static void on_stopped(void *ctx)
{
    on_part_gone(ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_part_gone(handle->data);
}

static void leave(struct kind *kind)
{
    kind->leaving = true;
    kind->params->n_leaving++;
    kind->n_stopping = kind->informer ? 2 : 1;
    ek_call_cancel(kind->call);
    kind->call = NULL;
    uv_close((uv_handle_t *)&kind->timer, on_timer_closed);
    if (kind->informer)
        ek_informer_stop(kind->informer, on_stopped, kind);
}

/* ---- Listing ---- */

static void on_object(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    struct kind *kind = ctx;

    (void)change;
    (void)old;
    (void)obj;
    (void)initial;
    kind->version++;
    if (!kind->leaving)
        kind->params->changed(kind->params->ctx);
}

static void on_informer(void *ctx)
{
    struct kind *kind = ctx;

    if (!kind->leaving)
        kind->params->changed(kind->params->ctx);
}

static void split(const char *api_version, char *group, size_t size, const char **ret_version)
{
    const char *slash = strchr(api_version, '/');

    snprintf(group, size, "%.*s", slash ? (int)(slash - api_version) : 0, api_version);
    *ret_version = slash ? slash + 1 : api_version;
}

static void begin(struct kind *kind, const char *resource)
{
    struct ek_mutation_params *params = kind->params;
    const char *version;
    char group[254];

    split(kind->api_version, group, sizeof group, &version);
    const struct ek_resource what = {
        .group = group, .version = version, .resource = resource, .kind = kind->name};
    kind->informer = ek_informer_new(params->loop, params->client, &what);
    ek_store_add_handler(ek_informer_store(kind->informer), on_object, kind);
    ek_informer_set_observer(kind->informer, on_informer, kind);
    ek_informer_start(kind->informer);
}

/* ---- Looking up ---- */

static void on_timer(uv_timer_t *timer)
{
    look_up(timer->data);
}

static void try_again(struct kind *kind)
{
    uv_timer_start(&kind->timer, on_timer, RETRY_MS, 0);
}

static yyjson_val *find_kind(yyjson_val *list, const char *name)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(list, "resources"), i, n, item)
    {
        const char *resource = ek_json_str(item, "name", NULL);
        if (resource && !strchr(resource, '/') &&
            yyjson_equals_str(yyjson_obj_get(item, "kind"), name))
            return item;
    }
    return NULL;
}

static void on_list(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct kind *kind = ctx;
    struct ek_err local = {0};

    kind->call = NULL;
    kind->answered = true;
    yyjson_doc *doc = err ? NULL : ek_json_parse(resp->body.p, resp->body.len, &local);
    yyjson_val *found = find_kind(yyjson_doc_get_root(doc), kind->name);
    if (found) {
        kind->known = true;
        kind->namespaced = yyjson_get_bool(yyjson_obj_get(found, "namespaced"));
        *kind->error = '\0';
        begin(kind, ek_json_str(found, "name", NULL));
    } else {
        if (err && err->code != EK_E_NOENT)
            snprintf(kind->error, sizeof kind->error, "%.250s", err->message);
        else
            snprintf(kind->error, sizeof kind->error, "the cluster serves no %s of %s", kind->name,
                     kind->api_version);
        kind->error_code = err ? err->code : EK_E_NOENT;
        try_again(kind);
    }
    yyjson_doc_free(doc);
    kind->params->changed(kind->params->ctx);
}

static void look_up(struct kind *kind)
{
    EK_AUTO(ek_buf) path;
    const char *version;
    char group[254];

    split(kind->api_version, group, sizeof group, &version);
    ek_buf_init(&path, 2048);
    ek_buf_puts(&path, *group ? "/apis/" : "/api/");
    ek_uri_escape(&path, group);
    ek_buf_puts(&path, *group ? "/" : "");
    ek_uri_escape(&path, version);
    const struct ek_request request = {
        .path = ek_buf_str(&path), .timeout_ms = TIMEOUT_MS, .max_body = DISCOVERY_MAX};
    kind->call = ek_client_send(kind->params->client, &request, on_list, kind);
}

/* ---- What is wanted ---- */

static bool is(const struct kind *kind, const struct ek_param_kind *want)
{
    return !strcmp(kind->api_version, want->api_version) && !strcmp(kind->name, want->kind);
}

static void drop_unwanted(struct ek_mutation_params *params, const struct ek_param_kind *kinds,
                          size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < params->n_kinds; i++) {
        size_t k = 0;
        while (k < n && !is(params->kinds[i], &kinds[k]))
            k++;
        if (k < n)
            params->kinds[kept++] = params->kinds[i];
        else
            leave(params->kinds[i]);
    }
    params->n_kinds = kept;
}

static void add(struct ek_mutation_params *params, const struct ek_param_kind *want)
{
    for (size_t i = 0; i < params->n_kinds; i++)
        if (is(params->kinds[i], want))
            return;
    if (params->n_kinds == EK_MUTATION_PARAMS_MAX)
        return;
    struct kind *kind = ek_xalloc(sizeof *kind);
    kind->params = params;
    kind->version = ++params->born << 32;
    kind->api_version = ek_xstrdup(want->api_version);
    kind->name = ek_xstrdup(want->kind);
    uv_timer_init(params->loop, &kind->timer);
    kind->timer.data = kind;
    params->kinds[params->n_kinds++] = kind;
    look_up(kind);
}

void ek_mutation_params_want(struct ek_mutation_params *params, const struct ek_param_kind *kinds,
                             size_t n)
{
    drop_unwanted(params, kinds, n);
    for (size_t i = 0; i < n; i++)
        add(params, &kinds[i]);
}

static const char *fill_error(const struct kind *kind, const struct ek_informer_status *status)
{
    return kind->informer && *status->last_error ? status->last_error : kind->error;
}

bool ek_mutation_params_at(const struct ek_mutation_params *params, size_t i,
                           struct ek_param_state *ret)
{
    struct ek_informer_status status = {.last_error = ""};

    if (i >= params->n_kinds)
        return false;
    const struct kind *kind = params->kinds[i];
    if (kind->informer)
        ek_informer_status(kind->informer, &status);
    *ret = (struct ek_param_state){
        .api_version = kind->api_version,
        .kind = kind->name,
        .known = kind->known,
        .namespaced = kind->namespaced,
        .store = status.synced ? ek_informer_store(kind->informer) : NULL,
        .version = kind->version,
        .error = fill_error(kind, &status),
        .error_code = *status.last_error ? status.last_error_code : kind->error_code};
    return true;
}

struct ek_informer *ek_mutation_params_informer(const struct ek_mutation_params *params, size_t i,
                                                bool *ret_end)
{
    *ret_end = i >= params->n_kinds;
    return *ret_end ? NULL : params->kinds[i]->informer;
}

bool ek_mutation_params_are_settled(const struct ek_mutation_params *params)
{
    for (size_t i = 0; i < params->n_kinds; i++) {
        const struct kind *kind = params->kinds[i];
        struct ek_informer_status status = {0};
        if (kind->informer)
            ek_informer_status(kind->informer, &status);
        if (!kind->answered || (kind->informer && !status.synced && !status.last_error_code))
            return false;
    }
    return true;
}

struct ek_mutation_params *ek_mutation_params_new(uv_loop_t *loop, struct ek_client *client,
                                                  void (*changed)(void *ctx), void *ctx)
{
    struct ek_mutation_params *params = ek_xalloc(sizeof *params);

    params->loop = loop;
    params->client = client;
    params->changed = changed;
    params->ctx = ctx;
    return params;
}

void ek_mutation_params_close(struct ek_mutation_params *params, void (*on_closed)(void *ctx),
                              void *ctx)
{
    params->on_closed = on_closed;
    params->closed_ctx = ctx;
    drop_unwanted(params, NULL, 0);
    params->closing = true;
    maybe_closed(params);
}
