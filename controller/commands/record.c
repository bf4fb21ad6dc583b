/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/base/time.h"
#include "api/promtext.h"
#include "controller/commands/record_strip.h"
#include "informers/probe/metrics.h"

/* As many as a recording can have (informers/cache/recording.c). */
#define INSTANCES_MAX 256

#define METRICS_MAX ((size_t)16 << 20)

/* A file to be written; owned. */
struct file {
    char *name; /* below the folder */
    char *text;
    size_t size;
    struct file *next;
};

struct instance {
    char *component, *address, *folder; /* folder: below "peers" or "components" */
    yyjson_mut_doc *index;              /* the list of its answers */
    struct ek_promtext metrics;
    struct ek_buf page; /* the metrics that are read */
    struct ek_err no_token;
    bool answered, proven;
    struct instance *next;
};

struct ek_record {
    char *dir;
    int fd;
    struct instance *instances;
    size_t n;
    size_t n_bodies; /* so far: names that are cut remain different by it */
    struct file *files;
    struct ek_probe_tap tap;
};

static int failed(const struct ek_record *record, const char *name, struct ek_err *err)
{
    return ek_err_set(err, EK_E_IO, "%s%s%s: %s", record->dir, *name ? "/" : "", name,
                      strerror(errno));
}

/* ---- The folder ---- */

static bool is_empty(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    bool empty = dir != NULL;

    for (struct dirent *entry; dir && empty && (entry = readdir(dir));)
        empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
    if (dir)
        closedir(dir);
    else if (copy >= 0)
        close(copy);
    return empty;
}

