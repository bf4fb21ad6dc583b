/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/world.h"

#include <string.h>

#include "controller/webhook/review.h"

#define NAMESPACE_PATH "/api/v1/namespaces/"
#define POLICY_PATH    "/apis/evenkeel.dev/v1alpha1/mutatingadmissionpolicies/"
#define NAME_MAX_SIZE  253

/* Data that was requested for this review. */
struct ek_webhook_fact {
    char *key; /* of its ask */
    struct ek_webhook_fact *next;
    struct ek_webhook_review review;
    struct ek_obj *object; /* what was read; NULL: there is none, or err says why not */
    struct ek_err err;
};

/* A review that is remembered. */
struct memory {
    int64_t until_ms;
    struct ek_webhook_review review;
};

void ek_webhook_reviews_init(struct ek_lru *reviews)
{
    ek_lru_init(reviews, EK_WEBHOOK_REVIEWS_MAX, sizeof(struct memory));
}

static const struct ek_webhook_fact *find_fact(const struct ek_webhook_world *world,
                                               const char *key)
{
    const struct ek_webhook_fact *fact = world->facts;

    while (fact && strcmp(fact->key, key) != 0)
        fact = fact->next;
    return fact;
}

/* Takes the ask. */
static enum ek_world_answer want(struct ek_webhook_world *world, struct ek_webhook_ask *ask)
{
    for (const struct ek_webhook_ask *other = world->wanted; other; other = other->next) {
        if (!strcmp(other->key, ask->key)) {
            ek_webhook_ask_free(ask);
            return EK_WORLD_PENDING;
        }
    }
    if (world->n_wanted == EK_WEBHOOK_WANTED_MAX) { /* in the next round then */
        ek_webhook_ask_free(ask);
        return EK_WORLD_PENDING;
    }
    ask->next = world->wanted;
    world->wanted = ask;
    world->n_wanted++;
    return EK_WORLD_PENDING;
}

/* ---- Objects by their paths ---- */

static enum ek_world_answer fetch_path(struct ek_webhook_world *world, const char *path,
                                       yyjson_val **ret_object, struct ek_err *err)
{
    const struct ek_webhook_fact *fact = find_fact(world, path);

    if (!fact)
        return want(world, ek_webhook_ask_new(ek_xstrdup(path), ek_xstrdup(path), NULL, 0));
    if (fact->object) {
        *ret_object = ek_obj_root(fact->object);
        return EK_WORLD_FOUND;
    }
    if (!fact->err.code)
        return EK_WORLD_ABSENT;
    *err = fact->err;
    return EK_WORLD_FAILED;
}

/* The object of that name below a folder of the API, "/api/v1/namespaces/". */
static enum ek_world_answer fetch(struct ek_webhook_world *world, const char *folder,
                                  const char *name, yyjson_val **ret_object, struct ek_err *err)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_buf_puts(&path, folder);
    if (!*name || strlen(name) > NAME_MAX_SIZE || ek_uri_escape(&path, name))
        return EK_WORLD_ABSENT;
    return fetch_path(world, ek_buf_str(&path), ret_object, err);
}

/* ---- Namespaces ---- */

static enum ek_world_answer get_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                          struct ek_err *err)
{
    struct ek_webhook_world *world = arg;
    const struct ek_object_list *list = ek_webhook_snapshot_namespaces(world->snapshot);
    const struct ek_obj *obj = list ? ek_object_list_find(list, name) : NULL;

    if (!obj)
        return fetch(world, NAMESPACE_PATH, name, ret_object, err);
    *ret_object = ek_obj_root(obj);
    return EK_WORLD_FOUND;
}

/* ---- Params ---- */

/* As Go prints a GroupVersionKind: core's group is the nothing before a slash. */
static enum ek_world_answer params_failed(struct ek_err *err, int code, const char *api_version,
                                          const char *kind, const char *what)
{
    ek_err_set(err, code, "paramKind kind `%s%s, Kind=%s` %s", strchr(api_version, '/') ? "" : "/",
               api_version, kind, what);
    return EK_WORLD_FAILED;
}

static enum ek_world_answer param_scope(void *arg, const char *api_version, const char *kind,
                                        bool *ret_namespaced, struct ek_err *err)
{
    const struct ek_webhook_world *world = arg;
    const struct ek_webhook_params *params =
        ek_webhook_snapshot_params(world->snapshot, api_version, kind);

    if (!params && ek_webhook_snapshot_is_loading(world->snapshot))
        return EK_WORLD_PENDING;
    if (!params)
        return params_failed(err, EK_E_NOENT, api_version, kind, "not known");
    *ret_namespaced = params->namespaced;
    return EK_WORLD_FOUND;
}

/* Whoever forges reviews would read the Secrets of policies' params. */
static bool is_secret(const char *api_version, const char *kind)
{
    return !strcmp(api_version, "v1") && !strcmp(kind, "Secret");
}

