/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of longer texts: kube-openapi 1.36 pkg/validation/strfmt/{default,duration}.go, and
 * github.com/asaskevich/govalidator for those that it takes from there. */
#include <ctype.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/text/time.h"
#include "api/cel/text/url.h"
#include "api/validation/validation-internal.h"

#define URI_MAX  ((size_t)64 << 10)
#define HOST_MAX 255

static bool is_ascii(struct ek_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if ((unsigned char)text.p[i] >= 0x80)
            return false;
    return true;
}

static size_t skip_white(struct ek_str text, size_t at)
{
    while (at < text.len && text.p[at] && strchr("\t\n\f\r ", text.p[at]))
        at++;
    return at;
}

/* ---- Durations ---- */

static bool is_unit(struct ek_str unit)
{
    /* The last of each also with more behind it: "days". */
    static const char *const units[] = {"ns", "us", "ms", "s",  "m",        "h",
                                        "hr", "d",  "w",  "wk", "\xc2\xb5s"};
    static const char *const begins[] = {"nano", "micro", "milli", "sec",
                                         "min",  "hour",  "day",   "week"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(units); i++)
        if (unit.len == strlen(units[i]) && !strncasecmp(unit.p, units[i], unit.len))
            return true;
    for (size_t i = 0; i < EK_ARRAY_SIZE(begins); i++)
        if (unit.len >= strlen(begins[i]) && !strncasecmp(unit.p, begins[i], strlen(begins[i])))
            return true;
    return false;
}

static size_t unit_len(struct ek_str text, size_t at)
{
    size_t start = at;

    for (;;) {
        if (at < text.len && isalpha((unsigned char)text.p[at]))
            at++;
        else if (at + 1 < text.len && !memcmp(text.p + at, "\xc2\xb5", 2))
            at += 2;
        else
            return at - start;
    }
}

/* Beside the durations of Go: one number with a unit is enough, wherever it stands; each number is
 * one of 64 bits. */
enum ek_vformat ek_vformat_duration__(struct ek_str text)
{
    int64_t ns;
    bool good = false;

    if (ek_cel_duration_parse(text.p, text.len, &ns))
        return EK_VFORMAT_GOOD;
    for (size_t i = 0; i < text.len;) {
        if (!isdigit((unsigned char)text.p[i])) {
            i++;
            continue;
        }
        while (i < text.len && text.p[i] == '0')
            i++;
        size_t start = i;
        while (i < text.len && isdigit((unsigned char)text.p[i]))
            i++;
        size_t n_digits = i - start;
        i = skip_white(text, i);
        size_t len = unit_len(text, i);
        if (len && n_digits > 18)
            return n_digits > 19 ? EK_VFORMAT_BAD : EK_VFORMAT_UNKNOWN;
        good |= len && is_unit((struct ek_str){text.p + i, len});
        i += len;
    }
    return good ? EK_VFORMAT_GOOD : EK_VFORMAT_BAD;
}

/* ---- Places on a network ---- */

/* net/url: ParseRequestURI. */
enum ek_vformat ek_vformat_uri__(struct ek_str text)
{
    struct ek_cel_url url;
    struct ek_cel_url_fault fault;
    size_t used;

    if (!text.len)
        return EK_VFORMAT_BAD;
    EK_AUTOFREE char *room = text.len <= URI_MAX ? ek_alloc(text.len) : NULL;
    if (!room)
        return EK_VFORMAT_UNKNOWN;
    return ek_cel_url_parse(text.p, text.len, true, room, &used, &url, &fault) ? EK_VFORMAT_GOOD
                                                                               : EK_VFORMAT_BAD;
}

/* A character of a label: letters, digits, and what Unicode calls a symbol. */
static bool is_label_char(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("$+<=>^`|~", c));
}

/* One label without a dot may end in a hyphen behind its first character, and has none later. */
static bool is_lone_label(struct ek_str label)
{
    for (size_t i = 0; i < label.len; i++)
        if (!is_label_char(label.p[i]) && !(i == 1 && label.p[i] == '-'))
            return false;
    return label.len > 0;
}

static bool is_label(struct ek_str label)
{
    for (size_t i = 0; i < label.len; i++)
        if (!is_label_char(label.p[i]) && !(label.p[i] == '-' && i > 0 && i + 1 < label.len))
            return false;
    return label.len > 0 && label.len <= 63;
}

static bool is_word(struct ek_str label)
{
    for (size_t i = 0; i < label.len; i++)
        if (!isalpha((unsigned char)label.p[i]))
            return false;
    return label.len >= 2 && label.len <= 63;
}

/* default.go:IsHostname. Behind the last dot are letters alone. */
enum ek_vformat ek_vformat_hostname__(struct ek_str text)
{
    struct ek_str rest = text;
    const char *dot;

