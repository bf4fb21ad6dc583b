/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/library.h"

static const struct ek_cel_function functions[] = {{0}};

const struct ek_cel_library ek_cel_lib_k8s_regex = {.name = "cel.lib.k8s.regex",
                                                    .functions = functions};
