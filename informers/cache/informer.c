/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/informer.h"

#include <stdio.h>
#include <string.h>

#include "informers/cache/framer.h"
#include "informers/cache/list_reader.h"
#include "informers/cache/reflector.h"

#define FRAME_MAX     ((size_t)16 << 20)  /* etcd refuses objects far smaller than this */
#define LIST_BODY_MAX ((size_t)256 << 20) /* a list in one piece: relists go without limit */
#define PATH_SIZE_MAX ((size_t)64 << 10)  /* continue tokens are the longest part */

struct ek_informer {
    uv_loop_t *loop;
    struct ek_client *client;
    struct ek_resource resource; /* strings owned */
    char *path;                  /* of the collection, owned */
    char *api_version;           /* owned */
    struct ek_reflector *reflector;
    struct ek_store *store;
    size_t max_objects;
    struct ek_framer framer;
    struct ek_list_reader lister; /* empty when no list is under way */
    uv_timer_t *timer;            /* memory of its own: its closing may outlive us */

    struct ek_call *call; /* under way, NULL when none is */
    unsigned generation;  /* of calls: a callback of an older call does nothing */
    bool streaming;       /* call is a watch */
    bool opened;          /* WATCH_OPEN was fed for it */
    struct ek_err broken; /* why we ended the answer ourselves, code 0 otherwise */

    bool stepping;       /* inside actions: a stop has to wait */
    bool stop_requested; /* stop was called */
    bool stopping;       /* and carried out */
    void (*on_stopped)(void *ctx);
    void *on_stopped_ctx;

    char *server; /* "ip:port"; NULL: the configured address */

    void (*observer)(void *ctx);
    void *observer_ctx;
    struct { /* the last report to the observer */
        bool synced, served;
        int error_code;
        char error[sizeof((struct ek_err *)0)->message];
    } reported;
    int64_t last_event_ms;
};

static void feed(struct ek_informer *informer, const struct ek_reflector_event *event);

int ek_resource_path(const struct ek_resource *resource, struct ek_buf *out)
{
    if (*resource->group) {
        ek_buf_puts(out, "/apis/");
        ek_uri_escape(out, resource->group);
        ek_buf_puts(out, "/");
    } else {
        ek_buf_puts(out, "/api/");
    }
    ek_uri_escape(out, resource->version);
    if (resource->namespace && *resource->namespace) {
        ek_buf_puts(out, "/namespaces/");
        ek_uri_escape(out, resource->namespace);
    }
    ek_buf_puts(out, "/");
    ek_uri_escape(out, resource->resource);
    return out->failed;
}

static void resource_dup(struct ek_resource *to, const struct ek_resource *from)
{
    *to = (struct ek_resource){
        .group = ek_xstrdup(from->group ? from->group : ""),
        .version = ek_xstrdup(from->version),
        .resource = ek_xstrdup(from->resource),
        .kind = ek_xstrdup(from->kind),
        .namespace = ek_xstrdup(from->namespace),
        .label_selector = ek_xstrdup(from->label_selector),
        .field_selector = ek_xstrdup(from->field_selector),
        .metadata_only = from->metadata_only,
        .optional = from->optional,
    };
}

static void resource_done(struct ek_resource *resource)
{
    const char *strings[] = {resource->group,         resource->version,   resource->resource,
                             resource->kind,          resource->namespace, resource->label_selector,
                             resource->field_selector};

    for (size_t i = 0; i < EK_ARRAY_SIZE(strings); i++)
        ek_free((void *)(uintptr_t)strings[i]); /* const to readers, but ours */
}

struct ek_informer *ek_informer_new(uv_loop_t *loop, struct ek_client *client,
                                    const struct ek_resource *resource)
{
    struct ek_reflector_config config = ek_reflector_config_default();
    return ek_informer_new_configured(loop, client, resource, &config);
}

