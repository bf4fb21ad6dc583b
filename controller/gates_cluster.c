/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of gates, and the CRDs that they are for, from a cluster. */
#include <string.h>

#include "controller/gates-internal.h"
#include "informers/client.h"
#include "informers/kubeconfig.h"

#define TIMEOUT_MS 30000
#define BODY_MAX   ((size_t)64 << 20)
#define GATES_PATH "/apis/evenkeel.dev/v1alpha1/customfeaturegates"
#define CRDS_PATH  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

/* Requests one after another, each waited for. */
struct wait {
    uv_loop_t loop;
    struct ek_client *client;
    bool done;
    yyjson_doc *doc; /* of the last answer; NULL with err */
    struct ek_err err;
};

static void on_answer(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct wait *w = ctx;

    w->done = true;
    if (err)
        w->err = *err;
    else
        w->doc = ek_json_parse(response->body.p, response->body.len, &w->err);
}

/* The answer is kept by in. EK_E_NOENT is an answer, too. */
static int get(struct wait *w, struct ek_gates_inputs *in, const char *path, yyjson_val **ret)
{
    const struct ek_request request = {
        .path = path, .timeout_ms = TIMEOUT_MS, .max_body = BODY_MAX};
    struct ek_ci *ci = &in->ci;

    w->done = false;
    w->doc = NULL;
    w->err = (struct ek_err){0};
    ek_client_send(w->client, &request, on_answer, w);
    while (!w->done)
        uv_run(&w->loop, UV_RUN_ONCE);
    if (!w->doc)
        return w->err.code ? w->err.code : EK_E_PARSE;
    ci->docs = ek_xrealloc(ci->docs, ci->n_docs + 1, sizeof(yyjson_doc *));
    ci->docs[ci->n_docs++] = w->doc;
    *ret = yyjson_doc_get_root(w->doc);
    return 0;
}

/* Items of a list say neither apiVersion nor kind on every server. */
static int get_gates(struct wait *w, struct ek_gates_inputs *in)
{
    yyjson_val *list = NULL, *item;
    size_t i, n;
    int rc = get(w, in, GATES_PATH, &list);

    if (rc == EK_E_NOENT)
        return ek_err_set(&w->err, rc,
                          "the cluster has no CustomFeatureGates: apply deploy/crd first");
    if (rc)
        return rc;
    yyjson_arr_foreach(yyjson_obj_get(list, "items"), i, n, item)
        ek_gates_inputs_add(in, item, "cluster");
    return 0;
}

static int get_crds(struct wait *w, struct ek_gates_inputs *in)
{
    for (size_t i = 0; i < in->n; i++) {
        EK_AUTO(ek_buf) path;
        struct ek_gates_input *input = &in->list[i];
        const char *name = ek_json_str(input->object, "metadata", "name", NULL);
        input->crd_wanted = true;
        if (input->crd || !name)
            continue;
        ek_buf_init(&path, 4096);
        ek_buf_puts(&path, CRDS_PATH);
        ek_uri_escape(&path, name);
        int rc = get(w, in, ek_buf_str(&path), &input->crd);
        if (rc && rc != EK_E_NOENT)
            return rc;
    }
    return 0;
}

static int open_client(struct wait *w, const struct ek_cluster_options *which)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    int rc = ek_kubeconfig_load(*which->kubeconfig ? which->kubeconfig : NULL,
                                *which->context ? which->context : NULL, NULL, &config, &w->err);

    return rc ? rc : ek_client_new(&w->loop, config, ek_user_agent(), &w->client, &w->err);
}

int ek_gates_fetch(struct ek_gates_inputs *in, const struct ek_cluster_options *which,
                   bool with_gates, struct ek_err *err)
{
    struct wait w = {0};

    uv_loop_init(&w.loop);
    int rc = open_client(&w, which);
    if (!rc && with_gates)
        rc = get_gates(&w, in);
    if (!rc)
        rc = get_crds(&w, in);
    ek_client_close(w.client, NULL, NULL);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    uv_loop_close(&w.loop);
    if (rc) {
        *err = w.err;
        ek_err_prefix(err, "--cluster");
    }
    return rc;
}
