/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/mutate.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/gotypes/internal_form.h"
#include "api/gotypes/structural.h"
#include "api/gotypes/typed.h"
#include "api/gotypes/undeclared.h"
#include "api/obj.h"
#include "api/schema/merge.h"
#include "reconcilers/mutation/authored.h"
#include "reconcilers/mutation/extended.h"
#include "reconcilers/mutation/patch_value.h"
#include "reconcilers/mutation/views.h"

/* ---- The object between mutations ---- */

void ek_working_init(struct ek_working *working, yyjson_val *object)
{
    *working = (struct ek_working){.base = object};
}

void ek_working_done(struct ek_working *working)
{
    yyjson_doc_free(working->doc);
    yyjson_mut_doc_free(working->tree);
    *working = (struct ek_working){0};
}

int ek_working_open(struct ek_working *working)
{
    if (working->tree || !working->base)
        return 0;
    working->tree = yyjson_mut_doc_new(&ek_json_alc);
    yyjson_mut_val *root = working->tree ? yyjson_val_mut_copy(working->tree, working->base) : NULL;
    if (!root)
        return EK_E_NOMEM;
    yyjson_mut_doc_set_root(working->tree, root);
    return 0;
}

yyjson_val *ek_working_object(struct ek_working *working)
{
    if (!working->changed)
        return working->base;
    if (!working->doc)
        working->doc = yyjson_mut_doc_imut_copy(working->tree, &ek_json_alc);
    return yyjson_doc_get_root(working->doc);
}

static void changed(struct ek_working *working)
{
    if (working->save && !*working->save)
        *working->save = working->doc;
    else
        yyjson_doc_free(working->doc);
    working->doc = NULL;
    working->dirty = working->changed = true;
}

/* A JSON Patch may have left a custom resource another version, or none. */
static void restore_version(struct ek_run *run, yyjson_mut_val *root)
{
    const struct ek_gvk *kind = &run->request->kind;
    yyjson_mut_val *version = yyjson_mut_obj_get(root, "apiVersion");
    const char *text = yyjson_mut_get_str(version), *its_kind;
    size_t len = strlen(kind->group);

    if (text && !strncmp(text, kind->group, len) && text[len] == '/') {
        if (strcmp(text + len + 1, kind->version) != 0)
            yyjson_mut_set_str(version,
                               ek_arena_printf(run->arena, "%s/%s", kind->group, kind->version));
        return;
    }
    its_kind = yyjson_mut_get_str(yyjson_mut_obj_get(root, "kind"));
    ek_err_set(&run->status, EK_E_SERVER,
               "Internal error occurred: failed to convert object: %s%s, Kind=%s is unstructured "
               "and is not suitable for converting to \"%s/%s\"",
               text && strchr(text, '/') ? "" : "/", text ? text : "", its_kind ? its_kind : "",
               kind->group, kind->version);
    run->status.http_status = 500;
    snprintf(run->status.reason, sizeof run->status.reason, "InternalError");
}

/* A copy of the tree, owned, before what is not of the policies is added; NULL where nobody asks.
 */
static yyjson_doc *before_defaults(const struct ek_working *working, const struct ek_run *run)
{
    return run->options->trace ? yyjson_mut_doc_imut_copy(working->tree, &ek_json_alc) : NULL;
}

/* Keeps what policies wrote apart. before: the object before the mutation; patched: of
 * before_defaults, freed here. */
static void keep_authored(struct ek_working *working, struct ek_run *run, yyjson_val *before,
                          yyjson_doc *patched)
{
    if (!patched)
        return;
    yyjson_doc *settled = yyjson_mut_doc_imut_copy(working->tree, &ek_json_alc);
    const struct ek_authored_step step = {before, yyjson_doc_get_root(patched),
                                          yyjson_doc_get_root(settled)};
    if (step.settled && (working->authored || !ek_json_equal(step.patched, step.settled)))
        working->authored =
            ek_authored(working->authored ? working->authored : before, &step, run->arena);
    yyjson_doc_free(settled);
    yyjson_doc_free(patched);
}

