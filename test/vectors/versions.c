/* SPDX-License-Identifier: Apache-2.0 */
#include "api/base/mem.h"
#include "api/semver.h"
#include "api/version.h"
#include "test/vectors/vectors.h"

#define TEXT_MAX ((size_t)64 * 1024 * 1024)

/* Adds a copy of what text holds and empties it. */
static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                     struct ek_buf *text)
{
    yyjson_mut_obj_add_strncpy(doc, object, name, ek_buf_str(text), text->len);
    ek_buf_done(text);
}

static void add_str(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name, struct ek_str s)
{
    if (s.len > 0)
        yyjson_mut_obj_add_strncpy(doc, object, name, s.p, s.len);
}

static void add_minor(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                      struct ek_minor v)
{
    char text[EK_MINOR_SIZE];
    yyjson_mut_obj_add_strcpy(doc, object, name, ek_minor_format(v, text));
}

static void add_numbers(yyjson_mut_doc *doc, yyjson_mut_val *object, struct ek_str numbers)
{
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, "components");
    uint64_t value;

    while (ek_version_next_component(&numbers, &value))
        yyjson_mut_arr_add_uint(doc, list, value);
}

static void add_version(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct ek_version *v)
{
    struct ek_minor minor = EK_MINOR(v->major, v->minor);
    struct ek_buf text;

    yyjson_mut_obj_add_bool(doc, object, "ok", true);
    add_numbers(doc, object, v->numbers);
    yyjson_mut_obj_add_uint(doc, object, "major", v->major);
    yyjson_mut_obj_add_uint(doc, object, "minor", v->minor);
    yyjson_mut_obj_add_uint(doc, object, "patch", v->patch);
    add_str(doc, object, "pre", v->pre_release);
    add_str(doc, object, "build", v->build);
    ek_buf_init(&text, TEXT_MAX);
    ek_version_format(v, &text);
    add_text(doc, object, "string", &text);
    add_minor(doc, object, "minorMinus1", ek_minor_offset(minor, -1));
    add_minor(doc, object, "minorMinus3", ek_minor_offset(minor, -3));
    add_minor(doc, object, "minorPlus1", ek_minor_offset(minor, 1));
}

static void add_error(yyjson_mut_doc *doc, yyjson_mut_val *object, struct ek_buf *text)
{
    yyjson_mut_obj_add_bool(doc, object, "ok", false);
    add_text(doc, object, "error", text);
}

static void add_parse(yyjson_mut_doc *doc, yyjson_mut_val *answer, const char *name,
                      struct ek_str s, enum ek_version_form form)
{
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, answer, name);
    struct ek_version v;

    if (!ek_version_parse(s, form, &v)) {
        add_version(doc, object, &v);
        return;
    }
    struct ek_buf why;
    ek_buf_init(&why, TEXT_MAX);
    ek_version_explain(s, form, &why);
    add_error(doc, object, &why);
}

/* The generic form cut down to its first two numbers. */
static void add_major_minor(yyjson_mut_doc *doc, yyjson_mut_val *answer, struct ek_str s)
{
    struct ek_version v, cut;
    char text[EK_MINOR_SIZE];

    if (ek_version_parse(s, EK_VERSION_GENERIC, &v)) {
        add_parse(doc, answer, "majorMinor", s, EK_VERSION_GENERIC);
        return;
    }
    ek_minor_format(EK_MINOR(v.major, v.minor), text);
    ek_version_parse(ek_str_from(text), EK_VERSION_GENERIC, &cut);
    add_version(doc, yyjson_mut_obj_add_obj(doc, answer, "majorMinor"), &cut);
}

static void add_semver(yyjson_mut_doc *doc, yyjson_mut_val *parent, const char *name,
                       struct ek_str s, enum ek_semver_form form)
{
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, parent, name);
    struct ek_semver v;
    struct ek_buf text;

    ek_buf_init(&text, TEXT_MAX);
    if (ek_semver_parse(s, form, &v)) {
        ek_semver_explain(s, form, &text);
        add_error(doc, object, &text);
        return;
    }
    yyjson_mut_obj_add_bool(doc, object, "ok", true);
    ek_semver_format(&v, &text);
    add_text(doc, object, "string", &text);
}

