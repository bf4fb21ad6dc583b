/* SPDX-License-Identifier: Apache-2.0 */
/* One write through the gates of its kind, without an API server: what would be stored. */
#include <string.h>

#include "api/patch/jsonpatch.h"
#include "controller/commands/gates-internal.h"
#include "reconcilers/fieldgates/decide.h"

/* The write, and what becomes of it; values are of doc where they are mutable. */
struct write {
    struct ek_gates_inputs *in;
    const char *operation, *subresource;
    const struct ek_gates_input *input; /* of its kind */
    struct ek_ci_object sent;           /* as read, and decoded */
    yyjson_val *old, *new;              /* decoded; old NULL on CREATE */
    struct ek_paths unknown;            /* fields that the decoder drops */
    yyjson_mut_doc *doc;
    struct ek_gates_outcome outcome;
    const char *invalid;    /* why the schema refuses what would be stored; NULL */
    bool moves;             /* the generation */
    int64_t old_generation; /* 0: not known */
};

static bool is_scale(yyjson_val *object)
{
    return !strcmp(ek_json_text(object, "kind"), "Scale");
}

static bool writes(const struct write *w, const char *subresource)
{
    return !strcmp(w->subresource, subresource);
}

/* ---- Inputs ---- */

static int read_one(struct ek_gates_inputs *in, const char *path, const char *flag,
                    struct ek_ci_object *ret, struct ek_err *err)
{
    struct ek_ci_objects objects = {0};
    int rc = ek_ci_read(&in->ci, path, &objects, err);

    if (!rc && objects.n != 1)
        rc = ek_err_set(err, EK_E_INVAL, "%s %s: exactly one object is required, found %zu", flag,
                        path, objects.n);
    else if (!rc)
        *ret = objects.list[0];
    ek_free(objects.list);
    return rc;
}

/* The definition for a kind, whose CRD has to be known. */
static int pick(struct write *w, yyjson_val *object, struct ek_err *err)
{
    struct ek_gvk kind = ek_ci_kind_of(&w->in->ci, object);

    for (size_t i = 0; i < w->in->n; i++) {
        const struct ek_gates_input *input = &w->in->list[i];
        if (!input->resolved)
            continue;
        if (strcmp(input->resolution.crd.group, kind.group) != 0 ||
            strcmp(input->resolution.crd.kind, kind.kind) != 0)
            continue;
        w->input = input;
        if (strcmp(input->resolution.crd.storage, kind.version) != 0)
            return ek_err_set(err, EK_E_INVAL,
                              "the object is of version %s: gates see version %s, which is stored",
                              kind.version, input->resolution.crd.storage);
        return 0;
    }
    if (w->in->n == 1 && !w->in->list[0].resolved)
        return ek_err_set(
            err, EK_E_INVAL,
            "a dry run needs the CustomResourceDefinition %s: --crd FILE or --cluster",
            w->in->list[0].gates->name);
    return ek_err_set(err, EK_E_NOENT,
                      "no gates are defined for %s/%s, Kind=%s, or its CustomResourceDefinition is "
                      "missing",
                      kind.group, kind.version, kind.kind);
}

static int check_identity(const struct write *w, struct ek_err *err)
{
    const char *old_key = w->old ? ek_ci_key(&w->in->ci, w->old) : "";
    const char *new_key = ek_ci_key(&w->in->ci, w->new);

    if (!w->old || writes(w, "scale"))
        return 0;
    if (!ek_json_equal(yyjson_obj_get(w->old, "kind"), yyjson_obj_get(w->new, "kind")) ||
        !ek_json_equal(yyjson_obj_get(w->old, "apiVersion"), yyjson_obj_get(w->new, "apiVersion")))
        return ek_err_set(err, EK_E_INVAL, "--old and --new are not of one apiVersion and kind");
    if (strcmp(old_key, new_key) != 0)
        return ek_err_set(err, EK_E_INVAL, "--old is %s, but --new is %s", old_key, new_key);
    return 0;
}

