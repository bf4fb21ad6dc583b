/* SPDX-License-Identifier: Apache-2.0 */
#include "api/semver.h"

#include "api/base/err.h"
#include "api/base/quote.h"
#include "api/version.h"

/* A dot-separated part of the text. The tolerant form rewrites parts: it strips leading zeros and
 * puts one back where no digit is left in front, which zero says. */
struct part {
    bool zero;
    struct ek_str s;
};

/* What is wrong: a text, then where has_part the offending part in quotes, then rest. */
struct finding {
    const char *text; /* NULL when nothing is wrong */
    bool has_part;
    struct part part;
    const char *rest;
};

static struct finding fine(void)
{
    return (struct finding){0};
}

static struct finding plain(const char *text)
{
    return (struct finding){.text = text};
}

static struct finding blame(const char *text, struct part part, const char *rest)
{
    return (struct finding){text, true, part, rest};
}

static bool all_of(struct ek_str s, bool letters)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
        if (!(c >= '0' && c <= '9') && !(letters && word))
            return false;
    }
    return true;
}

static bool leading_zero(struct part part)
{
    return part.zero ? part.s.len > 0 : part.s.len > 1 && part.s.p[0] == '0';
}

/* What the number parser says of digits: none at all, or too many. */
static struct finding read_number(struct part part, uint64_t *ret_value)
{
    if (part.zero && part.s.len == 0) {
        *ret_value = 0;
        return fine();
    }
    if (ek_version_digits(part.s, ret_value))
        return fine();
    return blame("strconv.ParseUint: parsing ", part,
                 part.s.len == 0 ? ": invalid syntax" : ": value out of range");
}

static struct finding read_component(struct part part, const char *const texts[2],
                                     uint64_t *ret_value)
{
    if (!all_of(part.s, false))
        return blame(texts[0], part, "");
    if (leading_zero(part))
        return blame(texts[1], part, "");
    return read_number(part, ret_value);
}

/* Cuts part at the first mark: *part keeps what is before, the result is what is after. */
static bool cut_at(struct part *part, char mark, struct ek_str *ret_after)
{
    const char *at = part->s.len ? memchr(part->s.p, mark, part->s.len) : NULL;
    if (!at)
        return false;
    size_t before = (size_t)(at - part->s.p);
    *ret_after = (struct ek_str){at + 1, part->s.len - before - 1};
    part->s.len = before;
    return true;
}

static struct finding check_pre_release_id(struct ek_str id)
{
    struct part part = {.s = id};
    uint64_t ignored;

    if (id.len == 0)
        return plain("Prerelease is empty");
    if (!all_of(id, false))
        return all_of(id, true) ? fine()
                                : blame("Invalid character(s) found in prerelease ", part, "");
    if (leading_zero(part))
        return blame("Numeric PreRelease version must not contain leading zeroes ", part, "");
    return read_number(part, &ignored);
}

static struct finding check_build_id(struct ek_str id)
{
    if (id.len == 0)
        return plain("Build meta data is empty");
    if (!all_of(id, true))
        return blame("Invalid character(s) found in build meta data ", (struct part){.s = id}, "");
    return fine();
}

/* Checks each of the dot-separated identifiers in ids, of which there is always one. */
static struct finding check_ids(struct ek_str ids, struct finding (*check)(struct ek_str id))
{
    for (;;) {
        const char *dot = ids.len ? memchr(ids.p, '.', ids.len) : NULL;
        size_t len = dot ? (size_t)(dot - ids.p) : ids.len;
        struct finding found = check((struct ek_str){ids.p, len});
        if (found.text || !dot)
            return found;
        ids = (struct ek_str){dot + 1, ids.len - len - 1};
    }
}

static struct finding parse_parts(const struct part parts[3], struct ek_semver *ret_version)
{
    static const char *const texts[3][2] = {
        {"Invalid character(s) found in major number ",
         "Major number must not contain leading zeroes "},
        {"Invalid character(s) found in minor number ",
         "Minor number must not contain leading zeroes "},
        {"Invalid character(s) found in patch number ",
         "Patch number must not contain leading zeroes "},
    };
    struct ek_semver v = {0};
    struct part patch = parts[2];

    struct finding found = read_component(parts[0], texts[0], &v.major);
    if (!found.text)
        found = read_component(parts[1], texts[1], &v.minor);
    bool has_build = cut_at(&patch, '+', &v.build);
    bool has_pre_release = cut_at(&patch, '-', &v.pre_release);
    if (!found.text)
        found = read_component(patch, texts[2], &v.patch);
    if (!found.text && has_pre_release)
        found = check_ids(v.pre_release, check_pre_release_id);
    if (!found.text && has_build)
        found = check_ids(v.build, check_build_id);
    if (!found.text)
        *ret_version = v;
    return found;
}

/* Splits s at its first two dots; the last part keeps the others. */
static size_t split(struct ek_str s, struct part parts[3])
{
    size_t n = 0;

    while (n < 2) {
        const char *dot = s.len ? memchr(s.p, '.', s.len) : NULL;
        if (!dot)
            break;
        size_t len = (size_t)(dot - s.p);
        parts[n++] = (struct part){.s = {s.p, len}};
        s = (struct ek_str){dot + 1, s.len - len - 1};
    }
    parts[n++] = (struct part){.s = s};
    return n;
}

/* Unicode's white space, as Go's strings.TrimSpace takes it. */
static bool is_space(unsigned rune)
{
    return (rune >= 0x09 && rune <= 0x0d) || rune == 0x20 || rune == 0x85 || rune == 0xa0 ||
           rune == 0x1680 || (rune >= 0x2000 && rune <= 0x200a) || rune == 0x2028 ||
           rune == 0x2029 || rune == 0x202f || rune == 0x205f || rune == 0x3000;
}

