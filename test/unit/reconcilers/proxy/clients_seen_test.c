/* SPDX-License-Identifier: Apache-2.0 */
/* The clients that pages of proxies name, judged by the versions of the API servers. */
#include "reconcilers/proxy/clients_seen.h"

#include <stdio.h>

#include "api/base/err.h"
#include "api/base/time.h"
#include "test/support/suite.h"

#define CONNECTIONS "evenkeel_proxy_connections 1\n"
#define REQUESTS(client, version, verdict, n)                                                      \
    "evenkeel_proxy_client_requests_total{client=\"" client "\",version=\"" version                \
    "\",verdict=\"" verdict "\"} " n "\n"
#define LAST(client, version, at)                                                                  \
    "evenkeel_proxy_client_last_request_timestamp_seconds{client=\"" client                        \
    "\",version=\"" version "\"} " at "\n"

/* API servers of 1.36, which are compatible with 1.35. */
static struct ek_bounds bounds_of(bool known)
{
    static const struct ek_server servers[] = {
        {"a", EK_MINOR(1, 36), EK_MINOR(1, 36), EK_MINOR(1, 35)}};

    return ek_policy_bounds(servers, known);
}

static const struct {
    const char *name, *page, *seen;
    bool unknown; /* the API servers are not known */
    int rc;
} rows[] = {
    {"none yet", CONNECTIONS, "", false, 0},
    {"no proxy", "go_goroutines 7\n", "", false, EK_E_PARSE},
    {"empty", "", "", false, EK_E_PARSE},
    {"kubectl",
     CONNECTIONS REQUESTS("kubectl", "1.36", "Supported", "3") LAST("kubectl", "1.36", "1.5"),
     "kubectl 1.36 Supported 3 1500|", false, 0},
    {"kubectl that is too old", REQUESTS("kubectl", "1.33", "Supported", "3"),
     "kubectl 1.33 Unsupported 3 -|", false, 0},
    {"judged by the versions of now",
     REQUESTS("kubectl", "1.36", "Unsupported", "3") REQUESTS("kubectl", "1.36", "Supported", "4"),
     "kubectl 1.36 Supported 7 -|", false, 0},
    {"two proxies",
     REQUESTS("kubectl", "1.36", "Supported", "3") LAST("kubectl", "1.36", "9")
         REQUESTS("kubectl", "1.36", "Supported", "3") LAST("kubectl", "1.36", "8"),
     "kubectl 1.36 Supported 6 9000|", false, 0},
    {"API servers that are not known", REQUESTS("kubectl", "1.36", "Supported", "3"),
     "kubectl other Unknown 3 -|", true, 0},
    {"a version that is far away", REQUESTS("kubectl", "other", "Unsupported", "3"),
     "kubectl other Unknown 3 -|", false, 0},
    {"no version", REQUESTS("kubectl", "", "Unknown", "3"), "kubectl  Unknown 3 -|", false, 0},
    {"a library", REQUESTS("client-go", "1.36", "NotJudged", "3"), "client-go 1.36 NotJudged 3 -|",
     false, 0},
    {"another client", REQUESTS("other", "", "NotJudged", "3"), "other  NotJudged 3 -|", false, 0},
    {"in order",
     REQUESTS("other", "", "NotJudged", "1") REQUESTS("kubectl", "1.36", "Supported", "1") REQUESTS(
         "kubectl", "1.35", "Supported", "1") REQUESTS("kubelet", "1.36", "Supported", "1"),
     "kubectl 1.35 Supported 1 -|kubectl 1.36 Supported 1 -|kubelet 1.36 Supported 1 -|"
     "other  NotJudged 1 -|",
     false, 0},
    /* What no proxy writes is not repeated. */
    {"an unknown name", CONNECTIONS REQUESTS("\\u001b[31mhello", "1.36", "Supported", "3"), "",
     false, 0},
    {"a version of another form",
     CONNECTIONS REQUESTS("kubectl", "1.36<b>", "Supported", "3")
         REQUESTS("kubectl", "v1", "Supported", "3")
             REQUESTS("kubectl", "99999999999999999999.1", "Supported", "3"),
     "", false, 0},
    {"a library of another kind", CONNECTIONS REQUESTS("client-go", "2.36", "NotJudged", "3"), "",
     false, 0},
    {"a name that is too long",
     CONNECTIONS REQUESTS("kubectlkubectlkubectlkubectlkubectlkubectlkubectlkubectl", "1.36",
                          "Supported", "3"),
     "", false, 0},
    {"no numbers",
     CONNECTIONS REQUESTS("kubectl", "1.36", "Supported", "NaN")
         REQUESTS("kubelet", "1.36", "Supported", "-1") LAST("kubectl", "1.35", "+Inf"),
     "", false, 0},
    {"a time beyond the calendar",
     REQUESTS("kubectl", "1.36", "Supported", "3") LAST("kubectl", "1.36", "1e300"),
     "kubectl 1.36 Supported 3 -|", false, 0},
};

static void write(const struct ek_clients_seen *seen, struct ek_buf *out)
{
    for (size_t i = 0; i < seen->n; i++) {
        const struct ek_client_seen *row = &seen->rows[i];
        char last[32] = "-";
        if (row->last_ms != EK_TIME_UNSET)
            snprintf(last, sizeof last, "%lld", (long long)row->last_ms);
        ek_buf_printf(out, "%s %s %s %.0f %s|", row->is.client, row->is.version,
                      ek_verdict_name(row->is.verdict), row->requests, last);
    }
}

START_TEST(reads)
{
    EK_AUTO(ek_buf) out;
    struct ek_clients_seen seen = {0};
    const struct ek_bounds bounds = bounds_of(!rows[_i].unknown);

    ek_buf_init(&out, 4096);
    ck_assert_int_eq(ek_clients_seen_read(&seen, ek_str_from(rows[_i].page), &bounds), rows[_i].rc);
    write(&seen, &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), rows[_i].seen), "%s: %s", rows[_i].name,
                  ek_buf_str(&out));
}
END_TEST

START_TEST(is_bounded)
{
    EK_AUTO(ek_buf) page;
    struct ek_clients_seen seen = {0};
    const struct ek_bounds bounds = bounds_of(true);

    ek_buf_init(&page, 1 << 24);
    for (int i = 0; i < 20000; i++)
        ek_buf_printf(&page,
                      "evenkeel_proxy_client_requests_total{client=\"%s\",version=\"1.%d\"} 1\n",
                      i % 2 ? "kubectl" : "client-go", i);
    ck_assert_int_eq(ek_clients_seen_read(&seen, (struct ek_str){page.data, page.len}, &bounds), 0);
    ck_assert_uint_le(seen.n, 2 * (2 * EK_CLIENT_VERSIONS_EACH_WAY + 2));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("clients_seen");

    tcase_add_loop_test(tcase, reads, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, is_bounded);
    return ek_test_run("clients_seen", tcase);
}
