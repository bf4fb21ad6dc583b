/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/regex/syntax.h"

#include <stdbool.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/cel/regex/class.h"
#include "api/cel/text/runes.h"

#define REPEAT_MAX 1000u

/* What an error shows of a pattern at most. */
#define SHOWN_MAX 600u

size_t ek_cel_regex_translated_max(size_t len)
{
    return EK_BUF_SMALL_MAX + 1 + len * 10; /* the longest is \p{Cn} */
}

int ek_cel_regex_fault(struct ek_err *err, int code, const char *fault, const char *what,
                       size_t len)
{
    size_t shown = ek_utf8_cut((struct ek_str){what, len}, SHOWN_MAX);

    return ek_err_set(err, code, "error parsing regexp: %s: `%.*s`", fault, (int)shown, what);
}

/* What is known of a group while it is open. */
struct level {
    uint32_t inner; /* the most copies that repetitions make of something in it so far */
    uint32_t last;  /* the same of the newest item, which a repetition would apply to */
    bool item;      /* there is one */
};

struct reader {
    const char *pattern, *end, *at;
    const char *repeated; /* the repetition operator just read, or NULL */
    struct level *levels; /* owned; the outermost, then one per open group */
    size_t depth, room;
    struct ek_buf *out;
    struct ek_err *err;
};

static int fault(const struct reader *r, const char *text, const char *from, const char *to)
{
    return ek_cel_regex_fault(r->err, EK_E_PARSE, text, from, (size_t)(to - from));
}

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static void put(const struct reader *r, const char *s, size_t len)
{
    ek_buf_append(r->out, s, len);
}

/* Records that an item was written. */
static void item(struct reader *r, uint32_t copies)
{
    struct level *level = &r->levels[r->depth];

    if (level->inner < level->last)
        level->inner = level->last;
    level->last = copies;
    level->item = true;
}

static int open_group(struct reader *r)
{
    if (r->depth + 1 == r->room) {
        struct level *more = ek_realloc(r->levels, 2 * r->room * sizeof *more);

        if (!more)
            return ek_err_set(r->err, EK_E_NOMEM, "out of memory");
        r->levels = more;
        r->room *= 2;
    }
    r->levels[++r->depth] = (struct level){0};
    return 0;
}

static int close_group(struct reader *r)
{
    struct level closed = r->levels[r->depth];

    if (r->depth == 0)
        return fault(r, "unexpected )", r->pattern, r->end);
    r->depth--;
    r->at++;
    put(r, ")", 1);
    item(r, closed.inner > closed.last ? closed.inner : closed.last);
    return 0;
}

static void alternative(struct reader *r)
{
    struct level *level = &r->levels[r->depth];

    if (level->inner < level->last)
        level->inner = level->last;
    level->last = 0;
    level->item = false;
    r->at++;
    put(r, "|", 1);
}

static void literal(struct reader *r, uint32_t rune)
{
    ek_cel_regex_put_rune(r->out, rune);
    item(r, 1);
}

/* A name: letters, digits and underscores. */
static bool is_name(const char *s, const char *end)
{
    if (s == end)
        return false;
    for (; s < end; s++)
        if (*s != '_' && !ek_cel_regex_alnum(*s))
            return false;
    return true;
}

/* (?P<name> or (?<name>, whose name begins at name. */
static int named_group(struct reader *r, const char *name)
{
    const char *close = memchr(name, '>', (size_t)(r->end - name));

    if (!close)
        return fault(r, "invalid named capture", r->at, r->end);
    if (!is_name(name, close))
        return fault(r, "invalid named capture", r->at, close + 1);
    r->at = close + 1;
    put(r, "(?:", 3);
    return open_group(r);
}

/* (?flags) or (?flags:. */
static int flags(struct reader *r)
{
    const char *from = r->at, *s = r->at + 2;
    bool negated = false, seen = false;
    size_t size;

    for (; s < r->end; s++) {
        if (*s && strchr("imsU", *s)) {
            seen = true;
        } else if (*s == '-' && !negated) {
            negated = true;
            seen = false;
        } else if ((*s == ':' || *s == ')') && (seen || !negated)) {
            r->at = s + 1;
            put(r, from, (size_t)(s + 1 - from));
            return *s == ':' ? open_group(r) : 0;
        } else {
            ek_cel_rune_at(s, &size);
            s += size;
            break;
        }
    }
    return fault(r, "invalid or unsupported Perl syntax", from, s);
}

