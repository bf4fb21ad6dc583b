/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/view_build.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "api/base/time.h"
#include "reconcilers/peers/merge.h"
#include "test/support/groups_fixture.h"
#include "test/support/suite.h"

#define LIST(items)           "{\"items\":[" items "]}"
#define GROUP(name, versions) "{\"metadata\":{\"name\":\"" name "\"},\"versions\":[" versions "]}"
#define CORE(versions)        "{\"metadata\":{},\"versions\":[" versions "]}"
#define VERSION(name, resources)                                                                   \
    "{\"version\":\"" name "\",\"resources\":[" resources "],\"freshness\":\"Current\"}"
#define STALE(name) "{\"version\":\"" name "\",\"freshness\":\"Stale\"}"
#define STALE_WITH(name, list)                                                                     \
    "{\"version\":\"" name "\",\"resources\":[" list "],\"freshness\":\"Stale\"}"
#define KIND(kind) "{\"group\":\"\",\"version\":\"\",\"kind\":\"" kind "\"}"
#define RESOURCE(name, kind, more)                                                                 \
    "{\"resource\":\"" name "\",\"responseKind\":" KIND(                                           \
        kind) ",\"scope\":\"Namespaced\",\"singularResource\":\"\",\"verbs\":[\"get\"]" more "}"
#define SUB(name, kind)                                                                            \
    "{\"subresource\":\"" name "\",\"responseKind\":" KIND(kind) ",\"verbs\":[\"get\"]}"

#define PODS RESOURCE("pods", "Pod", ",\"subresources\":[" SUB("log", "Pod") "]")
/* A resource that has subresources alone, and no kind. */
#define PART                                                                                       \
    "{\"resource\":\"parts\",\"scope\":\"Namespaced\",\"singularResource\":\"\",\"verbs\":[],"     \
    "\"subresources\":[" SUB("log", "Pod") "]}"
#define JOBS  RESOURCE("jobs", "Job", "")
#define CRONS RESOURCE("cronjobs", "CronJob", "")

/* A peer by its documents: NULL for what is not known. */
struct peer {
    const char *name, *id, *address;
    const char *core, *groups;
    bool routable, down;
};

static struct ek_view *build_without(const struct peer *peers, size_t n,
                                     const struct ek_exclusions *exclusions,
                                     const struct ek_view *previous)
{
    struct ek_view_input_peer input[8] = {0};

    for (size_t i = 0; i < n; i++) {
        input[i].peer = (struct ek_view_peer){.name = peers[i].name,
                                              .server_id = peers[i].id,
                                              .address = peers[i].address,
                                              .routable = peers[i].routable,
                                              .down = peers[i].down,
                                              .fetched_ms = EK_TIME_UNSET};
        if (peers[i].core)
            input[i].core = ek_test_groups(peers[i].core);
        if (peers[i].groups)
            input[i].groups = ek_test_groups(peers[i].groups);
    }
    struct ek_view *view = ek_view_build(&(struct ek_view_input){
        .peers = input, .n = n, .exclusions = *exclusions, .previous = previous});
    for (size_t i = 0; i < n; i++) {
        ek_api_groups_unref((struct ek_api_groups *)(uintptr_t)input[i].core);
        ek_api_groups_unref((struct ek_api_groups *)(uintptr_t)input[i].groups);
    }
    return view;
}

static struct ek_view *build(const struct peer *peers, size_t n, const struct ek_view *previous)
{
    return build_without(peers, n, &(struct ek_exclusions){0}, previous);
}

#define OLD_CORE LIST(CORE(VERSION("v1", PODS)))
#define OLD_GROUPS                                                                                 \
    LIST(GROUP("batch", VERSION("v1", JOBS) "," VERSION("v1beta1", CRONS)) "," GROUP(              \
        "metrics.k8s.io",                                                                          \
        STALE("v1beta1")) "," GROUP("half.io",                                                     \
                                    STALE_WITH("v1", JOBS)) "," GROUP("parts.io",                  \
                                                                      VERSION("v1", PART)))
#define NEW_GROUPS                                                                                 \
    LIST(GROUP("batch", VERSION("v1", JOBS "," CRONS)) "," GROUP("new.io", STALE("v1")))

static const struct peer two[] = {
    {"cp-a", "apiserver-a", "10.0.0.1:6443", OLD_CORE, OLD_GROUPS, true, false},
    {"cp-b", "apiserver-b", "10.0.0.2:6443", OLD_CORE, NEW_GROUPS, true, false},
};

