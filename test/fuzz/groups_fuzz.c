/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole discovery documents: what is read can be written, reads as the same again, merges with
 * itself to the same, and makes a view that serves what the document lists.
 */
#include <string.h>

#include "reconcilers/peers/view_build.h"
#include "test/fuzz/fuzz.h"

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

static void check_merge(const struct ek_api_groups *groups)
{
    struct ek_arena *arena = ek_arena_new((size_t)256 << 20);
    const struct ek_merge_server peers[] = {{"a", groups->list}, {"b", groups->list}};
    const struct ek_api_list merged = ek_merge_groups("c", groups->list, peers, 2, arena);

    fuzz_require(merged.n == groups->list.n);
    for (size_t i = 0; i < merged.n; i++)
        fuzz_require(!strcmp(merged.groups[i].name, groups->list.groups[i].name));
    ek_arena_free(arena);
}

static void check_serves(const struct ek_view *view, const struct ek_api_group *group)
{
    for (size_t v = 0; v < group->n; v++) {
        const struct ek_api_version *version = &group->versions[v];
        if (!*version->name)
            continue;
        fuzz_require(ek_view_serves(view, 0, group->name, version->name, "", "") == EK_VIEW_YES);
        for (size_t r = 0; r < version->n; r++)
            fuzz_require(!version->resources[r].kind || !*version->resources[r].name ||
                         ek_view_serves(view, 0, group->name, version->name,
                                        version->resources[r].name, "") == EK_VIEW_YES);
    }
}

static void check_view(const struct ek_api_groups *groups)
{
    const struct ek_view_input_peer peers[] = {
        {.peer = {.name = "a", .server_id = "a", .address = "1.1.1.1:1", .routable = true},
         .core = groups,
         .groups = groups},
        {.peer = {.name = "b", .server_id = "", .address = "1.1.1.2:1", .routable = true},
         .core = groups,
         .groups = groups},
    };
    EK_AUTOPTR(ek_view, ek_view_unref) *view =
        ek_view_build(&(struct ek_view_input){.peers = peers, .n = 2});

    fuzz_require(ek_view_is_complete(view));
    fuzz_require(ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2) != NULL);
    for (size_t g = 0; g < groups->list.n; g++)
        check_serves(view, &groups->list.groups[g]);
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse((const char *)data, size, NULL);

    if (!doc)
        return 0;
    struct ek_api_groups *groups =
        ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, &err);
    fuzz_require((groups == NULL) == (err.code != 0));
    check_legacy(yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    if (groups) {
        check_again(groups);
        check_merge(groups);
        check_view(groups);
    }
    ek_api_groups_unref(groups);
    return 0;
}
