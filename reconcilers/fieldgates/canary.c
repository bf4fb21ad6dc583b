/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/canary.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/fieldgates/registration.h"

#define FIRST_MS  500
#define LAST_MS   60000
#define AGAIN_MS  300000
#define TRIES_MIN 3 /* before a server counts as failing */

/* ---- Servers ---- */

size_t ek_canary_choose(const struct ek_peer_table *table,
                        struct ek_canary_server ret_servers[EK_CANARY_SERVERS_MAX])
{
    bool addressed = false;
    size_t n = 0;

    for (size_t i = 0; i < table->n && n < EK_CANARY_SERVERS_MAX; i++) {
        const struct ek_peer *peer = &table->peers[i];
        if (!peer->live)
            continue;
        ret_servers[n] = (struct ek_canary_server){.name = peer->name,
                                                   .address = peer->trusted ? peer->address : ""};
        addressed = addressed || *ret_servers[n].address;
        n++;
    }
    return addressed ? n : 0;
}

bool ek_canary_is_reachable(const struct ek_canary_server *server)
{
    return !server->address || *server->address;
}

/* ---- Answers ---- */

static bool holds(struct ek_str body, const char *text)
{
    return body.len && memmem(body.p, body.len, text, strlen(text)) != NULL;
}

const char *ek_canary_judge(const char *hash, const struct ek_canary_answer *answer, char *message,
                            size_t size)
{
    EK_AUTOFREE char *right = ek_xasprintf(EK_GATES_CANARY_TEXT "%s", hash);
    bool denied = answer->err && answer->status;

    if (denied && holds(answer->body, right))
        return NULL;
    if (denied && holds(answer->body, EK_GATES_CANARY_TEXT))
        snprintf(message, size, "the server still has an older registration");
    else if (!answer->err)
        snprintf(message, size, "the server does not have the registration of the webhook yet");
    else
        snprintf(message, size, "%s", answer->err->message);
    return message;
}

void ek_canary_begin(struct ek_canary_state *state, const struct ek_canary_server *server,
                     int64_t now_ms)
{
    *state = (struct ek_canary_state){.due_ms = now_ms, .unheard = !ek_canary_is_reachable(server)};
    if (state->unheard)
        snprintf(state->message, sizeof state->message,
                 "API server %.80s cannot be tested: no trusted source has its address",
                 server->name);
}

static int64_t delay_after(unsigned tries)
{
    int64_t delay = tries < 8 ? (int64_t)FIRST_MS << tries : LAST_MS;
    return delay < LAST_MS ? delay : LAST_MS;
}

void ek_canary_heard(struct ek_canary_state *state, const struct ek_canary_server *server,
                     const char *hash, const struct ek_canary_answer *answer, int64_t now_ms)
{
    char why[EK_CANARY_MESSAGE_SIZE - 100];
    const char *wrong = ek_canary_judge(hash, answer, why, sizeof why);

    state->message[0] = '\0';
    state->unheard = answer->status == 0;
    if (wrong)
        snprintf(state->message, sizeof state->message, "API server %.80s%s: %s", server->name,
                 state->unheard ? " did not answer" : "", wrong);
    state->answered = !wrong;
    state->due_ms = now_ms + (wrong ? delay_after(state->tries) : AGAIN_MS);
    state->tries = wrong ? state->tries + 1 : 0;
}

/* ---- Results ---- */

enum ek_gates_canary ek_canary_result(const struct ek_canary_state *const *states, size_t n,
                                      const char *hash, const char **ret_message)
{
    enum ek_gates_canary result = EK_CANARY_ANSWERED;

    *ret_message = NULL;
    if (!*hash)
        return EK_CANARY_PENDING;
    for (size_t i = 0; i < n && result != EK_CANARY_FAILED; i++) {
        const struct ek_canary_state *s = states[i];
        if (s->answered)
            continue;
        result = s->tries >= TRIES_MIN && !s->unheard ? EK_CANARY_FAILED : EK_CANARY_PENDING;
        if (*s->message && (!*ret_message || result == EK_CANARY_FAILED))
            *ret_message = s->message;
    }
    return result;
}
