/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/cache/recording.h"

#include <string.h>

#include "api/selector.h"
#include "informers/client/file.h"

#define FILE_MAX      ((size_t)256 * 1024 * 1024)
#define INSTANCES_MAX 256

struct answers {
    char *dir;
    yyjson_doc *index; /* the list, owned */
    struct answers *next;
};

struct instance {
    char *component, *address;
    struct answers *answers;
    bool unproven;          /* an API server that has not proven its identity */
    struct ek_err no_token; /* code 0: it was shown one, or needs none */
};

struct ek_recording {
    char *dir;
    struct answers *answers; /* of the cluster as a whole */
    struct instance instances[INSTANCES_MAX];
    size_t n;
    yyjson_doc *peers;
    struct ek_probe_tap tap; /* its functions are NULL where there is none */
};

static int read_json(const char *dir, const char *name, yyjson_doc **ret_doc, struct ek_err *err)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", dir, name);
    EK_AUTOFREE char *text = NULL;
    struct ek_err local = {0};
    size_t len;

    int rc = ek_file_read(path, FILE_MAX, &text, &len, err);
    if (rc)
        return rc;
    *ret_doc = ek_json_parse(text, len, &local);
    if (*ret_doc)
        return 0;
    return ek_err_set(err, local.code, "%s: %s", path, local.message);
}

/* Adds dir's index.json to the front of *list; a folder without one is EK_E_NOENT. */
static int add_answers(struct answers **list, const char *dir, struct ek_err *err)
{
    yyjson_doc *index = NULL;
    int rc = read_json(dir, "index.json", &index, err);
    if (rc)
        return rc;
    if (!yyjson_is_arr(yyjson_doc_get_root(index))) {
        yyjson_doc_free(index);
        return ek_err_set(err, EK_E_PARSE, "%s/index.json: not a list", dir);
    }
    struct answers *a = ek_xalloc(sizeof *a);
    a->dir = ek_xstrdup(dir);
    a->index = index;
    a->next = *list;
    *list = a;
    return 0;
}

static void free_answers(struct answers *list)
{
    while (list) {
        struct answers *next = list->next;
        ek_free(list->dir);
        yyjson_doc_free(list->index);
        ek_free(list);
        list = next;
    }
}

/* Reads {"kind", "message"}: a kind that is not known is an unexpected answer. */
static void read_error(yyjson_val *value, struct ek_err *ret_err)
{
    const char *message = ek_json_text(value, "message");
    int code = EK_E_HTTP;

    if (!value)
        return;
    for (int c = EK_E_INVAL; c >= EK_E_UNSUPPORTED; c--)
        if (!strcmp(ek_json_text(value, "kind"), ek_strerror(c)))
            code = c;
    ek_err_set(ret_err, code, "%s", message);
}

static int add_instance(struct ek_recording *rec, yyjson_val *entry, const char *folder,
                        const char *component, const char *address, struct ek_err *err)
{
    const char *hostname = ek_json_text(entry, "hostname");
    yyjson_val *proven = yyjson_obj_get(entry, "proven");

    EK_AUTOFREE char *dir = ek_xasprintf("%s/%s/%s", rec->dir, folder, hostname);
    EK_AUTOFREE char *discovery = ek_xasprintf("%s/discovery", dir);
    struct answers *answers = NULL;
    struct ek_err local = {0};

    if (rec->n == INSTANCES_MAX)
        return ek_err_set(err, EK_E_LIMIT, "%s: more than %d instances", rec->dir, INSTANCES_MAX);
    int rc = add_answers(&answers, dir, &local);
    if (rc == EK_E_NOENT)
        return 0; /* named, but nothing was recorded of it */
    if (!rc)
        rc = add_answers(&answers, discovery, &local);
    if (rc && rc != EK_E_NOENT) {
        free_answers(answers);
        if (err)
            *err = local;
        return rc;
    }
    struct instance *instance = &rec->instances[rec->n++];
    *instance = (struct instance){.component = ek_xstrdup(component),
                                  .address = ek_xstrdup(address),
                                  .answers = answers,
                                  .unproven = proven && !yyjson_get_bool(proven)};
    read_error(yyjson_obj_get(entry, "noToken"), &instance->no_token);
    return 0;
}

