/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdlib.h>

#include "api/base/mem.h"
#include "api/version.h"
#include "test/support/suite.h"

#define VERY_LONG 5000u

static const struct {
    const char *name;
    const char *text;
    const char *generic, *semantic, *any; /* as printed, NULL where it does not parse */
} parse_rows[] = {
    {"release", "v1.36.2", "1.36.2", "1.36.2", "1.36.2"},
    {"no v", "1.36.2", "1.36.2", "1.36.2", "1.36.2"},
    {"two parts", "1.36", "1.36", NULL, "1.36"},
    {"four parts", "1.36.2.4", "1.36.2.4", NULL, "1.36.2.4"},
    {"one part", "v1", NULL, NULL, NULL},
    {"pre-release", "v1.36.0-alpha.2", "1.36.0", "1.36.0-alpha.2", "1.36.0-alpha.2"},
    {"vendor", "v1.30.5-gke.1014001", "1.30.5", "1.30.5-gke.1014001", "1.30.5-gke.1014001"},
    {"build", "v1.32.2+k3s1", "1.32.2", "1.32.2+k3s1", "1.32.2+k3s1"},
    {"both", "v1.33.3-rc1+rke2r1", "1.33.3", "1.33.3-rc1+rke2r1", "1.33.3-rc1+rke2r1"},
    {"git describe", "v1.36.2-14+84c76d1142ea4d", "1.36.2", "1.36.2-14+84c76d1142ea4d",
     "1.36.2-14+84c76d1142ea4d"},
    {"git archive", "v0.0.0-master+$Format:%H$", "0.0.0", NULL, "0.0.0"},
    {"plus", "1.29+", "1.29", NULL, "1.29"},
    {"zero in the patch", "1.36.02", "1.36.2", NULL, "1.36.2"},
    {"zero in the minor", "1.036.2", "1.36.2", NULL, "1.36.2"},
    {"zero in the major", "01.36.2", NULL, NULL, NULL},
    {"zeros", "0.0.0", "0.0.0", "0.0.0", "0.0.0"},
    {"zero in a pre-release", "1.2.3-01", "1.2.3", NULL, "1.2.3"},
    {"a word that starts with zero", "1.2.3-0a", "1.2.3", "1.2.3-0a", "1.2.3-0a"},
    {"an overlong number is a word", "1.2.3-018446744073709551616", "1.2.3",
     "1.2.3-018446744073709551616", "1.2.3-018446744073709551616"},
    {"largest", "1.18446744073709551615.0", "1.18446744073709551615.0", "1.18446744073709551615.0",
     "1.18446744073709551615.0"},
    {"too large", "1.18446744073709551616.0", NULL, NULL, NULL},
    {"large behind zeros", "1.0018446744073709551615", "1.18446744073709551615", NULL,
     "1.18446744073709551615"},
    {"blanks", " \t\n\f\rv1.36.2 \t", "1.36.2", "1.36.2", "1.36.2"},
    {"vertical tab", "\v1.36.2", NULL, NULL, NULL},
    {"line feed behind", "v1.36.2\n", NULL, NULL, NULL},
    {"blank behind v", "v 1.36.2", NULL, NULL, NULL},
    {"two v", "vv1.36.2", NULL, NULL, NULL},
    {"empty", "", NULL, NULL, NULL},
    {"unknown", "unknown", NULL, NULL, NULL},
    {"empty identifier", "1.36.2-a..b", "1.36.2", NULL, "1.36.2"},
    {"dot behind", "1.36.2.", "1.36.2", NULL, "1.36.2"},
    {"underscore", "1.36.2-a_b", "1.36.2", NULL, "1.36.2"},
    {"broken UTF-8", "1.36.2-\xff", "1.36.2", NULL, "1.36.2"},
    {"dashes", "1.36.2---", "1.36.2", "1.36.2---", "1.36.2---"},
};

