/* SPDX-License-Identifier: Apache-2.0 */
/* The page of /metrics in tests. What cannot be written fails the running test. */
#ifndef TEST_SUPPORT_METRICS_PAGE_H
#define TEST_SUPPORT_METRICS_PAGE_H

#include "api/base/buf.h"
#include "controller/telemetry/metrics.h"

/* Makes ret_series, owned, the series of the page whose names begin with prefix: whole lines in the
 * order of the page. */
void ek_test_series(struct ek_metrics *metrics, const char *prefix, struct ek_buf *ret_series);

#endif
