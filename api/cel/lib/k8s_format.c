/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' format library: named formats that a string may be held against. */
#include <string.h>

#include "api/base/ascii.h"
#include "api/base/time.h"
#include "api/cel/lib/opaque.h"
#include "api/cel/lib/strings.h"
#include "api/cel/text/url.h"
#include "api/names.h"

/* Returns the list of what is wrong with text, an empty one or null when nothing is. */
typedef struct ek_cel_val (*check_fn)(struct ek_cel_eval *eval, struct ek_str text);

struct format_val {
    struct ek_cel_opaque opaque;
    const char *name;
    check_fn check;
    uint64_t cost; /* per ten characters: a quarter of the length of the reference's pattern */
};

static const struct format_val *format_of(const struct ek_cel_opaque *opaque)
{
    return (const struct format_val *)opaque;
}

static bool equal(const struct ek_cel_opaque *a, const struct ek_cel_opaque *b)
{
    return !strcmp(format_of(a)->name, format_of(b)->name);
}

static const struct ek_cel_opaque_kind format_kind = {
    .name = "kubernetes.NamedFormat",
    .equal = equal,
    .unhashable = true,
};

/* ---- Names ----------------------------------------------------------------------------------- */

static struct ek_cel_val list_of(struct ek_cel_eval *eval, const char *const *errors, size_t n)
{
    struct ek_cel_val list = ek_cel_list_new(eval, (uint32_t)n);

    for (size_t i = 0; i < n && list.kind != EK_CEL_ERROR; i++) {
        struct ek_cel_val item = ek_cel_string(errors[i], strlen(errors[i]));
        if (!ek_cel_list_append(eval, &list, &item))
            return ek_cel_no_memory(eval);
    }
    return list;
}

static struct ek_cel_val check_name(struct ek_cel_eval *eval, struct ek_str text,
                                    enum ek_name_format format)
{
    const char *errors[EK_NAME_ERRORS_MAX];
    size_t n = ek_name_check(format, text, errors);

    return n ? list_of(eval, errors, n) : ek_cel_null();
}

/* A prefix of generated names may end in a dash: what stands before it counts as a letter. */
static struct ek_cel_val check_prefix(struct ek_cel_eval *eval, struct ek_str text,
                                      enum ek_name_format format)
{
    if (text.len < 2 || text.p[text.len - 1] != '-')
        return check_name(eval, text, format);
    char *name = ek_cel_alloc(eval, text.len - 1);
    if (!name)
        return ek_cel_no_memory(eval);
    memcpy(name, text.p, text.len - 2);
    name[text.len - 2] = 'a';
    return check_name(eval, (struct ek_str){name, text.len - 1}, format);
}

/* Defines a check that leaves it to another. */
#define CHECK(name, call)                                                                          \
    static struct ek_cel_val name(struct ek_cel_eval *eval, struct ek_str text)                    \
    {                                                                                              \
        return call;                                                                               \
    }

CHECK(check_label, check_name(eval, text, EK_NAME_DNS1123_LABEL))
CHECK(check_subdomain, check_name(eval, text, EK_NAME_DNS1123_SUBDOMAIN))
CHECK(check_dns1035, check_name(eval, text, EK_NAME_DNS1035_LABEL))
CHECK(check_key, check_name(eval, text, EK_NAME_LABEL_KEY))
CHECK(check_label_value, check_name(eval, text, EK_NAME_LABEL_VALUE))
CHECK(check_label_prefix, check_prefix(eval, text, EK_NAME_DNS1123_LABEL))
CHECK(check_subdomain_prefix, check_prefix(eval, text, EK_NAME_DNS1123_SUBDOMAIN))
CHECK(check_dns1035_prefix, check_prefix(eval, text, EK_NAME_DNS1035_LABEL))

/* ---- Others ---------------------------------------------------------------------------------- */

static struct ek_cel_val check_uri(struct ek_cel_eval *eval, struct ek_str text)
{
    struct ek_cel_url_fault fault;
    struct ek_cel_url url;
    struct ek_cel_text why;
    size_t used;
    char *room = ek_cel_alloc(eval, text.len + 1);

    if (!room)
        return ek_cel_no_memory(eval);
    if (ek_cel_url_parse(text.p, text.len, true, room, &used, &url, &fault))
        return ek_cel_null();
    ek_cel_text_init(&why, eval);
    ek_cel_text_add(&why, "parse ", 6);
    ek_cel_text_quote(&why, text.p, text.len);
    ek_cel_text_add(&why, ": ", 2);
    ek_cel_text_add(&why, fault.before, strlen(fault.before));
    if (fault.quoted.p) {
        ek_cel_text_quote(&why, fault.quoted.p, fault.quoted.len);
        ek_cel_text_add(&why, fault.after, strlen(fault.after));
    }
    struct ek_cel_val list = ek_cel_list_new(eval, 1), item = ek_cel_text_take(&why);
    if (item.kind == EK_CEL_ERROR || list.kind == EK_CEL_ERROR)
        return item.kind == EK_CEL_ERROR ? item : list;
    return ek_cel_list_append(eval, &list, &item) ? list : ek_cel_no_memory(eval);
}