static bool safe_name(const char *s)
{
    return s && *s && *s != '.' && !strchr(s, '/');
}

static int add_instances(struct ek_recording *rec, yyjson_val *root, struct ek_err *err)
{
    yyjson_val *entry;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, "apiservers"), i, n, entry)
    {
        const char *hostname = ek_json_str(entry, "hostname", NULL);
        const char *address = ek_json_str(entry, "address", NULL);
        if (!safe_name(hostname) || !address)
            return ek_err_set(err, EK_E_PARSE,
                              "%s/peers.json: apiservers[%zu] needs hostname "
                              "and address",
                              rec->dir, i);
        int rc = add_instance(rec, entry, "peers", "kube-apiserver", address, err);
        if (rc)
            return rc;
    }
    yyjson_arr_foreach(yyjson_obj_get(root, "components"), i, n, entry)
    {
        const char *hostname = ek_json_str(entry, "hostname", NULL);
        const char *component = ek_json_str(entry, "component", NULL);
        if (!safe_name(hostname) || !component)
            return ek_err_set(err, EK_E_PARSE,
                              "%s/peers.json: components[%zu] needs hostname "
                              "and component",
                              rec->dir, i);
        EK_AUTOFREE char *name = ek_xasprintf("%s/%s", component, hostname);
        const char *address = ek_json_str(entry, "address", NULL);
        int rc = add_instance(rec, entry, "components", component, address ? address : name, err);
        if (rc)
            return rc;
    }
    return 0;
}

int ek_recording_open(const char *dir, struct ek_recording **ret_recording, struct ek_err *err)
{
    struct ek_recording *rec = ek_xalloc(sizeof *rec);
    struct ek_err local = {0};

    rec->dir = ek_xstrdup(dir);
    int rc = add_answers(&rec->answers, dir, &local);
    if (rc == EK_E_NOENT)
        ek_err_set(&local, rc, "%s: no index.json there, so it is not a recording", dir);
    if (!rc)
        rc = read_json(dir, "peers.json", &rec->peers, &local);
    if (!rc)
        rc = add_instances(rec, yyjson_doc_get_root(rec->peers), &local);
    if (rc) {
        ek_recording_close(rec);
        if (err)
            *err = local;
        return rc;
    }
    *ret_recording = rec;
    return 0;
}

void ek_recording_close(struct ek_recording *rec)
{
    if (!rec)
        return;
    free_answers(rec->answers);
    for (size_t i = 0; i < rec->n; i++) {
        ek_free(rec->instances[i].component);
        ek_free(rec->instances[i].address);
        free_answers(rec->instances[i].answers);
    }
    yyjson_doc_free(rec->peers);
    ek_free(rec->dir);
    ek_free(rec);
}

int64_t ek_recording_time(const struct ek_recording *rec)
{
    return ek_time_parse(ek_json_str(yyjson_doc_get_root(rec->peers), "time", NULL));
}

const char *ek_recording_configured(const struct ek_recording *rec)
{
    return ek_json_str(yyjson_doc_get_root(rec->peers), "configured", NULL);
}

bool ek_recording_is_probed(const struct ek_recording *rec)
{
    yyjson_val *probed = yyjson_obj_get(yyjson_doc_get_root(rec->peers), "probed");

    return !probed || yyjson_get_bool(probed);
}

void ek_recording_set_tap(struct ek_recording *rec, const struct ek_probe_tap *tap)
{
    rec->tap = *tap;
}

const char *ek_recording_component(const struct ek_recording *rec, size_t i)
{
    return rec->instances[i].component;
}

/* The entry for path whose recorded Accept is clause; an entry without one fits any. */
static yyjson_val *find_clause(const struct answers *answers, const char *path, const char *clause,
                               size_t len)
{
    yyjson_val *entry;
    size_t i, n;

    yyjson_arr_foreach(yyjson_doc_get_root(answers->index), i, n, entry)
    {
        const char *recorded_path = ek_json_str(entry, "path", NULL);
        const char *accept = ek_json_str(entry, "accept", NULL);
        if (!recorded_path || strcmp(recorded_path, path) != 0)
            continue;
        if (!accept || (strlen(accept) == len && !memcmp(accept, clause, len)))
            return entry;
    }
    return NULL;
}

