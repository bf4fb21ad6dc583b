/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of /proc/net, and a network of a user's own. */
#include "controller/rehearse/network.h"

#include <grp.h>
#include <stdio.h>
#include <sys/prctl.h>
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
static int enter_as(uid_t user)
{
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

START_TEST(a_user_may_enter)
{
    int status = 0;
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int code = enter_as(USER);
        fflush(stdout);
        _exit(code);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("network");

    tcase_add_loop_test(tcase, dev_row, 0, EK_ARRAY_SIZE(devs));
    tcase_add_test(tcase, a_user_may_enter);
    tcase_add_loop_test(tcase, snmp_row, 0, EK_ARRAY_SIZE(snmps));
    return ek_test_run("rehearse network", tcase);
}