/* True when s begins as pattern says: 0 is a digit, x a hexadecimal one, all else itself. */
static bool begins(struct ek_str s, const char *pattern)
{
    size_t len = strlen(pattern);

    if (s.len < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (pattern[i] == '0' || pattern[i] == 'x'
                ? !ek_is_digit(c) && !(pattern[i] == 'x' && letter)
                : c != pattern[i])
            return false;
    }
    return true;
}

static bool is(struct ek_str s, const char *pattern)
{
    return s.len == strlen(pattern) && begins(s, pattern);
}

static struct ek_str from(struct ek_str s, size_t at)
{
    return (struct ek_str){s.p + at, s.len - at};
}

/* 8-4-4-4-12 hexadecimal digits, any of the dashes left out. */
static bool is_uuid(struct ek_str s)
{
    static const char *const groups[] = {"xxxxxxxx", "xxxx", "xxxx", "xxxx", "xxxxxxxxxxxx"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(groups); i++) {
        if (!begins(s, groups[i]))
            return false;
        s = from(s, strlen(groups[i]));
        if (i < 4 && s.len > 0 && s.p[0] == '-')
            s = from(s, 1);
    }
    return s.len == 0;
}

static bool is_base64(struct ek_str s)
{
    size_t padding = 0;

    if (s.len == 0 || s.len % 4 != 0)
        return false;
    while (padding < 2 && s.p[s.len - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < s.len - padding; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !ek_is_digit(c) && c != '+' && c != '/')
            return false;
    }
    return true;
}

static int number_at(struct ek_str s, size_t at)
{
    return (s.p[at] - '0') * 10 + (s.p[at + 1] - '0');
}

static bool is_date(struct ek_str s)
{
    if (!is(s, "0000-00-00"))
        return false;
    int year = number_at(s, 0) * 100 + number_at(s, 2), month = number_at(s, 5);
    int day = number_at(s, 8);
    if (month < 1 || month > 12 || day < 1)
        return false;
    return day <= ek_days_in_month(year, month);
}

/* Nothing, or one character of any kind and digits: the reference's point stands for any. */
static bool is_fraction(struct ek_str s)
{
    size_t first = 1;

    if (s.len == 0)
        return true;
    while (first < s.len && (s.p[first] & 0xc0) == 0x80)
        first++;
    for (size_t i = first; i < s.len; i++)
        if (!ek_is_digit(s.p[i]))
            return false;
    return first < s.len && s.p[0] != '\n';
}

static bool is_time(struct ek_str s)
{
    if (!begins(s, "00:00:00") || number_at(s, 0) > 23 || number_at(s, 3) > 59 ||
        number_at(s, 6) > 59)
        return false;
    s = from(s, 8);
    if (s.len > 0 && (s.p[s.len - 1] == 'z' || s.p[s.len - 1] == 'Z'))
        return is_fraction((struct ek_str){s.p, s.len - 1});
    if (s.len < 6 || (s.p[s.len - 6] != '+' && s.p[s.len - 6] != '-') ||
        !is(from(s, s.len - 5), "00:00"))
        return false;
    return is_fraction((struct ek_str){s.p, s.len - 6});
}

/* A date, a T, a time; what follows another T is not looked at. */
static bool is_datetime(struct ek_str s)
{
    size_t at[2] = {s.len, s.len}, n = 0;

    for (size_t i = 0; i < s.len && n < 2; i++)
        if (s.p[i] == 't' || s.p[i] == 'T')
            at[n++] = i;
    if (n == 0 || !is_date((struct ek_str){s.p, at[0]}))
        return false;
    return is_time((struct ek_str){s.p + at[0] + 1, at[1] - at[0] - 1});
}

static struct ek_cel_val verdict(struct ek_cel_eval *eval, bool good, const char *error)
{
    return good ? ek_cel_null() : list_of(eval, &error, 1);
}

CHECK(check_uuid, verdict(eval, is_uuid(text), "does not match the UUID format"))
CHECK(check_byte, verdict(eval, is_base64(text), "invalid base64"))
CHECK(check_date, verdict(eval, is_date(text), "invalid date"))
CHECK(check_datetime, verdict(eval, is_datetime(text), "invalid datetime"))

/* ---- The library ----------------------------------------------------------------------------- */

#define FORMAT(name, check, cost)                                                                  \
    {                                                                                              \
        {&format_kind}, name, check, cost                                                          \
    }

