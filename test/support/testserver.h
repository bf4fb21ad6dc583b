/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scripted HTTP/1.1 server on loopback, for tests of clients: plain or TLS, on a port of the
 * system's choice.
 *
 * Each connection has a thread of its own with blocking I/O. For each request the handler is called
 * there and writes the answer, in as many pieces and with as many faults as it likes; what it
 * leaves open is kept alive for the next request. Handlers run in parallel: they share nothing with
 * the test but what they lock, and count with C11 atomics.
 */
#ifndef TEST_SUPPORT_TESTSERVER_H
#define TEST_SUPPORT_TESTSERVER_H

#include <stdbool.h>
#include <stddef.h>

struct testserver;
struct testserver_conn;

/* A request as received; borrowed for the time of the handler. */
struct testserver_request {
    const char *method;
    const char *target;  /* path and query */
    const char *headers; /* header lines as sent, each ending in CR LF */
    const char *body;
    size_t body_size;
    unsigned sequence;       /* of the server's requests, from 1 */
    unsigned connection;     /* of the server's connections, from 1 */
    const char *client_name; /* common name of the client's certificate, "" without */
};

typedef void (*testserver_fn)(void *ctx, const struct testserver_request *request,
                              struct testserver_conn *conn);

struct testserver_options {
    testserver_fn handler;
    void *ctx;
    const char *address;   /* IPv4 or IPv6, to listen at; NULL means 127.0.0.1 */
    unsigned short port;   /* 0: any */
    const char *cert;      /* PEM; NULL means no TLS */
    const char *key;       /* PEM */
    const char *client_ca; /* PEM: client certificates are requested and verified; NULL: not */
    bool require_client;   /* and a connection without one is refused */
};

/* Starts a server; aborts when that fails. */
struct testserver *testserver_start(const struct testserver_options *options);

/* True where the machine has the IPv6 loopback address. */
bool testserver_has_ipv6(void);

/* Breaks all connections, waits for their handlers and releases the server. */
void testserver_stop(struct testserver *server);

unsigned short testserver_port(const struct testserver *server);
unsigned testserver_requests(const struct testserver *server);
unsigned testserver_connections(const struct testserver *server);
/* TLS handshakes that went through: only then has a client shown its certificate. */
unsigned testserver_handshakes(const struct testserver *server);

/* Copies the value of a request's header (first one of that name) into buf; "" when absent. */
const char *testserver_header(const struct testserver_request *request, const char *name, char *buf,
                              size_t size);

/* Writes a whole answer. headers: complete lines with CR LF, "" for none. */
void testserver_reply(struct testserver_conn *conn, int status, const char *headers,
                      const char *body);

/* Writes bytes as they are. */
void testserver_write(struct testserver_conn *conn, const void *data, size_t size);

/* Ends the connection after the handler: in order, or by a TCP reset. */
void testserver_close(struct testserver_conn *conn);
void testserver_reset(struct testserver_conn *conn);

/* Blocks until the server is stopped or the client goes away. */
void testserver_stall(struct testserver_conn *conn);

#endif
