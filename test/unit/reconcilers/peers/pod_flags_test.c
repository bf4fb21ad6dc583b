/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/pod_flags.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"

#define S "kube-scheduler"

/* Command lines as JSON in which ' stands for ", and what is read of them: versions and gates, or
 * "unread: " and a part of the reason. */
static const struct {
    const char *name, *container, *want;
} rows[] = {
    {"as kubeadm writes it",
     "'command':['" S "','--bind-address=127.0.0.1','--kubeconfig=/x','--leader-elect=true']", ""},
    {"APIs of two flags",
     "'command':['" S "','--runtime-config=api/all=true,a/v1=false','--runtime-config','b/v1']",
     "apis api/all=true,a/v1=false,b/v1"},
    {"without priority and fairness", "'command':['" S "','--enable-priority-and-fairness=0']",
     "unfair"},
    {"with priority and fairness", "'command':['" S "','--enable-priority-and-fairness']", ""},
    {"a plug-in that is disabled",
     "'command':['" S "','--disable-admission-plugins=NodeRestriction,MutatingAdmissionPolicy']",
     "no policies"},
    {"other plug-ins", "'command':['" S "','--disable-admission-plugins','NodeRestriction']", ""},
    {"the deprecated list of plug-ins", "'command':['" S "','--admission-control=NodeRestriction']",
     "no policies"},
    {"a variable for plug-ins is no reason not to read the rest",
     "'command':['" S "','--disable_admission_plugins=$(OFF)','--emulated-version=1.35']",
     "ev 1.35 no policies"},
    {"the node authorizer", "'command':['" S "','--authorization-mode=Node,RBAC']", "nodes"},
    {"other authorizers", "'command':['" S "','--authorization-mode=RBAC']", ""},
    {"APIs for nothing", "'command':['" S "','--runtime-config=']", "apis "},
    {"forward compatible",
     "'command':['" S "','--emulation-forward-compatible','--emulated-version=1.34',"
     "'--runtime-config-emulation-forward-compatible=true']",
     "ev 1.34 forward all named"},
    {"not forward compatible", "'command':['" S "','--emulation-forward-compatible=false']", ""},
    {"neither", "'command':['" S "','--emulation-forward-compatible=2']", "unread: is no boolean"},
    {"a flag without a value before APIs",
     "'command':['" S "','--profiling','--runtime-config=b/v1','--emulated-version=1.34']",
     "ev 1.34 apis b/v1"},
    {"one word", "'command':['" S "','--emulated-version=1.34']", "ev 1.34"},
    {"two words", "'command':['" S "','--emulated-version','1.34','--v=2']", "ev 1.34"},
    {"in args", "'command':['" S "'],'args':['--emulated-version=1.34']", "ev 1.34"},
    {"command and args are one line", "'command':['" S "','--emulated-version'],'args':['1.34']",
     "ev 1.34"},
    {"of kube", "'command':['" S "','--emulated-version=kube=1.34']", "ev 1.34"},
    {"of kube among others", "'command':['" S "','--emulated-version= kube = v1.34 ,wardle=1.2']",
     "ev 1.34"},
    {"of others alone", "'command':['" S "','--emulated-version=wardle=1.2']", ""},
    {"others in a flag of their own",
     "'command':['" S "','--emulated-version=wardle=1.2','--emulated-version=1.34']", "ev 1.34"},
    {"with a v", "'command':['" S "','--emulated-version=v1.34']", "ev 1.34"},
    {"patch 0", "'command':['" S "','--emulated-version=1.34.0']", "ev 1.34"},
    {"a patch is refused", "'command':['" S "','--emulated-version=1.34.1']",
     "unread: --emulated-version=1.34.1 is not of the form"},
    {"no version", "'command':['" S "','--emulated-version=latest']", "unread: =latest is not"},
    {"version 0", "'command':['" S "','--emulated-version=0.1']", "unread: is not of the form"},
    {"an empty value sets nothing", "'command':['" S "','--emulated-version=']", ""},
    {"set twice is refused by the component",
     "'command':['" S "','--emulated-version=1.34','--emulated-version=1.34']",
     "unread: is set already"},
    {"set twice, with and without a component",
     "'command':['" S "','--emulated-version=1.34,kube=1.35']", "unread: is set already"},
    {"no value at the end", "'command':['" S "','--emulated-version']", "unread: has no value"},
    {"underscores", "'command':['" S "','--emulated_version=1.34']", "ev 1.34"},
    {"another flag with the same beginning",
     "'command':['" S "','--emulated-versions=1.34','--emulated-versio=1.33']", ""},
    {"minimum compatibility",
     "'command':['" S "','--emulated-version=1.35','--min-compatibility-version=kube=1.33']",
     "ev 1.35 mcv 1.33"},
    {"gates merge, the last setting of one counts",
     "'command':['" S "','--feature-gates=B=true,A=false','--feature-gates','A=true,C=0']",
     "A=on B=on C=off"},
    {"gates with a component",
     "'command':['" S "','--feature-gates=kube:A=true,wardle:B=true, kube : C = F ,']",
     "A=on C=off"},
    {"a gate without a value", "'command':['" S "','--feature-gates=A']",
     "unread: list of feature gates"},
    {"a gate that is neither on nor off", "'command':['" S "','--feature-gates=A=maybe']",
     "unread: list of feature gates"},
    {"a gate without a name", "'command':['" S "','--feature-gates==true']",
     "unread: list of feature gates"},
    {"a path", "'command':['/usr/local/bin/" S "','--emulated-version=1.34']", "ev 1.34"},
    {"hyperkube", "'command':['/hyperkube','" S "','--emulated-version=1.34']", "ev 1.34"},
    {"go-runner",
     "'command':['/go-runner','--log-file=/x','--also-stdout','/usr/local/bin/" S
     "'],'args':['--emulated-version=1.34']",
     "ev 1.34"},
    {"go-runner with words that nobody can tell",
     "'command':['/go-runner','--log-file','/x','/usr/local/bin/" S "']",
     "unread: its command is go-runner"},
    {"a shell", "'command':['/bin/sh','-c','exec " S " --emulated-version=1.34']",
     "unread: its command is sh, not " S},
    {"another component", "'command':['kube-apiserver','--emulated-version=1.34']",
     "unread: its command is kube-apiserver"},
    {"the image's own command", "'args':['--emulated-version=1.34']",
     "unread: command is that of its image"},
    {"nothing at all", "", "unread: command is that of its image"},
    {"no words", "'command':'" S " --emulated-version=1.34'",
     "unread: command is that of its image"},
    {"a number among the words", "'command':['" S "',7]", "unread: is not a list of strings"},
    {"a zero byte", "'command':['" S "','--emulated-version=1.34\\u00005']",
     "unread: is not a list of strings"},
    {"a variable as the value", "'command':['" S "','--emulated-version=$(EV)']",
     "unread: holds a variable"},
    {"a variable as a flag", "'command':['" S "','$(FLAGS)']", "unread: arguments is a variable"},
    {"a variable as a name", "'command':['" S "','--$(FLAG)=1.34']",
     "unread: arguments is a variable"},
    {"a variable behind a dash", "'command':['" S "','-$(FLAG)']",
     "unread: arguments is a variable"},
    {"a variable in another flag", "'command':['" S "','--secure-port=$(PORT)','--x','$(Y)']", ""},
    {"a flag that may take the next as its value",
     "'command':['" S "','--leader-elect','--emulated-version=1.34']",
     "unread: its flag --leader-elect has no \"=\", so that --emulated-version may be its value"},
    {"a flag that may take another", "'command':['" S "','--leader-elect','--profiling=false']",
     ""},
    {"the value of another flag is no flag", "'command':['" S "','--x','emulated-version=1.34']",
     ""},
    {"short flags", "'command':['" S "','-v','2','-v=3','--emulated-version=1.34']", "ev 1.34"},
    {"behind the end of the flags", "'command':['" S "','--','--emulated-version=1.34']", ""},
    {"a configuration file holds no versions", "'command':['" S "','--config=/etc/x']", ""},
};

