/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/recording.h"

#include <string.h>

#include "api/selector.h"
#include "informers/file.h"
#include "informers/probe_session.h"

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
};

struct ek_recording {
    char *dir;
    struct answers *answers; /* of the cluster as a whole */
    struct instance instances[INSTANCES_MAX];
    size_t n;
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

static int add_instance(struct ek_recording *rec, const char *folder, const char *hostname,
                        const char *component, const char *address, struct ek_err *err)
{
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
    rec->instances[rec->n++] =
        (struct instance){ek_xstrdup(component), ek_xstrdup(address), answers};
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
        int rc = add_instance(rec, "peers", hostname, "kube-apiserver", address, err);
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
        EK_AUTOFREE char *address = ek_xasprintf("%s/%s", component, hostname);
        int rc = add_instance(rec, "components", hostname, component, address, err);
        if (rc)
            return rc;
    }
    return 0;
}

int ek_recording_open(const char *dir, struct ek_recording **ret_recording, struct ek_err *err)
{
    struct ek_recording *rec = ek_xalloc(sizeof *rec);
    yyjson_doc *peers = NULL;
    struct ek_err local = {0};

    rec->dir = ek_xstrdup(dir);
    int rc = add_answers(&rec->answers, dir, &local);
    if (rc == EK_E_NOENT)
        ek_err_set(&local, rc, "%s: no index.json there, so it is not a recording", dir);
    if (!rc)
        rc = read_json(dir, "peers.json", &peers, &local);
    if (!rc)
        rc = add_instances(rec, yyjson_doc_get_root(peers), &local);
    yyjson_doc_free(peers);
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
    ek_free(rec->dir);
    ek_free(rec);
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
};

static void take_status(struct answer *answer, const char *path)
{
    if (answer->resp.status < 400)
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
    if (!a || !file || strstr(file, "..") || *file == '/') {
        ek_err_set(&answer->err, EK_E_NOENT, "%s: not in the recording", path);
        return;
    }
    EK_AUTOFREE char *name = ek_xasprintf("%s/%s", a->dir, file);
    size_t len;
    if (ek_file_read(name, FILE_MAX, &answer->body, &len, &answer->err))
        return;
    const char *etag = ek_json_str(entry, "headers", "etag", NULL);
    const char *type = ek_json_str(entry, "headers", "content-type", NULL);
    answer->resp.status = (int)yyjson_get_int(yyjson_obj_get(entry, "status"));
    answer->resp.body = (struct ek_str){answer->body, len};
    answer->resp.etag = etag ? etag : "";
    answer->resp.content_type = type ? type : "";
    take_status(answer, path);
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
    ek_free(answer.body);
    if (answer.err.code && err)
        *err = answer.err;
    return answer.err.code;
}

size_t ek_recording_size(const struct ek_recording *recording)
{
    return recording->n;
}

struct ek_probe *ek_recording_probe(struct ek_recording *recording, size_t i, int64_t now_ms,
                                    const char **ret_address)
{
    const struct instance *instance = &recording->instances[i];
    struct ek_probe_session *session =
        ek_probe_session_new(instance->component, NULL, true, now_ms);
    struct ek_probe_question question;

    while (ek_probe_session_next(session, &question)) {
        struct answer answer;
        get(instance->answers, question.path, question.accept, &answer);
        if (question.stream && !answer.err.code &&
            ek_probe_session_data(session, question.id, answer.resp.body.p, answer.resp.body.len))
            ek_err_set(&answer.err, EK_E_NOMEM, "%s: no memory for the answer", question.path);
        bool failed = answer.err.code != 0;
        ek_probe_session_answer(session, question.id, &answer.resp, failed ? &answer.err : NULL);
        ek_free(answer.body);
    }
    struct ek_probe *probe = ek_probe_session_finish(session);
    ek_probe_session_free(session);
    *ret_address = instance->address;
    return probe;
}
