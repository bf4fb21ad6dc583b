/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/telemetry/log.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "controller/telemetry/log_encode.h"
#include "informers/clock.h"

/* A record beyond this is cut. */
#define LINE_MAX_SIZE ((size_t)64 * 1024)

/* How long a line may wait for the reader of a full pipe before it is given up. */
#define STUCK_MS 50

/* What a record changes: loggers are passed as constants. */
struct sink {
    struct ek_log_config config;
    atomic_int level;
    atomic_ullong dropped;
    pthread_mutex_t limits; /* guards every ek_log_limit that is used with this sink */
};

struct ek_log {
    struct sink *sink; /* owned */
};

int64_t ek_log_wall_clock(void *ctx)
{
    (void)ctx;
    return ek_wall_ns();
}

struct ek_log *ek_log_new(const struct ek_log_config *config)
{
    struct ek_log *log = ek_xalloc(sizeof *log);

    log->sink = ek_xalloc(sizeof *log->sink);
    log->sink->config = *config;
    if (!config->now_ns)
        log->sink->config.now_ns = ek_log_wall_clock;
    atomic_init(&log->sink->level, config->level);
    atomic_init(&log->sink->dropped, 0);
    pthread_mutex_init(&log->sink->limits, NULL);
    return log;
}

void ek_log_free(struct ek_log *log)
{
    if (!log)
        return;
    pthread_mutex_destroy(&log->sink->limits);
    ek_free(log->sink);
    ek_free(log);
}

int ek_log_level(const struct ek_log *log)
{
    return log ? atomic_load(&log->sink->level) : EK_LOG_LEVEL_PANIC;
}

void ek_log_set_level(struct ek_log *log, int level)
{
    if (log)
        atomic_store(&log->sink->level, level);
}

bool ek_log_enabled(const struct ek_log *log, int verbosity)
{
    return log && verbosity <= ek_log_level(log);
}

unsigned long long ek_log_dropped(const struct ek_log *log)
{
    return log ? atomic_load(&log->sink->dropped) : 0;
}

/* Writes the whole line, waiting a moment when a pipe is full; false when it had to be given up. */
static bool write_line(int fd, const char *line, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, line, len);
        if (n >= 0) {
            line += n;
            len -= (size_t)n;
            continue;
        }
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (errno == EAGAIN && poll(&ready, 1, STUCK_MS) > 0)
            continue;
        if (errno != EINTR)
            return false;
    }
    return true;
}

/* zap's names: lower case in JSON, upper case on a console. */
static const char *level_name(int verbosity, bool upper, char buf[24])
{
    if (verbosity <= EK_LOG_LEVEL_ERROR)
        return upper ? "ERROR" : "error";
    if (verbosity == EK_LOG_LEVEL_INFO)
        return upper ? "INFO" : "info";
    if (verbosity == EK_LOG_LEVEL_DEBUG)
        return upper ? "DEBUG" : "debug";
    snprintf(buf, 24, upper ? "LEVEL(%d)" : "Level(%d)", -verbosity);
    return buf;
}

/* The error, then the fields of the record; first is true when none precede. */
static void put_fields(struct ek_buf *line, const struct ek_log *log, const struct ek_err *err,
                       const struct ek_log_field *fields, bool first)
{
    enum ek_log_encoder encoder = log->sink->config.encoder;

    if (err) {
        ek_log_encode_fields(line, EK_FIELDS(EK_S("error", err->message)), encoder, first);
        first = false;
    }
    ek_log_encode_fields(line, fields, encoder, first);
}

static void put_json(struct ek_buf *line, const struct ek_log *log, int verbosity, const char *msg,
                     const struct ek_err *err, const struct ek_log_field *fields)
{
    const struct ek_log_config *config = &log->sink->config;
    char level[24];

    ek_buf_printf(line, "{\"level\":\"%s\",\"ts\":", level_name(verbosity, false, level));
    ek_log_encode_time(line, config->now_ns(config->now_ctx), config->time_encoding, true);
    ek_log_encode_fields(line, EK_FIELDS(EK_S("msg", msg)), EK_LOG_JSON, false);
    put_fields(line, log, err, fields, false);
    ek_buf_puts(line, "}\n");
}

static void put_console(struct ek_buf *line, const struct ek_log *log, int verbosity,
                        const char *msg, const struct ek_err *err,
                        const struct ek_log_field *fields)
{
    const struct ek_log_config *config = &log->sink->config;
    char level[24];

    ek_log_encode_time(line, config->now_ns(config->now_ctx), config->time_encoding, false);
    ek_buf_printf(line, "\t%s\t", level_name(verbosity, true, level));
    ek_buf_puts(line, msg);
    if (err || fields->kind != EK_LOG_KIND_END) {
        ek_buf_puts(line, "\t{");
        put_fields(line, log, err, fields, true);
        ek_buf_puts(line, "}");
    }
    ek_buf_puts(line, "\n");
}