/* As a server negotiates: the first clause of accept that has an answer. */
static yyjson_val *find_entry(const struct answers *list, const char *path, const char *accept,
                              const struct answers **ret_answers)
{
    for (const char *clause = accept; *clause;) {
        size_t len = strcspn(clause, ",");
        for (const struct answers *a = list; a; a = a->next) {
            yyjson_val *entry = find_clause(a, path, clause, len);
            if (entry) {
                *ret_answers = a;
                return entry;
            }
        }
        clause += len + (clause[len] == ',');
    }
    return NULL;
}

struct answer {
    struct ek_response resp;
    struct ek_err err;
    char *body; /* owned */
    struct ek_server_cert cert;
};

static void done_answer(struct answer *answer)
{
    ek_free(answer->body);
    ek_free(answer->cert.names);
}

static void take_cert(struct answer *answer, yyjson_val *value)
{
    yyjson_val *names = yyjson_obj_get(value, "names"), *name;
    struct ek_server_cert *cert = &answer->cert;
    size_t i, n;

    if (!value)
        return;
    *cert = (struct ek_server_cert){
        .fingerprint = ek_json_text(value, "fingerprint"),
        .names = ek_xalloc((yyjson_arr_size(names) + 1) * sizeof(const char *)),
        .not_after_ms = ek_time_parse(ek_json_str(value, "notAfter", NULL)),
        .verified = yyjson_get_bool(yyjson_obj_get(value, "verified"))};
    yyjson_arr_foreach(names, i, n, name)
    {
        if (yyjson_is_str(name))
            cert->names[cert->n_names++] = yyjson_get_str(name);
    }
    answer->resp.cert = cert;
}

static void take_status(struct answer *answer, yyjson_val *entry, const char *path)
{
    read_error(yyjson_obj_get(entry, "error"), &answer->err);
    if (answer->err.code)
        answer->err.http_status = answer->resp.status;
    if (answer->err.code || answer->resp.status < 400)
        return;
    ek_err_set(&answer->err, ek_err_from_status(answer->resp.status, NULL),
               "%s: the server answered %d", path, answer->resp.status);
    answer->err.http_status = answer->resp.status;
}

static void get(const struct answers *list, const char *path, const char *accept,
                struct answer *answer)
{
    const struct answers *a = NULL;
    yyjson_val *entry = find_entry(list, path, accept, &a);

    *answer = (struct answer){.resp = {.content_type = "", .etag = "", .warning = ""}};
    const char *file = ek_json_str(entry, "file", NULL);
    take_cert(answer, yyjson_obj_get(entry, "certificate"));
    answer->resp.status = (int)yyjson_get_int(yyjson_obj_get(entry, "status"));
    if (!file && yyjson_obj_get(entry, "error")) {
        take_status(answer, entry, path);
        return;
    }
    if (!a || !file || strstr(file, "..") || *file == '/') {
        answer->resp.status = 0;
        ek_err_set(&answer->err, EK_E_NOENT, "%s: not in the recording", path);
        return;
    }
    EK_AUTOFREE char *name = ek_xasprintf("%s/%s", a->dir, file);
    size_t len;
    if (ek_file_read(name, FILE_MAX, &answer->body, &len, &answer->err)) {
        answer->resp.status = 0;
        return;
    }
    const char *etag = ek_json_str(entry, "headers", "etag", NULL);
    const char *type = ek_json_str(entry, "headers", "content-type", NULL);
    answer->resp.body = (struct ek_str){answer->body, len};
    answer->resp.etag = etag ? etag : "";
    answer->resp.content_type = type ? type : "";
    take_status(answer, entry, path);
}

static int take_items(yyjson_val *list, const struct ek_resource *resource,
                      struct ek_obj ***ret_items, size_t *ret_n, struct ek_err *err)
{
    yyjson_val *items = yyjson_obj_get(list, "items"), *item;
    struct ek_selector *selector = NULL;
    size_t i, n, kept = 0;

