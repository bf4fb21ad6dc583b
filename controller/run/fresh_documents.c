/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/fresh_documents.h"

#include <string.h>

#include "informers/probe/prober.h"

void ek_fresh_documents_init(struct ek_fresh_documents *fresh, uv_loop_t *loop)
{
    uv_timer_init(loop, &fresh->timer);
    fresh->timer.data = fresh;
}

static void on_due(uv_timer_t *timer);

static void look_again(struct ek_fresh_documents *fresh)
{
    struct ek_prober *prober = ek_controller_prober(fresh->controller);
    int64_t now_ms = (int64_t)uv_now(fresh->timer.loop);
    int64_t in_ms;
    enum ek_proxy_look look = ek_proxy_recheck_next(&fresh->recheck, now_ms, &in_ms);

    if (look == EK_PROXY_LOOK_ALL)
        ek_prober_kick(prober);
    else if (look == EK_PROXY_LOOK_ABSENT)
        ek_prober_kick_absent(prober);
    /* A server that comes back has a new endpoint, which is seen only at an API server. */
    if (look != EK_PROXY_LOOK_NONE)
        ek_watchset_hurry(ek_controller_watchset(fresh->controller));
    if (in_ms >= 0)
        uv_timer_start(&fresh->timer, on_due, (uint64_t)in_ms, 0);
}

static void on_due(uv_timer_t *timer)
{
    look_again(timer->data);
}

void ek_fresh_documents_want(struct ek_fresh_documents *fresh)
{
    ek_proxy_recheck_want(&fresh->recheck);
    look_again(fresh);
}

static void on_custom(void *ctx, bool changed)
{
    struct ek_fresh_documents *fresh = ctx;
    EK_AUTOFREE char *problem = ek_custom_watch_problem(fresh->custom);

    if (changed) {
        ek_fresh_documents_want(fresh);
        ek_proxy_recheck_want_again(&fresh->recheck);
        look_again(fresh);
    }
    if (problem && (!fresh->problem || strcmp(problem, fresh->problem) != 0))
        ek_log_info(fresh->log, "Changes of custom resources are noticed late",
                    EK_S("reason", problem));
    ek_free(fresh->problem);
    fresh->problem = problem ? ek_xstrdup(problem) : NULL;
    ek_controller_observe(fresh->controller);
}

void ek_fresh_documents_watch(struct ek_fresh_documents *fresh, struct ek_client *client,
                              struct ek_log *log)
{
    fresh->log = log;
    fresh->custom = ek_custom_watch_new(&(struct ek_custom_watch_config){
        .loop = fresh->timer.loop, .client = client, .on_change = on_custom, .ctx = fresh});
}

void ek_fresh_documents_set_reader(struct ek_fresh_documents *fresh,
                                   struct ek_controller *controller)
{
    fresh->controller = controller;
}

void ek_fresh_documents_runnable(struct ek_fresh_documents *fresh, struct ek_runnable *ret_runnable)
{
    ek_custom_watch_runnable(fresh->custom, ret_runnable);
}

const struct ek_exclusions *ek_fresh_documents_exclusions(struct ek_fresh_documents *fresh,
                                                          int64_t now_ms, int64_t *ret_again_ms)
{
    return ek_custom_watch_exclusions(fresh->custom, now_ms, ret_again_ms);
}

void ek_fresh_documents_close(struct ek_fresh_documents *fresh)
{
    uv_close((uv_handle_t *)&fresh->timer, NULL);
    ek_custom_watch_close(fresh->custom);
    ek_free(fresh->problem);
    fresh->problem = NULL;
}
