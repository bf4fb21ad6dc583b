/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of the flags of a kube-apiserver, and of what a server refuses. */
#include "reconcilers/rehearse/flags.h"

#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"

#define ARGS_MAX 8
#define ALL_SIZE 4096

static struct ek_arena *arena;

static void setup(void)
{
    arena = ek_arena_new((size_t)1 << 20);
}

static void teardown(void)
{
    ek_arena_free(arena);
}

/* "--a=1 --b=2", and behind " - " what was removed: "--c has a URL". */
static void put(const struct ek_rehearse_flags *flags, char *out, size_t size)
{
    struct ek_buf buf;

    ek_buf_init(&buf, size - 1);
    for (size_t i = 0; i < flags->n; i++)
        ek_buf_printf(&buf, "%s%s", i ? " " : "", flags->list[i]);
    for (size_t i = 0; i < flags->n_removed; i++)
        ek_buf_printf(&buf, "%s%s %s", i ? "; " : " - ", flags->removed[i].flag,
                      flags->removed[i].why);
    memcpy(out, ek_buf_str(&buf), buf.len + 1);
    ek_buf_done(&buf);
}

static const struct {
    const char *name;
    const char *args[ARGS_MAX];
    const char *expected;
} makes[] = {
    {"what decides is kept",
     {"kube-apiserver", "--feature-gates=A=true,B=false", "--runtime-config=api/all=true",
      "--service-cluster-ip-range=10.96.0.0/16"},
     "--feature-gates=A=true,B=false --runtime-config=api/all=true "
     "--service-cluster-ip-range=10.96.0.0/16"},
    {"a value may be a word of its own",
     {"--feature-gates", "A=true", "--profiling", "--allow-privileged=true"},
     "--feature-gates=A=true --profiling --allow-privileged=true"},
    {"addresses and certificates are replaced without a word",
     {"--etcd-servers=https://10.0.0.1:2379", "--advertise-address=10.0.0.1",
      "--tls-cert-file=/etc/k/a.crt", "--emulated-version=1.35", "--v=4"},
     ""},
    {"what dials out is removed and named",
     {"--audit-webhook-config-file=/a", "--tracing-config-file=/t", "--oidc-issuer-url=https://o",
      "--egress-selector-config-file=/e"},
     " - --audit-webhook-config-file writes or sends audit events; --tracing-config-file sends "
     "traces; --oidc-issuer-url asks another server who a client is; "
     "--egress-selector-config-file names a proxy"},
    {"webhooks are taken out of lists",
     {"--enable-admission-plugins=NodeRestriction,ValidatingAdmissionWebhook",
      "--authorization-mode=Node,RBAC,Webhook"},
     "--enable-admission-plugins=NodeRestriction --authorization-mode=Node,RBAC - "
     "--enable-admission-plugins ValidatingAdmissionWebhook asks another server, or needs a file "
     "that "
     "is removed; --authorization-mode Webhook asks another server, or needs a file that is "
     "removed"},
    {"a list of webhooks alone goes",
     {"--enable-admission-plugins=ImagePolicyWebhook"},
     " - --enable-admission-plugins ImagePolicyWebhook asks another server, or needs a file "
     "that is removed"},
    {"unknown flags with a URL, a path or an address are removed",
     {"--new-sink=https://a", "--new-file=/etc/x", "--new-peer=10.0.0.1:9", "--new-host=a.b:443",
      "--new-six=fd00::1", "--new-files=a=/x"},
     " - --new-sink has a URL; --new-file names a file; --new-peer has an address; --new-host has "
     "an address; --new-six has an address; --new-files names a file"},
    {"unknown flags with another value are kept for the server",
     {"--new-count=3", "--new-time=1m0s", "--new-switch", "--new-word=a:b", "--new-version=1.36.2"},
     "--new-count=3 --new-time=1m0s --new-switch --new-word=a:b --new-version=1.36.2"},
    {"the issuer of tokens is ours", {"--service-account-issuer=https://i.example"}, ""},
    {"an underscore is a dash",
     {"--etcd_servers=a:1,b:2", "--feature_gates=A=true"},
     "--feature-gates=A=true"},
    {"nothing leads to aggregated API servers",
     {"--enable-aggregator-routing=true", "--enable-aggregator-routing"},
     " - --enable-aggregator-routing is for connections to aggregated API servers; "
     "--enable-aggregator-routing is for connections to aggregated API servers"},
    {"no flag at all", {"kube-apiserver", "-", "--"}, ""},
};

START_TEST(make_row)
{
    struct ek_rehearse_flags flags;
    char got[ALL_SIZE];
    size_t n = 0;

    while (n < ARGS_MAX && makes[_i].args[n])
        n++;
    ek_rehearse_flags_make(makes[_i].args, n, arena, &flags);
    put(&flags, got, sizeof got);
    ck_assert_msg(!strcmp(got, makes[_i].expected), "%s: %s", makes[_i].name, got);
}
END_TEST

static const char *const manifest[] = {"--feature-gates=A=true,kube:B=false", "--old-flag=3",
                                       "--runtime-config=batch/v9=true,x.io/v1=true,api/all=true",
                                       "--enable-admission-plugins=Gone,NodeRestriction",
                                       "--request-timeout=abc"};

