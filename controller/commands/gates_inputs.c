/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of gates and the CRDs that they are for, from files; and each pair looked at. */
#include <string.h>

#include "controller/commands/gates-internal.h"
#include "reconcilers/fieldgates/annotation.h"

#define ARENA_MAX ((size_t)256 << 20)

static bool is_kind(yyjson_val *object, const char *group, const char *kind)
{
    const char *api_version = ek_json_str(object, "apiVersion", NULL);
    const char *its_kind = ek_json_str(object, "kind", NULL);
    size_t len = strlen(group);

    return api_version && its_kind && !strncmp(api_version, group, len) &&
           api_version[len] == '/' && !strcmp(its_kind, kind);
}

static bool is_definition(yyjson_val *object)
{
    return is_kind(object, "evenkeel.dev", "CustomFeatureGates");
}

static bool is_crd(yyjson_val *object)
{
    return is_kind(object, "apiextensions.k8s.io", "CustomResourceDefinition");
}

static const char *name_of(yyjson_val *object)
{
    const char *name = ek_json_str(object, "metadata", "name", NULL);
    return name ? name : "";
}

void ek_gates_inputs_add(struct ek_gates_inputs *in, yyjson_val *object, const char *source)
{
    in->list = ek_xrealloc(in->list, in->n + 1, sizeof *in->list);
    in->list[in->n++] = (struct ek_gates_input){.source = source, .object = object};
}

static struct ek_gates_input *find(struct ek_gates_inputs *in, const char *name)
{
    for (size_t i = 0; i < in->n; i++)
        if (!strcmp(name_of(in->list[i].object), name))
            return &in->list[i];
    return NULL;
}

/* ---- Files ---- */

/* Adds a definition with that spec, which is copied, for crd. */
static void add_import(struct ek_gates_inputs *in, const struct ek_ci_object *crd, yyjson_val *spec)
{
    struct ek_ci *ci = &in->ci;
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "evenkeel.dev/v1alpha1");
    yyjson_mut_obj_add_str(doc, root, "kind", "CustomFeatureGates");
    yyjson_mut_obj_add_strcpy(doc, yyjson_mut_obj_add_obj(doc, root, "metadata"), "name",
                              name_of(crd->value));
    yyjson_mut_obj_add_val(doc, root, "spec", yyjson_val_mut_copy(doc, spec));
    ci->docs = ek_xrealloc(ci->docs, ci->n_docs + 1, sizeof(yyjson_doc *));
    ci->docs[ci->n_docs++] = yyjson_mut_doc_imut_copy(doc, NULL);
    ek_gates_inputs_add(in, yyjson_doc_get_root(ci->docs[ci->n_docs - 1]), crd->source);
    yyjson_mut_doc_free(doc);
}

/* A definition where KEP-2608 has it ("API Changes"), in the spec of the CRD: its members are those
 * of a CustomFeatureGates' spec. API servers do not know it. */
static void import_proposed(struct ek_gates_inputs *in, const struct ek_ci_object *crd)
{
    yyjson_val *spec = ek_json_get(crd->value, "spec", "customFeatureGates", NULL);

    if (!yyjson_is_obj(spec))
        return;
    ek_ci_note(&in->ci,
               "%s: spec.customFeatureGates of %s is read as KEP-2608 proposes it; API servers "
               "refuse or drop this member: put its value into the spec of a CustomFeatureGates, "
               "or into the annotation " EK_GATES_ANNOTATION,
               crd->source, name_of(crd->value));
    if (!find(in, name_of(crd->value)))
        add_import(in, crd, spec);
}

/* A definition that a CRD brings along, where there is no other. */
static int import(struct ek_gates_inputs *in, const struct ek_ci_object *crd, struct ek_err *err)
{
    const char *text =
        ek_json_str(crd->value, "metadata", "annotations", EK_GATES_ANNOTATION, NULL);
    yyjson_doc *spec = NULL;

    if (text && !find(in, name_of(crd->value))) {
        int rc = ek_gates_import_read(text, &spec, err);
        if (rc) {
            ek_err_prefix(err, "%s", crd->source);
            return rc;
        }
        add_import(in, crd, yyjson_doc_get_root(spec));
        yyjson_doc_free(spec);
    }
    import_proposed(in, crd);
    return 0;
}

