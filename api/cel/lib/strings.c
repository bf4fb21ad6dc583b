/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The string library: ext.Strings of cel-go 0.26, versions 0 to 4.
 *
 * Indices count code points; results that are part of a string share its octets.
 */
#include <string.h>

#include "api/cel/lib/opaque.h"
#include "api/cel/lib/strings.h"
#include "api/cel/library.h"
#include "api/cel/text/runes.h"

static struct ek_cel_val out_of_range(struct ek_cel_eval *eval, int64_t index)
{
    return ek_cel_fail(eval, "index out of range: %lld", (long long)index);
}

/* The offset of code point index of s, or SIZE_MAX. */
static size_t offset_of(const struct ek_cel_val *s, int64_t index)
{
    return index < 0 ? SIZE_MAX : ek_cel_rune_offset(s->s, s->n, (uint64_t)index);
}

static struct ek_cel_val char_at(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    size_t at = offset_of(&args[0], args[1].i);

    (void)n;
    if (at == SIZE_MAX)
        return out_of_range(eval, args[1].i);
    if (at == args[0].n)
        return ek_cel_string("", 0);
    return ek_cel_string(args[0].s + at, ek_cel_rune_size((unsigned char)args[0].s[at]));
}

/* Finds args[1] in args[0] at or after code point start. */
static struct ek_cel_val index_from(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                    int64_t start)
{
    size_t at;
    const char *hit;

    if (args[1].n == 0)
        return ek_cel_int(start); /* wherever that is */
    if (start < 0)
        return out_of_range(eval, start);
    at = offset_of(&args[0], start);
    if (at == SIZE_MAX)
        return ek_cel_int(-1);
    hit = memmem(args[0].s + at, args[0].n - at, args[1].s, args[1].n);
    if (!hit)
        return ek_cel_int(-1);
    return ek_cel_int(start +
                      (int64_t)ek_cel_runes(args[0].s + at, (size_t)(hit - args[0].s) - at));
}

static struct ek_cel_val index_of(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    return index_from(eval, args, n > 2 ? args[2].i : 0);
}

/* Needles up to this length are looked for octet by octet, longer ones in linear time. */
#define SHORT_NEEDLE 16

/*
 * The last place of needle in the first end octets of s: fills *ret_at with its offset, or SIZE_MAX
 * when there is none. Knuth-Morris-Pratt from the end for long needles. False without memory.
 */
static bool find_last(struct ek_cel_eval *eval, const char *s, size_t end,
                      const struct ek_cel_val *needle, size_t *ret_at)
{
    const char *last = needle->s + needle->n - 1;
    uint32_t *border, m = needle->n, have = 0;

    *ret_at = SIZE_MAX;
    if (end < m)
        return true;
    if (m <= SHORT_NEEDLE) {
        for (size_t at = end - m + 1; at-- > 0 && *ret_at == SIZE_MAX;)
            if (s[at] == needle->s[0] && memcmp(s + at, needle->s, m) == 0)
                *ret_at = at;
        return true;
    }
    border = ek_cel_alloc(eval, (m + (size_t)1) * sizeof *border);
    if (!border)
        return false;
    border[0] = border[1] = 0;
    for (uint32_t i = 1; i < m; i++) {
        while (have > 0 && *(last - i) != *(last - have))
            have = border[have];
        have += *(last - i) == *(last - have);
        border[i + 1] = have;
    }
    have = 0;
    for (size_t at = end; at-- > 0;) {
        while (have > 0 && s[at] != *(last - have))
            have = border[have];
        have += s[at] == *(last - have);
        if (have == m) {
            *ret_at = at;
            return true;
        }
    }
    return true;
}

/* Finds the last args[1] in args[0] that begins at or before code point start. */
static struct ek_cel_val last_index_from(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                         int64_t start)
{
    size_t at, end;

    if (args[1].n == 0)
        return ek_cel_int(start);
    if (start < 0)
        return out_of_range(eval, start);
    at = offset_of(&args[0], start);
    if (at == SIZE_MAX || at >= args[0].n)
        return ek_cel_int(-1);
    end = args[0].n - at > args[1].n ? at + args[1].n : args[0].n;
    if (!find_last(eval, args[0].s, end, &args[1], &at))
        return ek_cel_no_memory(eval);
    return ek_cel_int(at == SIZE_MAX ? -1 : (int64_t)ek_cel_runes(args[0].s, at));
}