struct ek_informer *ek_informer_new_configured(uv_loop_t *loop, struct ek_client *client,
                                               const struct ek_resource *resource,
                                               const struct ek_reflector_config *config)
{
    struct ek_informer *informer = ek_xalloc(sizeof *informer);
    struct ek_reflector_config own = *config;
    struct ek_buf path;

    informer->loop = loop;
    informer->client = client;
    resource_dup(&informer->resource, resource);
    ek_buf_init(&path, PATH_SIZE_MAX);
    ek_resource_path(resource, &path);
    informer->path = ek_buf_steal(&path);
    informer->api_version = *informer->resource.group
                                ? ek_xasprintf("%s/%s", informer->resource.group, resource->version)
                                : ek_xstrdup(resource->version);
    own.optional = resource->optional;
    /* Jitter has to differ between processes, no more. */
    own.seed = own.seed ? own.seed : uv_hrtime() ^ (uint64_t)(uintptr_t)informer;
    informer->reflector = ek_reflector_new(&own, (int64_t)uv_now(loop));
    informer->max_objects = own.max_objects;
    informer->store = ek_store_new();
    informer->reported.served = true;
    ek_framer_init(&informer->framer, FRAME_MAX);
    informer->timer = ek_xalloc(sizeof *informer->timer);
    uv_timer_init(loop, informer->timer);
    informer->timer->data = informer;
    return informer;
}

/* ---- requests ---- */

static void add_query(struct ek_buf *out, const char *name, const char *value)
{
    if (!value || !*value)
        return;
    ek_buf_printf(out, "%c%s=", strchr(ek_buf_str(out), '?') ? '&' : '?', name);
    ek_uri_escape(out, value);
}

static void begin_path(const struct ek_informer *informer, struct ek_buf *out)
{
    ek_buf_init(out, PATH_SIZE_MAX);
    ek_buf_puts(out, informer->path);
}

static void end_path(const struct ek_informer *informer, struct ek_buf *out)
{
    add_query(out, "labelSelector", informer->resource.label_selector);
    add_query(out, "fieldSelector", informer->resource.field_selector);
}

/* A server that does not know the first form gives the second. */
#define PARTIAL(kind) "application/json;as=" kind ";g=meta.k8s.io;v=v1,application/json"

static void on_list_done(void *ctx, const struct ek_response *resp, const struct ek_err *err);
static int on_list_data(void *ctx, const char *data, size_t len);
static void on_watch_done(void *ctx, const struct ek_response *resp, const struct ek_err *err);
static int on_watch_data(void *ctx, const char *data, size_t len);

static struct ek_decode_type type_of(const struct ek_informer *informer)
{
    return (struct ek_decode_type){informer->api_version, informer->resource.kind,
                                   informer->resource.metadata_only};
}

static void start_list(struct ek_informer *informer, const struct ek_list_query *query)
{
    struct ek_decode_type type = type_of(informer);
    EK_AUTO(ek_buf) path;
    char limit[24];
    struct ek_request request = {
        .timeout_ms = query->timeout_ms,
        .on_data = on_list_data,
        .no_retry = true, /* the reflector sees to it */
        .connect_to = informer->server,
        .accept = informer->resource.metadata_only ? PARTIAL("PartialObjectMetadataList") : NULL,
    };

    begin_path(informer, &path);
    snprintf(limit, sizeof limit, "%lld", (long long)query->limit);
    add_query(&path, "limit", query->limit > 0 ? limit : "");
    add_query(&path, "continue", query->next);
    add_query(&path, "resourceVersion", query->resource_version);
    add_query(&path, "resourceVersionMatch", query->resource_version_match);
    end_path(informer, &path);
    request.path = ek_buf_str(&path);
    informer->generation++;
    informer->streaming = false;
    informer->broken = (struct ek_err){0};
    ek_list_reader_begin(&informer->lister, &type, LIST_BODY_MAX);
    informer->call = ek_client_send(informer->client, &request, on_list_done, informer);
}

