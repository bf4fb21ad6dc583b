/* SPDX-License-Identifier: Apache-2.0 */
/* The objects of OLM, from a cluster or from a recorded timeline. */
#include <string.h>

#include "api/base/time.h"
#include "controller/commands/failforward-internal.h"
#include "controller/commands/wait.h"
#include "informers/client/client.h"
#include "informers/client/file.h"

#define BODY_MAX      ((size_t)256 << 20)
#define RECORDING_MAX ((size_t)256 << 20)
#define GRAPH_MAX     ((size_t)4 << 20)

#define HOOKS "?labelSelector=olm.owner.kind%3DClusterServiceVersion" /* EK_FF_HOOK_SELECTOR */

/* Where each kind is read: group versions in the order of preference, NULL for none. optional: a
 * cluster without the kind has no objects of it. spare: nor has one where it may not be read, and
 * the report says less. */
static const struct {
    const char *kind, *group_versions[2], *resource, *query;
    bool all_namespaces, optional, spare;
} kinds[EK_FFC_KIND_MAX] = {
    [EK_FFC_SUBSCRIPTIONS] = {"Subscription",
                              {"operators.coreos.com/v1alpha1"},
                              "subscriptions",
                              "",
                              false,
                              false,
                              false},
    [EK_FFC_PLANS] =
        {"InstallPlan", {"operators.coreos.com/v1alpha1"}, "installplans", "", false, false, false},
    [EK_FFC_CSVS] = {"ClusterServiceVersion",
                     {"operators.coreos.com/v1alpha1"},
                     "clusterserviceversions",
                     "?labelSelector=%21olm.copiedFrom",
                     false,
                     false,
                     false},
    [EK_FFC_GROUPS] = {"OperatorGroup",
                       {"operators.coreos.com/v1", "operators.coreos.com/v1alpha2"},
                       "operatorgroups",
                       "",
                       false,
                       false,
                       false},
    [EK_FFC_CONDITIONS] = {"OperatorCondition",
                           {"operators.coreos.com/v2", "operators.coreos.com/v1"},
                           "operatorconditions",
                           "",
                           false,
                           true,
                           false},
    [EK_FFC_CATALOGS] = {"CatalogSource",
                         {"operators.coreos.com/v1alpha1"},
                         "catalogsources",
                         "",
                         true,
                         false,
                         false},
    [EK_FFC_NAMESPACES] = {"Namespace", {"v1"}, "namespaces", "", true, false, false},
    [EK_FFC_POLICIES] = {"FailForwardPolicy",
                         {"evenkeel.dev/v1alpha1"},
                         "failforwardpolicies",
                         "",
                         true,
                         true,
                         false},
    [EK_FFC_VALIDATING] = {"ValidatingWebhookConfiguration",
                           {"admissionregistration.k8s.io/v1"},
                           "validatingwebhookconfigurations",
                           HOOKS,
                           true,
                           true,
                           true},
    [EK_FFC_MUTATING] = {"MutatingWebhookConfiguration",
                         {"admissionregistration.k8s.io/v1"},
                         "mutatingwebhookconfigurations",
                         HOOKS,
                         true,
                         true,
                         true},
};

void ek_ffc_append(struct ek_ffc_list *list, struct ek_obj *obj)
{
    if (list->n == list->size) {
        list->size = list->size ? 2 * list->size : 64;
        list->items = ek_xrealloc(list->items, list->size, sizeof(struct ek_obj *));
    }
    list->items[list->n++] = obj;
}

/* Replaces an object of the same key. */
static void put(struct ek_ffc_list *list, struct ek_obj *obj)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(ek_obj_key(list->items[i]), ek_obj_key(obj))) {
            ek_obj_unref(list->items[i]);
            list->items[i] = obj;
            return;
        }
    ek_ffc_append(list, obj);
}

static void drop(struct ek_ffc_list *list, const struct ek_obj *obj)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(ek_obj_key(list->items[i]), ek_obj_key(obj))) {
            ek_obj_unref(list->items[i]);
            list->items[i] = list->items[--list->n];
            return;
        }
}