static const struct {
    const char *label, *group, *version, *resource, *sub;
    enum ek_view_answer a, b;
} serves[] = {
    {"core resource", "", "v1", "pods", "", EK_VIEW_YES, EK_VIEW_YES},
    {"subresource", "", "v1", "pods", "log", EK_VIEW_YES, EK_VIEW_YES},
    {"unknown subresource", "", "v1", "pods", "resize", EK_VIEW_NO, EK_VIEW_NO},
    {"unknown resource", "", "v1", "jobs", "", EK_VIEW_NO, EK_VIEW_NO},
    {"group version", "batch", "v1beta1", "", "", EK_VIEW_YES, EK_VIEW_NO},
    {"unknown version", "batch", "v2", "", "", EK_VIEW_NO, EK_VIEW_NO},
    {"resource at one", "batch", "v1", "cronjobs", "", EK_VIEW_NO, EK_VIEW_YES},
    {"any version of a group", "batch", "", "", "", EK_VIEW_YES, EK_VIEW_YES},
    {"resource in any version", "batch", "", "cronjobs", "", EK_VIEW_YES, EK_VIEW_YES},
    {"no version has it", "batch", "", "pods", "", EK_VIEW_NO, EK_VIEW_NO},
    {"group at one", "new.io", "", "", "", EK_VIEW_NO, EK_VIEW_YES},
    {"a prefix of a group", "bat", "v1", "", "", EK_VIEW_NO, EK_VIEW_NO},
    {"stale, nothing listed", "metrics.k8s.io", "v1beta1", "nodes", "", EK_VIEW_YES, EK_VIEW_NO},
    {"the same in any version", "metrics.k8s.io", "", "nodes", "", EK_VIEW_YES, EK_VIEW_NO},
    {"stale, listed", "half.io", "v1", "jobs", "", EK_VIEW_YES, EK_VIEW_NO},
    {"a resource that is none", "parts.io", "v1", "parts", "", EK_VIEW_NO, EK_VIEW_NO},
    {"its subresource", "parts.io", "v1", "parts", "log", EK_VIEW_YES, EK_VIEW_NO},
    {"in any version", "parts.io", "", "parts", "log", EK_VIEW_YES, EK_VIEW_NO},
    {"another subresource in any version", "parts.io", "", "parts", "exec", EK_VIEW_NO, EK_VIEW_NO},
    {"stale, others are listed", "half.io", "v1", "pods", "", EK_VIEW_NO, EK_VIEW_NO},
};

START_TEST(says_who_serves_what)
{
    EK_AUTOPTR(ek_view, ek_view_unref) *view = build(two, 2, NULL);

    for (size_t i = 0; i < EK_ARRAY_SIZE(serves); i++) {
        for (size_t p = 0; p < 2; p++)
            ck_assert_msg(ek_view_serves(view, p, serves[i].group, serves[i].version,
                                         serves[i].resource,
                                         serves[i].sub) == (p ? serves[i].b : serves[i].a),
                          "%s at peer %zu", serves[i].label, p);
    }
    ck_assert_int_eq(ek_view_serves(view, 2, "", "v1", "pods", ""), EK_VIEW_UNKNOWN);
}
END_TEST

static const struct {
    const char *label;
    struct peer peers[2];
    size_t n;
    bool complete, routable[2];
} completes[] = {
    {"nobody", {{0}}, 0, false, {0}},
    {"all fetched",
     {{"a", "a", "1.1.1.1:1", OLD_CORE, OLD_GROUPS, true, false},
      {"b", "b", "1.1.1.2:1", OLD_CORE, NEW_GROUPS, true, false}},
     2,
     true,
     {true, true}},
    {"one not fetched",
     {{"a", "a", "1.1.1.1:1", OLD_CORE, OLD_GROUPS, true, false},
      {"b", "b", "1.1.1.2:1", NULL, NULL, true, false}},
     2,
     false,
     {true, false}},
    {"one half fetched",
     {{"a", "a", "1.1.1.1:1", OLD_CORE, OLD_GROUPS, true, false},
      {"b", "b", "1.1.1.2:1", OLD_CORE, NULL, true, false}},
     2,
     false,
     {true, false}},
    {"one not fetched and down",
     {{"a", "a", "1.1.1.1:1", OLD_CORE, OLD_GROUPS, true, false},
      {"b", "b", "1.1.1.2:1", NULL, NULL, false, true}},
     2,
     true,
     {true, false}},
    {"all down, none fetched", {{"a", "a", "", NULL, NULL, false, true}}, 1, false, {false}},
    {"down, fetched before", {{"a", "a", "", OLD_CORE, OLD_GROUPS, false, true}}, 1, true, {false}},
    {"no address is not routable",
     {{"a", "a", "", OLD_CORE, OLD_GROUPS, true, false}},
     1,
     true,
     {false}},
};

