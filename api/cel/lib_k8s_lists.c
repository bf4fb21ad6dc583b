/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/library.h"

const struct ek_cel_library ek_kubernetes.lists = {.name = "cel.lib.k8s.lists"};