void ek_ffc_inputs_done(struct ek_ffc_inputs *in)
{
    for (int kind = 0; kind < EK_FFC_KIND_MAX; kind++) {
        for (size_t i = 0; i < in->lists[kind].n; i++)
            ek_obj_unref(in->lists[kind].items[i]);
        ek_free(in->lists[kind].items);
    }
    ek_ff_graph_free(in->graph);
    ek_ffc_registries_done(in);
    *in = (struct ek_ffc_inputs){0};
}

/* ---- A cluster ---- */

static int list_one(struct ek_wait *w, const struct ek_ffc_options *o, int kind,
                    const char *group_version, struct ek_ffc_list *list)
{
    EK_AUTO(ek_buf) path;
    yyjson_val *item;
    size_t i, n;

    ek_buf_init(&path, 4096);
    ek_buf_printf(&path, "%s/%s", strchr(group_version, '/') ? "/apis" : "/api", group_version);
    if (*o->namespace && !kinds[kind].all_namespaces) {
        ek_buf_puts(&path, "/namespaces/");
        ek_uri_escape(&path, o->namespace);
    }
    ek_buf_printf(&path, "/%s%s", kinds[kind].resource, kinds[kind].query);
    int rc = ek_wait_get(w, ek_buf_str(&path));
    if (rc)
        return rc;
    yyjson_arr_foreach(ek_json_get(yyjson_doc_get_root(w->doc), "items", NULL), i, n, item)
    {
        struct ek_obj *obj = ek_obj_from_item(item, group_version, kinds[kind].kind);
        if (obj)
            ek_ffc_append(list, obj);
    }
    yyjson_doc_free(w->doc);
    return 0;
}

static int list_kind(struct ek_wait *w, const struct ek_ffc_options *o, int kind,
                     struct ek_ffc_list *list)
{
    int rc = EK_E_NOENT;

    for (size_t i = 0; i < 2 && kinds[kind].group_versions[i] && rc == EK_E_NOENT; i++)
        rc = list_one(w, o, kind, kinds[kind].group_versions[i], list);
    if (rc == EK_E_FORBIDDEN && kinds[kind].spare) {
        w->err = (struct ek_err){0};
        return 0;
    }
    if (rc == EK_E_NOENT && kinds[kind].optional)
        return 0;
    if (rc == EK_E_NOENT)
        return ek_err_set(&w->err, EK_E_UNSUPPORTED,
                          "OLM v0 is not installed: the cluster does not serve %s",
                          kinds[kind].resource);
    if (rc)
        ek_err_prefix(&w->err, "listing %s", kinds[kind].resource);
    return rc;
}

int ek_ffc_fetch(const struct ek_ffc_options *o, struct ek_ffc_inputs *in, struct ek_err *err)
{
    struct ek_wait w = {.max_body = BODY_MAX, .levels = 2};
    int rc = ek_wait_open(&w, &o->cluster);

    for (int kind = 0; !rc && kind < EK_FFC_KIND_MAX; kind++)
        rc = list_kind(&w, o, kind, &in->lists[kind]);
    ek_wait_close(&w);
    if (rc)
        *err = w.err;
    return rc;
}

/* ---- A recording ---- */

static struct ek_str text(yyjson_val *entry, const char *name)
{
    return ek_str_from(ek_json_str(entry, name, NULL));
}

/* The version of "widget.v1.0.0": a recording has no other. */
static struct ek_str version_of(struct ek_str csv)
{
    const char *v = csv.p ? strstr(csv.p, ".v") : NULL;
    return v ? ek_str_from(v + 2) : (struct ek_str){0};
}

static int add_entry(struct ek_ff_graph *graph, yyjson_val *channel, yyjson_val *entry)
{
    struct ek_str skips[64];
    size_t i, n, n_skips = 0;
    yyjson_val *skipped;

    yyjson_arr_foreach(yyjson_obj_get(entry, "skips"), i, n, skipped)
    {
        if (yyjson_is_str(skipped) && n_skips < EK_ARRAY_SIZE(skips))
            skips[n_skips++] = ek_str_from(yyjson_get_str(skipped));
    }
    const struct ek_ff_entry one = {.package = text(channel, "package"),
                                    .channel = text(channel, "channel"),
                                    .name = text(entry, "name"),
                                    .version = version_of(text(entry, "name")),
                                    .replaces = text(entry, "replaces"),
                                    .skip_range = text(entry, "skipRange"),
                                    .skips = skips,
                                    .n_skips = n_skips};
    return ek_ff_graph_entry(graph, &one);
}

