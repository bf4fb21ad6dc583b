/* SPDX-License-Identifier: Apache-2.0 */
/* --schema cluster: the schemas that a cluster publishes, and its CustomResourceDefinitions. */
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/manifests/manifests-internal.h"
#include "controller/mutation/schemas.h"
#include "informers/client/kubeconfig.h"

#define TIMEOUT_MS 30000
#define CRDS_PATH  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRDS_MAX   ((size_t)256 << 20)

struct fetch {
    struct ek_ci *ci;
    uv_loop_t loop;
    uv_timer_t deadline;
    struct ek_client *client;
    struct ek_mutation_schemas *schemas;
    bool crds_done, ended, failed;
    struct ek_err err;
};

static void on_stopped(void *ctx)
{
    struct fetch *f = ctx;
    ek_client_close(f->client, NULL, NULL);
}

static void keep(void *ctx, const char *group, const char *version, const struct ek_schema *schema)
{
    struct fetch *f = ctx;

    (void)group;
    (void)version;
    ek_ci_add_schema(f->ci, ek_schema_ref(schema));
}

static void end(struct fetch *f)
{
    if (f->ended)
        return;
    f->ended = true;
    ek_mutation_schemas_each(f->schemas, keep, f);
    uv_close((uv_handle_t *)&f->deadline, NULL);
    ek_mutation_schemas_close(f->schemas, on_stopped, f);
}

static void on_change(void *ctx)
{
    struct fetch *f = ctx;

    if (f->crds_done && ek_mutation_schemas_are_settled(f->schemas))
        end(f);
}

static void on_deadline(uv_timer_t *timer)
{
    struct fetch *f = timer->data;
    const char *why = ek_mutation_schemas_error(f->schemas);

    f->failed = true;
    ek_err_set(&f->err, EK_E_TIMEOUT, "%s: %s", ek_client_server(f->client),
               *why ? why : "the schemas did not come in time");
    end(f);
}

static void on_crds(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct fetch *f = ctx;
    struct ek_err parse_err = {0};
    yyjson_doc *doc = err ? NULL : ek_json_parse(response->body.p, response->body.len, &parse_err);

    if (doc)
        ek_ci_add_crds(f->ci, doc);
    else
        ek_ci_note(f->ci, "CustomResourceDefinitions cannot be read: %s",
                   err ? err->message : parse_err.message);
    f->crds_done = true;
    on_change(f);
}

static int start(struct fetch *f, const struct ek_cluster_options *cluster)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    const struct ek_request request = {
        .method = "GET", .path = CRDS_PATH, .timeout_ms = TIMEOUT_MS, .max_body = CRDS_MAX};

    int rc =
        ek_kubeconfig_load(*cluster->kubeconfig ? cluster->kubeconfig : NULL,
                           *cluster->context ? cluster->context : NULL, NULL, &config, &f->err);
    if (!rc)
        rc = ek_client_new(&f->loop, config, ek_user_agent(), &f->client, &f->err);
    if (rc)
        return rc;
    f->schemas = ek_mutation_schemas_new(&f->loop, f->client, on_change, f);
    uv_timer_init(&f->loop, &f->deadline);
    f->deadline.data = f;
    uv_timer_start(&f->deadline, on_deadline, TIMEOUT_MS, 0);
    ek_mutation_schemas_want(f->schemas, &(struct ek_schema_want){"*", "*"}, 1);
    ek_client_send(f->client, &request, on_crds, f);
    return 0;
}

int ek_ci_fetch(struct ek_ci *ci, const struct ek_cluster_options *cluster, struct ek_err *err)
{
    struct fetch f = {.ci = ci};

    uv_loop_init(&f.loop);
    f.failed = start(&f, cluster) != 0;
    uv_run(&f.loop, UV_RUN_DEFAULT);
    uv_loop_close(&f.loop);
    if (!f.failed)
        return 0;
    *err = f.err;
    ek_err_prefix(err, "--schema cluster");
    return err->code;
}
