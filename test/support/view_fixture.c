/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/view_fixture.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "api/base/time.h"
#include "informers/cache/recording.h"
#include "test/support/view_fixture-internal.h"

#define RECORDED_NOW "2026-11-20T10:58:10Z"
#define CLUSTER      EK_SHARED_DATA "/cluster"

struct ek_view_fixture *ek_view_fixture_new(const char *now)
{
    struct ek_view_fixture *fx = ek_xalloc(sizeof *fx);

    fx->view.now_ms = ek_time_parse(now ? now : RECORDED_NOW);
    fx->view.probing_done = true;
    for (size_t i = 0; i < FIXTURE_LISTS; i++)
        fx->why[i] = ek_xstrdup("");
    return fx;
}

void ek_view_fixture_free(struct ek_view_fixture *fx)
{
    if (!fx)
        return;
    for (size_t i = 0; i < FIXTURE_LISTS; i++) {
        for (size_t k = 0; k < fx->lists[i].n; k++)
            ek_obj_unref(fx->lists[i].items[k]);
        ek_free(fx->lists[i].items);
        ek_free(fx->why[i]);
    }
    for (size_t i = 0; i < fx->n_probes; i++) {
        ek_free((char *)(uintptr_t)fx->probes[i].address);
        ek_probe_unref((struct ek_probe *)(uintptr_t)fx->probes[i].probe);
    }
    ek_free(fx->probes);
    ek_free(fx);
}

static const char *const kinds[FIXTURE_LISTS] = {
    "Lease", "LeaseCandidate", "EndpointSlice", "Node", "Pod", "ControlPlane",
};

static void add_obj(struct ek_view_fixture *fx, struct ek_obj *obj)
{
    ck_assert_ptr_nonnull(obj);
    for (size_t i = 0; i < FIXTURE_LISTS; i++) {
        struct fixture_list *list = &fx->lists[i];
        if (strcmp(ek_obj_kind(obj), kinds[i]) != 0)
            continue;
        list->items = ek_xrealloc(list->items, list->n + 1, sizeof(struct ek_obj *));
        list->items[list->n++] = obj;
        return;
    }
    ck_abort_msg("the fixture takes no %s", ek_obj_kind(obj));
}

void ek_view_fixture_add(struct ek_view_fixture *fx, const char *json)
{
    EK_AUTOFREE char *text = ek_xstrdup(json);
    struct ek_obj *obj = NULL;
    struct ek_err err = {0};

    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    ck_assert_msg(!ek_obj_parse(text, strlen(text), &obj, &err), "%s: %s", err.message, json);
    add_obj(fx, obj);
}

static void read_file(const char *path, struct ek_buf *out)
{
    char chunk[65536];
    size_t n;
    FILE *f = fopen(path, "re");

    ck_assert_msg(f != NULL, "%s cannot be opened", path);
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0)
        ek_buf_append(out, chunk, n);
    fclose(f);
    ck_assert_int_eq(out->failed, 0);
}

void ek_view_fixture_add_file(struct ek_view_fixture *fx, const char *path)
{
    EK_AUTOFREE char *full = ek_xasprintf("%s/%s", CLUSTER, path);
    EK_AUTO(ek_buf) text;
    yyjson_val *item;
    size_t i, n;

    ek_buf_init(&text, (size_t)64 * 1024 * 1024);
    read_file(full, &text);
    yyjson_doc *doc = ek_json_parse(ek_buf_str(&text), text.len, NULL);
    ck_assert_msg(doc != NULL, "%s is no JSON", full);
    yyjson_val *root = yyjson_doc_get_root(doc);
    EK_AUTOFREE char *kind = ek_xstrdup(ek_json_str(root, "kind", NULL));
    kind[strlen(kind) - strlen("List")] = '\0';
    yyjson_arr_foreach(yyjson_obj_get(root, "items"), i, n, item)
    {
        add_obj(fx, ek_obj_from_item(item, NULL, kind));
    }
    yyjson_doc_free(doc);
}

struct ek_probe *ek_view_fixture_add_probe(struct ek_view_fixture *fx, const char *address)
{
    struct ek_probe *probe = ek_probe_new();

    fx->probes = ek_xrealloc(fx->probes, fx->n_probes + 1, sizeof *fx->probes);
    fx->probes[fx->n_probes++] = (struct ek_probe_at){ek_xstrdup(address), probe};
    return probe;
}

bool ek_view_fixture_has_recording(void)
{
    return access(CLUSTER "/index.json", R_OK) == 0;
}

void ek_view_fixture_add_recording(struct ek_view_fixture *fx)
{
    static const char *const files[] = {"leases.json", "leasecandidates.json",
                                        "endpointslices.json", "nodes.json"};
    struct ek_recording *recording = NULL;
    struct ek_err err = {0};

    for (size_t i = 0; i < EK_ARRAY_SIZE(files); i++)
        ek_view_fixture_add_file(fx, files[i]);
    ck_assert_msg(!ek_recording_open(CLUSTER, &recording, &err), "%s", err.message);
    for (size_t i = 0; i < ek_recording_size(recording); i++) {
        const char *address;
        struct ek_probe *probe = ek_recording_probe(recording, i, fx->view.now_ms - 1000, &address);
        fx->probes = ek_xrealloc(fx->probes, fx->n_probes + 1, sizeof *fx->probes);
        fx->probes[fx->n_probes++] = (struct ek_probe_at){ek_xstrdup(address), probe};
    }
    ek_recording_close(recording);
}

static int by_key(const void *a, const void *b)
{
    const struct ek_obj *const *x = a, *const *y = b;
    return strcmp(ek_obj_key(*x), ek_obj_key(*y));
}

static int by_key_reversed(const void *a, const void *b)
{
    return by_key(b, a);
}

static int by_address(const void *a, const void *b)
{
    const struct ek_probe_at *x = a, *y = b;
    return strcmp(x->address, y->address);
}

static int by_address_reversed(const void *a, const void *b)
{
    return by_address(b, a);
}

void ek_view_fixture_reverse(struct ek_view_fixture *fx)
{
    fx->reversed = !fx->reversed;
}

const struct ek_skew_view *ek_view_fixture_view(struct ek_view_fixture *fx)
{
    struct ek_objs *objs[FIXTURE_LISTS - 1] = {
        &fx->view.leases, &fx->view.candidates, &fx->view.endpoint_slices,
        &fx->view.nodes,  &fx->view.pods,
    };

    for (size_t i = 0; i < FIXTURE_LISTS - 1; i++) {
        struct fixture_list *list = &fx->lists[i];
        if (list->n)
            qsort(list->items, list->n, sizeof(struct ek_obj *),
                  fx->reversed ? by_key_reversed : by_key);
        *objs[i] = (struct ek_objs){
            .items = list->items,
            .n = *fx->why[i] ? 0 : list->n,
            .available = !*fx->why[i],
            .why = fx->why[i],
        };
    }
    if (fx->n_probes)
        qsort(fx->probes, fx->n_probes, sizeof *fx->probes,
              fx->reversed ? by_address_reversed : by_address);
    fx->view.probes = fx->probes;
    fx->view.n_probes = fx->n_probes;
    struct fixture_list *planes = &fx->lists[FIXTURE_CONTROL_PLANE];
    fx->view.control_plane = planes->n ? planes->items[planes->n - 1] : NULL;
    const char *why = fx->why[FIXTURE_CONTROL_PLANE];
    fx->view.control_plane_why = *why ? why : NULL;
    return &fx->view;
}
