/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What real servers sent, through framer, decoder, reflector and store: every recorded watch stream
 * and every recorded page, cut into random pieces. What the store must hold in the end is read off
 * the recording by other means.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "informers/cache/framer.h"
#include "informers/cache/reflector.h"
#include "informers/cache/store.h"
#include "test/support/list_text.h"
#include "test/support/suite.h"

#define CLUSTER EK_SHARED_DATA "/cluster/"

static const struct ek_decode_type lease = {"coordination.k8s.io/v1", "Lease", false};
static const struct ek_decode_type candidate = {"coordination.k8s.io/v1beta1", "LeaseCandidate",
                                                false};
static const struct ek_decode_type slice = {"discovery.k8s.io/v1", "EndpointSlice", false};
static const struct ek_decode_type node = {"v1", "Node", false};

/* A shell around a reflector that does no I/O: it applies to the store and remembers requests. */
struct replay {
    const struct ek_decode_type *type;
    struct ek_reflector *reflector;
    struct ek_store *store;
    int64_t now;
    struct ek_buf requests; /* "list rv= limit=500; watch rv=5; " */
    bool open;              /* the stream is still wanted */
    size_t frames;
};

static char *read_file(const char *path, size_t *ret_len)
{
    EK_AUTO(ek_buf) buf;
    char chunk[65536], full[512];
    size_t n;

    snprintf(full, sizeof full, CLUSTER "%s", path);
    FILE *file = fopen(full, "re");
    ck_assert_msg(file != NULL, "cannot open %s", full);
    ek_buf_init(&buf, (size_t)64 << 20);
    while ((n = fread(chunk, 1, sizeof chunk, file)) > 0)
        ek_buf_append(&buf, chunk, n);
    fclose(file);
    *ret_len = buf.len;
    return ek_buf_steal(&buf);
}

static yyjson_doc *read_json(const char *path)
{
    size_t len;
    EK_AUTOFREE char *text = read_file(path, &len);
    yyjson_doc *doc = ek_json_parse(text, len, NULL);

    ck_assert_msg(doc != NULL, "%s is not JSON", path);
    return doc;
}

static void apply(struct replay *r, const struct ek_reflector_action *action)
{
    switch (action->kind) {
    case EK_ACTION_START_LIST:
        ek_buf_printf(&r->requests, "list rv=%s limit=%d%s; ", action->list.resource_version,
                      (int)action->list.limit, *action->list.next ? " next" : "");
        break;
    case EK_ACTION_START_WATCH:
        ek_buf_printf(&r->requests, "watch rv=%s%s; ", action->watch.resource_version,
                      action->watch.send_initial_events ? " initial" : "");
        break;
    case EK_ACTION_CANCEL_REQUEST:
        r->open = false;
        break;
    case EK_ACTION_REPLACE:
        ek_store_replace(r->store, action->replace.items, action->replace.n, action->replace.rv);
        break;
    case EK_ACTION_PUT:
        ek_store_put(r->store, action->obj);
        break;
    case EK_ACTION_REMOVE:
        ek_store_remove(r->store, action->obj);
        break;
    case EK_ACTION_SET_RV:
        ek_store_set_resource_version(r->store, action->rv);
        break;
    default:
        break;
    }
}

static void step(struct replay *r, const struct ek_reflector_event *event)
{
    struct ek_reflector_actions actions;
    struct ek_reflector_status status;

    ek_reflector_step(r->reflector, r->now, event, &actions);
    for (size_t i = 0; i < actions.n; i++)
        apply(r, &actions.items[i]);
    ek_reflector_status(r->reflector, &status);
    ck_assert_uint_eq(status.illegal, 0);
}

static void replay_init(struct replay *r, const struct ek_decode_type *type, bool streaming)
{
    struct ek_reflector_config config = ek_reflector_config_default();

    config.streaming = streaming;
    *r = (struct replay){.type = type, .store = ek_store_new(), .open = true};
    r->reflector = ek_reflector_new(&config, 0);
    ek_buf_init(&r->requests, 1 << 16);
    step(r, &(struct ek_reflector_event){.kind = EK_EVENT_START});
}

static void replay_done(struct replay *r)
{
    ek_reflector_free(r->reflector);
    ek_store_free(r->store);
    ek_buf_done(&r->requests);
}