static const struct {
    const char *sentence, *dropped, *left;
} drops[] = {
    {"unknown flag: --old-flag", "flag --old-flag",
     "--feature-gates=A=true,kube:B=false "
     "--runtime-config=batch/v9=true,x.io/v1=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction --request-timeout=abc"},
    {"cannot set feature gate A to true, feature is locked to false", "feature gate A",
     "--feature-gates=kube:B=false --old-flag=3 "
     "--runtime-config=batch/v9=true,x.io/v1=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction --request-timeout=abc"},
    {"[unrecognized feature gate: A, unrecognized feature gate: B]",
     "feature gate A, feature gate B",
     "--old-flag=3 --runtime-config=batch/v9=true,x.io/v1=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction --request-timeout=abc"},
    {"invalid value of A=true, err: strconv", "feature gate A=true",
     "--feature-gates=kube:B=false --old-flag=3 "
     "--runtime-config=batch/v9=true,x.io/v1=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction --request-timeout=abc"},
    {"group version batch/v9 that has not been registered", "API batch/v9",
     "--feature-gates=A=true,kube:B=false --old-flag=3 "
     "--runtime-config=x.io/v1=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction --request-timeout=abc"},
    {"unknown api groups batch/v9,x.io/v1", "API batch/v9, API x.io/v1",
     "--feature-gates=A=true,kube:B=false --old-flag=3 --runtime-config=api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction --request-timeout=abc"},
    {"cannot enable version x.io/v1 in runtime-config because all the resources have been "
     "introduced after the current version 1.34.",
     "API x.io/v1",
     "--feature-gates=A=true,kube:B=false --old-flag=3 "
     "--runtime-config=batch/v9=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction --request-timeout=abc"},
    {"enable-admission-plugins plugin \"Gone\" is unknown", "admission plug-in Gone",
     "--feature-gates=A=true,kube:B=false --old-flag=3 "
     "--runtime-config=batch/v9=true,x.io/v1=true,api/all=true "
     "--enable-admission-plugins=NodeRestriction --request-timeout=abc"},
    {"invalid argument \"abc\" for \"--request-timeout\" flag: time: invalid duration \"abc\"",
     "flag --request-timeout",
     "--feature-gates=A=true,kube:B=false --old-flag=3 "
     "--runtime-config=batch/v9=true,x.io/v1=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction"},
    {"--request-timeout invalid, allowed values: 1s", "flag --request-timeout",
     "--feature-gates=A=true,kube:B=false --old-flag=3 "
     "--runtime-config=batch/v9=true,x.io/v1=true,api/all=true "
     "--enable-admission-plugins=Gone,NodeRestriction"},
    {"context deadline exceeded", NULL, NULL},
    {"unknown flag: --of-another", NULL, NULL},
    {"cannot set feature gate ", NULL, NULL},
};

START_TEST(drop_row)
{
    struct ek_rehearse_flags flags;
    char before[ALL_SIZE], got[ALL_SIZE];

    ek_rehearse_flags_make(manifest, EK_ARRAY_SIZE(manifest), arena, &flags);
    put(&flags, before, sizeof before);
    const char *dropped = ek_rehearse_flags_drop(&flags, drops[_i].sentence);
    put(&flags, got, sizeof got);
    ck_assert_pstr_eq(dropped, drops[_i].dropped);
    ck_assert_msg(!strcmp(got, drops[_i].left ? drops[_i].left : before), "%s: %s",
                  drops[_i].sentence, got);
}
END_TEST

START_TEST(strip_leaves_the_storage)
{
    static const char *const args[] = {"--etcd-prefix=/x", "--feature-gates=A=true",
                                       "--service-cluster-ip-range=fd00::/112"};
    struct ek_rehearse_flags flags;
    char got[ALL_SIZE];

    ek_rehearse_flags_make(args, EK_ARRAY_SIZE(args), arena, &flags);
    ck_assert(ek_rehearse_flags_strip(&flags));
    put(&flags, got, sizeof got);
    ck_assert_str_eq(got, "--etcd-prefix=/x --service-cluster-ip-range=fd00::/112");
    ck_assert(!ek_rehearse_flags_strip(&flags));
}
END_TEST

START_TEST(the_last_value_counts)
{
    static const char *const args[] = {"--a=1", "--a", "2", "--ab=3", "--b"};

    ck_assert_str_eq(ek_rehearse_flag_value(args, 5, "a"), "2");
    ck_assert_ptr_null(ek_rehearse_flag_value(args, 5, "b"));
    ck_assert_ptr_null(ek_rehearse_flag_value(args, 5, "c"));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("flags");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, make_row, 0, EK_ARRAY_SIZE(makes));
    tcase_add_loop_test(tcase, drop_row, 0, EK_ARRAY_SIZE(drops));
    tcase_add_test(tcase, strip_leaves_the_storage);
    tcase_add_test(tcase, the_last_value_counts);
    return ek_test_run("rehearse flags", tcase);
}