static struct ek_cel_val last_index_of(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                       uint32_t n)
{
    int64_t runes;

    if (n > 2)
        return last_index_from(eval, args, args[2].i);
    runes = (int64_t)ek_cel_runes(args[0].s, args[0].n);
    if (args[1].n == 0)
        return ek_cel_int(runes);
    if (args[0].n < args[1].n)
        return ek_cel_int(-1);
    return last_index_from(eval, args, runes - 1);
}

static struct ek_cel_val substring(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    size_t start, end = args[0].n;

    if (n > 2 && args[1].i > args[2].i)
        return ek_cel_fail(eval, "invalid substring range. start: %lld, end: %lld",
                           (long long)args[1].i, (long long)args[2].i);
    start = offset_of(&args[0], args[1].i);
    if (start == SIZE_MAX)
        return out_of_range(eval, args[1].i);
    if (n > 2) {
        struct ek_cel_val rest = ek_cel_string(args[0].s + start, args[0].n - start);

        end = offset_of(&rest, args[2].i - args[1].i);
        if (end == SIZE_MAX)
            return out_of_range(eval, args[2].i);
        end += start;
    }
    return ek_cel_string(args[0].s + start, end - start);
}

/* s with the letters from first to first + 25 in the other case; s itself when it has none. */
static struct ek_cel_val swap_case(struct ek_cel_eval *eval, const struct ek_cel_val *s, char first)
{
    uint32_t at = 0;
    char *copy;

    while (at < s->n && (unsigned char)(s->s[at] - first) >= 26)
        at++;
    if (at == s->n)
        return *s;
    copy = ek_cel_alloc(eval, s->n);
    if (!copy)
        return ek_cel_no_memory(eval);
    for (uint32_t i = 0; i < s->n; i++)
        copy[i] = (char)((unsigned char)(s->s[i] - first) < 26 ? s->s[i] ^ 0x20 : s->s[i]);
    return ek_cel_string(copy, s->n);
}

static struct ek_cel_val lower_ascii(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)n;
    return swap_case(eval, &args[0], 'A');
}

static struct ek_cel_val upper_ascii(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    (void)n;
    return swap_case(eval, &args[0], 'a');
}

static struct ek_cel_val trim(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    const char *s = args[0].s;
    size_t start = 0, end = args[0].n, size, at;

    (void)eval;
    (void)n;
    while (start < end && ek_cel_rune_is_space(ek_cel_rune_at(s + start, &size)))
        start += size;
    while (end > start) {
        at = end - 1;
        while (((unsigned char)s[at] & 0xc0) == 0x80)
            at--;
        if (!ek_cel_rune_is_space(ek_cel_rune_at(s + at, &size)))
            break;
        end = at;
    }
    return ek_cel_string(s + start, end - start);
}

/* How often needle (not empty) is in s without overlap, counting to at most max. */
static uint64_t count(const struct ek_cel_val *s, const struct ek_cel_val *needle, uint64_t max)
{
    const char *at = s->s, *end = s->s + s->n;
    uint64_t n = 0;

    while (n < max && (at = memmem(at, (size_t)(end - at), needle->s, needle->n))) {
        at += needle->n;
        n++;
    }
    return n;
}

/* Replaces the first times occurrences of old, which are there, by new; an old of no length is
 * before the first and after each code point. */
static struct ek_cel_val replace_times(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                       uint64_t times)
{
    const struct ek_cel_val *old = &args[1], *new = &args[2];
    const char *at = args[0].s, *end = at + args[0].n, *hit;
    uint64_t size = args[0].n - times * old->n, added;
    char *out, *w;

    if (__builtin_mul_overflow(times, new->n, &added) || added > UINT32_MAX - size)
        return ek_cel_no_memory(eval);
    size += added;
    out = w = ek_cel_alloc(eval, size ? size : 1);
    if (!out)
        return ek_cel_no_memory(eval);
    for (uint64_t i = 0; i < times; i++) {
        if (old->n)
            hit = memmem(at, (size_t)(end - at), old->s, old->n);
        else
            hit = i ? at + ek_cel_rune_size((unsigned char)*at) : at;
        w = (char *)mempcpy(w, at, (size_t)(hit - at));
        w = (char *)mempcpy(w, new->s, new->n);
        at = hit + old->n;
    }
    memcpy(w, at, (size_t)(end - at));
    return ek_cel_string(out, size);
}

