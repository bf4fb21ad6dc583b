/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "api/cel/regex/regex.h"
#include "api/cel/regex/syntax.h"
#include "test/support/celtest.h"
#include "test/support/suite.h"

/* What Go says of patterns; NULL when it takes them. */
static const struct {
    const char *pattern, *fault;
} syntax_rows[] = {
    {"", NULL},
    {"a|b|", NULL},
    {"(", "missing closing ): `(`"},
    {"a)b", "unexpected ): `a)b`"},
    {"a**", "invalid nested repetition operator: `**`"},
    {"a*??", "invalid nested repetition operator: `*??`"},
    {"a{2}{3}", "invalid nested repetition operator: `{2}{3}`"},
    {"a*(?)*", NULL},
    {"a*\\Q\\E*", NULL},
    {"*a", "missing argument to repetition operator: `*`"},
    {"a|+?", "missing argument to repetition operator: `+?`"},
    {"(?i)*", "missing argument to repetition operator: `*`"},
    {"^*", NULL},
    {"a{1001}", "invalid repeat count: `{1001}`"},
    {"a{2,1}", "invalid repeat count: `{2,1}`"},
    {"(a{100}){11}", "invalid repeat count: `{11}`"},
    {"(a{10}b|c){100}", NULL},
    {"(a{0,}){1000}", NULL},
    {"a{,2}a{a{1a{1,a{01}", NULL},
    {"a{99999999999}", "invalid repeat count: `{99999999999}`"},
    {"\\", "trailing backslash at end of expression: ``"},
    {"\\8", "invalid escape sequence: `\\8`"},
    {"\\1", "invalid escape sequence: `\\1`"},
    {"\\12\\0", NULL},
    {"\\C", "invalid escape sequence: `\\C`"},
    {"\\Z", "invalid escape sequence: `\\Z`"},
    {"\\é", "invalid escape sequence: `\\é`"},
    {"\\_\\-\\ ", NULL},
    {"\\x{65e5}\\x41\\x{10FFFF}\\x{d800}", NULL},
    {"\\x", "invalid escape sequence: `\\x`"},
    {"\\x4", "invalid escape sequence: `\\x4`"},
    {"\\xéb", "invalid escape sequence: `\\xéb`"},
    {"\\x{}", "invalid escape sequence: `\\x{}`"},
    {"\\x{110000}", "invalid escape sequence: `\\x{110000`"},
    {"\\x{4", "invalid escape sequence: `\\x{4`"},
    {"\\Qa(b\\Ec", NULL},
    {"\\Q(", NULL},
    {"\\A\\b\\B\\z\\d\\D\\s\\S\\w\\W\\a\\f\\n\\r\\t\\v", NULL},
    {"[a", "missing closing ]: `[a`"},
    {"[]a][^]a][a-][-a][--a]", NULL},
    {"[z-a]", "invalid character class range: `z-a`"},
    {"[a-\\d]", "invalid escape sequence: `\\d`"},
    {"[\\d-z\\pL\\x{30}-9]", NULL},
    {"[\\b]", "invalid escape sequence: `\\b`"},
    {"[[:alpha:][:^word:]]", NULL},
    {"[[:foo:]]", "invalid character class range: `[:foo:]`"},
    {"[[:alpha]", NULL},
    {"\\pN\\p{Greek}\\P{^greek}\\p{Any}", NULL},
    {"\\p{uppercase_letter}\\p{LC}\\P{Lc}\\pC\\P{Cn}\\p{ASCII}\\p{assigned}", NULL},
    {"[\\p{LC}\\p{ascii}]", NULL},
    {"\\pX", "invalid character class range: `\\pX`"},
    {"\\p", "invalid character class range: `\\p`"},
    {"\\p{Old_Italic}", "invalid character class range: `\\p{Old_Italic}`"},
    {"a\\p{Greek", "invalid character class range: `\\p{Greek`"},
    {"(?P<n>a)(?<n>b)", NULL},
    {"(?P<n", "invalid named capture: `(?P<n`"},
    {"(?P<>a)", "invalid named capture: `(?P<>`"},
    {"(?<a-b>a)", "invalid named capture: `(?<a-b>`"},
    {"(?P", "invalid or unsupported Perl syntax: `(?P`"},
    {"(?i-s:a)(?U)(?m-)", "invalid or unsupported Perl syntax: `(?m-)`"},
    {"(?=a)", "invalid or unsupported Perl syntax: `(?=`"},
    {"(?i", "invalid or unsupported Perl syntax: `(?i`"},
    {"(?é)", "invalid or unsupported Perl syntax: `(?é`"},
};

static struct ek_cel_regex *compiled(const char *pattern, size_t len, struct ek_err *err)
{
    size_t budget = EK_CEL_REGEX_BUDGET;

    return ek_cel_regex_new_within(pattern, len, &budget, err);
}

