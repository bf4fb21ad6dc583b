/* SPDX-License-Identifier: Apache-2.0 */
/* One relay with a client and peers, and a clock in the test's hand: the scaffold of its tests. */
#ifndef TEST_SUPPORT_RELAY_SCENE_H
#define TEST_SUPPORT_RELAY_SCENE_H

#include <check.h>

#include "controller/proxy/relay.h"

struct relay_scene {
    struct ek_relay_config config;
    struct ek_relay *relay;
    struct ek_buf story;  /* the owner's calls */
    struct ek_buf client; /* what the client got */
    struct ek_buf peer;   /* what peers got */
    int64_t now_ms;
    enum ek_relay_fate fate;
    bool later;    /* requests are not decided by the callback */
    bool upgrades; /* the request asks for another protocol */
    bool expects;
};

extern struct relay_scene scene;

/* The fixture of a test. */
void relay_scene_make(void);
void relay_scene_done(void);

/* Everything that can be sent is sent. */
void relay_scene_flush(void);

void from_client(const char *text);
void from_peer(const char *text);

#define EXPECT(what, text)                                                                         \
    do {                                                                                           \
        ck_assert_str_eq(ek_buf_str(&(what)), (text));                                             \
        ek_buf_reset(&(what));                                                                     \
    } while (0)
#define EXPECT_STATE(name) ck_assert_int_eq(ek_relay_state(scene.relay), EK_RELAY_##name)

#define GET     "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
#define HEAD    "REQ\r\n\r\n"
#define CHUNKED "Transfer-Encoding: chunked\r\n"
#define OK      "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
#define OK_     "HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok"

#endif
