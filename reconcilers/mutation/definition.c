/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/definition.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"

#define OWN_GROUP   "evenkeel.dev"
#define MESSAGE_MAX ((size_t)16 << 20)

/* One check. */
struct check {
    const struct ek_admission_request *request;
    const struct ek_definition_world *world;
    struct ek_arena *arena;
    struct ek_definition_outcome *out;
};

static void deny(const struct check *c, int code, const char *reason, const char *message)
{
    c->out->allowed = false;
    c->out->code = code;
    c->out->reason = reason;
    c->out->message = message;
}

/* ---- Users as the API server prints them ---- */

static int compare_keys(const void *a, const void *b)
{
    yyjson_val *const *x = a, *const *y = b;
    return strcmp(yyjson_get_str(*x), yyjson_get_str(*y));
}

static void put_list(struct ek_buf *out, yyjson_val *list)
{
    yyjson_val *v;
    size_t i, n;

    ek_buf_puts(out, "[");
    yyjson_arr_foreach(list, i, n, v)
        ek_buf_printf(out, "%s%s", i ? " " : "", yyjson_is_str(v) ? yyjson_get_str(v) : "");
    ek_buf_puts(out, "]");
}

/* Go prints maps in the order of their keys. */
static void put_map(struct ek_buf *out, yyjson_val *map, struct ek_arena *arena)
{
    size_t n = 0, size = yyjson_obj_size(map), i, max;
    yyjson_val **keys = ek_arena_alloc(arena, (size + 1) * sizeof(yyjson_val *));
    yyjson_val *key, *value;

    ek_json_each_member(map, i, max, key, value) keys[n++] = key;
    if (n)
        qsort(keys, n, sizeof(yyjson_val *), compare_keys);
    ek_buf_puts(out, "map[");
    for (i = 0; i < n; i++) {
        ek_buf_printf(out, "%s%s:", i ? " " : "", yyjson_get_str(keys[i]));
        put_list(out, yyjson_obj_iter_get_val(keys[i]));
    }
    ek_buf_puts(out, "]");
}

/* "%v" of a user.DefaultInfo: "&{alice  [system:authenticated] map[]}". */
static const char *user_text(const struct check *c)
{
    yyjson_val *user = c->request->user_info;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, MESSAGE_MAX);
    ek_buf_printf(&out, "&{%s %s ", ek_json_text(user, "username"), ek_json_text(user, "uid"));
    put_list(&out, yyjson_obj_get(user, "groups"));
    ek_buf_puts(&out, " ");
    put_map(&out, yyjson_obj_get(user, "extra"), c->arena);
    ek_buf_puts(&out, "}");
    return ek_arena_strdup(c->arena, ek_buf_str(&out));
}

static bool is_superuser(const struct check *c)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(c->request->user_info, "groups"), i, n, v)
    {
        if (yyjson_equals_str(v, "system:masters"))
            return true;
    }
    return false;
}

/* ---- Permissions ---- */

/* The known parts of a paramKind; the rest is "*", which requires more rights. */
struct target {
    const char *group, *resource;
    const char *unknown; /* why the least permission is not known; NULL: it is */
};

/* False: not known yet. */
static bool resolve(const struct check *c, yyjson_val *param_kind, struct target *target)
{
    const char *api_version = ek_json_text(param_kind, "apiVersion"),
               *kind = ek_json_text(param_kind, "kind");
    const char *slash = strchr(api_version, '/'), *resource = NULL;

    if (slash && strchr(slash + 1, '/')) {
        target->unknown =
            ek_arena_printf(c->arena, "unable to parse paramKind &{%s %s}", api_version, kind);
        return true;
    }
    target->group =
        slash ? ek_arena_strndup(c->arena, api_version, (size_t)(slash - api_version)) : "";
    enum ek_world_answer answer = c->world->resource(c->world->arg, api_version, kind, &resource);
    if (answer == EK_WORLD_PENDING)
        return false;
    if (answer == EK_WORLD_FOUND)
        target->resource = resource;
    else
        target->unknown =
            ek_arena_printf(c->arena, "unable to resolve paramKind &{%s %s}", api_version, kind);
    return true;
}

/* False: not known yet. Otherwise *ret_error is why the user may not: "" without a reason of its
 * own; NULL: the user may. */
static bool is_decided(const struct check *c, const struct ek_cel_authz_attributes *what,
                       const char **ret_error)
{
    struct ek_cel_authz_decision decision = {0};

    if (c->world->authorize(c->world->arg, what, &decision) == EK_WORLD_PENDING)
        return false;
    if (decision.error.p)
        *ret_error = ek_arena_strndup(c->arena, decision.error.p, decision.error.len);
    else
        *ret_error = decision.allowed ? NULL : "";
    return true;
}

static void forbid(const struct check *c, const char *field, const char *why)
{
    deny(c, 422, "Invalid",
         ek_arena_printf(c->arena, "%s." OWN_GROUP " \"%s\" is invalid: %s: Forbidden: %s",
                         ek_json_text(c->request->object, "kind"),
                         ek_json_text(yyjson_obj_get(c->request->object, "metadata"), "name"),
                         field, why));
}

