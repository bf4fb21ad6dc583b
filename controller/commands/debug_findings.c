/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/base/time.h"
#include "controller/commands/debug_report.h"

#define RUN_TOO_LONG_MS       30000
#define ELECTION_TROUBLE_MS   30000 /* a failed request younger than this is news */
#define CERTIFICATE_SOON_MS   (INT64_C(7) * 24 * 3600 * 1000)
#define TURN_TOO_LONG_MS      1000
#define FILES_NEARLY_ALL(max) ((max) - (max) / 10)

struct findings {
    yyjson_val *answer;
    const char *now;
    struct ek_buf *out;
    size_t n;
};

static const char *str(yyjson_val *v, const char *name)
{
    const char *s = ek_json_str(v, name, NULL);
    return s ? s : "";
}

static bool is_true(yyjson_val *v, const char *name)
{
    return yyjson_get_bool(yyjson_obj_get(v, name));
}

static bool is_false(yyjson_val *v, const char *name)
{
    return yyjson_is_false(yyjson_obj_get(v, name));
}

static uint64_t count(yyjson_val *v, const char *name)
{
    return yyjson_get_uint(yyjson_obj_get(v, name));
}

/* Milliseconds since a time of the answer; -1 when it is not there. */
static int64_t since(const struct findings *f, yyjson_val *v, const char *name)
{
    int64_t now = ek_time_parse(f->now), then = ek_time_parse(str(v, name));

    if (now == EK_TIME_UNSET || then == EK_TIME_UNSET)
        return -1;
    return now > then ? now - then : 0;
}

const char *ek_debug_age(const char *from, const char *to, char *buf, size_t size)
{
    int64_t a = ek_time_parse(from), b = ek_time_parse(to);
    char human[EK_TIME_SIZE];

    if (a == EK_TIME_UNSET || b == EK_TIME_UNSET)
        snprintf(buf, size, "-");
    else
        snprintf(buf, size, "%s", ek_duration_human(b - a, human));
    return buf;
}

static const char *age(const struct findings *f, yyjson_val *v, const char *name, char *buf)
{
    return ek_debug_age(str(v, name), f->now, buf, EK_TIME_SIZE);
}

/* One line; texts from outside are escaped, so that it stays one. */
static void __attribute__((format(printf, 2, 3))) find(struct findings *f, const char *fmt, ...)
{
    va_list args;
    char text[2048];

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    ek_quote_printf(f->out, "- %s\n", text);
    f->n++;
}

/* --- manager and process ------------------------------------------------------------------ */

static void judge_manager(struct findings *f)
{
    yyjson_val *manager = yyjson_obj_get(f->answer, "manager"), *part;
    yyjson_val *error = yyjson_obj_get(manager, "error");
    const char *phase = str(manager, "phase");
    size_t i, n;

    if (error)
        find(f, "the manager is ending: %s", str(error, "message"));
    else if (!strcmp(phase, "stopping") || !strcmp(phase, "releasing"))
        find(f, "the manager is %s", phase);
    yyjson_arr_foreach(yyjson_obj_get(manager, "parts"), i, n, part)
    {
        const char *state = str(part, "state");
        if (!strcmp(state, "not ready") || !strcmp(state, "stopping"))
            find(f, "manager: \"%s\" is %s", str(part, "name"), state);
    }
}

static void judge_process(struct findings *f)
{
    yyjson_val *process = yyjson_obj_get(f->answer, "process");
    yyjson_val *loop = yyjson_obj_get(process, "loop");
    uint64_t files = count(process, "openFiles"), max = count(process, "maxFiles");
    char buf[EK_TIME_SIZE];

    if (max && files >= FILES_NEARLY_ALL(max))
        find(f, "process: %" PRIu64 " of %" PRIu64 " file descriptors are in use", files, max);
    if (count(loop, "longestTurnMs") >= TURN_TOO_LONG_MS)
        find(f, "process: the event loop was busy for %" PRIu64 " ms at a stretch, %s ago",
             count(loop, "longestTurnMs"), age(f, loop, "longestTurnTime", buf));
    yyjson_val *log = yyjson_obj_get(f->answer, "log");
    if (count(log, "droppedLines"))
        find(f, "log: %" PRIu64 " lines were lost because the reader of the log is stuck",
             count(log, "droppedLines"));
}

/* --- leader ------------------------------------------------------------------------------- */

static void judge_leader(struct findings *f)
{
    yyjson_val *leader = yyjson_obj_get(f->answer, "leader");
    yyjson_val *failure = yyjson_obj_get(leader, "lastFailure");
    int64_t failed_ms = since(f, leader, "lastFailureTime");
    char buf[EK_TIME_SIZE];

    if (!is_true(leader, "election"))
        return;
    if (is_true(leader, "lost"))
        find(f, "leader: the lease was lost");
    if (failure && failed_ms >= 0 && failed_ms < ELECTION_TROUBLE_MS)
        find(f, "leader: a request for the lease failed %s ago (%" PRIu64 " so far): %s",
             age(f, leader, "lastFailureTime", buf), count(leader, "failures"),
             str(failure, "message"));
    if (!is_true(leader, "leads") && !*str(leader, "holder") &&
        strcmp(str(leader, "state"), "idle") != 0)
        find(f, "leader: no replica is known to hold the lease: no replica writes");
    if (is_true(leader, "leads") && is_false(leader, "mayWrite"))
        find(f, "leader: this replica leads but may not write");
}