START_TEST(is_complete_when_all_answered_or_are_down)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(completes); i++) {
        EK_AUTOPTR(ek_view, ek_view_unref) *view = build(completes[i].peers, completes[i].n, NULL);
        size_t n;
        const struct ek_view_peer *peers = ek_view_peers(view, &n);

        ck_assert_msg(ek_view_is_complete(view) == completes[i].complete, "%s", completes[i].label);
        ck_assert_uint_eq(n, completes[i].n);
        for (size_t p = 0; p < n; p++)
            ck_assert_msg(peers[p].routable == completes[i].routable[p], "%s: peer %zu",
                          completes[i].label, p);
        ck_assert_msg((ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2) != NULL) ==
                          completes[i].complete,
                      "%s", completes[i].label);
    }
}
END_TEST

static void check_body(const struct ek_view_document *document, const char *expected)
{
    ck_assert(document != NULL);
    char *body = ek_xstrndup(document->body.p, document->body.len);
    ck_assert_str_eq(body, expected);
    ek_free(body);
    ck_assert_uint_eq(document->gzip.len, 0);
    ck_assert_uint_eq(strlen(document->etag), 130);
}

START_TEST(has_the_pages_of_merged_groups)
{
    EK_AUTOPTR(ek_view, ek_view_unref) *view = build(two, 2, NULL);

    check_body(
        ek_view_merged(view, EK_VIEW_API, EK_VIEW_PLAIN),
        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],\"serverAddressByClientCIDRs\":[]}\n");
    check_body(
        ek_view_group(view, "batch"),
        "{\"kind\":\"APIGroup\",\"apiVersion\":\"v1\",\"name\":\"batch\",\"versions\":["
        "{\"groupVersion\":\"batch/v1\",\"version\":\"v1\"},{\"groupVersion\":\"batch/v1beta1\","
        "\"version\":\"v1beta1\"}],\"preferredVersion\":{\"groupVersion\":\"batch/v1\","
        "\"version\":\"v1\"}}\n");
    check_body(ek_view_resources(view, "batch", "v1"),
               "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"groupVersion\":\"batch/v1\","
               "\"resources\":[{\"name\":\"jobs\",\"singularName\":\"\",\"namespaced\":true,"
               "\"kind\":\"Job\",\"verbs\":[\"get\"]},{\"name\":\"cronjobs\",\"singularName\":\"\","
               "\"namespaced\":true,\"kind\":\"CronJob\",\"verbs\":[\"get\"]}]}\n");
    check_body(
        ek_view_resources(view, "", "v1"),
        "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\",\"resources\":[{\"name\":"
        "\"pods\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Pod\",\"verbs\":[\"get\"]},"
        "{\"name\":\"pods/log\",\"singularName\":\"\",\"namespaced\":true,\"kind\":\"Pod\","
        "\"verbs\":[\"get\"]}]}\n");
    const struct ek_view_document *apis = ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2);
    EK_AUTOFREE char *body = ek_xstrndup(apis->body.p, apis->body.len);
    ck_assert_msg(!strstr(body, "\"pods\""), "/apis has the core group");
    ck_assert(ek_view_group(view, "") == NULL);
    ck_assert(ek_view_group(view, "batch/v1") == NULL);
    ck_assert(ek_view_group(view, "nobody.io") == NULL);
    ck_assert(ek_view_resources(view, "batch", "v2") == NULL);
    ck_assert(ek_view_resources(view, "batch", "") == NULL);
}
END_TEST