static struct ek_cel_val replace(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    uint64_t max = n > 3 && args[3].i >= 0 ? (uint64_t)args[3].i : UINT64_MAX, times;

    if (args[1].n == args[2].n && memcmp(args[1].s, args[2].s, args[1].n) == 0)
        return args[0];
    if (args[1].n) {
        times = count(&args[0], &args[1], max);
    } else {
        times = ek_cel_runes(args[0].s, args[0].n) + 1;
        times = times < max ? times : max;
    }
    return times ? replace_times(eval, args, times) : args[0];
}

static struct ek_cel_val append_part(struct ek_cel_eval *eval, struct ek_cel_val *list,
                                     const char *s, size_t len)
{
    struct ek_cel_val part = ek_cel_string(s, len);

    return ek_cel_list_append(eval, list, &part) ? *list : ek_cel_no_memory(eval);
}

/* The code points of s, the last of n parts being the rest. */
static struct ek_cel_val explode(struct ek_cel_eval *eval, const struct ek_cel_val *s, uint64_t max)
{
    uint64_t n = ek_cel_runes(s->s, s->n);
    const char *at = s->s;
    struct ek_cel_val list;

    if (n > max)
        n = max;
    list = ek_cel_list_new(eval, (uint32_t)n);
    for (; n > 0 && list.kind == EK_CEL_LIST; n--) {
        size_t size = n > 1 ? ek_cel_rune_size((unsigned char)*at) : (size_t)(s->s + s->n - at);

        list = append_part(eval, &list, at, size);
        at += size;
    }
    return list;
}

static struct ek_cel_val split(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    uint64_t max = n > 2 && args[2].i >= 0 ? (uint64_t)args[2].i : UINT64_MAX, cuts;
    const char *at = args[0].s, *end = at + args[0].n;
    struct ek_cel_val list;

    if (max == 0)
        return ek_cel_list_new(eval, 0);
    if (args[1].n == 0)
        return explode(eval, &args[0], max);
    cuts = count(&args[0], &args[1], max - 1);
    list = ek_cel_list_new(eval, (uint32_t)cuts + 1);
    for (; cuts > 0 && list.kind == EK_CEL_LIST; cuts--) {
        const char *hit = memmem(at, (size_t)(end - at), args[1].s, args[1].n);

        list = append_part(eval, &list, at, (size_t)(hit - at));
        at = hit + args[1].n;
    }
    return list.kind == EK_CEL_LIST ? append_part(eval, &list, at, (size_t)(end - at)) : list;
}

static struct ek_cel_val join(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_val separator = n > 1 ? args[1] : ek_cel_string("", 0);
    struct ek_cel_text text;
    struct ek_cel_iter iter;
    bool first = true;

    ek_cel_text_init(&text, eval);
    ek_cel_iter_init(&iter, &args[0]);
    while (ek_cel_iter_next(&iter)) {
        if (iter.value.kind != EK_CEL_STRING)
            return ek_cel_fail(eval, "join: invalid input: a value of type %s",
                               ek_cel_type_name(&iter.value));
        if (!first)
            ek_cel_text_add(&text, separator.s, separator.n);
        first = false;
        ek_cel_text_add(&text, iter.value.s, iter.value.n);
        if (text.failed)
            break;
    }
    return ek_cel_text_take(&text);
}

static struct ek_cel_val reverse(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    uint32_t len = args[0].n;
    char *out = ek_cel_alloc(eval, len ? len : 1);

    (void)n;
    if (!out)
        return ek_cel_no_memory(eval);
    for (uint32_t at = 0; at < len;) {
        size_t size = ek_cel_rune_size((unsigned char)args[0].s[at]);

        memcpy(out + len - at - size, args[0].s + at, size);
        at += (uint32_t)size;
    }
    return ek_cel_string(out, len);
}

static struct ek_cel_val quote(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    static const char escaped[] = "\a\b\f\n\r\t\v\\\"", names[] = "abfnrtv\\\"";
    const char *s = args[0].s, *end = s + args[0].n, *from = s, *hit;
    struct ek_cel_text text;

    (void)n;
    ek_cel_text_init(&text, eval);
    ek_cel_text_add(&text, "\"", 1);
    for (; s < end; s++) {
        hit = *s ? strchr(escaped, *s) : NULL;
        if (!hit)
            continue;
        ek_cel_text_add(&text, from, (size_t)(s - from));
        ek_cel_text_add(&text, (char[]){'\\', names[hit - escaped]}, 2);
        from = s + 1;
    }
    ek_cel_text_add(&text, from, (size_t)(end - from));
    ek_cel_text_add(&text, "\"", 1);
    return ek_cel_text_take(&text);
}

