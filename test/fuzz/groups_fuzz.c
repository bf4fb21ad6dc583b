/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole discovery documents, up to three of them with the byte 0x1e (RFC 7464) between them: what
 * is read can be written, reads as the same again, merges with itself to the same, merges with
 * others to a document that has what each of them has, and makes a view that serves what the
 * documents list.
 */
#include <string.h>

#include "api/base/map.h"
#include "reconcilers/peers/view_build.h"
#include "test/fuzz/fuzz.h"

#define DOCUMENTS_MAX 3
#define SEPARATOR     0x1e

static void write(struct ek_buf *out, const struct ek_api_list *list)
{
    ek_buf_init(out, (size_t)64 << 20);
    fuzz_require(ek_api_write_aggregated(out, list, NULL) == 0);
}

static void check_again(const struct ek_api_groups *groups)
{
    struct ek_buf first, second;

    write(&first, &groups->list);
    yyjson_doc *doc = ek_json_parse(ek_buf_str(&first), first.len, NULL);
    fuzz_require(doc != NULL);
    struct ek_api_groups *again =
        ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, NULL);
    fuzz_require(again != NULL);
    write(&second, &again->list);
    fuzz_require(first.len == second.len && !memcmp(first.data, second.data, first.len));
    ek_api_groups_unref(again);
    yyjson_doc_free(doc);
    ek_buf_done(&first);
    ek_buf_done(&second);
}

/* What view_merge.c leaves to the merge. */
static bool is_bounded(struct ek_api_groups *const *documents, size_t n)
{
    size_t total = 1, n_repeats = 0;

    for (size_t i = 0; i < n; i++) {
        total += 2 * documents[i]->size;
        n_repeats += 2 * ek_merge_repeats(&documents[i]->list);
    }
    return n_repeats <= EK_VIEW_REPEATED_MAX / total;
}

static void check_merge_with_itself(const struct ek_api_groups *groups)
{
    struct ek_arena *arena = ek_arena_new((size_t)256 << 20);
    const struct ek_merge_server peers[] = {{"a", groups->list}, {"b", groups->list}};
    const struct ek_api_list merged = ek_merge_groups("c", groups->list, peers, 2, arena);

    fuzz_require(merged.n == groups->list.n);
    for (size_t i = 0; i < merged.n; i++)
        fuzz_require(!strcmp(merged.groups[i].name, groups->list.groups[i].name));
    ek_arena_free(arena);
}

/* Everything of a merged list by "group/version/resource", "group/version/resource:verb". */
static void note(struct ek_map *map, struct ek_arena *arena, const struct ek_api_list *list,
                 void (*fn)(struct ek_map *map, const char *path))
{
    for (size_t g = 0; g < list->n; g++) {
        const struct ek_api_group *group = &list->groups[g];
        fn(map, group->name);
        for (size_t v = 0; v < group->n; v++) {
            const struct ek_api_version *version = &group->versions[v];
            const char *gv = ek_arena_printf(arena, "%s/%s", group->name, version->name);
            fn(map, gv);
            for (size_t r = 0; r < version->n; r++) {
                const struct ek_api_resource *resource = &version->resources[r];
                const char *path = ek_arena_printf(arena, "%s/%s", gv, resource->name);
                fn(map, path);
                for (size_t i = 0; i < resource->verbs.n; i++)
                    fn(map, ek_arena_printf(arena, "%s:%s", path, resource->verbs.items[i]));
                for (size_t i = 0; i < resource->subresources.n; i++)
                    fn(map,
                       ek_arena_printf(arena, "%s/%s", path, resource->subresources.items[i].name));
            }
        }
    }
}

static void on_merged(struct ek_map *map, const char *path)
{
    ek_map_put(map, path, map);
}

static void on_one(struct ek_map *map, const char *path)
{
    fuzz_require(ek_map_get(map, path) != NULL);
}

/* The merged document has what each document has, whichever server merges; it reads as the same
 * again. */
