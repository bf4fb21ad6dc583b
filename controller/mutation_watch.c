/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation_watch.h"

#include <string.h>

#include "api/mem.h"
#include "reconcilers/mutation/registration.h"

#define NATIVE_GROUP  "admissionregistration.k8s.io"
#define OWN_GROUP     "evenkeel.dev"
#define ASK_MS        60000
#define TIMEOUT_MS    30000
#define DISCOVERY_MAX ((size_t)4 << 20)

/* Best first. */
static const char *const versions[] = {"v1", "v1beta1", "v1alpha1"};

#define N_VERSIONS EK_ARRAY_SIZE(versions)

/* What is read of the cluster; deploy/rbac grants exactly this. */
static const struct ek_resource resources[EK_MUTATION_RESOURCES] = {
    [EK_MUTATION_OWN_POLICIES] = {.group = OWN_GROUP,
                                  .version = "v1alpha1",
                                  .resource = "mutatingadmissionpolicies",
                                  .kind = "MutatingAdmissionPolicy",
                                  .optional = true},
    [EK_MUTATION_OWN_BINDINGS] = {.group = OWN_GROUP,
                                  .version = "v1alpha1",
                                  .resource = "mutatingadmissionpolicybindings",
                                  .kind = "MutatingAdmissionPolicyBinding",
                                  .optional = true},
    [EK_MUTATION_STATUSES] = {.group = OWN_GROUP,
                              .version = "v1alpha1",
                              .resource = "policystatuses",
                              .kind = "PolicyStatus",
                              .optional = true},
    [EK_MUTATION_NAMESPACES] = {.group = "",
                                .version = "v1",
                                .resource = "namespaces",
                                .kind = "Namespace"},
    [EK_MUTATION_MUTATING] = {.group = NATIVE_GROUP,
                              .version = "v1",
                              .resource = "mutatingwebhookconfigurations",
                              .kind = "MutatingWebhookConfiguration",
                              .field_selector = "metadata.name=" EK_REGISTRATION_NAME},
    [EK_MUTATION_VALIDATING] = {.group = NATIVE_GROUP,
                                .version = "v1",
                                .resource = "validatingwebhookconfigurations",
                                .kind = "ValidatingWebhookConfiguration",
                                .field_selector = "metadata.name=" EK_REGISTRATION_NAME},
    [EK_MUTATION_NATIVE_POLICIES] = {.group = NATIVE_GROUP,
                                     .resource = "mutatingadmissionpolicies",
                                     .kind = "MutatingAdmissionPolicy"},
    [EK_MUTATION_NATIVE_BINDINGS] = {.group = NATIVE_GROUP,
                                     .resource = "mutatingadmissionpolicybindings",
                                     .kind = "MutatingAdmissionPolicyBinding"},
};

struct ek_mutation_watch {
    uv_loop_t *loop;
    struct ek_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    struct ek_resource resources[EK_MUTATION_RESOURCES];
    struct ek_informer *informers[EK_MUTATION_RESOURCES];
    struct ek_mutation_params *params;
    struct ek_mutation_schemas *schemas;
    struct ek_object_list *namespaces; /* NULL: to be made */
    uv_timer_t timer;
    struct ek_call *call;     /* asks for a version */
    size_t asking;            /* which */
    size_t asked, told, used; /* best versions; N_VERSIONS: none */
    bool answered;            /* the configured address has told once */
    bool told_all;
    char *server; /* that the native kinds are read from; NULL: the configured address */
    bool started, closing;
    int n_stopping;
    void (*on_closed)(void *ctx);
    void *closed_ctx;
};

static bool is_native(enum ek_mutation_resource r)
{
    return r == EK_MUTATION_NATIVE_POLICIES || r == EK_MUTATION_NATIVE_BINDINGS;
}

/* ---- Informers ---- */

static void tell(struct ek_mutation_watch *watch)
{
    if (!watch->closing)
        watch->changed(watch->ctx);
}

static void on_change(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                      const struct ek_obj *obj, bool initial)
{
    (void)change;
    (void)old;
    (void)obj;
    (void)initial;
    tell(ctx);
}