static void check_form(const char *name, struct ek_str text, enum ek_version_form form,
                       const char *want)
{
    struct ek_version v;
    EK_AUTO(ek_buf) got, why;

    ek_buf_init(&got, 65536);
    ek_buf_init(&why, 65536);
    int rc = ek_version_parse(text, form, &v);
    ck_assert_msg(rc == (want ? 0 : EK_E_PARSE), "%s, form %d: returned %d", name, form, rc);
    ck_assert_int_eq(ek_version_explain(text, form, &why), 0);
    ck_assert_msg((why.len == 0) == !!want, "%s, form %d: explained as \"%s\"", name, form,
                  ek_buf_str(&why));
    if (want) {
        ck_assert_int_eq(ek_version_format(&v, &got), 0);
        ck_assert_msg(!strcmp(ek_buf_str(&got), want), "%s, form %d: %s, not %s", name, form,
                      ek_buf_str(&got), want);
    }
}

START_TEST(texts_parse_by_each_form)
{
    struct ek_str text = ek_str_from(parse_rows[_i].text);

    check_form(parse_rows[_i].name, text, EK_VERSION_GENERIC, parse_rows[_i].generic);
    check_form(parse_rows[_i].name, text, EK_VERSION_SEMANTIC, parse_rows[_i].semantic);
    check_form(parse_rows[_i].name, text, EK_VERSION_ANY, parse_rows[_i].any);
}
END_TEST

START_TEST(parts_have_no_limit)
{
    EK_AUTO(ek_buf) text;
    struct ek_version v;
    uint64_t value, n = 0;

    ek_buf_init(&text, (size_t)10 * VERY_LONG);
    ek_buf_puts(&text, "v0");
    for (unsigned i = 1; i < VERY_LONG; i++)
        ek_buf_printf(&text, ".%u", i);
    struct ek_str s = {text.data, text.len};
    ck_assert_int_eq(ek_version_parse(s, EK_VERSION_ANY, &v), 0);
    ck_assert_uint_eq(v.n_components, VERY_LONG);
    for (struct ek_str rest = v.numbers; ek_version_next_component(&rest, &value); n++)
        ck_assert_uint_eq(value, n);
    ck_assert_uint_eq(n, VERY_LONG);
}
END_TEST

START_TEST(a_nul_is_a_character)
{
    struct ek_version v;
    EK_AUTO(ek_buf) why;

    ek_buf_init(&why, 1000);
    ck_assert_int_eq(ek_version_parse(EK_STR("1.2.3\0x"), EK_VERSION_GENERIC, &v), 0);
    ck_assert_int_eq(ek_version_parse(EK_STR("1.2\0.3"), EK_VERSION_SEMANTIC, &v), EK_E_PARSE);
    ek_version_explain(EK_STR("\0001.2"), EK_VERSION_GENERIC, &why);
    ck_assert_str_eq(ek_buf_str(&why), "could not parse \"\\x001.2\" as version");
}
END_TEST

static const struct {
    const char *name;
    const char *text;
    enum ek_version_form form;
    const char *why;
} explain_rows[] = {
    {"no version", "x", EK_VERSION_ANY, "could not parse \"x\" as version"},
    {"shape", "1", EK_VERSION_GENERIC, "illegal version string \"1\""},
    {"shape, semantic", "1.2", EK_VERSION_SEMANTIC, "illegal version string \"1.2\""},
    {"zero", "1.02.3", EK_VERSION_SEMANTIC,
     "illegal zero-prefixed version component \"02\" in \"1.02.3\""},
    {"range", "1.99999999999999999999", EK_VERSION_GENERIC,
     "illegal non-numeric version component \"99999999999999999999\" in "
     "\"1.99999999999999999999\": strconv.ParseUint: parsing \"99999999999999999999\": value out "
     "of range"},
    {"extra", "1.2.3x\t", EK_VERSION_SEMANTIC,
     "could not parse pre-release/metadata (x\t) in version \"1.2.3x\\t\""},
};

