/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of Kubernetes and of extensions, as apiserver/pkg/cel/library/cost.go and cel-go's
 * ext/sets.go and ext/lists.go estimate them. */
#include <math.h>
#include <string.h>

#include "api/base/words.h"
#include "api/cel/plan/estimate-internal.h"

#define TRAVERSAL_FACTOR 0.1
#define REGEX_FACTOR     0.25
#define CHECK_COST       350000u
#define FORMAT_MAX       64u          /* apiserver/pkg/cel/limits.go: MaxFormatSize */
#define FORMAT_REGEX_MAX 128u         /* MaxNameFormatRegexSize */
#define LIST_CALL_COST   11u          /* a call, and the list that it makes */
#define ADDRESS_MAX      UINT64_C(16) /* octets of an IP address */

typedef bool (*estimate_fn)(const struct ek_cel_estimate *e,
                            const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *ret);

static struct ek_cel_size size_at(const struct ek_cel_estimate_call *call, size_t i)
{
    return ek_cel_size_of_arg(&call->args[i]);
}

/* ---- Functions of one price ---- */

static const char *const check_functions[] = {"check", NULL};
static const char *const unit_functions[] = {
    "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed",
    "reason", "error", "errored",
    /* addresses */
    "masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast",
    "isLinkLocalUnicast", "isGlobalUnicast",
    /* formats, quantities, versions */
    "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan",
    "isLessThan", "compareTo", "add", "sub", "major", "minor", "patch",
    /* URLs */
    "getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery", NULL};
/* That read their first argument once. */
static const char *const reading_functions[] = {
    "cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver", NULL};
static const char *const text_functions[] = {"lowerAscii", "upperAscii", "substring", "trim", NULL};
static const char *const list_functions[] = {"isSorted", "sum",         "max", "min",
                                             "indexOf",  "lastIndexOf", NULL};

static bool cost_simple(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                        struct ek_cel_call_cost *ret)
{
    (void)e;
    if (ek_is_one_of(call->function, check_functions))
        ret->cost = CHECK_COST;
    else if (ek_is_one_of(call->function, unit_functions) || !strcmp(call->overload, "cidr_ip"))
        ret->cost = 1;
    else if (ek_is_one_of(call->function, reading_functions) && call->n)
        ret->cost = ek_cel_sat_scale(size_at(call, 0).max, TRAVERSAL_FACTOR);
    else if (!strcmp(call->function, "ip.isCanonical") && call->n)
        ret->cost = ek_cel_sat_scale(size_at(call, 0).max, 2 * TRAVERSAL_FACTOR);
    else if (!strcmp(call->function, "validate") && call->n)
        ret->cost = ek_cel_sat_scale(ek_cel_sat_scale(size_at(call, 0).max, TRAVERSAL_FACTOR),
                                     FORMAT_REGEX_MAX * REGEX_FACTOR);
    else
        return false;
    return true;
}

/* apiserver/pkg/cel/library/cost.go: selectorCostEstimate. */
static bool cost_selector(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                          struct ek_cel_call_cost *ret)
{
    (void)e;
    if ((strcmp(call->function, "fieldSelector") != 0 &&
         strcmp(call->function, "labelSelector") != 0) ||
        call->n != 1)
        return false;
    uint64_t length = size_at(call, 0).max;
    uint64_t parts = ek_cel_sat_mul(ek_cel_sat_scale(length, 0.5), 50);
    ret->cost = ek_cel_sat_add(ek_cel_sat_add(10, parts), ek_cel_sat_scale(length, 0.1));
    return true;
}

/* ---- Lists of Kubernetes ---- */

static bool cost_list_function(const struct ek_cel_estimate *e,
                               const struct ek_cel_estimate_call *call,
                               struct ek_cel_call_cost *ret)
{
    if (!ek_is_one_of(call->function, list_functions) || !call->target)
        return false;
    const struct ek_cel_type *type = call->target->node->type;
    uint64_t n = ek_cel_size_of_arg(call->target).max, each = 1;
    const struct ek_cel_type *item = type && type->n ? type->params[0] : NULL;

