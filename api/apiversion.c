/* SPDX-License-Identifier: Apache-2.0 */
#include "api/apiversion.h"

#include <stdbool.h>

#include "api/version.h"

enum stage {
    STAGE_ALPHA,
    STAGE_BETA,
    STAGE_GA,
};

struct parsed {
    bool ok;
    enum stage stage;
    int64_t major, minor;
};

static bool take_prefix(struct ek_str *s, struct ek_str prefix)
{
    if (s->len < prefix.len || memcmp(s->p, prefix.p, prefix.len) != 0)
        return false;
    *s = (struct ek_str){s->p + prefix.len, s->len - prefix.len};
    return true;
}

static bool take_number(struct ek_str *s, int64_t *ret_value)
{
    uint64_t value;
    size_t n = 0;

    while (n < s->len && s->p[n] >= '0' && s->p[n] <= '9')
        n++;
    if (!ek_version_digits((struct ek_str){s->p, n}, &value) || value > INT64_MAX)
        return false;
    *s = (struct ek_str){s->p + n, s->len - n};
    *ret_value = (int64_t)value;
    return true;
}

static struct parsed parse(struct ek_str s)
{
    struct parsed v = {.stage = STAGE_GA};

    if (!s.len || !take_prefix(&s, EK_STR("v")) || !take_number(&s, &v.major))
        return v;
    if (take_prefix(&s, EK_STR("alpha")))
        v.stage = STAGE_ALPHA;
    else if (take_prefix(&s, EK_STR("beta")))
        v.stage = STAGE_BETA;
    v.ok = (v.stage == STAGE_GA || take_number(&s, &v.minor)) && s.len == 0;
    return v;
}

/* 1 when a comes before b in the alphabet, by bytes. */
static int64_t cmp_names(struct ek_str a, struct ek_str b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int sign = len ? memcmp(a.p, b.p, len) : 0;

    if (sign == 0)
        sign = (a.len > b.len) - (a.len < b.len);
    return (sign < 0) - (sign > 0);
}

int64_t ek_apiversion_cmp(struct ek_str a, struct ek_str b)
{
    struct parsed x = parse(a), y = parse(b);

    if (!x.ok && !y.ok)
        return cmp_names(a, b);
    if (x.ok != y.ok)
        return x.ok - y.ok;
    if (x.stage != y.stage)
        return (int64_t)x.stage - (int64_t)y.stage;
    return x.major != y.major ? x.major - y.major : x.minor - y.minor;
}

void ek_apiversion_sort(const char **names, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const char *name = names[i];
        size_t at = i;
        while (at > 0 && ek_apiversion_cmp(ek_str_from(names[at - 1]), ek_str_from(name)) < 0) {
            names[at] = names[at - 1];
            at--;
        }
        names[at] = name;
    }
}
