/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry/condition_samples.h"

#include "api/cond.h"

size_t ek_condition_samples(const struct ek_metric_sample *model, yyjson_val *status,
                            const char *const *types, size_t n, struct ek_metric_sample *ret)
{
    yyjson_val *conditions = yyjson_obj_get(status, "conditions");
    size_t n_labels = 0, n_samples = 0;

    while (model->labels[n_labels][0])
        n_labels++;
    for (size_t i = 0; i < n; i++) {
        if (!ek_cond_find(conditions, types[i]))
            continue;
        struct ek_metric_sample *sample = &ret[n_samples++];
        *sample = *model;
        sample->labels[n_labels][0] = "type";
        sample->labels[n_labels][1] = types[i];
        sample->labels[n_labels + 1][0] = "status";
        sample->labels[n_labels + 1][1] = ek_cond_status_name(ek_cond_status(conditions, types[i]));
        sample->value = 1;
    }
    return n_samples;
}