static void start_watch(struct ek_informer *informer, const struct ek_watch_query *query)
{
    EK_AUTO(ek_buf) path;
    char timeout[24];
    struct ek_request request = {
        .on_data = on_watch_data,
        .no_retry = true,
        .connect_to = informer->server,
        .accept = informer->resource.metadata_only ? PARTIAL("PartialObjectMetadata") : NULL,
    };

    begin_path(informer, &path);
    snprintf(timeout, sizeof timeout, "%lld", (long long)query->timeout_s);
    add_query(&path, "watch", "1");
    add_query(&path, "allowWatchBookmarks", "true");
    add_query(&path, "timeoutSeconds", timeout);
    add_query(&path, "resourceVersion", query->resource_version);
    if (query->send_initial_events) {
        add_query(&path, "sendInitialEvents", "true");
        add_query(&path, "resourceVersionMatch", "NotOlderThan");
    }
    end_path(informer, &path);
    request.path = ek_buf_str(&path);
    informer->generation++;
    informer->streaming = true;
    informer->opened = false;
    informer->broken = (struct ek_err){0};
    ek_framer_reset(&informer->framer);
    informer->call = ek_client_send(informer->client, &request, on_watch_done, informer);
}

static void cancel(struct ek_informer *informer)
{
    ek_call_cancel(informer->call);
    ek_list_reader_done(&informer->lister);
    informer->call = NULL;
    informer->generation++;
}

static void on_timer(uv_timer_t *timer)
{
    feed(timer->data, &(struct ek_reflector_event){.kind = EK_EVENT_TIMER});
}

/* ---- what comes back ---- */

/* A server's message may not name its subject ("Unauthorized"). */
static struct ek_err name_path(const struct ek_informer *informer, const char *doing,
                               const struct ek_err *err)
{
    struct ek_err named = *err;

    if (!strstr(named.message, informer->resource.resource))
        ek_err_prefix(&named, "%s %s", doing, informer->path);
    return named;
}

static void list_failed(struct ek_informer *informer, const struct ek_err *err)
{
    struct ek_err named = name_path(informer, "listing", err);
    feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_LIST_FAILED, .err = &named});
}

static int on_list_data(void *ctx, const char *data, size_t len)
{
    struct ek_informer *informer = ctx;

    return ek_list_reader_push(&informer->lister, data, len, &informer->broken);
}

static void on_list_done(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_informer *informer = ctx;
    struct ek_err why = informer->broken;
    struct ek_list_page page;

    (void)resp;
    informer->call = NULL;
    if (!why.code && err)
        why = *err;
    if (!why.code)
        ek_list_reader_end(&informer->lister, &page, &why);
    ek_list_reader_done(&informer->lister);
    if (why.code) {
        list_failed(informer, &why);
        return;
    }
    feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_LIST_PAGE, .page = &page});
    ek_list_page_done(&page);
}

static void note_open(struct ek_informer *informer)
{
    if (informer->opened)
        return;
    informer->opened = true;
    feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_OPEN});
}

/* Brings the next frame, decoded. Returns 1, 0 when the chunk is used up, or why the stream must
 * end. */
static int next_frame(struct ek_informer *informer, struct ek_watch_frame *ret_frame,
                      struct ek_err *err)
{
    struct ek_decode_type type = type_of(informer);
    struct ek_str text;

    /* Mostly a frame is a line, and the decoder finds out. */
    if (ek_framer_look(&informer->framer, &text) &&
        !ek_decode_watch_frame(text.p, text.len, &type, ret_frame, NULL)) {
        ek_framer_take_line(&informer->framer, text);
        return 1;
    }
    int rc = ek_framer_next(&informer->framer, &text, err);
    if (rc == 1 && ek_decode_watch_frame(text.p, text.len, &type, ret_frame, err))
        rc = err->code;
    return rc;
}

