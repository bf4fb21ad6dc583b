/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/survey.h"

#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "controller/rehearse/keys.h"
#include "controller/rehearse/list.h"
#include "reconcilers/rehearse/conditions.h"
#include "reconcilers/rehearse/copy.h"
#include "reconcilers/rehearse/stored.h"

#define OBJECT_MAX     ((size_t)8 << 20) /* of an answer with one object */
#define SILENT_MAX     5    /* requests of a kind without an answer, before the kind is left */
#define SINGLE_MAX     5000 /* objects of a kind that are read one by one */
#define AGAIN_MAX      200  /* objects of a kind that are read and tried once more */
#define CONDITIONS_MAX 5000 /* objects whose conditions are kept */
#define DRY_RUN        "?dryRun=All&fieldManager=evenkeel-rehearse"
#define IN_EARNEST     "?fieldManager=evenkeel-rehearse"

/* A kind that is surveyed. */
struct kind {
    struct ek_rehearse_survey *s;
    const struct ek_rehearse_type *type;
    char folder[EK_REHEARSE_FOLDER_SIZE];
    bool custom, recreate, rewrite, conditions, update;
    unsigned limit;         /* objects of a page */
    size_t seen;            /* objects that were listed */
    size_t tried;           /* objects that were updated */
    size_t stride;          /* every such object is tried */
    size_t silent;          /* requests without an answer */
    size_t broken;          /* objects that cannot be read */
    size_t n_conditions;    /* objects whose conditions were read */
    char *again[AGAIN_MAX]; /* names to be read and tried once more; owned */
    size_t n_again;
};

/* A request about an object. */
struct tried {
    struct kind *kind;
    char *name; /* "shop/web"; owned */
    enum ek_rehearse_request request;
    bool last; /* not to be tried again */
};

/* ---- Names ---- */

static char *object_text(const struct kind *k, const char *name)
{
    const struct ek_rehearse_type *t = k->type;

    return ek_xasprintf("%s%s%s %s%s%s", t->group, *t->group ? "/" : "", t->version, t->resource,
                        *name ? " " : "", name);
}

/* ---- Answers ---- */

static void note(struct kind *k, const char *name, enum ek_rehearse_answer answer,
                 const char *message)
{
    EK_AUTOFREE char *object = object_text(k, name);

    ek_rehearse_report_add(k->s->report, k->s->step, ek_rehearse_answer_severity(answer),
                           ek_rehearse_answer_rule(answer), object, message);
}

/* Encrypted objects of a kind are counted, and reported once. */
static void note_answer(struct kind *k, const char *name, enum ek_rehearse_answer answer,
                        const struct ek_err *err)
{
    if (answer == EK_REHEARSE_ENCRYPTED) {
        if (!k->s->counts.encrypted++ || !k->broken)
            note(k, "", answer,
                 "objects are encrypted, and the server has no key for them: see "
                 "--encryption-config");
    } else if (answer == EK_REHEARSE_SILENT || answer == EK_REHEARSE_WEBHOOK) {
        if (!k->silent++)
            note(k, "", answer, err->message);
    } else {
        note(k, name, answer, err->message);
    }
    k->broken += answer == EK_REHEARSE_ENCRYPTED || answer == EK_REHEARSE_UNDECODABLE;
}

static void on_tried(void *ctx, const struct ek_response *response, const struct ek_err *err)
{
    struct tried *tried = ctx;
    struct kind *k = tried->kind;
    enum ek_rehearse_answer answer = ek_rehearse_answer_of(tried->request, err);

    (void)response;
    if (err && err->code == EK_E_CANCELED)
        k->s->counts.not_tried++;
    else if (answer == EK_REHEARSE_CHANGED && !tried->last && k->n_again < AGAIN_MAX)
        k->again[k->n_again++] = ek_xstrdup(tried->name);
    else if (answer != EK_REHEARSE_FINE && answer != EK_REHEARSE_CHANGED)
        note_answer(k, tried->name, answer, err);
    ek_free(tried->name);
    ek_free(tried);
}

/* ---- Tries ---- */