/* --- informers ---------------------------------------------------------------------------- */

#define BY_NAME "metadata.name="
#define OWN     ".evenkeel.dev"

/* A kind of ours whose CustomResourceDefinition was looked for by name, and is not there. */
static void judge_definition(struct findings *f, yyjson_val *informer)
{
    const char *selector = str(informer, "fieldSelector");
    size_t len = strlen(selector);

    if (strcmp(str(informer, "resource"), "customresourcedefinitions") != 0 ||
        strncmp(selector, BY_NAME, sizeof BY_NAME - 1) != 0 || len < sizeof OWN - 1 ||
        strcmp(selector + len - (sizeof OWN - 1), OWN) != 0)
        return;
    if (is_true(informer, "synced") && is_true(informer, "served") &&
        count(informer, "objects") == 0)
        find(f, "%s: the CustomResourceDefinition is missing: install it (kubectl apply -k deploy)",
             selector + sizeof BY_NAME - 1);
}

static void judge_informer(struct findings *f, yyjson_val *informer)
{
    yyjson_val *error = yyjson_obj_get(informer, "error");
    const char *namespace = str(informer, "namespace");
    char what[256], in_state[EK_TIME_SIZE], next[EK_TIME_SIZE];

    snprintf(what, sizeof what, "%s%s%s", str(informer, "resource"), *namespace ? " in " : "",
             namespace);
    if (!error) {
        judge_definition(f, informer);
        if (is_false(informer, "synced"))
            find(f, "%s: not listed yet, %s for %s", what, str(informer, "state"),
                 age(f, informer, "since", in_state));
        return;
    }
    find(f, "%s: %s%s; %s for %s, next try in %s%s", what, str(error, "message"),
         is_false(informer, "synced") ? " (never listed)" : " (cached objects are not updated)",
         str(informer, "state"), age(f, informer, "since", in_state),
         ek_debug_age(f->now, str(informer, "nextTryTime"), next, sizeof next),
         strcmp(str(error, "reason"), "forbidden") != 0
             ? ""
             : ": grant list and watch to the controller's user");
}

static const char *error_reason(yyjson_val *informer)
{
    return str(yyjson_obj_get(informer, "error"), "reason");
}

/* When all fail alike it is not about resources, and one line says more than ten. Those that the
 * cluster does not serve ask seldom, and do not count. Returns how many do, and *ret_first. */
static size_t all_fail_alike(yyjson_val *informers, yyjson_val **ret_first)
{
    yyjson_val *first = NULL, *v;
    size_t i, n, n_alike = 0;

    yyjson_arr_foreach(informers, i, n, v)
    {
        if (is_false(v, "served"))
            continue;
        first = first ? first : v;
        if (!*error_reason(v) || strcmp(error_reason(v), error_reason(first)) != 0)
            return 0;
        n_alike++;
    }
    *ret_first = first;
    return n_alike > 1 ? n_alike : 0;
}

static void judge_informers(struct findings *f)
{
    yyjson_val *informers = yyjson_obj_get(f->answer, "informers"), *v;
    size_t i, n, n_alike = all_fail_alike(informers, &v);

    if (n_alike) {
        find(f, "all %zu informers fail, so the caches are not updated: %s", n_alike,
             str(yyjson_obj_get(v, "error"), "message"));
        return;
    }
    yyjson_arr_foreach(informers, i, n, v)
    {
        judge_informer(f, v);
    }
}

/* --- queue -------------------------------------------------------------------------------- */

/* The newest run of a key that ended in an error. */
static const char *last_error(yyjson_val *queue, const char *key)
{
    yyjson_val *run;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(queue, "runs"), i, n, run)
    {
        const char *message = ek_json_str(run, "error", "message", NULL);
        if (message && !strcmp(str(run, "key"), key))
            return message;
    }
    return "see the log";
}

static void judge_key(struct findings *f, yyjson_val *queue, yyjson_val *key)
{
    const char *whose = str(queue, "controller"), *name = str(key, "key");
    char buf[EK_TIME_SIZE];

    if (count(key, "requeues"))
        find(f, "%s: \"%s\" failed %" PRIu64 " times in a row, next try in %s: %s", whose, name,
             count(key, "requeues"), ek_debug_age(f->now, str(key, "dueTime"), buf, sizeof buf),
             last_error(queue, name));
    if (since(f, key, "processingSince") >= RUN_TOO_LONG_MS)
        find(f, "%s: \"%s\" has been reconciled for %s", whose, name,
             age(f, key, "processingSince", buf));
    if (since(f, key, "readySince") >= RUN_TOO_LONG_MS)
        find(f, "%s: \"%s\" has waited for a worker for %s", whose, name,
             age(f, key, "readySince", buf));
}

