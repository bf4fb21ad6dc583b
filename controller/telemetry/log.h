/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Structured logging: one line per record, in the two shapes that controller-runtime's users know
 * (pkg/log/zap). Logging does no tracing and keeps no files.
 *
 * A record has a level, a time, a constant message and typed key/values. Messages
 * are string literals (the macros enforce it); whatever comes from outside is a value, and values
 * are always escaped, so no record can forge another or send control characters to a terminal.
 *
 *     ek_log_info(log, "Probed API server", EK_S("address", a), EK_I("status", 200));
 *
 * Verbosity is a number as in logr: 0 is info, 1 is debug, n > 1 is more; errors have their own
 * level and are written unless the level is panic.
 *
 * Threading: every function may be called from any thread; a record
 * is one write(2). Secrets and bodies must not be passed in at all.
 */
#ifndef CONTROLLER_TELEMETRY_LOG_H
#define CONTROLLER_TELEMETRY_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/err.h"
#include "api/base/mem.h"

struct ek_log;

enum ek_log_encoder {
    EK_LOG_JSON,    /* {"level":"info","ts":...,"msg":...,...} */
    EK_LOG_CONSOLE, /* ts LEVEL msg {...}, separated by tabs */
    EK_LOG_ENCODER_MAX,
};

enum ek_log_time {
    EK_LOG_TIME_RFC3339,
    EK_LOG_TIME_RFC3339NANO,
    EK_LOG_TIME_ISO8601,
    EK_LOG_TIME_EPOCH,  /* seconds with a fraction */
    EK_LOG_TIME_MILLIS, /* milliseconds with a fraction */
    EK_LOG_TIME_NANO,
    EK_LOG_TIME_MAX,
};

/* Values of the level setting: a record is written when its verbosity is not above it. */
#define EK_LOG_LEVEL_PANIC (-4)
#define EK_LOG_LEVEL_ERROR (-2)
#define EK_LOG_LEVEL_INFO  0
#define EK_LOG_LEVEL_DEBUG 1

struct ek_log_config {
    enum ek_log_encoder encoder;
    enum ek_log_time time_encoding;
    int level;                    /* EK_LOG_LEVEL_* or a verbosity above 1 */
    int fd;                       /* where lines go; 2 for stderr. Borrowed */
    int64_t (*now_ns)(void *ctx); /* wall clock, ns since the epoch; any thread */
    void *now_ctx;
};

enum ek_log_kind {
    EK_LOG_KIND_END,
    EK_LOG_KIND_STR,
    EK_LOG_KIND_INT,
    EK_LOG_KIND_UINT,
    EK_LOG_KIND_COUNT, /* unsigned; left out when it is 0 */
    EK_LOG_KIND_DOUBLE,
    EK_LOG_KIND_BOOL,
    EK_LOG_KIND_MS, /* a length of time, written as seconds */
    EK_LOG_KIND_MAX,
};

struct ek_log_field {
    const char *key; /* a literal */
    enum ek_log_kind kind;
    union {
        const char *s; /* borrowed for the call; NULL is written as null */
        int64_t i;
        uint64_t u;
        double d;
        bool b;
    };
};

