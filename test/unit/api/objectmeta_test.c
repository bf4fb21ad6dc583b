/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata beyond what vectors/policy-validation has from an API server. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/objectmeta.h"
#include "test/support/suite.h"

/* Validates {KIND: {"NAME": TEXT}} where TEXT has n octets; the errors are of the arena. */
static struct ek_field_errors validate(struct ek_arena *arena, size_t n)
{
    struct ek_field_errors errors = {.arena = arena};
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *metadata = yyjson_mut_obj(doc);
    char *text = ek_xalloc(n + 1);

    memset(text, 'x', n);
    yyjson_mut_val *annotations = yyjson_mut_obj_add_obj(doc, metadata, "annotations");
    yyjson_mut_obj_add_str(doc, annotations, "a", text);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = ek_obj_from_mut(metadata);
    ek_validate_object_meta(&errors, ek_obj_root(obj), "metadata");
    yyjson_mut_doc_free(doc);
    ek_free(text);
    return errors;
}

START_TEST(annotations_have_a_size)
{
    static const size_t most = (256 << 10) - 1; /* and one octet of the key */
    struct ek_arena *arena = ek_arena_new((size_t)4 << 20);
    struct ek_field_errors errors = validate(arena, most);

    ck_assert_uint_eq(errors.n, 0);
    errors = validate(arena, most + 1);
    ck_assert_uint_eq(errors.n, 1);
    ck_assert_str_eq(errors.texts[0],
                     "metadata.annotations: Too long: may not be more than 262144 bytes");
    ek_arena_free(arena);
}
END_TEST

/* What is not there, or of another type, is for others to report. */
START_TEST(other_types_are_nothing)
{
    static const char *const texts[] = {"{}", "7", "{\"labels\":7,\"annotations\":[1]}",
                                        "{\"labels\":{\"a\":7},\"finalizers\":[1,null]}",
                                        "{\"ownerReferences\":{\"uid\":7},\"annotations\":null}"};
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_field_errors errors = {.arena = arena};
    yyjson_doc *doc = ek_json_parse(texts[_i], strlen(texts[_i]), NULL);

    ek_validate_object_meta(&errors, yyjson_doc_get_root(doc), "metadata");
    ek_validate_object_meta(&errors, NULL, "metadata");
    ck_assert_uint_eq(errors.n, 0);
    yyjson_doc_free(doc);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("objectmeta");

    tcase_add_test(tcase, annotations_have_a_size);
    tcase_add_loop_test(tcase, other_types_are_nothing, 0, 5);
    return ek_test_run("objectmeta", tcase);
}
