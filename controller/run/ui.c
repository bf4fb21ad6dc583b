/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/ui.h"

#include <stdatomic.h>
#include <string.h>

#include "controller/page/page.h"
#include "controller/run/ui_page.h"

/* Facts and page are kept that long. */
#define KEPT_MS 1000

#define POLICY_MAX ((size_t)1024)

struct ek_ui {
    const struct ek_debug *debug;
    const struct ek_recorder *recorder;
    int64_t collected_ms; /* monotonic; INT64_MIN before the first time */

    /* From the control loop to the serving thread; NULL: taken, or none yet. */
    _Atomic(struct ek_ui_facts *) facts;

    /* The serving thread's. */
    struct ek_buf page;
    bool has_page;
};

struct ek_ui *ek_ui_new(const struct ek_debug *debug, const struct ek_recorder *recorder)
{
    struct ek_ui *ui = ek_xalloc(sizeof *ui);

    ui->debug = debug;
    ui->recorder = recorder;
    ui->collected_ms = INT64_MIN;
    ek_buf_init(&ui->page, EK_UI_PAGE_MAX);
    return ui;
}

void ek_ui_free(struct ek_ui *ui)
{
    if (!ui)
        return;
    ek_ui_facts_free(atomic_exchange(&ui->facts, NULL));
    ek_buf_done(&ui->page);
    ek_free(ui);
}

/* ---- On the control loop ---- */

static void take_objects(const struct ek_store *store, struct ek_obj ***objects, size_t *n)
{
    ek_snapshot_free(*objects, *n);
    *objects = ek_store_snapshot(store, n);
}

static void read_informer(void *arg, const char *controller, const char *name,
                          struct ek_informer *informer)
{
    struct ek_ui_facts *facts = arg;
    const struct ek_resource *resource = ek_informer_resource(informer);
    const struct ek_store *store = ek_informer_store(informer);

    (void)controller;
    (void)name;
    if (!store || strcmp(resource->group, "evenkeel.dev") != 0)
        return;
    if (!strcmp(resource->resource, "controlplanes") && !facts->control_plane)
        facts->control_plane = ek_obj_ref(ek_store_get(store, "cluster"));
    else if (!strcmp(resource->resource, "policystatuses"))
        take_objects(store, &facts->policies, &facts->n_policies);
    else if (!strcmp(resource->resource, "customfeaturegates"))
        take_objects(store, &facts->gates, &facts->n_gates);
}

/* An answer of `evenkeel debug`, owned. */
static char *answer_of(const struct ek_debug *debug, const char *topic,
                       const struct ek_debug_now *now)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, EK_DEBUG_ANSWER_MAX);
    ek_debug_answer(debug, topic, strlen(topic), now, NULL, &out);
    return ek_xstrdup(ek_buf_str(&out));
}

static void put_event(void *ctx, const struct ek_recent_event *event)
{
    const struct ek_debug_doc *list = ctx;
    struct ek_debug_doc item = ek_debug_item(list, list->at);
    EK_AUTOFREE char *object = ek_xasprintf("%s %s%s%s", event->kind, event->namespace,
                                            *event->namespace ? "/" : "", event->name);

    ek_debug_put_wall(&item, "time", event->last_ms);
    ek_debug_put(&item, "type", event->warning ? "Warning" : "Normal");
    ek_debug_put_count(&item, "count", event->count);
    yyjson_mut_obj_add_strcpy(item.doc, item.at, "object", object);
    ek_debug_put(&item, "reason", event->reason);
    ek_debug_put(&item, "note", event->note);
}

static char *events_of(const struct ek_recorder *recorder, const struct ek_debug_now *now)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_debug_doc list = {doc, yyjson_mut_arr(doc), *now};

    yyjson_mut_doc_set_root(doc, list.at);
    if (recorder)
        ek_recent_events_each(ek_recorder_recent(recorder), put_event, &list);
    char *json =
        yyjson_mut_write_opts(doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &ek_json_xalc, NULL, NULL);
    yyjson_mut_doc_free(doc);
    return json;
}

void ek_ui_collect(struct ek_ui *ui, const struct ek_debug_now *now)
{
    if (ui->collected_ms != INT64_MIN && now->mono_ms - ui->collected_ms < KEPT_MS)
        return;
    ui->collected_ms = now->mono_ms;
    struct ek_ui_facts *facts = ek_xalloc(sizeof *facts);
    facts->at_ms = now->wall_ms;
    ek_registry_each_informer(ui->debug->registry, read_informer, facts);
    facts->leader = answer_of(ui->debug, "leader", now);
    facts->informers = answer_of(ui->debug, "informers", now);
    facts->events = events_of(ui->recorder, now);
    ek_ui_facts_free(atomic_exchange(&ui->facts, facts));
}

/* ---- On the serving thread ---- */

static void make_page(struct ek_ui *ui)
{
    struct ek_ui_facts *facts = atomic_exchange(&ui->facts, NULL);

    if (!facts)
        return;
    ek_buf_reset(&ui->page);
    ek_ui_page(facts, &ui->page);
    ui->has_page = true;
    ek_ui_facts_free(facts);
}

/* The page names parts of the cluster: no other origin and no cache gets it, and no frame. */
static void put_headers(struct ek_http_reply *reply)
{
    EK_AUTO(ek_buf) policy;

    ek_buf_init(&policy, POLICY_MAX);
    ek_page_policy(&policy);
    ek_buf_puts(&policy, "; frame-ancestors 'none'");
    ek_http_reply_header(reply, "Content-Security-Policy", ek_buf_str(&policy));
    ek_http_reply_header(reply, "Cache-Control", "no-store");
    ek_http_reply_header(reply, "Cross-Origin-Resource-Policy", "same-origin");
    ek_http_reply_header(reply, "Referrer-Policy", "no-referrer");
    ek_http_reply_header(reply, "X-Content-Type-Options", "nosniff");
}

static void handle(void *ctx, const struct ek_http_request *request, struct ek_http_reply *reply)
{
    struct ek_ui *ui = ctx;

    (void)request;
    make_page(ui);
    if (!ui->has_page) {
        ek_http_reply_header(reply, "Retry-After", "1");
        ek_http_reply_text(reply, 503, "nothing was collected yet, try again");
    } else if (ui->page.failed) {
        ek_http_reply_text(reply, 500, "the page is too large");
    } else {
        put_headers(reply);
        ek_http_reply_send(reply, 200, "text/html; charset=utf-8", ek_buf_str(&ui->page),
                           ui->page.len);
    }
}

struct ek_http_route ek_ui_route(struct ek_ui *ui)
{
    return (struct ek_http_route){
        .path = "/debug/ui", .methods = "GET", .handler = handle, .ctx = ui};
}
