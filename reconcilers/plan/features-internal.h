/* SPDX-License-Identifier: Apache-2.0 */
/* What features.c and start.c share. */
#ifndef RECONCILERS_PLAN_FEATURES_INTERNAL_H
#define RECONCILERS_PLAN_FEATURES_INTERNAL_H

#include "api/base/buf.h"

/* s without blanks at both ends (Go's strings.TrimSpace, for ASCII). */
struct ek_str ek_feature_trim__(struct ek_str s);

#endif
