/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "api/base/base64.h"
#include "api/base/line.h"
#include "api/obj.h"
#include "controller/cli/commands.h"
#include "controller/rehearse/apart.h"
#include "controller/rehearse/list.h"
#include "controller/rehearse/survey.h"
#include "informers/client/kubeconfig.h"
#include "informers/clock.h"
#include "reconcilers/rehearse/copy.h"
#include "reconcilers/rehearse/remote.h"
#include "reconcilers/rehearse/stored.h"

#define ARENA_MAX    ((size_t)128 << 20)
#define PAGE_MAX     ((size_t)16 << 20) /* octets of a page; an object has at most 3 MiB */
#define COPY_MAX     ((uint64_t)8 << 30)
#define REQUEST_MS   30000
#define PAUSE_MS     50 /* from one request to the next: at most twenty a second */
#define RESTARTS_MAX 3  /* of a list whose token has expired */
#define PUT_MAX      ((size_t)64 << 10)
#define MISSING      '!' /* begins the line of a resource that is not copied; keys begin with "/" */

/* What the child process leaves, in memory that is shared with the rehearsal. */
struct outcome {
    struct ek_rehearse_copied copied;
    struct ek_err err;
};

struct reading {
    const struct ek_rehearse_copy_options *o;
    const char *root, *path;
    int64_t deadline_ms;
    void (*say)(void *ctx, const char *what, size_t n);
    void *ctx;
    struct outcome *outcome;
    struct ek_rehearse_ask ask;
    struct ek_client *client;
    struct ek_arena *arena;
    FILE *out;
    uint64_t written;
    size_t refused;       /* objects of a kind without a key */
    struct ek_map custom; /* "example.com/widgets" -> the version in which objects are stored */
    struct ek_map remote; /* APIs that other servers answer (remote.h) */
    struct ek_map done;   /* folders */
};

/* ---- The file ---- */

static int write_lines(struct reading *r, const char *first, const char *second, struct ek_err *err)
{
    int n = fprintf(r->out, "%s\n%s\n", first, second);

    if (n < 0)
        return ek_err_set(err, EK_E_IO, "%s: %s", r->path, strerror(errno));
    r->written += (unsigned)n;
    return r->written > COPY_MAX
               ? ek_err_set(err, EK_E_LIMIT, "the objects of the cluster have more than 8 GiB")
               : 0;
}

static int note_missing(struct reading *r, const char *what, const char *why, struct ek_err *err)
{
    char name[EK_REHEARSE_OBJECT_MAX], text[EK_REHEARSE_MESSAGE_MAX];
    EK_AUTOFREE char *first = NULL;

    ek_line_copy(what, strlen(what), name, sizeof name);
    ek_line_copy(why, strlen(why), text, sizeof text);
    first = ek_xasprintf("%c%s", MISSING, name);
    return write_lines(r, first, text, err);
}

/* ---- Requests ---- */

/* What a definition says of the objects of others. */
static void note_definition(struct reading *r, const struct ek_rehearse_type *type,
                            yyjson_val *object)
{
    yyjson_val *spec = yyjson_obj_get(object, "spec"), *version;
    const char *group = ek_json_text(spec, "group");
    const char *plural = ek_json_text(yyjson_obj_get(spec, "names"), "plural");
    yyjson_mut_doc *doc;
    char remote[EK_REHEARSE_REMOTE_SIZE];
    size_t i, n;

    /* In a list, the object has no kind. */
    doc = ek_rehearse_copy_object(type, object, NULL, 0);
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, &ek_json_xalc);
    if (ek_rehearse_remote_of(yyjson_doc_get_root(whole), remote))
        ek_map_put(&r->remote, ek_arena_strdup(r->arena, remote), r);
    yyjson_doc_free(whole);
    yyjson_mut_doc_free(doc);
    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), i, n, version)
    {
        if (yyjson_get_bool(yyjson_obj_get(version, "storage")))
            ek_map_put(&r->custom, ek_arena_printf(r->arena, "%s/%s", group, plural),
                       ek_arena_strdup(r->arena, ek_json_text(version, "name")));
    }
}

