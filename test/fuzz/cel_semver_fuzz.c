/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two semantic versions, a line each, in every form: what parses prints as it was written, has no
 * explanation, and is in one order with any other.
 */
#include <string.h>

#include "api/semver.h"
#include "test/fuzz/fuzz.h"

static bool read(struct ek_str text, enum ek_semver_form form, struct ek_semver *ret)
{
    struct ek_buf why;
    int rc = ek_semver_parse(text, form, ret);

    ek_buf_init(&why, EK_BUF_SMALL_MAX);
    ek_semver_explain(text, form, &why);
    fuzz_require((rc == 0) == (why.len == 0 && why.failed == 0));
    ek_buf_done(&why);
    return rc == 0;
}

static void check_print(struct ek_str text, const struct ek_semver *version, bool as_written)
{
    struct ek_semver again;
    struct ek_buf out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    ek_semver_format(version, &out);
    struct ek_str printed = {out.data, out.len};
    if (!out.failed) {
        fuzz_require(!as_written || ek_str_eq(printed, text));
        fuzz_require(read(printed, EK_SEMVER_STRICT, &again));
        fuzz_require(ek_semver_compare(&again, version) == 0);
    }
    ek_buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *s = (const char *)data, *end = size ? memchr(s, '\n', size) : NULL;
    struct ek_str a = {s, end ? (size_t)(end - s) : size};
    struct ek_str b = end ? (struct ek_str){end + 1, size - a.len - 1} : a;
    struct ek_semver va, vb, strict;

    for (int form = 0; form < EK_SEMVER_FORM_MAX; form++) {
        if (!read(a, (enum ek_semver_form)form, &va))
            continue;
        check_print(a, &va, form == EK_SEMVER_STRICT);
        if (read(a, EK_SEMVER_STRICT, &strict))
            fuzz_require(ek_semver_compare(&va, &strict) == 0);
        if (read(b, (enum ek_semver_form)form, &vb))
            fuzz_require(ek_semver_compare(&va, &vb) == -ek_semver_compare(&vb, &va));
    }
    return 0;
}