static void ask_about(struct kind *k, enum ek_rehearse_request request, const char *name,
                      const char *body, bool last)
{
    static const char *const methods[] = {"GET", "PUT", "POST"};
    struct tried *tried = ek_xalloc(sizeof *tried);
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_rehearse_object_path(&path, k->type, name, request == EK_REHEARSE_CREATE);
    if (request != EK_REHEARSE_READ)
        ek_buf_puts(&path, k->rewrite && request == EK_REHEARSE_UPDATE ? IN_EARNEST : DRY_RUN);
    *tried = (struct tried){k, ek_xstrdup(name), request, last};
    ek_rehearse_ask_send(k->s->ask, k->s->client,
                         &(struct ek_request){.method = methods[request],
                                              .path = ek_buf_str(&path),
                                              .content_type = body ? "application/json" : NULL,
                                              .body = body,
                                              .body_size = body ? strlen(body) : 0,
                                              .max_body = OBJECT_MAX},
                         on_tried, tried);
}

/* The object as JSON; for a creation without what a server gives. Owned. */
static char *body_of(const struct kind *k, yyjson_val *object, bool create)
{
    static const char *const given[] = {
        "uid",           "resourceVersion",   "creationTimestamp", "generation",
        "managedFields", "deletionTimestamp", "selfLink",          "deletionGracePeriodSeconds"};
    yyjson_mut_doc *doc =
        ek_rehearse_copy_object(k->type, object, given, create ? EK_ARRAY_SIZE(given) : 0);
    char *text = yyjson_mut_write_opts(doc, 0, &ek_json_xalc, NULL, NULL);

    yyjson_mut_doc_free(doc);
    return text;
}

static void try_object(struct kind *k, yyjson_val *object, const char *name, bool last)
{
    if (k->silent >= SILENT_MAX || k->tried >= k->s->dry_runs) {
        k->s->counts.not_tried++;
        return;
    }
    k->tried++;
    if (k->update) {
        EK_AUTOFREE char *body = body_of(k, object, false);
        k->s->counts.updates += !k->rewrite;
        k->s->counts.rewritten += k->rewrite;
        ask_about(k, EK_REHEARSE_UPDATE, name, body, last);
    }
    if (k->recreate) {
        EK_AUTOFREE char *body = body_of(k, object, true);
        k->s->counts.creates++;
        ask_about(k, EK_REHEARSE_CREATE, name, body, last);
    }
}

/* ---- Objects ---- */

static void note_conditions(struct kind *k, yyjson_val *object, const char *name)
{
    struct ek_rehearse_survey *s = k->s;
    struct ek_arena *arena = s->report->arena;

    if (k->n_conditions++ >= CONDITIONS_MAX)
        return;
    char *now = ek_rehearse_conditions(object, arena);
    const char *key = ek_arena_printf(arena, "%s/%s", k->type->resource, name);
    const char *then = ek_map_get(s->conditions, key);
    enum ek_rehearse_severity severity;
    const char *changed = then ? ek_rehearse_conditions_changed(then, now, arena, &severity) : NULL;

    if (changed) {
        EK_AUTOFREE char *what = object_text(k, name);
        ek_rehearse_report_add(s->report, s->step, severity, "condition-changed", what, changed);
    }
    ek_map_put(s->conditions, key, now);
}

/* "shop/web"; owned. */
static char *name_of(const struct kind *k, yyjson_val *object)
{
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);
    const char *name = ek_json_str(object, "metadata", "name", NULL);

    return k->type->namespaced ? ek_xasprintf("%s/%s", namespace ? namespace : "", name ? name : "")
                               : ek_xstrdup(name ? name : "");
}

static void take_object(struct kind *k, yyjson_val *object)
{
    EK_AUTOFREE char *name = name_of(k, object);

    if (!*name)
        return;
    if (k->conditions)
        note_conditions(k, object, name);
    if ((k->update || k->recreate) && k->seen % k->stride == 0)
        try_object(k, object, name, false);
    else
        k->s->counts.not_tried += k->update || k->recreate;
    k->seen++;
    k->s->counts.objects++;
}

