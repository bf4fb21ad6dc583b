/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SUPPORT_HTTP_STATE_H
#define TEST_SUPPORT_HTTP_STATE_H

#include "controller/http/conn.h"

/* The name of the state that a connection is in; static. */
static inline const char *test_http_state(const struct ek_http_conn *conn)
{
    static const char *const names[EK_HTTP_CONN_STATE_MAX] = {
#define X(name) #name,
        EK_HTTP_CONN_STATES(X)
#undef X
    };

    return names[ek_http_conn_state(conn)];
}

#endif