static void check_merge(struct ek_api_groups *const *documents, size_t n)
{
    static const char *const ids[] = {"a", "b", "c"};

    for (size_t local = 0; local < n; local++) {
        struct ek_arena *arena = ek_arena_new((size_t)256 << 20);
        struct ek_merge_server peers[DOCUMENTS_MAX];
        struct ek_map map = {0};
        size_t n_peers = 0;
        for (size_t i = 0; i < n; i++)
            if (i != local)
                peers[n_peers++] = (struct ek_merge_server){ids[i], documents[i]->list};
        const struct ek_api_groups merged = {
            .list = ek_merge_groups(ids[local], documents[local]->list, peers, n_peers, arena)};
        fuzz_require(!ek_arena_exhausted(arena));
        note(&map, arena, &merged.list, on_merged);
        for (size_t i = 0; i < n; i++)
            note(&map, arena, &documents[i]->list, on_one);
        check_again(&merged);
        ek_map_done(&map);
        ek_arena_free(arena);
    }
}

static void check_serves(const struct ek_view *view, size_t peer, const struct ek_api_group *group)
{
    for (size_t v = 0; v < group->n; v++) {
        const struct ek_api_version *version = &group->versions[v];
        if (!*version->name)
            continue;
        fuzz_require(ek_view_serves(view, peer, group->name, version->name, "", "") == EK_VIEW_YES);
        for (size_t r = 0; r < version->n; r++)
            fuzz_require(!version->resources[r].kind || !*version->resources[r].name ||
                         ek_view_serves(view, peer, group->name, version->name,
                                        version->resources[r].name, "") == EK_VIEW_YES);
    }
}

/* A view of the documents, and of the first one once more. */
static void check_view(struct ek_api_groups *const *documents, size_t n)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct ek_view_input_peer peers[DOCUMENTS_MAX + 1];

    for (size_t i = 0; i <= n; i++)
        peers[i] = (struct ek_view_input_peer){.peer = {.name = names[i],
                                                        .server_id = i == n ? "" : names[i],
                                                        .address = "1.1.1.1:1",
                                                        .routable = true},
                                               .core = documents[i % n],
                                               .groups = documents[i % n]};
    EK_AUTOPTR(ek_view, ek_view_unref) *view =
        ek_view_build(&(struct ek_view_input){.peers = peers, .n = n + 1});

    fuzz_require(ek_view_is_complete(view) ==
                 (ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2) != NULL));
    fuzz_require(ek_view_is_complete(view) || ek_merge_repeats(&documents[0]->list) ||
                 ek_merge_repeats(&documents[n > 1]->list) || n > 2);
    for (size_t i = 0; i <= n; i++)
        for (size_t g = 0; g < documents[i % n]->list.n; g++)
            check_serves(view, i, &documents[i % n]->list.groups[g]);
}

static void check_legacy(yyjson_val *root)
{
    struct ek_api_legacy *legacy = ek_api_legacy_new();

    ek_api_legacy_add_index(legacy, root, NULL);
    ek_api_legacy_add_resources(legacy, root, NULL);
    for (int core = 0; core < 2; core++) {
        EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *groups =
            ek_api_legacy_finish(legacy, core, NULL);
        fuzz_require(groups != NULL);
        check_again(groups);
    }
    ek_api_legacy_free(legacy);
}

/* A document of the input; NULL where there is none. */
static struct ek_api_groups *read_document(const uint8_t *data, size_t size)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse((const char *)data, size, NULL);

    if (!doc)
        return NULL;
    struct ek_api_groups *groups =
        ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, &err);
    fuzz_require((groups == NULL) == (err.code != 0));
    check_legacy(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return groups;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_api_groups *documents[DOCUMENTS_MAX];
    size_t n = 0;

    for (size_t i = 0; i < DOCUMENTS_MAX && size; i++) {
        const uint8_t *end = memchr(data, SEPARATOR, size);
        size_t len = end ? (size_t)(end - data) : size;
        documents[n] = read_document(data, len);
        n += documents[n] != NULL;
        data += len + (end != NULL);
        size -= len + (end != NULL);
    }
    for (size_t i = 0; i < n; i++)
        check_again(documents[i]);
    if (n > 0 && is_bounded(documents, n)) {
        check_merge_with_itself(documents[0]);
        check_merge(documents, n);
    }
    if (n > 0)
        check_view(documents, n);
    for (size_t i = 0; i < n; i++)
        ek_api_groups_unref(documents[i]);
    return 0;
}
