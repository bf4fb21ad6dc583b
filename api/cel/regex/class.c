/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/regex/class.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/ascii.h"
#include "api/cel/regex/syntax.h"
#include "api/cel/text/runes.h"

#define RUNE_MAX 0x10ffffu

static int fault(struct ek_err *err, const char *text, const char *from, const char *to)
{
    return ek_cel_regex_fault(err, EK_E_PARSE, text, from, (size_t)(to - from));
}

void ek_cel_regex_put_rune(struct ek_buf *out, uint32_t rune)
{
    char octets[4];

    if (rune < 0x80 && (ek_cel_regex_alnum((char)rune) || rune == '_'))
        ek_buf_append(out, &(char){(char)rune}, 1);
    else if (rune > ' ' && rune < 0x7f)
        ek_buf_append(out, (char[]){'\\', (char)rune}, 2);
    else if (rune < 0x80 || (rune >= 0xd800 && rune < 0xe000))
        ek_buf_printf(out, "\\x{%x}", rune);
    else
        ek_buf_append(out, octets, ek_cel_rune_write(rune, octets));
}

/* The digits of \x{...}, at *s behind the brace. False when they are not right; *s is then behind
 * the code point that is wrong. */
static bool braced_hex(const char **s, const char *end, uint32_t *ret)
{
    uint32_t value = 0;
    size_t size = 1;
    bool any = false;

    for (; *s < end; *s += size) {
        int digit;

        ek_cel_rune_at(*s, &size);
        if (**s == '}') {
            *s += size;
            *ret = value;
            return any;
        }
        digit = ek_hex_digit(**s);
        if (digit < 0)
            break;
        value = value * 16 + (uint32_t)digit;
        if (value > RUNE_MAX)
            break;
        any = true;
    }
    if (*s < end)
        *s += size;
    return false;
}

/* The digits of \xHH or \x{...}, at *s behind the x. */
static bool hex(const char **s, const char *end, uint32_t *ret)
{
    int high, low;
    size_t size;

    if (*s == end)
        return false;
    if (**s == '{') {
        (*s)++;
        return braced_hex(s, end, ret);
    }
    high = ek_hex_digit(**s);
    ek_cel_rune_at(*s, &size);
    *s += size;
    if (*s == end)
        return false;
    low = ek_hex_digit(**s);
    ek_cel_rune_at(*s, &size);
    *s += size;
    *ret = (uint32_t)(high * 16 + low);
    return high >= 0 && low >= 0;
}

int ek_cel_regex_escape(const char **at, const char *end, uint32_t *ret, struct ek_err *err)
{
    static const char named[] = "afnrtv", values[] = "\a\f\n\r\t\v";
    const char *s = *at + 1, *hit;
    size_t size;
    uint32_t c;

    if (s == end)
        return fault(err, "trailing backslash at end of expression", s, s);
    c = ek_cel_rune_at(s, &size);
    s += size;
    if (c >= '0' && c <= '7' && (c == '0' || (s < end && *s >= '0' && *s <= '7'))) {
        *ret = c - '0';
        for (int i = 1; i < 3 && s < end && *s >= '0' && *s <= '7'; i++)
            *ret = *ret * 8 + (uint32_t)(*s++ - '0');
    } else if (c == 'x') {
        if (!hex(&s, end, ret))
            return fault(err, "invalid escape sequence", *at, s);
    } else if (c < 0x80 && c && (hit = strchr(named, (int)c))) {
        *ret = (uint32_t)values[hit - named];
    } else if (c < 0x80 && !ek_cel_regex_alnum((char)c)) {
        *ret = c;
    } else {
        return fault(err, "invalid escape sequence", *at, s);
    }
    *at = s;
    return 0;
}

/* Categories of Unicode, and those of its scripts whose names are one word, which is how Go finds
 * them; sorted. */