START_TEST(syntax)
{
    const char *pattern = syntax_rows[_i].pattern, *fault = syntax_rows[_i].fault;
    size_t len = strlen(pattern);
    EK_AUTOFREE char *copy = ek_xalloc(len + !len); /* without a NUL behind it */
    struct ek_err err = {0};
    char want[200];

    memcpy(copy, pattern, len);
    struct ek_cel_regex *regex = compiled(copy, len, &err);
    snprintf(want, sizeof want, "error parsing regexp: %s", fault ? fault : "");
    ck_assert_msg((regex != NULL) == (fault == NULL), "%s: %s", pattern, err.message);
    if (fault) {
        ck_assert_str_eq(err.message, want);
        ck_assert_int_eq(err.code, EK_E_PARSE);
    } else {
        ck_assert_uint_gt(ek_cel_regex_size(regex), 0);
    }
    ek_cel_regex_free(regex);
}
END_TEST

/* Answers of a Kubernetes 1.36 API server. */
static const struct ek_celtest_row answer_rows[] = {
    {"matches anywhere", "'hello world'.matches('o w')", "true cost 2"},
    {"leftmost first", "'abcd'.find('b|bcd')", "\"b\" cost 2"},
    {"ungreedy", "'aaa'.find('(?U)a+')", "\"a\" cost 2"},
    {"without case", "'KELVIN K'.find('(?i)\\u212a')", "\"K\" cost 2"},
    {"no newline", "'a\\nb'.find('a.b')", "\"\" cost 1"},
    {"newline in a class", "'a\\nb'.find('a[^x]b')", "\"a\\nb\" cost 2"},
    {"only at the end", "'a\\n'.matches('a$')", "false cost 1"},
    {"lines", "'a\\nb'.findAll('(?m)^.$')", "[\"a\", \"b\"] cost 2"},
    {"nothing found", "'abc'.find('x')", "\"\" cost 1"},
    {"all", "'aab aac'.findAll('a+[bc]')", "[\"aab\", \"aac\"] cost 2"},
    {"all and nothing", "'xa'.findAll('x*')", "[\"x\", \"\"] cost 1"},
    {"all between characters", "'日本'.findAll('')", "[\"\", \"\", \"\"] cost 0"},
    {"some", "'aaa'.findAll('a', 2)", "[\"a\", \"a\"] cost 1"},
    {"none", "'aaa'.findAll('a', 0)", "[] cost 1"},
    {"less than none", "'aaa'.findAll('a', -5)", "[\"a\", \"a\", \"a\"] cost 1"},
    {"not inside a character", "'aéa'.findAll('\\\\B')", "[] cost 1"},
    {"not inside a character either", "'aéa'.matches('\\\\B')", "false cost 1"},
    {"between characters", "'aéé'.findAll('\\\\B')", "[\"\", \"\"] cost 1"},
    {"start of what is left", "'aaa'.findAll('^a')", "[\"a\"] cost 1"},
    {"boundary of what is left", "'ab b'.findAll('\\\\bb')", "[\"b\"] cost 1"},
    {"pattern of the evaluation", "'aaa'.find(dyn('a') + 'a')", "\"aa\" cost 2"},
    {"wrong pattern of the evaluation", "'aaa'.find(dyn('a') + '(')",
     "eval: Illegal regex: error parsing regexp: missing closing ): `a(`"},
    {"wrong pattern", "'aaa'.findAll('(')",
     "compile: program instantiation failed: error parsing regexp: missing closing ): `(`"},
};

START_TEST(answers)
{
    ek_celtest_is(EK_CEL_ENV_KUBERNETES, &answer_rows[_i], NULL);
}
END_TEST

/* An expression that takes more than it may, and nothing of it on stderr. */
START_TEST(bounded)
{
    static const char *const large[] = {"((\\pL{100}){10}|\\pN{1000}){1}(\\PL{1000}\\PM{1000}){1}",
                                        "[\\pL\\pN]{1000}.{1000}\\PL{1000}\\PN{1000}\\PS{1000}"};
    EK_AUTOFREE char *longest = ek_xalloc(EK_CEL_REGEX_MAX + 1);
    int saved = dup(STDERR_FILENO), pipes[2];
    struct ek_err err = {0};
    char said;

    ck_assert_int_eq(pipe(pipes), 0);
    dup2(pipes[1], STDERR_FILENO);
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        struct ek_cel_regex *regex = compiled(large[i], strlen(large[i]), &err);

        ck_assert(regex == NULL || ek_cel_regex_size(regex) < EK_CEL_REGEX_BUDGET);
        ck_assert(regex != NULL || err.code == EK_E_LIMIT);
        ek_cel_regex_free(regex);
    }
    for (size_t tries = 0, budget = EK_CEL_REGEX_BUDGET; budget; tries++) {
        ek_cel_regex_free(ek_cel_regex_new_within("\\pL{150}", strlen("\\pL{150}"), &budget, &err));
        ck_assert_uint_lt(tries, 100);
    }
    memset(longest, 'a', EK_CEL_REGEX_MAX + 1);
    ck_assert_ptr_null(compiled(longest, EK_CEL_REGEX_MAX + 1, &err));
    ck_assert_int_eq(err.code, EK_E_LIMIT);
    memset(longest, '(', EK_CEL_REGEX_MAX);
    ck_assert_ptr_null(compiled(longest, EK_CEL_REGEX_MAX, &err));
    ck_assert_int_eq(err.code, EK_E_PARSE);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(pipes[1]);
    ck_assert_int_eq(read(pipes[0], &said, 1), 0);
    close(pipes[0]);
}
END_TEST

