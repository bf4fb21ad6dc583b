/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two quantities, a line each: reading agrees with checking, order is one, sums can be taken
 * apart again, and what is printed is a quantity.
 */
#include <math.h>
#include <string.h>

#include "api/base/err.h"
#include "api/cel/values/account.h"
#include "api/cel/values/quantity.h"
#include "test/fuzz/fuzz.h"

#define MEMORY ((size_t)1 << 20)

/* False when text is no quantity or too large for the memory there is. */
static bool read(struct ek_cel_eval *eval, struct ek_str text, struct ek_cel_quantity *ret)
{
    const char *why = NULL;
    int rc = ek_cel_quantity_parse(eval, text, ret, &why);

    fuzz_require((rc == EK_E_PARSE) == (ek_cel_quantity_check(text) != NULL));
    fuzz_require((rc == EK_E_PARSE) == (why != NULL));
    return rc == 0;
}

static void check_one(struct ek_cel_eval *eval, struct ek_str text)
{
    struct ek_cel_quantity q, again;
    int64_t value;
    double d;
    struct ek_buf out;

    if (!read(eval, text, &q))
        return;
    if (ek_cel_quantity_int(&q, &value)) {
        again = ek_cel_quantity_of_int(value);
        fuzz_require(ek_cel_quantity_compare(&q, &again) == 0);
    }
    if (ek_cel_quantity_double(eval, &q, &d) && !isnan(d))
        fuzz_require(d == 0 || (d < 0) == (ek_cel_quantity_sign(&q) < 0));
    ek_buf_init(&out, MEMORY);
    fuzz_require(ek_cel_quantity_format(&q, &out) <= 0 && out.len > 0);
    fuzz_require(ek_buf_str(&out)[0] == '(' ||
                 !ek_cel_quantity_check((struct ek_str){out.data, out.len}));
    ek_buf_done(&out);
}

static void check_sum(struct ek_cel_eval *eval, struct ek_str a, struct ek_str b)
{
    struct ek_cel_quantity qa, qb, sum, back, fresh;

    if (!read(eval, a, &qa) || !read(eval, b, &qb) || !read(eval, a, &fresh))
        return;
    int order = ek_cel_quantity_compare(&qa, &qb);
    fuzz_require(ek_cel_quantity_compare(&qb, &qa) == -order);
    fuzz_require(ek_cel_quantity_compare(&qa, &fresh) == 0);
    if (!ek_cel_quantity_meet(eval, &qa, &qb))
        return;
    fuzz_require(ek_cel_quantity_compare(&qa, &fresh) == 0);
    if (!ek_cel_quantity_add(eval, &qa, &qb, &sum))
        return;
    fuzz_require(ek_cel_quantity_compare(&sum, &fresh) == ek_cel_quantity_sign(&qb));
    if (!ek_cel_quantity_sub(eval, &sum, &qb, &back))
        return;
    fuzz_require(ek_cel_quantity_compare(&back, &fresh) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_arena *arena = ek_arena_new(MEMORY);
    struct ek_cel_eval eval = {.arena = arena};
    const char *s = (const char *)data, *end = size ? memchr(s, '\n', size) : NULL;
    struct ek_str a = {s, end ? (size_t)(end - s) : size};
    struct ek_str b = end ? (struct ek_str){end + 1, size - a.len - 1} : a;

    check_one(&eval, a);
    check_sum(&eval, a, b);
    ek_arena_free(arena);
    return 0;
}