/* Reads an object once more, and tries it; sends nothing from inside an answer. */
static void try_again(struct kind *k)
{
    ek_rehearse_ask_drain(k->s->ask);
    for (size_t i = 0; i < k->n_again; i++) {
        EK_AUTO(ek_buf) path;
        struct ek_err err = {0};
        ek_buf_init(&path, EK_BUF_SMALL_MAX);
        ek_rehearse_object_path(&path, k->type, k->again[i], false);
        yyjson_doc *doc = ek_rehearse_ask_one(
            k->s->ask, k->s->client, &(struct ek_request){.path = ek_buf_str(&path)}, &err);
        if (doc && yyjson_is_obj(yyjson_doc_get_root(doc)))
            try_object(k, yyjson_doc_get_root(doc), k->again[i], true);
        yyjson_doc_free(doc);
        ek_free(k->again[i]);
    }
    k->n_again = 0;
    ek_rehearse_ask_drain(k->s->ask);
}

/* ---- Kinds whose list fails ---- */

/* The names below the folder of a kind, as etcd has them. */
struct names {
    const char *root, *folder;
    char **list; /* owned */
    size_t n, beyond;
};

static bool on_name(void *ctx, const char *key, const char *value, size_t size)
{
    struct names *names = ctx;
    const char *name = ek_rehearse_name_of_key(names->root, names->folder, key);

    (void)value;
    (void)size;
    if (name && names->n < SINGLE_MAX) {
        names->list = ek_xrealloc(names->list, names->n + 1, sizeof *names->list);
        names->list[names->n++] = ek_xstrdup(name);
    } else {
        names->beyond += name != NULL;
    }
    return true;
}

/* Finds the objects that make a list fail, one by one, and tries some of the others. */
static void read_single(struct kind *k, const struct ek_err *why)
{
    struct ek_rehearse_survey *s = k->s;
    struct names names = {.root = s->root, .folder = k->folder};
    EK_AUTOFREE char *prefix = ek_xasprintf("%s/%s/", s->root, k->folder);
    enum ek_rehearse_answer answer = ek_rehearse_answer_of(EK_REHEARSE_READ, why);
    struct ek_err err = {0};

    s->counts.objects -= k->seen; /* pages before the one that failed are read again */
    k->seen = 0;
    /* A token that etcd has compacted meanwhile: the names come from etcd. */
    bool expired = why->http_status == 410;
    if (!expired && answer != EK_REHEARSE_UNDECODABLE && answer != EK_REHEARSE_ENCRYPTED) {
        /* A list that is not found is no empty list. */
        note_answer(k, "", answer == EK_REHEARSE_FINE ? EK_REHEARSE_SILENT : answer, why);
        return;
    }
    ek_rehearse_keys(s->ask, s->etcd, prefix, false, on_name, &names, &err);
    for (size_t i = 0; i < names.n; i++) {
        if (k->silent < SILENT_MAX)
            ask_about(k, EK_REHEARSE_READ, names.list[i], NULL, true);
        else
            s->counts.not_tried++;
    }
    ek_rehearse_ask_drain(s->ask);
    for (size_t i = 0; i < names.n; i++) {
        if (k->update && k->n_again < AGAIN_MAX)
            k->again[k->n_again++] = ek_xstrdup(names.list[i]);
        ek_free(names.list[i]);
    }
    ek_free(names.list);
    k->seen += names.n;
    s->counts.objects += names.n;
    s->counts.not_tried += names.beyond;
    if (names.beyond && expired)
        note_answer(k, "", EK_REHEARSE_SILENT, why);
    else if (!k->broken && !expired)
        note_answer(k, "", answer, why);
    try_again(k);
}

/* ---- Lists ---- */

static void set_stride(struct kind *k, yyjson_val *root)
{
    uint64_t rest = yyjson_get_uint(ek_json_get(root, "metadata", "remainingItemCount", NULL));
    size_t total = yyjson_arr_size(yyjson_obj_get(root, "items")) + (size_t)rest;

    k->stride = k->s->dry_runs ? (total + k->s->dry_runs - 1) / k->s->dry_runs : 1;
    k->stride = k->stride ? k->stride : 1;
}

/* One page; *token is what comes behind it, owned, "" at the end. */
static bool read_page(struct kind *k, char **token, struct ek_err *err)
{
    struct ek_rehearse_survey *s = k->s;
    yyjson_val *item;
    size_t i, n;
    yyjson_doc *doc = ek_rehearse_list_page(s->ask, s->client, k->type, k->limit, *token, 0, err);

    if (!doc)
        return false;
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *next = ek_json_str(root, "metadata", "continue", NULL);
    if (!k->stride)
        set_stride(k, root);
    yyjson_arr_foreach(yyjson_obj_get(root, "items"), i, n, item)
    {
        take_object(k, item);
    }
    ek_free(*token);
    *token = ek_xstrdup(next ? next : "");
    yyjson_doc_free(doc);
    try_again(k);
    s->progress(s->progress_ctx, s->counts.objects);
    return true;
}