/* Field makers, for the macros below: string, signed, unsigned, double, boolean, milliseconds. */
#define EK_FIELD__(name, k, member, value)                                                         \
    ((struct ek_log_field){.key = (name), .kind = EK_LOG_KIND_##k, .member = (value)})
#define EK_S(name, value)  EK_FIELD__(name, STR, s, value)
#define EK_I(name, value)  EK_FIELD__(name, INT, i, value)
#define EK_U(name, value)  EK_FIELD__(name, UINT, u, value)
#define EK_F(name, value)  EK_FIELD__(name, DOUBLE, d, value)
#define EK_B(name, value)  EK_FIELD__(name, BOOL, b, value)
#define EK_MS(name, value) EK_FIELD__(name, MS, i, value)
#define EK_FIELDS(...)                                                                             \
    ((const struct ek_log_field[]){__VA_ARGS__ __VA_OPT__(, ){.kind = EK_LOG_KIND_END}})

/* The wall clock that main uses for now_ns. */
int64_t ek_log_wall_clock(void *ctx);

/* Returns an owned logger. */
struct ek_log *ek_log_new(const struct ek_log_config *config);

/* NULL is fine. */
void ek_log_free(struct ek_log *log);
EK_CLEANUP_PTR(ek_log, ek_log_free)

/* Reads and switches the level. */
int ek_log_level(const struct ek_log *log);
void ek_log_set_level(struct ek_log *log, int level);

/* True when a record of that verbosity would be written; for callers that prepare values. */
bool ek_log_enabled(const struct ek_log *log, int verbosity);

/* Lines that could not be written because the reader of fd is stuck. */
unsigned long long ek_log_dropped(const struct ek_log *log);

/*
 * Writes one record. msg is constant text; fields end with kind END. err (may be NULL) adds the
 * field "error". A NULL log writes nothing. Use the macros.
 */
void ek_log_write(const struct ek_log *log, int verbosity, const char *msg,
                  const struct ek_err *err, const struct ek_log_field *fields);

#define ek_log_info(log, msg, ...)                                                                 \
    ek_log_write((log), EK_LOG_LEVEL_INFO, "" msg, NULL, EK_FIELDS(__VA_ARGS__))
#define ek_log_debug(log, msg, ...)                                                                \
    ek_log_write((log), EK_LOG_LEVEL_DEBUG, "" msg, NULL, EK_FIELDS(__VA_ARGS__))
#define ek_log_error(log, err, msg, ...)                                                           \
    ek_log_write((log), EK_LOG_LEVEL_ERROR, "" msg, (err), EK_FIELDS(__VA_ARGS__))

/* A limit for what remote input can trigger, one call site or one subject at it: burst records per
 * period. */
struct ek_log_limit {
    unsigned burst;
    int64_t period_ms;
    int64_t start_ms; /* of the current period; zero at first */
    unsigned count;   /* records in it */
    unsigned long long suppressed;
};

/* True when the call site may write now; then *ret_suppressed is how many records were held back
 * since the last one that was written. Uses the clock of log. */
bool ek_log_limit_pass(const struct ek_log *log, struct ek_log_limit *limit,
                       unsigned long long *ret_suppressed);

/* As ek_log_error, at most limit->burst records per limit->period_ms of that limit, which the
 * caller keeps; the field "suppressed" is the number of records left out before, if any. */
#define ek_log_error_within(log, err, limit, msg, ...)                                             \
    do {                                                                                           \
        unsigned long long held_ = 0;                                                              \
        if (ek_log_limit_pass((log), (limit), &held_))                                             \
            ek_log_error(log, err, msg,                                                            \
                         EK_FIELD__("suppressed", COUNT, u, held_) __VA_OPT__(, ) __VA_ARGS__);    \
    } while (0)

/* As ek_log_info and ek_log_error, at most burst records per period_ms from this place in the
 * source; the field "suppressed" is the number of records left out before, if any. */
#define ek_log_info_limited(log, max_burst, max_period_ms, msg, ...)                               \
    do {                                                                                           \
        static struct ek_log_limit limit_ = {.burst = (max_burst), .period_ms = (max_period_ms)};  \
        unsigned long long held_ = 0;                                                              \
        if (ek_log_limit_pass((log), &limit_, &held_))                                             \
            ek_log_info(log, msg,                                                                  \
                        EK_FIELD__("suppressed", COUNT, u, held_) __VA_OPT__(, ) __VA_ARGS__);     \
    } while (0)
#define ek_log_error_limited(log, err, max_burst, max_period_ms, msg, ...)                         \
    do {                                                                                           \
        static struct ek_log_limit limit_ = {.burst = (max_burst), .period_ms = (max_period_ms)};  \
        ek_log_error_within(log, err, &limit_, msg __VA_OPT__(, ) __VA_ARGS__);                    \
    } while (0)

/*
 * Read the values of --zap-log-level (debug, info, error, panic, or an integer above 0),
 * --zap-encoder (json, console), --zap-time-encoding and --zap-stacktrace-level (info, error,
 * panic; accepted because deployments pass it, without effect: C has no stack to print). Letter
 * case does not matter. Return 0 or EK_E_INVAL with a message that lists what is allowed.
 */
int ek_log_level_parse(const char *s, int *ret_level, struct ek_err *err);
int ek_log_encoder_parse(const char *s, enum ek_log_encoder *ret_encoder, struct ek_err *err);
int ek_log_time_parse(const char *s, enum ek_log_time *ret_time, struct ek_err *err);
int ek_log_stacktrace_parse(const char *s, struct ek_err *err);

#endif
