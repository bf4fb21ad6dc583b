/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/probe/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/promtext.h"
#include "informers/probe/metrics.h"

#define V2     "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
#define V2BETA "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"

/* Best first; "nopeer" requests what the server serves itself, without what it could proxy
 * (KEP-4020). Older servers ignore the profile, then the version, and answer what they know
 * (apiserver/pkg/endpoints/discovery/aggregated/negotiation.go). */
#define ACCEPT_DISCOVERY V2 ";profile=nopeer," V2 "," V2BETA ",application/json"

#define LEGACY_PATHS_MAX 500
#define KIB              ((size_t)1024)
#define DOCUMENT_MAX     (32 * KIB * KIB)

/* The fixed questions; legacy group version lists follow with ids from Q_LEGACY on. */
enum question {
    Q_VERSION,
    Q_READYZ,
    Q_API,
    Q_APIS,
    Q_OPENAPI,
    Q_METRICS,
    Q_FLAGZ,
    Q_LEGACY,
};

enum question_state {
    UNASKED,
    ASKED,
    ANSWERED,
    NEVER, /* not part of this round */
};

static const struct {
    const char *path, *accept;
    size_t max_body;
    bool stream;
} questions[Q_LEGACY] = {
    [Q_VERSION] = {"/version", "application/json", 64 * KIB, false},
    [Q_READYZ] = {"/readyz?verbose=1", "*/*", 256 * KIB, false},
    [Q_API] = {"/api", ACCEPT_DISCOVERY, DOCUMENT_MAX, false},
    [Q_APIS] = {"/apis", ACCEPT_DISCOVERY, DOCUMENT_MAX, false},
    /* The smallest OpenAPI document; every one of them carries info.version. */
    [Q_OPENAPI] = {"/openapi/v3/version", "application/json", 1024 * KIB, false},
    [Q_METRICS] = {"/metrics", "text/plain", 0, true},
    /* Since 1.36 (component-base/zpages/flagz); the plain text has no fixed form. */
    [Q_FLAGZ] = {"/flagz", "application/json;v=v1beta1;g=config.k8s.io;as=Flagz", 1024 * KIB,
                 false},
};

struct ek_probe_session {
    const struct ek_probe *previous; /* a reference, may be NULL */
    struct ek_probe *next;           /* being built */
    bool apiserver;
    bool full;
    int64_t now_ms;
    enum question_state state[Q_LEGACY];
    int outstanding;
    struct ek_promtext metrics;
    struct ek_err reach_error; /* transport failure of any question */
    bool reached;

    struct ek_discovery *discovery; /* being built */
    bool discovery_failed, discovery_changed;
    struct ek_api_groups *core, *groups; /* the same, whole; NULL while not known */
    struct ek_api_legacy *plain;         /* of a server that gives plain lists; else NULL */
    char *legacy[LEGACY_PATHS_MAX];      /* owned paths */
    int n_legacy, next_legacy;
};

static void copy_answers(struct ek_probe *to, const struct ek_probe *from)
{
    to->reach = from->reach;
    to->proven = from->proven;
    to->version_answer = from->version_answer;
    memcpy(to->git_version, from->git_version, sizeof to->git_version);
    to->binary = from->binary;
    to->emulation = from->emulation;
    to->min_compat = from->min_compat;
    to->ready_answer = from->ready_answer;
    to->ready = from->ready;
    memcpy(to->not_ready, from->not_ready, sizeof to->not_ready);
    to->openapi_answer = from->openapi_answer;
    to->openapi = from->openapi;
    to->metrics_answer = from->metrics_answer;
    to->discovery_answer = from->discovery_answer;
    to->discovery_form = from->discovery_form;
    memcpy(to->cert_fingerprint, from->cert_fingerprint, sizeof to->cert_fingerprint);
    to->cert_not_after_ms = from->cert_not_after_ms;
}

static void copy_cert_names(struct ek_probe *to, const char *const *names, size_t n)
{
    for (size_t i = 0; i < to->n_cert_names; i++)
        ek_free(to->cert_names[i]);
    ek_free(to->cert_names);
    to->cert_names = n ? ek_xalloc(n * sizeof *to->cert_names) : NULL;
    to->n_cert_names = n;
    for (size_t i = 0; i < n; i++)
        to->cert_names[i] = ek_xstrdup(names[i]);
}