static const char *const groups[] = {
    "Adlam",      "Ahom",     "Any",        "Arabic",      "Armenian",   "Ascii",     "Assigned",
    "Avestan",    "Balinese", "Bamum",      "Batak",       "Bengali",    "Bhaiksuki", "Bopomofo",
    "Brahmi",     "Braille",  "Buginese",   "Buhid",       "C",          "Carian",    "Cc",
    "Cf",         "Chakma",   "Cham",       "Cherokee",    "Chorasmian", "Cn",        "Co",
    "Common",     "Coptic",   "Cs",         "Cuneiform",   "Cypriot",    "Cyrillic",  "Deseret",
    "Devanagari", "Dogra",    "Duployan",   "Elbasan",     "Elymaic",    "Ethiopic",  "Georgian",
    "Glagolitic", "Gothic",   "Grantha",    "Greek",       "Gujarati",   "Gurmukhi",  "Han",
    "Hangul",     "Hanunoo",  "Hatran",     "Hebrew",      "Hiragana",   "Inherited", "Javanese",
    "Kaithi",     "Kannada",  "Katakana",   "Kawi",        "Kharoshthi", "Khmer",     "Khojki",
    "Khudawadi",  "L",        "LC",         "Lao",         "Latin",      "Lepcha",    "Limbu",
    "Lisu",       "Ll",       "Lm",         "Lo",          "Lt",         "Lu",        "Lycian",
    "Lydian",     "M",        "Mahajani",   "Makasar",     "Malayalam",  "Mandaic",   "Manichaean",
    "Marchen",    "Mc",       "Me",         "Medefaidrin", "Miao",       "Mn",        "Modi",
    "Mongolian",  "Mro",      "Multani",    "Myanmar",     "N",          "Nabataean", "Nandinagari",
    "Nd",         "Newa",     "Nko",        "Nl",          "No",         "Nushu",     "Ogham",
    "Oriya",      "Osage",    "Osmanya",    "P",           "Palmyrene",  "Pc",        "Pd",
    "Pe",         "Pf",       "Phoenician", "Pi",          "Po",         "Ps",        "Rejang",
    "Runic",      "S",        "Samaritan",  "Saurashtra",  "Sc",         "Sharada",   "Shavian",
    "Siddham",    "Sinhala",  "Sk",         "Sm",          "So",         "Sogdian",   "Soyombo",
    "Sundanese",  "Syriac",   "Tagalog",    "Tagbanwa",    "Takri",      "Tamil",     "Tangsa",
    "Tangut",     "Telugu",   "Thaana",     "Thai",        "Tibetan",    "Tifinagh",  "Tirhuta",
    "Toto",       "Ugaritic", "Vai",        "Vithkuqi",    "Wancho",     "Yezidi",    "Yi",
    "Z",          "Zl",       "Zp",         "Zs",
};

static int compare_group(const void *name, const void *entry)
{
    return strcmp(name, *(const char *const *)entry);
}

/* Unicode's long names of categories, without underscores, as Go takes them; sorted. */
static const struct alias {
    const char *name, *category;
} aliases[] = {
    {"Casedletter", "LC"},
    {"Closepunctuation", "Pe"},
    {"Cntrl", "Cc"},
    {"Combiningmark", "M"},
    {"Connectorpunctuation", "Pc"},
    {"Control", "Cc"},
    {"Currencysymbol", "Sc"},
    {"Dashpunctuation", "Pd"},
    {"Decimalnumber", "Nd"},
    {"Digit", "Nd"},
    {"Enclosingmark", "Me"},
    {"Finalpunctuation", "Pf"},
    {"Format", "Cf"},
    {"Initialpunctuation", "Pi"},
    {"Lc", "LC"},
    {"Letter", "L"},
    {"Letternumber", "Nl"},
    {"Lineseparator", "Zl"},
    {"Lowercaseletter", "Ll"},
    {"Mark", "M"},
    {"Mathsymbol", "Sm"},
    {"Modifierletter", "Lm"},
    {"Modifiersymbol", "Sk"},
    {"Nonspacingmark", "Mn"},
    {"Number", "N"},
    {"Openpunctuation", "Ps"},
    {"Other", "C"},
    {"Otherletter", "Lo"},
    {"Othernumber", "No"},
    {"Otherpunctuation", "Po"},
    {"Othersymbol", "So"},
    {"Paragraphseparator", "Zp"},
    {"Privateuse", "Co"},
    {"Punct", "P"},
    {"Punctuation", "P"},
    {"Separator", "Z"},
    {"Spaceseparator", "Zs"},
    {"Spacingmark", "Mc"},
    {"Surrogate", "Cs"},
    {"Symbol", "S"},
    {"Titlecaseletter", "Lt"},
    {"Unassigned", "Cn"},
    {"Uppercaseletter", "Lu"},
};

