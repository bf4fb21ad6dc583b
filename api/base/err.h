/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error value that every fallible function takes last.
 *
 * A function that can fail for more than one reason returns 0 or a negative EK_E code and fills
 * the caller's struct ek_err; the caller may pass NULL when the code is enough. The struct is
 * fixed size, owns nothing, is never allocated for, and is left untouched on success. Layers add
 * context with ek_err_prefix and pass the code on; only the runner and main log errors, once.
 */
#ifndef API_BASE_ERR_H
#define API_BASE_ERR_H

#include <stdbool.h>
#include <stdint.h>

#define EK_ERRORS(X)                                                                               \
    X(INVAL, "invalid input")                                                                      \
    X(PARSE, "malformed data")                                                                     \
    X(NOMEM, "out of memory")                                                                      \
    X(LIMIT, "limit exceeded")                                                                     \
    X(NOENT, "not found")                                                                          \
    X(EXIST, "already exists")                                                                     \
    X(CONFLICT, "conflict")                                                                        \
    X(GONE, "resource version too old")                                                            \
    X(UNAUTHORIZED, "unauthorized")                                                                \
    X(FORBIDDEN, "forbidden")                                                                      \
    X(THROTTLED, "throttled")                                                                      \
    X(SERVER, "server error")                                                                      \
    X(HTTP, "unexpected answer")                                                                   \
    X(REFUSED, "connection refused")                                                               \
    X(TIMEOUT, "timed out")                                                                        \
    X(TLS, "TLS failure")                                                                          \
    X(NET, "connection failed")                                                                    \
    X(CANCELED, "canceled")                                                                        \
    X(IO, "input/output error")                                                                    \
    X(UNSUPPORTED, "not supported")

enum ek_error_index {
    EK_E_NONE__,
#define X(name, text) EK_E_##name##__,
    EK_ERRORS(X)
#undef X
};

/* The codes, negative so that they share the return value with success. */
enum ek_error {
#define X(name, text) EK_E_##name = -EK_E_##name##__,
    EK_ERRORS(X)
#undef X
};

struct ek_err {
    int code;               /* EK_E_*, 0 while nothing failed */
    int http_status;        /* of the server's answer, 0 when there was none */
    int64_t retry_after_ms; /* from Retry-After or Status.details, 0 when absent */
    char reason[64];        /* metav1 Status reason ("Expired", "Forbidden"), "" when absent */
    char message[768];      /* one line for people */
};

/* Fills err (may be NULL) with code and a printf message, clearing the rest; returns code. */
int ek_err_set(struct ek_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts "<formatted>: " before the message of err (may be NULL); returns err's code, or 0. */
int ek_err_prefix(struct ek_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The constant text of a code; "unknown error" for any other number. */
const char *ek_strerror(int code);

/*
 * The code that stands for an HTTP status and a metav1 Status reason (may be NULL), following
 * apimachinery's IsNotFound, IsConflict, IsGone and so on: the reason decides where it is known.
 * Returns 0 for 2xx.
 */
int ek_err_from_status(int http_status, const char *reason);

/* True for failures after which the same request may succeed later: throttled, server, network. */
bool ek_err_is_retryable(int code);

#endif
