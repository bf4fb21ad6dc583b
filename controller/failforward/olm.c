/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/olm.h"

#include <string.h>

#include "api/base/mem.h"

#define TIMEOUT_MS   30000
#define DOCUMENT_MAX ((size_t)4 << 20)

struct ek_ff_olm {
    struct ek_client *client;
    void (*changed)(void *ctx);
    void *ctx;
    uv_timer_t timer;
    struct ek_call *call;
    size_t asking;
    struct ek_ff_served round, served; /* of the round under way; of the last one */
    bool known;
    void (*done)(void *ctx);
    void *done_ctx;
};

static void ask(struct ek_ff_olm *olm, size_t i);

static void on_timer(uv_timer_t *timer)
{
    ask(timer->data, 0);
}

static void rest(struct ek_ff_olm *olm)
{
    uv_timer_start(&olm->timer, on_timer, EK_FF_OLM_INTERVAL_MS, 0);
}

static bool is_same(const struct ek_ff_served *a, const struct ek_ff_served *b)
{
    return a->olm == b->olm && a->reports == b->reports && a->groups_version == b->groups_version &&
           a->conditions_version == b->conditions_version;
}

static void end_round(struct ek_ff_olm *olm)
{
    bool news = !olm->known || !is_same(&olm->round, &olm->served);

    olm->known = true;
    olm->served = olm->round;
    rest(olm);
    if (news)
        olm->changed(olm->ctx);
}

static void on_document(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct ek_ff_olm *olm = ctx;

    olm->call = NULL;
    if (err && err->code != EK_E_NOENT) {
        rest(olm);
        return;
    }
    yyjson_doc *doc = err ? NULL : ek_json_parse(response->body.p, response->body.len, NULL);
    bool more = ek_ff_served_note(&olm->round, olm->asking, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    if (more)
        ask(olm, olm->asking + 1);
    else
        end_round(olm);
}

static void ask(struct ek_ff_olm *olm, size_t i)
{
    const struct ek_request request = {
        .path = ek_ff_served_path(i), .timeout_ms = TIMEOUT_MS, .max_body = DOCUMENT_MAX};

    olm->asking = i;
    olm->call = ek_client_send(olm->client, &request, on_document, olm);
}

struct ek_ff_olm *ek_ff_olm_new(uv_loop_t *loop, struct ek_client *client,
                                void (*changed)(void *ctx), void *ctx)
{
    struct ek_ff_olm *olm = ek_xalloc(sizeof *olm);

    olm->client = client;
    olm->changed = changed;
    olm->ctx = ctx;
    uv_timer_init(loop, &olm->timer);
    olm->timer.data = olm;
    return olm;
}

void ek_ff_olm_start(struct ek_ff_olm *olm)
{
    ask(olm, 0);
}

const struct ek_ff_served *ek_ff_olm_served(const struct ek_ff_olm *olm)
{
    return olm->known ? &olm->served : NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct ek_ff_olm *olm = handle->data;
    void (*done)(void *) = olm->done;
    void *ctx = olm->done_ctx;

    ek_free(olm);
    done(ctx);
}

void ek_ff_olm_close(struct ek_ff_olm *olm, void (*done)(void *ctx), void *ctx)
{
    olm->done = done;
    olm->done_ctx = ctx;
    ek_call_cancel(olm->call);
    uv_close((uv_handle_t *)&olm->timer, on_closed);
}
