/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of versions. The oddities of the source are kept, because catalogs are judged by them: a
 * part of one octet is dropped, "1.x.x" is "1.0.x", an unknown operator before a wildcard is "=".
 */
#include <stdio.h>

#include "api/base/ascii.h"
#include "api/base/err.h"
#include "api/semver.h"
#include "api/version.h"

#define PART_SIZE (EK_SEMVER_RANGE_PART_MAX + 1)

/* A version as text, while wildcards are worked out: each step adds less than 32 octets. */
#define TEXT_SIZE (PART_SIZE + 64)

static bool is_operator_end(char c)
{
    return c == '>' || c == '<' || c == '=';
}

/* Copies s without its blanks (range.go:splitAndTrim). EK_E_PARSE when it is too long or no ASCII.
 */
static int copy_part(struct ek_str s, char part[PART_SIZE])
{
    size_t n = 0;

    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == ' ')
            continue;
        if (n == EK_SEMVER_RANGE_PART_MAX || s.p[i] <= 0)
            return EK_E_PARSE;
        part[n++] = s.p[i];
    }
    part[n] = '\0';
    return 0;
}

/* Takes the next part off *range: up to a blank that does not follow an operator. Parts of one
 * octet are passed over. Returns 1, 0 at the end, or EK_E_PARSE. */
static int next_part(struct ek_str *range, char part[PART_SIZE])
{
    char last = '\0';
    size_t start = 0;

    for (size_t i = 0; i <= range->len; i++) {
        bool end = i == range->len;
        if (!end && range->p[i] != ' ') {
            last = range->p[i];
            continue;
        }
        if (!end && is_operator_end(last))
            continue;
        struct ek_str s = {range->len ? range->p + start : NULL, i - start};
        start = end ? i : i + 1;
        if (s.len < 2)
            continue;
        *range = (struct ek_str){range->p + start, range->len - start};
        int rc = copy_part(s, part);
        return rc ? rc : 1;
    }
    *range = (struct ek_str){0};
    return 0;
}

/* The operator before the first digit, without white space, and what follows (range.go:
 * splitComparatorVersion). False without a digit. */
static bool split_operator(const char *part, struct ek_str *ret_operator, const char **ret_version)
{
    static const char white[] = "\t\n\v\f\r ";
    size_t len = strcspn(part, "0123456789");
    const char *start = part + strspn(part, white);

    *ret_version = part + len;
    if (!part[len])
        return false;
    while (part + len > start && strchr(white, part[len - 1]))
        len--;
    *ret_operator = (struct ek_str){start, start < part + len ? (size_t)(part + len - start) : 0};
    return true;
}

static bool is_one_of(struct ek_str s, const char *const *texts)
{
    for (; *texts; texts++)
        if (ek_str_eq(s, ek_str_from(*texts)))
            return true;
    return false;
}

static const char *const equal[] = {"", "=", "==", NULL};
static const char *const unequal[] = {"!", "!=", NULL};
static const char *const less[] = {"<", NULL};
static const char *const at_most[] = {"<=", NULL};
static const char *const greater[] = {">", NULL};
static const char *const at_least[] = {">=", NULL};

static int compare(struct ek_str operator, const char * text, const struct ek_semver *version,
                   bool *ret_holds)
{
    struct ek_semver bound;

    int rc = ek_semver_parse(ek_str_from(text), EK_SEMVER_STRICT, &bound);
    if (rc)
        return rc;
    int order = ek_semver_compare(version, &bound);
    if (is_one_of(operator, equal))
        *ret_holds = order == 0;
    else if (is_one_of(operator, unequal))
        *ret_holds = order != 0;
    else if (is_one_of(operator, less))
        *ret_holds = order < 0;
    else if (is_one_of(operator, at_most))
        *ret_holds = order <= 0;
    else if (is_one_of(operator, greater))
        *ret_holds = order > 0;
    else if (is_one_of(operator, at_least))
        *ret_holds = order >= 0;
    else
        return EK_E_PARSE;
    return 0;
}