struct ek_ff_graph *ek_ffc_recorded_graph(yyjson_val *record)
{
    struct ek_ff_graph *graph = ek_ff_graph_new(GRAPH_MAX);
    size_t i, n, j, m;
    yyjson_val *channel, *entry;
    int rc = 0;

    yyjson_arr_foreach(yyjson_obj_get(record, "graph"), i, n, channel)
    {
        if (!rc)
            rc = ek_ff_graph_package(graph, text(channel, "package"), text(channel, "channel"));
        yyjson_arr_foreach(yyjson_obj_get(channel, "entries"), j, m, entry)
        {
            if (!rc)
                rc = add_entry(graph, channel, entry);
        }
    }
    if (!rc)
        return graph;
    ek_ff_graph_free(graph);
    return NULL;
}

static void take_object(struct ek_ffc_inputs *in, yyjson_val *value, bool deleted)
{
    struct ek_obj *obj = ek_obj_from_item(value, NULL, NULL);

    for (int kind = 0; obj && kind < EK_FFC_KIND_MAX; kind++) {
        if (strcmp(ek_obj_kind(obj), kinds[kind].kind) != 0)
            continue;
        if (deleted)
            drop(&in->lists[kind], obj);
        else
            put(&in->lists[kind], ek_obj_ref(obj));
    }
    ek_obj_unref(obj);
}

/* One record. base_ms is the wall clock at the recording's begin, as far as creation times say. */
static int take_record(struct ek_ffc_inputs *in, yyjson_val *record, int64_t t_ms, int64_t *base_ms,
                       struct ek_err *err)
{
    const char *event = ek_json_str(record, "event", NULL);
    yyjson_val *object = ek_json_get(record, "object", NULL);
    int64_t created = ek_time_parse(ek_json_str(object, "metadata", "creationTimestamp", NULL));

    if (!event || !yyjson_is_obj(object))
        return ek_err_set(err, EK_E_PARSE, "no event of a timeline");
    if (created != EK_TIME_UNSET && created - t_ms > *base_ms)
        *base_ms = created - t_ms;
    if (!strcmp(event, "CATALOG")) {
        ek_ff_graph_free(in->graph);
        in->graph = ek_ffc_recorded_graph(object);
        in->graph_ms = t_ms;
    } else if (!strcmp(event, "ADDED") || !strcmp(event, "MODIFIED")) {
        take_object(in, object, false);
    } else if (!strcmp(event, "DELETED")) {
        take_object(in, object, true);
    }
    return 0;
}

int ek_ffc_replay(const struct ek_ffc_options *o, struct ek_ffc_inputs *in, struct ek_err *err)
{
    EK_AUTOFREE char *text = NULL;
    size_t len = 0, line = 0;
    int64_t base_ms = 0, t_ms = 0;
    int rc = ek_file_read(o->from, RECORDING_MAX, &text, &len, err);

    for (size_t at = 0; !rc && at < len; line++) {
        const char *end = memchr(text + at, '\n', len - at);
        size_t n = end ? (size_t)(end - text) - at : len - at;
        yyjson_doc *doc = ek_json_parse_envelope(text + at, n, 1, err);
        int64_t next_ms =
            doc ? yyjson_get_sint(ek_json_get(yyjson_doc_get_root(doc), "t_ms", NULL)) : 0;
        bool over = doc && o->at_ms && next_ms > o->at_ms;
        if (!over) {
            t_ms = next_ms;
            rc = doc ? take_record(in, yyjson_doc_get_root(doc), t_ms, &base_ms, err) : err->code;
        }
        yyjson_doc_free(doc);
        if (over)
            break;
        at += n + 1;
    }
    if (rc && line)
        ek_err_prefix(err, "%s line %zu", o->from, line);
    in->now_ms = base_ms + (o->at_ms ? o->at_ms : t_ms);
    in->graph_ms += base_ms;
    return rc;
}
