/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/run/proxy_options.h"
#include "test/support/suite.h"

static const struct {
    const char *label, *text, *flags;
    const char *expected; /* the arguments; or the error, from "f line" on */
} rows[] = {
    {"empty", "", "", ""},
    {"only comments", "# nothing\n", "", ""},
    {"only flags", "", "--access-log", "--access-log"},
    {"each type",
     "bind-address: 10.0.0.1:7443\naccess-log: true\ndrain-time: 20s\n"
     "identity-headers: [X-User, X-Other]\n",
     "",
     "--bind-address=10.0.0.1:7443 --access-log=true --drain-time=20s "
     "--identity-headers=X-User --identity-headers=X-Other"},
    {"a list of one", "identity-headers: X-User\n", "", "--identity-headers=X-User"},
    {"a number for a text", "health-probe-bind-address: 0\n", "", "--health-probe-bind-address=0"},
    {"JSON", "{\"access-log\": false,\n \"drain-time\": \"1s\"}", "",
     "--access-log=false --drain-time=1s"},
    {"flags come last and win", "drain-time: 20s\n", "--drain-time=5s",
     "--drain-time=20s --drain-time=5s"},
    {"a list of the command line replaces",
     "identity-headers: [A]\nidentity-header-prefixes: [B]\n", "--identity-headers=C",
     "--identity-header-prefixes=B --identity-headers=C"},
    {"the same with two words", "identity-headers: [A]\n", "--identity-headers C",
     "--identity-headers C"},
    {"a name that only begins alike", "identity-headers: [A]\n", "--identity-header-prefixes=C",
     "--identity-headers=A --identity-header-prefixes=C"},
    {"unknown", "# a\naccess-log: true\nacces-log: true\n", "",
     "f line 3: \"acces-log\" is unknown: members have the names of flags, see --help"},
    {"unknown in JSON", "{\"access-log\": true,\n  \"x\": 1}", "",
     "f line 2: \"x\" is unknown: members have the names of flags, see --help"},
    {"not itself", "config: other.yaml\n", "",
     "f line 1: \"config\" is unknown: members have the names of flags, see --help"},
    {"a wrong duration", "access-log: true\ndrain-time: 20\n", "",
     "f line 2: \"drain-time\" is not usable: invalid value \"20\" for --drain-time: use a "
     "duration "
     "such as 30s or 1m30s"},
    {"a wrong switch", "access-log: maybe\n", "",
     "f line 1: \"access-log\" is not usable: invalid value \"maybe\" for --access-log: use true "
     "or "
     "false"},
    {"no value", "bind-address:\n", "", "f line 1: \"bind-address\" needs one value"},
    {"a list for one", "bind-address: [a, b]\n", "", "f line 1: \"bind-address\" needs one value"},
    {"a mapping", "identity-headers: {a: b}\n", "",
     "f line 1: \"identity-headers\" needs a list of texts"},
    {"a mapping in a list", "identity-headers: [a, {b: c}]\n", "",
     "f line 1: \"identity-headers\" needs a list of texts"},
    {"a NUL", "bind-address: \"a\\0b\"\n", "", "f line 1: \"bind-address\" needs one value"},
    {"no mapping", "- a\n", "", "f line 1: not a mapping of flags to values"},
    {"twice", "access-log: true\naccess-log: true\n", "", "f: YAML line 2 column 1: *"},
    {"no YAML", "a: [\n", "", "f: YAML line *"},
};

static void join(const struct ek_proxy_arguments *arguments, char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < arguments->n; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? " " : "", arguments->items[i]);
}

START_TEST(members)
{
    struct ek_proxy_arguments all;
    struct ek_err err = {0};
    char flags[256], got[1024];
    char *argv[8];
    int argc = 0;

    snprintf(flags, sizeof flags, "%s", rows[_i].flags);
    for (char *rest = flags, *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word)
            argv[argc++] = word;
    int rc = ek_proxy_config_merge(&ek_proxy_command, "f", rows[_i].text, strlen(rows[_i].text),
                                   argc, argv, &all, &err);
    join(&all, got, sizeof got);
    const char *expected = rows[_i].expected, *text = rc ? err.message : got;
    size_t len = strlen(expected);
    bool open = len && expected[len - 1] == '*';
    ck_assert_msg(rc ? !strncmp(expected, "f", 1) : strncmp(expected, "f", 1) != 0, "%s", text);
    ck_assert_msg(open ? !strncmp(expected, text, len - 1) : !strcmp(expected, text), "%s", text);
    if (rc)
        ck_assert_int_eq(all.n, 0);
    ek_proxy_arguments_done(&all);
}
END_TEST