/* What admission of the definition would refuse is no basis for a prediction. */
static int check_definition(const struct write *w, struct ek_err *err)
{
    const struct ek_gates *gates = w->input->gates;
    const struct ek_gates_shape *shape = &w->input->resolution.crd.shape;

    if (gates->n_problems)
        return ek_err_set(err, EK_E_INVAL, "%s (%s): %s", gates->name, w->input->source,
                          gates->problems[0]);
    if (writes(w, "status") && !shape->has_status)
        return ek_err_set(err, EK_E_INVAL, "%s has no subresource status", gates->name);
    if (writes(w, "scale") && !shape->replicas)
        return ek_err_set(err, EK_E_INVAL, "%s has no subresource scale", gates->name);
    for (size_t i = 0; i < w->input->resolution.n_findings; i++) {
        const struct ek_gate_finding *f = &w->input->resolution.findings[i];
        if (f->refused)
            ek_ci_note(&w->in->ci, "gate %s is refused and its fields are open: %s", f->gate->name,
                       f->message);
    }
    return 0;
}

/* Both as an API server decodes them; a Scale is no object of the definition. */
static int decode(struct write *w, struct ek_ci_object *old, struct ek_err *err)
{
    struct ek_ci *ci = &w->in->ci;
    int rc = 0;

    if (w->old)
        rc = ek_ci_decode(ci, old, w->input->crd, true, NULL, err);
    if (!rc && !is_scale(w->new))
        rc = ek_ci_decode(ci, &w->sent, w->input->crd, false, &w->unknown, err);
    w->old = old->seen;
    w->new = w->sent.seen;
    return rc;
}

static int read_write(struct write *w, const struct ek_gates_options *options, struct ek_err *err)
{
    struct ek_ci_object old = {0};
    int rc = read_one(w->in, options->new, "--new", &w->sent, err);

    if (!rc && *options->old)
        rc = read_one(w->in, options->old, "--old", &old, err);
    w->new = w->sent.value;
    w->old = old.value;
    w->operation = w->old ? "UPDATE" : "CREATE";
    w->subresource = options->subresource;
    if (!rc)
        rc = pick(w, writes(w, "scale") ? w->old : w->new, err);
    if (!rc)
        rc = check_identity(w, err);
    if (rc || !w->input)
        return rc;
    rc = check_definition(w, err);
    return rc ? rc : decode(w, &old, err);
}

/* ---- The request ---- */

static yyjson_val *value_at(yyjson_val *object, const struct ek_field_path *path)
{
    for (size_t i = 0; i < path->n && object; i++)
        object = yyjson_obj_getn(object, path->names[i].p, path->names[i].len);
    return object;
}

static void copy_member(const struct write *w, yyjson_mut_val *to, yyjson_val *from,
                        const char *key)
{
    yyjson_val *v = yyjson_obj_get(from, key);
    if (v)
        yyjson_mut_obj_add_val(w->doc, to, key, yyjson_val_mut_copy(w->doc, v));
}

/* What /scale makes of an object; a Scale is taken as it is. */
static yyjson_mut_val *scale_of(const struct write *w, yyjson_val *object)
{
    if (is_scale(object))
        return yyjson_val_mut_copy(w->doc, object);
    yyjson_mut_val *scale = yyjson_mut_obj(w->doc);
    yyjson_val *replicas = value_at(object, w->input->resolution.crd.shape.replicas);
    yyjson_mut_obj_add_str(w->doc, scale, "apiVersion", "autoscaling/v1");
    yyjson_mut_obj_add_str(w->doc, scale, "kind", "Scale");
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(w->doc, scale, "metadata");
    copy_member(w, metadata, yyjson_obj_get(object, "metadata"), "name");
    copy_member(w, metadata, yyjson_obj_get(object, "metadata"), "namespace");
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(w->doc, scale, "spec");
    if (replicas)
        yyjson_mut_obj_add_val(w->doc, spec, "replicas", yyjson_val_mut_copy(w->doc, replicas));
    else
        yyjson_mut_obj_add_int(w->doc, spec, "replicas", EK_GATES_SCALE_ABSENT);
    return scale;
}

