/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/debug_client.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "api/base/quote.h"
#include "controller/debug/socket.h"
#include "informers/clock.h"

struct asking {
    const char *name;
    int fd;
    int64_t timeout_ms, deadline_ms;
    struct ucred server;
};

/* Appends the abstract names that begin as ours and are listened at, from /proc/net/unix. */
static void name_others(const char *name, struct ek_buf *out)
{
    char line[512];
    FILE *file = fopen("/proc/net/unix", "re");

    while (file && fgets(line, sizeof line, file)) {
        char *at = strrchr(line, ' ');
        /* Flags of a listening socket: __SO_ACCEPTCON. */
        if (!at || !strstr(line, " 00010000 ") || strncmp(at + 1, name, strlen(name)) != 0)
            continue;
        at[strcspn(at, "\n")] = '\0';
        ek_buf_printf(out, "%s", out->len ? ", " : "; others listen at ");
        ek_quote_inner(out, ek_str_from(at + 1));
    }
    if (file)
        fclose(file);
}

static int nobody_listens(const struct asking *a, struct ek_err *err)
{
    EK_AUTO(ek_buf) others;

    ek_buf_init(&others, 256);
    name_others(EK_DEBUG_SOCKET_DEFAULT, &others);
    return ek_err_set(err, EK_E_REFUSED,
                      "no controller listens at %s in this network namespace: it does not run, or "
                      "was started with another --debug-socket%s",
                      a->name, ek_buf_str(&others));
}

/* What the kernel says about the silent process, as "S (sleeping)"; returns buf. */
static const char *process_state(int pid, char *buf, size_t size)
{
    char path[64], line[256];

    snprintf(buf, size, "unknown");
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "State:\t", 7) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        snprintf(buf, size, "%.*s", (int)size - 1, line + 7);
        break;
    }
    if (file)
        fclose(file);
    return buf;
}

static int too_slow(const struct asking *a, struct ek_err *err)
{
    char state[64];

    return ek_err_set(err, EK_E_TIMEOUT,
                      "the controller (process %d, state %s) did not answer within %lld ms: its "
                      "event loop is busy, or the process is stopped",
                      (int)a->server.pid, process_state(a->server.pid, state, sizeof state),
                      (long long)a->timeout_ms);
}

static int broken(const struct asking *a, struct ek_err *err)
{
    return ek_err_set(err, EK_E_IO, "debug socket %s: %s", a->name, strerror(errno));
}

/* Root may ask anybody; others must not take the word of a socket that somebody else opened first.
 * The kernel names the listening process. */
static int check_server(struct asking *a, struct ek_err *err)
{
    socklen_t size = sizeof a->server;

    if (getsockopt(a->fd, SOL_SOCKET, SO_PEERCRED, &a->server, &size))
        return broken(a, err);
    if (a->server.uid == geteuid() || a->server.uid == 0 || geteuid() == 0)
        return 0;
    return ek_err_set(err, EK_E_FORBIDDEN,
                      "debug socket %s belongs to user %u: run the command as that user or as root",
                      a->name, (unsigned)a->server.uid);
}

static int open_connection(struct asking *a, struct ek_err *err)
{
    struct sockaddr_un addr;
    unsigned size = ek_debug_address(a->name, &addr);
    struct timeval limit = {.tv_sec = a->timeout_ms / 1000, .tv_usec = a->timeout_ms % 1000 * 1000};

    a->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (a->fd < 0)
        return broken(a, err);
    /* connect(2) waits while the listener's backlog is full. */
    setsockopt(a->fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(a->fd, (const struct sockaddr *)&addr, size) == 0)
        return check_server(a, err);
    if (errno == ECONNREFUSED)
        return nobody_listens(a, err);
    if (errno == EAGAIN)
        return ek_err_set(err, EK_E_TIMEOUT,
                          "the controller does not take connections at %s: its event loop is busy, "
                          "or the process is stopped",
                          a->name);
    return broken(a, err);
}

static int send_request(const struct asking *a, const char *request, struct ek_err *err)
{
    char line[EK_DEBUG_REQUEST_MAX];
    int len = snprintf(line, sizeof line, "%s\n", request);

    if (len < 0 || (size_t)len >= sizeof line || strcspn(request, "\n") != strlen(request))
        return ek_err_set(err, EK_E_INVAL, "the request is too long, or more than one line");
    ssize_t n = send(a->fd, line, (size_t)len, MSG_NOSIGNAL);
    /* The server may refuse before the request is written: the answer has the reason. */
    if (n == len || errno == EPIPE)
        return 0;
    return broken(a, err);
}

/* Reads until the end, which a refusal may make an abrupt one. */
static int read_answer(const struct asking *a, struct ek_buf *out, struct ek_err *err)
{
    char piece[16384];

    for (;;) {
        struct pollfd ready = {.fd = a->fd, .events = POLLIN};
        int64_t left = a->deadline_ms - ek_monotonic_ms();
        if (left <= 0 || poll(&ready, 1, (int)left) == 0)
            return too_slow(a, err);
        ssize_t n = recv(a->fd, piece, sizeof piece, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno == ECONNRESET && out->len > 0))
            return 0;
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return broken(a, err);
        if (n > 0 && ek_buf_append(out, piece, (size_t)n))
            return ek_err_set(err, out->failed, "the answer is too large");
    }
}

static int parse_answer(const struct ek_buf *text, yyjson_doc **ret_doc, struct ek_err *err)
{
    if (text->len == 0)
        return ek_err_set(err, EK_E_IO, "the controller ended the connection without an answer");
    yyjson_doc *doc = ek_json_parse(ek_buf_str(text), text->len, err);
    if (!doc)
        return ek_err_prefix(err, "the controller's answer");
    const char *refusal = ek_json_str(yyjson_doc_get_root(doc), "error", NULL);
    if (!refusal) {
        *ret_doc = doc;
        return 0;
    }
    ek_err_set(err, EK_E_SERVER, "%s", refusal);
    yyjson_doc_free(doc);
    return EK_E_SERVER;
}

int ek_debug_ask(const char *name, const char *request, int64_t timeout_ms, yyjson_doc **ret_doc,
                 struct ek_err *err)
{
    struct asking a = {.name = name,
                       .fd = -1,
                       .timeout_ms = timeout_ms,
                       .deadline_ms = ek_monotonic_ms() + timeout_ms};
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_DEBUG_ANSWER_MAX);
    int rc = ek_debug_name_check(name, err);
    if (!rc)
        rc = open_connection(&a, err);
    if (!rc)
        rc = send_request(&a, request, err);
    if (!rc)
        rc = read_answer(&a, &text, err);
    if (!rc)
        rc = parse_answer(&text, ret_doc, err);
    if (a.fd >= 0)
        close(a.fd);
    return rc;
}