/* What was merged is what the command reads. */
START_TEST(the_command_reads_it)
{
    static const char text[] = "drain-time: 20s\naccess-log: true\nidentity-headers: [A, B]\n";
    char flag[] = "--drain-time=7s", *const argv[] = {flag};
    struct ek_proxy_arguments all;
    struct ek_proxy_command_options options = {0};
    struct ek_flags_result result = {0};

    ck_assert_int_eq(
        ek_proxy_config_merge(&ek_proxy_command, "f", text, strlen(text), 1, argv, &all, NULL), 0);
    ck_assert_int_eq(ek_flags_parse(&ek_proxy_command, all.n, all.items, &options, &result, NULL),
                     0);
    ck_assert_int_eq(options.drain_ms, 7000);
    ck_assert_int_eq(options.discovery_ms, 5000);
    ck_assert(options.access_log);
    ck_assert_uint_eq(options.identity_headers.n, 2);
    ek_flags_done(&ek_proxy_command, &options, &result);
    ek_proxy_arguments_done(&all);
}
END_TEST

/* ---- Flags against each other ---- */

static const struct {
    const char *label, *flags, *error; /* "": accepted */
} checks[] = {
    {"tokens", "", ""},
    {"front proxy", "--client-ca-file=c --proxy-client-cert-file=a --proxy-client-key-file=b", ""},
    {"impersonation", "--client-ca-file=c --impersonate", ""},
    {"impersonation of nobody", "--impersonate", "--impersonate requires"},
    {"impersonation and front proxy",
     "--client-ca-file=c --impersonate --proxy-client-cert-file=a --proxy-client-key-file=b",
     "--proxy-client-cert-file and --impersonate exclude each other"},
    {"clients without front proxy", "--client-ca-file=c", "--client-ca-file requires"},
    {"front proxy without clients", "--proxy-client-cert-file=a --proxy-client-key-file=b",
     "--proxy-client-cert-file requires"},
    {"too often", "--discovery-interval=999ms", "--discovery-interval is not"},
    {"often", "--discovery-interval=1s", ""},
    {"rarely", "--discovery-interval=10m", ""},
    {"too rarely", "--discovery-interval=10m1s", "--discovery-interval is not"},
    {"limits of a client",
     "--connections-per-client=10000 --requests-per-client=100000 --response-timeout=1h", ""},
    {"no connection", "--connections-per-client=0", "--connections-per-client is not"},
    {"more than all", "--connections-per-client=10001", "--connections-per-client is not"},
    {"no request", "--requests-per-client=0", "--requests-per-client is not"},
    {"too many requests", "--requests-per-client=100001", "--requests-per-client is not"},
    {"no time", "--response-timeout=0s", "--response-timeout is not"},
    {"too much time", "--response-timeout=61m", "--response-timeout is not"},
    {"a delay", "--shutdown-delay-duration=10m", ""},
    {"a negative delay", "--shutdown-delay-duration=-1s", "--shutdown-delay-duration is not"},
    {"a long delay", "--shutdown-delay-duration=11m", "--shutdown-delay-duration is not"},
    {"a negative drain", "--drain-time=-1s", "--drain-time is negative"},
    {"identity headers", "--identity-headers=X-User,X_User --identity-header-prefixes=X-Extra-",
     ""},
    {"an identity header that is no name", "--identity-headers=X-User,X-Group:",
     "--identity-headers: \"X-Group:\" is not the name of a header"},
    {"no identity header", "--identity-headers=", "--identity-headers: \"\" is not"},
    {"no prefix", "--identity-header-prefixes=", "--identity-header-prefixes: \"\" is not"},
    {"an egress proxy", "--egress-proxy=http://10.0.0.5:3128", ""},
    {"an egress proxy by name", "--egress-proxy=http://egress:3128", "--egress-proxy: not an IP"},
    {"an egress proxy with TLS", "--egress-proxy=https://10.0.0.5:3128",
     "--egress-proxy: not a URL"},
};

START_TEST(flags_against_each_other)
{
    struct ek_proxy_command_options options = {0};
    struct ek_flags_result result = {0};
    struct ek_err err = {0};
    char flags[256];
    char cert[] = "--tls-cert-file=x", key[] = "--tls-private-key-file=y", *argv[8] = {cert, key};
    int argc = 2;

    snprintf(flags, sizeof flags, "%s", checks[_i].flags);
    for (char *rest = flags, *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word)
            argv[argc++] = word;
    ck_assert_int_eq(ek_flags_parse(&ek_proxy_command, argc, argv, &options, &result, &err), 0);
    int rc = ek_proxy_options_check(&options, &err);
    ck_assert_int_eq(rc != 0, *checks[_i].error != '\0');
    ck_assert_msg(!strncmp(rc ? err.message : "", checks[_i].error, strlen(checks[_i].error)), "%s",
                  err.message);
    ek_flags_done(&ek_proxy_command, &options, &result);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("file"), *flags = tcase_create("flags");

    tcase_add_loop_test(tcase, members, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, the_command_reads_it);
    tcase_add_loop_test(flags, flags_against_each_other, 0, (int)EK_ARRAY_SIZE(checks));
    return ek_test_run("proxy_config", tcase, flags);
}