    if (!item) { /* indexOf and lastIndexOf of a string */
        ret->cost = ek_cel_sat_scale(n, TRAVERSAL_FACTOR);
        return true;
    }
    if (item->kind == EK_CEL_T_STRING || item->kind == EK_CEL_T_BYTES) {
        struct ek_cel_size size = {0, UINT64_MAX};
        ek_cel_declared_item_size(e, call->target, &size);
        each = ek_cel_sat_add(each, ek_cel_sat_scale(size.max, TRAVERSAL_FACTOR));
    }
    ret->cost = ek_cel_sat_mul(n, each);
    return true;
}

/* ---- Texts ---- */

static uint64_t replacements(uint64_t size, uint64_t replaced)
{
    double count = ceil((double)size / (double)replaced);

    return count >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)count;
}

/* How long a text may become by replacing. */
static struct ek_cel_size replaced_size(struct ek_cel_size text, struct ek_cel_size from,
                                        struct ek_cel_size to)
{
    struct ek_cel_size count = {0, 0}, kept = {0, 0};

    if (from.min == 0) {
        count.max = ek_cel_sat_add(text.max, 1);
        kept.max = text.max;
    } else if (to.max <= from.min) {
        kept.max = text.max;
    } else {
        count.max = replacements(text.max, from.min);
    }
    if (from.max == 0) {
        count.min = ek_cel_sat_add(text.min, 1);
        kept.min = text.min;
    } else if (from.max <= to.min) {
        kept.min = text.min;
    } else {
        count.min = replacements(text.min, from.max);
    }
    return (struct ek_cel_size){ek_cel_sat_add(ek_cel_sat_mul(count.min, to.min), kept.min),
                                ek_cel_sat_add(ek_cel_sat_mul(count.max, to.max), kept.max)};
}

static bool cost_text(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                      struct ek_cel_call_cost *ret)
{
    const char *f = call->function;

    (void)e;
    if ((!strcmp(f, "url") || !strcmp(f, "jsonpatch.escapeKey")) && call->n == 1) {
        ret->size = size_at(call, 0);
        ret->cost = ek_cel_sat_scale(ret->size.max, TRAVERSAL_FACTOR);
    } else if (ek_is_one_of(f, text_functions) && call->target) {
        ret->size = ek_cel_size_of_arg(call->target);
        ret->cost = ek_cel_sat_scale(ret->size.max, TRAVERSAL_FACTOR);
    } else if (!strcmp(f, "replace") && call->target && call->n >= 2) {
        struct ek_cel_size text = ek_cel_size_of_arg(call->target);
        ret->size = replaced_size(text, size_at(call, 0), size_at(call, 1));
        ret->cost = ek_cel_sat_scale(text.max, 2 * TRAVERSAL_FACTOR);
    } else if ((!strcmp(f, "find") || !strcmp(f, "findAll")) && call->target && call->n) {
        uint64_t length = ek_cel_size_of_arg(call->target).max;
        ret->size = (struct ek_cel_size){0, length};
        ret->cost = ek_cel_sat_mul(ek_cel_sat_scale(ek_cel_sat_add(length, 1), TRAVERSAL_FACTOR),
                                   ek_cel_sat_scale(size_at(call, 0).max, REGEX_FACTOR));
    } else {
        return false;
    }
    ret->sized = true;
    return true;
}

