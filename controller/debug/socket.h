/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket that serves the debug report: an abstract Unix socket, which needs no
 * file system, no port and no shell, so that `kubectl exec` of this very program works in a pod
 * whose file system is read-only.
 *
 * One request line per connection, one answer, end (controller/debug/debug.h has both). Only
 * processes of the controller's own user and root may ask: an abstract name has no mode bits and is
 * visible in the whole network namespace, so the kernel's word about the peer (SO_PEERCRED,
 * unix(7)) decides, before a byte is read. Connections, request sizes and times are bounded, and
 * nothing waits for a client: a slow one is cut off.
 *
 * When the name is taken (a second controller in the same network namespace), NAME.PID is used.
 *
 * Ownership: the caller owns the socket until ek_debug_socket_close. Threading: the loop thread.
 */
#ifndef CONTROLLER_DEBUG_SOCKET_H
#define CONTROLLER_DEBUG_SOCKET_H

#include "controller/debug/debug.h"

#define EK_DEBUG_SOCKET_DEFAULT "@evenkeel-debug"
#define EK_DEBUG_NAME_SIZE      108 /* sun_path, which "@" takes the first byte of */

#define EK_DEBUG_CONNECTIONS_MAX 8
#define EK_DEBUG_DEADLINE_MS     5000 /* from the connection to the answer taken */

struct ek_debug_socket;

struct ek_debug_socket_config {
    const char *name; /* "@..." */
    /* Answers a line, as ek_debug_answer. */
    void (*answer)(void *ctx, const char *line, size_t len, const struct ek_debug_peer *peer,
                   struct ek_buf *out);
    /* Whether that peer may ask. NULL: own user and root. */
    bool (*may_ask)(void *ctx, const struct ek_debug_peer *peer);
    void *ctx;
    int64_t deadline_ms; /* 0 means EK_DEBUG_DEADLINE_MS */
};

/* Checks a name: "@" and up to 90 printable characters without blanks. Returns 0 or EK_E_INVAL with
 * a message. */
int ek_debug_name_check(const char *name, struct ek_err *err);

/* True when a process of user uid may ask one of user own. */
bool ek_debug_uid_may_ask(unsigned uid, unsigned own);

/* Listens. config is copied, name included. Sets SIGPIPE to be ignored. Errors: EK_E_INVAL for the
 * name, EK_E_EXIST when it and NAME.PID are taken, EK_E_IO for other failures of the system. */
int ek_debug_socket_open(uv_loop_t *loop, const struct ek_debug_socket_config *config,
                         struct ek_debug_socket **ret_socket, struct ek_err *err);

/* The name that is listened at, "@evenkeel-debug"; borrowed. */
const char *ek_debug_socket_name(const struct ek_debug_socket *socket);

/* Stops listening, drops the connections and releases the socket; on_closed (may be NULL) is called
 * from the loop when nothing of it is left. NULL socket is fine. */
void ek_debug_socket_close(struct ek_debug_socket *socket, void (*on_closed)(void *ctx), void *ctx);

/*
 * Fills ret_addr for a name and returns the size to give to bind(2) or connect(2); the name must
 * have passed the check. For the server and its clients.
 */
struct sockaddr_un;
unsigned ek_debug_address(const char *name, struct sockaddr_un *ret_addr);

#endif