struct ek_probe_session *ek_probe_session_new(const char *component,
                                              const struct ek_probe *previous, bool full,
                                              int64_t now_ms)
{
    struct ek_probe_session *session = ek_xalloc(sizeof *session);
    bool apiserver = !strcmp(component, "kube-apiserver");

    session->previous = ek_probe_ref(previous);
    session->next = ek_probe_new();
    session->now_ms = now_ms;
    session->apiserver = apiserver;
    session->full = full || !previous || !apiserver;
    session->discovery = ek_discovery_new();
    if (previous) {
        copy_answers(session->next, previous);
        copy_cert_names(session->next, (const char *const *)previous->cert_names,
                        previous->n_cert_names);
    }
    for (int q = 0; q < Q_LEGACY; q++)
        session->state[q] = (apiserver && q != Q_FLAGZ) || q == Q_METRICS ? UNASKED : NEVER;
    ek_promtext_init(&session->metrics, ek_probe_metrics, ek_probe_metrics_take, session->next);
    return session;
}

void ek_probe_session_free(struct ek_probe_session *session)
{
    if (!session)
        return;
    ek_probe_unref((struct ek_probe *)(uintptr_t)session->previous);
    ek_probe_unref(session->next);
    ek_discovery_free(session->discovery);
    ek_api_groups_unref(session->core);
    ek_api_groups_unref(session->groups);
    ek_api_legacy_free(session->plain);
    ek_promtext_done(&session->metrics);
    for (int i = 0; i < session->n_legacy; i++)
        ek_free(session->legacy[i]);
    ek_free(session);
}

void ek_probe_session_documents_only(struct ek_probe_session *session)
{
    session->state[Q_OPENAPI] = session->state[Q_METRICS] = NEVER;
}

void ek_probe_session_ask_flagz(struct ek_probe_session *session)
{
    session->state[Q_FLAGZ] = session->apiserver ? UNASKED : NEVER;
}

static bool was_legacy(const struct ek_probe *previous)
{
    return previous && previous->discovery && previous->discovery_form == EK_DISCOVERY_LEGACY;
}

/* Failed, and may go better next time; what is too large or cannot be read stays so. */
static bool may_recover(const struct ek_probe_answer *answer)
{
    int code = answer->error.code;
    return code && code != EK_E_LIMIT && code != EK_E_PARSE;
}

/* The costly questions wait for the cheap ones, which decide whether they are needed. Legacy
 * discovery is costly: it has no tags and takes a request per group version. A failed request is
 * repeated in each round, so that a short failure is not reported for minutes. */
static bool may_ask(const struct ek_probe_session *session, int q)
{
    const struct ek_probe *previous = session->previous;

    if (session->full)
        return true;
    if (q == Q_API || q == Q_APIS)
        return !was_legacy(previous) || may_recover(&previous->discovery_answer);
    if (q == Q_OPENAPI || q == Q_METRICS)
        return may_recover(q == Q_OPENAPI ? &previous->openapi_answer : &previous->metrics_answer);
    return true;
}

static const char *etag_of(const struct ek_probe_session *session, int q)
{
    if (!session->previous || !session->previous->discovery)
        return NULL;
    const char *etag = q == Q_API    ? session->previous->api_etag
                       : q == Q_APIS ? session->previous->apis_etag
                                     : "";
    return *etag ? etag : NULL;
}

bool ek_probe_session_next(struct ek_probe_session *session, struct ek_probe_question *ret_question)
{
    for (int q = 0; q < Q_LEGACY; q++) {
        if (session->state[q] != UNASKED || !may_ask(session, q))
            continue;
        session->state[q] = ASKED;
        session->outstanding++;
        *ret_question = (struct ek_probe_question){.id = q,
                                                   .path = questions[q].path,
                                                   .accept = questions[q].accept,
                                                   .etag = etag_of(session, q),
                                                   .stream = questions[q].stream,
                                                   .max_body = questions[q].max_body};
        return true;
    }
    if (session->next_legacy == session->n_legacy)
        return false;
    session->outstanding++;
    *ret_question = (struct ek_probe_question){.id = Q_LEGACY + session->next_legacy,
                                               .path = session->legacy[session->next_legacy],
                                               .accept = "application/json",
                                               .max_body = DOCUMENT_MAX};
    session->next_legacy++;
    return true;
}

