/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of /proc/net. */
#include "controller/rehearse/network.h"

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

int main(void)
{
    TCase *tcase = tcase_create("network");

    tcase_add_loop_test(tcase, dev_row, 0, EK_ARRAY_SIZE(devs));
    tcase_add_loop_test(tcase, snmp_row, 0, EK_ARRAY_SIZE(snmps));
    return ek_test_run("rehearse network", tcase);
}
