/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation/watch.h"

#include <string.h>

#include "api/base/mem.h"
#include "controller/mutation/subject.h"
#include "reconcilers/mutation/registration.h"

#define OWN_GROUP     "evenkeel.dev"
#define ASK_MS        60000
#define TIMEOUT_MS    30000
#define DISCOVERY_MAX ((size_t)4 << 20)

struct ek_mutation_watch {
    struct ek_mutation_watch_config config;
    struct ek_mutation_params *params;
    struct ek_mutation_schemas *schemas;
    struct ek_object_list *namespaces; /* NULL: to be made */
    uv_timer_t timer;
    struct ek_call *call; /* requests a version */
    size_t asking;        /* which */
    struct ek_native_source source;
    const char *used; /* the version that is watched; NULL: none */
    char *server;     /* owned; NULL: the configured address */
    bool closing;
    int n_stopping;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

/* ---- Rows ---- */

static void forget_namespaces(struct ek_mutation_watch *watch)
{
    ek_object_list_unref(watch->namespaces);
    watch->namespaces = NULL;
}

static void on_namespace(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                         const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)old;
    (void)obj;
    (void)initial;
    forget_namespaces(ek_mutation_subject_watch(ctx));
}

/* What is read of the cluster; deploy/rbac grants exactly this. */
const struct ek_watch_row ek_mutation_rows[EK_MUTATION_RESOURCES] = {
    [EK_MUTATION_OWN_POLICIES] = {.resource = {.group = OWN_GROUP,
                                               .version = "v1alpha1",
                                               .resource = "mutatingadmissionpolicies",
                                               .kind = "MutatingAdmissionPolicy",
                                               .optional = true},
                                  .flags = EK_WATCH_BLIND | EK_WATCH_DEFINED},
    [EK_MUTATION_OWN_BINDINGS] = {.resource = {.group = OWN_GROUP,
                                               .version = "v1alpha1",
                                               .resource = "mutatingadmissionpolicybindings",
                                               .kind = "MutatingAdmissionPolicyBinding",
                                               .optional = true},
                                  .flags = EK_WATCH_BLIND | EK_WATCH_DEFINED},
    [EK_MUTATION_STATUSES] = {.resource = {.group = OWN_GROUP,
                                           .version = "v1alpha1",
                                           .resource = "policystatuses",
                                           .kind = "PolicyStatus",
                                           .optional = true},
                              .flags = EK_WATCH_DEFINED},
    [EK_MUTATION_NAMESPACES] =
        {.resource = {.group = "", .version = "v1", .resource = "namespaces", .kind = "Namespace"},
         .seen = on_namespace},
    [EK_MUTATION_MUTATING] = {.resource = {.group = EK_NATIVE_GROUP,
                                           .version = "v1",
                                           .resource = "mutatingwebhookconfigurations",
                                           .kind = "MutatingWebhookConfiguration",
                                           .field_selector =
                                               "metadata.name=" EK_REGISTRATION_NAME}},
    [EK_MUTATION_VALIDATING] = {.resource = {.group = EK_NATIVE_GROUP,
                                             .version = "v1",
                                             .resource = "validatingwebhookconfigurations",
                                             .kind = "ValidatingWebhookConfiguration",
                                             .field_selector =
                                                 "metadata.name=" EK_REGISTRATION_NAME}},
    [EK_MUTATION_NATIVE_POLICIES] = {.resource = {.group = EK_NATIVE_GROUP,
                                                  .resource = "mutatingadmissionpolicies",
                                                  .kind = "MutatingAdmissionPolicy"},
                                     .flags = EK_WATCH_BLIND | EK_WATCH_LATER},
    [EK_MUTATION_NATIVE_BINDINGS] = {.resource = {.group = EK_NATIVE_GROUP,
                                                  .resource = "mutatingadmissionpolicybindings",
                                                  .kind = "MutatingAdmissionPolicyBinding"},
                                     .flags = EK_WATCH_BLIND | EK_WATCH_LATER},
};

/* ---- The version of the group's own kind ---- */

static void changed(struct ek_mutation_watch *watch)
{
    if (!watch->closing)
        watch->config.changed(watch->config.ctx);
}

static void use_row(const struct ek_mutation_watch *watch, enum ek_mutation_resource row)
{
    struct ek_resource resource = ek_mutation_rows[row].resource;

    resource.version = watch->used;
    ek_watchset_set(watch->config.set, row, watch->used ? &resource : NULL, watch->server);
}

/* Reads the native kinds in the version that is known to be best. The stores start again when the
 * version or the server is another one. */
static void use_best(struct ek_mutation_watch *watch, bool moved)
{
    const char *best = ek_native_source_version(&watch->source);

    if (watch->closing || (best == watch->used && !moved))
        return;
    watch->used = best;
    use_row(watch, EK_MUTATION_NATIVE_POLICIES);
    use_row(watch, EK_MUTATION_NATIVE_BINDINGS);
    changed(watch);
}

