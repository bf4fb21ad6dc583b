/* SPDX-License-Identifier: Apache-2.0 */
/* The uid of a review that cannot be read as a whole. */
#include <ctype.h>
#include <string.h>

#include "api/admission.h"

#define REQUEST_LEVEL 2 /* of the members of {"request": {...}} */

/* A walk over the octets of JSON that may be wrong or cut anywhere. */
struct scan {
    const char *p, *end;
    size_t depth;
    bool in_request; /* the object of level 2 is the request's */
};

/* The string whose quote is at s->p, without quotes and escaped as it is; p is left behind it.
 * false at the end of the text. */
static bool take_string(struct scan *s, struct ek_str *ret)
{
    const char *start = ++s->p;

    while (s->p < s->end && *s->p != '"')
        s->p += *s->p == '\\' ? 2 : 1;
    if (s->p >= s->end)
        return false;
    *ret = (struct ek_str){start, (size_t)(s->p++ - start)};
    return true;
}

static void skip_blanks(struct scan *s)
{
    while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
        s->p++;
}

/* True, and p behind it, when c is what comes next. */
static bool take(struct scan *s, char c)
{
    skip_blanks(s);
    if (s->p >= s->end || *s->p != c)
        return false;
    s->p++;
    return true;
}

static bool is_uid(struct ek_str text)
{
    bool fine = text.len > 0 && text.len < EK_ADMISSION_UID_SIZE;

    for (size_t i = 0; fine && i < text.len; i++)
        fine = isalnum((unsigned char)text.p[i]) || text.p[i] == '-' || text.p[i] == '_';
    return fine;
}

/* What follows a string: a key's value is looked at when it may be the uid. */
static bool look_at_member(struct scan *s, struct ek_str key, struct ek_str *ret_uid)
{
    if (!take(s, ':'))
        return false;
    skip_blanks(s);
    if (s->p >= s->end)
        return false;
    if (s->depth == 1)
        s->in_request = ek_str_eq(key, EK_STR("request")) && *s->p == '{';
    return s->depth == REQUEST_LEVEL && s->in_request && ek_str_eq(key, EK_STR("uid")) &&
           *s->p == '"' && take_string(s, ret_uid);
}

bool ek_admission_uid_find(const char *body, size_t len, char ret_uid[EK_ADMISSION_UID_SIZE])
{
    struct scan s = {.p = body, .end = body + len};
    struct ek_str text, uid;

    while (s.p < s.end) {
        if (*s.p == '"') {
            if (!take_string(&s, &text))
                return false;
            if (!look_at_member(&s, text, &uid))
                continue;
            if (!is_uid(uid))
                return false;
            memcpy(ret_uid, uid.p, uid.len);
            ret_uid[uid.len] = '\0';
            return true;
        }
        s.depth += *s.p == '{' || *s.p == '[';
        s.depth -= (*s.p == '}' || *s.p == ']') && s.depth > 0;
        s.p++;
    }
    return false;
}
