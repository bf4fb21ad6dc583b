/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/library.h"

const struct ek_cel_library ek_cel.lib.ext.lists = {.name = "cel.lib.lists"};