static void print(const struct ek_pod_flags *flags, struct ek_buf *out)
{
    char text[EK_MINOR_SIZE];

    if (flags->emulation.known)
        ek_buf_printf(out, "ev %s", ek_minor_format(flags->emulation, text));
    if (flags->min_compat.known)
        ek_buf_printf(out, "%smcv %s", out->len ? " " : "",
                      ek_minor_format(flags->min_compat, text));
    for (size_t i = 0; i < flags->n_gates; i++)
        ek_buf_printf(out, "%s%s=%s", out->len ? " " : "", flags->gates[i].name,
                      flags->gates[i].on ? "on" : "off");
    const struct ek_pod_api_flags *apis = &flags->apis;
    if (apis->runtime_config)
        ek_buf_printf(out, "%sapis %s", out->len ? " " : "", apis->runtime_config);
    if (apis->forward || apis->runtime_forward)
        ek_buf_printf(out, "%sforward%s%s", out->len ? " " : "", apis->forward ? " all" : "",
                      apis->runtime_forward ? " named" : "");
    if (apis->no_fairness)
        ek_buf_printf(out, "%sunfair", out->len ? " " : "");
    if (apis->no_mutating_policies || apis->authorizes_nodes)
        ek_buf_printf(out, "%s%s%s", out->len ? " " : "",
                      apis->no_mutating_policies ? "no policies" : "",
                      apis->authorizes_nodes ? "nodes" : "");
}

