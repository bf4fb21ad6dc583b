/* SPDX-License-Identifier: Apache-2.0 */
/* The definitions and objects of a cluster against the definitions of a catalog. */
#include <string.h>

#include "api/validation/validate.h"
#include "controller/commands/failforward_publish.h"
#include "controller/commands/wait.h"
#include "informers/client/client.h"
#include "reconcilers/fieldgates/resolve.h"

#define BODY_MAX     ((size_t)64 << 20) /* one page */
#define PAGE         500
#define PAGES_MAX    10000              /* of one list: pages may be empty */
#define OBJECT_MAX   ((size_t)4 << 20)  /* memory of the errors of one object */
#define STEPS_MAX    UINT64_C(20000000) /* of the validation of one object: about a second */
#define ALL_MAX      (200 * STEPS_MAX)  /* of all objects: whoever may create objects spends them */
#define VERSIONS_MAX 32

struct check {
    struct ek_wait wait;
    struct ek_ffp_definitions *all;
    yyjson_doc *gates; /* the list of CustomFeatureGates; NULL: none */
    const char *gates_unknown;
    struct ek_arena *scratch; /* of one object */
    uint64_t left;            /* of ALL_MAX */
    bool hides_values;
};

static void unknown(struct ek_ffp_definition *d, const char *why)
{
    if (!d->unknown)
        d->unknown = why;
}

/* ---- The definition ---- */

static void read_current(struct check *c, struct ek_ffp_definition *d)
{
    EK_AUTO(ek_buf) path;

    ek_buf_init(&path, 4096);
    ek_buf_puts(&path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/");
    ek_uri_escape(&path, d->name);
    int rc = ek_wait_get(&c->wait, ek_buf_str(&path));
    d->current = c->wait.doc;
    d->is_new = rc == EK_E_NOENT;
    if (rc && rc != EK_E_NOENT)
        unknown(d,
                ek_arena_printf(c->all->arena, "the definition of the cluster cannot be read: %s",
                                c->wait.err.message));
}

static void check_stored(struct check *c, struct ek_ffp_definition *d)
{
    yyjson_val *stored =
        ek_json_get(yyjson_doc_get_root(d->current), "status", "storedVersions", NULL);
    const char *lost = ek_ff_lost_version(stored, d->definition);

    if (lost)
        ek_ffp_find(d, &(struct ek_ffp_finding){
                           .kind = "StoredVersion",
                           .refused_by = "OLM, API server",
                           .version = ek_arena_strdup(c->all->arena, lost),
                           .message = "objects may be stored in this version, which the definition "
                                      "does not have any more"});
}

static bool has_finding(const struct ek_gates_resolution *r, const struct ek_gate_finding *f)
{
    for (size_t i = 0; i < r->n_findings; i++)
        if (r->findings[i].kind == f->kind && !strcmp(r->findings[i].message, f->message))
            return true;
    return false;
}

/* What the new definition makes of the gates that the current one does not. */
static void check_gates(struct check *c, struct ek_ffp_definition *d, yyjson_val *object)
{
    const struct ek_gates *gates = ek_gates_new(object, NULL, 0);
    struct ek_arena *arena = ek_arena_new(OBJECT_MAX);
    struct ek_gates_resolution before = {0}, after = {0};
    struct ek_err err = {0};

    int rc = ek_gates_resolve(gates, d->definition, arena, &after, &err);
    if (!rc)
        rc = ek_gates_resolve(gates, yyjson_doc_get_root(d->current), arena, &before, &err);
    if (rc)
        unknown(d, ek_arena_printf(c->all->arena, "field gates: %s", err.message));
    for (size_t i = 0; !rc && i < after.n_findings; i++) {
        const struct ek_gate_finding *f = &after.findings[i];
        if (f->kind == EK_GATE_PATH_MAP_KEY || has_finding(&before, f))
            continue;
        ek_ffp_find(
            d, &(struct ek_ffp_finding){.kind = "FieldGate",
                                        .refused_by = f->refused ? "Evenkeel" : "",
                                        .version = ek_arena_strdup(c->all->arena, f->version),
                                        .message = ek_arena_strdup(c->all->arena, f->message)});
    }
    ek_arena_free(arena);
    ek_gates_unref(gates);
}

static void find_gates(struct check *c, struct ek_ffp_definition *d)
{
    yyjson_val *item, *items = ek_json_get(yyjson_doc_get_root(c->gates), "items", NULL);
    size_t i, n;

    if (c->gates_unknown)
        unknown(d, c->gates_unknown);
    yyjson_arr_foreach(items, i, n, item)
    {
        const char *name = ek_json_str(item, "metadata", "name", NULL);
        if (name && !strcmp(name, d->name))
            check_gates(c, d, item);
    }
}

/* ---- The objects ---- */

struct bounded {
    struct ek_work work;
    uint64_t max;
};

static bool is_over(void *arg)
{
    const struct bounded *b = arg;
    return b->work.steps > b->max;
}

static const char *joined(struct check *c, const struct ek_field_errors *errors)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    ek_field_errors_join(errors, &text);
    return ek_arena_strdup(c->all->arena, ek_buf_str(&text));
}

