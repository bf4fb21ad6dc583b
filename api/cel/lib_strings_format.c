/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/strings.h"

bool ek_cel_format_check(const struct ek_cel_node *call, char *message, size_t size,
                         const struct ek_cel_node **ret_node)
{
    (void)message, (void)size;
    *ret_node = call;
    return true;
}