static int take_page(struct reading *r, const struct ek_rehearse_type *type, const char *folder,
                     yyjson_val *items, struct ek_err *err)
{
    char key[EK_REHEARSE_KEY_SIZE];
    yyjson_val *item;
    size_t i, n;
    int rc = 0;

    yyjson_arr_foreach(items, i, n, item)
    {
        if (ek_rehearse_copy_defines(type))
            note_definition(r, type, item);
        if (!ek_rehearse_copy_key(r->root, folder, type->namespaced, item, key)) {
            r->refused++;
            continue;
        }
        EK_AUTOFREE char *text = ek_rehearse_copy_text(type, item, r->o->secret_values);
        r->outcome->copied.objects++;
        if (!rc)
            rc = write_lines(r, key, text, err);
    }
    return rc;
}

/* One page behind *token, owned, which becomes the next; "" at the end. */
static int copy_page(struct reading *r, const struct ek_rehearse_type *type, const char *folder,
                     unsigned limit, char **token, struct ek_err *err)
{
    yyjson_doc *doc = ek_rehearse_list_page(&r->ask, r->client, type, limit, *token, PAGE_MAX, err);

    if (!doc)
        return err->code;
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *next = ek_json_str(root, "metadata", "continue", NULL);
    int rc = take_page(r, type, folder, yyjson_obj_get(root, "items"), err);
    ek_free(*token);
    *token = ek_xstrdup(next ? next : "");
    yyjson_doc_free(doc);
    r->say(r->ctx, type->resource, r->outcome->copied.objects);
    return rc;
}

/* The folder of a type in etcd. */
static void folder_of(const struct reading *r, const struct ek_rehearse_type *type,
                      char folder[EK_REHEARSE_FOLDER_SIZE])
{
    ek_rehearse_folder_of(type->group, type->resource, true, folder);
    if (!*type->group || !ek_map_get(&r->custom, folder))
        ek_rehearse_folder_of(type->group, type->resource, false, folder);
}

/* Where the objects of a type begin. */
struct mark {
    off_t offset;
    uint64_t written;
    size_t objects, refused;
};

static struct mark mark_here(const struct reading *r)
{
    return (struct mark){ftello(r->out), r->written, r->outcome->copied.objects, r->refused};
}

/* Removes what was written since mark. */
static int rewind_to(struct reading *r, const struct mark *mark, struct ek_err *err)
{
    if (mark->offset < 0 || fflush(r->out) != 0 || ftruncate(fileno(r->out), mark->offset) != 0 ||
        fseeko(r->out, mark->offset, SEEK_SET) != 0)
        return ek_err_set(err, EK_E_IO, "%s: %s", r->path, strerror(errno));
    r->written = mark->written;
    r->outcome->copied.objects = mark->objects;
    r->refused = mark->refused;
    return 0;
}

/* Copies the objects of a type. A list that begins again replaces what was read, so that an object
 * that was deleted in between does not come back. */
static int copy_type(struct reading *r, const struct ek_rehearse_type *type, struct ek_err *err)
{
    char folder[EK_REHEARSE_FOLDER_SIZE];
    char *token = ek_xstrdup("");
    unsigned limit = EK_REHEARSE_PAGE;
    struct mark start = mark_here(r);
    int rc = 0, restarts = 0;
    bool more = true;

    folder_of(r, type, folder);
    ek_map_put(&r->done, ek_arena_strdup(r->arena, folder), r);
    for (int page = 0; more && page < EK_REHEARSE_PAGES_MAX; page++) {
        rc = copy_page(r, type, folder, limit, &token, err);
        more = !rc && *token;
        if (!rc || rc == EK_E_CANCELED || rc == EK_E_IO)
            continue;
        unsigned smaller = ek_rehearse_page_limit(limit, err);
        if (smaller) {
            limit = smaller; /* the same page again */
            more = true;
        } else if (err->http_status == 410 && restarts++ < RESTARTS_MAX) {
            ek_free(token);
            token = ek_xstrdup("");
            rc = rewind_to(r, &start, err);
            more = !rc;
        }
    }
    if (!rc && more)
        rc = ek_err_set(err, EK_E_LIMIT, "the list does not end");
    ek_free(token);
    return rc;
}

