/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of /proc/net, and a network of a user's own. */
#include "controller/rehearse/network.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

#define HEAD                                                                                       \
    "Inter-|   Receive                                                |  Transmit\n"               \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "     \
    "drop fifo colls carrier compressed\n"
#define LO                                                                                         \
    "    lo:     200       2    0    0    0     0          0         0      200       2    0\n"

static const struct {
    const char *name, *text;
    unsigned interfaces;
    uint64_t sent;
} devs[] = {
    {"the loopback interface alone", HEAD LO, 0, 0},
    {"another interface",
     HEAD LO "  eth0: 1000 10 0 0 0 0 0 0 2000 21 0 0 0 0 0 0\nlong0:1 2 3 4 5 6 7 8 9 4 0\n", 2,
     25},
    {"a line that ends early", HEAD "  eth0: 1 2 3\n", 1, 0},
    {"nothing", "", 0, 0},
};

START_TEST(dev_row)
{
    struct ek_rehearse_traffic traffic = {0};

    ek_rehearse_network_count_dev(devs[_i].text, &traffic);
    ck_assert_msg(traffic.interfaces == devs[_i].interfaces && traffic.sent == devs[_i].sent,
                  "%s: %u %lu", devs[_i].name, traffic.interfaces, (unsigned long)traffic.sent);
}
END_TEST

static const struct {
    const char *name, *text;
    uint64_t no_route;
} snmps[] = {
    {"IPv4",
     "Ip: Forwarding OutDiscards OutNoRoutes ReasmTimeout\nIp: 2 64 7 0\nIcmp: A\nIcmp: 3\n", 7},
    {"the last column", "Ip: A OutNoRoutes\nIp: 1 9\n", 9},
    {"without the column", "Ip: A B\nIp: 1 9\n", 0},
    {"without the values", "Ip: A OutNoRoutes\n", 0},
    {"too few values", "Ip: A OutNoRoutes\nIp: 1\n", 0},
    {"IPv6", "Ip6InReceives                   	4\nIp6OutNoRoutes                  	3\n", 3},
    {"nothing", "", 0},
};

START_TEST(snmp_row)
{
    ck_assert_msg(ek_rehearse_network_no_route(snmps[_i].text) == snmps[_i].no_route, "%s",
                  snmps[_i].name);
}
END_TEST

#define USER 65532

/* In a process of a user: enters the network. */
static int enter_as(int number)
{
    uid_t user = (uid_t)number;
    struct ek_rehearse_traffic traffic;
    struct ek_err err = {0};

    if (geteuid() == 0 && (setgroups(0, NULL) || setresgid(user, user, user) ||
                           setresuid(user, user, user) || prctl(PR_SET_DUMPABLE, 1)))
        return 2;
    user = geteuid();
    int rc = ek_rehearse_network_enter(&err);
    if (rc == EK_E_FORBIDDEN) { /* the system permits no namespace: the process is where it was */
        puts(err.message);
        return geteuid() == user ? 0 : 3;
    }
    ek_rehearse_network_read(&traffic);
    return rc ? (puts(err.message), 4) : traffic.interfaces ? 5 : geteuid() != user ? 6 : 0;
}

/* The exit code of a function in a process of its own. */
static int in_a_process(int (*function)(int), int arg)
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int code = function(arg);
        fflush(stdout);
        _exit(code);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    return WEXITSTATUS(status);
}

START_TEST(a_user_may_enter)
{
    ck_assert_int_eq(in_a_process(enter_as, USER), 0);
}
END_TEST

/* Steps that fail in a user namespace whose limit of network namespaces is 0. The files of /proc
 * that are ordinary ones take what is written. */
static const struct {
    const char *name;
    bool no_users; /* the limit of user namespaces is 0 as well */
    unsigned files;
    const char *message;
} steps[] = {
    {"user namespace", true, 0, "the user namespace cannot be created: No space left on device"},
    {"setgroups", false, 0,
     "setgroups of the user namespace cannot be denied: No such file or directory"},
    {"uid map", false, 1, "the uid map cannot be written: No such file or directory"},
    {"gid map", false, 2, "the gid map cannot be written: No such file or directory"},
    {"network namespace", false, 3,
     "the network namespace cannot be created: No space left on device"},
};

static bool put(const char *path, int flags, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0600);
    bool put = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return put;
}

/* A process that is root of a user namespace, with a /proc that has only files of the row. */
static bool make_step(int row)
{
    static const char *const files[] = {"/proc/self/setgroups", "/proc/self/uid_map",
                                        "/proc/self/gid_map"};
    EK_AUTOFREE char *uid = ek_xasprintf("0 %u 1", (unsigned)geteuid());
    EK_AUTOFREE char *gid = ek_xasprintf("0 %u 1", (unsigned)getegid());
    bool made = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && put(files[0], 0, "deny") &&
                put(files[1], 0, uid) && put(files[2], 0, gid) &&
                put("/proc/sys/user/max_net_namespaces", 0, "0") &&
                (!steps[row].no_users || put("/proc/sys/user/max_user_namespaces", 0, "0")) &&
                mount("none", "/proc", "tmpfs", 0, NULL) == 0 && mkdir("/proc/self", 0700) == 0;

    for (unsigned i = 0; made && i < steps[row].files; i++)
        made = put(files[i], O_CREAT, "-");
    return made;
}

#define NOT_PERMITTED 77

static int fail_step(int row)
{
    EK_AUTOFREE char *expected = ek_xasprintf("no network namespace: %s", steps[row].message);
    struct ek_err err = {0};

    if (!make_step(row))
        return NOT_PERMITTED;
    int rc = ek_rehearse_network_enter(&err);
    if (rc == EK_E_FORBIDDEN && !strcmp(err.message, expected))
        return 0;
    printf("%d: %s\n", rc, err.message);
    return 1;
}

START_TEST(step_row)
{
    int code = in_a_process(fail_step, _i);

    if (code == NOT_PERMITTED)
        printf("skipped: %s: no user namespace can be prepared here\n", steps[_i].name);
    else
        ck_assert_msg(code == 0, "%s", steps[_i].name);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("network");

    tcase_add_loop_test(tcase, dev_row, 0, EK_ARRAY_SIZE(devs));
    tcase_add_test(tcase, a_user_may_enter);
    tcase_add_loop_test(tcase, step_row, 0, EK_ARRAY_SIZE(steps));
    tcase_add_loop_test(tcase, snmp_row, 0, EK_ARRAY_SIZE(snmps));
    return ek_test_run("rehearse network", tcase);
}