    if (!is_ascii(text))
        return EK_VFORMAT_UNKNOWN;
    if (!text.len || text.len > HOST_MAX)
        return EK_VFORMAT_BAD;
    if (!memchr(text.p, '.', text.len))
        return is_lone_label(text) && text.len <= 63 ? EK_VFORMAT_GOOD : EK_VFORMAT_BAD;
    while (rest.len && (dot = memchr(rest.p, '.', rest.len))) {
        size_t len = (size_t)(dot - rest.p);
        if (!is_label((struct ek_str){rest.p, len}))
            return EK_VFORMAT_BAD;
        rest = (struct ek_str){dot + 1, rest.len - len - 1};
    }
    return is_word(rest) ? EK_VFORMAT_GOOD : EK_VFORMAT_BAD;
}

/* net: ParseMAC, of 6, 8 or 20 octets. */
enum ek_vformat ek_vformat_mac__(struct ek_str text)
{
    size_t group = text.len > 4 && text.p[4] == '.' ? 4 : 2, n = 0;
    char between = text.len > group ? text.p[group] : '\0';

    if (between != ':' && between != '-' && between != '.')
        return EK_VFORMAT_BAD;
    if ((between == '.') != (group == 4))
        return EK_VFORMAT_BAD;
    for (size_t i = 0; i < text.len; i++) {
        bool is_between = i % (group + 1) == group;
        if (is_between ? text.p[i] != between : !isxdigit((unsigned char)text.p[i]))
            return EK_VFORMAT_BAD;
        n += !is_between;
    }
    bool whole = text.len % (group + 1) == group;
    return whole && (n == 12 || n == 16 || n == 40) ? EK_VFORMAT_GOOD : EK_VFORMAT_BAD;
}

static bool is_atom(struct ek_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.p[i];
        bool dot = c == '.' && i > 0 && i + 1 < text.len && text.p[i + 1] != '.';
        if (!dot && !isalnum((unsigned char)c) && (unsigned char)c < 0x80 &&
            !(c && strchr("!#$%&'*+-/=?^_`{|}~", c)))
            return false;
    }
    return text.len > 0;
}

/* net/mail: ParseAddress. Decided are plain addresses, and what has nothing of the rest. */
enum ek_vformat ek_vformat_email__(struct ek_str text)
{
    const char *at = text.len ? memchr(text.p, '@', text.len) : NULL;

    if (!at || at + 1 == text.p + text.len)
        return EK_VFORMAT_BAD;
    struct ek_str local = {text.p, (size_t)(at - text.p)};
    struct ek_str domain = {at + 1, text.len - local.len - 1};
    if (is_atom(local) && is_atom(domain))
        return EK_VFORMAT_GOOD;
    /* Names, quotes, comments, and white space around. */
    for (size_t i = 0; i < text.len; i++)
        if (!text.p[i] || strchr("<>\"()[]\\", text.p[i]))
            return EK_VFORMAT_UNKNOWN;
    return skip_white(text, 0) || strchr("\t ", text.p[text.len - 1]) ? EK_VFORMAT_UNKNOWN
                                                                      : EK_VFORMAT_BAD;
}

/* ---- Numbers ---- */

/* The sum of Luhn over digits, modulo ten; *ret_n: how many there are. */
static int luhn(struct ek_str text, size_t *ret_n)
{
    int sum = 0;

    *ret_n = 0;
    for (size_t i = text.len; i > 0; i--) {
        int digit = text.p[i - 1] - '0';
        if (digit < 0 || digit > 9)
            continue;
        if ((*ret_n)++ % 2)
            digit = digit < 5 ? 2 * digit : 2 * digit - 9;
        sum = (sum + digit) % 10;
    }
    return sum;
}

/* IsCreditCard. Which numbers belong to whom differs between its versions: the two large ones are
 * decided. */
enum ek_vformat ek_vformat_card__(struct ek_str text)
{
    char first[2] = {0};
    size_t n, at = 0;

    if (luhn(text, &n) != 0 || n < 13)
        return EK_VFORMAT_BAD;
    for (size_t i = 0; i < text.len && at < sizeof first; i++)
        if (isdigit((unsigned char)text.p[i]))
            first[at++] = text.p[i];
    if (first[0] == '4' && (n == 13 || n == 16))
        return EK_VFORMAT_GOOD;
    if (first[0] == '5' && first[1] >= '1' && first[1] <= '5' && n == 16)
        return EK_VFORMAT_GOOD;
    return n > 16 ? EK_VFORMAT_BAD : EK_VFORMAT_UNKNOWN;
}

/* IsRGBcolor: three numbers up to 255, without zeros in front. */
enum ek_vformat ek_vformat_rgb__(struct ek_str text)
{
    size_t at = 4;

    if (text.len < 4 || memcmp(text.p, "rgb(", 4) != 0)
        return EK_VFORMAT_BAD;
    for (int i = 0; i < 3; i++) {
        size_t start = at = skip_white(text, at);
        int value = 0;
        while (at < text.len && at - start < 4 && isdigit((unsigned char)text.p[at]))
            value = 10 * value + text.p[at++] - '0';
        if (at == start || value > 255 || (text.p[start] == '0' && at - start > 1))
            return EK_VFORMAT_BAD;
        at = skip_white(text, at);
        if (at == text.len || text.p[at++] != (i < 2 ? ',' : ')'))
            return EK_VFORMAT_BAD;
    }
    return at == text.len ? EK_VFORMAT_GOOD : EK_VFORMAT_BAD;
}