/* Files of --crd hold CRDs and nothing else. */
static int read_crds(struct ek_gates_inputs *in, const struct ek_gates_options *options,
                     struct ek_err *err)
{
    for (size_t i = 0; i < options->crds.n; i++) {
        size_t before = in->read.n;
        int rc = ek_ci_read(&in->ci, options->crds.items[i], &in->read, err);
        if (rc)
            return rc;
        if (in->read.n == before)
            return ek_err_set(err, EK_E_INVAL, "--crd %s: there is nothing in it",
                              options->crds.items[i]);
        for (size_t k = before; k < in->read.n; k++) {
            yyjson_val *v = in->read.list[k].value;
            if (!is_crd(v))
                return ek_err_set(err, EK_E_INVAL,
                                  "--crd %s: a CustomResourceDefinition is required, found %s %s",
                                  options->crds.items[i], ek_json_str(v, "kind", NULL), name_of(v));
        }
    }
    return 0;
}

static int read_files(struct ek_gates_inputs *in, const struct ek_gates_options *options,
                      struct ek_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < options->files.n && !rc; i++)
        rc = ek_ci_read(&in->ci, options->files.items[i], &in->read, err);
    if (!rc)
        rc = read_crds(in, options, err);
    for (size_t i = 0; i < in->read.n && !rc; i++) {
        const struct ek_ci_object *o = &in->read.list[i];
        if (!is_definition(o->value))
            continue;
        if (find(in, name_of(o->value)))
            return ek_err_set(err, EK_E_INVAL, "%s: %s is defined twice, in %s, too", o->source,
                              name_of(o->value), find(in, name_of(o->value))->source);
        ek_gates_inputs_add(in, o->value, o->source);
    }
    for (size_t i = 0; i < in->read.n && !rc; i++)
        if (is_crd(in->read.list[i].value))
            rc = import(in, &in->read.list[i], err);
    return rc;
}

/* ---- Pairs ---- */

static void pair_files(struct ek_gates_inputs *in, const struct ek_gates_options *options)
{
    for (size_t i = 0; i < in->read.n; i++) {
        yyjson_val *v = in->read.list[i].value;
        struct ek_gates_input *input = is_crd(v) ? find(in, name_of(v)) : NULL;
        if (input)
            input->crd = v;
        else if (is_crd(v) && options->crds.n)
            ek_ci_note(&in->ci, "%s: no gates are defined for %s", in->read.list[i].source,
                       name_of(v));
    }
    for (size_t i = 0; i < in->n; i++)
        in->list[i].crd_wanted = options->cluster || options->crds.n > 0;
}

static bool is_named(const struct ek_gates_input *input, char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(name_of(input->object), names[i]))
            return true;
    return n == 0;
}

static int choose(struct ek_gates_inputs *in, char *const *names, int n_names, struct ek_err *err)
{
    size_t kept = 0;

    for (int i = 0; i < n_names; i++)
        if (!find(in, names[i]))
            return ek_err_set(err, EK_E_NOENT, "there is no CustomFeatureGates %s", names[i]);
    for (size_t i = 0; i < in->n; i++)
        if (is_named(&in->list[i], names, n_names))
            in->list[kept++] = in->list[i];
    in->n = kept;
    return 0;
}

static int lint(struct ek_gates_inputs *in, struct ek_err *err)
{
    for (size_t i = 0; i < in->n; i++) {
        struct ek_gates_input *input = &in->list[i];
        input->gates = ek_gates_new(input->object, NULL, 0);
        int rc = input->crd ? ek_gates_resolve(input->gates, input->crd, in->ci.arena,
                                               &input->resolution, err)
                            : 0;
        if (rc) {
            ek_err_prefix(err, "%s", name_of(input->crd));
            return rc;
        }
        input->resolved = input->crd != NULL;
    }
    return 0;
}

/* ---- The whole ---- */

int ek_gates_inputs_init(struct ek_gates_inputs *in, const struct ek_gates_options *options,
                         char *const *names, int n_names, struct ek_err *err)
{
    int rc = 0;

    *in = (struct ek_gates_inputs){
        .ci = {.arena = ek_arena_new(ARENA_MAX), .notes_doc = ek_json_doc_new()}};
    in->ci.notes = yyjson_mut_arr(in->ci.notes_doc);
    if (!options->files.n && !options->crds.n && !options->cluster)
        return ek_err_set(err, EK_E_INVAL,
                          "say which gates: -f FILE, -f - for the standard input, or --cluster");
    rc = read_files(in, options, err);
    if (!rc)
        pair_files(in, options);
    if (!rc && options->cluster)
        rc = ek_gates_fetch(in, &options->which, !options->files.n, err);
    if (!rc)
        rc = choose(in, names, n_names, err);
    if (!rc && !in->n && (options->files.n || !options->cluster))
        rc = ek_err_set(err, EK_E_NOENT, "there is no CustomFeatureGates in these files");
    return rc ? rc : lint(in, err);
}

void ek_gates_inputs_done(struct ek_gates_inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        ek_gates_unref(in->list[i].gates);
    ek_free(in->list);
    ek_free(in->read.list);
    ek_ci_done(&in->ci);
    *in = (struct ek_gates_inputs){0};
}