static const char *state_of(const struct replay *r)
{
    struct ek_reflector_status status;
    ek_reflector_status(r->reflector, &status);
    return ek_reflector_state_name(status.state);
}

/* Steps a page, or what it says when it is a Status. */
static void feed_page(struct replay *r, const char *path)
{
    size_t len;
    EK_AUTOFREE char *text = read_file(path, &len);
    struct ek_list_page page;
    struct ek_err err;
    yyjson_doc *doc = ek_json_parse(text, len, NULL);

    if (!strcmp(ek_json_str(yyjson_doc_get_root(doc), "kind", NULL), "Status")) {
        ek_decode_status(yyjson_doc_get_root(doc), &err);
        step(r, &(struct ek_reflector_event){.kind = EK_EVENT_LIST_FAILED, .err = &err});
    } else {
        int rc = list_text_read(text, len, r->type, &page, &err);
        ck_assert_msg(rc == 0, "%s: %s", path, err.message);
        step(r, &(struct ek_reflector_event){.kind = EK_EVENT_LIST_PAGE, .page = &page});
        ek_list_page_done(&page);
    }
    yyjson_doc_free(doc);
}

/* An empty list at rv, for streams that were recorded without one. */
static void feed_empty_list(struct replay *r, const char *rv)
{
    char rv_copy[32];
    struct ek_list_page page = {.resource_version = rv_copy, .next = (char[]){""}};

    snprintf(rv_copy, sizeof rv_copy, "%s", rv);
    step(r, &(struct ek_reflector_event){.kind = EK_EVENT_LIST_PAGE, .page = &page});
}

static void feed_frame(struct replay *r, struct ek_str text, yyjson_val *line_ms)
{
    struct ek_watch_frame frame;
    struct ek_err err;
    int rc = ek_decode_watch_frame(text.p, text.len, r->type, &frame, &err);

    ck_assert_msg(rc == 0, "%s", err.message);
    r->now = yyjson_get_sint(yyjson_arr_get(line_ms, r->frames++));
    step(r, &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_FRAME, .frame = &frame});
    ek_watch_frame_done(&frame);
}

/* Sends the recorded body in random pieces and ends the stream as it ended. */
static void feed_stream(struct replay *r, const char *path, struct ek_rand *rand)
{
    char meta_path[256];
    size_t len, at = 0;
    EK_AUTO(ek_framer) framer;
    EK_AUTOFREE char *body = read_file(path, &len);
    struct ek_err err = {.code = EK_E_NET};

    snprintf(meta_path, sizeof meta_path, "%s.meta.json", path);
    yyjson_doc *meta = read_json(meta_path);
    yyjson_val *line_ms = yyjson_obj_get(yyjson_doc_get_root(meta), "line_ms");
    size_t max_piece = (size_t)1 << ek_rand_next(rand) % 17;
    ek_framer_init(&framer, (size_t)1 << 20);
    step(r, &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_OPEN});
    while (at < len && r->open) {
        size_t n = 1 + ek_rand_next(rand) % max_piece;
        struct ek_str frame;
        n = n < len - at ? n : len - at;
        ek_framer_push(&framer, body + at, n);
        at += n;
        while (r->open && ek_framer_next(&framer, &frame, NULL) == 1)
            feed_frame(r, frame, line_ms);
    }
    ck_assert_uint_eq(r->frames, yyjson_arr_size(line_ms));
    ck_assert_int_eq(ek_framer_end(&framer, NULL), 0);
    r->now = yyjson_get_sint(ek_json_get(yyjson_doc_get_root(meta), "end_ms", NULL));
    bool broke = strstr(ek_json_str(yyjson_doc_get_root(meta), "ended_by", NULL), "broke") != NULL;
    if (r->open)
        step(r, &(struct ek_reflector_event){
                    .kind = broke ? EK_EVENT_WATCH_FAILED : EK_EVENT_WATCH_EOF, .err = &err});
    yyjson_doc_free(meta);
}

/* What the lines of the recording make of an array of objects, by name. */
struct expected {
    yyjson_doc *lines[256];
    yyjson_val *objects[64];
    size_t n_lines, n_objects;
};