static const struct format_val formats[] = {
    FORMAT("dns1123Label", check_label, 8),
    FORMAT("dns1123Subdomain", check_subdomain, 15),
    FORMAT("dns1035Label", check_dns1035, 8),
    FORMAT("qualifiedName", check_key, 15),
    FORMAT("dns1123LabelPrefix", check_label_prefix, 8),
    FORMAT("dns1123SubdomainPrefix", check_subdomain_prefix, 15),
    FORMAT("dns1035LabelPrefix", check_dns1035_prefix, 8),
    FORMAT("labelValue", check_label_value, 10),
    FORMAT("uri", check_uri, 276),
    FORMAT("uuid", check_uuid, 18),
    FORMAT("byte", check_byte, 21),
    FORMAT("date", check_date, 18),
    FORMAT("datetime", check_datetime, 18),
};

static struct ek_cel_val named(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)n;
    for (size_t i = 0; i < EK_ARRAY_SIZE(formats); i++)
        if (ek_str_eq(ek_cel_text_of(&args[0]), ek_str_from(formats[i].name))) {
            struct ek_cel_val value = ek_cel_opaque_val(&formats[i].opaque);
            return ek_cel_optional(eval, &value);
        }
    return ek_cel_optional(eval, NULL);
}

static struct ek_cel_val validate(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    const struct format_val *format = format_of(args[0].opaque);
    struct ek_cel_val errors = format->check(eval, ek_cel_text_of(&args[1]));

    (void)n;
    if (errors.kind == EK_CEL_ERROR)
        return errors;
    return ek_cel_optional(eval, errors.kind == EK_CEL_LIST ? &errors : NULL);
}

static uint64_t cost_of_validate(const struct ek_cel_val *args, uint32_t n,
                                 const struct ek_cel_val *result)
{
    (void)result;
    if (n < 2 || !ek_cel_is_opaque(&args[0], &format_kind))
        return 1;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[1]) + 1, 1) * format_of(args[0].opaque)->cost;
}

/* format.NAME(): the format at that index. */
#define CONSTANT(index)                                                                            \
    static struct ek_cel_val constant_##index(struct ek_cel_eval *eval,                            \
                                              const struct ek_cel_val *args, uint32_t n)           \
    {                                                                                              \
        (void)eval;                                                                                \
        (void)args;                                                                                \
        (void)n;                                                                                   \
        return ek_cel_opaque_val(&formats[index].opaque);                                          \
    }
#define CONSTANT_FUNCTION(name, index)                                                             \
    EK_CEL_FUNCTION(name, NULL,                                                                    \
                    EK_CEL_OVERLOAD(name, "-> kubernetes.NamedFormat", 0, constant_##index))

CONSTANT(0)
CONSTANT(1)
CONSTANT(2)
CONSTANT(3)
CONSTANT(4)
CONSTANT(5)
CONSTANT(6)
CONSTANT(7)
CONSTANT(8)
CONSTANT(9)
CONSTANT(10)
CONSTANT(11)
CONSTANT(12)

static const struct ek_cel_function functions[] = {
    CONSTANT_FUNCTION("format.dns1123Label", 0),
    CONSTANT_FUNCTION("format.dns1123Subdomain", 1),
    CONSTANT_FUNCTION("format.dns1035Label", 2),
    CONSTANT_FUNCTION("format.qualifiedName", 3),
    CONSTANT_FUNCTION("format.dns1123LabelPrefix", 4),
    CONSTANT_FUNCTION("format.dns1123SubdomainPrefix", 5),
    CONSTANT_FUNCTION("format.dns1035LabelPrefix", 6),
    CONSTANT_FUNCTION("format.labelValue", 7),
    CONSTANT_FUNCTION("format.uri", 8),
    CONSTANT_FUNCTION("format.uuid", 9),
    CONSTANT_FUNCTION("format.byte", 10),
    CONSTANT_FUNCTION("format.date", 11),
    CONSTANT_FUNCTION("format.datetime", 12),
    EK_CEL_FUNCTION("format.named", NULL,
                    EK_CEL_OVERLOAD("format-named",
                                    "string -> optional_type(kubernetes.NamedFormat)", 0, named)),
    EK_CEL_FUNCTION("validate", cost_of_validate,
                    EK_CEL_OVERLOAD("format-validate",
                                    "kubernetes.NamedFormat, string -> "
                                    "optional_type(list(string))",
                                    EK_CEL_MEMBER, validate)),
    {.name = NULL},
};

static const struct ek_cel_opaque_kind *const types[] = {&format_kind, NULL};

const struct ek_cel_library ek_cel_lib_k8s_format = {
    .name = "kubernetes.format",
    .functions = functions,
    .types = types,
};
