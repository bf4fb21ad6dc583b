/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/mutation/policy.h"
#include "test/vectors/vectors.h"

/* What the recording server validates new expressions by: the version before its own. */
#define COMPAT_MINOR 35

static bool answer(void *state, yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    yyjson_val *object = yyjson_obj_get(record, "policy");
    const char *validation = ek_json_str(record, "query", "fieldValidation", NULL);
    EK_AUTO(ek_buf) message;
    const char *reason;

    (void)state;
    ek_buf_init(&message, (size_t)16 << 20);
    if (!object)
        object = yyjson_obj_get(record, "binding");
    if (!yyjson_is_obj(object))
        return false;
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_val(object);
    int code = ek_policy_validate(obj, validation && !strcmp(validation, "Strict"), COMPAT_MINOR,
                                  &message, &reason);
    if (!code)
        return yyjson_mut_obj_add_bool(doc, answer, "accepted", true);
    yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, answer, "error");
    yyjson_mut_obj_add_int(doc, error, "code", code);
    yyjson_mut_obj_add_strcpy(doc, error, "reason", reason);
    return yyjson_mut_obj_add_strcpy(doc, error, "message", ek_buf_str(&message));
}

const struct ek_vectors_subject ek_vectors_policy_validation = {
    .name = "policy-validation", .options = "", .answer = answer};
