/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/pod_event.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

#define S(restarts, id, ready)                                                                     \
    "[{\"name\":\"c\",\"restartCount\":" #restarts ",\"containerID\":\"" id "\",\"ready\":" ready  \
    "}]"

#define IMAGE(tag)                                                                                 \
    "[{\"name\":\"c\",\"restartCount\":0,\"containerID\":\"a\",\"image\":\"x:" tag "\"}]"

/* A pod as COMPONENT/UID/RESOURCE VERSION and its statuses; NULL for none. */
static const struct {
    const char *label, *old, *old_statuses, *now, *statuses;
    bool matters;
} rows[] = {
    {"came", NULL, NULL, "kube-apiserver/u/1", S(0, "a", "true"), true},
    {"went", "kube-apiserver/u/1", S(0, "a", "true"), NULL, NULL, true},
    {"of another component came", NULL, NULL, "kube-scheduler/u/1", S(0, "a", "true"), false},
    {"of another component went", "kube-scheduler/u/1", S(0, "a", "true"), NULL, NULL, false},
    {"the same", "kube-apiserver/u/1", S(0, "a", "true"), "kube-apiserver/u/2", S(0, "a", "true"),
     false},
    {"restarted", "kube-apiserver/u/1", S(0, "a", "true"), "kube-apiserver/u/2", S(1, "a", "true"),
     true},
    {"another container", "kube-apiserver/u/1", S(0, "a", "true"), "kube-apiserver/u/2",
     S(0, "b", "true"), true},
    {"another image", "kube-apiserver/u/1", IMAGE("v1.36.1"), "kube-apiserver/u/2",
     IMAGE("v1.36.2"), true},
    {"the same image", "kube-apiserver/u/1", IMAGE("v1.36.1"), "kube-apiserver/u/2",
     IMAGE("v1.36.1"), false},
    {"ready no more", "kube-apiserver/u/1", S(0, "a", "true"), "kube-apiserver/u/2",
     S(0, "a", "false"), true},
    {"another pod of the name", "kube-apiserver/u/1", S(0, "a", "true"), "kube-apiserver/v/2",
     S(0, "a", "true"), true},
    {"first statuses", "kube-apiserver/u/1", "null", "kube-apiserver/u/2", S(0, "a", "true"), true},
    {"no statuses", "kube-apiserver/u/1", "null", "kube-apiserver/u/2", "[]", false},
    {"a scheduler restarted", "kube-scheduler/u/1", S(0, "a", "true"), "kube-scheduler/u/2",
     S(1, "a", "true"), false},
    {"nonsense", "kube-apiserver/u/1", "[1]", "kube-apiserver/u/2", "[\"x\"]", false},
};

static struct ek_obj *pod(const char *text, const char *statuses)
{
    char component[32], uid[8], version[8], json[512];
    struct ek_obj *obj = NULL;

    if (!text)
        return NULL;
    ck_assert_int_eq(sscanf(text, "%31[^/]/%7[^/]/%7s", component, uid, version), 3);
    snprintf(json, sizeof json,
             "{\"metadata\":{\"name\":\"p\",\"uid\":\"%s\",\"resourceVersion\":\"%s\",\"labels\":{"
             "\"component\":\"%s\"}},\"status\":{\"containerStatuses\":%s}}",
             uid, version, component, statuses);
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &obj, NULL), 0);
    return obj;
}

START_TEST(events)
{
    struct ek_obj *old = pod(rows[_i].old, rows[_i].old_statuses);
    struct ek_obj *now = pod(rows[_i].now, rows[_i].statuses);

    ck_assert_msg(ek_pod_event_matters(old, now) == rows[_i].matters, "%s", rows[_i].label);
    ek_obj_unref(old);
    ek_obj_unref(now);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("pod event");

    tcase_add_loop_test(tcase, events, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("pod_event", tcase);
}