/* Feeds one frame and releases it. Returns 0, or why the stream must end. */
static int take_frame(struct ek_informer *informer, struct ek_watch_frame *frame,
                      struct ek_err *err)
{
    informer->last_event_ms = (int64_t)uv_now(informer->loop);
    feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_FRAME, .frame = frame});
    ek_watch_frame_done(frame);
    /* Lists are bounded by the reflector; what a watch adds to them is bounded here. */
    if (ek_store_size(informer->store) > informer->max_objects)
        return ek_err_set(err, EK_E_LIMIT,
                          "more than %zu objects: narrow the selection or raise the limit",
                          informer->max_objects);
    return 0;
}

static int on_watch_data(void *ctx, const char *data, size_t len)
{
    struct ek_informer *informer = ctx;
    unsigned generation = informer->generation;
    struct ek_watch_frame frame;
    int rc = 1;

    note_open(informer);
    if (generation == informer->generation)
        ek_framer_push(&informer->framer, data, len);
    while (rc == 1 && generation == informer->generation) {
        struct ek_err err = {0};
        rc = next_frame(informer, &frame, &err);
        if (rc == 1 && take_frame(informer, &frame, &err))
            rc = err.code;
        if (rc < 0 && generation == informer->generation) {
            informer->broken = err;
            return rc;
        }
    }
    return generation == informer->generation ? 0 : EK_E_CANCELED;
}

static void watch_failed(struct ek_informer *informer, const struct ek_err *err)
{
    struct ek_err named = name_path(informer, "watching", err);
    feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_FAILED, .err = &named});
}

static void on_watch_done(void *ctx, const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_informer *informer = ctx;
    unsigned generation = informer->generation;
    struct ek_err why;

    informer->call = NULL;
    if (resp->status / 100 == 2)
        note_open(informer); /* headers only, but it was open */
    if (generation != informer->generation)
        return;
    if (informer->broken.code) {
        why = informer->broken; /* watch_failed starts the next stream, which clears it */
        watch_failed(informer, &why);
    } else if (err) {
        watch_failed(informer, err);
    } else if (ek_framer_end(&informer->framer, &why)) {
        why.code = EK_E_NET; /* cut off, not malformed */
        watch_failed(informer, &why);
    } else {
        feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_WATCH_EOF});
    }
}

/* ---- actions ---- */

static void execute(struct ek_informer *informer, const struct ek_reflector_action *action)
{
    switch (action->kind) {
    case EK_ACTION_START_LIST:
        start_list(informer, &action->list);
        break;
    case EK_ACTION_START_WATCH:
        start_watch(informer, &action->watch);
        break;
    case EK_ACTION_CANCEL_REQUEST:
        cancel(informer);
        break;
    case EK_ACTION_REPLACE:
        ek_store_replace(informer->store, action->replace.items, action->replace.n,
                         action->replace.rv);
        break;
    case EK_ACTION_PUT:
        ek_store_put(informer->store, action->obj);
        break;
    case EK_ACTION_REMOVE:
        ek_store_remove(informer->store, action->obj);
        break;
    case EK_ACTION_SET_RV:
        ek_store_set_resource_version(informer->store, action->rv);
        break;
    case EK_ACTION_SET_TIMER:
        if (action->timer_ms < 0)
            uv_timer_stop(informer->timer);
        else
            uv_timer_start(informer->timer, on_timer, (uint64_t)action->timer_ms, 0);
        break;
    default: /* REPORT: the status carries the error */
        break;
    }
}