static void judge_queues(struct findings *f)
{
    yyjson_val *queue, *key;
    size_t i, n, k, n_keys;

    yyjson_arr_foreach(yyjson_obj_get(f->answer, "queues"), i, n, queue)
    {
        yyjson_arr_foreach(yyjson_obj_get(queue, "keys"), k, n_keys, key)
        {
            judge_key(f, queue, key);
        }
    }
}

/* --- probe targets ------------------------------------------------------------------------ */

static void judge_questions(struct findings *f, const char *who, yyjson_val *answers)
{
    yyjson_val *name, *question;
    size_t i, n;

    ek_json_each_member(answers, i, n, name, question)
    {
        const char *message = ek_json_str(question, "error", "message", NULL);
        if (message && strcmp(yyjson_get_str(name), "reach") != 0)
            find(f, "%s: no answer about %s: %s", who, yyjson_get_str(name), message);
    }
}

static void judge_certificate(struct findings *f, const char *whose, yyjson_val *certificate)
{
    const char *end = ek_json_str(certificate, "notAfter", NULL);
    int64_t now = ek_time_parse(f->now), at = ek_time_parse(end);
    char human[EK_TIME_SIZE];

    if (now == EK_TIME_UNSET || at == EK_TIME_UNSET || at - now > CERTIFICATE_SOON_MS)
        return;
    if (at <= now)
        find(f, "%s expired %s ago", whose, ek_duration_human(now - at, human));
    else
        find(f, "%s expires in %s", whose, ek_duration_human(at - now, human));
}

/* One that has ended is no fault; one that lives holds answers back. */
static void judge_unprobed(struct findings *f, yyjson_val *peer)
{
    if (!strcmp(str(peer, "reason"), "NoAddress"))
        find(f, "%s %s: nothing in the cluster names its address", str(peer, "component"),
             str(peer, "name"));
}

static void judge_peer(struct findings *f, yyjson_val *peer)
{
    yyjson_val *answers = yyjson_obj_get(peer, "answers");
    yyjson_val *reach = yyjson_obj_get(answers, "reach");
    const char *message = ek_json_str(reach, "error", "message", NULL);
    char who[256], whose[288], buf[EK_TIME_SIZE];

    if (!*str(peer, "address")) {
        judge_unprobed(f, peer);
        return;
    }
    snprintf(who, sizeof who, "%s %s", str(peer, "component"), str(peer, "address"));
    if (!answers) {
        find(f, "%s: not probed yet", who);
    } else if (is_false(peer, "reachable")) {
        bool ever = *age(f, reach, "goodTime", buf) != '-';
        find(f, "%s: unreachable, %s%s%s: %s", who, ever ? "last answered " : "never answered",
             ever ? buf : "", ever ? " ago" : "", message ? message : "no answer");
    } else {
        if (is_false(peer, "ready"))
            find(f, "%s: not ready: %s", who, str(peer, "failingChecks"));
        judge_questions(f, who, answers);
        snprintf(whose, sizeof whose, "%s: its certificate", who);
        judge_certificate(f, whose, yyjson_obj_get(peer, "certificate"));
    }
}

/* --- the webhook -------------------------------------------------------------------------- */

static void judge_webhook(struct findings *f)
{
    yyjson_val *webhook = yyjson_obj_get(f->answer, "webhook"), *authority, *params;
    const char *message = ek_json_str(webhook, "error", "message", NULL);
    size_t i, n;

    if (message)
        find(f, "%s: requests are not answered", message);
    judge_certificate(f, "the webhook's certificate", yyjson_obj_get(webhook, "certificate"));
    yyjson_arr_foreach(yyjson_obj_get(webhook, "authorities"), i, n, authority)
    {
        if (is_false(authority, "readable"))
            find(f, "the webhook's authorities hold a certificate that cannot be read");
        judge_certificate(f, "an authority of the webhook's certificate", authority);
    }
    yyjson_arr_foreach(ek_json_get(webhook, "snapshot", "params", NULL), i, n, params)
    {
        if (is_false(params, "listed"))
            find(f, "the webhook: params %s %s are not listed yet: policies that use them wait",
                 str(params, "apiVersion"), str(params, "kind"));
    }
}

size_t ek_debug_findings(yyjson_val *answer, struct ek_buf *out)
{
    struct findings f = {.answer = answer, .now = str(answer, "time"), .out = out};
    yyjson_val *item;
    size_t i, n;

    judge_manager(&f);
    judge_leader(&f);
    judge_informers(&f);
    judge_queues(&f);
    judge_webhook(&f);
    yyjson_arr_foreach(yyjson_obj_get(answer, "peers"), i, n, item)
    {
        judge_peer(&f, item);
    }
    judge_process(&f);
    return f.n;
}
