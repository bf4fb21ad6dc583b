/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/decode/builtin.h"
#include "api/obj.h"
#include "test/vectors/vectors.h"

/* The version of the recorded decoder. */
#define MINOR 36

#define ARENA_LIMIT ((size_t)16 << 20)

static struct ek_gvk kind_of(yyjson_val *object, struct ek_arena *arena)
{
    const char *version = ek_json_text(object, "apiVersion"), *slash = strchr(version, '/');

    return (struct ek_gvk){
        .group = slash ? ek_arena_strndup(arena, version, (size_t)(slash - version)) : "",
        .version = slash ? slash + 1 : version,
        .kind = ek_json_text(object, "kind"),
    };
}

static bool answer(void *state, yyjson_val *record, yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    yyjson_val *object = yyjson_obj_get(record, "object");
    struct ek_decode_problem problem = {0};
    yyjson_mut_val *seen = NULL;

    (void)state;
    if (!yyjson_is_obj(object))
        return false;
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_gvk kind = kind_of(object, arena);
    int rc = ek_decode_builtin(&kind, MINOR, object, NULL, arena, doc, &seen, NULL, &problem);
    bool ok = rc ? yyjson_mut_obj_add_strcpy(doc, answer, "error",
                                             rc == EK_E_INVAL ? problem.why : ek_strerror(rc))
                 : yyjson_mut_obj_add_val(doc, answer, "seen", seen);
    ek_arena_free(arena);
    return ok;
}

const struct ek_vectors_subject ek_vectors_decode = {
    .name = "decode", .options = "", .answer = answer};
