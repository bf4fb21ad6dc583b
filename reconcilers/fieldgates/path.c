/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/path.h"

#include <ctype.h>
#include <string.h>

#include "api/base/quote.h"

/* Canonical text: each octet of a name escaped at worst, and 4 more for [''] of each name. */
#define CANONICAL_MAX ((size_t)2 * EK_FIELD_PATH_MAX + (size_t)4 * EK_FIELD_PATH_NAMES_MAX)

struct reading {
    const char *text; /* whole */
    size_t len;
    size_t at;
    struct ek_arena *arena;
    struct ek_str *names;
    size_t n, n_each;
    char decoded[EK_FIELD_PATH_MAX]; /* names in brackets without their escapes */
    size_t n_decoded;
    struct ek_err *err;
};

static bool is_identifier_start(char c)
{
    return c == '_' || (isascii(c) && isalpha(c));
}

static bool is_identifier_char(char c)
{
    return c == '_' || (isascii(c) && isalnum(c));
}

static int wrong(const struct reading *r, size_t at, const char *what)
{
    ek_err_set(r->err, EK_E_PARSE, "offset %zu: %s", at, what);
    return EK_E_PARSE;
}

/* What stands where a '.' or '[' should. */
static int wrong_start(const struct reading *r)
{
    char c = r->text[r->at];

    if (r->at == 0) {
        if (c == '$' || c == '{')
            return wrong(r, 0, "a path starts with '.', and is not a JSONPath template");
        return wrong(r, 0, "a path starts with '.'");
    }
    if (r->text[r->at - 1] == ']')
        return wrong(r, r->at, "'.', '[' or the end is expected after ']'");
    if (c == '-')
        return wrong(r, r->at, "'-' can be in a name in brackets only, as in ['my-name']");
    return wrong(r, r->at,
                 "such a character can be in a name in brackets only, as in ['k8s.io/x']");
}

static int read_dotted(struct reading *r, struct ek_str *ret_name)
{
    size_t start = ++r->at;

    if (!is_identifier_start(r->text[start]))
        return wrong(r, start, "a name is missing after '.'");
    while (is_identifier_char(r->text[r->at]))
        r->at++;
    *ret_name = (struct ek_str){r->text + start, r->at - start};
    return 0;
}

/* Control characters of C0 and C1: a warning with one in it never arrives. */
static bool is_control(unsigned rune)
{
    return rune < 0x20 || (rune >= 0x7f && rune < 0xa0);
}

/* One character between quotes; escapes are taken off. */
static int read_quoted_char(struct reading *r, char *out, size_t *len)
{
    unsigned rune;

    if (r->text[r->at] == '\\') {
        char next = r->text[r->at + 1];
        if (next != '\'' && next != '\\')
            return wrong(r, r->at, "only \\' and \\\\ are escapes in a name");
        out[(*len)++] = next;
        r->at += 2;
        return 0;
    }
    size_t n = ek_utf8_decode((struct ek_str){r->text + r->at, r->len - r->at}, &rune);
    if (n == 0)
        return wrong(r, r->at, "a name must be valid UTF-8");
    if (is_control(rune))
        return wrong(r, r->at, "a name must not have control characters");
    memcpy(out + *len, r->text + r->at, n);
    *len += n;
    r->at += n;
    return 0;
}

/* All items of a list, or all values of a map. */
static int read_each(struct reading *r, struct ek_str *ret_name)
{
    if (r->n == 0)
        return wrong(r, r->at, "a path starts with the name of a field");
    if (++r->n_each > EK_FIELD_PATH_EACH_MAX) {
        ek_err_set(r->err, EK_E_LIMIT, "offset %zu: more than %d [*]", r->at,
                   EK_FIELD_PATH_EACH_MAX);
        return EK_E_LIMIT;
    }
    *ret_name = (struct ek_str){r->text + r->at, 0};
    r->at += strlen("[*]");
    if (r->at == r->len)
        return wrong(r, r->at - strlen("[*]"),
                     "a path ends at a field: gate the list or the map, or fields below [*]");
    return 0;
}

