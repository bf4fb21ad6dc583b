/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/library.h"

const struct ek_cel_library ek_cel_lib_standard = {.name = "stdlib"};