static yyjson_mut_val *sent(const struct write *w, yyjson_val *object)
{
    return writes(w, "scale") ? scale_of(w, object) : yyjson_val_mut_copy(w->doc, object);
}

static void put_names(const struct write *w, yyjson_mut_val *root, const char *kind_key,
                      const char *resource_key)
{
    const struct ek_gates_crd *crd = &w->input->resolution.crd;
    bool scale = writes(w, "scale");
    yyjson_mut_val *kind = yyjson_mut_obj_add_obj(w->doc, root, kind_key);
    yyjson_mut_val *resource = yyjson_mut_obj_add_obj(w->doc, root, resource_key);

    yyjson_mut_obj_add_str(w->doc, kind, "group", scale ? "autoscaling" : crd->group);
    yyjson_mut_obj_add_str(w->doc, kind, "version", scale ? "v1" : crd->storage);
    yyjson_mut_obj_add_str(w->doc, kind, "kind", scale ? "Scale" : crd->kind);
    yyjson_mut_obj_add_str(w->doc, resource, "group", crd->group);
    yyjson_mut_obj_add_str(w->doc, resource, "version", crd->storage);
    yyjson_mut_obj_add_str(w->doc, resource, "resource", crd->plural);
}

/* As an API server would send it. */
static yyjson_doc *make_request(const struct write *w)
{
    yyjson_mut_val *root = yyjson_mut_obj(w->doc);
    yyjson_val *metadata = yyjson_obj_get(w->old ? w->old : w->new, "metadata");

    yyjson_mut_obj_add_str(w->doc, root, "uid", "dry-run");
    put_names(w, root, "kind", "resource");
    put_names(w, root, "requestKind", "requestResource");
    if (*w->subresource) {
        yyjson_mut_obj_add_str(w->doc, root, "subResource", w->subresource);
        yyjson_mut_obj_add_str(w->doc, root, "requestSubResource", w->subresource);
    }
    copy_member(w, root, metadata, "name");
    copy_member(w, root, metadata, "namespace");
    yyjson_mut_obj_add_str(w->doc, root, "operation", w->operation);
    yyjson_mut_obj_add_obj(w->doc, root, "userInfo");
    yyjson_mut_obj_add_bool(w->doc, root, "dryRun", true);
    yyjson_mut_obj_add_val(w->doc, root, "object", sent(w, w->new));
    if (w->old)
        yyjson_mut_obj_add_val(w->doc, root, "oldObject", sent(w, w->old));
    return yyjson_mut_val_imut_copy(root, NULL);
}

/* ---- What is stored ---- */

static void set_member(const struct write *w, yyjson_mut_val *object, const char *key,
                       yyjson_mut_val *value)
{
    if (value)
        yyjson_mut_obj_put(object, yyjson_mut_str(w->doc, key), value);
    else
        yyjson_mut_obj_remove_key(object, key);
}

static void set_at(const struct write *w, yyjson_mut_val *object, const struct ek_field_path *path,
                   yyjson_mut_val *value)
{
    for (size_t i = 0; i < path->n && yyjson_mut_is_obj(object); i++) {
        struct ek_str name = path->names[i];
        yyjson_mut_val *next = yyjson_mut_obj_getn(object, name.p, name.len);
        yyjson_mut_val *key = yyjson_mut_strncpy(w->doc, name.p, name.len);
        if (i + 1 == path->n)
            yyjson_mut_obj_put(object, key, value);
        else if (!next)
            yyjson_mut_obj_put(object, key, next = yyjson_mut_obj(w->doc));
        object = next;
    }
}