int ek_probe_session_data(struct ek_probe_session *session, int id, const char *data, size_t len)
{
    return id == Q_METRICS ? ek_promtext_feed(&session->metrics, data, len) : 0;
}

/* Notes the outcome of one question; true when it was good. */
static bool note(struct ek_probe_session *session, struct ek_probe_answer *answer,
                 const struct ek_err *err)
{
    answer->tried_at_ms = session->now_ms;
    if (err) {
        answer->error = *err;
        if (answer->failing_at_ms == EK_TIME_UNSET)
            answer->failing_at_ms = session->now_ms;
        return false;
    }
    *answer = (struct ek_probe_answer){.good_at_ms = session->now_ms,
                                       .tried_at_ms = session->now_ms,
                                       .failing_at_ms = EK_TIME_UNSET};
    return true;
}

static yyjson_doc *parse_body(const struct ek_response *resp, const char *what,
                              struct ek_err *ret_err)
{
    yyjson_doc *doc = ek_json_parse(resp->body.p ? resp->body.p : "", resp->body.len, ret_err);
    if (!doc)
        ek_err_prefix(ret_err, "%s", what);
    return doc;
}

/* Both known, and not equal. */
static bool differ(struct ek_minor a, struct ek_minor b)
{
    return a.known && b.known && ek_minor_cmp(a, b) != 0;
}

static void read_version(struct ek_probe_session *session, yyjson_val *root)
{
    struct ek_probe *next = session->next;
    const struct ek_probe *previous = session->previous;
    const char *git = ek_json_str(root, "gitVersion", NULL);
    char before[sizeof next->git_version];
    struct ek_minor ev = next->emulation;

    memcpy(before, next->git_version, sizeof before);
    snprintf(next->git_version, sizeof next->git_version, "%s", git ? git : "");
    next->binary =
        ek_minor_from_fields(ek_json_str(root, "major", NULL), ek_json_str(root, "minor", NULL));
    if (!next->binary.known)
        next->binary = ek_minor_parse(next->git_version);
    next->emulation = ek_minor_from_fields(ek_json_str(root, "emulationMajor", NULL),
                                           ek_json_str(root, "emulationMinor", NULL));
    next->min_compat = ek_minor_from_fields(ek_json_str(root, "minCompatibilityMajor", NULL),
                                            ek_json_str(root, "minCompatibilityMinor", NULL));
    /* A restart at another version: gates and OpenAPI are stale at once. What was kept and does not
     * fit is read again, too: it may be of the process of before. */
    if (strcmp(before, next->git_version) != 0 || ev.known != next->emulation.known ||
        differ(ev, next->emulation) || differ(next->emulation, next->openapi) ||
        (previous && (differ(next->emulation, previous->info_emulation) ||
                      differ(next->min_compat, previous->info_min_compat))))
        session->full = true;
}

static void answer_version(struct ek_probe_session *session, const struct ek_response *resp,
                           const struct ek_err *err)
{
    struct ek_err local = {0};
    yyjson_doc *doc = err ? NULL : parse_body(resp, "/version", &local);

    if (doc && !yyjson_is_obj(yyjson_doc_get_root(doc)))
        ek_err_set(&local, EK_E_PARSE, "/version: not a JSON object");
    if (!err && local.code)
        err = &local;
    if (note(session, &session->next->version_answer, err))
        read_version(session, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
}

/* Collects the names of the failing checks, "[-]etcd failed: ..." lines. */
static void read_failing(const struct ek_response *resp, char *out, size_t size)
{
    const char *p = resp->body.p, *end = p + resp->body.len;
    size_t used = 0;

    out[0] = '\0';
    while (p && p < end) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t len = eol ? (size_t)(eol - p) : (size_t)(end - p);
        if (len > 3 && !memcmp(p, "[-]", 3)) {
            size_t n = 0;
            while (n < len - 3 && p[3 + n] > ' ' && p[3 + n] < 0x7f)
                n++;
            int w = snprintf(out + used, size - used, "%s%.*s", used ? ", " : "", (int)n, p + 3);
            if (w < 0 || (size_t)w >= size - used)
                return;
            used += (size_t)w;
        }
        p = eol ? eol + 1 : end;
    }
}