static struct ek_obj *make_pod(const char *metadata, const char *container, const char *status)
{
    EK_AUTO(ek_buf) json;
    struct ek_obj *pod = NULL;

    ek_buf_init(&json, 1 << 20);
    ek_buf_printf(&json,
                  "{'kind':'Pod','metadata':{'name':'p','namespace':'kube-system'%s},'spec':{"
                  "'containers':[{'name':'sidecar'},{'name':'" S "'%s%s}]},'status':{%s}}",
                  metadata, *container ? "," : "", container, status);
    for (char *c = json.data; *c; c++)
        if (*c == '\'')
            *c = '"';
    ck_assert_int_eq(ek_obj_parse(ek_buf_str(&json), json.len, &pod, NULL), 0);
    return pod;
}

static void expect(const char *name, const struct ek_pod_flags *flags, const char *want)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 65536);
    print(flags, &out);
    if (strncmp(want, "unread: ", 8) == 0) {
        ck_assert_msg(strstr(flags->unread, want + 8) != NULL, "%s: got \"%s\" %s", name,
                      flags->unread, ek_buf_str(&out));
        ck_assert_msg(out.len == 0, "%s: unread and yet %s", name, ek_buf_str(&out));
    } else {
        ck_assert_msg(!*flags->unread && !strcmp(ek_buf_str(&out), want), "%s: got \"%s\" %s", name,
                      flags->unread, ek_buf_str(&out));
    }
}

static void check(const char *name, struct ek_obj *pod, const char *want)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_pod_flags flags;

    ek_pod_flags_read(pod, S, arena, &flags);
    expect(name, &flags, want);
    ek_arena_free(arena);
    ek_obj_unref(pod);
}

START_TEST(line_row)
{
    check(rows[_i].name, make_pod("", rows[_i].container, "'phase':'Running'"), rows[_i].want);
}
END_TEST

#define MIRROR(hash)                                                                               \
    ",'annotations':{'kubernetes.io/config.mirror':'h','kubernetes.io/config.hash':'" hash "'}"
#define DELETED  ",'deletionTimestamp':'2026-11-20T10:58:00Z'"
#define STATE(s) "'phase':'Running','containerStatuses':[{'name':'" S "','state':{" s "}}]"