/* All of the object after a write of what was sent: subresources write their part alone. */
static yyjson_mut_val *assemble(const struct write *w, yyjson_mut_val *object)
{
    const struct ek_gates_shape *shape = &w->input->resolution.crd.shape;
    yyjson_mut_val *whole = object;

    if (*w->subresource)
        whole = yyjson_val_mut_copy(w->doc, w->old);
    if (writes(w, "scale")) {
        yyjson_mut_val *replicas = yyjson_mut_ptr_get(object, "/spec/replicas");
        /* 0 is not written in a Scale. */
        set_at(w, whole, shape->replicas,
               replicas ? yyjson_mut_val_mut_copy(w->doc, replicas) : yyjson_mut_int(w->doc, 0));
    } else if (writes(w, "status")) {
        yyjson_mut_val *status = yyjson_mut_obj_get(object, "status");
        set_member(w, whole, "status", status ? yyjson_mut_val_mut_copy(w->doc, status) : NULL);
    } else if (shape->has_status) {
        yyjson_val *status = yyjson_obj_get(w->old, "status");
        set_member(w, whole, "status", status ? yyjson_val_mut_copy(w->doc, status) : NULL);
    }
    return whole;
}

/* Whether anything but metadata differs; a status is never counted where it is written apart. */
static bool moves_generation(const struct write *w, yyjson_mut_val *stored)
{
    if (!w->old || writes(w, "status"))
        return false;
    yyjson_mut_val *before = yyjson_val_mut_copy(w->doc, w->old);
    yyjson_mut_val *after = yyjson_mut_val_mut_copy(w->doc, stored);
    yyjson_mut_obj_remove_key(before, "metadata");
    yyjson_mut_obj_remove_key(after, "metadata");
    yyjson_doc *a = yyjson_mut_val_imut_copy(before, NULL);
    yyjson_doc *b = yyjson_mut_val_imut_copy(after, NULL);
    bool moves = !ek_json_equal(yyjson_doc_get_root(a), yyjson_doc_get_root(b));
    yyjson_doc_free(a);
    yyjson_doc_free(b);
    return moves;
}

static yyjson_mut_val *finish(const struct write *w, yyjson_mut_val *object, bool *ret_moves)
{
    yyjson_mut_val *whole = assemble(w, object);
    yyjson_mut_val *metadata = yyjson_mut_obj_get(whole, "metadata");

    *ret_moves = moves_generation(w, whole);
    if (w->old_generation && yyjson_mut_is_obj(metadata))
        set_member(w, metadata, "generation",
                   yyjson_mut_int(w->doc, w->old_generation + *ret_moves));
    return whole;
}

static int apply(const struct write *w, yyjson_mut_val **object, struct ek_err *err)
{
    struct ek_jsonpatch_op *ops = NULL;
    size_t n = 0;

    if (!w->outcome.patch)
        return 0;
    yyjson_doc *patch = yyjson_mut_val_imut_copy(w->outcome.patch, NULL);
    int rc = ek_jsonpatch_parse(yyjson_doc_get_root(patch), w->doc, &ops, &n, err);
    if (!rc)
        rc = ek_jsonpatch_apply(w->doc, object, ops, n, 0, NULL, NULL, err);
    ek_free(ops);
    yyjson_doc_free(patch);
    return rc;
}

/* ---- Validation ---- */

/* What the API server refuses after admission; metadata is as the server would make it. */
static int validate(struct write *w, yyjson_mut_val *stored, struct ek_err *err)
{
    const struct ek_gates_crd *crd = &w->input->resolution.crd;
    const struct ek_gvk kind = {crd->group, crd->storage, crd->kind};

    yyjson_doc *doc = yyjson_mut_val_imut_copy(stored, &ek_json_xalc);
    const struct ek_custom_write write = {
        .object = yyjson_doc_get_root(doc), .old = w->old, .is_status = writes(w, "status")};
    int rc = ek_ci_validate(&w->in->ci, w->input->crd, &kind, &write, &w->invalid, err);
    yyjson_doc_free(doc);
    return rc;
}