static void expect_object(struct expected *expected, yyjson_val *object, bool gone)
{
    const char *name = ek_json_str(object, "metadata", "name", NULL);
    size_t i = 0;

    while (i < expected->n_objects &&
           strcmp(ek_json_str(expected->objects[i], "metadata", "name", NULL), name) != 0)
        i++;
    if (!gone)
        expected->objects[i] = object;
    if (!gone && i == expected->n_objects)
        expected->n_objects++;
    if (gone && i < expected->n_objects)
        expected->objects[i] = expected->objects[--expected->n_objects];
}

static void expect_list(struct expected *expected, const char *path)
{
    size_t i, n;
    yyjson_val *item;
    yyjson_doc *doc = expected->lines[expected->n_lines++] = read_json(path);

    yyjson_arr_foreach(ek_json_get(yyjson_doc_get_root(doc), "items", NULL), i, n, item)
        expect_object(expected, item, false);
}

static void expect_stream(struct expected *expected, const char *path)
{
    size_t len;
    EK_AUTOFREE char *body = read_file(path, &len);
    char *save = NULL;

    for (char *line = strtok_r(body, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        yyjson_doc *doc = expected->lines[expected->n_lines++] =
            ek_json_parse(line, strlen(line), NULL);
        const char *type = ek_json_str(yyjson_doc_get_root(doc), "type", NULL);
        if (strcmp(type, "BOOKMARK") != 0 && strcmp(type, "ERROR") != 0)
            expect_object(expected, ek_json_get(yyjson_doc_get_root(doc), "object", NULL),
                          !strcmp(type, "DELETED"));
    }
}

/* The store holds the expected objects: same version, same content but for what slimming drops. */
static void check_store(const struct replay *r, struct expected *expected, const char *name)
{
    ck_assert_msg(ek_store_size(r->store) == expected->n_objects, "%s: %zu objects, expected %zu",
                  name, ek_store_size(r->store), expected->n_objects);
    for (size_t i = 0; i < expected->n_objects; i++) {
        struct ek_obj *want =
            ek_obj_from_item(expected->objects[i], r->type->api_version, r->type->kind);
        const struct ek_obj *got = ek_store_get(r->store, ek_obj_key(want));
        ck_assert_msg(got != NULL, "%s: %s is missing", name, ek_obj_key(want));
        ck_assert_msg(ek_json_equal(ek_obj_root(got), ek_obj_root(want)), "%s: %s differs", name,
                      ek_obj_key(want));
        ck_assert_ptr_null(ek_json_get(ek_obj_root(got), "metadata", "managedFields", NULL));
        ck_assert_str_eq(ek_obj_kind(got), r->type->kind);
        ek_obj_unref(want);
    }
    while (expected->n_lines)
        yyjson_doc_free(expected->lines[--expected->n_lines]);
}

static const struct {
    const char *file;
    const struct ek_decode_type *type;
    bool streaming;   /* recorded with sendInitialEvents */
    const char *list; /* the list before it; else empty_list_rv for an empty one */
    const char *empty_list_rv;
    size_t frames, objects;
    const char *rv;       /* of the store at the end */
    const char *requests; /* from the first watch on */
    const char *state;
} streams[] = {
    {"watch/leases.identity.jsonl", &lease, false, "watch/leases.identity.list-before.json", NULL,
     130, 5, "2475", "watch rv=1732; watch rv=2475; ", "OPENING"},
    {"watch/leases.all.jsonl", &lease, false, NULL, "1732", 128, 9, "1945",
     "watch rv=1732; watch rv=1945; ", "OPENING"},
    {"watch/leases.watchlist.jsonl", &lease, true, NULL, NULL, 19, 6, "1862",
     "watch rv= initial; watch rv=1862; ", "OPENING"},
    {"watch/nodes.watchlist.jsonl", &node, true, NULL, NULL, 36, 35, "1797",
     "watch rv= initial; watch rv=1797; ", "OPENING"},
    /* No version requested: synthetic ADDED first, in no order of versions. */
    {"watch/leases.election.jsonl", &lease, false, NULL, "", 110, 1, "2468",
     "watch rv=; watch rv=2468; ", "OPENING"},
    {"watch/leasecandidates.jsonl", &candidate, false, NULL, "", 24, 5, "2470",
     "watch rv=; watch rv=2470; ", "OPENING"},
    {"watch/endpointslices.jsonl", &slice, false, NULL, "", 11, 1, "2425",
     "watch rv=; watch rv=2425; ", "OPENING"},
    {"watch/leases.gc.jsonl", &lease, false, NULL, "", 18, 3, "17075",
     "watch rv=; watch rv=17075; ", "OPENING"},
    {"watch/leases.get-state-and-start-at-any.jsonl", &lease, false, NULL, "", 8, 5, "3446",
     "watch rv=; watch rv=3446; ", "OPENING"},
    {"watch/leases.rv0.jsonl", &lease, false, NULL, "0", 7, 5, "3433",
     "watch rv=0; watch rv=3433; ", "OPENING"},
    {"watch/leases.server-killed.jsonl", &lease, false, NULL, "", 20, 6, "1951",
     "watch rv=; watch rv=1951; ", "OPENING"},
    {"watch/leases.server-shutdown.jsonl", &lease, false, NULL, "", 47, 5, "2361",
     "watch rv=; watch rv=2361; ", "OPENING"},
    /* Accepted and silent: just watched again. */
    {"watch/leases.future-rv.jsonl", &lease, false, NULL, "99999999", 0, 0, "99999999",
     "watch rv=99999999; watch rv=99999999; ", "OPENING"},
    /* ERROR 410 inside 200: back off, then list at the last version. */
    {"watch/leases.gone.jsonl", &lease, false, "pages/leases.exact-old-rv.json", NULL, 1, 0, "1",
     "watch rv=1; ", "BACKOFF"},
};

START_TEST(a_recorded_stream_fills_the_store)
{
    size_t row = (size_t)_i % EK_ARRAY_SIZE(streams);
    struct ek_rand rand = {(uint64_t)_i};
    struct expected expected = {0};
    struct replay r;

    replay_init(&r, streams[row].type, streams[row].streaming);
    if (streams[row].list) {
        feed_page(&r, streams[row].list);
        expect_list(&expected, streams[row].list);
    } else if (streams[row].empty_list_rv) {
        feed_empty_list(&r, streams[row].empty_list_rv);
    }
    feed_stream(&r, streams[row].file, &rand);
    expect_stream(&expected, streams[row].file);
    const char *requests = strstr(ek_buf_str(&r.requests), "watch");
    ck_assert_msg(r.frames == streams[row].frames, "%s: %zu frames", streams[row].file, r.frames);
    ck_assert_msg(!strcmp(requests, streams[row].requests), "%s: %s", streams[row].file, requests);
    ck_assert_msg(!strcmp(ek_store_resource_version(r.store), streams[row].rv), "%s: at %s",
                  streams[row].file, ek_store_resource_version(r.store));
    ck_assert_msg(ek_store_size(r.store) == streams[row].objects, "%s: %zu objects",
                  streams[row].file, ek_store_size(r.store));
    ck_assert_msg(!strcmp(state_of(&r), streams[row].state), "%s: %s", streams[row].file,
                  state_of(&r));
    check_store(&r, &expected, streams[row].file);
    replay_done(&r);
}
END_TEST

/* The long recording against the list taken half a minute after its end: the same leases, the same
 * lives, and nothing newer than what the server had by then. */
START_TEST(the_long_stream_agrees_with_the_list_after)
{
    struct ek_rand rand = {7};
    struct replay r;
    size_t i, n;
    yyjson_val *item;
    yyjson_doc *after = read_json("watch/leases.identity.list-after.json");
    yyjson_val *items = ek_json_get(yyjson_doc_get_root(after), "items", NULL);

    replay_init(&r, &lease, false);
    feed_page(&r, "watch/leases.identity.list-before.json");
    feed_stream(&r, "watch/leases.identity.jsonl", &rand);
    ck_assert_uint_eq(ek_store_size(r.store), yyjson_arr_size(items));
    yyjson_arr_foreach(items, i, n, item)
    {
        struct ek_obj *want = ek_obj_from_item(item, lease.api_version, lease.kind);
        const struct ek_obj *got = ek_store_get(r.store, ek_obj_key(want));
        int order;
        ck_assert_msg(got != NULL, "%s is missing", ek_obj_key(want));
        ck_assert_str_eq(ek_obj_uid(got), ek_obj_uid(want));
        ck_assert_str_eq(ek_json_str(ek_obj_root(got), "spec", "holderIdentity", NULL),
                         ek_json_str(ek_obj_root(want), "spec", "holderIdentity", NULL));
        ck_assert(ek_json_equal(ek_json_get(ek_obj_root(got), "metadata", "annotations", NULL),
                                ek_json_get(ek_obj_root(want), "metadata", "annotations", NULL)));
        ck_assert_int_eq(ek_resource_version_compare(ek_obj_resource_version(got),
                                                     ek_obj_resource_version(want), &order),
                         0);
        ck_assert_int_le(order, 0);
        ek_obj_unref(want);
    }
    yyjson_doc_free(after);
    replay_done(&r);
}
END_TEST

static const struct {
    const char *name;
    const struct ek_decode_type *type;
    const char *pages[6];
    const char *whole; /* the same objects in one document */
    size_t objects;
    const char *rv;
    const char *requests;
} lists[] = {
    {"leases in pages",
     &lease,
     {"pages/leases.01.json", "pages/leases.02.json", "pages/leases.03.json"},
     "pages/leases.rv0.json",
     9,
     "1603",
     "list rv=0 limit=500; list rv= limit=500 next; list rv= limit=500 next; watch rv=1603; "},
    {"nodes in pages",
     &node,
     {"pages/nodes.01.json", "pages/nodes.02.json", "pages/nodes.03.json", "pages/nodes.04.json"},
     "nodes.json",
     35,
     "1603",
     "list rv=0 limit=500; list rv= limit=500 next; list rv= limit=500 next; "
     "list rv= limit=500 next; watch rv=1603; "},
    {"a watch cache ignores the limit",
     &lease,
     {"pages/leases.rv0.json"},
     "pages/leases.rv0.json",
     9,
     "1603",
     "list rv=0 limit=500; watch rv=1603; "},
    {"an empty list",
     &lease,
     {"pages/leases.exact-old-rv.json"},
     "pages/leases.exact-old-rv.json",
     0,
     "1",
     "list rv=0 limit=500; watch rv=1; "},
    {"expired leases start again in one piece",
     &lease,
     {"pages/gone.leases.page1.json", "pages/gone.leases.page2-expired.json", "leases.json"},
     "leases.json",
     9,
     NULL,
     "list rv=0 limit=500; list rv= limit=500 next; list rv=0 limit=0; watch "},
    {"expired nodes start again in one piece",
     &node,
     {"pages/gone.nodes.page1.json", "pages/gone.nodes.page2-expired.json", "nodes.json"},
     "nodes.json",
     35,
     NULL,
     "list rv=0 limit=500; list rv= limit=500 next; list rv=0 limit=0; watch "},
    {"a server that is behind is asked consistently",
     &lease,
     {"pages/leases.future-rv.json", "pages/leases.rv0.json"},
     "pages/leases.rv0.json",
     9,
     "1603",
     "list rv=0 limit=500; list rv= limit=500; watch rv=1603; "},
    {"a gone version is asked consistently",
     &lease,
     {"pages/gone.leases.exact-old-rv.json", "pages/leases.rv0.json"},
     "pages/leases.rv0.json",
     9,
     "1603",
     "list rv=0 limit=500; list rv= limit=500; watch rv=1603; "},
};

START_TEST(recorded_pages_fill_the_store)
{
    struct expected expected = {0};
    struct replay r;

    replay_init(&r, lists[_i].type, false);
    for (size_t i = 0; lists[_i].pages[i]; i++)
        feed_page(&r, lists[_i].pages[i]);
    ck_assert_msg(!strncmp(ek_buf_str(&r.requests), lists[_i].requests, strlen(lists[_i].requests)),
                  "%s: %s", lists[_i].name, ek_buf_str(&r.requests));
    if (lists[_i].rv)
        ck_assert_msg(!strcmp(ek_store_resource_version(r.store), lists[_i].rv), "%s: at %s",
                      lists[_i].name, ek_store_resource_version(r.store));
    ck_assert_msg(ek_store_size(r.store) == lists[_i].objects, "%s: %zu objects", lists[_i].name,
                  ek_store_size(r.store));
    expect_list(&expected, lists[_i].whole);
    check_store(&r, &expected, lists[_i].name);
    replay_done(&r);
}
END_TEST

/* What a server says instead of a page: as an HTTP answer, and in the place of a page. */
static const struct {
    const char *file;
    int code, http_status;
    const char *reason;
    int64_t retry_after_ms;
    const char *state; /* after it came as the answer to the first list */
} bad[] = {
    {"pages/leases.bad-continue.json", EK_E_INVAL, 400, "BadRequest", 0, "BACKOFF"},
    {"pages/leases.bad-rv.json", EK_E_INVAL, 400, "BadRequest", 0, "BACKOFF"},
    {"pages/leases.bad-selector.json", EK_E_INVAL, 400, "BadRequest", 0, "BACKOFF"},
    {"pages/lease.notfound.json", EK_E_NOENT, 404, "NotFound", 0, "BACKOFF"},
    {"pages/leases.notacceptable.json", EK_E_HTTP, 406, "NotAcceptable", 0, "BACKOFF"},
    {"pages/leases.future-rv.json", EK_E_TIMEOUT, 504, "Timeout", 1000, "LISTING"},
    {"pages/gone.leases.exact-old-rv.json", EK_E_GONE, 410, "Expired", 0, "LISTING"},
    {"pages/gone.leases.page2-expired.json", EK_E_GONE, 410, "Expired", 0, "LISTING"},
    {"pages/gone.nodes.page2-expired.json", EK_E_GONE, 410, "Expired", 0, "LISTING"},
    {"pages/gone.leases.watch-invalid.json", EK_E_INVAL, 422, "Invalid", 0, "BACKOFF"},
};

START_TEST(bad_answers_are_distinguished)
{
    size_t len;
    EK_AUTOFREE char *text = read_file(bad[_i].file, &len);
    struct ek_err err;
    struct ek_list_page page;
    struct replay r;
    yyjson_doc *doc = ek_json_parse(text, len, NULL);

    ck_assert_msg(ek_decode_status(yyjson_doc_get_root(doc), &err) == bad[_i].code, "%s: %d",
                  bad[_i].file, err.code);
    ck_assert_int_eq(err.http_status, bad[_i].http_status);
    ck_assert_str_eq(err.reason, bad[_i].reason);
    ck_assert_int_eq(err.retry_after_ms, bad[_i].retry_after_ms);
    ck_assert_msg(err.message[0] && !strchr(err.message, '\n'), "%s: %s", bad[_i].file,
                  err.message);
    ck_assert_int_eq(list_text_read(text, len, &lease, &page, &err), EK_E_PARSE);
    replay_init(&r, &lease, false);
    feed_page(&r, bad[_i].file);
    ck_assert_msg(!strcmp(state_of(&r), bad[_i].state), "%s: %s", bad[_i].file, state_of(&r));
    replay_done(&r);
    yyjson_doc_free(doc);
}
END_TEST

/* A list that goes on after compaction with the token from the error is inconsistent; it is not
 * used, but it is a page. */
START_TEST(the_inconsistent_page_is_a_page)
{
    size_t len;
    EK_AUTOFREE char *text = read_file("pages/gone.leases.page2-inconsistent.json", &len);
    struct ek_list_page page;

    ck_assert_int_eq(list_text_read(text, len, &lease, &page, NULL), 0);
    ck_assert_str_eq(page.resource_version, "3387");
    ck_assert_uint_gt(strlen(page.next), 0);
    ck_assert_uint_eq(page.n, 3);
    ek_list_page_done(&page);
}
END_TEST

int main(void)
{
    if (access(CLUSTER "README.md", R_OK)) {
        fprintf(stderr, "skipped: no recordings at %s\n", CLUSTER);
        return 77;
    }
    TCase *tcase = tcase_create("recordings");
    tcase_set_timeout(tcase, 30);
    tcase_add_loop_test(tcase, a_recorded_stream_fills_the_store, 0,
                        10 * (int)EK_ARRAY_SIZE(streams));
    tcase_add_test(tcase, the_long_stream_agrees_with_the_list_after);
    tcase_add_loop_test(tcase, recorded_pages_fill_the_store, 0, (int)EK_ARRAY_SIZE(lists));
    tcase_add_loop_test(tcase, bad_answers_are_distinguished, 0, (int)EK_ARRAY_SIZE(bad));
    tcase_add_test(tcase, the_inconsistent_page_is_a_page);
    return ek_test_run("reflector_replay", tcase);
}