START_TEST(shows_one_peer_alone)
{
    EK_AUTOPTR(ek_view, ek_view_unref) *view = build(two, 2, NULL);
    const struct ek_view_document *v2 = ek_view_own(view, 1, EK_VIEW_APIS, EK_VIEW_V2);
    const struct ek_view_document *beta = ek_view_own(view, 1, EK_VIEW_APIS, EK_VIEW_V2BETA1);

    check_body(
        ek_view_own(view, 1, EK_VIEW_APIS, EK_VIEW_PLAIN),
        "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{\"name\":\"batch\","
        "\"versions\":"
        "[{\"groupVersion\":\"batch/"
        "v1\",\"version\":\"v1\"}],\"preferredVersion\":{\"groupVersion\":"
        "\"batch/v1\",\"version\":\"v1\"}},{\"name\":\"new.io\",\"versions\":[{\"groupVersion\":"
        "\"new.io/v1\",\"version\":\"v1\"}],\"preferredVersion\":{\"groupVersion\":\"new.io/v1\","
        "\"version\":\"v1\"}}]}\n");
    ck_assert(v2 && beta);
    ck_assert_str_eq(v2->etag, beta->etag);
    ck_assert_str_ne(v2->etag, ek_view_own(view, 1, EK_VIEW_APIS, EK_VIEW_PLAIN)->etag);
    ck_assert_uint_eq(v2->body.len + strlen("beta1"), beta->body.len);
    ck_assert_str_ne(v2->etag, ek_view_own(view, 0, EK_VIEW_APIS, EK_VIEW_V2)->etag);
    ck_assert(ek_view_own(view, 2, EK_VIEW_APIS, EK_VIEW_V2) == NULL);
}
END_TEST

/* The server as which is merged keeps its own group versions that are excluded of others: a
 * routable one, of these the one with the least id. */
START_TEST(merges_as_one_server)
{
    static const struct {
        const char *name, *ids[2];
        bool routable[2];
        bool crons; /* as the second server, which has cronjobs in batch/v1 */
    } as[] = {
        {"the least id", {"a", "b"}, {true, true}, false},
        {"wherever it stands", {"b", "a"}, {true, true}, true},
        {"a routable one before", {"a", "b"}, {false, true}, true},
        {"of none the least id", {"a", "b"}, {false, false}, false},
    };
    static const char *const excluded[] = {"batch/v1"};
    static const struct ek_exclusions exclusions = {excluded, 1};

    for (size_t i = 0; i < EK_ARRAY_SIZE(as); i++) {
        struct peer peers[] = {two[0], two[1]};
        for (size_t p = 0; p < 2; p++) {
            peers[p].id = as[i].ids[p];
            peers[p].routable = as[i].routable[p];
        }
        EK_AUTOPTR(ek_view, ek_view_unref) *view = build_without(peers, 2, &exclusions, NULL);
        const struct ek_view_document *document = ek_view_resources(view, "batch", "v1");
        EK_AUTOFREE char *body = ek_xstrndup(document->body.p, document->body.len);
        ck_assert_msg(!strstr(body, "cronjobs") == !as[i].crons, "%s: %s", as[i].name, body);
        ck_assert_msg(ek_view_merges_as(view) == as[i].crons, "%s", as[i].name);
    }
}
END_TEST

/* Group versions in the order of their texts, in which "apps.io/v1" is before "apps/v1". */
START_TEST(excludes_group_versions)
{
    static const char *const list[] = {"apps.io/v1", "apps/v1", "apps0/v1", "batch/v1", "v1"};
    static const struct {
        const char *group, *version;
        bool excluded;
    } of[] = {{"apps.io", "v1", true}, {"apps", "v1", true},   {"apps0", "v1", true},
              {"batch", "v1", true},   {"", "v1", true},       {"apps", "v2", false},
              {"app", "v1", false},    {"apps1", "v1", false}, {"", "v2", false}};

    for (size_t n = 1; n <= EK_ARRAY_SIZE(list); n++) {
        const struct ek_exclusions exclusions = {list, n};
        for (size_t i = 0; i < EK_ARRAY_SIZE(of); i++)
            ck_assert_msg(ek_exclusions_has(&exclusions, of[i].group, of[i].version) ==
                              (of[i].excluded && i < n),
                          "%s/%s of %zu", of[i].group, of[i].version, n);
    }
}
END_TEST

