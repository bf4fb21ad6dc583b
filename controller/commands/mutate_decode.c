/* SPDX-License-Identifier: Apache-2.0 */
/* Custom resources of files as an API server decodes them, before policies see them. */
#include "api/decode/custom.h"
#include "controller/manifests/manifests-internal.h"

#define DECODING_MAX ((size_t)16 << 20) /* octets of errors and paths of one object */
#define TOLD_MAX     5u                 /* unknown fields of one object */

/* A misspelt field is no error where kubectl does not validate: it is gone without a word. */
static void tell_unknown(struct ek_ci *ci, yyjson_val *written, const struct ek_paths *unknown)
{
    EK_AUTO(ek_buf) list;

    ek_buf_init(&list, EK_BUF_SMALL_MAX);
    if (!unknown->n_all)
        return;
    size_t n = unknown->n < TOLD_MAX ? unknown->n : TOLD_MAX;
    for (size_t i = 0; i < n; i++)
        ek_buf_printf(&list, "%s%s", i ? ", " : "", unknown->list[i]);
    if (unknown->n_all > n)
        ek_buf_printf(&list, " and %zu more", unknown->n_all - n);
    ek_ci_note(ci,
               "%s %s has fields that its CustomResourceDefinition does not have: %s. API servers "
               "drop them before admission, or refuse the object with strict field validation",
               ek_json_text(written, "kind"), ek_ci_key(ci, written), ek_buf_str(&list));
}

int ek_mutate_decode(struct ek_ci *ci, yyjson_val *written, bool is_stored, yyjson_mut_doc *doc,
                     yyjson_mut_val *object, struct ek_err *err)
{
    const struct ek_gvk kind = ek_ci_kind_of(ci, written);
    yyjson_val *crd = ek_ci_crd_of(ci, &kind);
    struct ek_custom_options options = {.from_storage = is_stored, .defaults = true};
    struct ek_custom_version version;
    struct ek_custom_decoding decoding;

    if (!crd || !ek_custom_version_of(crd, kind.version, &version))
        return 0;
    options.arena = ek_arena_new(DECODING_MAX);
    int rc = ek_custom_decode(&version, doc, object, &options, &decoding);
    if (rc)
        ek_err_set(err, rc, "the object cannot be decoded: %s", ek_strerror(rc));
    else if (decoding.error)
        rc = ek_err_set(err, EK_E_INVAL, "%s in version \"%s\" cannot be handled as a %s: %s",
                        kind.kind, kind.version, kind.kind, decoding.error);
    else if (!is_stored)
        tell_unknown(ci, written, &decoding.unknown);
    ek_arena_free(options.arena);
    return rc;
}

/* One param; ci owns what comes of it. */
static int decode_param(struct ek_ci *ci, struct ek_ci_object *param, struct ek_err *err)
{
    const struct ek_gvk kind = ek_ci_kind_of(ci, param->value);

    if (!ek_ci_crd_of(ci, &kind))
        return 0;
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *copy = yyjson_val_mut_copy(doc, param->value);
    int rc = ek_mutate_decode(ci, param->value, true, doc, copy, err);
    yyjson_doc *decoded = rc ? NULL : yyjson_mut_val_imut_copy(copy, &ek_json_xalc);

    yyjson_mut_doc_free(doc);
    if (rc) {
        ek_err_prefix(err, "%s: %s", param->source, ek_ci_key(ci, param->value));
        return rc;
    }
    ek_ci_own(ci, decoded);
    param->value = yyjson_doc_get_root(decoded);
    return 0;
}

int ek_mutate_decode_params(struct ek_ci *ci, struct ek_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < ci->params.n && !rc; i++)
        rc = decode_param(ci, &ci->params.list[i], err);
    return rc;
}
