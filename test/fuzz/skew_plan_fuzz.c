/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole reconciler on foreign objects: the input is a JSON list of objects (a ControlPlane,
 * Leases, LeaseCandidates, EndpointSlices, Nodes, Pods) and of probes ({"address":.., "version":..,
 * "ev":.., "error":..}). Whatever they hold: a plan is made, the same one twice, its status stays
 * small and parses, and its targets are addresses.
 */
#include <stdio.h>
#include <string.h>

#include "reconcilers/skew/view.h"
#include "test/fuzz/fuzz.h"

#define OBJECTS_MAX 256
#define STATUS_MAX  ((size_t)300 * 1024)
#define ARENA_MAX   ((size_t)64 * 1024 * 1024)
#define NOW_MS      1763636290000

enum kind { LEASES, CANDIDATES, SLICES, NODES, PODS, CONTROL_PLANE, KINDS };

static const char *const kinds[KINDS] = {
    "Lease", "LeaseCandidate", "EndpointSlice", "Node", "Pod", "ControlPlane",
};

struct world {
    struct ek_obj *objs[KINDS][OBJECTS_MAX];
    size_t n[KINDS];
    struct ek_probe_at probes[OBJECTS_MAX];
    size_t n_probes;
    struct ek_skew_view view;
};

static void set_answer(struct ek_probe_answer *answer, bool good)
{
    answer->tried_at_ms = NOW_MS - 1000;
    if (good)
        answer->good_at_ms = NOW_MS - 1000;
    else
        ek_err_set(&answer->error, EK_E_REFUSED, "connection refused");
    answer->failing_at_ms = good ? EK_TIME_UNSET : NOW_MS - 1000;
}

static void add_probe(struct world *w, yyjson_val *value)
{
    struct ek_probe *probe = ek_probe_new();
    const char *version = ek_json_str(value, "version", NULL);
    const char *error = ek_json_str(value, "error", NULL);
    yyjson_val *document = yyjson_obj_get(value, "discovery");

    snprintf(probe->git_version, sizeof probe->git_version, "%s", version ? version : "");
    probe->binary = ek_minor_parse(version);
    probe->emulation = ek_minor_parse(ek_json_str(value, "ev", NULL));
    probe->ready = !error;
    snprintf(probe->not_ready, sizeof probe->not_ready, "%s", error ? error : "");
    set_answer(&probe->reach, !error);
    probe->proven = !error;
    probe->no_token = error && !strcmp(error, "token");
    set_answer(&probe->version_answer, version != NULL);
    set_answer(&probe->ready_answer, !error);
    set_answer(&probe->metrics_answer, false);
    if (document) {
        probe->discovery = ek_discovery_new();
        ek_discovery_add_aggregated(probe->discovery, document, NULL, NULL);
        ek_discovery_seal(probe->discovery);
        set_answer(&probe->discovery_answer, true);
    }
    w->probes[w->n_probes++] = (struct ek_probe_at){ek_json_str(value, "address", NULL), probe};
}

static void add_value(struct world *w, yyjson_val *value)
{
    const char *kind = ek_json_str(value, "kind", NULL);

    if (ek_json_str(value, "address", NULL) && w->n_probes < OBJECTS_MAX)
        add_probe(w, value);
    for (int k = 0; kind && k < KINDS; k++)
        if (!strcmp(kind, kinds[k]) && w->n[k] < OBJECTS_MAX)
            w->objs[k][w->n[k]++] = ek_obj_from_val(value);
}

static int by_key(const void *a, const void *b)
{
    return strcmp(ek_obj_key(*(struct ek_obj *const *)a), ek_obj_key(*(struct ek_obj *const *)b));
}

/* Stores hold one object per key, in key order. */
static void settle(struct world *w, enum kind kind)
{
    size_t kept = 0;

    qsort(w->objs[kind], w->n[kind], sizeof w->objs[kind][0], by_key);
    for (size_t i = 0; i < w->n[kind]; i++) {
        if (kept && by_key(&w->objs[kind][kept - 1], &w->objs[kind][i]) == 0)
            ek_obj_unref(w->objs[kind][i]);
        else
            w->objs[kind][kept++] = w->objs[kind][i];
    }
    w->n[kind] = kept;
}

static struct ek_objs list(struct world *w, enum kind kind)
{
    settle(w, kind);
    return (struct ek_objs){w->objs[kind], w->n[kind], true, ""};
}

static void fill(struct world *w, yyjson_val *root, bool probing_done)
{
    yyjson_val *value;
    size_t i, n;

    *w = (struct world){.n_probes = 0};
    yyjson_arr_foreach(root, i, n, value)
    {
        add_value(w, value);
    }
    w->view = (struct ek_skew_view){.now_ms = NOW_MS,
                                    .leases = list(w, LEASES),
                                    .candidates = list(w, CANDIDATES),
                                    .endpoint_slices = list(w, SLICES),
                                    .nodes = list(w, NODES),
                                    .pods = list(w, PODS),
                                    .probes = w->probes,
                                    .n_probes = w->n_probes,
                                    .probing_done = probing_done};
    w->view.control_plane = w->n[CONTROL_PLANE] ? w->objs[CONTROL_PLANE][0] : NULL;
}

static void drop(struct world *w)
{
    for (int k = 0; k < KINDS; k++)
        for (size_t i = 0; i < w->n[k]; i++)
            ek_obj_unref(w->objs[k][i]);
    for (size_t i = 0; i < w->n_probes; i++)
        ek_probe_unref((struct ek_probe *)(uintptr_t)w->probes[i].probe);
}

static void check_plan(const struct ek_skew_plan *plan)
{
    fuzz_require(plan->exit_code == 0 || plan->exit_code == 2 || plan->exit_code == 3);
    fuzz_require(plan->requeue_after_ms >= 0 && plan->probe_interval_ms > 0 &&
                 plan->probe_timeout_ms > 0);
    for (size_t i = 0; i < plan->n_targets; i++)
        fuzz_require(strchr(plan->targets[i].address, ':') && *plan->targets[i].component);
    for (size_t i = 0; i < plan->n_events; i++)
        fuzz_require(*plan->events[i].reason && strlen(plan->events[i].note) <= 1024);
}

/* The plan's status as text, owned. */
static char *make_plan(const struct ek_skew_view *view)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_skew_plan plan;
    struct ek_obj *status = NULL;
    size_t len = 0;

    ek_skew_plan_make(view, arena, &plan);
    check_plan(&plan);
    fuzz_require(!ek_arena_exhausted(arena));
    char *json = yyjson_mut_val_write(plan.status, YYJSON_WRITE_NOFLAG, &len);
    fuzz_require(json && len < STATUS_MAX);
    fuzz_require(ek_obj_parse(json, len, &status, NULL) == 0);
    ek_obj_unref(status);
    ek_skew_plan_done(&plan);
    ek_arena_free(arena);
    return json;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    yyjson_doc *doc = size ? ek_json_parse((const char *)data, size, NULL) : NULL;

    if (!doc)
        return 0;
    for (int probing_done = 0; probing_done < 2; probing_done++) {
        fill(&world, yyjson_doc_get_root(doc), probing_done);
        char *first = make_plan(&world.view), *second = make_plan(&world.view);
        fuzz_require(!strcmp(first, second));
        free(first);
        free(second);
        drop(&world);
    }
    yyjson_doc_free(doc);
    return 0;
}