/* A group that nothing is left of is none, also when the core group alone is excluded. */
START_TEST(drops_groups_without_versions)
{
    static const char *const list[] = {"v1"};
    static const struct ek_exclusions exclusions = {list, 1};
    const struct ek_api_resource pods = {.name = "pods"};
    const struct ek_api_version v1 = {.name = "v1", .resources = &pods, .n = 1};
    const struct ek_api_group core = {.name = "", .versions = &v1, .n = 1};
    const struct ek_api_group empty = {.name = "empty.io"};
    const struct ek_api_list cores = {.groups = &core, .n = 1}, groups = {.groups = &empty, .n = 1};
    struct ek_arena *arena = ek_arena_new(1 << 16);

    ck_assert_uint_eq(ek_merge_exclude(cores, groups, groups, &exclusions, arena).n, 0);
    ck_assert_uint_eq(ek_merge_exclude(cores, groups, groups, &(struct ek_exclusions){0}, arena).n,
                      1);
    ek_arena_free(arena);
}
END_TEST

/* More servers than a view takes: nothing is said of all of them. */
START_TEST(too_many_servers_are_incomplete)
{
    for (size_t n = EK_VIEW_PEERS_MAX; n <= EK_VIEW_PEERS_MAX + 1; n++) {
        struct ek_api_groups *core = ek_test_groups(OLD_CORE), *groups = ek_test_groups(OLD_GROUPS);
        struct ek_view_input_peer peers[EK_VIEW_PEERS_MAX + 1];
        for (size_t i = 0; i < n; i++)
            peers[i] = (struct ek_view_input_peer){
                .peer = {.name = "a", .server_id = "", .address = "1.1.1.1:1", .routable = true},
                .core = core,
                .groups = groups};
        EK_AUTOPTR(ek_view, ek_view_unref) *view =
            ek_view_build(&(struct ek_view_input){.peers = peers, .n = n});
        ck_assert(ek_view_is_complete(view) == (n <= EK_VIEW_PEERS_MAX));
        ek_api_groups_unref(core);
        ek_api_groups_unref(groups);
    }
}
END_TEST

/* A document in which one name is repeated: that of a group, a version or a resource. */
static char *repeating(int level, int n)
{
    struct ek_buf out;

    ek_buf_init(&out, 1 << 20);
    ek_buf_puts(&out, "{\"items\":[" GROUP("batch", VERSION("v1", JOBS)));
    if (level > 0)
        ek_buf_puts(&out, ",{\"metadata\":{\"name\":\"g.io\"},\"versions\":[" VERSION("v0", JOBS));
    if (level > 1)
        ek_buf_puts(&out, ",{\"version\":\"v1\",\"resources\":[" JOBS);
    for (int i = 0; i < n; i++)
        ek_buf_printf(&out,
                      level == 0 ? "," GROUP("g.io", VERSION("v%d", JOBS))
                      : level == 1
                          ? "," VERSION("v1", RESOURCE("r%d", "R", ""))
                          : "," RESOURCE("rs", "R", ",\"subresources\":[" SUB("s%d", "S") "]"),
                      i);
    ek_buf_puts(&out, level == 2 ? "]}]}]}" : level == 1 ? "]}]}" : "]}");
    return out.data;
}

/* API servers repeat no name. What is repeated is merged one by one, each time with all before. */
START_TEST(names_repeated_often_are_too_large)
{
    static const struct {
        int n;
        bool complete;
    } rows[] = {{1, true}, {40, true}, {1500, false}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        for (int level = 0; level < 3; level++) {
            EK_AUTOFREE char *groups = repeating(level, rows[i].n);
            const struct peer peers[] = {
                {"cp-a", "a", "10.0.0.1:6443", OLD_CORE, OLD_GROUPS, true, false},
                {"cp-b", "b", "10.0.0.2:6443", OLD_CORE, groups, true, false}};
            EK_AUTOPTR(ek_view, ek_view_unref) *view = build(peers, 2, NULL);
            ck_assert_msg(ek_view_is_complete(view) == rows[i].complete, "%d at level %d",
                          rows[i].n, level);
        }
}
END_TEST

/* A merge ends where its arena does. */
START_TEST(merges_within_memory)
{
    for (int level = 0; level < 3; level++) {
        EK_AUTOFREE char *text = repeating(level, 1500);
        EK_AUTOPTR(ek_api_groups, ek_api_groups_unref) *groups = ek_test_groups(text);
        struct ek_arena *arena = ek_arena_new((size_t)4 << 20);
        const struct ek_merge_server peer = {"b", groups->list};

        ek_merge_groups("a", groups->list, &peer, 1, arena);
        ck_assert_msg(ek_arena_exhausted(arena), "level %d", level);
        ek_arena_free(arena);
    }
}
END_TEST

/* A document of more than 128 KiB is compressed once; what comes out is the document. */
START_TEST(compresses_what_is_large)
{
    struct ek_buf big;
    static char back[1 << 20];
    z_stream z = {0};

    ek_buf_init(&big, sizeof back);
    ek_buf_puts(&big, "{\"items\":[" GROUP("big.io", ""));
    for (int i = 0; i < 3000; i++)
        ek_buf_printf(&big, ",{\"metadata\":{\"name\":\"g%d.io\"},\"versions\":[" STALE("v1") "]}",
                      i);
    ek_buf_puts(&big, "]}");
    const struct peer one = {"a", "a", "1.1.1.1:1", OLD_CORE, ek_buf_str(&big), true, false};
    EK_AUTOPTR(ek_view, ek_view_unref) *view = build(&one, 1, NULL);
    const struct ek_view_document *document = ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2);

    ck_assert_uint_gt(document->body.len, (size_t)128 * 1024);
    ck_assert_uint_gt(document->gzip.len, 0);
    ck_assert_uint_lt(document->gzip.len, document->body.len / 4);
    ck_assert_int_eq(inflateInit2(&z, 31), Z_OK);
    z.next_in = (Bytef *)(uintptr_t)document->gzip.p;
    z.avail_in = (uInt)document->gzip.len;
    z.next_out = (Bytef *)back;
    z.avail_out = sizeof back;
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.total_out, document->body.len);
    ck_assert_mem_eq(back, document->body.p, document->body.len);
    inflateEnd(&z);
    ek_buf_done(&big);
}
END_TEST

