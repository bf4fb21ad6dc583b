/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/metrics_page.h"

#include <check.h>
#include <string.h>

void ek_test_series(struct ek_metrics *metrics, const char *prefix, struct ek_buf *ret_series)
{
    EK_AUTO(ek_buf) page;

    ek_buf_init(&page, 1 << 20);
    ek_buf_init(ret_series, 1 << 20);
    ck_assert_int_eq(ek_metrics_write(metrics, EK_METRICS_TEXT, &page), 0);
    for (const char *line = ek_buf_str(&page), *end; (end = strchr(line, '\n')); line = end + 1)
        if (!strncmp(line, prefix, strlen(prefix)))
            ek_buf_append(ret_series, line, (size_t)(end + 1 - line));
}