static void read_kind(struct kind *k)
{
    char *token = ek_xstrdup("");
    struct ek_err err = {0};
    bool more = true;

    for (int page = 0; more && page < EK_REHEARSE_PAGES_MAX && !ek_rehearse_ask_stopped(k->s->ask);
         page++) {
        if (!read_page(k, &token, &err)) {
            k->limit = ek_rehearse_page_limit(k->limit, &err);
            if (k->limit)
                continue; /* the same page, smaller */
            if (err.code != EK_E_CANCELED)
                read_single(k, &err);
            break;
        }
        more = *token != '\0';
    }
    ek_free(token);
    k->s->counts.kinds++;
}

/* ---- All kinds ---- */

static bool is_policy(const struct ek_rehearse_type *t)
{
    return !strcmp(t->group, "admissionregistration.k8s.io");
}

/* Events come and go, and nobody updates them. */
static bool is_event(const struct ek_rehearse_type *t)
{
    return !strcmp(t->resource, "events") && (!*t->group || !strcmp(t->group, "events.k8s.io"));
}

static void set_rewrite(struct kind *k)
{
    const struct ek_rehearse_view *first = k->s->first;

    for (size_t i = 0; first && i < first->n_types; i++) {
        const struct ek_rehearse_type *t = &first->types[i];
        if (!strcmp(t->group, k->type->group) && !strcmp(t->resource, k->type->resource) &&
            *t->hash && *k->type->hash && strcmp(t->hash, k->type->hash) != 0)
            k->rewrite = true;
    }
}

/* A kind whose objects a webhook converts: no request, which might need the webhook. */
static bool is_remote(struct ek_rehearse_survey *s, const struct ek_rehearse_type *type)
{
    EK_AUTOFREE char *name = ek_xasprintf("%s/%s", type->group, type->resource);
    const size_t *stored = ek_map_get(s->folders, name);
    char text[128];

    if (!ek_map_get(s->remote, name))
        return false;
    s->counts.not_shown += stored ? *stored : 0;
    snprintf(text, sizeof text, "a webhook converts the objects of this kind: %zu are not shown",
             stored ? *stored : 0);
    ek_rehearse_report_add(s->report, s->step, EK_REHEARSE_UNKNOWN, "conversion-webhook", name,
                           text);
    return true;
}

static void survey_kind(struct ek_rehearse_survey *s, const struct ek_rehearse_type *type)
{
    struct kind *k = ek_xalloc(sizeof *k);
    bool definition = !strcmp(type->resource, "customresourcedefinitions");

    k->s = s;
    k->type = type;
    k->limit = EK_REHEARSE_PAGE;
    ek_rehearse_folder_of(type->group, type->resource, true, k->folder);
    k->custom = *type->group && ek_map_get(s->folders, k->folder) && !definition &&
                strcmp(type->resource, "apiservices") != 0;
    if (!k->custom)
        ek_rehearse_folder_of(type->group, type->resource, false, k->folder);
    k->update = type->can_update && !is_event(type);
    k->recreate = type->can_create && (k->custom || definition || is_policy(type));
    k->conditions = ek_rehearse_has_conditions(type->group, type->resource);
    set_rewrite(k);
    read_kind(k);
    ek_free(k);
}

void ek_rehearse_survey_objects(struct ek_rehearse_survey *survey)
{
    const struct ek_rehearse_view *view = survey->view;
    const struct ek_rehearse_type *last = NULL;

    for (size_t i = 0; i < view->n_types && !ek_rehearse_ask_stopped(survey->ask); i++) {
        const struct ek_rehearse_type *type = &view->types[i];
        bool again =
            last && !strcmp(last->group, type->group) && !strcmp(last->resource, type->resource);
        if (again || !type->can_list)
            continue;
        last = type;
        if (!is_remote(survey, type))
            survey_kind(survey, type);
    }
}
