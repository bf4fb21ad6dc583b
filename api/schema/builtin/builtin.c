/* SPDX-License-Identifier: Apache-2.0 */
#include "api/schema/builtin/builtin-internal.h"

const struct ek_builtin_resource *ek_builtin_resources(size_t *ret_n)
{
    *ret_n = ek_builtin_resource_count;
    return ek_builtin_resource_table;
}

bool ek_builtin_serves(const struct ek_builtin_resource *resource, int minor)
{
    return minor >= EK_BUILTIN_MINOR_MIN && minor <= EK_BUILTIN_MINOR_MAX &&
           (resource->minors >> (minor - EK_BUILTIN_MINOR_MIN) & 1u);
}

int ek_schema_builtin_open(int minor, struct ek_schema **ret_schema, struct ek_err *err)
{
    if (minor < EK_BUILTIN_MINOR_MIN || minor > EK_BUILTIN_MINOR_MAX)
        return ek_err_set(err, EK_E_NOENT,
                          "the schemas of Kubernetes 1.%d are not in this program: it has 1.%d to "
                          "1.%d",
                          minor, EK_BUILTIN_MINOR_MIN, EK_BUILTIN_MINOR_MAX);
    const struct ek_builtin_image *image = &ek_builtin_images[minor - EK_BUILTIN_MINOR_MIN];
    return ek_schema_from_image(image->image, image->size, ret_schema, err);
}
