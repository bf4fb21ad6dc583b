/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/strings.h"

bool ek_cel_format_check(const struct ek_cel_node *call, char *message, size_t size,
                         const struct ek_cel_node **ret_node)
{
    (void)message, (void)size;
    *ret_node = call;
    return true;
}

struct ek_cel_val ek_cel_format_localized(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                          uint32_t n)
{
    return ek_cel_no_overload(eval, "format", args, n);
}

struct ek_cel_val ek_cel_format_spec(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                     uint32_t n)
{
    return ek_cel_no_overload(eval, "format", args, n);
}