static void answer_readyz(struct ek_probe_session *session, const struct ek_response *resp,
                          const struct ek_err *err)
{
    struct ek_probe *next = session->next;
    /* 500 is an answer too: it says "not ready". 401 and 403 are not. */
    bool answered = !err || (resp && (resp->status == 500 || resp->status == 503));

    if (!note(session, &next->ready_answer, answered ? NULL : err))
        return;
    next->ready = !err;
    next->not_ready[0] = '\0';
    if (err)
        read_failing(resp, next->not_ready, sizeof next->not_ready);
}

static void answer_openapi(struct ek_probe_session *session, const struct ek_response *resp,
                           const struct ek_err *err)
{
    struct ek_err local = {0};
    yyjson_doc *doc = err ? NULL : parse_body(resp, "/openapi/v3", &local);

    if (!err && local.code)
        err = &local;
    if (note(session, &session->next->openapi_answer, err))
        session->next->openapi =
            ek_minor_parse(ek_json_str(yyjson_doc_get_root(doc), "info", "version", NULL));
    yyjson_doc_free(doc);
}

static void answer_metrics(struct ek_probe_session *session, const struct ek_err *err)
{
    ek_promtext_finish(&session->metrics);
    if (note(session, &session->next->metrics_answer, err))
        return;
    /* Half a page is no page. */
    ek_probe_clear_metrics(session->next);
    if (session->previous)
        ek_probe_metrics_copy(session->next, session->previous);
}

/* Takes the map of names and printed values. */
static void read_flagz(struct ek_probe *probe, yyjson_val *flags)
{
    yyjson_val *name, *value;
    size_t i, n;

    probe->flagz = ek_xalloc((yyjson_obj_size(flags) + 1) * sizeof *probe->flagz);
    ek_json_each_member(flags, i, n, name, value)
    {
        if (yyjson_is_str(value))
            probe->flagz[probe->n_flagz++] =
                ek_xasprintf("--%s=%s", yyjson_get_str(name), yyjson_get_str(value));
    }
}

static void answer_flagz(struct ek_probe_session *session, const struct ek_response *resp,
                         const struct ek_err *err)
{
    struct ek_err local = {0};
    yyjson_doc *doc = err ? NULL : parse_body(resp, "/flagz", &local);
    yyjson_val *flags = yyjson_obj_get(yyjson_doc_get_root(doc), "flags");

    if (doc && !yyjson_is_obj(flags))
        ek_err_set(&local, EK_E_PARSE, "/flagz: the response has no flags");
    if (!err && local.code)
        err = &local;
    if (note(session, &session->next->flagz_answer, err))
        read_flagz(session->next, flags);
    yyjson_doc_free(doc);
}

static void on_legacy_path(void *ctx, const char *path)
{
    struct ek_probe_session *session = ctx;
    if (session->n_legacy < LEGACY_PATHS_MAX)
        session->legacy[session->n_legacy++] = ek_xstrdup(path);
}

/* The place of a document: the answer to /api or to /apis. */
static struct ek_api_groups **whole_of(struct ek_probe_session *session, int q)
{
    return q == Q_API ? &session->core : &session->groups;
}

/* A server without aggregated discovery: its lists come one by one. */
static int read_plain(struct ek_probe_session *session, yyjson_val *root, struct ek_err *err)
{
    if (!session->plain)
        session->plain = ek_api_legacy_new();
    int rc = ek_discovery_legacy_paths(root, on_legacy_path, session, err);
    return rc ? rc : ek_api_legacy_add_index(session->plain, root, err);
}

static int read_discovery(struct ek_probe_session *session, const struct ek_response *resp, int q,
                          struct ek_err *err)
{
    yyjson_doc *doc = parse_body(resp, questions[q].path, err);
    if (!doc)
        return err->code;
    yyjson_val *root = yyjson_doc_get_root(doc);
    enum ek_discovery_form form = EK_DISCOVERY_LEGACY;
    struct ek_api_groups **whole = whole_of(session, q);
    int rc = ek_discovery_add_aggregated(session->discovery, root, &form, err);
    if (rc == EK_E_UNSUPPORTED) {
        rc = read_plain(session, root, err);
    } else if (!rc) {
        *whole = ek_api_groups_read(root, form, err);
        rc = *whole ? 0 : err->code;
    }
    if (!rc)
        session->next->discovery_form = form;
    yyjson_doc_free(doc);
    return rc;
}