void ek_mutation_watch_set_peers(struct ek_mutation_watch *watch,
                                 const struct ek_native_peers *peers)
{
    const char *was = watch->server, *server = peers->server;
    bool moved = !(was == server || (was && server && !strcmp(was, server)));

    watch->source.peers = peers->version;
    watch->source.all = peers->all;
    if (moved) {
        char *copy = ek_xstrdup(server);
        ek_free(watch->server);
        watch->server = copy;
    }
    use_best(watch, moved);
}

const char *ek_mutation_watch_server(const struct ek_mutation_watch *watch)
{
    return watch->server;
}

bool ek_mutation_watch_is_known(const struct ek_mutation_watch *watch)
{
    return ek_native_source_is_known(&watch->source);
}

static void ask(struct ek_mutation_watch *watch, size_t i);

static void on_timer(uv_timer_t *timer)
{
    ask(timer->data, 0);
}

static void on_version(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_mutation_watch *watch = ctx;
    yyjson_doc *doc = err ? NULL : ek_json_parse(resp->body.p, resp->body.len, NULL);
    bool ends = ek_native_source_answer(&watch->source, watch->asking, yyjson_doc_get_root(doc));

    watch->call = NULL;
    yyjson_doc_free(doc);
    if (!ends) {
        ask(watch, watch->asking + 1);
        return;
    }
    uv_timer_start(&watch->timer, on_timer, ASK_MS, 0);
    use_best(watch, false);
    changed(watch);
}

static void ask(struct ek_mutation_watch *watch, size_t i)
{
    EK_AUTOFREE char *path = ek_xasprintf("/apis/" EK_NATIVE_GROUP "/%s", ek_native_version(i));
    const struct ek_request request = {
        .path = path, .timeout_ms = TIMEOUT_MS, .max_body = DISCOVERY_MAX};

    watch->asking = i;
    watch->call = ek_client_send(watch->config.client, &request, on_version, watch);
}

/* ---- Reading ---- */

const struct ek_store *ek_mutation_watch_store(const struct ek_mutation_watch *watch,
                                               enum ek_mutation_resource resource)
{
    return ek_watchset_store(watch->config.set, resource);
}

const struct ek_resource *ek_mutation_watch_resource(const struct ek_mutation_watch *watch,
                                                     enum ek_mutation_resource resource)
{
    return ek_watchset_resource(watch->config.set, resource);
}

struct ek_object_list *ek_mutation_watch_namespaces(struct ek_mutation_watch *watch)
{
    if (!watch->namespaces) {
        size_t n;
        struct ek_obj **items =
            ek_store_snapshot(ek_mutation_watch_store(watch, EK_MUTATION_NAMESPACES), &n);
        watch->namespaces = ek_object_list_new(items, n);
        ek_snapshot_free(items, n);
    }
    return ek_object_list_ref(watch->namespaces);
}

struct ek_mutation_params *ek_mutation_watch_params(const struct ek_mutation_watch *watch)
{
    return watch->params;
}

struct ek_mutation_schemas *ek_mutation_watch_schemas(const struct ek_mutation_watch *watch)
{
    return watch->schemas;
}

/* ---- Life ---- */

static void on_part(void *ctx)
{
    changed(ctx);
}

struct ek_mutation_watch *ek_mutation_watch_new(const struct ek_mutation_watch_config *config)
{
    struct ek_mutation_watch *watch = ek_xalloc(sizeof *watch);

    watch->config = *config;
    watch->params = ek_mutation_params_new(config->loop, config->client, on_part, watch);
    watch->schemas = ek_mutation_schemas_new(config->loop, config->client, on_part, watch);
    uv_timer_init(config->loop, &watch->timer);
    watch->timer.data = watch;
    return watch;
}

void ek_mutation_watch_start(struct ek_mutation_watch *watch)
{
    ask(watch, 0);
}

static void on_part_closed(void *ctx)
{
    struct ek_mutation_watch *watch = ctx;

    if (--watch->n_stopping > 0)
        return;
    ek_object_list_unref(watch->namespaces);
    watch->on_closed(watch->closed_ctx);
    ek_free(watch->server);
    ek_free(watch);
}

static void on_timer_closed(uv_handle_t *handle)
{
    on_part_closed(handle->data);
}

void ek_mutation_watch_close(struct ek_mutation_watch *watch, void (*on_closed)(void *ctx),
                             void *ctx)
{
    watch->on_closed = on_closed;
    watch->closed_ctx = ctx;
    watch->closing = true;
    watch->n_stopping = 3;
    ek_call_cancel(watch->call);
    uv_close((uv_handle_t *)&watch->timer, on_timer_closed);
    ek_mutation_schemas_close(watch->schemas, on_part_closed, watch);
    ek_mutation_params_close(watch->params, on_part_closed, watch);
}
