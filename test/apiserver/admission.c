/* SPDX-License-Identifier: Apache-2.0 */
/* The reviews of the webhooks of one request and their answers, in order. */
#include "test/apiserver/admission.h"

#include <stdio.h>
#include <string.h>

#include "test/apiserver/server-internal.h"

/* Of one request: a write that others keep overtaking ends, too. */
#define ASKED_MAX 1000

/* Random numbers left to the rounds after the first, which may need more of them than it did. */
#define ROOM 16

struct ek_admission {
    struct ek_admission_step **steps; /* owned */
    size_t n, at;                     /* at: the next one of this round */
    size_t n_asked;
    bool begun, due;
    struct ek_admission_call call;
    /* What makes each round like the first one. */
    int64_t now_ms;
    uint64_t random, outer_random;
    unsigned next_cluster_ip, outer_cluster_ip;
};

struct ek_admission *ek_admission_new(void)
{
    return ek_xalloc(sizeof(struct ek_admission));
}

void ek_admission_step_free(struct ek_admission_step *step)
{
    if (!step)
        return;
    ek_free(step->name);
    ek_free(step->url);
    ek_free(step->ca);
    ek_free(step->review);
    ek_free(step->body);
    ek_free(step->answer);
    ek_free(step->error);
    ek_free(step);
}

static void cut(struct ek_admission *admission, size_t n)
{
    while (admission->n > n)
        ek_admission_step_free(admission->steps[--admission->n]);
}

bool ek_admission_has_begun(const struct ek_admission *admission)
{
    return admission && admission->begun;
}

void ek_admission_free(struct ek_admission *admission)
{
    if (!admission)
        return;
    cut(admission, 0);
    ek_free(admission->steps);
    ek_free(admission);
}

const struct ek_admission_call *ek_admission_due(const struct ek_admission *admission)
{
    return admission && admission->due ? &admission->call : NULL;
}

void ek_admission_answer(struct ek_admission *admission, struct ek_str body, const char *error)
{
    struct ek_admission_step *step = admission->steps[admission->n - 1];

    admission->due = false;
    step->error = error ? ek_xstrdup(error) : NULL;
    step->answer = ek_xstrndup(body.p ? body.p : "", body.len);
    step->answer_len = body.len;
}

int64_t ek_admission_enter(struct ek_admission *admission, struct ek_apiserver *server,
                           int64_t now_ms)
{
    if (!admission)
        return now_ms;
    if (!admission->begun) {
        admission->begun = true;
        admission->now_ms = now_ms;
        admission->random = server->random;
        admission->next_cluster_ip = server->next_cluster_ip;
        return now_ms;
    }
    admission->at = 0;
    admission->outer_random = server->random;
    admission->outer_cluster_ip = server->next_cluster_ip;
    server->random = admission->random;
    server->next_cluster_ip = admission->next_cluster_ip;
    return admission->now_ms;
}

void ek_admission_leave(struct ek_admission *admission, struct ek_apiserver *server, bool again)
{
    if (!admission)
        return;
    if (again) {
        server->random = admission->outer_random;
        server->next_cluster_ip = admission->outer_cluster_ip;
    }
    if (!admission->due)
        return;
    for (int i = 0; !again && i < ROOM; i++)
        (void)ek_server_random(server);
    struct ek_admission_step *step = admission->steps[admission->n - 1];
    ek_server_uid(server, step->uid);
    step->body = ek_xasprintf("{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\""
                              ",\"request\":{\"uid\":\"%s\",%s}}",
                              step->uid, step->review);
    admission->call = (struct ek_admission_call){.url = step->url,
                                                 .ca = step->ca,
                                                 .timeout_ms = step->timeout_ms,
                                                 .body = ek_str_from(step->body)};
}

const struct ek_admission_step *ek_admission_ask(struct ek_admission *admission,
                                                 struct ek_admission_step **step)
{
    struct ek_admission_step *asked = *step;
    struct ek_admission_step *old =
        admission->at < admission->n ? admission->steps[admission->at] : NULL;

    if (old && strcmp(old->name, asked->name) == 0 && strcmp(old->review, asked->review) == 0) {
        admission->at++;
        return old;
    }
    /* The object or the webhooks have changed since: this answer and those after it are void. */
    cut(admission, admission->at);
    admission->steps =
        ek_xrealloc(admission->steps, admission->n + 1, sizeof(struct ek_admission_step *));
    admission->steps[admission->n++] = asked;
    *step = NULL;
    if (!asked->error && admission->n_asked++ >= ASKED_MAX)
        asked->error = ek_xstrdup("the request has asked too many times");
    admission->due = !asked->error;
    admission->at++;
    return admission->due ? NULL : asked;
}