static int take_folder(struct ek_record *record, struct ek_err *err)
{
    struct stat st;

    if (mkdir(record->dir, 0700) != 0 && errno != EEXIST)
        return failed(record, "", err);
    record->fd = open(record->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (record->fd < 0 || fstat(record->fd, &st) != 0)
        return failed(record, "", err);
    if (st.st_uid != geteuid())
        return ek_err_set(err, EK_E_EXIST, "%s: the folder belongs to another user", record->dir);
    if (!is_empty(record->fd))
        return ek_err_set(err, EK_E_EXIST,
                          "%s: the folder is not empty; a recording needs one of its own",
                          record->dir);
    return fchmod(record->fd, 0700) ? failed(record, "", err) : 0;
}

static int write_file(const struct ek_record *record, const struct file *file, struct ek_err *err)
{
    for (char *slash = strchr(file->name, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdirat(record->fd, file->name, 0700);
        *slash = '/';
        if (rc != 0 && errno != EEXIST)
            return failed(record, file->name, err);
    }
    int fd =
        openat(record->fd, file->name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "w");
    if (!stream)
        return failed(record, file->name, err);
    bool good = fwrite(file->text, 1, file->size, stream) == file->size;
    good = fclose(stream) == 0 && good;
    return good ? 0 : failed(record, file->name, err);
}

/* ---- Files in memory ---- */

static void add_file(struct ek_record *record, char *name, char *text, size_t size)
{
    struct file *file = ek_xalloc(sizeof *file);

    *file = (struct file){.name = name, .text = text, .size = size, .next = record->files};
    record->files = file;
}

static void drop_file(struct ek_record *record, const char *name)
{
    for (struct file **slot = &record->files; *slot; slot = &(*slot)->next) {
        struct file *file = *slot;
        if (strcmp(file->name, name) != 0)
            continue;
        *slot = file->next;
        ek_free(file->name);
        ek_free(file->text);
        ek_free(file);
        return;
    }
}

static void add_json(struct ek_record *record, char *name, yyjson_mut_doc *doc)
{
    size_t size = 0;
    char *text = yyjson_mut_write_opts(
        doc, YYJSON_WRITE_PRETTY_TWO_SPACES | YYJSON_WRITE_ALLOW_INVALID_UNICODE, &ek_json_xalc,
        &size, NULL);

    add_file(record, name, text, size);
}

/* A name of a file made of a path or an address: what may mean something to a file system is
 * replaced. */
static char *file_name(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
    char *name = ek_xstrdup(text + (*text == '/'));

    for (char *p = name; *p; p++)
        if (!strchr(plain, *p) || (*p == '.' && p == name))
            *p = '_';
    if (strlen(name) > 100)
        name[100] = '\0';
    return name;
}

/* ---- Answers ---- */

/* The form of https://prometheus.io/docs/instrumenting/exposition_formats/ for one sample. */
static void put_sample(void *ctx, const struct ek_prom_sample *sample)
{
    struct instance *instance = ctx;
    struct ek_buf *out = &instance->page;

    ek_buf_printf(out, "%s{", sample->name);
    for (size_t i = 0; i < sample->n_labels; i++) {
        ek_buf_printf(out, "%s%s=\"", i ? "," : "", sample->labels[i].name);
        for (const char *p = sample->labels[i].value; *p; p++) {
            if (*p == '\n')
                ek_buf_puts(out, "\\n");
            else
                ek_buf_printf(out, "%s%c", *p == '"' || *p == '\\' ? "\\" : "", *p);
        }
        ek_buf_puts(out, "\"");
    }
    ek_buf_printf(out, "} %.17g\n", sample->value);
}

static bool is_apiserver(const struct instance *instance)
{
    return !strcmp(instance->component, "kube-apiserver");
}

static struct instance *find(struct ek_record *record, const char *component, const char *address)
{
    for (struct instance *i = record->instances; i; i = i->next)
        if (!strcmp(i->component, component) && !strcmp(i->address, address))
            return i;
    struct instance *instance = ek_xalloc(sizeof *instance);
    EK_AUTOFREE char *name = file_name(address);
    instance->component = ek_xstrdup(component);
    instance->address = ek_xstrdup(address);
    instance->folder = ek_xasprintf("%zu-%s", record->n++, name);
    instance->index = ek_json_doc_new();
    yyjson_mut_doc_set_root(instance->index, yyjson_mut_arr(instance->index));
    ek_promtext_init(&instance->metrics, ek_probe_metrics, put_sample, instance);
    ek_buf_init(&instance->page, METRICS_MAX);
    instance->next = record->instances;
    record->instances = instance;
    return instance;
}

static void on_data(void *ctx, const char *component, const char *address, const char *data,
                    size_t len)
{
    struct instance *instance = find(ctx, component, address);

    /* Without memory the page ends early: the report shows what is missing then. */
    (void)ek_promtext_feed(&instance->metrics, data, len);
}

static void put_error(yyjson_mut_doc *doc, yyjson_mut_val *to, const char *name,
                      const struct ek_err *err)
{
    yyjson_mut_val *value = yyjson_mut_obj_add_obj(doc, to, name);

    yyjson_mut_obj_add_str(doc, value, "kind", ek_strerror(err->code));
    yyjson_mut_obj_add_strcpy(doc, value, "message", err->message);
}

static void put_cert(yyjson_mut_doc *doc, yyjson_mut_val *to, const struct ek_server_cert *cert)
{
    char time[EK_TIME_SIZE];

    if (!cert)
        return;
    yyjson_mut_val *value = yyjson_mut_obj_add_obj(doc, to, "certificate");
    yyjson_mut_obj_add_strcpy(doc, value, "fingerprint", cert->fingerprint);
    yyjson_mut_val *names = yyjson_mut_obj_add_arr(doc, value, "names");
    for (size_t i = 0; i < cert->n_names; i++)
        yyjson_mut_arr_add_strcpy(doc, names, cert->names[i]);
    if (cert->not_after_ms != EK_TIME_UNSET)
        yyjson_mut_obj_add_strcpy(doc, value, "notAfter", ek_time_format(cert->not_after_ms, time));
    yyjson_mut_obj_add_bool(doc, value, "verified", cert->verified);
}

/* Removes the answer to path of an earlier round. */
static void forget(struct ek_record *record, struct instance *instance, const char *path)
{
    yyjson_mut_val *list = yyjson_mut_doc_get_root(instance->index);

    for (size_t i = 0; i < yyjson_mut_arr_size(list); i++) {
        yyjson_mut_val *entry = yyjson_mut_arr_get(list, i);
        const char *file = yyjson_mut_get_str(yyjson_mut_obj_get(entry, "file"));
        if (!yyjson_mut_equals_str(yyjson_mut_obj_get(entry, "path"), path))
            continue;
        EK_AUTOFREE char *name =
            file ? ek_xasprintf("%s/%s/%s", is_apiserver(instance) ? "peers" : "components",
                                instance->folder, file)
                 : NULL;
        if (name)
            drop_file(record, name);
        yyjson_mut_arr_remove(list, i);
        return;
    }
}

/* The body goes to a file of its own: of a page of metrics what was collected of it. */
static void put_body(struct ek_record *record, struct instance *instance, yyjson_mut_val *entry,
                     const char *path, const struct ek_response *resp)
{
    bool is_page = !strcmp(path, "/metrics");
    EK_AUTOFREE char *plain = file_name(path);
    EK_AUTOFREE char *file =
        ek_xasprintf("%zu-%s.%s", record->n_bodies++, plain, is_page ? "txt" : "body");
    const char *text = is_page ? ek_buf_str(&instance->page) : resp->body.p;
    size_t size = is_page ? instance->page.len : resp->body.len;

    yyjson_mut_obj_add_strcpy(instance->index, entry, "file", file);
    add_file(record,
             ek_xasprintf("%s/%s/%s", is_apiserver(instance) ? "peers" : "components",
                          instance->folder, file),
             ek_xstrndup(size ? text : "", size), size);
}

static void on_answer(void *ctx, const char *component, const char *address, const char *path,
                      const struct ek_response *resp, const struct ek_err *err)
{
    struct ek_record *record = ctx;
    struct instance *instance = find(record, component, address);
    yyjson_mut_doc *doc = instance->index;
    bool is_page = !strcmp(path, "/metrics"); /* other paths may be answered in the midst of one */

    if (is_page)
        ek_promtext_finish(&instance->metrics);
    if (resp && resp->status == 304) /* what was answered before is still true */
        return;
    forget(record, instance, path);
    yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, yyjson_mut_doc_get_root(doc));
    yyjson_mut_obj_add_strcpy(doc, entry, "path", path);
    yyjson_mut_obj_add_int(doc, entry, "status", resp ? resp->status : 0);
    if (resp && resp->status) {
        yyjson_mut_val *headers = yyjson_mut_obj_add_obj(doc, entry, "headers");
        yyjson_mut_obj_add_strcpy(doc, headers, "content-type", resp->content_type);
        yyjson_mut_obj_add_strcpy(doc, headers, "etag", resp->etag);
        put_cert(doc, entry, resp->cert);
    }
    if (err)
        put_error(doc, entry, "error", err);
    /* Of a failure the text of /readyz says which check fails; other bodies are not read. */
    if (resp && resp->status && (!err || !strncmp(path, "/readyz", 7)))
        put_body(record, instance, entry, path, resp);
    if (is_page)
        ek_buf_reset(&instance->page);
}

const struct ek_probe_tap *ek_record_tap(struct ek_record *record)
{
    return &record->tap;
}

void ek_record_instance(struct ek_record *record, const char *component, const char *address,
                        const struct ek_probe *probe)
{
    struct instance *instance = find(record, component, address);

    instance->answered = probe != NULL;
    if (!probe)
        return;
    instance->proven = probe->proven;
    if (probe->no_token)
        instance->no_token = probe->reach.error;
}

/* ---- Objects ---- */

/* The items of all rows of one path, each once: two informers may watch parts of one resource. */
static void put_items(yyjson_mut_doc *doc, yyjson_mut_val *items,
                      const struct ek_skew_snapshot *snapshot, const char *const *paths, size_t row)
{
    for (size_t r = row; r < EK_SKEW_ROWS; r++) {
        if (strcmp(paths[r], paths[row]) != 0)
            continue;
        for (size_t i = 0; i < snapshot->n[r]; i++) {
            bool is_new = true;
            for (size_t b = row; b < r && is_new; b++)
                for (size_t k = 0; k < snapshot->n[b] && is_new; k++)
                    is_new = strcmp(paths[b], paths[row]) != 0 ||
                             ek_obj_by_key(&snapshot->lists[b][k], &snapshot->lists[r][i]) != 0;
            if (is_new)
                yyjson_mut_arr_append(items, ek_record_strip(doc, snapshot->lists[r][i]));
        }
    }
}

/* Why a list is not there; the text is what snapshots show behind the name of the resource. */
static void put_why(yyjson_mut_doc *doc, yyjson_mut_val *entry,
                    const struct ek_skew_snapshot *snapshot, size_t row)
{
    size_t skip = strlen(ek_skew_rows[row].resource.resource) + 2;
    int code = snapshot->codes[row];
    const char *why = snapshot->objs[row].why;
    struct ek_err err = {0};

    ek_err_set(&err, code, "%s",
               code == EK_E_FORBIDDEN || code == EK_E_NOENT || strlen(why) < skip ? why
                                                                                  : why + skip);
    yyjson_mut_obj_add_int(doc, entry, "status",
                           code == EK_E_FORBIDDEN ? 403
                           : code == EK_E_NOENT   ? 404
                                                  : 0);
    put_error(doc, entry, "error", &err);
}

static void put_list(struct ek_record *record, yyjson_mut_doc *index,
                     const struct ek_skew_snapshot *snapshot, const char *const *paths, size_t row)
{
    const struct ek_resource *resource = &ek_skew_rows[row].resource;
    yyjson_mut_val *entry = yyjson_mut_arr_add_obj(index, yyjson_mut_doc_get_root(index));

    yyjson_mut_obj_add_strcpy(index, entry, "path", paths[row]);
    if (snapshot->codes[row]) {
        put_why(index, entry, snapshot, row);
        return;
    }
    char *file = ek_xasprintf("%s-%s.json", resource->resource, resource->version);
    yyjson_mut_obj_add_int(index, entry, "status", 200);
    yyjson_mut_obj_add_strcpy(index, entry, "file", file);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "kind", "List");
    put_items(doc, yyjson_mut_obj_add_arr(doc, root, "items"), snapshot, paths, row);
    add_json(record, file, doc);
    yyjson_mut_doc_free(doc);
}