/* Copies text into flat with the first occurrence of what replaced. */
static void replace_once(const char *text, const char *what, const char *with, char flat[TEXT_SIZE])
{
    const char *at = strstr(text, what);

    if (at)
        snprintf(flat, TEXT_SIZE, "%.*s%s%s", (int)(at - text), text, with, at + strlen(what));
    else
        snprintf(flat, TEXT_SIZE, "%s", text);
}

static size_t count_dots(const char *text)
{
    size_t n = 0;

    for (; *text; text++)
        n += *text == '.';
    return n;
}

/* "1.x" to "1.0.0" (range.go:createVersionFromWildcard). */
static void flatten(const char *text, char flat[TEXT_SIZE])
{
    char short_form[TEXT_SIZE];

    replace_once(text, ".x.x", ".x", short_form);
    replace_once(short_form, ".x", ".0", flat);
    if (count_dots(flat) == 1)
        snprintf(flat + strlen(flat), TEXT_SIZE - strlen(flat), ".0");
}

/* Adds one to number at (0 or 1) of flat (range.go:incrementMajorVersion, incrementMinorVersion).
 * What has no such number becomes "", which does not parse. */
static void increment(const char *flat, size_t at, char next[TEXT_SIZE])
{
    const char *start = at ? strchr(flat, '.') : flat;
    uint64_t number;

    next[0] = '\0';
    if (!start)
        return;
    start += at;
    struct ek_str digits = {start, strcspn(start, ".")};
    if (ek_version_digits(digits, &number) && number < INT64_MAX)
        snprintf(next, TEXT_SIZE, "%.*s%llu%s", (int)(start - flat), flat,
                 (unsigned long long)number + 1, start + digits.len);
}

/* Whether version meets a part with an "x" in it (range.go:expandWildcardVersion). */
static int meets_wildcard(struct ek_str operator, const char * text,
                          const struct ek_semver *version, bool *ret_holds)
{
    static const struct ek_str ge = {">=", 2}, lt = {"<", 1}, eq = {"", 0};
    size_t n_dots = count_dots(text), len = strlen(text);
    bool wild = (len == 1 || (len > 1 && text[len - 2] == '.')) && text[len - 1] == 'x';
    char flat[TEXT_SIZE], next[TEXT_SIZE] = "";
    bool low = true, high = true;

    flatten(text, flat);
    if (wild && (n_dots == 1 || n_dots == 2))
        increment(flat, n_dots - 1, next);
    if (is_one_of(operator, greater))
        return compare(ge, next, version, ret_holds);
    if (is_one_of(operator, at_least))
        return compare(ge, flat, version, ret_holds);
    if (is_one_of(operator, less))
        return compare(lt, flat, version, ret_holds);
    if (is_one_of(operator, at_most))
        return compare(lt, next, version, ret_holds);
    if (!is_one_of(operator, equal) && !is_one_of(operator, unequal))
        return compare(eq, flat, version, ret_holds);
    /* "!=" has both bounds, too, and so holds for no version. */
    bool negated = is_one_of(operator, unequal);
    int rc = compare(negated ? lt : ge, flat, version, &low);
    rc = rc ? rc : compare(negated ? ge : lt, next, version, &high);
    if (!rc)
        *ret_holds = low && high;
    return rc;
}

static int meets(const char *part, const struct ek_semver *version, bool *ret_holds)
{
    struct ek_str operator;
    const char *text;

    if (!split_operator(part, &operator, & text))
        return EK_E_PARSE;
    return strchr(part, 'x') ? meets_wildcard(operator, text, version, ret_holds)
                             : compare(operator, text, version, ret_holds);
}

int ek_semver_within(struct ek_str range, const struct ek_semver *version, bool *ret_within)
{
    char part[PART_SIZE];
    bool any = false, all = true, holds = false;
    size_t n = 0; /* parts since the last "||" */
    int rc;

    while ((rc = next_part(&range, part)) > 0) {
        if (strcmp(part, "||") != 0) {
            rc = meets(part, version, &holds);
            if (rc)
                return rc;
            all = all && holds;
            n++;
            continue;
        }
        if (n == 0)
            return EK_E_PARSE;
        any = any || all;
        all = true;
        n = 0;
    }
    if (rc || n == 0)
        return rc ? rc : EK_E_PARSE;
    *ret_within = any || all;
    return 0;
}