int ek_working_convert(struct ek_working *working, struct ek_run *run)
{
    yyjson_mut_val *root = yyjson_mut_doc_get_root(working->tree);
    yyjson_doc *before = before_defaults(working, run);
    int rc = ek_internal_form(&run->request->kind, working->tree, root, working->base,
                              run->options->work);

    keep_authored(working, run, yyjson_doc_get_root(before), before);
    if (!rc && yyjson_mut_is_obj(root) && strchr(run->request->kind.group, '.'))
        restore_version(run, root);
    yyjson_doc_free(working->doc);
    working->doc = NULL;
    return rc;
}

/* ---- One mutation ---- */

/* A mutation under way. */
struct step {
    struct ek_run *run;
    const struct ek_invocation *invocation;
    const struct ek_policy *policy;
    struct ek_working *working;
    yyjson_val *before; /* the object that the mutation started from */
    const struct ek_schema *schema;
    uint32_t type; /* EK_SCHEMA_NONE when the schema knows no such kind */
    bool extended;
    unsigned merge_flags;
    struct ek_err kind_error;
    struct ek_buf text;
};

/* Kinds whose objects the API server decodes into Go structs: its documents call them so. */
static bool is_built_in(const struct step *s)
{
    static const char *const prefixes[] = {"io.k8s.api.", "io.k8s.kube-aggregator."};

    if (s->type == EK_SCHEMA_NONE)
        return false;
    struct ek_str name = ek_schema_text(s->schema, ek_schema_type(s->schema, s->type)->name);
    for (size_t i = 0; i < EK_ARRAY_SIZE(prefixes); i++)
        if (!strncmp(name.p, prefixes[i], strlen(prefixes[i])))
            return true;
    return false;
}

static const char *kept(struct step *s, const char *prefix)
{
    return ek_arena_printf(s->run->arena, "%s%s", prefix, ek_buf_str(&s->text));
}

/* The schema that the mutation before used, if it is for the same kind. */
static bool recall_schema(struct step *s)
{
    const struct ek_known_schema *known = &s->run->schema;
    const struct ek_gvk *kind = &s->invocation->kind;

    if (!known->schema || known->type == EK_SCHEMA_NONE ||
        strcmp(known->kind.kind, kind->kind) != 0 ||
        strcmp(known->kind.version, kind->version) != 0 ||
        strcmp(known->kind.group, kind->group) != 0)
        return false;
    s->schema = known->schema;
    s->type = known->type;
    return true;
}

/* Finds the schema; false when the run ends here. */
static bool find_schema(struct step *s)
{
    struct ek_run *run = s->run;
    const struct ek_gvk *kind = &s->invocation->kind;
    struct ek_err err = {0};

    if (recall_schema(s))
        return true;
    switch (run->world->schema(run->world->arg, kind, &s->schema, &err)) {
    case EK_WORLD_FOUND:
        if (ek_schema_find_kind(s->schema, kind->group, kind->version, kind->kind, &s->type,
                                &s->kind_error))
            s->type = EK_SCHEMA_NONE;
        run->schema = (struct ek_known_schema){*kind, s->schema, s->type};
        return true;
    case EK_WORLD_PENDING:
        run->pending = true;
        return false;
    case EK_WORLD_ABSENT:
    case EK_WORLD_FAILED:
        break;
    }
    ek_err_set(&run->status, EK_E_SERVER,
               "Resource kind %s/%s, Kind=%s not found. There can be a delay between when "
               "CustomResourceDefinitions are created and when they are available.",
               kind->group, kind->version, kind->kind);
    run->status.http_status = 503;
    snprintf(run->status.reason, sizeof run->status.reason, "ServiceUnavailable");
    return false;
}

/* Puts the tree back as it was before the mutation; the document still is. */
static void undo(struct step *s)
{
    struct ek_working *working = s->working;
    yyjson_mut_val *root = yyjson_val_mut_copy(working->tree, s->before);

    if (!root)
        s->run->error = EK_E_NOMEM;
    yyjson_mut_doc_set_root(working->tree, root);
}