    if (!yyjson_is_arr(items))
        return ek_err_set(err, EK_E_PARSE, "%s: not a list", resource->resource);
    if (resource->label_selector) {
        int rc = ek_selector_parse(resource->label_selector, &selector, err);
        if (rc)
            return rc;
    }
    struct ek_obj **objs = ek_xalloc((yyjson_arr_size(items) + 1) * sizeof(struct ek_obj *));
    const char *api_version = ek_json_str(list, "apiVersion", NULL);
    yyjson_arr_foreach(items, i, n, item)
    {
        if (selector &&
            !ek_selector_matches(selector, ek_json_get(item, "metadata", "labels", NULL)))
            continue;
        struct ek_obj *obj = ek_obj_from_item(item, api_version ? api_version : "", resource->kind);
        if (!obj)
            break;
        objs[kept++] = obj;
    }
    ek_selector_free(selector);
    if (i < n) {
        ek_snapshot_free(objs, kept);
        return ek_err_set(err, EK_E_NOMEM, "%s: no memory for the list", resource->resource);
    }
    *ret_items = objs;
    *ret_n = kept;
    return 0;
}

int ek_recording_list(struct ek_recording *recording, const struct ek_resource *resource,
                      struct ek_obj ***ret_items, size_t *ret_n, struct ek_err *err)
{
    EK_AUTO(ek_buf) path;
    struct answer answer;
    yyjson_doc *doc = NULL;

    ek_buf_init(&path, 4096);
    int rc = ek_resource_path(resource, &path);
    if (rc)
        return ek_err_set(err, rc, "%s: the path is too long", resource->resource);
    get(recording->answers, ek_buf_str(&path), "application/json", &answer);
    if (!answer.err.code)
        doc = ek_json_parse(answer.resp.body.p, answer.resp.body.len, &answer.err);
    if (!answer.err.code)
        take_items(yyjson_doc_get_root(doc), resource, ret_items, ret_n, &answer.err);
    yyjson_doc_free(doc);
    done_answer(&answer);
    if (answer.err.code && err)
        *err = answer.err;
    return answer.err.code;
}

size_t ek_recording_size(const struct ek_recording *recording)
{
    return recording->n;
}

/* Puts the recorded answer to one question into the session. */
static void answer_question(struct ek_recording *recording, const struct instance *instance,
                            struct ek_probe_session *session,
                            const struct ek_probe_question *question)
{
    const struct ek_probe_tap *tap = &recording->tap;
    const char *component = instance->component, *address = instance->address;
    struct answer answer;

    get(instance->answers, question->path, question->accept, &answer);
    if (question->stream && !answer.err.code) {
        if (tap->data)
            tap->data(tap->ctx, component, address, answer.resp.body.p, answer.resp.body.len);
        if (ek_probe_session_data(session, question->id, answer.resp.body.p, answer.resp.body.len))
            ek_err_set(&answer.err, EK_E_NOMEM, "%s: no memory for the answer", question->path);
    }
    const struct ek_err *err = answer.err.code ? &answer.err : NULL;
    if (tap->answer)
        tap->answer(tap->ctx, component, address, question->path, &answer.resp, err);
    ek_probe_session_answer(session, question->id, &answer.resp, err);
    done_answer(&answer);
}

struct ek_probe *ek_recording_probe(struct ek_recording *recording, size_t i, int64_t now_ms,
                                    const char **ret_address)
{
    const struct instance *instance = &recording->instances[i];
    struct ek_probe_session *session =
        ek_probe_session_new(instance->component, NULL, true, now_ms);
    struct ek_probe_question question;

    if (instance->no_token.code)
        ek_probe_session_no_token(session, &instance->no_token);
    while (ek_probe_session_next(session, &question))
        answer_question(recording, instance, session, &question);
    struct ek_probe *probe = ek_probe_session_finish(session);
    ek_probe_session_free(session);
    /* A recording is taken at its word: nobody sends anything there. */
    probe->proven = !strcmp(instance->component, "kube-apiserver") && !instance->unproven;
    *ret_address = instance->address;
    return probe;
}