/* A view of the same documents shares them with the view before, whatever its flags are. */
START_TEST(shares_what_has_not_changed)
{
    struct ek_api_groups *core = ek_test_groups(OLD_CORE), *groups = ek_test_groups(OLD_GROUPS);
    struct ek_view_input_peer peer = {
        .peer = {.name = "a", .server_id = "a", .address = "1.1.1.1:1", .routable = true},
        .core = core,
        .groups = groups};
    struct ek_view_input input = {.peers = &peer, .n = 1};
    struct ek_view *first = ek_view_build(&input);
    peer.peer.routable = false;
    peer.peer.down = true;
    input.previous = first;
    struct ek_view *second = ek_view_build(&input);

    ck_assert(ek_view_shares_merged(first, second));
    ck_assert_ptr_eq(ek_view_own(first, 0, EK_VIEW_API, EK_VIEW_V2)->body.p,
                     ek_view_own(second, 0, EK_VIEW_API, EK_VIEW_V2)->body.p);
    /* Excluding a group version, another id, and other documents each make another merge. */
    const char *excluded[] = {"batch/v1"};
    input.previous = second;
    input.exclusions = (struct ek_exclusions){excluded, 1};
    struct ek_view *third = ek_view_build(&input);
    ck_assert(!ek_view_shares_merged(second, third));
    input.exclusions.n = 0;
    peer.peer.server_id = "b";
    struct ek_view *fourth = ek_view_build(&input);
    ck_assert(!ek_view_shares_merged(second, fourth));
    struct ek_api_groups *others = ek_test_groups(NEW_GROUPS);
    peer.peer.server_id = "a";
    peer.groups = others;
    struct ek_view *fifth = ek_view_build(&input);
    ck_assert(!ek_view_shares_merged(second, fifth));
    ek_view_unref(fifth);
    ek_api_groups_unref(others);
    ek_view_unref(first);
    ek_view_unref(second);
    ek_view_unref(third);
    ek_view_unref(fourth);
    ek_api_groups_unref(core);
    ek_api_groups_unref(groups);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("view");

    tcase_add_test(tcase, says_who_serves_what);
    tcase_add_test(tcase, is_complete_when_all_answered_or_are_down);
    tcase_add_test(tcase, has_the_pages_of_merged_groups);
    tcase_add_test(tcase, shows_one_peer_alone);
    tcase_add_test(tcase, merges_as_one_server);
    tcase_add_test(tcase, excludes_group_versions);
    tcase_add_test(tcase, drops_groups_without_versions);
    tcase_add_test(tcase, too_many_servers_are_incomplete);
    tcase_add_test(tcase, names_repeated_often_are_too_large);
    tcase_add_test(tcase, merges_within_memory);
    tcase_add_test(tcase, compresses_what_is_large);
    tcase_add_test(tcase, shares_what_has_not_changed);
    return ek_test_run("view", tcase);
}
