/* SPDX-License-Identifier: Apache-2.0 */
/* Health endpoints: every body to the byte. */
#include <check.h>
#include <stdio.h>

#include "controller/http/conn.h"
#include "controller/manager/health.h"
#include "test/support/suite.h"

static bool informers_good, leader_good;

static int check_flag(void *ctx, struct ek_err *err)
{
    return *(const bool *)ctx ? 0 : ek_err_set(err, EK_E_TIMEOUT, "nodes: not listed yet");
}

/* The answer's status and body for a path of a server with one health endpoint. */
static int ask(struct ek_health *health, const char *target, char *body, size_t size)
{
    struct ek_http_route route = ek_health_route(health);
    struct ek_http_conn_config config = {.routes = &route, .n_routes = 1};
    char request[4096];
    int status = 0;

    ek_http_limits_default(&config.limits);
    struct ek_http_conn *conn = ek_http_conn_new(&config, "", NULL, NULL, 0);
    snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    ek_http_conn_input(conn, request, strlen(request), 0);
    struct ek_str out = ek_http_conn_output(conn);
    EK_AUTOFREE char *text = ek_xstrndup(out.p, out.len);
    sscanf(text, "HTTP/1.1 %d", &status); /* NOLINT(cert-err34-c) */
    const char *start = strstr(text, "\r\n\r\n");
    snprintf(body, size, "%s", start ? start + 4 : "");
    ek_http_conn_free(conn);
    return status;
}

START_TEST(bodies)
{
    static const struct {
        const char *name;
        bool informers, leader;
        const char *target;
        int status;
        const char *body;
    } rows[] = {
        {"good", true, true, "/readyz", 200, "ok"},
        {"good with a slash", true, true, "/readyz/", 200, "ok"},
        {"verbose", true, true, "/readyz?verbose", 200,
         "[+]informers ok\n[+]leader ok\nhealthz check passed\n"},
        {"bad", false, true, "/readyz", 500,
         "[-]informers failed: reason withheld\n[+]leader ok\nhealthz check failed\n"},
        {"all bad", false, false, "/readyz?verbose=1", 500,
         "[-]informers failed: reason withheld\n[-]leader failed: reason withheld\n"
         "healthz check failed\n"},
        {"excluded", false, true, "/readyz?exclude=informers", 200, "ok"},
        {"excluded, verbose", false, true, "/readyz?verbose&exclude=informers", 200,
         "[+]informers excluded: ok\n[+]leader ok\nhealthz check passed\n"},
        {"both excluded", false, false, "/readyz?exclude=informers&exclude=leader", 200, "ok"},
        {"unknown exclude", true, true, "/readyz?verbose&exclude=no%22pe&exclude=x&exclude=x", 200,
         "[+]informers ok\n[+]leader ok\n"
         "warn: some health checks cannot be excluded: no matches for \"no\\\"pe\",\"x\"\n"
         "healthz check passed\n"},
        {"unknown exclude, quiet", true, true, "/readyz?exclude=x", 200, "ok"},
        {"one, good", false, true, "/readyz/leader", 200, "ok"},
        {"one, bad", false, true, "/readyz/informers", 500,
         "internal server error: nodes: not listed yet\n"},
        {"one, unknown", true, true, "/readyz/x", 404, "404 page not found\n"},
        {"another path", true, true, "/readyzz", 404, "404 page not found\n"},
    };
    char body[4096];

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_health *health = ek_health_new("/readyz", NULL);
        ek_health_add(health, "leader", check_flag, &leader_good); /* sorted by name */
        ek_health_add(health, "informers", check_flag, &informers_good);
        informers_good = rows[i].informers;
        leader_good = rows[i].leader;
        int status = ask(health, rows[i].target, body, sizeof body);
        ck_assert_msg(status == rows[i].status && !strcmp(body, rows[i].body), "%s: %d\n%s",
                      rows[i].name, status, body);
        ek_health_free(health);
    }
}
END_TEST