START_TEST(errors_have_known_texts)
{
    EK_AUTO(ek_buf) why;

    ek_buf_init(&why, 1000);
    ek_version_explain(ek_str_from(explain_rows[_i].text), explain_rows[_i].form, &why);
    ck_assert_msg(!strcmp(ek_buf_str(&why), explain_rows[_i].why), "%s: %s", explain_rows[_i].name,
                  ek_buf_str(&why));
}
END_TEST

static const struct {
    const char *name;
    const char *a, *b;
    int sign;
} cmp_rows[] = {
    {"same", "v1.36.2", "1.36.2", 0},
    {"missing parts are zero", "1.36", "1.36.0", 0},
    {"many missing parts", "1.36", "1.36.0.0.0.1", -1},
    {"by number, not by text", "1.9", "1.10", -1},
    {"generic against pre-release", "1.36", "1.36.0-alpha.2", 0},
    {"release above pre-release", "1.36.0", "1.36.0-alpha.2", 1},
    {"alpha below beta", "1.36.0-alpha.2", "1.36.0-beta.1", -1},
    {"numbers by value", "1.36.0-rc.9", "1.36.0-rc.10", -1},
    {"number against word by bytes", "1.36.0-rc.9", "1.36.0-rc.10a", 1},
    {"longer is greater", "1.36.0-rc", "1.36.0-rc.0", -1},
    {"build never counts", "1.36.0+a", "1.36.0+b", 0},
    {"vendor suffix is below the release", "1.29.6-eks-db838b0", "1.29.6", -1},
    {"commits after the tag are below it", "v1.36.2-14+84c76d1142ea4d", "v1.36.2", -1},
};

START_TEST(versions_compare)
{
    struct ek_version a, b;

    ck_assert_int_eq(ek_version_parse(ek_str_from(cmp_rows[_i].a), EK_VERSION_ANY, &a), 0);
    ck_assert_int_eq(ek_version_parse(ek_str_from(cmp_rows[_i].b), EK_VERSION_ANY, &b), 0);
    ck_assert_msg(ek_version_cmp(&a, &b) == cmp_rows[_i].sign, "%s", cmp_rows[_i].name);
    ck_assert_msg(ek_version_cmp(&b, &a) == -cmp_rows[_i].sign, "%s, reversed", cmp_rows[_i].name);
}
END_TEST

START_TEST(a_text_is_read_as_its_counterpart_was)
{
    struct ek_version semantic, generic;
    int sign = 7;

    ck_assert_int_eq(ek_version_parse(EK_STR("1.36.0"), EK_VERSION_ANY, &semantic), 0);
    ck_assert_int_eq(ek_version_parse(EK_STR("1.36"), EK_VERSION_ANY, &generic), 0);
    ck_assert_int_eq(ek_version_cmp_text(&semantic, EK_STR("1.36"), &sign), EK_E_PARSE);
    ck_assert_int_eq(sign, 7);
    ck_assert_int_eq(ek_version_cmp_text(&semantic, EK_STR("1.36.0-rc.1"), &sign), 0);
    ck_assert_int_eq(sign, 1);
    ck_assert_int_eq(ek_version_cmp_text(&generic, EK_STR("1.36.0-rc.1"), &sign), 0);
    ck_assert_int_eq(sign, 0);
}
END_TEST

static const struct {
    const char *name;
    const char *text;
    const char *want;
} minor_rows[] = {
    {"release", "v1.36.2", "1.36"}, {"vendor", "v1.36.2-gke.1", "1.36"},
    {"short", "1.35", "1.35"},      {"build", "v1.34.2+k3s1", "1.34"},
    {"plus", "1.29+", "1.29"},      {"empty", "", ""},
    {"absent", NULL, ""},           {"unknown", "unknown", ""},
    {"major only", "1", ""},        {"too large", "1.99999999999999999999", ""},
};