static void on_namespace(void *ctx, enum ek_store_change change, const struct ek_obj *old,
                         const struct ek_obj *obj, bool initial)
{
    struct ek_mutation_watch *watch = ctx;

    (void)change;
    (void)old;
    (void)obj;
    (void)initial;
    ek_object_list_unref(watch->namespaces);
    watch->namespaces = NULL;
    tell(watch);
}

static void on_informer(void *ctx)
{
    tell(ctx);
}

static void add_informer(struct ek_mutation_watch *watch, enum ek_mutation_resource r)
{
    struct ek_informer *informer =
        ek_informer_new(watch->loop, watch->client, &watch->resources[r]);

    watch->informers[r] = informer;
    ek_store_add_handler(ek_informer_store(informer),
                         r == EK_MUTATION_NAMESPACES ? on_namespace : on_change, watch);
    ek_informer_set_observer(informer, on_informer, watch);
    if (is_native(r) && watch->server)
        ek_informer_set_server(informer, watch->server);
    if (watch->started)
        ek_informer_start(informer);
}

/* ---- The version of the group's own kind ---- */

static size_t best_version(const struct ek_mutation_watch *watch)
{
    if (watch->told_all)
        return watch->told;
    return watch->asked < watch->told ? watch->asked : watch->told;
}

/* Reads the native kinds in a version, of the server that is set. The stores start anew, and until
 * they are filled the watch is not settled. */
static void use(struct ek_mutation_watch *watch, size_t best)
{
    watch->used = best;
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++) {
        if (!is_native(r))
            continue;
        /* Neither from a handler nor from an observer: see callers. */
        ek_informer_free(watch->informers[r]);
        watch->informers[r] = NULL;
        watch->resources[r].version = best < N_VERSIONS ? versions[best] : NULL;
        if (best < N_VERSIONS)
            add_informer(watch, r);
    }
    tell(watch);
}

/* Changes to the best version that is known. */
static void use_best(struct ek_mutation_watch *watch)
{
    size_t best = best_version(watch);

    if (best != watch->used && !watch->closing)
        use(watch, best);
}

static bool same_server(const char *a, const char *b)
{
    return a == b || (a && b && !strcmp(a, b));
}

void ek_mutation_watch_set_version(struct ek_mutation_watch *watch, const char *version, bool all,
                                   const char *server)
{
    bool moved = !same_server(server, watch->server);
    size_t i = 0;

    while (i < N_VERSIONS && !(version && !strcmp(version, versions[i])))
        i++;
    watch->told = i;
    watch->told_all = all;
    if (moved) {
        ek_free(watch->server);
        watch->server = ek_xstrdup(server);
    }
    if (moved && !watch->closing)
        use(watch, best_version(watch));
    else
        use_best(watch);
}

const char *ek_mutation_watch_server(const struct ek_mutation_watch *watch)
{
    return watch->server;
}

static void ask(struct ek_mutation_watch *watch, size_t i);

static void on_timer(uv_timer_t *timer)
{
    ask(timer->data, 0);
}

static bool lists_policies(yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(list, "resources"), i, n, item)
    {
        if (yyjson_equals_str(yyjson_obj_get(item, "name"), "mutatingadmissionpolicies"))
            return true;
    }
    return false;
}

static void end_asking(struct ek_mutation_watch *watch)
{
    watch->answered = true;
    uv_timer_start(&watch->timer, on_timer, ASK_MS, 0);
    use_best(watch);
    tell(watch);
}

static void on_version(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_mutation_watch *watch = ctx;
    yyjson_doc *doc = err ? NULL : ek_json_parse(resp->body.p, resp->body.len, NULL);
    bool there = lists_policies(yyjson_doc_get_root(doc));

    watch->call = NULL;
    yyjson_doc_free(doc);
    /* What another server behind the address has told stays true. */
    if (there && watch->asking < watch->asked)
        watch->asked = watch->asking;
    if (there || watch->asking + 1 == N_VERSIONS)
        end_asking(watch);
    else
        ask(watch, watch->asking + 1);
}

static void ask(struct ek_mutation_watch *watch, size_t i)
{
    static const char *const paths[N_VERSIONS] = {"/apis/" NATIVE_GROUP "/v1",
                                                  "/apis/" NATIVE_GROUP "/v1beta1",
                                                  "/apis/" NATIVE_GROUP "/v1alpha1"};
    const struct ek_request request = {
        .path = paths[i], .timeout_ms = TIMEOUT_MS, .max_body = DISCOVERY_MAX};

    watch->asking = i;
    watch->call = ek_client_send(watch->client, &request, on_version, watch);
}