/* Sets of Unicode, as often as it says, and whether that is taken. */
static const struct {
    const char *name, *unit;
    size_t times;
    bool taken;
} weighed_rows[] = {
    {"what a program holds", "\\pL", 1000, true},
    {"too many", "\\pL", 9000, false},
    {"in braces", "\\p{Letter}", 9000, false},
    {"all but", "\\PL", 9000, false},
    {"in brackets", "[\\pLx]", 9000, false},
    {"one by one", "\\p{Lu}?", 9000, false},
    {"of which one is enough", "\\pL|", 9000, false},
    {"made of several", "\\p{Cn}x", 1500, false},
    {"small ones", "\\p{Zs}", 20000, true},
    {"digits", "\\d", 20000, true},
    {"a script", "\\p{Greek}", 2000, true},
    {"no set, but a backslash", "\\\\pL", 20000, true},
    {"quoted", "\\Q\\pL\\E", 20000, true},
};

static size_t peak_memory(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (size_t)usage.ru_maxrss * 1024;
}

/* What is refused is refused before it takes memory: each row runs in a process of its own. */
START_TEST(weighed)
{
    size_t len = strlen(weighed_rows[_i].unit), before;
    EK_AUTOFREE char *pattern = ek_xalloc(len * weighed_rows[_i].times + 1);
    struct ek_err err = {0};

    for (size_t i = 0; i < weighed_rows[_i].times; i++)
        memcpy(pattern + i * len, weighed_rows[_i].unit, len);
    before = peak_memory();
    struct ek_cel_regex *regex = compiled(pattern, len * weighed_rows[_i].times, &err);
    ck_assert_msg((regex != NULL) == weighed_rows[_i].taken, "%s: %.100s", weighed_rows[_i].name,
                  err.message);
    ck_assert_msg(regex || (err.code == EK_E_LIMIT && strstr(err.message, "expression too large")),
                  "%s: %.100s", weighed_rows[_i].name, err.message);
    ck_assert_msg(regex || peak_memory() - before < ((size_t)24 << 20), "%s: %zu octets",
                  weighed_rows[_i].name, peak_memory() - before);
    ek_cel_regex_free(regex);
}
END_TEST

/* Letters of every script a thousand times are what a policy may well ask for. */
START_TEST(unicode_repeated)
{
    static const char pattern[] = "^\\pL{1,1000}$";
    struct ek_err err = {0};
    struct ek_cel_regex *regex = compiled(pattern, sizeof pattern - 1, &err);

    ck_assert_msg(regex != NULL, "%s", err.message);
    ck_assert(ek_cel_regex_matches(regex, "日本é", strlen("日本é")));
    ck_assert(!ek_cel_regex_matches(regex, "日本1", strlen("日本1")));
    ek_cel_regex_free(regex);
}
END_TEST

START_TEST(starved)
{
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "('a,b,' + 'c').findAll(dyn('[a-' + 'z]'))");
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "('a,b,' + 'c').find('(a)(,)') + 'x'");
    ek_celtest_starve(EK_CEL_ENV_KUBERNETES, "'a'.find(dyn('(' + ''))");
}
END_TEST

/* The n-th of its own allocations fails; the library's own never fail. */
START_TEST(without_memory)
{
    static const char pattern[] = "((((((((((((((((((((a))))))))))))))))))))[b-d\\pL]";
    struct ek_cel_regex *regex = NULL;
    struct ek_err err = {0};

    for (long n = 1; !regex; n++) {
        ck_assert_int_lt(n, 100);
        ek_alloc_fail_after(n);
        regex = compiled(pattern, sizeof pattern - 1, &err);
        ek_alloc_fail_after(0);
        ck_assert(regex != NULL || err.code == EK_E_NOMEM);
        ck_assert(n > 1 || regex == NULL);
    }
    ek_cel_regex_free(regex);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("all");

    tcase_set_timeout(tcase, 30); /* large programs, with sanitizers on a busy machine */
    tcase_add_loop_test(tcase, syntax, 0, sizeof syntax_rows / sizeof *syntax_rows);
    tcase_add_loop_test(tcase, answers, 0, sizeof answer_rows / sizeof *answer_rows);
    tcase_add_test(tcase, bounded);
    tcase_add_loop_test(tcase, weighed, 0, sizeof weighed_rows / sizeof *weighed_rows);
    tcase_add_test(tcase, unicode_repeated);
    tcase_add_test(tcase, starved);
    tcase_add_test(tcase, without_memory);
    return ek_test_run("cel_regex", tcase);
}