static bool cost_split(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                       struct ek_cel_call_cost *ret)
{
    (void)e;
    if (strcmp(call->function, "split") != 0 || !call->target)
        return false;
    uint64_t length = ek_cel_size_of_arg(call->target).max, parts = length;
    const struct ek_cel_node *limit = call->n > 1 ? call->args[1].node : NULL;
    if (limit && limit->kind == EK_CEL_N_LITERAL && limit->literal.kind == EK_CEL_INT)
        parts = (uint64_t)limit->literal.i;
    *ret =
        (struct ek_cel_call_cost){ek_cel_sat_scale(length, 2 * TRAVERSAL_FACTOR), true, {0, parts}};
    return true;
}

static bool cost_join(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                      struct ek_cel_call_cost *ret)
{
    if (strcmp(call->function, "join") != 0 || !call->target)
        return false;
    struct ek_cel_size list = ek_cel_size_of_arg(call->target), item = {0, UINT64_MAX}, all = {0};
    const struct ek_cel_type *type = call->target->node->type;
    if (type && type->n) {
        ek_cel_declared_item_size(e, call->target, &item);
        all = (struct ek_cel_size){ek_cel_sat_mul(list.min, item.min),
                                   ek_cel_sat_mul(list.max, item.max)};
    }
    if (call->n) {
        struct ek_cel_size sep = size_at(call, 0);
        all.min = ek_cel_sat_add(all.min, ek_cel_sat_mul(sep.min, list.min ? list.min - 1 : 0));
        all.max = ek_cel_sat_add(all.max, ek_cel_sat_mul(sep.max, list.max ? list.max - 1 : 0));
    }
    *ret = (struct ek_cel_call_cost){ek_cel_sat_scale(all.max, TRAVERSAL_FACTOR), true, all};
    return true;
}

/* ---- Addresses ---- */

static bool cost_address(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                         struct ek_cel_call_cost *ret)
{
    bool cidr = !strcmp(call->function, "containsCIDR");

    (void)e;
    if ((!cidr && strcmp(call->function, "containsIP") != 0) || !call->n)
        return false;
    ret->cost = ek_cel_sat_scale(2 * ADDRESS_MAX, TRAVERSAL_FACTOR);
    if (cidr)
        ret->cost += ek_cel_sat_scale(ADDRESS_MAX, TRAVERSAL_FACTOR) + 1;
    if (!strcmp(call->overload, "cidr_contains_ip_string") ||
        !strcmp(call->overload, "cidr_contains_cidr_string"))
        ret->cost =
            ek_cel_sat_add(ret->cost, ek_cel_sat_scale(size_at(call, 0).max, TRAVERSAL_FACTOR));
    return true;
}

/* ---- Equality of the types of Kubernetes ---- */

static bool cost_equal(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                       struct ek_cel_call_cost *ret)
{
    static const char *const units[] = {"net.IP",
                                        "net.CIDR",
                                        "kubernetes.Quantity",
                                        "kubernetes.Semver",
                                        "kubernetes.authorization.Authorizer",
                                        "kubernetes.authorization.PathCheck",
                                        "kubernetes.authorization.GroupCheck",
                                        "kubernetes.authorization.ResourceCheck",
                                        "kubernetes.authorization.Decision",
                                        NULL};

    (void)e;
    if (strcmp(call->function, EK_CEL_OP_EQ) != 0 || call->n != 2)
        return false;
    const struct ek_cel_type *a = call->args[0].node->type, *b = call->args[1].node->type;
    if (!a || !b || !a->name || !ek_cel_type_equal(a, b))
        return false;
    if (ek_is_one_of(a->name, units))
        ret->cost = 1;
    else if (!strcmp(a->name, "kubernetes.NamedFormat"))
        ret->cost = ek_cel_sat_scale(FORMAT_MAX, TRAVERSAL_FACTOR);
    else if (!strcmp(a->name, "kubernetes.URL"))
        ret->cost =
            ek_cel_sat_scale(call->args[1].sized ? call->args[1].size.max : 1, TRAVERSAL_FACTOR);
    else
        return false;
    return true;
}

/* ---- Extensions ---- */

