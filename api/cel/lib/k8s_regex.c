/* SPDX-License-Identifier: Apache-2.0 */
/*
 * find and findAll of Kubernetes' regular expression library.
 */
#include "api/cel/library.h"
#include "api/cel/regex/regex.h"
#include "api/cel/text/runes.h"

/* A search checks the limits of the evaluation after this many rounds. */
#define SEARCHES_UNASKED 64u

/* The expression of argument 1, or NULL with *ret_error. */
static const struct ek_cel_regex *regex_of(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                           struct ek_cel_val *ret_error)
{
    const struct ek_cel_regex *regex = ek_cel_regex_of(eval, &args[1], ret_error);

    if (!regex && ret_error->fault->kind == EK_CEL_E_EVAL)
        *ret_error = ek_cel_fail(eval, "Illegal regex: %s", ret_error->fault->message);
    return regex;
}

static struct ek_cel_val find(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_val error;
    const struct ek_cel_regex *regex = regex_of(eval, args, &error);
    size_t start, end;

    (void)n;
    if (!regex)
        return error;
    if (!ek_cel_regex_find(regex, args[0].s, args[0].n, 0, &start, &end))
        return ek_cel_string("", 0);
    return ek_cel_string(args[0].s + start, end - start);
}

/* Up to max matches in s. An empty match right behind another match does not count (Go regexp,
 * FindAllString). */
static struct ek_cel_val find_up_to(struct ek_cel_eval *eval, const struct ek_cel_regex *regex,
                                    const struct ek_cel_val *s, uint64_t max)
{
    struct ek_cel_val list = ek_cel_list_new(eval, 0), match;
    size_t at = 0, start, end, last = SIZE_MAX;
    uint32_t searches = 0;

    while (list.n < max && at <= s->n && list.kind == EK_CEL_LIST &&
           ek_cel_regex_find(regex, s->s, s->n, at, &start, &end)) {
        bool empty_again = end == at && start == last;

        if (++searches % SEARCHES_UNASKED == 0 && !ek_cel_work(eval, searches))
            return ek_cel_stopped(eval);
        if (end > at)
            at = end;
        else
            at += at < s->n ? ek_cel_rune_size((unsigned char)s->s[at]) : 1;
        last = end;
        if (empty_again)
            continue;
        match = ek_cel_string(s->s + start, end - start);
        if (!ek_cel_list_append(eval, &list, &match))
            return ek_cel_no_memory(eval);
    }
    return list;
}

static struct ek_cel_val find_all(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    struct ek_cel_val error;
    const struct ek_cel_regex *regex = regex_of(eval, args, &error);
    uint64_t max = n > 2 && args[2].i >= 0 ? (uint64_t)args[2].i : UINT64_MAX;

    return regex ? find_up_to(eval, regex, &args[0], max) : error;
}

/* The length of the text by the length of the pattern (apiserver/pkg/cel/library/cost.go:
 * CallCost). */
static uint64_t cost(const struct ek_cel_val *args, uint32_t n, const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]) + 1, 1) *
           ((ek_cel_cost_size(&args[1]) + 3) / 4);
}

#define FLAGS (EK_CEL_MEMBER | EK_CEL_REGEX_1)

static const struct ek_cel_function functions[] = {
    {.name = "find",
     .overloads =
         (const struct ek_cel_overload[]){
             {.id = "string_find_string",
              .signature = "string, string -> string",
              .flags = FLAGS,
              .fn = find},
             {.id = NULL},
         },
     .cost = cost},
    {.name = "findAll",
     .overloads =
         (const struct ek_cel_overload[]){
             {.id = "string_find_all_string",
              .signature = "string, string -> list(string)",
              .flags = FLAGS,
              .fn = find_all},
             {.id = "string_find_all_string_int",
              .signature = "string, string, int -> list(string)",
              .flags = FLAGS,
              .fn = find_all},
             {.id = NULL},
         },
     .cost = cost},
    {.name = NULL},
};

const struct ek_cel_library ek_cel_lib_k8s_regex = {.name = "kubernetes.regex",
                                                    .functions = functions};
