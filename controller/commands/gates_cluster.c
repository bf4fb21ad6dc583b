/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of gates, and the CRDs that they are for, from a cluster. */
#include <string.h>

#include "controller/commands/gates-internal.h"
#include "controller/commands/wait.h"
#include "informers/client/client.h"

#define BODY_MAX   ((size_t)64 << 20)
#define GATES_PATH "/apis/evenkeel.dev/v1alpha1/customfeaturegates"
#define CRDS_PATH  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"

/* The answer is kept by in. EK_E_NOENT is an answer, too. */
static int get(struct ek_wait *w, struct ek_gates_inputs *in, const char *path, yyjson_val **ret)
{
    struct ek_ci *ci = &in->ci;
    int rc = ek_wait_get(w, path);

    if (rc)
        return rc;
    ci->docs = ek_xrealloc(ci->docs, ci->n_docs + 1, sizeof(yyjson_doc *));
    ci->docs[ci->n_docs++] = w->doc;
    *ret = yyjson_doc_get_root(w->doc);
    return 0;
}

/* Items of a list say neither apiVersion nor kind on every server. */
static int get_gates(struct ek_wait *w, struct ek_gates_inputs *in)
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

static int get_crds(struct ek_wait *w, struct ek_gates_inputs *in)
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

int ek_gates_fetch(struct ek_gates_inputs *in, const struct ek_cluster_options *which,
                   bool with_gates, struct ek_err *err)
{
    struct ek_wait w = {.max_body = BODY_MAX};
    int rc = ek_wait_open(&w, which);

    if (!rc && with_gates)
        rc = get_gates(&w, in);
    if (!rc)
        rc = get_crds(&w, in);
    ek_wait_close(&w);
    if (rc) {
        *err = w.err;
        ek_err_prefix(err, "--cluster");
    }
    return rc;
}
