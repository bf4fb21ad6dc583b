/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of a status as samples of a metric. Pure. Any thread. */
#ifndef CONTROLLER_TELEMETRY_CONDITION_SAMPLES_H
#define CONTROLLER_TELEMETRY_CONDITION_SAMPLES_H

#include <yyjson.h>

#include "controller/telemetry/metrics.h"

/*
 * Writes one sample with the value 1 for each of the n types that status (NULL: none) has under
 * conditions. A sample has the name and the labels of model, and the labels type and status
 * ("True", "False" or "Unknown"). Types that are not among the n are left out, so that a status
 * that another client has written adds no series. Strings are borrowed of model and types; ret has
 * room for n. Returns the number of samples.
 */
size_t ek_condition_samples(const struct ek_metric_sample *model, yyjson_val *status,
                            const char *const *types, size_t n, struct ek_metric_sample *ret);

#endif