/* Costs of Kubernetes (apiserver/pkg/cel/library/cost.go: CallCost). */
/* indexOf and lastIndexOf: by octets, and cut off instead of rounded up. */
static uint64_t cost_search(const struct ek_cel_val *args, uint32_t n,
                            const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return args[0].kind == EK_CEL_STRING ? args[0].n / 10 : 1;
}

static uint64_t cost_rebuild(const struct ek_cel_val *args, uint32_t n,
                             const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]), 2);
}

static uint64_t cost_join(const struct ek_cel_val *args, uint32_t n,
                          const struct ek_cel_val *result)
{
    (void)args;
    (void)n;
    return ek_cel_cost_tenths(ek_cel_cost_size(result), 2);
}

#define ID(id_, signature_, fn_, ...)                                                              \
    {                                                                                              \
        .id = (id_), .signature = (signature_), .fn = (fn_), .flags = EK_CEL_MEMBER, __VA_ARGS__   \
    }
#define OVERLOADS(...) ((const struct ek_cel_overload[]){__VA_ARGS__, {.id = NULL}})

static const struct ek_cel_function functions[] = {
    {.name = "charAt",
     .overloads = OVERLOADS(ID("string_char_at_int", "string, int -> string", char_at))},
    {.name = "indexOf",
     .overloads =
         OVERLOADS(ID("string_index_of_string", "string, string -> int", index_of),
                   ID("string_index_of_string_int", "string, string, int -> int", index_of)),
     .cost = cost_search},
    {.name = "lastIndexOf",
     .overloads = OVERLOADS(
         ID("string_last_index_of_string", "string, string -> int", last_index_of),
         ID("string_last_index_of_string_int", "string, string, int -> int", last_index_of)),
     .cost = cost_search},
    {.name = "lowerAscii",
     .overloads = OVERLOADS(ID("string_lower_ascii", "string -> string", lower_ascii)),
     .cost = ek_cel_cost_of_reading},
    {.name = "replace",
     .overloads = OVERLOADS(
         ID("string_replace_string_string", "string, string, string -> string", replace),
         ID("string_replace_string_string_int", "string, string, string, int -> string", replace)),
     .cost = cost_rebuild},
    {.name = "split",
     .overloads =
         OVERLOADS(ID("string_split_string", "string, string -> list(string)", split),
                   ID("string_split_string_int", "string, string, int -> list(string)", split)),
     .cost = cost_rebuild},
    {.name = "substring",
     .overloads =
         OVERLOADS(ID("string_substring_int", "string, int -> string", substring),
                   ID("string_substring_int_int", "string, int, int -> string", substring)),
     .cost = ek_cel_cost_of_reading},
    {.name = "trim",
     .overloads = OVERLOADS(ID("string_trim", "string -> string", trim)),
     .cost = ek_cel_cost_of_reading},
    {.name = "upperAscii",
     .overloads = OVERLOADS(ID("string_upper_ascii", "string -> string", upper_ascii)),
     .cost = ek_cel_cost_of_reading},
    {.name = "format",
     .overloads = OVERLOADS(
         ID(EK_CEL_FORMAT_ID, "string, list(dyn) -> string", ek_cel_format_localized,
            .cost = ek_cel_cost_of_reading, .version = 1, .until = EK_CEL_FORMAT_SPEC_VERSION),
         ID(EK_CEL_FORMAT_ID, "string, list(dyn) -> string", ek_cel_format_spec,
            .cost = ek_cel_cost_of_reading, .version = EK_CEL_FORMAT_SPEC_VERSION))},
    {.name = "strings.quote",
     .overloads = OVERLOADS({.id = "strings_quote",
                             .signature = "string -> string",
                             .fn = quote,
                             .cost = ek_cel_cost_of_reading,
                             .version = 1})},
    {.name = "join",
     .overloads = OVERLOADS(ID("list_join", "list(string) -> string", join),
                            ID("list_join_string", "list(string), string -> string", join)),
     .cost = cost_join},
    {.name = "reverse",
     .overloads = OVERLOADS(ID("string_reverse", "string -> string", reverse, .version = 3))},
    {.name = NULL},
};

const struct ek_cel_library ek_cel_lib_strings = {.name = "cel.lib.ext.strings",
                                                  .functions = functions};