static int read_bracketed(struct reading *r, struct ek_str *ret_name)
{
    size_t open = r->at++, len = 0;
    char *name = r->decoded + r->n_decoded;
    char c = r->text[r->at];

    if (c == '*' && r->text[r->at + 1] == ']') {
        r->at = open;
        return read_each(r, ret_name);
    }
    if (isdigit((unsigned char)c) || c == '*' || c == '-' || c == '?')
        return wrong(r, open,
                     "the items of a list cannot be gated one by one: gate the list, or fields of "
                     "all items below [*]");
    if (c != '\'')
        return wrong(r, r->at, "a name in single quotes is expected after '['");
    r->at++;
    while (r->at < r->len && r->text[r->at] != '\'') {
        int rc = read_quoted_char(r, name, &len);
        if (rc)
            return rc;
    }
    if (r->at == r->len)
        return wrong(r, open, "the quote is not closed");
    if (len == 0)
        return wrong(r, r->at, "a name is missing between the quotes");
    if (r->text[++r->at] != ']')
        return wrong(r, r->at, "']' is missing");
    r->at++;
    r->n_decoded += len;
    *ret_name = (struct ek_str){name, len};
    return 0;
}

static int read_names(struct reading *r)
{
    struct ek_str names[EK_FIELD_PATH_NAMES_MAX] = {{0}};

    do {
        char c = r->text[r->at];
        if (r->n == EK_FIELD_PATH_NAMES_MAX) {
            ek_err_set(r->err, EK_E_LIMIT, "offset %zu: more than %d names", r->at,
                       EK_FIELD_PATH_NAMES_MAX);
            return EK_E_LIMIT;
        }
        if (c != '.' && c != '[')
            return wrong_start(r);
        int rc = c == '.' ? read_dotted(r, &names[r->n]) : read_bracketed(r, &names[r->n]);
        if (rc)
            return rc;
        r->n++;
    } while (r->at < r->len);
    r->names = ek_arena_alloc(r->arena, r->n * sizeof *names);
    for (size_t i = 0; i < r->n; i++) {
        const char *copy = ek_arena_strndup(r->arena, names[i].p, names[i].len);
        r->names[i] = (struct ek_str){copy, names[i].len};
    }
    return 0;
}

/* What CEL takes for a name after a dot; its literals and "in" are none. */
static bool is_cel_identifier(struct ek_str name)
{
    static const char *const words[] = {"true", "false", "null", "in"};

    if (!is_identifier_start(name.p[0]))
        return false;
    for (size_t i = 1; i < name.len; i++)
        if (!is_identifier_char(name.p[i]))
            return false;
    for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++)
        if (ek_str_eq(name, ek_str_from(words[i])))
            return false;
    return true;
}

static const char *canonical(const struct reading *r)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, CANONICAL_MAX);
    for (size_t i = 0; i < r->n; i++) {
        struct ek_str name = r->names[i];
        if (ek_field_path_is_each(name)) {
            ek_buf_puts(&out, "[*]");
            continue;
        }
        if (is_cel_identifier(name)) {
            ek_buf_puts(&out, ".");
            ek_buf_append(&out, name.p, name.len);
            continue;
        }
        ek_buf_puts(&out, "['");
        for (size_t k = 0; k < name.len; k++) {
            if (name.p[k] == '\'' || name.p[k] == '\\')
                ek_buf_puts(&out, "\\");
            ek_buf_append(&out, &name.p[k], 1);
        }
        ek_buf_puts(&out, "']");
    }
    return ek_arena_strndup(r->arena, ek_buf_str(&out), out.len);
}

/* Identity cannot be gated, and changes of metadata never move the generation. */
static int check_root(const struct reading *r)
{
    static const char *const fixed[] = {"metadata", "apiVersion", "kind"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(fixed); i++)
        if (ek_str_eq(r->names[0], ek_str_from(fixed[i])))
            return ek_err_set(r->err, EK_E_INVAL, "offset 0: %s cannot be gated", fixed[i]);
    return 0;
}

int ek_field_path_parse(const char *text, struct ek_arena *arena, struct ek_field_path *ret_path,
                        struct ek_err *err)
{
    struct reading r = {.text = text, .len = strlen(text), .arena = arena, .err = err};

    if (r.len > EK_FIELD_PATH_MAX)
        return ek_err_set(err, EK_E_LIMIT, "offset %d: longer than %d octets", EK_FIELD_PATH_MAX,
                          EK_FIELD_PATH_MAX);
    int rc = r.len == 0 ? wrong(&r, 0, "a path is expected") : read_names(&r);
    if (rc == 0)
        rc = check_root(&r);
    if (rc)
        return rc;
    *ret_path = (struct ek_field_path){r.names, r.n, canonical(&r)};
    return 0;
}

bool ek_field_path_covers(const struct ek_field_path *a, const struct ek_field_path *b)
{
    if (a->n > b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!ek_field_path_is_each(a->names[i]) && !ek_str_eq(a->names[i], b->names[i]))
            return false;
    return true;
}