/* An error of the request, not of the policy
 * (apiserver/pkg/admission/plugin/policy/mutating/patch/json_patch.go: Patch). */
static void fail_request(struct step *s, const char *message)
{
    struct ek_run *run = s->run;

    ek_err_set(&run->status, EK_E_SERVER, "Internal error occurred: %s", message);
    run->status.http_status = 500;
    snprintf(run->status.reason, sizeof run->status.reason, "InternalError");
}

static bool put_back(struct step *s, yyjson_mut_val *root, const char *name, const char *value)
{
    yyjson_mut_val *old = yyjson_mut_obj_get(root, name);

    if (old)
        yyjson_mut_set_str(old, value);
    else if (!yyjson_mut_obj_add_str(s->working->tree, root, name, value))
        s->run->error = EK_E_NOMEM;
    return true;
}

/* What a JSON Patch made of kind and apiVersion: decoding restores them where they are missing, and
 * knows no others. Custom resources need a kind, the rest is seen to at the end. */
static bool keeps_kind(struct step *s, yyjson_mut_val *root, const char **ret_error)
{
    const struct ek_gvk *kind = &s->invocation->kind;
    struct ek_arena *arena = s->run->arena;
    const char *its_kind = yyjson_mut_get_str(yyjson_mut_obj_get(root, "kind"));
    const char *its_version = yyjson_mut_get_str(yyjson_mut_obj_get(root, "apiVersion"));
    const char *version =
        *kind->group ? ek_arena_printf(arena, "%s/%s", kind->group, kind->version) : kind->version;

    if (!yyjson_mut_is_obj(root) ||
        (its_kind && its_version && !strcmp(its_kind, kind->kind) && !strcmp(its_version, version)))
        return true;
    bool no_kind = !its_kind || !*its_kind, no_version = !its_version || !*its_version;
    if (!is_built_in(s) && s->type != EK_SCHEMA_NONE) {
        char *text = no_kind ? yyjson_mut_val_write(root, 0, NULL) : NULL;
        *ret_error = ek_arena_printf(arena, "Object 'Kind' is missing in '%s'", text ? text : "");
        ek_free(text);
        return !no_kind;
    }
    if ((no_kind || !strcmp(its_kind, kind->kind)) && (no_version || !strcmp(its_version, version)))
        return put_back(s, root, "kind", kind->kind) && put_back(s, root, "apiVersion", version);
    *ret_error =
        ek_arena_printf(arena,
                        "no kind \"%s\" is registered for version \"%s\" in scheme "
                        "\"pkg/api/legacyscheme/scheme.go:30\"",
                        no_kind ? kind->kind : its_kind, no_version ? version : its_version);
    return false;
}

/* The same way for kinds that documents do not declare. */
static const char *settle_undeclared(struct step *s)
{
    const char *error = NULL;
    uint32_t type;
    int rc;
    struct ek_schema *schema = ek_undeclared_schema(&s->invocation->kind, &type, &rc);

    if (schema) {
        struct ek_typed typed = {schema, type,          s->working->tree,
                                 true,   s->run->arena, s->run->options->work};
        rc = ek_typed_settle(&typed, yyjson_mut_doc_get_root(s->working->tree), s->working->base,
                             &error);
        ek_schema_unref(schema);
    }
    if (rc && rc != EK_E_INVAL)
        s->run->error = rc;
    if (rc == EK_E_INVAL) {
        undo(s);
        fail_request(s, error);
    }
    return NULL;
}

/*
 * The way through the server's structs and defaults. decoded: after a JSON Patch, which is read
 * strictly. Returns the error of the policy, if there is one; the tree is then as before.
 */
