/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' CIDR library: cidr("10.0.0.0/8") and its methods. */
#include "api/base/quote.h"
#include "api/cel/lib/opaque.h"

struct cidr_val {
    struct ek_cel_opaque opaque;
    struct ek_cel_prefix prefix;
};

static const struct ek_cel_prefix *prefix_of(const struct ek_cel_opaque *opaque)
{
    return &((const struct cidr_val *)opaque)->prefix;
}

static bool equal(const struct ek_cel_opaque *a, const struct ek_cel_opaque *b)
{
    const struct ek_cel_prefix *pa = prefix_of(a), *pb = prefix_of(b);

    return pa->length == pb->length && ek_cel_address_equal(&pa->address, &pb->address);
}

static int format(const struct ek_cel_opaque *value, struct ek_buf *out)
{
    char text[EK_CEL_ADDRESS_TEXT_MAX];
    size_t len = ek_cel_prefix_text(prefix_of(value), text);

    return ek_buf_append(out, text, len);
}

static uint64_t cost_size(const struct ek_cel_opaque *value)
{
    return (prefix_of(value)->length + 7u) / 8;
}

static uint64_t hash(const struct ek_cel_opaque *value)
{
    return ek_cel_address_hash(&prefix_of(value)->address) + prefix_of(value)->length;
}

static const struct ek_cel_opaque_kind cidr_kind = {
    .hash = hash,
    .name = "net.CIDR",
    .equal = equal,
    .format = format,
    .cost_size = cost_size,
    .named = true,
};

static struct ek_cel_val make(struct ek_cel_eval *eval, const struct ek_cel_prefix *prefix)
{
    struct cidr_val *cidr = ek_cel_alloc(eval, sizeof *cidr);

    if (!cidr)
        return ek_cel_no_memory(eval);
    *cidr = (struct cidr_val){{&cidr_kind}, *prefix};
    return ek_cel_opaque_val(&cidr->opaque);
}

static bool allowed(struct ek_str text, struct ek_cel_prefix *ret,
                    struct ek_cel_address_fault *ret_fault)
{
    ret_fault->message = NULL;
    return ek_cel_prefix_parse(text, ret, ret_fault) && !ek_cel_address_is_mapped(&ret->address);
}

static struct ek_cel_val refuse(struct ek_cel_eval *eval, struct ek_str text,
                                const struct ek_cel_address_fault *fault)
{
    static const char context[] = "network address parse error during conversion from string: ";
    EK_AUTO(ek_buf) why;

    ek_buf_init(&why, EK_BUF_SMALL_MAX);
    ek_buf_puts(&why, context);
    if (fault->message) {
        ek_buf_puts(&why, context);
        ek_cel_prefix_explain(text, fault, &why);
    } else {
        ek_buf_puts(&why, "IPv4-mapped IPv6 address ");
        ek_quote(&why, text);
        ek_buf_puts(&why, " is not allowed");
    }
    return ek_cel_fail(eval, "%s", ek_buf_str(&why));
}

static struct ek_cel_val cidr(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_str text = ek_cel_text_of(&args[0]);
    struct ek_cel_address_fault fault;
    struct ek_cel_prefix prefix;

    (void)n;
    return allowed(text, &prefix, &fault) ? make(eval, &prefix) : refuse(eval, text, &fault);
}

static struct ek_cel_val is_cidr(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    struct ek_cel_address_fault fault;
    struct ek_cel_prefix prefix;

    (void)eval;
    (void)n;
    return ek_cel_bool(allowed(ek_cel_text_of(&args[0]), &prefix, &fault));
}

static struct ek_cel_val to_string(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    char text[EK_CEL_ADDRESS_TEXT_MAX];

    (void)n;
    size_t len = ek_cel_prefix_text(prefix_of(args[0].opaque), text);
    return ek_cel_string_copy(eval, text, len);
}

static struct ek_cel_val contains_ip(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    const struct ek_cel_prefix *prefix = prefix_of(args[0].opaque);
    struct ek_cel_address_fault fault;
    struct ek_cel_address address;

    if (args[1].kind == EK_CEL_OPAQUE)
        address = ((const struct ek_cel_ip_val *)args[1].opaque)->address;
    else if (!ek_cel_address_parse(ek_cel_text_of(&args[1]), &address, &fault) ||
             address.has_zone || ek_cel_address_is_mapped(&address))
        return ek_cel_no_overload(eval, NULL, args, n); /* the reference says no more */
    return ek_cel_bool(ek_cel_address_agrees(&prefix->address, &address, prefix->length));
}