/* ---- The cluster ---- */

static int open_client(struct reading *r, struct ek_err *err)
{
    EK_AUTOPTR(ek_client_config, ek_client_config_free) *config = NULL;
    int rc = ek_kubeconfig_load(*r->o->kubeconfig ? r->o->kubeconfig : NULL,
                                *r->o->context ? r->o->context : NULL, NULL, &config, err);

    if (!rc)
        rc = ek_client_new(&r->ask.loop, config, ek_user_agent(), &r->client, err);
    if (!rc)
        snprintf(r->outcome->copied.server, sizeof r->outcome->copied.server, "%s",
                 ek_client_server(r->client));
    return rc;
}

static struct ek_minor minor_of(yyjson_val *root, const char *major, const char *minor)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("%s.%s", ek_json_text(root, major), ek_json_text(root, minor));

    return ek_minor_parse(text);
}

/* apimachinery/pkg/version/types.go:Info; the emulation version since 1.33. */
static int read_version(struct reading *r, struct ek_err *err)
{
    struct ek_rehearse_copied *copied = &r->outcome->copied;
    struct ek_err why = {0};
    yyjson_doc *doc =
        ek_rehearse_ask_one(&r->ask, r->client, &(struct ek_request){.path = "/version"}, &why);
    yyjson_val *root = yyjson_doc_get_root(doc);
    EK_AUTOFREE char *text = ek_xasprintf("Kubernetes %s", ek_json_text(root, "gitVersion"));

    copied->version = minor_of(root, "emulationMajor", "emulationMinor");
    if (!copied->version.known)
        copied->version = ek_rehearse_version(text);
    copied->min_compat = minor_of(root, "minCompatibilityMajor", "minCompatibilityMinor");
    yyjson_doc_free(doc);
    if (copied->version.known || r->o->version_known)
        return 0;
    return ek_err_set(err, why.code ? why.code : EK_E_PARSE,
                      "the version of the cluster is not known, name the version with --from: "
                      "/version: %.500s",
                      why.code ? why.message : "the answer has no version");
}

/* What the rest depends on: which APIs other servers answer, which resources are custom, and the
 * namespaces, so that none is younger than its objects. */
static int copy_definitions(struct reading *r, struct ek_err *err)
{
    static const struct ek_rehearse_type first[] = {
        {"apiregistration.k8s.io", "v1", "apiservices", "APIService", false, true, true, true, "",
         ""},
        {"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
         false, true, true, true, "", ""},
        {"", "v1", "namespaces", "Namespace", false, true, true, true, "", ""},
    };
    int rc = 0;

    for (size_t i = 0; i < EK_ARRAY_SIZE(first) && !rc; i++) {
        rc = copy_type(r, &first[i], err);
        if (rc)
            ek_err_prefix(err, "%s have to be readable", first[i].resource);
    }
    return rc;
}

/* The version of a resource that is copied: custom resources in the version in which they are
 * stored, where that is served; others in the version that the server prefers, which is the first.
 */
static const struct ek_rehearse_type *version_of(const struct reading *r,
                                                 const struct ek_rehearse_view *view, size_t at)
{
    const struct ek_rehearse_type *first = &view->types[at], *ret = first;
    EK_AUTOFREE char *name = ek_xasprintf("%s/%s", first->group, first->resource);
    const char *stored = ek_map_get(&r->custom, name);

    for (size_t i = at;
         stored && i < view->n_types && !strcmp(view->types[i].group, first->group) &&
         !strcmp(view->types[i].resource, first->resource);
         i++)
        if (!strcmp(view->types[i].version, stored))
            ret = &view->types[i];
    return ret;
}