/* ---- The report ---- */

static void add_hits(const struct write *w, yyjson_mut_val *root)
{
    yyjson_mut_val *warnings = yyjson_mut_obj_add_arr(w->doc, root, "warnings");
    yyjson_mut_val *hits = yyjson_mut_obj_add_arr(w->doc, root, "fields");

    for (size_t i = 0; i < w->outcome.n_warnings; i++)
        yyjson_mut_arr_add_strcpy(w->doc, warnings, w->outcome.warnings[i]);
    for (size_t i = 0; i < w->outcome.n_hits; i++) {
        const struct ek_gates_hit *hit = &w->outcome.hits[i];
        yyjson_mut_val *v = yyjson_mut_arr_add_obj(w->doc, hits);
        yyjson_mut_obj_add_strcpy(w->doc, v, "path", hit->path->text);
        yyjson_mut_obj_add_strcpy(w->doc, v, "gate", hit->gate->name);
        yyjson_mut_obj_add_str(w->doc, v, "result",
                               !w->outcome.allowed && !w->invalid ? "denied"
                               : hit->deprecated                  ? "deprecated"
                                                                  : "suppressed");
    }
}

static void add_generation(const struct write *w, yyjson_mut_val *root)
{
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(w->doc, root, "generation");

    if (w->old)
        yyjson_mut_obj_add_bool(w->doc, v, "moves", w->moves);
    if (w->old_generation)
        yyjson_mut_obj_add_int(w->doc, v, "old", w->old_generation);
    if (w->old_generation || !w->old)
        yyjson_mut_obj_add_int(w->doc, v, "new", w->old ? w->old_generation + w->moves : 1);
}

static void add_title(const struct write *w, yyjson_mut_val *root)
{
    yyjson_val *object = w->old ? w->old : w->new;

    yyjson_mut_obj_add_strcpy(w->doc, root, "definition", w->input->gates->name);
    yyjson_mut_obj_add_str(w->doc, root, "operation", w->operation);
    if (*w->subresource)
        yyjson_mut_obj_add_strcpy(w->doc, root, "subresource", w->subresource);
    yyjson_mut_obj_add_strcpy(w->doc, root, "object", ek_ci_key(&w->in->ci, object));
    copy_member(w, root, object, "kind");
    yyjson_mut_obj_add_bool(w->doc, root, "allowed", w->outcome.allowed);
    if (w->outcome.allowed)
        return;
    yyjson_mut_obj_add_int(w->doc, root, "code", w->outcome.code);
    yyjson_mut_obj_add_strcpy(w->doc, root, "reason", w->outcome.reason);
    yyjson_mut_obj_add_strcpy(w->doc, root, "message", w->outcome.message);
}

static bool differs(yyjson_val *a, yyjson_val *b, const char *member)
{
    yyjson_val *x = yyjson_obj_get(a, member), *y = yyjson_obj_get(b, member);

    return (x || y) && !(x && y && ek_json_equal(x, y));
}

/* What API servers drop of the object that was sent, whatever the gates are. */
static void add_dropped(const struct write *w, yyjson_mut_val *root)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(w->doc, root, "dropped");
    yyjson_val *key, *value;
    size_t i, n;

    for (i = 0; i < w->unknown.n; i++)
        yyjson_mut_arr_add_strcpy(w->doc, list, w->unknown.list[i]);
    if (!*w->subresource && w->input->resolution.crd.shape.has_status &&
        yyjson_obj_get(w->new, "status") && differs(w->old, w->new, "status"))
        yyjson_mut_arr_add_str(w->doc, list, "status");
    ek_json_each_member(writes(w, "status") ? w->new : NULL, i, n, key, value)
    {
        const char *name = yyjson_get_str(key);
        if (value && strcmp(name, "status") != 0 && strcmp(name, "metadata") != 0 &&
            differs(w->old, w->new, name))
            yyjson_mut_arr_add_strcpy(w->doc, list, name);
    }
}