START_TEST(minors_are_read_from_any_version)
{
    char text[EK_MINOR_SIZE];
    struct ek_minor v = ek_minor_parse(minor_rows[_i].text);

    ck_assert_msg(v.known == !!*minor_rows[_i].want, "%s", minor_rows[_i].name);
    ck_assert_msg(!strcmp(ek_minor_format(v, text), minor_rows[_i].want), "%s: %s",
                  minor_rows[_i].name, text);
}
END_TEST

static const struct {
    const char *name;
    const char *major, *minor;
    const char *want;
} field_rows[] = {
    {"plain", "1", "36", "1.36"},          {"plus", "1", "22+", "1.22"},
    {"plus in both", "1+", "22+", "1.22"}, {"empty minor", "1", "", ""},
    {"empty major", "", "22", ""},         {"absent", NULL, "22", ""},
    {"no digits first", "1", "+22", ""},   {"too large", "1", "99999999999999999999", ""},
};

START_TEST(minors_are_read_from_fields)
{
    char text[EK_MINOR_SIZE];
    struct ek_minor v = ek_minor_from_fields(field_rows[_i].major, field_rows[_i].minor);

    ck_assert_msg(!strcmp(ek_minor_format(v, text), field_rows[_i].want), "%s: %s",
                  field_rows[_i].name, text);
}
END_TEST

static const struct {
    const char *name;
    struct ek_minor from;
    int by;
    const char *want;
} offset_rows[] = {
    {"down", {true, 1, 36}, -3, "1.33"},
    {"up", {true, 1, 36}, 1, "1.37"},
    {"by nothing", {true, 1, 36}, 0, "1.36"},
    {"to zero", {true, 1, 3}, -3, "1.0"},
    {"never below", {true, 1, 2}, -3, "1.0"},
    {"from zero", {true, 1, 0}, -1, "1.0"},
    {"as far as it goes", {true, 1, 2}, INT32_MIN, "1.0"},
    {"unknown stays so", {false, 0, 0}, 1, ""},
};

START_TEST(minors_move)
{
    char text[EK_MINOR_SIZE];
    struct ek_minor v = ek_minor_offset(offset_rows[_i].from, offset_rows[_i].by);

    ck_assert_msg(!strcmp(ek_minor_format(v, text), offset_rows[_i].want), "%s: %s",
                  offset_rows[_i].name, text);
}
END_TEST

START_TEST(minors_compare)
{
    ck_assert_int_lt(ek_minor_cmp(EK_MINOR(1, 9), EK_MINOR(1, 10)), 0);
    ck_assert_int_gt(ek_minor_cmp(EK_MINOR(2, 0), EK_MINOR(1, 99)), 0);
    ck_assert_int_eq(ek_minor_cmp(EK_MINOR(1, 36), EK_MINOR(1, 36)), 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("version");

    tcase_add_loop_test(tcase, texts_parse_by_each_form, 0, EK_ARRAY_SIZE(parse_rows));
    tcase_add_test(tcase, parts_have_no_limit);
    tcase_add_test(tcase, a_nul_is_a_character);
    tcase_add_loop_test(tcase, errors_have_known_texts, 0, EK_ARRAY_SIZE(explain_rows));
    tcase_add_loop_test(tcase, versions_compare, 0, EK_ARRAY_SIZE(cmp_rows));
    tcase_add_test(tcase, a_text_is_read_as_its_counterpart_was);
    tcase_add_loop_test(tcase, minors_are_read_from_any_version, 0, EK_ARRAY_SIZE(minor_rows));
    tcase_add_loop_test(tcase, minors_are_read_from_fields, 0, EK_ARRAY_SIZE(field_rows));
    tcase_add_loop_test(tcase, minors_move, 0, EK_ARRAY_SIZE(offset_rows));
    tcase_add_test(tcase, minors_compare);
    return ek_test_run("version", tcase);
}
