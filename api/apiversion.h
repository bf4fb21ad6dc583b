/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of API versions: v2 > v1 > v2beta1 > v1beta2 > v1beta1 > v1alpha1 > anything else.
 *
 * This is apimachinery's CompareKubeAwareVersionStrings (skew sheet, section 5, "Kube-aware
 * sort"): GA above beta above alpha, then the major and the minor number; names that don't have
 * the form v<n>[alpha|beta<n>], or whose numbers exceed a signed 64-bit integer, are below all
 * others, and among themselves the one that comes first in the alphabet is the greater. It orders
 * API versions ("v1beta1"), not releases ("1.36.2"): those are api/version.h. Pure; any thread.
 */
#ifndef API_APIVERSION_H
#define API_APIVERSION_H

#include <stdint.h>

#include "api/buf.h"

/*
 * Returns <0, 0, >0 for a below, equal to, above b; the exact value is apimachinery's: 0 for
 * versions that differ in spelling only ("v1", "v01"), the difference of the stages (2 for GA
 * against alpha), majors or minors, or +-1.
 */
int64_t ek_apiversion_cmp(struct ek_str a, struct ek_str b);

/* Sorts n borrowed names in place, the greatest first; names that compare as equal keep their
 * order. Quick for the handful of versions that a group has. */
void ek_apiversion_sort(const char **names, size_t n);

#endif