/* Calls the observer when its view has changed. */
static void observe(struct ek_informer *informer)
{
    struct ek_reflector_status status;

    ek_reflector_status(informer->reflector, &status);
    if (status.synced == informer->reported.synced && status.served == informer->reported.served &&
        status.err->code == informer->reported.error_code &&
        !strcmp(status.err->message, informer->reported.error))
        return;
    informer->reported.synced = status.synced;
    informer->reported.served = status.served;
    informer->reported.error_code = status.err->code;
    memcpy(informer->reported.error, status.err->message, sizeof informer->reported.error);
    if (informer->observer)
        informer->observer(informer->observer_ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct ek_informer *informer = handle->data;

    ek_free(handle);
    if (!informer) /* freed meanwhile */
        return;
    informer->timer = NULL;
    if (informer->on_stopped)
        informer->on_stopped(informer->on_stopped_ctx);
}

static void stop_now(struct ek_informer *informer)
{
    if (informer->stopping)
        return;
    informer->stopping = true;
    feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_STOP});
    uv_close((uv_handle_t *)informer->timer, on_timer_closed);
}

static void feed(struct ek_informer *informer, const struct ek_reflector_event *event)
{
    struct ek_reflector_actions actions;

    informer->stepping = true;
    ek_reflector_step(informer->reflector, (int64_t)uv_now(informer->loop), event, &actions);
    for (size_t i = 0; i < actions.n; i++)
        execute(informer, &actions.items[i]);
    informer->stepping = false;
    observe(informer);
    if (informer->stop_requested)
        stop_now(informer);
}

/* ---- life ---- */

void ek_informer_start(struct ek_informer *informer)
{
    feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_START});
}

void ek_informer_stop(struct ek_informer *informer, void (*on_stopped)(void *ctx), void *ctx)
{
    if (informer->stop_requested)
        return;
    informer->stop_requested = true;
    informer->on_stopped = on_stopped;
    informer->on_stopped_ctx = ctx;
    if (!informer->stepping)
        stop_now(informer);
}

void ek_informer_hurry(struct ek_informer *informer)
{
    if (ek_reflector_may_hurry(informer->reflector, (int64_t)uv_now(informer->loop)))
        feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_TIMER});
}

void ek_informer_definition(struct ek_informer *informer, bool gone)
{
    if (!informer->stop_requested)
        feed(informer, &(struct ek_reflector_event){.kind = EK_EVENT_DEFINITION, .gone = gone});
}

void ek_informer_free(struct ek_informer *informer)
{
    if (!informer)
        return;
    cancel(informer);
    if (informer->timer) {
        informer->timer->data = NULL;
        if (!uv_is_closing((uv_handle_t *)informer->timer))
            uv_close((uv_handle_t *)informer->timer, on_timer_closed);
    }
    ek_reflector_free(informer->reflector);
    ek_store_free(informer->store);
    ek_framer_done(&informer->framer);
    resource_done(&informer->resource);
    ek_free(informer->path);
    ek_free(informer->server);
    ek_free(informer->api_version);
    ek_free(informer);
}

struct ek_store *ek_informer_store(struct ek_informer *informer)
{
    return informer->store;
}

const struct ek_resource *ek_informer_resource(const struct ek_informer *informer)
{
    return &informer->resource;
}

const struct ek_reflector *ek_informer_reflector(const struct ek_informer *informer)
{
    return informer->reflector;
}

void ek_informer_status(const struct ek_informer *informer, struct ek_informer_status *ret_status)
{
    struct ek_reflector_status status;

    ek_reflector_status(informer->reflector, &status);
    *ret_status = (struct ek_informer_status){
        .synced = status.synced,
        .served = status.served,
        .state = ek_reflector_state_name(status.state),
        .last_error = status.err->message,
        .last_error_code = status.err->code,
        .last_event_ms = informer->last_event_ms,
        .lists = status.lists,
        .watches = status.watches,
        .events = status.events,
        .failures = status.failures,
    };
}

void ek_informer_set_server(struct ek_informer *informer, const char *address)
{
    ek_free(informer->server);
    informer->server = ek_xstrdup(address);
}

void ek_informer_set_observer(struct ek_informer *informer, void (*fn)(void *ctx), void *ctx)
{
    informer->observer = fn;
    informer->observer_ctx = ctx;
}
