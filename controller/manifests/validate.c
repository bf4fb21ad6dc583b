/* SPDX-License-Identifier: Apache-2.0 */
/* Writes of custom resources as an API server validates them after admission. */
#include <string.h>

#include "controller/manifests/manifests-internal.h"

#define VALIDATION_MAX ((size_t)64 << 20) /* octets of the errors, and of what they are made of */

/* The validator of a version, made once. */
static int validator_of(struct ek_ci *ci, yyjson_val *crd, const struct ek_gvk *kind,
                        struct ek_validator **ret, struct ek_err *err)
{
    const char *key =
        ek_arena_printf(ci->arena, "%s/%s/%s", kind->group, kind->version, kind->kind);

    *ret = ek_map_get(&ci->validators, key);
    if (*ret)
        return 0;
    int rc = ek_validator_new(crd, kind->version, ret, err);
    if (!rc)
        ek_map_put(&ci->validators, key, *ret);
    return rc;
}

int ek_ci_validate(struct ek_ci *ci, yyjson_val *crd, const struct ek_gvk *kind,
                   const struct ek_custom_write *write, const char **ret_refusal,
                   struct ek_err *err)
{
    struct ek_field_errors errors = {0};
    struct ek_validator *validator;
    const char *unknown = NULL;
    EK_AUTO(ek_buf) text = {0};

    *ret_refusal = NULL;
    int rc = validator_of(ci, crd, kind, &validator, err);
    if (rc)
        return rc;
    struct ek_arena *arena = ek_arena_new(VALIDATION_MAX);
    ek_validate_write(validator, write, arena, NULL, &errors, &unknown);
    ek_buf_init(&text, VALIDATION_MAX);
    ek_field_errors_join(&errors, &text);
    if (errors.n)
        *ret_refusal = ek_arena_printf(
            ci->arena, "%s.%s \"%s\" is invalid: %s", kind->kind, kind->group,
            ek_json_text(yyjson_obj_get(write->object, "metadata"), "name"), ek_buf_str(&text));
    else if (unknown)
        ek_ci_note(ci, "not all of the validation is known: %s", unknown);
    ek_arena_free(arena);
    return 0;
}
