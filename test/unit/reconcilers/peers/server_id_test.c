/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/server_id.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

/* Expected values: servers' own leases (recorded); the
 * 1.26 form computed with coreutils' sha256sum and base32. */
static const struct {
    const char *name;
    enum ek_server_id_form form;
    const char *hostname, *id;
} formats[] = {
    {"check value", EK_SERVER_ID_1_27, "kind-control-plane",
     "apiserver-c7uylvfxlbqccnk6myfkwetzze"},
    {"recorded cp-a", EK_SERVER_ID_1_27, "cp-a", "apiserver-tqsyvnc7rs47fayzipsuqpfg4m"},
    {"recorded cp-b", EK_SERVER_ID_1_27, "cp-b", "apiserver-imkgstwjs6opnbwk2ixluu6fiq"},
    {"recorded cp-c", EK_SERVER_ID_1_27, "cp-c", "apiserver-npbtitaxiimvptb5rwlxt4xbci"},
    {"recorded cp-d", EK_SERVER_ID_1_27, "cp-d", "apiserver-lpnadns4dn72xpiyniku2a62ka"},
    {"recorded cp-e", EK_SERVER_ID_1_27, "cp-e", "apiserver-frrz727axxn375quuhkd72yq44"},
    {"recorded cp-f", EK_SERVER_ID_1_27, "cp-f", "apiserver-a7ec2hkhsb4o4vcy7beklab56u"},
    {"1.26", EK_SERVER_ID_1_26, "cp-a", "kube-apiserver-hxhuy3rsmzqt3nvdbfa4wlpycq"},
    {"no form", EK_SERVER_ID_NONE, "cp-a", ""},
};

START_TEST(format_row)
{
    char buf[EK_SERVER_ID_SIZE];
    ek_server_id_format(formats[_i].form, formats[_i].hostname, buf);
    ck_assert_msg(!strcmp(buf, formats[_i].id), "%s: got %s, want %s", formats[_i].name, buf,
                  formats[_i].id);
}
END_TEST

static const struct {
    const char *name, *id;
    enum ek_server_id_form form;
} forms[] = {
    {"current", "apiserver-tqsyvnc7rs47fayzipsuqpfg4m", EK_SERVER_ID_1_27},
    {"1.26", "kube-apiserver-tqsyvnc7rs47fayzipsuqpfg4m", EK_SERVER_ID_1_26},
    {"too short", "apiserver-tqsyvnc7rs47fayzipsuqpfg4", EK_SERVER_ID_NONE},
    {"too long", "apiserver-tqsyvnc7rs47fayzipsuqpfg4ma", EK_SERVER_ID_NONE},
    {"upper case", "apiserver-TQSYVNC7RS47FAYZIPSUQPFG4M", EK_SERVER_ID_NONE},
    {"digit outside base32", "apiserver-1qsyvnc7rs47fayzipsuqpfg4m", EK_SERVER_ID_NONE},
    {"other name", "kube-controller-manager", EK_SERVER_ID_NONE},
    {"prefix only", "apiserver-", EK_SERVER_ID_NONE},
    {"empty", "", EK_SERVER_ID_NONE},
};

START_TEST(form_row)
{
    ck_assert_msg(ek_server_id_form(forms[_i].id) == forms[_i].form, "%s", forms[_i].name);
}
END_TEST

START_TEST(matching)
{
    ck_assert(ek_server_id_matches("apiserver-tqsyvnc7rs47fayzipsuqpfg4m", "cp-a"));
    ck_assert(!ek_server_id_matches("apiserver-tqsyvnc7rs47fayzipsuqpfg4m", "cp-b"));
    ck_assert(!ek_server_id_matches("apiserver-tqsyvnc7rs47fayzipsuqpfg4m", NULL));
    ck_assert(!ek_server_id_matches("kube-apiserver-tqsyvnc7rs47fayzipsuqpfg4m", "cp-a"));
    ck_assert(!ek_server_id_matches("", ""));
}
END_TEST

START_TEST(long_hostnames)
{
    char buf[EK_SERVER_ID_SIZE];
    size_t len = 70000;
    EK_AUTOFREE char *hostname = ek_xalloc(len + 1);

    memset(hostname, 'a', len);
    ck_assert_str_eq(ek_server_id_format(EK_SERVER_ID_1_27, hostname, buf), "");
    hostname[300] = '\0';
    ck_assert(ek_server_id_form(ek_server_id_format(EK_SERVER_ID_1_27, hostname, buf)) ==
              EK_SERVER_ID_1_27);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, format_row, 0, (int)EK_ARRAY_SIZE(formats));
    tcase_add_loop_test(tc, form_row, 0, (int)EK_ARRAY_SIZE(forms));
    tcase_add_test(tc, matching);
    tcase_add_test(tc, long_hostnames);
    return ek_test_run("server_id", tc);
}