/* Whether decoding changed more of the object than metadata: defaults, nulls. */
static bool is_decoded(const struct write *w)
{
    yyjson_val *key, *value;
    size_t i, n;

    ek_json_each_member(w->new, i, n, key, value)
    {
        const char *name = yyjson_get_str(key);
        if (value && strcmp(name, "metadata") != 0 && differs(w->sent.value, w->new, name))
            return true;
    }
    return false;
}

/* With and without the gates. */
struct stored {
    yyjson_mut_val *gated, *without;
};

static int predict(struct write *w, yyjson_val *object, struct stored *ret, struct ek_err *err)
{
    yyjson_mut_val *patched = yyjson_val_mut_copy(w->doc, object);
    bool moves;

    ret->without = finish(w, yyjson_val_mut_copy(w->doc, object), &moves);
    int rc = apply(w, &patched, err);
    if (rc)
        return rc;
    ret->gated = finish(w, patched, &w->moves);
    rc = validate(w, ret->gated, err);
    if (w->invalid) {
        w->outcome.allowed = false;
        w->outcome.code = 422;
        w->outcome.reason = "Invalid";
        w->outcome.message = w->invalid;
    }
    return rc;
}

static void add_stored(const struct write *w, yyjson_mut_val *root, const struct stored *stored)
{
    add_generation(w, root);
    add_dropped(w, root);
    yyjson_mut_obj_add_bool(w->doc, root, "decoded", is_decoded(w));
    if (w->outcome.patch)
        yyjson_mut_obj_add_val(w->doc, root, "patch",
                               yyjson_mut_val_mut_copy(w->doc, w->outcome.patch));
    yyjson_mut_obj_add_val(w->doc, root, "withoutGates", stored->without);
    yyjson_mut_obj_add_val(w->doc, root, "stored", stored->gated);
}

/* Decides the request, and writes the report to root. */
static int decide(struct write *w, yyjson_val *request, yyjson_mut_val *root, struct ek_err *err)
{
    const struct ek_gates_resolution *r = &w->input->resolution;
    struct ek_arena *arena = w->in->ci.arena;
    struct ek_admission_request read;
    struct stored stored = {0};
    const struct ek_gates *gates = ek_gates_new(w->input->object, r->refused, r->n_refused);

    int rc = ek_admission_request_read(request, &read, err);
    if (!rc)
        rc = ek_gates_decide(gates, &r->crd.shape, &read, arena, NULL, w->doc, &w->outcome, err);
    if (!rc && w->outcome.allowed)
        rc = predict(w, read.object, &stored, err);
    if (!rc) {
        add_title(w, root);
        add_hits(w, root);
    }
    if (!rc && w->outcome.allowed)
        add_stored(w, root, &stored);
    ek_gates_unref(gates);
    return rc;
}

yyjson_doc *ek_gates_dry_run(struct ek_gates_inputs *in, const struct ek_gates_options *options,
                             bool *ret_denied, struct ek_err *err)
{
    struct write w = {.in = in};
    yyjson_doc *report = NULL;

    if (read_write(&w, options, err))
        return NULL;
    w.doc = ek_json_doc_new();
    w.old_generation = yyjson_get_sint(ek_json_get(w.old, "metadata", "generation", NULL));
    yyjson_doc *request = make_request(&w);
    yyjson_mut_val *root = yyjson_mut_obj(w.doc);
    if (!decide(&w, yyjson_doc_get_root(request), root, err))
        report = yyjson_mut_val_imut_copy(root, NULL);
    *ret_denied = !w.outcome.allowed;
    yyjson_doc_free(request);
    yyjson_mut_doc_free(w.doc);
    return report;
}
