/* SPDX-License-Identifier: Apache-2.0 */
/* A connection of HTTP/2 between a client and owners of streams, all in the test's hand. */
#ifndef TEST_SUPPORT_H2_FIXTURE_H
#define TEST_SUPPORT_H2_FIXTURE_H

#include "controller/proxy/h2.h"
#include "test/support/h2_client.h"

/* What stands for a relay. */
struct h2_owner {
    struct ek_h2_stream *stream; /* NULL: closed */
    struct ek_buf in, out;
    bool unwilling; /* wants no input */
    bool lost;
    int refused; /* the status */
    size_t sent;
};

struct h2_fixture {
    struct ek_h2_conn *h2;
    struct h2_client client;
    struct h2_owner owners[H2_CLIENT_STREAMS]; /* in the order of their requests */
    size_t n_owners;
    int64_t now_ms;
    bool unwilling;     /* owners to come want no input */
    struct ek_buf wire; /* all that the server has sent */
};

extern struct h2_fixture h2f;
extern const struct ek_h2_config h2f_config;

/* window: of h2_client_init; h2f_setup has 0. */
void h2f_setup_window(uint32_t window);
void h2f_setup(void);
void h2f_teardown(void);

/* Sends what there is to the client; returns how much. */
size_t h2f_flush_server(void);
/* Until neither side has anything to send. */
void h2f_flush(void);

/* Adds text to the output of an owner. */
void h2f_answer(size_t i, const char *text);

/* Sends a frame that no library makes. */
void h2f_send_frame(size_t len, int type, int flags, uint32_t id, const void *payload);

/* The connection ends for that reason (ek_h2_abuse), and each owner has learnt that. */
void h2f_expect_calm(const char *abuse);

#define OK "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Y: Z\r\n\r\nok"

#endif