static void discovery_failed(struct ek_probe_session *session, const struct ek_err *err)
{
    session->discovery_failed = true;
    note(session, &session->next->discovery_answer, err);
}

static void answer_discovery(struct ek_probe_session *session, int q,
                             const struct ek_response *resp, const struct ek_err *err)
{
    char *etag = q == Q_API ? session->next->api_etag : session->next->apis_etag;
    const size_t etag_size = sizeof session->next->api_etag;
    struct ek_err local = {0};
    int rc;

    if (err) {
        discovery_failed(session, err);
        return;
    }
    if (resp->status == 304 && session->previous && session->previous->discovery) {
        rc = ek_discovery_add_from(session->discovery, session->previous->discovery, q == Q_API,
                                   &local);
        *whole_of(session, q) =
            ek_api_groups_ref(q == Q_API ? session->previous->core : session->previous->groups);
        snprintf(etag, etag_size, "%s", etag_of(session, q));
    } else {
        /* Without tags a change cannot be detected cheaply; the next full round detects it. */
        const char *before = etag_of(session, q);
        if (*resp->etag && (!before || strcmp(resp->etag, before) != 0))
            session->discovery_changed = true;
        rc = read_discovery(session, resp, q, &local);
        /* A tag that does not fit would be no tag at all. */
        snprintf(etag, etag_size, "%s", strlen(resp->etag) < etag_size ? resp->etag : "");
        if (session->next->discovery_form == EK_DISCOVERY_LEGACY)
            etag[0] = '\0';
    }
    if (rc)
        discovery_failed(session, &local);
}

static void answer_legacy(struct ek_probe_session *session, const struct ek_response *resp,
                          const struct ek_err *err)
{
    struct ek_err local = {0};

    /* The group list comes from APIService objects and may name what this server does not serve:
     * a 404 then is the answer, not a failure. */
    if (err && resp && resp->status == 404)
        return;
    if (err) {
        discovery_failed(session, err);
        return;
    }
    yyjson_doc *doc = parse_body(resp, "discovery", &local);
    if (!doc ||
        ek_discovery_add_resource_list(session->discovery, yyjson_doc_get_root(doc), &local) ||
        ek_api_legacy_add_resources(session->plain, yyjson_doc_get_root(doc), &local))
        discovery_failed(session, &local);
    yyjson_doc_free(doc);
}

static void note_reach(struct ek_probe_session *session, const struct ek_response *resp,
                       const struct ek_err *err)
{
    if (resp && resp->status > 0) {
        session->reached = true;
        /* A server that was away may be another process now: its gates and OpenAPI are read again.
         */
        if (session->previous && session->previous->reach.error.code)
            session->full = true;
    } else if (err && !session->reach_error.code) {
        session->reach_error = *err;
    }
    if (!resp || !resp->cert)
        return;
    struct ek_probe *next = session->next;
    /* The prober has an API server verified by that name, and others by their address. */
    next->proven = session->apiserver && resp->cert->verified;
    snprintf(next->cert_fingerprint, sizeof next->cert_fingerprint, "%s", resp->cert->fingerprint);
    next->cert_not_after_ms = resp->cert->not_after_ms;
    copy_cert_names(next, resp->cert->names, resp->cert->n_names);
}

void ek_probe_session_answer(struct ek_probe_session *session, int id,
                             const struct ek_response *resp, const struct ek_err *err)
{
    session->outstanding--;
    if (id < Q_LEGACY)
        session->state[id] = ANSWERED;
    note_reach(session, resp, err);
    switch (id) {
    case Q_VERSION:
        answer_version(session, resp, err);
        break;
    case Q_READYZ:
        answer_readyz(session, resp, err);
        break;
    case Q_API:
    case Q_APIS:
        answer_discovery(session, id, resp, err);
        break;
    case Q_OPENAPI:
        answer_openapi(session, resp, err);
        break;
    case Q_METRICS:
        answer_metrics(session, err);
        break;
    case Q_FLAGZ:
        answer_flagz(session, resp, err);
        break;
    default:
        answer_legacy(session, resp, err);
        break;
    }
    if (session->discovery_changed && session->previous && session->previous->discovery)
        session->full = true;
}

