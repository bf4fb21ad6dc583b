/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/remakes.h"

#include <string.h>

#include "api/base/mem.h"
#include "controller/http/share.h"

#define MADE_HERE_MAX ((size_t)256 * 1024)
#define JOBS_MAX      2

struct waits {
    struct ek_remakes_wait *first, *last;
};

/* A document that is being made. The thread has view, document, choice and made meanwhile. */
struct ek_remakes_job {
    struct ek_remakes *remakes;
    struct ek_view *view; /* a reference; NULL: the place is free */
    const struct ek_view_document *document;
    struct ek_negotiate_choice choice; /* without text */
    struct ek_discovery_remade made;
    bool done;
    char *user; /* owned */
    struct waits waits;
    uv_work_t work;
};

/* small changes with each reply, large only before somebody is called who waits for it. */
struct ek_remakes {
    uv_loop_t *loop;
    struct ek_discovery_remade small, large;
    struct ek_remakes_job jobs[JOBS_MAX];
    bool closing;
    void (*on_closed)(void *ctx);
    void *ctx;
};

struct ek_remakes *ek_remakes_new(uv_loop_t *loop)
{
    struct ek_remakes *remakes = ek_xalloc(sizeof *remakes);

    remakes->loop = loop;
    return remakes;
}

static void end_if_over(struct ek_remakes *remakes)
{
    void (*on_closed)(void *ctx) = remakes->on_closed;
    void *ctx = remakes->ctx;

    if (!remakes->closing)
        return;
    for (size_t i = 0; i < JOBS_MAX; i++)
        if (remakes->jobs[i].view)
            return;
    ek_discovery_remade_done(&remakes->small);
    ek_discovery_remade_done(&remakes->large);
    ek_free(remakes);
    if (on_closed)
        on_closed(ctx);
}

void ek_remakes_close(struct ek_remakes *remakes, void (*on_closed)(void *ctx), void *ctx)
{
    if (!remakes)
        return;
    remakes->closing = true;
    remakes->on_closed = on_closed;
    remakes->ctx = ctx;
    end_if_over(remakes);
}

/* ---- Making one ---- */

static void on_work(uv_work_t *work)
{
    struct ek_remakes_job *job = work->data;

    job->done = ek_discovery_remake(&job->made, job->document, &job->choice);
}

static void free_place(struct ek_remakes_job *job)
{
    ek_discovery_remade_done(&job->made);
    ek_view_unref(job->view);
    ek_free(job->user);
    *job = (struct ek_remakes_job){0};
}

/* The place is free before anybody is called, who may want another document. */
static void on_worked(uv_work_t *work, int status)
{
    struct ek_remakes_job *job = work->data;
    struct ek_remakes *remakes = job->remakes;
    struct ek_remakes_job over = {.waits = job->waits};
    bool made = job->done;

    (void)status;
    if (made) {
        ek_discovery_remade_done(&remakes->large);
        remakes->large = job->made;
        job->made = (struct ek_discovery_remade){0};
    }
    for (struct ek_remakes_wait *wait = over.waits.first; wait; wait = wait->next)
        wait->job = &over;
    free_place(job);
    while (over.waits.first) {
        struct ek_remakes_wait *wait = over.waits.first;
        ek_remakes_cancel(wait);
        wait->on_made(wait->ctx, made);
    }
    end_if_over(remakes);
}

static bool is_same(const struct ek_remakes_job *job, const struct ek_remakes_want *want)
{
    return !strcmp(job->document->etag, want->document->etag) &&
           job->choice.form == want->choice->form && job->choice.yaml == want->choice->yaml;
}

/* The work under way for the same document, or a free place; NULL when there is none for the
 * user. */
static struct ek_remakes_job *find_job(struct ek_remakes *remakes,
                                       const struct ek_remakes_want *want)
{
    struct ek_remakes_job *unused = NULL;
    size_t taken = 0, mine = 0;

    for (size_t i = 0; i < JOBS_MAX; i++) {
        struct ek_remakes_job *job = &remakes->jobs[i];
        if (!job->view) {
            unused = job;
            continue;
        }
        if (is_same(job, want))
            return job;
        taken++;
        mine += !strcmp(job->user, want->user);
    }
    return ek_http_share_allows(mine, taken, JOBS_MAX) ? unused : NULL;
}

static void begin_job(struct ek_remakes *remakes, struct ek_remakes_job *job,
                      const struct ek_remakes_want *want)
{
    *job =
        (struct ek_remakes_job){.remakes = remakes,
                                .view = ek_view_ref(want->view),
                                .document = want->document,
                                .choice = {.form = want->choice->form, .yaml = want->choice->yaml},
                                .user = ek_xstrdup(want->user)};
    job->work.data = job;
    uv_queue_work(remakes->loop, &job->work, on_work, on_worked);
}

static bool is_large(const struct ek_view_document *document)
{
    return document->body.len > MADE_HERE_MAX;
}

enum ek_remakes_state ek_remakes_begin(struct ek_remakes *remakes,
                                       const struct ek_remakes_want *want,
                                       struct ek_remakes_wait *wait,
                                       void (*on_made)(void *ctx, bool made), void *ctx)
{
    struct ek_remakes_job *job;

    if (!is_large(want->document) ||
        !ek_discovery_must_remake(&remakes->large, want->document, want->choice, want->headers))
        return EK_REMAKES_NOW;
    job = find_job(remakes, want);
    if (!job)
        return EK_REMAKES_FULL;
    if (!job->view)
        begin_job(remakes, job, want);
    *wait = (struct ek_remakes_wait){
        .job = job, .prev = job->waits.last, .on_made = on_made, .ctx = ctx};
    *(wait->prev ? &wait->prev->next : &job->waits.first) = wait;
    job->waits.last = wait;
    return EK_REMAKES_WAIT;
}

void ek_remakes_cancel(struct ek_remakes_wait *wait)
{
    struct ek_remakes_job *job = wait->job;

    if (!job)
        return;
    *(wait->prev ? &wait->prev->next : &job->waits.first) = wait->next;
    *(wait->next ? &wait->next->prev : &job->waits.last) = wait->prev;
    wait->job = NULL;
}

bool ek_remakes_reply(struct ek_remakes *remakes, const struct ek_remakes_want *want,
                      struct ek_negotiate_reply *ret)
{
    return ek_discovery_reply(is_large(want->document) ? &remakes->large : &remakes->small,
                              want->document, want->choice, want->headers, ret);
}
