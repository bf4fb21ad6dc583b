/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How log records become text: JSON strings, numbers and the six time encodings. Pure; used by
 * log.c only. Buffers are bounded by the caller; an append that does not fit cuts the line.
 */
#ifndef CONTROLLER_TELEMETRY_LOG_ENCODE_H
#define CONTROLLER_TELEMETRY_LOG_ENCODE_H

#include "api/base/buf.h"
#include "controller/telemetry/log.h"

/* Longest string value that is written whole; the rest is replaced by "...". */
#define EK_LOG_VALUE_MAX 4096

/* Appends "key":value pairs, each but a first one after sep ("," or ", "); colon is ":" or ": ".
 * first is true when nothing precedes them. */
void ek_log_encode_fields(struct ek_buf *out, const struct ek_log_field *fields,
                          enum ek_log_encoder encoder, bool first);

/* Appends the time: a JSON number, or text (quoted when quoted is true). */
void ek_log_encode_time(struct ek_buf *out, int64_t now_ns, enum ek_log_time encoding, bool quoted);

#endif
