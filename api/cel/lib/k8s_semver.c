/* SPDX-License-Identifier: Apache-2.0 */
/* Kubernetes' semver library: semver("1.2.3-rc.1") and its methods. */
#include "api/cel/lib/opaque.h"
#include "api/semver.h"

#define WHY_MAX ((size_t)4096)

struct semver_val {
    struct ek_cel_opaque opaque;
    struct ek_semver version; /* borrows from the text */
};

static const struct ek_semver *version_of(const struct ek_cel_opaque *opaque)
{
    return &((const struct semver_val *)opaque)->version;
}

static bool equal(const struct ek_cel_opaque *a, const struct ek_cel_opaque *b)
{
    return ek_semver_compare(version_of(a), version_of(b)) == 0;
}

static int format(const struct ek_cel_opaque *value, struct ek_buf *out)
{
    return ek_semver_format(version_of(value), out);
}

static const struct ek_cel_opaque_kind semver_kind = {
    .name = "kubernetes.Semver",
    .equal = equal,
    .format = format,
    .unhashable = true,
};

static enum ek_semver_form form_of(const struct ek_cel_val *args, uint32_t n)
{
    return n == 2 && args[1].b ? EK_SEMVER_NORMAL : EK_SEMVER_STRICT;
}

static struct ek_cel_val semver(struct ek_cel_eval *eval, const struct ek_cel_val *args, uint32_t n)
{
    struct ek_str text = ek_cel_text_of(&args[0]);
    enum ek_semver_form form = form_of(args, n);
    struct ek_semver version;

    if (ek_semver_parse(text, form, &version)) {
        EK_AUTO(ek_buf) why;
        ek_buf_init(&why, WHY_MAX);
        ek_semver_explain(text, form, &why);
        return ek_cel_fail(eval, "%s", ek_buf_str(&why));
    }
    struct semver_val *value = ek_cel_alloc(eval, sizeof *value);
    if (!value)
        return ek_cel_no_memory(eval);
    *value = (struct semver_val){{&semver_kind}, version};
    return ek_cel_opaque_val(&value->opaque);
}

static struct ek_cel_val is_semver(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    struct ek_semver version;

    (void)eval;
    return ek_cel_bool(ek_semver_parse(ek_cel_text_of(&args[0]), form_of(args, n), &version) == 0);
}

static int order_of(const struct ek_cel_val *args)
{
    return ek_semver_compare(version_of(args[0].opaque), version_of(args[1].opaque));
}

EK_CEL_FN(is_greater, ek_cel_bool(order_of(args) > 0))
EK_CEL_FN(is_less, ek_cel_bool(order_of(args) < 0))
EK_CEL_FN(compare_to, ek_cel_int(order_of(args)))
EK_CEL_FN(major, ek_cel_int((int64_t)version_of(args[0].opaque)->major))
EK_CEL_FN(minor, ek_cel_int((int64_t)version_of(args[0].opaque)->minor))
EK_CEL_FN(patch, ek_cel_int((int64_t)version_of(args[0].opaque)->patch))

#define V "kubernetes.Semver"
#define OVERLOAD(id_, signature_, fn_, version_)                                                   \
    {                                                                                              \
        .id = (id_), .signature = (signature_), .fn = (fn_), .version = (version_)                 \
    }
#define MEMBER(name, id, signature, fn)                                                            \
    EK_CEL_FUNCTION(name, NULL, EK_CEL_OVERLOAD(id, signature, EK_CEL_MEMBER, fn))

static const struct ek_cel_function functions[] = {
    EK_CEL_FUNCTION("semver", ek_cel_cost_of_reading,
                    OVERLOAD("string_to_semver", "string -> " V, semver, 0),
                    OVERLOAD("string_bool_to_semver", "string, bool -> " V, semver, 1)),
    EK_CEL_FUNCTION("isSemver", ek_cel_cost_of_reading,
                    OVERLOAD("is_semver_string", "string -> bool", is_semver, 0),
                    OVERLOAD("is_semver_string_bool", "string, bool -> bool", is_semver, 1)),
    MEMBER("isGreaterThan", "semver_is_greater_than", V ", " V " -> bool", is_greater),
    MEMBER("isLessThan", "semver_is_less_than", V ", " V " -> bool", is_less),
    MEMBER("compareTo", "semver_compare_to", V ", " V " -> int", compare_to),
    MEMBER("major", "semver_major", V " -> int", major),
    MEMBER("minor", "semver_minor", V " -> int", minor),
    MEMBER("patch", "semver_patch", V " -> int", patch),
    {.name = NULL},
};

static const struct ek_cel_opaque_kind *const types[] = {&semver_kind, NULL};

const struct ek_cel_library ek_cel_lib_k8s_semver = {
    .name = "kubernetes.Semver",
    .functions = functions,
    .types = types,
};