static const char *settle(struct step *s, bool decoded)
{
    const struct ek_gvk *kind = &s->invocation->kind;
    struct ek_work *work = s->run->options->work;
    struct ek_typed typed = {s->schema, s->type, s->working->tree, decoded, s->run->arena, work};
    yyjson_mut_val *root = yyjson_mut_doc_get_root(s->working->tree);
    const char *error = NULL;
    int rc = 0;

    if (decoded && !keeps_kind(s, root, &error)) {
        undo(s);
        fail_request(s, error);
        return NULL;
    }
    if (s->type == EK_SCHEMA_NONE)
        return decoded ? settle_undeclared(s) : NULL;
    yyjson_doc *patched = before_defaults(s->working, s->run);
    if (is_built_in(s))
        rc = ek_typed_settle(&typed, root, s->working->base, &error);
    else
        rc = ek_structural_defaults(s->schema, s->type, s->working->tree, root, s->working->base,
                                    work);
    if (rc == EK_E_NOMEM || rc == EK_E_CANCELED)
        s->run->error = rc;
    if (rc != EK_E_INVAL) {
        keep_authored(s->working, s->run, s->before, patched);
        return NULL;
    }
    yyjson_doc_free(patched);
    undo(s);
    if (!decoded)
        return ek_arena_printf(s->run->arena,
                               "unable to convert unstructured object to %s/%s, Kind=%s: %s",
                               kind->group, kind->version, kind->kind, error);
    fail_request(s, error);
    return NULL;
}

static const char *apply_error(struct step *s, int rc, const char *what)
{
    if (rc == EK_E_NOMEM || rc == EK_E_CANCELED)
        s->run->error = rc;
    return kept(s, ek_arena_printf(s->run->arena, "error applying patch: %s", what));
}

/* Makes the patch of an ApplyConfiguration. Returns the error, NULL when it went well. */
static const char *make_patch(struct step *s, const struct ek_cel_val *value,
                              struct ek_merge_patch *ret)
{
    yyjson_mut_doc *tree = s->working->tree;
    struct ek_work *work = s->run->options->work;
    struct ek_err err = {0};
    int rc = 0;

    if (s->extended)
        rc = ek_extended_patch(value, s->schema, s->type, tree, s->run->arena, work, ret, &err);
    else
        ret->value = ek_patch_from_object(value, false, tree, work, &err);
    if (err.code == EK_E_NOMEM || err.code == EK_E_CANCELED)
        s->run->error = err.code;
    if (rc || (!s->extended && !ret->value))
        return s->extended || err.code != EK_E_INVAL ? ek_arena_strdup(s->run->arena, err.message)
                                                     : "invalid return type: *dynamic.ObjectVal";
    /* The server writes the live ones over whatever the patch says. */
    yyjson_mut_obj_remove_key(ret->value, "apiVersion");
    yyjson_mut_obj_remove_key(ret->value, "kind");
    return NULL;
}

/* ApplyConfiguration. Returns the error, NULL when it went well. */
static const char *apply_object(struct step *s, const struct ek_cel_val *value)
{
    struct ek_arena *arena = s->run->arena;
    struct ek_work *work = s->run->options->work;
    yyjson_mut_doc *tree = s->working->tree;
    yyjson_mut_val *live = yyjson_mut_doc_get_root(tree);
    struct ek_merge_patch patch = {0};

    if (value->kind != EK_CEL_STRUCT)
        return ek_arena_printf(arena,
                               "unsupported return type from ApplyConfiguration expression: %s",
                               ek_cel_type_name(value));
    const char *names = ek_patch_check_type_names(value, arena);
    if (names)
        return ek_arena_printf(arena, "type mismatch: %s", names);
    const char *error = make_patch(s, value, &patch);
    if (error)
        return error;
    if (s->type == EK_SCHEMA_NONE)
        return ek_arena_printf(
            arena, "error applying patch: failed to convert patch object to typed object: %s",
            s->kind_error.message);
    int rc = 0;
    if (s->invocation->view && is_built_in(s))
        return ek_merge_validate(s->schema, s->type, patch.value, 0, work, &s->text, NULL)
                   ? apply_error(s, EK_E_INVAL, "failed to convert patch object to typed object: ")
                   : ek_view_lost(s->invocation->view, s->run);
    if (!s->working->checked)
        rc = ek_merge_validate(s->schema, s->type, live, EK_MERGE_DUPLICATES, work, &s->text, NULL);
    if (rc)
        return apply_error(s, rc, "failed to convert original object to typed object: ");
    s->working->checked = true;
    patch.work = work;
    rc = ek_merge_apply(s->schema, s->type, tree, live, &patch, s->merge_flags, &s->text, NULL);
    return rc ? apply_error(s, rc, "") : settle(s, false);
}

