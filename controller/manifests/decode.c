/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of files as an API server decodes them, before policies see them. */
#include <stdio.h>

#include "api/decode/builtin.h"
#include "controller/manifests/manifests-internal.h"

#define DECODING_MAX ((size_t)16 << 20) /* octets of errors and paths of one object */

/* One object on its way. */
struct decoding {
    struct ek_ci *ci;
    struct ek_gvk kind;
    const struct ek_ci_object *object;
    bool is_stored;           /* it was read before: what is dropped of it is no news */
    struct ek_paths *unknown; /* gets the fields that are dropped; NULL */
    struct ek_arena *arena;   /* of texts */
    yyjson_mut_doc *doc;
};

/* The server's words for an object that it answers 400, and the line of the value. */
static int refuse(const struct decoding *d, struct ek_err *err, const char *pointer,
                  const char *why)
{
    size_t line = ek_ci_line(d->object, pointer);
    char at[24] = "";

    if (line)
        snprintf(at, sizeof at, ":%zu", line);
    return ek_err_set(err, EK_E_INVAL,
                      "%s%s: %s: %s in version \"%s\" cannot be handled as a %s: %s%s%s",
                      d->object->source, at, ek_ci_key(d->ci, d->object->value), d->kind.kind,
                      d->kind.version, d->kind.kind, pointer, *pointer ? ": " : "", why);
}

/* Why an object could not be decoded that may be a good one. */
static int failed(const struct decoding *d, int rc, struct ek_err *err)
{
    return ek_err_set(err, rc, "%s: %s: the object cannot be decoded: %s", d->object->source,
                      ek_ci_key(d->ci, d->object->value), ek_strerror(rc));
}

/* A field that a server drops from an object that it stored before is no news. */
static void take_unknown(const struct decoding *d, const struct ek_paths *unknown)
{
    if (!d->is_stored) {
        ek_ci_fields_twice(d->ci, d->object);
        ek_ci_fields_unknown(d->ci, d->object, unknown);
    }
    if (d->unknown)
        *d->unknown = *unknown;
}

static int decode_custom(const struct decoding *d, const struct ek_custom_version *version,
                         yyjson_mut_val **ret, struct ek_err *err)
{
    const struct ek_custom_options options = {
        .from_storage = d->is_stored, .defaults = true, .arena = d->arena};
    struct ek_custom_decoding decoding;
    yyjson_mut_val *object = yyjson_val_mut_copy(d->doc, d->object->value);
    int rc = ek_custom_decode(version, d->doc, object, &options, &decoding);

    if (rc)
        return failed(d, rc, err);
    if (decoding.error)
        return refuse(d, err, "", decoding.error);
    take_unknown(d, &decoding.unknown);
    *ret = object;
    return 0;
}

/* Leaves *ret for a kind that is not built in. */
static int decode_builtin(const struct decoding *d, yyjson_mut_val **ret, struct ek_err *err)
{
    struct ek_decode_problem problem;
    struct ek_paths unknown = {0};
    int rc = ek_decode_builtin(&d->kind, d->ci->minor, d->object->value, NULL, d->arena, d->doc,
                               ret, &unknown, &problem);

    if (rc == EK_E_INVAL)
        return refuse(d, err, problem.pointer, problem.why);
    if (rc && rc != EK_E_NOENT)
        return failed(d, rc, err);
    take_unknown(d, &unknown);
    return 0;
}

int ek_ci_decode(struct ek_ci *ci, struct ek_ci_object *object, yyjson_val *crd, bool is_stored,
                 struct ek_paths *ret_unknown, struct ek_err *err)
{
    const struct decoding d = {.ci = ci,
                               .kind = ek_ci_kind_of(ci, object->value),
                               .object = object,
                               .is_stored = is_stored,
                               .unknown = ret_unknown,
                               .arena = ret_unknown ? ci->arena : ek_arena_new(DECODING_MAX),
                               .doc = ek_json_doc_new()};
    struct ek_custom_version version;
    yyjson_mut_val *seen = NULL;
    int rc = crd && ek_custom_version_of(crd, d.kind.version, &version)
                 ? decode_custom(&d, &version, &seen, err)
                 : decode_builtin(&d, &seen, err);

    if (!rc && seen) {
        yyjson_doc *made = yyjson_mut_val_imut_copy(seen, &ek_json_xalc);
        ek_ci_own(ci, made);
        object->seen = yyjson_doc_get_root(made);
    }
    yyjson_mut_doc_free(d.doc);
    if (!ret_unknown)
        ek_arena_free(d.arena);
    return rc;
}

int ek_ci_decode_all(struct ek_ci *ci, struct ek_err *err)
{
    const struct {
        const struct ek_ci_objects *objects;
        bool are_stored;
    } all[] = {{&ci->objects, false}, {&ci->params, true}, {&ci->old, true}};
    int rc = 0;

    for (size_t i = 0; i < ci->policies.n; i++) /* these are decoded by their readers */
        ek_ci_fields_twice(ci, &ci->policies.list[i]);
    for (size_t i = 0; i < EK_ARRAY_SIZE(all); i++)
        for (size_t k = 0; k < all[i].objects->n && !rc; k++) {
            struct ek_ci_object *object = &all[i].objects->list[k];
            struct ek_gvk kind = ek_ci_kind_of(ci, object->value);
            rc = ek_ci_decode(ci, object, ek_ci_crd_of(ci, &kind), all[i].are_stored, NULL, err);
        }
    ek_ci_fields_unlisted(ci);
    return rc;
}
