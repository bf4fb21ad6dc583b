/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions: what parses prints as something that parses as the same, orders are orders, and what
 * does not parse is explained. The input is two texts with a line feed between them.
 */
#include <stdlib.h>
#include <string.h>

#include "api/semver.h"
#include "api/version.h"
#include "test/fuzz/fuzz.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)

static void require(bool truth)
{
    if (!truth)
        abort();
}

static void check_version(struct ek_str s, enum ek_version_form form)
{
    struct ek_version v, again;
    EK_AUTO(ek_buf) text, why;

    ek_buf_init(&text, TEXT_MAX);
    ek_buf_init(&why, TEXT_MAX);
    int rc = ek_version_parse(s, form, &v);
    require(ek_version_explain(s, form, &why) == 0 && (rc == 0) == (why.len == 0));
    if (rc)
        return;
    require(ek_version_format(&v, &text) == 0);
    require(ek_version_parse((struct ek_str){text.data, text.len}, form, &again) == 0);
    require(ek_version_cmp(&v, &again) == 0 && again.n_components == v.n_components);
}

static void check_semver(struct ek_str s, enum ek_semver_form form)
{
    struct ek_semver v, again;
    EK_AUTO(ek_buf) text, why;

    ek_buf_init(&text, TEXT_MAX);
    ek_buf_init(&why, TEXT_MAX);
    int rc = ek_semver_parse(s, form, &v);
    require(ek_semver_explain(s, form, &why) == 0 && (rc == 0) == (why.len == 0));
    if (rc)
        return;
    require(ek_semver_format(&v, &text) == 0);
    require(ek_semver_parse((struct ek_str){text.data, text.len}, EK_SEMVER_STRICT, &again) == 0);
    require(again.major == v.major && again.minor == v.minor && again.patch == v.patch);
    require(ek_str_eq(again.pre_release, v.pre_release) && ek_str_eq(again.build, v.build));
}

static void check_pair(struct ek_str a, struct ek_str b)
{
    struct ek_version x, y;
    int sign;

    if (ek_version_parse(a, EK_VERSION_ANY, &x) || ek_version_parse(b, EK_VERSION_ANY, &y))
        return;
    require(ek_version_cmp(&x, &y) == -ek_version_cmp(&y, &x));
    if (!ek_version_cmp_text(&x, b, &sign) && x.semantic == y.semantic)
        require(sign == ek_version_cmp(&x, &y));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_str all = {(const char *)data, size}, a = all, b = all;
    const char *split = size ? memchr(all.p, '\n', size) : NULL;

    if (split) {
        a = (struct ek_str){all.p, (size_t)(split - all.p)};
        b = (struct ek_str){split + 1, size - a.len - 1};
    }
    for (int form = 0; form < EK_VERSION_FORM_MAX; form++)
        check_version(all, (enum ek_version_form)form);
    for (int form = 0; form < EK_SEMVER_FORM_MAX; form++)
        check_semver(all, (enum ek_semver_form)form);
    check_pair(a, b);
    char *text = ek_xstrndup(all.p, all.len), buf[EK_MINOR_SIZE];
    ek_minor_format(ek_minor_parse(text), buf);
    ek_minor_format(ek_minor_from_fields(text, text), buf);
    ek_free(text);
    return 0;
}