static int copy_selected(struct reading *r, const struct ek_rehearse_type *type, struct ek_err *err)
{
    EK_AUTOFREE char *what = ek_xasprintf("%s%s%s %s", type->group, *type->group ? "/" : "",
                                          type->version, type->resource);
    size_t before = r->outcome->copied.objects;
    struct ek_err why = {0};

    r->refused = 0;
    int rc = copy_type(r, type, &why);
    if (rc && (ek_rehearse_ask_ended(&r->ask) || rc == EK_E_IO || r->written > COPY_MAX)) {
        *err = why;
        return rc;
    }
    if (rc) /* the other kinds are copied */
        ek_err_prefix(&why, "%zu objects were copied", r->outcome->copied.objects - before);
    else if (r->refused)
        ek_err_set(&why, EK_E_PARSE, "%zu objects have no name that etcd can have", r->refused);
    return why.code ? note_missing(r, what, why.message, err) : 0;
}

/* What discovery does not have is not copied. What other servers answer is said later. */
static int note_undiscovered(struct reading *r, const struct ek_rehearse_report *report,
                             struct ek_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < report->n && !rc; i++)
        if (ek_rehearse_is_gap(&report->list[i]))
            rc = note_missing(r, report->list[i].object, report->list[i].message, err);
    return rc;
}

static int copy_types(struct reading *r, struct ek_err *err)
{
    EK_AUTO(ek_rehearse_report) report = {.arena = r->arena};
    struct ek_rehearse_view view = {.arena = r->arena};
    struct ek_rehearse_survey survey = {.ask = &r->ask,
                                        .client = r->client,
                                        .report = &report,
                                        .remote = &r->remote,
                                        .view = &view};
    char folder[EK_REHEARSE_FOLDER_SIZE];

    ek_rehearse_survey_types(&survey);
    const char *unknown = ek_rehearse_copy_unknown(r->o->resources, &view, r->arena);
    if (unknown && !ek_rehearse_ask_ended(&r->ask))
        return ek_err_set(err, EK_E_INVAL,
                          "--resources: the cluster has no resource %s that can be listed and "
                          "created",
                          unknown);
    int rc = note_undiscovered(r, &report, err);
    for (size_t i = 0; i < view.n_types && !rc && !ek_rehearse_ask_ended(&r->ask); i++) {
        const struct ek_rehearse_type *type = version_of(r, &view, i);
        folder_of(r, type, folder);
        if (!ek_map_get(&r->done, folder) && type->can_list && type->can_create &&
            ek_rehearse_copy_has(r->o->resources, type))
            rc = copy_selected(r, type, err);
    }
    return rc;
}

/* In the child process. */
static int read_cluster(void *ctx)
{
    struct reading *r = ctx;
    struct ek_err *err = &r->outcome->err;
    int rc;

    r->out = fopen(r->path, "we");
    r->arena = ek_arena_new(ARENA_MAX);
    ek_rehearse_ask_open(&r->ask, 1, REQUEST_MS);
    r->ask.deadline_ms = r->deadline_ms;
    r->ask.patient = true;
    r->ask.pause_ms = PAUSE_MS;
    rc =
        r->out ? open_client(r, err) : ek_err_set(err, EK_E_IO, "%s: %s", r->path, strerror(errno));
    if (!rc)
        rc = read_version(r, err);
    if (!rc)
        rc = copy_definitions(r, err);
    if (!rc)
        rc = copy_types(r, err);
    if (r->out && fclose(r->out) != 0 && !rc)
        rc = ek_err_set(err, EK_E_IO, "%s: %s", r->path, strerror(errno));
    if (r->ask.signaled)
        rc = ek_err_set(err, EK_E_CANCELED, "stopped by a signal");
    else if (ek_rehearse_ask_ended(&r->ask))
        rc = ek_err_set(err, EK_E_TIMEOUT, "the time of --timeout has ended");
    ek_rehearse_ask_drop(&r->ask, r->client);
    ek_rehearse_ask_close(&r->ask);
    ek_map_done(&r->custom);
    ek_map_done(&r->remote);
    ek_map_done(&r->done);
    ek_arena_free(r->arena);
    return rc ? 1 : 0;
}