static const char *apply_operations(struct step *s, const struct ek_cel_val *value)
{
    struct ek_arena *arena = s->run->arena;
    yyjson_mut_doc *tree = s->working->tree;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(tree);
    struct ek_jsonpatch_op *ops;
    struct ek_err err = {0};
    size_t n;

    if (value->kind != EK_CEL_LIST)
        return "type mismatch: JSONPatchType.expression should evaluate to array";
    if (ek_patch_from_operations(value, s->extended, tree, arena, s->run->options->work, &ops, &n,
                                 &err)) {
        if (err.code == EK_E_NOMEM || err.code == EK_E_CANCELED)
            s->run->error = err.code;
        return ek_arena_strdup(arena, err.message);
    }
    if (s->invocation->view && is_built_in(s))
        return ek_view_lost(s->invocation->view, s->run);
    int rc = ek_jsonpatch_apply(tree, &root, ops, n, EK_JSONPATCH_QUOTED, s->run->options->work,
                                &s->text, NULL);
    if (rc == EK_E_CONFLICT) /* a test that fails skips the whole mutation, silently */
        return NULL;
    if (rc == EK_E_NOMEM || rc == EK_E_CANCELED)
        s->run->error = rc;
    if (rc)
        return kept(s, "JSON Patch: ");
    yyjson_mut_doc_set_root(tree, root);
    s->working->checked = false;
    return settle(s, true);
}

static const char *evaluate_and_apply(struct step *s, size_t i, struct ek_mutation_result *ret)
{
    const struct ek_mutation *mutation = &s->policy->mutations[i];
    const struct ek_gvk *kind = &s->run->request->kind;
    uint64_t budget = EK_CEL_MUTATION_BUDGET;
    struct ek_scope scope;
    struct ek_evaluation e;

    bool own_namespace = !*kind->group && !strcmp(kind->kind, "Namespace");
    ek_scope_init(&scope, s->run, s->invocation, s->before,
                  own_namespace ? NULL : s->run->namespace_object);
    scope.objects = (struct ek_objects){s->schema, s->type, s->merge_flags, s->run->options->work};
    ek_scope_evaluate(&scope, &mutation->expression, &budget, &e);
    ret->cost = e.cost;
    ret->kind = e.kind;
    if (e.error || s->run->error || s->run->pending)
        return e.error;
    return mutation->type == EK_MUTATION_APPLY ? apply_object(s, &e.value)
                                               : apply_operations(s, &e.value);
}

void ek_mutate(struct ek_run *run, const struct ek_invocation *invocation, size_t i,
               struct ek_working *working, struct ek_mutation_result *ret)
{
    const struct ek_policy *policy = invocation->bound->policy;
    struct step s = {.run = run,
                     .invocation = invocation,
                     .policy = policy,
                     .working = working,
                     .extended = policy->behaviour == EK_POLICY_EXTENDED,
                     .merge_flags = policy->mutations[i].replace_atomics ? EK_MERGE_ATOMIC : 0};

    *ret = (struct ek_mutation_result){0};
    if (!find_schema(&s))
        return;
    s.before = ek_working_object(working);
    if (!s.before || ek_working_open(working)) {
        run->error = EK_E_NOMEM;
        return;
    }
    ek_buf_init(&s.text, EK_MERGE_TEXT_MAX);
    ret->error = evaluate_and_apply(&s, i, ret);
    if (ek_work_is_over(run->options->work))
        run->error = EK_E_CANCELED;
    ek_buf_done(&s.text);
    if (ret->error && !ret->kind)
        ret->kind = EK_STEP_INVALID_ERROR;
    if (!ret->error && !run->status.code)
        changed(working);
}
