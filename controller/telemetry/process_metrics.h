/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process_* series that every Prometheus client exports, read from /proc on demand (Linux,
 * proc(5)). What cannot be read keeps its last value. Used from the thread that scrapes.
 */
#ifndef CONTROLLER_TELEMETRY_PROCESS_METRICS_H
#define CONTROLLER_TELEMETRY_PROCESS_METRICS_H

#include "controller/telemetry/metrics.h"

struct ek_process_metrics;

/* Registers process_cpu_seconds_total, _resident_memory_bytes, _virtual_memory_bytes, _open_fds,
 * _max_fds and _start_time_seconds with a collector that reads below proc_root ("/proc"; copied).
 * The result must outlive the last exposition of metrics. */
struct ek_process_metrics *ek_process_metrics_new(struct ek_metrics *metrics,
                                                  const char *proc_root);
void ek_process_metrics_free(struct ek_process_metrics *process);

/* Registers evenkeel_build_info{version,commit} with the value 1. */
void ek_build_info_register(struct ek_metrics *metrics, const char *version, const char *commit);

#endif