static int paren(struct reader *r)
{
    if (left(r) > 4 && memcmp(r->at, "(?P<", 4) == 0)
        return named_group(r, r->at + 4);
    if (left(r) > 3 && memcmp(r->at, "(?<", 3) == 0)
        return named_group(r, r->at + 3);
    if (left(r) > 1 && r->at[1] == '?')
        return flags(r);
    r->at++;
    put(r, "(?:", 3);
    return open_group(r);
}

/* Applies the operator from op to r->at, which makes at most copies of the newest item (0: that
 * none is left of it). */
static int repeat(struct reader *r, const char *op, uint32_t copies, bool counted)
{
    struct level *level = &r->levels[r->depth];

    if (r->at < r->end && *r->at == '?')
        r->at++;
    if (r->repeated)
        return fault(r, "invalid nested repetition operator", r->repeated, r->at);
    if (!level->item)
        return fault(r, "missing argument to repetition operator", op, r->at);
    if (copies == 0)
        level->last = 1;
    else if (level->last * copies > REPEAT_MAX && counted)
        return fault(r, "invalid repeat count", op, r->at);
    else
        level->last *= copies;
    put(r, op, (size_t)(r->at - op));
    r->repeated = op;
    return 0;
}

/* A number without leading zeros at *s; beyond 1e8 it is cut to UINT32_MAX. */
static bool number(const char **s, const char *end, uint32_t *ret)
{
    const char *from = *s;
    uint32_t value = 0;

    while (*s < end && **s >= '0' && **s <= '9') {
        value = value >= 100000000u ? UINT32_MAX : value * 10 + (uint32_t)(**s - '0');
        (*s)++;
    }
    *ret = value;
    return *s > from && (*from != '0' || *s == from + 1);
}

/* {n}, {n,} or {n,m}; anything else that begins like it is a literal brace. */
static int counted(struct reader *r)
{
    const char *op = r->at, *s = op + 1;
    uint32_t min, max;
    bool open = false;

    if (!number(&s, r->end, &min))
        goto brace;
    max = min;
    if (s < r->end && *s == ',') {
        s++;
        open = s < r->end && *s == '}';
        if (!open && !number(&s, r->end, &max))
            goto brace;
    }
    if (s == r->end || *s != '}')
        goto brace;
    r->at = s + 1;
    if (min > REPEAT_MAX || max > REPEAT_MAX || min > max)
        return fault(r, "invalid repeat count", op, r->at);
    if (open) /* x{0,} multiplies nothing */
        return repeat(r, op, min ? min : 1, min >= 2);
    return repeat(r, op, max, max >= 2);
brace:
    r->at++;
    r->repeated = NULL;
    literal(r, '{');
    return 0;
}

/* \Q...\E */
static void quoted(struct reader *r)
{
    const char *from = r->at + 2;
    const char *close = memmem(from, (size_t)(r->end - from), "\\E", 2);
    const char *to = close ? close : r->end;
    size_t size;

    if (from == to)
        put(r, "(?)", 3); /* nothing, but a** is no error with it in between */
    for (; from < to; from += size) {
        uint32_t rune = ek_cel_rune_at(from, &size);

        literal(r, rune);
    }
    r->at = close ? close + 2 : r->end;
}

static int escape(struct reader *r)
{
    char c = left(r) > 1 ? r->at[1] : '\0';
    const char *from = r->at;
    uint32_t rune;
    int rc;

    if (left(r) > 1 && strchr("AbBz", c) && c) {
        put(r, from, 2);
        r->at += 2;
        item(r, 1);
        return 0;
    }
    if (c == 'C')
        return fault(r, "invalid escape sequence", from, from + 2);
    if (c == 'Q') {
        quoted(r);
        return 0;
    }
    rc = ek_cel_regex_set(&r->at, r->end, false, r->out, r->err);
    if (rc == EK_E_NOENT) {
        rc = ek_cel_regex_escape(&r->at, r->end, &rune, r->err);
        if (rc == 0)
            ek_cel_regex_put_rune(r->out, rune);
    }
    if (rc == 0)
        item(r, 1);
    return rc;
}