void ek_probe_session_no_token(struct ek_probe_session *session, const struct ek_err *err)
{
    const struct ek_err failure = *err;
    struct ek_probe_question question;

    while (ek_probe_session_next(session, &question))
        ek_probe_session_answer(session, question.id, NULL, &failure);
    session->next->no_token = true;
}

bool ek_probe_session_is_over(const struct ek_probe_session *session)
{
    if (session->outstanding > 0 || session->next_legacy < session->n_legacy)
        return false;
    for (int q = 0; q < Q_LEGACY; q++)
        if (session->state[q] == UNASKED && may_ask(session, q))
            return false;
    return true;
}

/* Half a document would look like resources that vanished: the old one stays, whole. */
static void keep_discovery(struct ek_probe *next, const struct ek_probe *previous)
{
    next->api_etag[0] = next->apis_etag[0] = '\0';
    if (!previous || !previous->discovery)
        return;
    next->discovery = ek_discovery_new();
    ek_discovery_add_from(next->discovery, previous->discovery, true, NULL);
    ek_discovery_add_from(next->discovery, previous->discovery, false, NULL);
    ek_discovery_seal(next->discovery);
    next->discovery_form = previous->discovery_form;
    next->core = ek_api_groups_ref(previous->core);
    next->groups = ek_api_groups_ref(previous->groups);
    memcpy(next->api_etag, previous->api_etag, sizeof next->api_etag);
    memcpy(next->apis_etag, previous->apis_etag, sizeof next->apis_etag);
}

/* Makes documents of plain lists; what is missing then fails the round's discovery. */
static void finish_documents(struct ek_probe_session *session)
{
    struct ek_err err = {0};

    for (int q = Q_API; session->plain && q <= Q_APIS && !session->discovery_failed; q++) {
        struct ek_api_groups **whole = whole_of(session, q);
        if (!*whole)
            *whole = ek_api_legacy_finish(session->plain, q == Q_API, &err);
        if (!*whole)
            discovery_failed(session, &err);
    }
}

static void finish_discovery(struct ek_probe_session *session)
{
    struct ek_probe *next = session->next;

    if (session->state[Q_API] == NEVER)
        return;
    if (session->state[Q_API] == UNASKED) {
        keep_discovery(next, session->previous);
        return;
    }
    finish_documents(session);
    if (session->discovery_failed) {
        keep_discovery(next, session->previous);
        return;
    }
    ek_discovery_seal(session->discovery);
    next->discovery = session->discovery;
    next->core = session->core;
    next->groups = session->groups;
    session->discovery = NULL;
    session->core = session->groups = NULL;
    note(session, &next->discovery_answer, NULL);
}

/* What a server that is back did not answer anew. */
static void mark_outdated(struct ek_probe_session *session)
{
    struct ek_probe *next = session->next;
    struct ek_probe_answer *const answers[] = {&next->version_answer, &next->ready_answer,
                                               &next->openapi_answer, &next->metrics_answer,
                                               &next->discovery_answer};

    if (!session->reached || !session->previous || !session->previous->reach.error.code)
        return;
    for (size_t i = 0; i < EK_ARRAY_SIZE(answers); i++)
        if (answers[i]->good_at_ms != session->now_ms)
            answers[i]->outdated = true;
}

static int compare_gates(const void *a, const void *b)
{
    const struct ek_feature_gate *x = a, *y = b;
    return strcmp(x->name, y->name);
}

struct ek_probe *ek_probe_session_finish(struct ek_probe_session *session)
{
    struct ek_probe *next = session->next;

    finish_discovery(session);
    mark_outdated(session);
    if (session->state[Q_METRICS] == UNASKED && session->previous)
        ek_probe_metrics_copy(next, session->previous);
    if (next->n_gates)
        qsort(next->gates, next->n_gates, sizeof *next->gates, compare_gates);
    note(session, &next->reach, session->reached ? NULL : &session->reach_error);
    session->next = NULL;
    return next;
}