static enum ek_world_answer add_one(const struct ek_object_list *list, const char *namespace,
                                    const char *name, void (*add)(void *arg, yyjson_val *param),
                                    void *add_arg)
{
    EK_AUTOFREE char *key = *namespace ? ek_xasprintf("%s/%s", namespace, name) : ek_xstrdup(name);
    const struct ek_obj *obj = ek_object_list_find(list, key);

    if (!obj)
        return EK_WORLD_ABSENT;
    add(add_arg, ek_obj_root(obj));
    return EK_WORLD_FOUND;
}

static enum ek_world_answer add_selected(const struct ek_object_list *list, const char *namespace,
                                         const struct ek_selector *selector,
                                         void (*add)(void *arg, yyjson_val *param), void *add_arg)
{
    EK_AUTOFREE char *prefix = *namespace ? ek_xasprintf("%s/", namespace) : ek_xstrdup("");
    enum ek_world_answer answer = EK_WORLD_ABSENT;
    const struct ek_obj *obj;

    for (size_t i = ek_object_list_seek(list, prefix); (obj = ek_object_list_at(list, i)); i++) {
        if (strncmp(ek_obj_key(obj), prefix, strlen(prefix)) != 0)
            break;
        yyjson_val *root = ek_obj_root(obj);
        if (selector &&
            !ek_selector_matches(selector, ek_json_get(root, "metadata", "labels", NULL)))
            continue;
        add(add_arg, root);
        answer = EK_WORLD_FOUND;
    }
    return answer;
}

static enum ek_world_answer get_params(void *arg, const char *api_version, const char *kind,
                                       const char *namespace, const char *name,
                                       const struct ek_selector *selector,
                                       void (*add)(void *add_arg, yyjson_val *param), void *add_arg,
                                       struct ek_err *err)
{
    const struct ek_webhook_world *world = arg;
    const struct ek_webhook_params *params =
        ek_webhook_snapshot_params(world->snapshot, api_version, kind);

    if (world->request->unproven && is_secret(api_version, kind))
        return params_failed(err, EK_E_FORBIDDEN, api_version, kind,
                             "is read for verified API servers only (--webhook-client-ca-file)");
    if ((!params || !params->objects) && ek_webhook_snapshot_is_loading(world->snapshot))
        return EK_WORLD_PENDING;
    if (!params)
        return params_failed(err, EK_E_NOENT, api_version, kind, "not known");
    if (!params->objects)
        return params_failed(err, EK_E_TIMEOUT, api_version, kind,
                             "not yet synced to use for admission");
    if (*name)
        return add_one(params->objects, namespace, name, add, add_arg);
    return add_selected(params->objects, namespace, selector, add, add_arg);
}

/* ---- Schemas ---- */

static enum ek_world_answer get_schema(void *arg, const struct ek_gvk *kind,
                                       const struct ek_schema **ret_schema, struct ek_err *err)
{
    const struct ek_webhook_world *world = arg;

    (void)err;
    *ret_schema = ek_webhook_snapshot_schema(world->snapshot, kind);
    if (*ret_schema)
        return EK_WORLD_FOUND;
    return ek_webhook_snapshot_is_loading(world->snapshot) ? EK_WORLD_PENDING : EK_WORLD_ABSENT;
}

/* ---- Access ---- */

static enum ek_world_answer report(const struct ek_webhook_review *review,
                                   struct ek_cel_authz_decision *ret)
{
    ret->allowed = review->allowed;
    ret->reason = ek_str_from(review->reason);
    if (*review->error)
        ret->error = ek_str_from(review->error);
    return EK_WORLD_FOUND;
}

static enum ek_world_answer authorize(void *arg, const struct ek_cel_authz_attributes *what,
                                      struct ek_cel_authz_decision *ret)
{
    struct ek_webhook_world *world = arg;

    /* Whoever forges reviews would read, user by user, who may do what. */
    if (world->request->unproven) {
        ret->error = EK_STR("access is reviewed for verified API servers only "
                            "(--webhook-callers, --webhook-client-ca-file)");
        return EK_WORLD_FAILED;
    }
    struct ek_webhook_ask *ask = ek_webhook_review_ask(world->request->user_info, what);
    if (!ask) {
        ret->error = EK_STR("out of memory");
        return EK_WORLD_FAILED;
    }
    /* What was learned for this request counts to its end, however old it gets. */
    const struct ek_webhook_fact *fact = find_fact(world, ask->key);
    const struct memory *memory = fact ? NULL : ek_lru_get(world->reviews, ask->key);
    if (!fact && (!memory || world->now_ms >= memory->until_ms))
        return want(world, ask);
    ek_webhook_ask_free(ask);
    return report(fact ? &fact->review : &memory->review, ret);
}

/* ---- Definitions ---- */

/* Whoever forges reviews is denied by authorize, whatever is found: nothing is read for them. */
static enum ek_world_answer get_policy(void *arg, const char *name, yyjson_val **ret_object)
{
    struct ek_webhook_world *world = arg;
    struct ek_err err;

