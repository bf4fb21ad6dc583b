/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers that the proxy gives itself: a metav1 Status with the HTTP status, as an API server
 * writes one (apimachinery 1.36, pkg/api/errors/errors.go). Pure; any thread.
 *
 * A Retry-After makes client-go send the same request again, a write too
 * (client-go 1.36, rest/with_retry.go:checkWait). An answer therefore has one only where no API
 * server can have carried out the request.
 */
#ifndef RECONCILERS_PROXY_ANSWER_H
#define RECONCILERS_PROXY_ANSWER_H

#include "api/base/buf.h"

#define EK_PROXY_MESSAGE_SIZE 320

struct ek_proxy_answer {
    int code;                            /* HTTP status; 0: there is no answer */
    const char *reason;                  /* constant: "ServiceUnavailable" */
    int retry_after_s;                   /* 0: without Retry-After */
    char message[EK_PROXY_MESSAGE_SIZE]; /* one line of printable text */
};

/* Sets *answer, with the reason that belongs to code; the message by printf rules, made one clean
 * line. */
void ek_proxy_answer_set(struct ek_proxy_answer *answer, int code, int retry_after_s,
                         const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Appends the body, one line of JSON; Content-Type is "application/json". Returns what
 * ek_buf_append returns. */
int ek_proxy_answer_write(const struct ek_proxy_answer *answer, struct ek_buf *out);

#endif
