/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as Kubernetes writes them: metav1.Time (RFC 3339, seconds) and MicroTime (microseconds).
 * Inside the program an instant is an int64_t of milliseconds since the Unix epoch; this module
 * only reads and writes text and never reads a clock. All functions are pure.
 */
#ifndef API_BASE_TIME_H
#define API_BASE_TIME_H

#include <stdint.h>

#define EK_TIME_UNSET INT64_MIN

/* Reads an RFC 3339 time (any fraction, Z or a numeric offset) as milliseconds since the epoch;
 * EK_TIME_UNSET for NULL, "" or anything else. */
int64_t ek_time_parse(const char *s);

/* Buffer sizes that hold every formatted time, NUL included. */
#define EK_TIME_SIZE 40

/* Writes ms as metav1.Time, "2026-11-20T10:58:09Z"; returns buf. */
const char *ek_time_format(int64_t ms, char buf[EK_TIME_SIZE]);

/* Writes ms as metav1.MicroTime, "2026-11-20T10:58:09.123000Z"; returns buf. */
const char *ek_time_format_micro(int64_t ms, char buf[EK_TIME_SIZE]);

/* The days of a month (1 to 12) of the proleptic Gregorian calendar. */
int ek_days_in_month(int64_t year, int month);

/* Writes a length of time for people as kubectl does ("45s", "3m10s", "2h", "4d"); returns buf. */
const char *ek_duration_human(int64_t ms, char buf[EK_TIME_SIZE]);

/*
 * Reads a Go duration ("1.5s", "500ms", "2m30s", "0") as milliseconds into *ret_ms. Returns 0 or
 * EK_E_PARSE. The source of the form is Go's time.ParseDuration, which metav1.Duration uses.
 */
int ek_duration_parse(const char *s, int64_t *ret_ms);

#endif