static void put_lists(struct ek_record *record, const struct ek_skew_snapshot *snapshot)
{
    struct ek_buf bufs[EK_SKEW_ROWS];
    const char *paths[EK_SKEW_ROWS];
    yyjson_mut_doc *index = ek_json_doc_new();

    yyjson_mut_doc_set_root(index, yyjson_mut_arr(index));
    for (size_t r = 0; r < EK_SKEW_ROWS; r++) {
        ek_buf_init(&bufs[r], 4096);
        (void)ek_resource_path(&ek_skew_rows[r].resource, &bufs[r]);
        paths[r] = ek_buf_str(&bufs[r]);
    }
    for (size_t r = 0; r < EK_SKEW_ROWS; r++) {
        bool first = true;
        for (size_t b = 0; b < r; b++)
            first = first && strcmp(paths[b], paths[r]) != 0;
        if (first)
            put_list(record, index, snapshot, paths, r);
    }
    add_json(record, ek_xstrdup("index.json"), index);
    yyjson_mut_doc_free(index);
    for (size_t r = 0; r < EK_SKEW_ROWS; r++)
        ek_buf_done(&bufs[r]);
}

/* ---- Instances ---- */

static void put_instance(struct ek_record *record, const struct instance *instance,
                         yyjson_mut_doc *doc, yyjson_mut_val *list)
{
    yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_str(doc, entry, "component", instance->component);
    yyjson_mut_obj_add_str(doc, entry, "hostname", instance->folder);
    yyjson_mut_obj_add_str(doc, entry, "address", instance->address);
    if (is_apiserver(instance))
        yyjson_mut_obj_add_bool(doc, entry, "proven", instance->proven);
    if (instance->no_token.code)
        put_error(doc, entry, "noToken", &instance->no_token);
    add_json(record,
             ek_xasprintf("%s/%s/index.json", is_apiserver(instance) ? "peers" : "components",
                          instance->folder),
             instance->index);
}