static int compare_alias(const void *name, const void *entry)
{
    return strcmp(name, ((const struct alias *)entry)->name);
}

/* Sets that RE2 has no name for, as what a bracket would hold; complement: all but that. */
static const struct composite {
    const char *name, *content;
    bool complement;
} composites[] = {
    {"Ascii", "\\x{0}-\\x{7f}", false},
    {"LC", "\\p{Lu}\\p{Ll}\\p{Lt}", false},
    {"Assigned", "\\pL\\pM\\pN\\pP\\pS\\pZ\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}", false},
    {"Cn", "\\pL\\pM\\pN\\pP\\pS\\pZ\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}", true},
    {"C", "\\pL\\pM\\pN\\pP\\pS\\pZ", true}, /* with what is not assigned */
};

/* Writes the set of that canonical name, or its complement. False when there is none of the name,
 * or when a bracket can't hold it. */
static bool put_unicode(const char *name, bool negated, bool bracketed, struct ek_buf *out)
{
    if (!bsearch(name, groups, sizeof groups / sizeof *groups, sizeof *groups, compare_group))
        return false;
    for (size_t i = 0; i < sizeof composites / sizeof *composites; i++) {
        const struct composite *set = &composites[i];
        bool outside = set->complement != negated;

        if (strcmp(set->name, name) != 0)
            continue;
        if (bracketed && outside)
            return false;
        ek_buf_printf(out, "%s%s%s",
                      bracketed ? ""
                      : outside ? "[^"
                                : "[",
                      set->content, bracketed ? "" : "]");
        return true;
    }
    ek_buf_printf(out, name[1] ? "\\%c{%s}" : "\\%c%s", negated ? 'P' : 'p', name);
    return true;
}

/* Makes of a name as written the one that tables have: one capital, then small letters, without
 * spaces, hyphens and underscores. False when it is too long for any, or no such word. */
static bool canonical(const char *s, const char *end, char *out, size_t size)
{
    size_t n = 0;

    for (; s < end; s++) {
        char c = *s;

        if (c == '_' || c == '-' || c == ' ')
            continue;
        if ((unsigned char)((c | 0x20) - 'a') >= 26 || n + 1 == size)
            return false;
        out[n] = n ? (char)(c | 0x20) : (char)(c & ~0x20);
        n++;
    }
    out[n] = '\0';
    return n > 0;
}

/* \pN or \p{Name}, at *at. */
static int unicode(const char **at, const char *end, bool bracketed, struct ek_buf *out,
                   struct ek_err *err)
{
    const char *from = *at, *name = from + 2, *stop, *next;
    bool negated = from[1] == 'P';
    const struct alias *alias;
    char known[32];
    size_t size;

