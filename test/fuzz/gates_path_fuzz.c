/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Field paths: what is read has a canonical form that reads as the same path, and a pointer; what
 * is not says why.
 */
#include <string.h>

#include "api/patch/pointer.h"
#include "reconcilers/fieldgates/path.h"
#include "test/fuzz/fuzz.h"

static void check_pointer(const struct ek_field_path *path)
{
    EK_AUTO(ek_buf) pointer;
    EK_AUTO(ek_buf) scratch;
    struct ek_str rest, token;

    ek_buf_init(&pointer, (size_t)4 * EK_FIELD_PATH_MAX);
    ek_buf_init(&scratch, EK_FIELD_PATH_MAX);
    for (size_t i = 0; i < path->n; i++)
        ek_pointer_push(&pointer, path->names[i]);
    fuzz_require(!pointer.failed);
    rest = (struct ek_str){pointer.data, pointer.len};
    for (size_t i = 0; i < path->n; i++) {
        fuzz_require(ek_pointer_next(&rest, &token));
        fuzz_require(ek_str_eq(ek_pointer_unescape(token, &scratch), path->names[i]));
    }
    fuzz_require(rest.len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    EK_AUTOFREE char *text = ek_xstrndup((const char *)data, size);
    struct ek_field_path path, again;
    struct ek_err err = {0};
    int rc = ek_field_path_parse(text, arena, &path, &err);

    if (rc) {
        fuzz_require(rc == err.code && strlen(err.message) > strlen("offset 0: "));
    } else {
        fuzz_require(path.n > 0 && path.n <= EK_FIELD_PATH_NAMES_MAX);
        check_pointer(&path);
        if (strlen(path.text) <= EK_FIELD_PATH_MAX) {
            fuzz_require(ek_field_path_parse(path.text, arena, &again, NULL) == 0);
            fuzz_require(!strcmp(again.text, path.text));
            fuzz_require(ek_field_path_covers(&path, &again) && again.n == path.n);
        }
    }
    ek_arena_free(arena);
    return 0;
}