/* Reads one item or operator. */
static int step(struct reader *r)
{
    const char *op = r->at;
    size_t size;
    int rc;

    switch (*r->at) {
    case '(':
        return paren(r);
    case ')':
        return close_group(r);
    case '|':
        alternative(r);
        return 0;
    case '^':
    case '$':
    case '.':
        put(r, r->at++, 1);
        item(r, 1);
        return 0;
    case '[':
        rc = ek_cel_regex_class(&r->at, r->end, r->out, r->err);
        if (rc == 0)
            item(r, 1);
        return rc;
    case '*':
    case '+':
    case '?':
        r->at++;
        return repeat(r, op, 1, false);
    case '{':
        return counted(r);
    case '\\':
        return escape(r);
    default:
        literal(r, ek_cel_rune_at(r->at, &size));
        r->at += size;
        return 0;
    }
}

static int read_all(struct reader *r)
{
    while (r->at < r->end) {
        const char *before = r->repeated;
        int rc = step(r);

        if (rc < 0)
            return rc;
        if (r->repeated == before)
            r->repeated = NULL;
    }
    if (r->depth > 0)
        return fault(r, "missing closing )", r->pattern, r->end);
    if (r->out->failed)
        return ek_err_set(r->err, r->out->failed, "%s", ek_strerror(r->out->failed));
    return 0;
}

/* ---- Weighing -------------------------------------------------------------------------------- */

/* About how many ranges a set has. */
static const struct weight {
    const char *name;
    uint32_t ranges;
} weights[] = {
    {"L", 650}, {"Ll", 660}, {"Lu", 650}, {"Lo", 500}, {"Lm", 70}, {"Lt", 10},
    {"M", 300}, {"Mn", 340}, {"Mc", 180}, {"Me", 5},   {"N", 135}, {"Nd", 65},
    {"Nl", 12}, {"No", 70},  {"P", 190},  {"Po", 185}, {"Ps", 80}, {"Pe", 75},
    {"Pd", 20}, {"Pc", 6},   {"Pf", 10},  {"Pi", 11},  {"S", 235}, {"So", 185},
    {"Sm", 65}, {"Sk", 31},  {"Sc", 21},  {"Z", 8},    {"Zs", 7},  {"Zl", 1},
    {"Zp", 1},  {"C", 700},  {"Cc", 2},   {"Cf", 21},  {"Co", 3},  {"Cs", 1},
};

/* Scripts have up to this many; most have far less, and so many of them nobody writes. */
#define SCRIPT_RANGES 180u

static uint32_t weight_of(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        if (strlen(weights[i].name) == len && memcmp(weights[i].name, name, len) == 0)
            return weights[i].ranges;
    return SCRIPT_RANGES;
}

/* Of a translation, in which a backslash before p or P always begins a set. */
static uint32_t weigh(const char *s, const char *end)
{
    uint32_t sum = 0;

    for (; end - s > 2 && sum <= EK_CEL_REGEX_RANGES_MAX; s++) {
        if (*s != '\\' || (*++s | 0x20) != 'p')
            continue;
        bool brace = s[1] == '{';
        const char *name = s + 1 + brace,
                   *stop = brace ? memchr(name, '}', (size_t)(end - name)) : name + 1;
        sum += weight_of(name, stop ? (size_t)(stop - name) : 1);
    }
    return sum;
}

int ek_cel_regex_translate(const char *pattern, size_t len, struct ek_buf *out, struct ek_err *err)
{
    struct reader r = {.pattern = pattern,
                       .end = pattern + len,
                       .at = pattern,
                       .room = 16,
                       .out = out,
                       .err = err};
    size_t from = out->len;
    int rc;

    if (len > EK_CEL_REGEX_MAX)
        return ek_cel_regex_fault(err, EK_E_LIMIT, "expression too large", pattern, len);
    r.levels = ek_alloc(r.room * sizeof *r.levels);
    if (!r.levels)
        return ek_err_set(err, EK_E_NOMEM, "out of memory");
    r.levels[0] = (struct level){0};
    rc = read_all(&r);
    ek_free(r.levels);
    if (rc == 0 && out->len > from &&
        weigh(out->data + from, out->data + out->len) > EK_CEL_REGEX_RANGES_MAX)
        return ek_cel_regex_fault(err, EK_E_LIMIT, "expression too large", pattern, len);
    return rc;
}