START_TEST(without_checks)
{
    struct ek_health *health = ek_health_new("/healthz", NULL);
    char body[4096];

    ck_assert_int_eq(ask(health, "/healthz", body, sizeof body), 200);
    ck_assert_str_eq(body, "ok");
    ck_assert_int_eq(ask(health, "/healthz?verbose", body, sizeof body), 200);
    ck_assert_str_eq(body, "[+]ping ok\nhealthz check passed\n");
    ck_assert_int_eq(ask(health, "/healthz/ping", body, sizeof body), 200);
    ek_health_free(health);
}
END_TEST

START_TEST(many_excludes)
{
    struct ek_health *health = ek_health_new("/healthz", NULL);
    EK_AUTO(ek_buf) target;
    char body[4096];

    ek_buf_init(&target, 4000);
    ek_buf_puts(&target, "/healthz?verbose");
    for (int i = 0; i < 200; i++)
        ek_buf_printf(&target, "&exclude=%d", i);
    ck_assert_int_eq(ask(health, ek_buf_str(&target), body, sizeof body), 200);
    ck_assert_ptr_nonnull(strstr(body, "\"63\""));
    ck_assert_ptr_null(strstr(body, "\"64\""));
    ek_health_free(health);
}
END_TEST

/* Each log is hours after the one before: what limits lines for a minute has nothing left over. */
static int64_t hours;

static int64_t fixed_clock(void *ctx)
{
    (void)ctx;
    return (1700000000LL + hours * 3600) * 1000000000;
}

/* Asks /readyz as often as answers has letters, of a check that fails at an f; returns the letters
 * of the levels of what is logged, in text (size bytes) the log. */
static void log_of(const char *answers, int level, char *text, size_t size)
{
    FILE *file = tmpfile();
    struct ek_log_config config = {.fd = fileno(file), .level = level, .now_ns = fixed_clock};
    struct ek_log *log = ek_log_new(&config);
    struct ek_health *health = ek_health_new("/readyz", log);
    char body[4096];

    hours++;
    ek_health_add(health, "informers", check_flag, &informers_good);
    for (const char *p = answers; *p; p++) {
        informers_good = *p != 'f';
        ask(health, p == answers ? "/readyz" : "/readyz/informers", body, sizeof body);
    }
    ek_health_free(health);
    ek_log_free(log);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = 0;
    fclose(file);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (const char *p = text; (p = strstr(p, what)); p += strlen(what))
        n++;
    return n;
}

START_TEST(logged)
{
    static const struct {
        const char *answers;
        size_t failing, again, debug; /* lines at info, and at debug where that is on */
    } rows[] = {
        {"g", 0, 0, 0},      {"ggg", 0, 0, 0},   {"f", 1, 0, 0},       {"ffff", 1, 0, 3},
        {"fffggg", 1, 1, 2}, {"gfgfg", 2, 2, 0}, {"fgggffg", 2, 2, 1},
    };
    char text[16384];

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        for (int level = EK_LOG_LEVEL_INFO; level <= EK_LOG_LEVEL_DEBUG; level++) {
            log_of(rows[i].answers, level, text, sizeof text);
            size_t debug = level == EK_LOG_LEVEL_DEBUG ? rows[i].debug : 0;
            ck_assert_msg(count(text, "\"Health check does not succeed\"") ==
                                  rows[i].failing + debug &&
                              count(text, "\"Health check succeeds\"") == rows[i].again &&
                              count(text, "\"level\":\"debug\"") == debug &&
                              count(text, "nodes: not listed yet") == rows[i].failing + debug &&
                              count(text, "\"level\":\"error\"") == 0,
                          "%s at level %d:\n%s", rows[i].answers, level, text);
        }
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("health");

    tcase_add_test(tc, bodies);
    tcase_add_test(tc, without_checks);
    tcase_add_test(tc, many_excludes);
    tcase_add_test(tc, logged);
    return ek_test_run("health", tc);
}