static struct ek_str trim(struct ek_str s)
{
    unsigned rune;

    while (s.len > 0) {
        size_t len = ek_utf8_decode(s, &rune);
        if (len == 0 || !is_space(rune))
            break;
        s = (struct ek_str){s.p + len, s.len - len};
    }
    while (s.len > 0) {
        size_t start = ek_utf8_cut(s, s.len - 1);
        struct ek_str last = {s.p + start, s.len - start};
        if (ek_utf8_decode(last, &rune) != last.len || !is_space(rune))
            break;
        s.len = start;
    }
    return s;
}

static struct part strip_zeros(struct part part)
{
    if (part.s.len <= 1)
        return part;
    while (part.s.len > 0 && part.s.p[0] == '0')
        part.s = (struct ek_str){part.s.p + 1, part.s.len - 1};
    part.zero = part.s.len == 0 || part.s.p[0] < '0' || part.s.p[0] > '9';
    return part;
}

static struct finding parse_tolerant(struct ek_str s, enum ek_semver_form form,
                                     struct ek_semver *ret_version)
{
    struct part parts[3];

    if (form == EK_SEMVER_TOLERANT)
        s = trim(s);
    if (s.len > 0 && s.p[0] == 'v')
        s = (struct ek_str){s.p + 1, s.len - 1};
    size_t n = split(s, parts);
    for (size_t i = 0; i < n; i++)
        parts[i] = strip_zeros(parts[i]);
    struct ek_str last = parts[n - 1].s;
    if (n < 3 && last.len > 0 && (memchr(last.p, '+', last.len) || memchr(last.p, '-', last.len)))
        return plain(form == EK_SEMVER_TOLERANT
                         ? "Short version cannot contain PreRelease/Build meta data"
                         : "short version cannot contain PreRelease/Build meta data");
    while (n < 3)
        parts[n++] = (struct part){.s = EK_STR("0")};
    return parse_parts(parts, ret_version);
}

static struct finding parse(struct ek_str s, enum ek_semver_form form,
                            struct ek_semver *ret_version)
{
    struct part parts[3];

    if (form != EK_SEMVER_STRICT)
        return parse_tolerant(s, form, ret_version);
    if (s.len == 0)
        return plain("Version string empty");
    if (split(s, parts) != 3)
        return plain("No Major.Minor.Patch elements found");
    return parse_parts(parts, ret_version);
}

int ek_semver_parse(struct ek_str s, enum ek_semver_form form, struct ek_semver *ret_version)
{
    return parse(s, form, ret_version).text ? EK_E_PARSE : 0;
}

int ek_semver_explain(struct ek_str s, enum ek_semver_form form, struct ek_buf *out)
{
    struct ek_semver ignored;
    struct finding found = parse(s, form, &ignored);

    if (found.text)
        ek_buf_puts(out, found.text);
    if (found.has_part) {
        ek_buf_puts(out, found.part.zero ? "\"0" : "\"");
        ek_quote_inner(out, found.part.s);
        ek_buf_printf(out, "\"%s", found.rest);
    }
    return out->failed;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_ids(struct ek_str a, struct ek_str b)
{
    uint64_t na = 0, nb = 0;
    bool a_is_number = ek_version_digits(a, &na), b_is_number = ek_version_digits(b, &nb);
    size_t len = a.len < b.len ? a.len : b.len;

    if (a_is_number != b_is_number)
        return a_is_number ? -1 : 1;
    if (a_is_number)
        return compare_numbers(na, nb);
    int order = memcmp(a.p, b.p, len);
    return order ? (order < 0 ? -1 : 1) : compare_numbers(a.len, b.len);
}

/* Takes the first identifier off ids; false when there is none left. */
static bool next_id(struct ek_str *ids, struct ek_str *ret_id)
{
    const char *dot = ids->len ? memchr(ids->p, '.', ids->len) : NULL;
    size_t len = dot ? (size_t)(dot - ids->p) : ids->len;

    *ret_id = (struct ek_str){ids->p, len};
    ids->p = dot ? dot + 1 : NULL;
    ids->len = dot ? ids->len - len - 1 : 0;
    return len > 0;
}

static int compare_pre_releases(struct ek_str a, struct ek_str b)
{
    struct ek_str id_a, id_b;

    if (a.len == 0 || b.len == 0)
        return compare_numbers(a.len == 0, b.len == 0);
    for (;;) {
        bool more_a = next_id(&a, &id_a), more_b = next_id(&b, &id_b);
        if (!more_a || !more_b)
            return compare_numbers(more_a, more_b);
        int order = compare_ids(id_a, id_b);
        if (order)
            return order;
    }
}

int ek_semver_compare(const struct ek_semver *a, const struct ek_semver *b)
{
    int order = compare_numbers(a->major, b->major);

    order = order ? order : compare_numbers(a->minor, b->minor);
    order = order ? order : compare_numbers(a->patch, b->patch);
    return order ? order : compare_pre_releases(a->pre_release, b->pre_release);
}

int ek_semver_format(const struct ek_semver *version, struct ek_buf *out)
{
    ek_buf_printf(out, "%llu.%llu.%llu", (unsigned long long)version->major,
                  (unsigned long long)version->minor, (unsigned long long)version->patch);
    if (version->pre_release.len > 0) {
        ek_buf_append(out, "-", 1);
        ek_buf_append(out, version->pre_release.p, version->pre_release.len);
    }
    if (version->build.len > 0) {
        ek_buf_append(out, "+", 1);
        ek_buf_append(out, version->build.p, version->build.len);
    }
    return out->failed;
}