/* The author of a policy. */
static void check_param_kind(const struct check *c, yyjson_val *spec, yyjson_val *old_spec)
{
    yyjson_val *kind = yyjson_obj_get(spec, "paramKind");
    yyjson_val *old_kind = yyjson_obj_get(old_spec, "paramKind");
    struct target target = {"*", "*", NULL};
    const char *error = NULL;

    if (!yyjson_is_obj(kind) || (yyjson_is_obj(old_kind) && ek_json_equal(kind, old_kind)) ||
        is_superuser(c))
        return;
    const struct ek_cel_authz_attributes what = {
        .is_resource = true, .verb = EK_STR("get"), .name = EK_STR("*"), .namespace_ = EK_STR("*")};
    struct ek_cel_authz_attributes asked = what;
    c->out->pending = !resolve(c, kind, &target);
    asked.group = ek_str_from(target.group);
    asked.resource = ek_str_from(target.resource);
    if (!c->out->pending)
        c->out->pending = !is_decided(c, &asked, &error);
    if (c->out->pending || !error)
        return;
    forbid(c, "spec.paramKind",
           *error ? error
                  : ek_arena_printf(c->arena,
                                    "user %s must have \"get\" permission on all objects of the "
                                    "referenced paramKind (kind=%s, apiVersion=%s)",
                                    user_text(c), ek_json_text(kind, "kind"),
                                    ek_json_text(kind, "apiVersion")));
}

/* Finds out what a binding's paramRef leads to. False: not known yet. */
static bool follow(const struct check *c, const char *policy_name, struct target *target)
{
    yyjson_val *policy = NULL;
    enum ek_world_answer answer = c->world->policy(c->world->arg, policy_name, &policy);

    if (answer == EK_WORLD_PENDING)
        return false;
    if (answer != EK_WORLD_FOUND) {
        target->unknown = ek_arena_printf(c->arena, "unable to get policy %s", policy_name);
        return true;
    }
    yyjson_val *kind = ek_json_get(policy, "spec", "paramKind", NULL);
    return !yyjson_is_obj(kind) || resolve(c, kind, target);
}

/* The API server's text has verb and user the wrong way round; so that messages of both groups
 * read alike, this one has, too. */
static const char *param_ref_error(const struct check *c, const char *verb, const char *unknown)
{
    if (unknown)
        return ek_arena_printf(c->arena,
                               "%s to determine minimum required permissions and user %s does not "
                               "have \"%s\" permission for all groups, versions and resources",
                               unknown, user_text(c), verb);
    return ek_arena_printf(c->arena,
                           "user %s does not have \"%s\" permission on the object referenced by "
                           "paramRef",
                           verb, user_text(c));
}

/* The author of a binding. */
static void check_param_ref(const struct check *c, yyjson_val *spec)
{
    yyjson_val *ref = yyjson_obj_get(spec, "paramRef");
    const char *name = ek_json_text(ref, "name"), *verb = *name ? "get" : "list", *error = NULL;
    struct target target = {"*", "*", NULL};

    if (!yyjson_is_obj(ref) || is_superuser(c))
        return;
    c->out->pending = !follow(c, ek_json_text(spec, "policyName"), &target);
    const struct ek_cel_authz_attributes what = {.is_resource = true,
                                                 .verb = ek_str_from(verb),
                                                 .group = ek_str_from(target.group),
                                                 .resource = ek_str_from(target.resource),
                                                 .namespace_ =
                                                     ek_str_from(ek_json_text(ref, "namespace")),
                                                 .name = ek_str_from(name)};
    if (!c->out->pending)
        c->out->pending = !is_decided(c, &what, &error);
    if (!c->out->pending && error)
        forbid(c, "spec.paramRef", *error ? error : param_ref_error(c, verb, target.unknown));
}

/* ---- The whole ---- */

static int validate(const struct check *c)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_val(c->request->object);
    const char *reason = "";
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, MESSAGE_MAX);
    if (!obj)
        return EK_E_NOMEM;
    int code = ek_policy_validate(obj, false, 0, &out, &reason);
    if (code)
        deny(c, code, reason, ek_arena_strdup(c->arena, ek_buf_str(&out)));
    return 0;
}

int ek_definition_check(const struct ek_admission_request *request,
                        const struct ek_definition_world *world, struct ek_arena *arena,
                        struct ek_definition_outcome *ret)
{
    const struct check c = {request, world, arena, ret};
    bool is_policy = !strcmp(request->resource.resource, "mutatingadmissionpolicies");
    bool is_binding = !strcmp(request->resource.resource, "mutatingadmissionpolicybindings");
    bool update = !strcmp(request->operation, "UPDATE");
    yyjson_val *spec = yyjson_obj_get(request->object, "spec");
    yyjson_val *old_spec = update ? yyjson_obj_get(request->old_object, "spec") : NULL;

    *ret = (struct ek_definition_outcome){.allowed = true};
    if (strcmp(request->resource.group, OWN_GROUP) != 0 || (!is_policy && !is_binding))
        return EK_E_INVAL;
    if (*request->subresource || (!update && strcmp(request->operation, "CREATE") != 0) ||
        (old_spec && ek_json_equal(spec, old_spec)))
        return 0;
    int rc = validate(&c);
    if (rc || !ret->allowed)
        return rc;
    if (is_policy)
        check_param_kind(&c, spec, old_spec);
    else
        check_param_ref(&c, spec);
    return 0;
}