static void put_record(struct ek_buf *line, const struct ek_log *log, int verbosity,
                       const char *msg, const struct ek_err *err, const struct ek_log_field *fields)
{
    if (log->sink->config.encoder == EK_LOG_CONSOLE)
        put_console(line, log, verbosity, msg, err, fields);
    else
        put_json(line, log, verbosity, msg, err, fields);
}

void ek_log_write(const struct ek_log *log, int verbosity, const char *msg,
                  const struct ek_err *err, const struct ek_log_field *fields)
{
    EK_AUTO(ek_buf) line;

    ek_buf_init(&line, LINE_MAX_SIZE);
    if (!ek_log_enabled(log, verbosity))
        return;
    put_record(&line, log, verbosity, msg, err, fields);
    if (line.failed) {
        /* Too long even with cut values: what must be known still fits. */
        ek_buf_reset(&line);
        put_record(&line, log, verbosity, msg, err, EK_FIELDS(EK_B("truncated", true)));
    }
    if (!write_line(log->sink->config.fd, ek_buf_str(&line), line.len))
        atomic_fetch_add(&log->sink->dropped, 1);
}

bool ek_log_limit_pass(const struct ek_log *log, struct ek_log_limit *limit,
                       unsigned long long *ret_suppressed)
{
    if (!log)
        return false;
    int64_t now_ms = log->sink->config.now_ns(log->sink->config.now_ctx) / 1000000;
    pthread_mutex_lock(&log->sink->limits);
    /* A clock that steps back starts a new period too. */
    if (now_ms - limit->start_ms >= limit->period_ms || now_ms < limit->start_ms) {
        limit->start_ms = now_ms;
        limit->count = 0;
    }
    bool pass = limit->count < limit->burst;
    if (pass) {
        limit->count++;
        *ret_suppressed = limit->suppressed;
        limit->suppressed = 0;
    } else {
        limit->suppressed++;
    }
    pthread_mutex_unlock(&log->sink->limits);
    return pass;
}

int ek_log_level_parse(const char *s, int *ret_level, struct ek_err *err)
{
    static const struct {
        const char *name;
        int level;
    } names[] = {{"debug", EK_LOG_LEVEL_DEBUG},
                 {"info", EK_LOG_LEVEL_INFO},
                 {"error", EK_LOG_LEVEL_ERROR},
                 {"panic", EK_LOG_LEVEL_PANIC}};
    char *end;

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        if (!strcasecmp(s, names[i].name)) {
            *ret_level = names[i].level;
            return 0;
        }
    }
    errno = 0;
    long level = strtol(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || errno || level < 1 || level > 127)
        return ek_err_set(err, EK_E_INVAL,
                          "invalid log level \"%s\": use debug, info, error, panic or an integer "
                          "from 1 to 127",
                          s);
    *ret_level = (int)level;
    return 0;
}

int ek_log_encoder_parse(const char *s, enum ek_log_encoder *ret_encoder, struct ek_err *err)
{
    if (!strcasecmp(s, "json"))
        *ret_encoder = EK_LOG_JSON;
    else if (!strcasecmp(s, "console"))
        *ret_encoder = EK_LOG_CONSOLE;
    else
        return ek_err_set(err, EK_E_INVAL, "invalid log encoder \"%s\": use json or console", s);
    return 0;
}

int ek_log_time_parse(const char *s, enum ek_log_time *ret_time, struct ek_err *err)
{
    static const char *const names[EK_LOG_TIME_MAX] = {
        [EK_LOG_TIME_RFC3339] = "rfc3339", [EK_LOG_TIME_RFC3339NANO] = "rfc3339nano",
        [EK_LOG_TIME_ISO8601] = "iso8601", [EK_LOG_TIME_EPOCH] = "epoch",
        [EK_LOG_TIME_MILLIS] = "millis",   [EK_LOG_TIME_NANO] = "nano",
    };

    for (size_t i = 0; i < EK_LOG_TIME_MAX; i++) {
        if (!strcasecmp(s, names[i])) {
            *ret_time = (enum ek_log_time)i;
            return 0;
        }
    }
    return ek_err_set(err, EK_E_INVAL,
                      "invalid log time encoding \"%s\": use epoch, millis, nano, iso8601, "
                      "rfc3339 or rfc3339nano",
                      s);
}

int ek_log_stacktrace_parse(const char *s, struct ek_err *err)
{
    if (!strcasecmp(s, "info") || !strcasecmp(s, "error") || !strcasecmp(s, "panic"))
        return 0;
    return ek_err_set(err, EK_E_INVAL, "invalid stack trace level \"%s\": use info, error or panic",
                      s);
}