int ek_rehearse_copy_read(const struct ek_rehearse_copy_options *options,
                          const struct ek_rehearse_folder *folder, const char *root,
                          int64_t deadline_ms, void (*say)(void *ctx, const char *what, size_t n),
                          void *ctx, struct ek_rehearse_copied *ret_copied, char **ret_path,
                          struct ek_err *err)
{
    struct outcome *outcome =
        mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int code = 1;

    if (outcome == MAP_FAILED)
        return ek_err_set(err, EK_E_IO, "mmap: %s", strerror(errno));
    int rc = ek_rehearse_folder_write(folder, "cluster", "", ret_path, err);
    if (!rc) {
        struct reading reading = {.o = options,
                                  .root = root,
                                  .path = *ret_path,
                                  .deadline_ms = deadline_ms,
                                  .say = say,
                                  .ctx = ctx,
                                  .outcome = outcome};
        rc = ek_rehearse_apart(read_cluster, &reading, &code, err);
    }
    if (!rc && code) {
        *err = outcome->err;
        rc = ek_err_prefix(err, "copying the cluster");
    }
    *ret_copied = outcome->copied;
    munmap(outcome, sizeof *outcome);
    return rc;
}

/* ---- Writing to etcd ---- */

static void on_put(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct ek_err *first = ctx;

    (void)response;
    if (err && !first->code)
        *first = *err;
}

static void put(struct ek_rehearse_ask *ask, struct ek_client *etcd, const char *key,
                const char *text, size_t len, struct ek_err *first)
{
    EK_AUTOFREE char *name = ek_base64_encode(key, strlen(key));
    EK_AUTOFREE char *value = ek_base64_encode(text, len);
    EK_AUTOFREE char *body = ek_xasprintf("{\"key\":\"%s\",\"value\":\"%s\"}", name, value);

    ek_rehearse_ask_send(ask, etcd,
                         &(struct ek_request){.method = "POST",
                                              .path = "/v3/kv/put",
                                              .content_type = "application/json",
                                              .body = body,
                                              .body_size = strlen(body),
                                              .max_body = PUT_MAX},
                         on_put, first);
}

/* A line without its end. */
static ssize_t read_line(FILE *in, char **line, size_t *cap)
{
    ssize_t n = getline(line, cap, in);

    if (n > 0 && (*line)[n - 1] == '\n')
        (*line)[--n] = '\0';
    return n;
}

int ek_rehearse_copy_write(struct ek_rehearse_ask *ask, struct ek_client *etcd, const char *path,
                           void (*missing)(void *ctx, const char *resource, const char *why),
                           void *ctx, struct ek_err *err)
{
    FILE *in = fopen(path, "re");
    char *first = NULL, *second = NULL;
    size_t first_cap = 0, second_cap = 0;
    struct ek_err refused = {0};
    ssize_t n = 0;

    if (!in)
        return ek_err_set(err, EK_E_IO, "%s: %s", path, strerror(errno));
    while (!refused.code && read_line(in, &first, &first_cap) > 0 &&
           (n = read_line(in, &second, &second_cap)) >= 0) {
        if (*first == MISSING)
            missing(ctx, first + 1, second);
        else
            put(ask, etcd, first, second, (size_t)n, &refused);
    }
    ek_rehearse_ask_drain(ask);
    free(first); /* of getline */
    free(second);
    if (ferror(in))
        ek_err_set(&refused, EK_E_IO, "%s: %s", path, strerror(errno));
    fclose(in);
    if (refused.code)
        *err = refused;
    return refused.code ? ek_err_prefix(err, "writing to etcd") : 0;
}
