/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "informers/client/file.h"

#define PROC_MAX ((size_t)1 << 20)

static bool put_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool put = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    if (fd >= 0)
        close(fd);
    return put;
}

/* A step that failed; what is constant text, so that a child's is the parent's as well. */
struct failure {
    const char *what;
    int why; /* errno */
};

static struct failure failed(const char *what)
{
    return (struct failure){what, errno};
}

static bool loopback_up(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {.ifr_name = "lo"};
    bool up = fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0;

    request.ifr_flags |= IFF_UP | IFF_RUNNING;
    up = up && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
    if (fd >= 0)
        close(fd);
    return up;
}

/* Moves the process with a user namespace; what is NULL where all steps succeed. The user keeps its
 * number, so that files keep their owner (user_namespaces.7). */
static struct failure enter_as_user(void)
{
    /* Not known in the new namespace before the maps are written. */
    EK_AUTOFREE char *uid = ek_xasprintf("%u %u 1", (unsigned)geteuid(), (unsigned)geteuid());
    EK_AUTOFREE char *gid = ek_xasprintf("%u %u 1", (unsigned)getegid(), (unsigned)getegid());
    const char *const maps[][2] = {
        {"/proc/self/setgroups", "deny"}, {"/proc/self/uid_map", uid}, {"/proc/self/gid_map", gid}};
    static const char *const steps[] = {"setgroups of the user namespace cannot be denied",
                                        "the uid map cannot be written",
                                        "the gid map cannot be written"};

    if (unshare(CLONE_NEWUSER) != 0)
        return failed("the user namespace cannot be created");
    for (size_t i = 0; i < EK_ARRAY_SIZE(maps); i++)
        if (!put_file(maps[i][0], maps[i][1]))
            return failed(steps[i]);
    if (unshare(CLONE_NEWNET) != 0)
        return failed("the network namespace cannot be created");
    return loopback_up() ? (struct failure){0} : failed("the loopback interface cannot be set up");
}

/* Why a child could not do it: a system may permit the namespace, and nothing in it (Ubuntu:
 * kernel.apparmor_restrict_unprivileged_userns). */
static struct failure try_as_user(void)
{
    static const char process[] = "no process can try it";
    struct failure failure = {process, ECHILD}; /* of a child that is killed */
    int fds[2];

    if (pipe2(fds, O_CLOEXEC) != 0)
        return failed(process);
    pid_t pid = fork();
    if (pid == 0) {
        failure = enter_as_user();
        _exit(write(fds[1], &failure, sizeof failure) == (ssize_t)sizeof failure ? 0 : 1);
    }
    if (pid < 0)
        failure = failed(process);
    close(fds[1]);
    while (pid > 0 && read(fds[0], &failure, sizeof failure) < 0 && errno == EINTR) {
    }
    close(fds[0]);
    while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
    }
    return failure;
}

int ek_rehearse_network_enter(struct ek_err *err)
{
    bool as_user = unshare(CLONE_NEWNET) != 0;
    struct failure failure = as_user ? try_as_user() : (struct failure){0};

    if (failure.what)
        return ek_err_set(err, EK_E_FORBIDDEN, "no network namespace: %s: %s", failure.what,
                          strerror(failure.why));
    if (as_user)
        failure = enter_as_user();
    else if (!loopback_up())
        failure = failed("the loopback interface cannot be set up");
    if (failure.what)
        return ek_err_set(err, EK_E_IO, "no network namespace: %s: %s", failure.what,
                          strerror(failure.why));
    return 0;
}

/* ---- Counters ---- */

/* "  eth0: 1 2 3 4 5 6 7 8 9 10 ...": the second number behind the eight of receiving is of packets
 * that were sent (net/core/net-procfs.c of Linux). */
static void count_line(const char *line, struct ek_rehearse_traffic *traffic)
{
    const char *name = line + strspn(line, " "), *colon = strchr(name, ':');
    size_t eol = strcspn(name, "\n");
    uint64_t value = 0;

    if (!colon || (size_t)(colon - name) > eol || (colon - name == 2 && !strncmp(name, "lo", 2)))
        return;
    traffic->interfaces++;
    const char *p = colon + 1;
    for (int i = 0; i < 10; i++) {
        char *end;
        value = strtoull(p, &end, 10);
        if (end == p)
            return;
        p = end;
    }
    traffic->sent += value;
}

void ek_rehearse_network_count_dev(const char *dev, struct ek_rehearse_traffic *traffic)
{
    while (*dev) {
        count_line(dev, traffic);
        dev += strcspn(dev, "\n");
        dev += *dev == '\n';
    }
}

/* The column of a name in a line "Ip: A B C", read in the line "Ip: 1 2 3" behind it. */
static uint64_t column(const char *names, const char *name)
{
    size_t eol = strcspn(names, "\n"), at = 0, len = strlen(name);
    const char *values = names + eol + (names[eol] == '\n'), *p = names;
    bool found = false;

    for (; p < names + eol && !found; p += strcspn(p, " \n"), p += *p == ' ')
        found = !strncmp(p, name, len) && strchr(" \n", p[len]) ? true : (at++, false);
    for (; found && at && *values && *values != '\n'; at--) {
        values += strcspn(values, " \n");
        values += *values == ' ';
    }
    return found ? strtoull(values, NULL, 10) : 0;
}

uint64_t ek_rehearse_network_no_route(const char *snmp)
{
    static const char six[] = "Ip6OutNoRoutes";
    uint64_t n = 0;

    for (const char *line = snmp; *line;) {
        size_t eol = strcspn(line, "\n");
        if (!strncmp(line, six, sizeof six - 1))
            n += strtoull(line + sizeof six - 1, NULL, 10);
        if (!strncmp(line, "Ip: ", 4) && !strncmp(line + eol, "\nIp: ", 5) &&
            !(line[4] >= '0' && line[4] <= '9'))
            n += column(line, "OutNoRoutes");
        line += eol;
        line += *line == '\n';
    }
    return n;
}

void ek_rehearse_network_read(struct ek_rehearse_traffic *ret_traffic)
{
    static const char *const snmp[] = {"/proc/self/net/snmp", "/proc/self/net/snmp6"};
    EK_AUTOFREE char *dev = NULL;

    *ret_traffic = (struct ek_rehearse_traffic){0};
    if (!ek_file_read("/proc/self/net/dev", PROC_MAX, &dev, NULL, NULL))
        ek_rehearse_network_count_dev(dev, ret_traffic);
    for (size_t i = 0; i < EK_ARRAY_SIZE(snmp); i++) {
        EK_AUTOFREE char *text = NULL;
        if (!ek_file_read(snmp[i], PROC_MAX, &text, NULL, NULL))
            ret_traffic->no_route += ek_rehearse_network_no_route(text);
    }
}

int ek_rehearse_network_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), port = 0;

    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0 &&
        getsockname(fd, (struct sockaddr *)&address, &len) == 0)
        port = ntohs(address.sin_port);
    if (fd >= 0)
        close(fd);
    return port;
}