    if (world->request->unproven)
        return EK_WORLD_ABSENT;
    return fetch(world, POLICY_PATH, name, ret_object, &err);
}

/* In an APIResourceList. A kind that two resources have is none that is known. */
static const char *find_resource(yyjson_val *list, const char *kind)
{
    const char *found = NULL;
    yyjson_val *resource;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(list, "resources"), i, n, resource)
    {
        const char *name = ek_json_str(resource, "name", NULL);
        const char *of = ek_json_str(resource, "kind", NULL);
        if (!name || !of || strcmp(of, kind) != 0 || strchr(name, '/'))
            continue;
        if (found)
            return NULL;
        found = name;
    }
    return found;
}

static enum ek_world_answer get_resource(void *arg, const char *api_version, const char *kind,
                                         const char **ret_resource)
{
    struct ek_webhook_world *world = arg;
    const char *slash = strchr(api_version, '/');
    EK_AUTOFREE char *group =
        slash ? ek_xstrndup(api_version, (size_t)(slash - api_version)) : NULL;
    const char *version = slash ? slash + 1 : api_version;
    yyjson_val *list = NULL;
    struct ek_err err;
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_buf_puts(&path, group ? "/apis/" : "/api/");
    if (world->request->unproven || !*version || strlen(api_version) > (size_t)2 * NAME_MAX_SIZE ||
        (group && (!*group || ek_uri_escape(&path, group) || ek_buf_puts(&path, "/"))) ||
        ek_uri_escape(&path, version))
        return EK_WORLD_ABSENT;
    enum ek_world_answer answer = fetch_path(world, ek_buf_str(&path), &list, &err);
    if (answer != EK_WORLD_FOUND)
        return answer;
    *ret_resource = find_resource(list, kind);
    return *ret_resource ? EK_WORLD_FOUND : EK_WORLD_ABSENT;
}

/* ---- Rounds ---- */

void ek_webhook_world_init(struct ek_webhook_world *world,
                           const struct ek_admission_request *request, struct ek_lru *reviews)
{
    *world = (struct ek_webhook_world){.request = request, .reviews = reviews};
    world->callbacks = (struct ek_mutation_world){.namespace = get_namespace,
                                                  .param_scope = param_scope,
                                                  .params = get_params,
                                                  .schema = get_schema,
                                                  .authorize = authorize,
                                                  .arg = world};
    world->definitions = (struct ek_definition_world){
        .resource = get_resource, .policy = get_policy, .authorize = authorize, .arg = world};
}

static void drop_wanted(struct ek_webhook_world *world)
{
    struct ek_webhook_ask *ask;

    while ((ask = ek_webhook_world_want(world)) != NULL)
        ek_webhook_ask_free(ask);
}

void ek_webhook_world_done(struct ek_webhook_world *world)
{
    drop_wanted(world);
    for (struct ek_webhook_fact *fact = world->facts, *next; fact; fact = next) {
        next = fact->next;
        ek_obj_unref(fact->object);
        ek_free(fact->key);
        ek_free(fact);
    }
    world->facts = NULL;
}

void ek_webhook_world_begin(struct ek_webhook_world *world,
                            const struct ek_webhook_snapshot *snapshot, int64_t now_ms)
{
    drop_wanted(world);
    world->snapshot = snapshot;
    world->now_ms = now_ms;
}

struct ek_webhook_ask *ek_webhook_world_want(struct ek_webhook_world *world)
{
    struct ek_webhook_ask *ask = world->wanted;

    if (!ask)
        return NULL;
    world->wanted = ask->next;
    world->n_wanted--;
    ask->next = NULL;
    return ask;
}

static void learn_object(struct ek_webhook_fact *fact, const struct ek_webhook_ask *ask)
{
    fact->err = ask->err;
    if (!fact->err.code)
        ek_obj_parse(ask->answer, ask->answer_size, &fact->object, &fact->err);
    else if (fact->err.code == EK_E_NOENT)
        fact->err = (struct ek_err){0};
}

static void learn_review(struct ek_webhook_world *world, struct ek_webhook_fact *fact,
                         const struct ek_webhook_ask *ask, int64_t now_ms)
{
    if (!ek_webhook_review_read(ask, &fact->review))
        return;
    struct memory *memory = ek_lru_need(world->reviews, ask->key);
    memory->until_ms = now_ms + EK_WEBHOOK_REVIEW_TTL_MS;
    memory->review = fact->review;
}

void ek_webhook_world_learn(struct ek_webhook_world *world, const struct ek_webhook_ask *ask,
                            int64_t now_ms)
{
    struct ek_webhook_fact *fact = ek_xalloc(sizeof *fact);

    fact->key = ek_xstrdup(ask->key);
    fact->next = world->facts;
    world->facts = fact;
    if (ask->body)
        learn_review(world, fact, ask, now_ms);
    else
        learn_object(fact, ask);
}