static void put_peers(struct ek_record *record, const struct ek_skew_view *view)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    char time[EK_TIME_SIZE];

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "evenkeel", EK_VERSION);
    yyjson_mut_obj_add_strcpy(doc, root, "time", ek_time_format_micro(view->now_ms, time));
    if (view->configured)
        yyjson_mut_obj_add_strcpy(doc, root, "configured", view->configured);
    yyjson_mut_obj_add_bool(doc, root, "probed", view->probing_done);
    yyjson_mut_val *apiservers = yyjson_mut_obj_add_arr(doc, root, "apiservers");
    yyjson_mut_val *components = yyjson_mut_obj_add_arr(doc, root, "components");
    for (const struct instance *i = record->instances; i; i = i->next)
        if (i->answered)
            put_instance(record, i, doc, is_apiserver(i) ? apiservers : components);
    add_json(record, ek_xstrdup("peers.json"), doc);
    yyjson_mut_doc_free(doc);
}

int ek_record_write(struct ek_record *record, const struct ek_skew_snapshot *snapshot,
                    struct ek_err *err)
{
    int rc = 0;

    if (record->n > INSTANCES_MAX)
        return ek_err_set(err, EK_E_LIMIT, "%s: more than %d instances", record->dir,
                          INSTANCES_MAX);
    put_lists(record, snapshot);
    put_peers(record, &snapshot->view);
    for (const struct file *file = record->files; file && !rc; file = file->next)
        rc = write_file(record, file, err);
    return rc;
}

int ek_record_open(const char *dir, struct ek_record **ret_record, struct ek_err *err)
{
    struct ek_record *record = ek_xalloc(sizeof *record);

    record->dir = ek_xstrdup(dir);
    record->fd = -1;
    record->tap = (struct ek_probe_tap){.data = on_data, .answer = on_answer, .ctx = record};
    int rc = take_folder(record, err);
    if (rc)
        ek_record_close(record);
    else
        *ret_record = record;
    return rc;
}

void ek_record_close(struct ek_record *record)
{
    if (!record)
        return;
    while (record->files)
        drop_file(record, record->files->name);
    while (record->instances) {
        struct instance *instance = record->instances;
        record->instances = instance->next;
        ek_free(instance->component);
        ek_free(instance->address);
        ek_free(instance->folder);
        yyjson_mut_doc_free(instance->index);
        ek_promtext_done(&instance->metrics);
        ek_buf_done(&instance->page);
        ek_free(instance);
    }
    if (record->fd >= 0)
        close(record->fd);
    ek_free(record->dir);
    ek_free(record);
}