static bool cost_sets(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                      struct ek_cel_call_cost *ret)
{
    bool twice = !strcmp(call->overload, "list_sets_equivalent_list");

    (void)e;
    if ((!twice && strcmp(call->overload, "list_sets_contains_list") != 0 &&
         strcmp(call->overload, "list_sets_intersects_list") != 0) ||
        call->n != 2)
        return false;
    uint64_t pairs = ek_cel_sat_mul(size_at(call, 0).max, size_at(call, 1).max);
    ret->cost = ek_cel_sat_add(ek_cel_sat_scale(pairs, twice ? 2 : 1), 1);
    return true;
}

static uint64_t int_at(const struct ek_cel_estimate_call *call, size_t i, uint64_t otherwise)
{
    const struct ek_cel_node *node = call->args[i].node;

    if (node->kind != EK_CEL_N_LITERAL || node->literal.kind != EK_CEL_INT)
        return otherwise;
    return node->literal.i < 0 ? 0 : (uint64_t)node->literal.i;
}

static void make_list(struct ek_cel_size size, double factor, struct ek_cel_call_cost *ret)
{
    *ret = (struct ek_cel_call_cost){
        ek_cel_sat_add(ek_cel_sat_scale(size.max, factor), LIST_CALL_COST), true, size};
}

static struct ek_cel_size square(struct ek_cel_size size)
{
    return (struct ek_cel_size){ek_cel_sat_mul(size.min, size.min),
                                ek_cel_sat_mul(size.max, size.max)};
}

static bool cost_sort(const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *ret)
{
    bool by = ek_ends_with(call->overload, "_sortByAssociatedKeys");

    if (!by && (strncmp(call->overload, "list_", 5) != 0 || !ek_ends_with(call->overload, "_sort")))
        return false;
    if (!call->target || call->n != by)
        return false;
    bool text = strstr(call->overload, "_string_") || strstr(call->overload, "_bytes_");
    struct ek_cel_size n = by ? size_at(call, 0) : ek_cel_size_of_arg(call->target);
    make_list(square(n), 2.0 + (text ? TRAVERSAL_FACTOR : 0), ret);
    return true;
}

static bool cost_lists(const struct ek_cel_estimate *e, const struct ek_cel_estimate_call *call,
                       struct ek_cel_call_cost *ret)
{
    const char *id = call->overload;
    struct ek_cel_size n = {0, UINT64_MAX};

    (void)e;
    if (!strcmp(id, "lists_range") && call->n == 1) {
        uint64_t count = int_at(call, 0, UINT64_MAX);
        make_list((struct ek_cel_size){count, count}, 1, ret);
        return true;
    }
    if (!call->target)
        return false;
    n = ek_cel_size_of_arg(call->target);
    if (!strcmp(id, "list_slice") && call->n == 2) {
        uint64_t count = int_at(call, 1, n.max) - int_at(call, 0, 0);
        make_list((struct ek_cel_size){count, count}, 1, ret);
    } else if (!strcmp(id, "list_reverse")) {
        make_list(n, 1, ret);
    } else if (!strcmp(id, "list_flatten") || !strcmp(id, "list_flatten_int")) {
        make_list(n, (double)(call->n ? int_at(call, 0, UINT64_MAX) : 1), ret);
    } else if (!strcmp(id, "list_distinct")) {
        make_list(square(n), 2, ret);
    } else {
        return cost_sort(call, ret);
    }
    return true;
}

bool ek_cel_estimate_library(const struct ek_cel_estimate *e,
                             const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *ret)
{
    static const estimate_fn functions[] = {
        cost_sets, cost_lists, cost_simple, cost_selector, cost_list_function,
        cost_text, cost_split, cost_join,   cost_address,  cost_equal};

    for (size_t i = 0; i < EK_ARRAY_SIZE(functions); i++) {
        *ret = (struct ek_cel_call_cost){0};
        if (functions[i](e, call, ret))
            return true;
    }
    return false;
}