static const char *key_of(struct check *c, yyjson_val *object)
{
    yyjson_val *metadata = ek_json_get(object, "metadata", NULL);
    const char *namespace = ek_json_text(metadata, "namespace");

    return ek_arena_printf(c->all->arena, "%s%s%s", namespace, *namespace ? "/" : "",
                           ek_json_text(metadata, "name"));
}

/* OLM reports what its schema refuses and goes on where a webhook converts
 * (operator-lifecycle-manager pkg/controller/operators/catalog/step.go:NewCRDV1Step at 992bb097).
 */
static bool converts(yyjson_val *definition)
{
    const char *strategy = ek_json_str(definition, "spec", "conversion", "strategy", NULL);
    return strategy && !strcmp(strategy, "Webhook");
}

static void check_object(struct check *c, struct ek_ffp_definition *d, const char *version,
                         struct ek_validator *validator, yyjson_val *object)
{
    struct bounded b = {.work.is_over = is_over, .max = c->left < STEPS_MAX ? c->left : STEPS_MAX};
    struct ek_validation v;

    b.work.arg = &b;
    ek_arena_reset(c->scratch);
    ek_validate(validator, object, c->scratch, &b.work, c->hides_values, &v);
    c->left -= b.work.steps < c->left ? b.work.steps : c->left;
    bool olm = v.as_stored.n && !converts(d->definition), server = v.as_created.n;
    bool has_room = d->n_findings < EK_FFP_FINDINGS_MAX;
    d->n_objects++;
    if (v.unknown && !d->unknown)
        unknown(d, ek_arena_printf(c->all->arena, "%s: %s", key_of(c, object), v.unknown));
    if (olm || server)
        ek_ffp_find(
            d, &(struct ek_ffp_finding){
                   .kind = "Object",
                   .refused_by = !olm      ? "API server"
                                 : !server ? "OLM"
                                           : "OLM, API server",
                   .object = has_room ? key_of(c, object) : "",
                   .version = version,
                   .message = has_room ? joined(c, server ? &v.as_created : &v.as_stored) : ""});
    if (v.n_dropped)
        ek_ffp_find(
            d, &(struct ek_ffp_finding){
                   .kind = "Dropped",
                   .refused_by = "",
                   .object = has_room ? key_of(c, object) : "",
                   .version = version,
                   .message = has_room ? ek_arena_printf(c->all->arena,
                                                         "the definition does not declare %s (%zu "
                                                         "fields in all): the next write drops it",
                                                         v.dropped, v.n_dropped)
                                       : ""});
}

/* One page. Sets *ret_next to the token of the next one, of the arena; "" at the end. */
static int check_page(struct check *c, struct ek_ffp_definition *d, const char *version,
                      struct ek_validator *validator, const char **ret_next)
{
    EK_AUTO(ek_buf) path;
    yyjson_val *item;
    size_t i, n;

    ek_buf_init(&path, EK_BUF_SMALL_MAX);
    ek_buf_puts(&path, "/apis/");
    ek_uri_escape(&path, ek_json_str(d->definition, "spec", "group", NULL));
    ek_buf_puts(&path, "/");
    ek_uri_escape(&path, version);
    ek_buf_puts(&path, "/");
    ek_uri_escape(&path, ek_json_str(d->definition, "spec", "names", "plural", NULL));
    ek_buf_printf(&path, "?limit=%d", PAGE);
    if (**ret_next) {
        ek_buf_puts(&path, "&continue=");
        ek_uri_escape(&path, *ret_next);
    }
    int rc = ek_wait_get(&c->wait, ek_buf_str(&path));
    if (rc)
        return rc;
    yyjson_val *root = yyjson_doc_get_root(c->wait.doc);
    yyjson_arr_foreach(yyjson_obj_get(root, "items"), i, n, item)
    {
        check_object(c, d, version, validator, item);
    }
    *ret_next = ek_arena_strdup(c->all->arena,
                                ek_json_text(ek_json_get(root, "metadata", NULL), "continue"));
    yyjson_doc_free(c->wait.doc);
    return 0;
}

