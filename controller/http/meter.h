/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a listener counts: its budget of bytes, its connections, and why it ended those that did not
 * end by themselves. One meter per listener, or one per serving thread of it; controller/
 * meter_metrics.h writes meters as metrics. Threading: any thread.
 */
#ifndef CONTROLLER_HTTP_METER_H
#define CONTROLLER_HTTP_METER_H

#include "controller/http/budget.h"

/* The reasons why a connection was ended, with their label values. */
#define EK_HTTP_FAULTS(X)                                                                          \
    X(NONE, "")                                                                                    \
    X(FULL, "full")           /* every place was taken by requests under way */                    \
    X(SOURCE, "source")       /* the source had its share of places, all with such requests */     \
    X(MEMORY, "memory")       /* there was no room for its bytes */                                \
    X(EVICTED, "evicted")     /* it made room for a newer one */                                   \
    X(HANDSHAKE, "handshake") /* the handshake took too long */                                    \
    X(HEAD, "slow_head")      /* the head took too long */                                         \
    X(BODY, "slow_body")      /* the body took too long, or came below the minimum rate */         \
    X(READER, "slow_reader")  /* the client did not read the answer, or below that rate */

enum ek_http_fault {
#define X(name, text) EK_HTTP_FAULT_##name,
    EK_HTTP_FAULTS(X)
#undef X
        EK_HTTP_FAULT_MAX,
};

struct ek_http_meter {
    struct ek_http_budget budget;
    atomic_size_t connections; /* open now */
    atomic_ullong rejected[EK_HTTP_FAULT_MAX];
};

/* The label value; "" for none. */
const char *ek_http_fault_name(enum ek_http_fault fault);

#endif
