/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cli/compat.h"

#include "api/cel/cel.h"
#include "api/version.h"

int ek_compat_minor(const char *text)
{
    struct ek_minor v = ek_minor_parse(text);

    if (!*text)
        return 0;
    return v.known && v.major == 1 && v.minor >= EK_CEL_COMPAT_MIN && v.minor <= EK_CEL_COMPAT_MAX
               ? (int)v.minor
               : -1;
}

int ek_compat_check(const char *value, struct ek_err *err)
{
    if (ek_compat_minor(value) >= 0)
        return 0;
    return ek_err_set(err, EK_E_INVAL, "%s is not a version from 1.%d to 1.%d", value,
                      EK_CEL_COMPAT_MIN, EK_CEL_COMPAT_MAX);
}
