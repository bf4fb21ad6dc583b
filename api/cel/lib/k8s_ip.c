/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' IP library: ip("10.0.0.1") and its methods. */
#include "api/base/quote.h"
#include "api/cel/lib/opaque.h"

static const struct ek_cel_address *address_of(const struct ek_cel_opaque *opaque)
{
    return &((const struct ek_cel_ip_val *)opaque)->address;
}

static bool equal(const struct ek_cel_opaque *a, const struct ek_cel_opaque *b)
{
    return ek_cel_address_equal(address_of(a), address_of(b));
}

static int format(const struct ek_cel_opaque *value, struct ek_buf *out)
{
    char text[EK_CEL_ADDRESS_TEXT_MAX];
    size_t len = ek_cel_address_text(address_of(value), text);

    return ek_buf_append(out, text, len);
}

static uint64_t cost_size(const struct ek_cel_opaque *value)
{
    return address_of(value)->bits / 8;
}

static uint64_t hash(const struct ek_cel_opaque *value)
{
    return ek_cel_address_hash(address_of(value));
}

static const struct ek_cel_opaque_kind ip_kind = {
    .hash = hash,
    .name = "net.IP",
    .equal = equal,
    .format = format,
    .cost_size = cost_size,
    .named = true,
};

struct ek_cel_val ek_cel_ip_make(struct ek_cel_eval *eval, const struct ek_cel_address *address)
{
    struct ek_cel_ip_val *ip = ek_cel_alloc(eval, sizeof *ip);

    if (!ip)
        return ek_cel_no_memory(eval);
    *ip = (struct ek_cel_ip_val){{&ip_kind}, *address};
    return ek_cel_opaque_val(&ip->opaque);
}

/* before, the text in quotes, after. */
static struct ek_cel_val refuse(struct ek_cel_eval *eval, const char *before, struct ek_str text,
                                const char *after, const struct ek_cel_address_fault *fault)
{
    EK_AUTO(ek_buf) why;

    ek_buf_init(&why, EK_BUF_SMALL_MAX);
    ek_buf_puts(&why, before);
    ek_quote(&why, text);
    ek_buf_puts(&why, after);
    if (fault)
        ek_cel_address_explain(text, fault, &why);
    return ek_cel_fail(eval, "%s", ek_buf_str(&why));
}

/* The common part of ip() and isIP(); *ret_fault is filled when the text is no address at all. */
static bool allowed(struct ek_str text, struct ek_cel_address *ret,
                    struct ek_cel_address_fault *ret_fault)
{
    ret_fault->message = NULL;
    return ek_cel_address_parse(text, ret, ret_fault) && !ret->has_zone &&
           !ek_cel_address_is_mapped(ret);
}

/* Reads a string as ip() does: fills *ret, or *ret_error. */
static bool ip_read(struct ek_cel_eval *eval, const struct ek_cel_val *value,
                    struct ek_cel_address *ret, struct ek_cel_val *ret_error)
{
    struct ek_str text = ek_cel_text_of(value);
    struct ek_cel_address_fault fault;

    if (allowed(text, ret, &fault))
        return true;
    if (fault.message)
        *ret_error = refuse(eval, "IP Address ", text,
                            " parse error during conversion from string: ", &fault);
    else if (ret->has_zone)
        *ret_error = refuse(eval, "IP address ", text, " with zone value is not allowed", NULL);
    else
        *ret_error = refuse(eval, "IPv4-mapped IPv6 address ", text, " is not allowed", NULL);
    return false;
}

static struct ek_cel_val ip(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_address address;
    struct ek_cel_val error;

    (void)n;
    return ip_read(eval, &args[0], &address, &error) ? ek_cel_ip_make(eval, &address) : error;
}

static struct ek_cel_val is_ip(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_address address;
    struct ek_cel_address_fault fault;

    (void)eval;
    (void)n;
    return ek_cel_bool(allowed(ek_cel_text_of(&args[0]), &address, &fault));
}

static struct ek_cel_val is_canonical(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                      uint32_t n)
{
    char text[EK_CEL_ADDRESS_TEXT_MAX];
    struct ek_cel_address address;
    struct ek_cel_val error;

    (void)n;
    if (!ip_read(eval, &args[0], &address, &error))
        return error;
    size_t len = ek_cel_address_text(&address, text);
    return ek_cel_bool(ek_str_eq(ek_cel_text_of(&args[0]), (struct ek_str){text, len}));
}

static struct ek_cel_val to_string(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    char text[EK_CEL_ADDRESS_TEXT_MAX];

    (void)n;
    size_t len = ek_cel_address_text(address_of(args[0].opaque), text);
    return ek_cel_string_copy(eval, text, len);
}

static struct ek_cel_val family(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    (void)eval;
    (void)n;
    return ek_cel_int(address_of(args[0].opaque)->bits == 32 ? 4 : 6);
}

/* Defines an implementation that answers a question about an address. */
#define ASK(name)                                                                                  \
    static struct ek_cel_val name(struct ek_cel_eval *eval, const struct ek_cel_val *args,         \
                                  uint32_t n)                                                      \
    {                                                                                              \
        (void)eval;                                                                                \
        (void)n;                                                                                   \
        return ek_cel_bool(ek_cel_address_##name(address_of(args[0].opaque)));                     \
    }

ASK(is_unspecified)
ASK(is_loopback)
ASK(is_link_local_multicast)
ASK(is_link_local_unicast)
ASK(is_global_unicast)

static uint64_t cost_of_canonical(const struct ek_cel_val *args, uint32_t n,
                                  const struct ek_cel_val *result)
{
    (void)n;
    (void)result;
    return ek_cel_cost_tenths(ek_cel_cost_size(&args[0]), 2);
}

#define MEMBER(name, id, signature, fn)                                                            \
    EK_CEL_FUNCTION(name, NULL, EK_CEL_OVERLOAD(id, signature, EK_CEL_MEMBER, fn))
#define QUESTION(name, id, fn) MEMBER(name, id, "net.IP -> bool", fn)

static const struct ek_cel_function functions[] = {
    EK_CEL_FUNCTION("ip", ek_cel_cost_of_reading,
                    EK_CEL_OVERLOAD("string_to_ip", "string -> net.IP", 0, ip)),
    EK_CEL_FUNCTION("isIP", ek_cel_cost_of_reading,
                    EK_CEL_OVERLOAD("is_ip", "string -> bool", 0, is_ip)),
    EK_CEL_FUNCTION("ip.isCanonical", cost_of_canonical,
                    EK_CEL_OVERLOAD("ip_is_canonical", "string -> bool", 0, is_canonical)),
    EK_CEL_FUNCTION("string", NULL,
                    EK_CEL_OVERLOAD("ip_to_string", "net.IP -> string", 0, to_string)),
    MEMBER("family", "ip_family", "net.IP -> int", family),
    QUESTION("isUnspecified", "ip_is_unspecified", is_unspecified),
    QUESTION("isLoopback", "ip_is_loopback", is_loopback),
    QUESTION("isLinkLocalMulticast", "ip_is_link_local_multicast", is_link_local_multicast),
    QUESTION("isLinkLocalUnicast", "ip_is_link_local_unicast", is_link_local_unicast),
    QUESTION("isGlobalUnicast", "ip_is_global_unicast", is_global_unicast),
    {.name = NULL},
};

static const struct ek_cel_opaque_kind *const types[] = {&ip_kind, NULL};

const struct ek_cel_library ek_cel_lib_k8s_ip = {
    .name = "kubernetes.net.ip",
    .functions = functions,
    .types = types,
};
