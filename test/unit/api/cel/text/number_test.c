/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cel/text/number.h"
#include "test/support/suite.h"

/* Answers of Go's strconv. */
static const struct {
    const char *name;
    double d;
    const char *g, *f;
} texts[] = {
    {"zero", 0.0, "0", "0"},
    {"negative zero", -0.0, "-0", "-0"},
    {"one", 1.0, "1", "1"},
    {"a tenth", 0.1, "0.1", "0.1"},
    {"sum of tenths", 0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"},
    {"six digits", 123456.0, "123456", "123456"},
    {"a million", 1e6, "1e+06", "1000000"},
    {"seven digits", 1234567.0, "1.234567e+06", "1234567"},
    {"four zeros", 0.0001, "0.0001", "0.0001"},
    {"five zeros", 0.00001, "1e-05", "0.00001"},
    {"ten to 20", 1e20, "1e+20", "100000000000000000000"},
    {"ten to 21", 1e21, "1e+21", "1000000000000000000000"},
    {"ten to 100", -2.5e100, "-2.5e+100",
     "-250000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
     "00000000000"},
    {"largest", 1.7976931348623157e308, "1.7976931348623157e+308", NULL},
    {"least", 5e-324, "5e-324", NULL},
    {"2 to 53", 9007199254740992.0, "9.007199254740992e+15", "9007199254740992"},
    {"a power of two, rounded to its wider side", 0x1p-44, "5.684341886080802e-14",
     "0.00000000000005684341886080802"},
    {"not a number", NAN, "NaN", "NaN"},
    {"infinite", INFINITY, "+Inf", "+Inf"},
    {"less than all", -INFINITY, "-Inf", "-Inf"},
};

START_TEST(doubles_have_the_text_go_gives_them)
{
    char out[EK_CEL_DOUBLE_TEXT_MAX];
    size_t len = ek_cel_double_g(texts[_i].d, out);

    ck_assert_msg(!strcmp(out, texts[_i].g) && len == strlen(out), "%s: %s, not %s", texts[_i].name,
                  out, texts[_i].g);
    len = ek_cel_double_f(texts[_i].d, out);
    ck_assert_msg(len == strlen(out), "%s", texts[_i].name);
    if (texts[_i].f)
        ck_assert_msg(!strcmp(out, texts[_i].f), "%s: %s, not %s", texts[_i].name, out,
                      texts[_i].f);
}
END_TEST

static const struct {
    const char *text;
    const char *want; /* as %g, "!" where it is refused */
} doubles[] = {
    {"1", "1"},
    {"-1.5", "-1.5"},
    {"+.5", "0.5"},
    {"1.", "1"},
    {"1e3", "1000"},
    {"1E-3", "0.001"},
    {"1e+21", "1e+21"},
    {"0x1p-2", "0.25"},
    {"0X1.8P1", "3"},
    {"0x_1_0p0", "16"},
    {"1_0.5", "10.5"},
    {"inf", "+Inf"},
    {"-Infinity", "-Inf"},
    {"nan", "NaN"},
    {"NaN", "NaN"},
    {"9007199254740993", "9.007199254740992e+15"},
    {"9007199254740993.0000000000000000000000000000001", "9.007199254740994e+15"},
    {"0x1.fffffffffffff7p1023", "1.7976931348623157e+308"},
    {"1e-400", "0"},
    {"-1e-400", "-0"},
    {"0e99999999999", "0"},
    {"2.4703282292062327208e-324", "0"},
    {"2.4703282292062328e-324", "5e-324"},
    {"", "!"},
    {"+", "!"},
    {".", "!"},
    {" 1", "!"},
    {"1 ", "!"},
    {"1e", "!"},
    {"1e+", "!"},
    {"0x1", "!"},
    {"0x", "!"},
    {"0xp1", "!"},
    {"1e400", "!"},
    {"0x1.fffffffffffff8p1023", "!"},
    {"+nan", "!"},
    {"infinit", "!"},
    {"1__0", "!"},
    {"_1", "!"},
    {"1_", "!"},
    {"1_e1", "!"},
    {"1.2.3", "!"},
    {"0b1", "!"},
    {"1,5", "!"},
    {"\xd9\xa3", "!"},
};

START_TEST(doubles_are_read_as_go_reads_them)
{
    const char *text = doubles[_i].text;
    char out[EK_CEL_DOUBLE_TEXT_MAX] = "!";
    double d;

    if (ek_cel_parse_double(text, strlen(text), &d))
        ek_cel_double_g(d, out);
    ck_assert_msg(!strcmp(out, doubles[_i].want), "%s: %s, not %s", text, out, doubles[_i].want);
}
END_TEST

static const struct {
    const char *text, *as_int, *as_uint, *as_bool;
} scalars[] = {
    {"0", "0", "0", "false"},
    {"1", "1", "1", "true"},
    {"-0", "0", "!", "!"},
    {"+7", "7", "!", "!"},
    {"007", "7", "7", "!"},
    {"9223372036854775807", "9223372036854775807", "9223372036854775807", "!"},
    {"9223372036854775808", "!", "9223372036854775808", "!"},
    {"-9223372036854775808", "-9223372036854775808", "!", "!"},
    {"-9223372036854775809", "!", "!", "!"},
    {"18446744073709551615", "!", "18446744073709551615", "!"},
    {"18446744073709551616", "!", "!", "!"},
    {"99999999999999999999999", "!", "!", "!"},
    {"", "!", "!", "!"},
    {"-", "!", "!", "!"},
    {"--1", "!", "!", "!"},
    {"1_0", "!", "!", "!"},
    {"0x1", "!", "!", "!"},
    {"1.0", "!", "!", "!"},
    {"true", "!", "!", "true"},
    {"TRUE", "!", "!", "true"},
    {"True", "!", "!", "true"},
    {"tRUE", "!", "!", "!"},
    {"t", "!", "!", "true"},
    {"F", "!", "!", "false"},
    {"False", "!", "!", "false"},
    {"yes", "!", "!", "!"},
};

START_TEST(whole_numbers_and_truth_are_read)
{
    const char *text = scalars[_i].text;
    size_t len = strlen(text);
    char out[32] = "!";
    int64_t i;
    uint64_t u;
    bool b;

    if (ek_cel_parse_int(text, len, &i))
        snprintf(out, sizeof out, "%" PRId64, i);
    ck_assert_msg(!strcmp(out, scalars[_i].as_int), "int %s: %s", text, out);
    snprintf(out, sizeof out, "!");
    if (ek_cel_parse_uint(text, len, &u))
        snprintf(out, sizeof out, "%" PRIu64, u);
    ck_assert_msg(!strcmp(out, scalars[_i].as_uint), "uint %s: %s", text, out);
    snprintf(out, sizeof out, "!");
    if (ek_cel_parse_bool(text, len, &b))
        snprintf(out, sizeof out, b ? "true" : "false");
    ck_assert_msg(!strcmp(out, scalars[_i].as_bool), "bool %s: %s", text, out);
}
END_TEST

/* Bit patterns spread over all doubles, the same in each run. */
static double some_double(uint64_t *state)
{
    double d;

    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint64_t bits = *state ^ *state >> 29;
    memcpy(&d, &bits, sizeof d);
    return d;
}

START_TEST(shortest_digits_read_back_and_none_fewer_would)
{
    uint64_t state = 1;

    for (int i = 0; i < 20000; i++) {
        double d = some_double(&state), again;
        char out[EK_CEL_DOUBLE_TEXT_MAX], fewer[40];
        struct ek_cel_digits digits;

        if (!isfinite(d))
            continue;
        size_t len = ek_cel_double_g(d, out);
        ck_assert_msg(ek_cel_parse_double(out, len, &again) && again == d, "%s", out);
        len = ek_cel_double_f(d, out);
        ck_assert_msg(ek_cel_parse_double(out, len, &again) && again == d, "%s", out);
        ek_cel_digits_of(d, &digits);
        ck_assert_msg(digits.n >= 1 && digits.n <= 17, "%s", out);
        if (digits.n > 1) {
            snprintf(fewer, sizeof fewer, "%.*e", digits.n - 2, d);
            ck_assert_msg(strtod(fewer, NULL) != d, "%s is %s", out, fewer);
        }
    }
}
END_TEST

START_TEST(long_texts_are_read_in_full)
{
    static const char half[] = "9007199254740993.";
    static char text[100001];
    double d;

    memset(text, '0', sizeof text - 1);
    text[0] = '1';
    ck_assert(!ek_cel_parse_double(text, sizeof text - 1, &d)); /* beyond all doubles */
    text[1] = '.';
    text[sizeof text - 2] = '1';
    ck_assert(ek_cel_parse_double(text, sizeof text - 1, &d) && d == 1.0);
    for (size_t i = 0; half[i]; i++)
        text[i] = half[i]; /* half way, but for the 1 at its end */
    ck_assert(ek_cel_parse_double(text, sizeof text - 1, &d) && d == 9007199254740994.0);
}
END_TEST

START_TEST(locales_change_nothing)
{
    static const char *const locales[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "C.UTF-8"};
    char out[EK_CEL_DOUBLE_TEXT_MAX];
    double d;

    for (size_t i = 0; i < 4 && !setlocale(LC_NUMERIC, locales[i]); i++)
        ;
    ck_assert(ek_cel_parse_double("1.5", 3, &d) && d == 1.5);
    ck_assert(!ek_cel_parse_double("1,5", 3, &d));
    ek_cel_double_g(1.5, out);
    ck_assert_str_eq(out, "1.5");
    setlocale(LC_NUMERIC, "C");
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("cel_number");

    tcase_add_loop_test(tcase, doubles_have_the_text_go_gives_them, 0,
                        sizeof texts / sizeof *texts);
    tcase_add_loop_test(tcase, doubles_are_read_as_go_reads_them, 0,
                        sizeof doubles / sizeof *doubles);
    tcase_add_loop_test(tcase, whole_numbers_and_truth_are_read, 0,
                        sizeof scalars / sizeof *scalars);
    tcase_add_test(tcase, shortest_digits_read_back_and_none_fewer_would);
    tcase_add_test(tcase, long_texts_are_read_in_full);
    tcase_add_test(tcase, locales_change_nothing);
    return ek_test_run("cel_number", tcase);
}
