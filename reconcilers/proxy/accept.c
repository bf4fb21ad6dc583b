/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/accept.h"

#include "api/base/ascii.h"

static struct ek_str trim(struct ek_str s)
{
    while (s.len && *s.p == ' ')
        s.p++, s.len--;
    while (s.len && s.p[s.len - 1] == ' ')
        s.len--;
    return s;
}

/* Takes what is before the next separator off rest (autoneg.go:nextSplitElement). */
static struct ek_str take(struct ek_str *rest, char separator)
{
    const char *at = rest->len ? memchr(rest->p, separator, rest->len) : NULL;
    struct ek_str item = {rest->p, at ? (size_t)(at - rest->p) : rest->len};
    size_t used = item.len + (at != NULL);

    *rest = (struct ek_str){rest->p + used, rest->len - used};
    return item;
}

/* A decimal number; 0 for what is none, as for a failing strconv.ParseFloat. */
static double number(struct ek_str s)
{
    double value = 0, scale = 1;
    bool fraction = false, digits = false;

    for (size_t i = 0; i < s.len; i++) {
        if (s.p[i] == '.' && !fraction) {
            fraction = true;
        } else if (ek_is_digit(s.p[i])) {
            digits = true;
            scale = fraction ? scale / 10 : scale;
            value = fraction ? value + (s.p[i] - '0') * scale : value * 10 + (s.p[i] - '0');
        } else {
            return 0;
        }
    }
    return digits ? value : 0;
}

static void set_parameter(struct ek_accept_clause *clause, struct ek_str name, struct ek_str value)
{
    const struct {
        struct ek_str name;
        struct ek_str *value;
    } known[] = {{EK_STR("g"), &clause->g},
                 {EK_STR("v"), &clause->v},
                 {EK_STR("as"), &clause->as},
                 {EK_STR("stream"), &clause->stream},
                 {EK_STR("sv"), &clause->sv},
                 {EK_STR("pretty"), &clause->pretty},
                 {EK_STR("profile"), &clause->profile}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(known); i++)
        if (ek_str_eq(known[i].name, name))
            *known[i].value = trim(value);
}

/* "name=value"; more than one "=" and an empty value are not read. */
static void read_parameter(struct ek_accept_clause *clause, struct ek_str text)
{
    struct ek_str name = take(&text, '=');
    struct ek_str value = take(&text, '=');

    if (!value.len || text.len)
        return;
    name = trim(name);
    if (ek_str_eq(name, EK_STR("q")))
        clause->q = number(value);
    else
        set_parameter(clause, name, value);
}

/* False for what is no media type. */
static bool read_clause(struct ek_str text, struct ek_accept_clause *ret)
{
    *ret = (struct ek_accept_clause){.q = 1};
    text = trim(text);
    struct ek_str range = take(&text, ';');
    ret->type = trim(take(&range, '/'));
    if (range.len) {
        ret->subtype = trim(take(&range, '/'));
        if (range.len)
            return false;
    } else if (ek_str_eq(ret->type, EK_STR("*"))) {
        ret->subtype = ret->type;
    } else {
        return false;
    }
    while (text.len)
        read_parameter(ret, take(&text, ';'));
    return true;
}

static bool is_star(struct ek_str s)
{
    return ek_str_eq(s, EK_STR("*"));
}

/* autoneg.go:Less, which is no strict order: what is sorted by it depends on the algorithm. */
static bool goes_before(const struct ek_accept_clause *a, const struct ek_accept_clause *b)
{
    return a->q > b->q || (!is_star(a->type) && is_star(b->type)) ||
           (!is_star(a->subtype) && is_star(b->subtype));
}

/* As Go's sort.Sort does for up to 12 elements. */
static void sort(struct ek_accept *accept)
{
    for (size_t i = 1; i < accept->n; i++)
        for (size_t k = i; k > 0 && goes_before(&accept->clauses[k], &accept->clauses[k - 1]);
             k--) {
            struct ek_accept_clause other = accept->clauses[k];
            accept->clauses[k] = accept->clauses[k - 1];
            accept->clauses[k - 1] = other;
        }
}

void ek_accept_read(const char *header, struct ek_accept *ret)
{
    struct ek_str rest = ek_str_from(header);

    ret->n = 0;
    while (rest.len && ret->n < EK_ACCEPT_CLAUSES_MAX)
        ret->n += read_clause(take(&rest, ','), &ret->clauses[ret->n]);
    sort(ret);
}

bool ek_accept_is_yaml(const struct ek_accept_clause *clause)
{
    return ek_str_eq(clause->subtype, EK_STR("yaml"));
}

/* True when a server that writes JSON and YAML, and watches, may use the clause (negotiate.go:
 * acceptMediaTypeOptions). */
static bool is_satisfied(const struct ek_accept_clause *c)
{
    bool matches =
        (ek_str_eq(c->type, EK_STR("application")) &&
         (ek_str_eq(c->subtype, EK_STR("json")) || ek_accept_is_yaml(c) || is_star(c->subtype))) ||
        (is_star(c->type) && is_star(c->subtype));

    return matches && !c->sv.len && (!c->stream.len || ek_str_eq(c->stream, EK_STR("watch")));
}

static bool is_aggregated(const struct ek_accept_clause *c)
{
    return ek_str_eq(c->g, EK_STR("apidiscovery.k8s.io")) &&
           ek_str_eq(c->as, EK_STR("APIGroupDiscoveryList")) &&
           (ek_str_eq(c->v, EK_STR("v2")) || ek_str_eq(c->v, EK_STR("v2beta1")));
}

const struct ek_accept_clause *ek_accept_aggregated(const struct ek_accept *accept)
{
    for (size_t i = 0; i < accept->n; i++)
        if (is_satisfied(&accept->clauses[i]) && is_aggregated(&accept->clauses[i]))
            return &accept->clauses[i];
    return NULL;
}

const struct ek_accept_clause *ek_accept_plain(const struct ek_accept *accept)
{
    for (size_t i = 0; i < accept->n; i++) {
        const struct ek_accept_clause *c = &accept->clauses[i];
        if (is_satisfied(c) && !c->g.p && !c->v.p && !c->as.p)
            return c;
    }
    return NULL;
}