static const struct {
    const char *name, *metadata, *status, *want;
} states[] = {
    {"running", "", STATE("'running':{'startedAt':'x'}"), "ev 1.34"},
    {"a state that is not told", "", STATE(""), "ev 1.34"},
    {"restarting", "", STATE("'waiting':{'reason':'CrashLoopBackOff'}"), "unread: not running"},
    {"ended", "", STATE("'terminated':{}"), "unread: not running"},
    {"another container's state does not matter", "",
     "'phase':'Running','containerStatuses':[{'name':'sidecar','state':{'waiting':{}}}]",
     "ev 1.34"},
    {"pending", "", "'phase':'Pending'", "unread: not running"},
    {"a static pod", MIRROR("h"), "'phase':'Running'", "ev 1.34"},
    {"a static pod whose hashes differ", MIRROR("g"), "'phase':'Running'",
     "unread: config.mirror differ"},
    {"a static pod that is deleted", MIRROR("h") DELETED, "'phase':'Running'",
     "unread: being replaced"},
    {"any other pod runs until it has ended", DELETED, "'phase':'Running'", "ev 1.34"},
};

START_TEST(state_row)
{
    check(states[_i].name,
          make_pod(states[_i].metadata, "'command':['" S "','--emulated-version=1.34']",
                   states[_i].status),
          states[_i].want);
}
END_TEST

/* A command line of n flags, one of them ours. */
static struct ek_obj *make_long(size_t n, const char *flag)
{
    EK_AUTO(ek_buf) line;

    ek_buf_init(&line, 1 << 20);
    ek_buf_puts(&line, "'command':['" S "','--emulated-version=1.34'");
    for (size_t i = 2; i < n; i++)
        ek_buf_printf(&line, ",'--%s%zu=true'", flag, i);
    ek_buf_puts(&line, "]");
    return make_pod("", ek_buf_str(&line), "");
}

START_TEST(lines_are_bounded)
{
    check("the longest", make_long(EK_POD_WORDS_MAX, "x"), "ev 1.34");
    check("longer", make_long(EK_POD_WORDS_MAX + 1, "x"), "unread: too long");
    check("too many gates", make_long(EK_POD_GATES_MAX + 3, "feature-gates=G"),
          "unread: list of feature gates");
}
END_TEST

/* Flags as GET /flagz of 1.36 lists them. */
static const struct {
    const char *name, *flags[6], *want;
} flagz[] = {
    {"the defaults",
     {"--emulated-version=[]",
      "--feature-gates=", "--runtime-config=", "--authorization-mode=[AlwaysAllow]",
      "--admission-control=[]", "--enable-priority-and-fairness=true"},
     ""},
    {"versions",
     {"--emulated-version=[1.35]", "--min-compatibility-version=[kube=1.34]"},
     "ev 1.35 mcv 1.34"},
    {"gates that were set", {"--feature-gates=:B=false,kube:A=true,wardle:C=true"}, "A=on B=off"},
    {"APIs", {"--runtime-config=api/beta=true,a/v1=false"}, "apis api/beta=true,a/v1=false"},
    {"lists",
     {"--disable-admission-plugins=[A,MutatingAdmissionPolicy]",
      "--authorization-mode=[Node,RBAC]"},
     "no policiesnodes"},
    {"forward compatible", {"--emulation-forward-compatible=true"}, "forward all"},
    {"without fairness", {"--enable-priority-and-fairness=false"}, "unfair"},
    {"flags that do not matter", {"--advertise-address=<nil>", "--x=$(Y)", "--v"}, ""},
    {"what cannot be read", {"--emulated-version=[latest]"}, "unread: is not of the form"},
};

START_TEST(flagz_row)
{
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_pod_flags flags;
    size_t n = 0;

    while (n < EK_ARRAY_SIZE(flagz[_i].flags) && flagz[_i].flags[n])
        n++;
    ek_pod_flagz_read(flagz[_i].flags, n, arena, &flags);
    expect(flagz[_i].name, &flags, flagz[_i].want);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, flagz_row, 0, (int)EK_ARRAY_SIZE(flagz));
    tcase_add_loop_test(tc, line_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, state_row, 0, (int)EK_ARRAY_SIZE(states));
    tcase_add_test(tc, lines_are_bounded);
    return ek_test_run("pod_flags", tc);
}
