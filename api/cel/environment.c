/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/environment.h"