static void answer_parse(struct ek_str s, yyjson_mut_doc *doc, yyjson_mut_val *answer)
{
    add_parse(doc, answer, "generic", s, EK_VERSION_GENERIC);
    add_parse(doc, answer, "semantic", s, EK_VERSION_SEMANTIC);
    add_parse(doc, answer, "parse", s, EK_VERSION_ANY);
    add_major_minor(doc, answer, s);
    yyjson_mut_val *candidate = yyjson_mut_obj_add_obj(doc, answer, "leaseCandidate");
    add_semver(doc, candidate, "strict", s, EK_SEMVER_STRICT);
    add_semver(doc, candidate, "tolerant", s, EK_SEMVER_TOLERANT);
}

/* The comparison of a read one way with b read another; absent where either does not parse. */
static void add_comparison(yyjson_mut_doc *doc, yyjson_mut_val *answer, const char *name,
                           struct ek_str a, enum ek_version_form form_a, struct ek_str b,
                           enum ek_version_form form_b)
{
    struct ek_version x, y;

    if (ek_version_parse(a, form_a, &x) || ek_version_parse(b, form_b, &y))
        return;
    int sign = ek_version_cmp(&x, &y);
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, answer, name);
    yyjson_mut_obj_add_bool(doc, object, "atLeast", sign >= 0);
    yyjson_mut_obj_add_int(doc, object, "cmp", sign);
    yyjson_mut_obj_add_bool(doc, object, "equal", sign == 0);
    yyjson_mut_obj_add_bool(doc, object, "lessThan", sign < 0);
}

static void add_text_comparison(yyjson_mut_doc *doc, yyjson_mut_val *answer, struct ek_str a,
                                struct ek_str b)
{
    struct ek_version x;
    int sign;

    if (ek_version_parse(a, EK_VERSION_ANY, &x))
        return;
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, answer, "parse_compare_string");
    if (!ek_version_cmp_text(&x, b, &sign)) {
        yyjson_mut_obj_add_int(doc, object, "cmp", sign);
        return;
    }
    struct ek_buf why;
    ek_buf_init(&why, TEXT_MAX);
    ek_version_explain(b, x.semantic ? EK_VERSION_SEMANTIC : EK_VERSION_GENERIC, &why);
    add_text(doc, object, "error", &why);
}

static void answer_pair(struct ek_str a, struct ek_str b, yyjson_mut_doc *doc,
                        yyjson_mut_val *answer)
{
    add_comparison(doc, answer, "generic", a, EK_VERSION_GENERIC, b, EK_VERSION_GENERIC);
    add_comparison(doc, answer, "semantic", a, EK_VERSION_SEMANTIC, b, EK_VERSION_SEMANTIC);
    add_comparison(doc, answer, "parse", a, EK_VERSION_ANY, b, EK_VERSION_ANY);
    add_comparison(doc, answer, "semantic_to_generic", a, EK_VERSION_SEMANTIC, b,
                   EK_VERSION_GENERIC);
    add_text_comparison(doc, answer, a, b);
}

static bool get_text(yyjson_val *record, const char *name, struct ek_str *ret_s)
{
    yyjson_val *value = yyjson_obj_get(record, name);
    *ret_s = (struct ek_str){yyjson_get_str(value), yyjson_get_len(value)};
    return yyjson_is_str(value);
}

static bool answer_case(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                        yyjson_mut_val *answer)
{
    yyjson_val *kind = yyjson_obj_get(record, "kind");
    struct ek_str s, a, b;

    (void)state;
    if (yyjson_equals_str(kind, "parse") && get_text(record, "s", &s)) {
        answer_parse(s, doc, answer);
        return true;
    }
    if (!get_text(record, "a", &a) || !get_text(record, "b", &b))
        return false;
    if (yyjson_equals_str(kind, "pair"))
        answer_pair(a, b, doc, answer);
    else
        return yyjson_equals_str(kind, "kube"); /* not compared: see compare */
    return true;
}

const struct ek_vectors_subject ek_vectors_versions = {
    .name = "versions",
    .options = "",
    .answer = answer_case,
};