static struct ek_cel_val contains_cidr(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                       uint32_t n)
{
    const struct ek_cel_prefix *a = prefix_of(args[0].opaque);
    struct ek_cel_val other = args[1];

    if (other.kind == EK_CEL_STRING)
        other = cidr(eval, &args[1], 1);
    if (other.kind == EK_CEL_ERROR)
        return other;
    (void)n;
    const struct ek_cel_prefix *b = prefix_of(other.opaque);
    return ek_cel_bool(a->length <= b->length &&
                       ek_cel_address_agrees(&a->address, &b->address, a->length));
}

static struct ek_cel_val address(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)n;
    return ek_cel_ip_make(eval, &prefix_of(args[0].opaque)->address);
}

static struct ek_cel_val length(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_int(prefix_of(args[0].opaque)->length);
}

static struct ek_cel_val masked(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_prefix prefix = ek_cel_prefix_masked(prefix_of(args[0].opaque));

    (void)n;
    return make(eval, &prefix);
}

/* ---- Costs: a comparison of two addresses, and reading one of them ----------------------------
 */

static uint64_t cost_one(const struct ek_cel_val *args, uint32_t n, const struct ek_cel_val *result)
{
    (void)args;
    (void)n;
    (void)result;
    return 1;
}

static uint64_t cost_contains_ip(const struct ek_cel_val *args, uint32_t n,
                                 const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]), 2);
}

static uint64_t cost_of_text(const struct ek_cel_val *args, uint32_t n)
{
    return n < 2 ? 0 : ek_cel_cost_tenths(ek_cel_cost_size(&args[1]), 1);
}

static uint64_t cost_contains_ip_text(const struct ek_cel_val *args, uint32_t n,
                                      const struct ek_cel_val *result)
{
    return cost_contains_ip(args, n, result) + cost_of_text(args, n);
}

static uint64_t cost_contains_cidr(const struct ek_cel_val *args, uint32_t n,
                                   const struct ek_cel_val *result)
{
    return cost_contains_ip(args, n, result) + ek_cel_cost_of_reading(args, n, result) + 1;
}

static uint64_t cost_contains_cidr_text(const struct ek_cel_val *args, uint32_t n,
                                        const struct ek_cel_val *result)
{
    return cost_contains_cidr(args, n, result) + cost_of_text(args, n);
}

#define MEMBER(id_, signature_, fn_, cost_)                                                        \
    {                                                                                              \
        .id = (id_), .signature = (signature_), .flags = EK_CEL_MEMBER, .fn = (fn_),               \
        .cost = (cost_)                                                                            \
    }

static const struct ek_cel_function functions[] = {
    EK_CEL_FUNCTION("cidr", ek_cel_cost_of_reading,
                    EK_CEL_OVERLOAD("string_to_cidr", "string -> net.CIDR", 0, cidr)),
    EK_CEL_FUNCTION("isCIDR", ek_cel_cost_of_reading,
                    EK_CEL_OVERLOAD("is_cidr", "string -> bool", 0, is_cidr)),
    EK_CEL_FUNCTION("string", NULL,
                    EK_CEL_OVERLOAD("cidr_to_string", "net.CIDR -> string", 0, to_string)),
    EK_CEL_FUNCTION("containsIP", cost_contains_ip,
                    MEMBER("cidr_contains_ip_string", "net.CIDR, string -> bool", contains_ip,
                           cost_contains_ip_text),
                    MEMBER("cidr_contains_ip_ip", "net.CIDR, net.IP -> bool", contains_ip, NULL)),
    EK_CEL_FUNCTION(
        "containsCIDR", cost_contains_cidr,
        MEMBER("cidr_contains_cidr_string", "net.CIDR, string -> bool", contains_cidr,
               cost_contains_cidr_text),
        MEMBER("cidr_contains_cidr", "net.CIDR, net.CIDR -> bool", contains_cidr, NULL)),
    EK_CEL_FUNCTION("ip", ek_cel_cost_of_reading,
                    MEMBER("cidr_ip", "net.CIDR -> net.IP", address, cost_one)),
    EK_CEL_FUNCTION("prefixLength", NULL,
                    MEMBER("cidr_prefix_length", "net.CIDR -> int", length, NULL)),
    EK_CEL_FUNCTION("masked", NULL, MEMBER("cidr_masked", "net.CIDR -> net.CIDR", masked, NULL)),
    {.name = NULL},
};

static const struct ek_cel_opaque_kind *const types[] = {&cidr_kind, NULL};

const struct ek_cel_library ek_cel_lib_k8s_cidr = {
    .name = "kubernetes.net.cidr",
    .functions = functions,
    .types = types,
};