/* ---- Reading ---- */

const char *ek_mutation_watch_version(const struct ek_mutation_watch *watch)
{
    return watch->used < N_VERSIONS ? versions[watch->used] : NULL;
}

/* A list that is not permitted stays so until someone acts: waiting for it helps nobody. */
static bool is_settled(const struct ek_informer *informer)
{
    struct ek_informer_status status;

    ek_informer_status(informer, &status);
    return status.synced || status.last_error_code == EK_E_FORBIDDEN;
}

bool ek_mutation_watch_is_settled(const struct ek_mutation_watch *watch)
{
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++)
        if (watch->informers[r] && !is_settled(watch->informers[r]))
            return false;
    return watch->answered || watch->told_all;
}

char *ek_mutation_watch_problem(const struct ek_mutation_watch *watch, bool *ret_blind)
{
    char *problem = NULL;

    *ret_blind = false;
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++) {
        const struct ek_resource *what = &watch->resources[r];
        struct ek_informer_status status;
        if (!watch->informers[r])
            continue;
        ek_informer_status(watch->informers[r], &status);
        *ret_blind = *ret_blind || (!status.synced && strstr(what->resource, "admissionpolic"));
        if (status.last_error_code == EK_E_FORBIDDEN && !problem)
            problem = ek_xasprintf("%s%s%s could not be read: forbidden: grant list and watch",
                                   what->resource, *what->group ? "." : "", what->group);
    }
    return problem;
}

const struct ek_store *ek_mutation_watch_store(const struct ek_mutation_watch *watch,
                                               enum ek_mutation_resource resource)
{
    return watch->informers[resource] ? ek_informer_store(watch->informers[resource]) : NULL;
}

struct ek_informer *ek_mutation_watch_informer(const struct ek_mutation_watch *watch,
                                               enum ek_mutation_resource resource)
{
    return watch->informers[resource];
}

const struct ek_resource *ek_mutation_watch_resource(const struct ek_mutation_watch *watch,
                                                     enum ek_mutation_resource resource)
{
    return &watch->resources[resource];
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
    tell(ctx);
}

struct ek_mutation_watch *ek_mutation_watch_new(uv_loop_t *loop, struct ek_client *client,
                                                void (*changed)(void *ctx), void *ctx)
{
    struct ek_mutation_watch *watch = ek_xalloc(sizeof *watch);

    watch->loop = loop;
    watch->client = client;
    watch->changed = changed;
    watch->ctx = ctx;
    watch->asked = watch->told = watch->used = N_VERSIONS;
    memcpy(watch->resources, resources, sizeof resources);
    watch->params = ek_mutation_params_new(loop, client, on_part, watch);
    watch->schemas = ek_mutation_schemas_new(loop, client, on_part, watch);
    uv_timer_init(loop, &watch->timer);
    watch->timer.data = watch;
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++)
        if (!is_native(r))
            add_informer(watch, r);
    return watch;
}

void ek_mutation_watch_start(struct ek_mutation_watch *watch)
{
    watch->started = true;
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++)
        if (watch->informers[r])
            ek_informer_start(watch->informers[r]);
    ask(watch, 0);
}

static void on_part_closed(void *ctx)
{
    struct ek_mutation_watch *watch = ctx;

    if (--watch->n_stopping > 0)
        return;
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++)
        ek_informer_free(watch->informers[r]);
    ek_object_list_unref(watch->namespaces);
    if (watch->on_closed)
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
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++)
        watch->n_stopping += watch->informers[r] != NULL;
    ek_call_cancel(watch->call);
    uv_close((uv_handle_t *)&watch->timer, on_timer_closed);
    for (int r = 0; r < EK_MUTATION_RESOURCES; r++)
        if (watch->informers[r])
            ek_informer_stop(watch->informers[r], on_part_closed, watch);
    ek_mutation_schemas_close(watch->schemas, on_part_closed, watch);
    ek_mutation_params_close(watch->params, on_part_closed, watch);
}