    if (name == end)
        return fault(err, "invalid character class range", from, end);
    if (*name == '{') {
        name++;
        stop = memchr(name, '}', (size_t)(end - name));
        if (!stop)
            return fault(err, "invalid character class range", from, end);
        next = stop + 1;
    } else {
        ek_cel_rune_at(name, &size);
        stop = next = name + size;
    }
    if (name < stop && *name == '^') {
        negated = !negated;
        name++;
    }
    if (!canonical(name, stop, known, sizeof known))
        return fault(err, "invalid character class range", from, next);
    alias =
        bsearch(known, aliases, sizeof aliases / sizeof *aliases, sizeof *aliases, compare_alias);
    if (!put_unicode(alias ? alias->category : known, negated, bracketed, out))
        return fault(err, "invalid character class range", from, next);
    *at = next;
    return 0;
}

int ek_cel_regex_set(const char **at, const char *end, bool bracketed, struct ek_buf *out,
                     struct ek_err *err)
{
    if (end - *at < 2 || **at != '\\' || !(*at)[1] || !strchr("pPdDsSwW", (*at)[1]))
        return EK_E_NOENT;
    if (((*at)[1] | 0x20) == 'p')
        return unicode(at, end, bracketed, out, err);
    ek_buf_append(out, *at, 2);
    *at += 2;
    return 0;
}

/* [:alpha:] and its like, at *at. EK_E_NOENT when there is no end of it. */
static int posix(const char **at, const char *end, struct ek_buf *out, struct ek_err *err)
{
    static const char names[][8] = {"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
                                    "lower", "print", "punct", "space", "upper", "word",  "xdigit"};
    const char *name = *at + 2, *stop;

    if (end - *at <= 2 || memcmp(*at, "[:", 2) != 0)
        return EK_E_NOENT;
    stop = memmem(name, (size_t)(end - name), ":]", 2);
    if (!stop)
        return EK_E_NOENT;
    name += *name == '^';
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strlen(names[i]) != (size_t)(stop - name) ||
            memcmp(names[i], name, (size_t)(stop - name)) != 0)
            continue;
        ek_buf_append(out, *at, (size_t)(stop + 2 - *at));
        *at = stop + 2;
        return 0;
    }
    return fault(err, "invalid character class range", *at, stop + 2);
}

/* One code point of the class that begins at whole. */
static int member(const char **at, const char *end, const char *whole, uint32_t *ret,
                  struct ek_err *err)
{
    size_t size;

    if (*at == end)
        return fault(err, "missing closing ]", whole, end);
    if (**at == '\\')
        return ek_cel_regex_escape(at, end, ret, err);
    *ret = ek_cel_rune_at(*at, &size);
    *at += size;
    return 0;
}

/* A code point or a range of them. */
static int range(const char **at, const char *end, const char *whole, struct ek_buf *out,
                 struct ek_err *err)
{
    const char *from = *at;
    uint32_t low = 0, high = 0;
    int rc = member(at, end, whole, &low, err);

    if (rc < 0)
        return rc;
    ek_cel_regex_put_rune(out, low);
    if (end - *at < 2 || **at != '-' || (*at)[1] == ']')
        return 0;
    (*at)++;
    rc = member(at, end, whole, &high, err);
    if (rc < 0)
        return rc;
    if (high < low)
        return fault(err, "invalid character class range", from, *at);
    ek_buf_append(out, "-", 1);
    ek_cel_regex_put_rune(out, high);
    return 0;
}

int ek_cel_regex_class(const char **at, const char *end, struct ek_buf *out, struct ek_err *err)
{
    const char *whole = *at, *s = whole + 1;
    bool first = true;

    ek_buf_append(out, "[", 1);
    if (s < end && *s == '^') {
        ek_buf_append(out, "^", 1);
        s++;
    }
    for (; s == end || *s != ']' || first; first = false) {
        int rc = posix(&s, end, out, err);

        if (rc == EK_E_NOENT)
            rc = ek_cel_regex_set(&s, end, true, out, err);
        if (rc == EK_E_NOENT)
            rc = range(&s, end, whole, out, err);
        if (rc < 0)
            return rc;
    }
    ek_buf_append(out, "]", 1);
    *at = s + 1;
    return 0;
}
