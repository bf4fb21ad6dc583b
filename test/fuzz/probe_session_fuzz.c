/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server's answers to a whole round of questions, then to a second one that keeps what the first
 * gave. The input is the answers, each ended by a byte of 0 and begun by a byte that chooses what
 * became of it; when they run out they start anew. Whatever is answered, a probe comes of it.
 */
#include <string.h>

#include "api/base/time.h"
#include "informers/probe/session.h"
#include "test/fuzz/fuzz.h"

#define QUESTIONS_MAX 1000

struct answers {
    const char *data;
    size_t size, at;
};

static struct ek_str take(struct answers *answers)
{
    if (answers->at >= answers->size)
        answers->at = 0;
    const char *p = answers->data + answers->at;
    size_t left = answers->size - answers->at;
    const char *end = left ? memchr(p, 0, left) : NULL;
    size_t len = end ? (size_t)(end - p) : left;
    answers->at += len + 1;
    return (struct ek_str){p, len};
}

static void answer(struct ek_probe_session *session, const struct ek_probe_question *q,
                   struct ek_str text)
{
    static const int statuses[] = {200, 200, 200, 200, 304, 404, 500, 0};
    static const char *const names[] = {"a", "b"};
    struct ek_server_cert cert = {.fingerprint = "f", .names = (const char **)(uintptr_t)names};
    struct ek_err err = {0};
    unsigned char how = text.len ? (unsigned char)text.p[0] : 0;
    EK_AUTOFREE char *body = ek_xstrndup(text.p + (text.len > 0), text.len - (text.len > 0));
    struct ek_response resp = {.status = statuses[how % 8],
                               .body = {body, text.len - (text.len > 0)},
                               .content_type = "",
                               .etag = how & 8 ? body : "",
                               .warning = "",
                               .cert = how & 16 ? &cert : NULL};

    cert.n_names = how >> 5 & 1 ? 2 : 0;
    if (q->stream && resp.status == 200)
        ek_probe_session_data(session, q->id, resp.body.p, resp.body.len);
    if (resp.status != 200 && resp.status != 304)
        ek_err_set(&err, resp.status ? EK_E_SERVER : EK_E_REFUSED, "failed");
    ek_probe_session_answer(session, q->id, &resp, err.code ? &err : NULL);
}

static void check(const struct ek_probe *probe)
{
    const struct ek_discovery_entry *e;
    size_t n = 0;

    for (size_t i = 1; i < probe->n_gates; i++)
        fuzz_require(strcmp(probe->gates[i - 1].name, probe->gates[i].name) <= 0);
    fuzz_require((probe->reach.good_at_ms == EK_TIME_UNSET) <= (probe->reach.error.code != 0));
    if (!probe->discovery)
        return;
    e = ek_discovery_entries(probe->discovery, &n);
    for (size_t i = 0; i < n; i++)
        fuzz_require(ek_discovery_has(probe->discovery, e[i].group, e[i].version, e[i].resource));
}

static struct ek_probe *play(const char *component, const struct ek_probe *previous, int64_t now_ms,
                             struct answers *answers)
{
    struct ek_probe_session *session = ek_probe_session_new(component, previous, !previous, now_ms);
    struct ek_probe_question question;
    size_t n = 0;

    while (ek_probe_session_next(session, &question)) {
        answer(session, &question, take(answers));
        fuzz_require(++n < QUESTIONS_MAX);
    }
    fuzz_require(ek_probe_session_is_over(session));
    struct ek_probe *probe = ek_probe_session_finish(session);
    ek_probe_session_free(session);
    check(probe);
    return probe;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct answers answers = {(const char *)data, size, 1};

    if (size < 2)
        return 0;
    const char *component = data[0] % 4 ? "kube-apiserver" : "kube-scheduler";
    struct ek_probe *first = play(component, NULL, 1000, &answers);
    struct ek_probe *second = play(component, first, 2000, &answers);
    ek_probe_unref(first);
    ek_probe_unref(second);
    return 0;
}