static void check_version(struct check *c, struct ek_ffp_definition *d, const char *version)
{
    struct ek_validator *validator = NULL;
    struct ek_err err = {0};
    const char *next = "";
    size_t before = d->n_objects, n_pages = 0;

    int rc = ek_validator_new(d->definition, version, &validator, &err);
    if (rc) {
        unknown(d, ek_arena_printf(c->all->arena, "version %s: %s", version, err.message));
        return;
    }
    do {
        if (!c->left) {
            unknown(d, "the objects take too long to validate: the others are not read");
            break;
        }
        rc = check_page(c, d, version, validator, &next);
        if (rc) {
            unknown(d, ek_arena_printf(c->all->arena, "objects of version %s cannot be read: %s",
                                       version, c->wait.err.message));
        } else if (*next && d->n_objects - before >= EK_FFP_OBJECTS_MAX) {
            unknown(d, ek_arena_printf(c->all->arena,
                                       "there are more than %d objects of version %s: the others "
                                       "are not read",
                                       EK_FFP_OBJECTS_MAX, version));
            break;
        } else if (*next && ++n_pages == PAGES_MAX) {
            unknown(d, ek_arena_printf(c->all->arena,
                                       "the list of version %s has too many pages: the others are "
                                       "not read",
                                       version));
            break;
        }
    } while (!rc && *next);
    ek_validator_free(validator);
}

static void check_versions(struct check *c, struct ek_ffp_definition *d)
{
    yyjson_val *version,
        *versions = ek_json_get(yyjson_doc_get_root(d->current), "spec", "versions", NULL);
    size_t i, n;

    if (yyjson_arr_size(versions) > VERSIONS_MAX)
        unknown(d, "the definition of the cluster has more than 32 versions");
    yyjson_arr_foreach(versions, i, n, version)
    {
        const char *name = ek_json_text(version, "name");
        if (i >= VERSIONS_MAX || !yyjson_is_true(yyjson_obj_get(version, "served")))
            continue;
        if (ek_ff_serves(d->definition, name))
            check_version(c, d, ek_arena_strdup(c->all->arena, name));
        else
            ek_ffp_find(d, &(struct ek_ffp_finding){
                               .kind = "NotServed",
                               .refused_by = "",
                               .version = ek_arena_strdup(c->all->arena, name),
                               .message = "clients of this version fail: the definition does not "
                                          "serve it any more"});
    }
}

/* The name of a definition is "plural.group" (apiextensions-apiserver
 * pkg/apis/apiextensions/validation/validation.go:ValidateCustomResourceDefinition). */
static bool is_definition(yyjson_val *definition, const char *name)
{
    const char *group = ek_json_str(definition, "spec", "group", NULL);
    const char *plural = ek_json_str(definition, "spec", "names", "plural", NULL);

    if (!group || !*group || !plural || !*plural)
        return false;
    EK_AUTOFREE char *full = ek_xasprintf("%s.%s", plural, group);
    return !strcmp(full, name);
}

static void check_one(struct check *c, struct ek_ffp_definition *d)
{
    if (!is_definition(d->definition, d->name)) {
        unknown(d, "the name of the definition is not the plural name and the group");
        return;
    }
    read_current(c, d);
    if (!d->current)
        return;
    check_stored(c, d);
    find_gates(c, d);
    check_versions(c, d);
}

void ek_ffp_check_cluster(struct ek_ffp_definitions *all, const struct ek_ffc_options *o)
{
    struct check c = {.wait = {.max_body = BODY_MAX, .levels = 2},
                      .all = all,
                      .left = ALL_MAX,
                      .hides_values = !o->show_values};
    int rc = ek_wait_open(&c.wait, &o->cluster);

    c.scratch = ek_arena_new(OBJECT_MAX);
    if (!rc) {
        int gates = ek_wait_get(&c.wait, "/apis/evenkeel.dev/v1alpha1/customfeaturegates");
        c.gates = c.wait.doc;
        if (gates && gates != EK_E_NOENT)
            c.gates_unknown =
                ek_arena_printf(all->arena, "field gates cannot be read: %s", c.wait.err.message);
    }
    for (size_t i = 0; i < all->n; i++) {
        if (rc)
            unknown(&all->items[i], ek_arena_strdup(all->arena, c.wait.err.message));
        else
            check_one(&c, &all->items[i]);
    }
    yyjson_doc_free(c.gates);
    ek_arena_free(c.scratch);
    ek_wait_close(&c.wait);
}
