/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer of recordings (informers/cache/recording.h): `evenkeel check --record`.
 *
 * A recording is for a report of a bug: whoever gets it sees the report that the cluster gave.
 * It has the objects that the report was made of, without what record_strip.h leaves out; of each
 * API server /version, /readyz, the discovery documents, the document /openapi/v3/version and the
 * three metrics that are read; of each other component these metrics; and why a request failed. No
 * Secret or ConfigMap is read, and no header of a request, no token and no other metric is written.
 *
 * The folder gets the mode 0700, files 0600. Nothing is written before ek_record_write. Threading:
 * one thread; ek_record_write blocks.
 */
#ifndef CONTROLLER_COMMANDS_RECORD_H
#define CONTROLLER_COMMANDS_RECORD_H

#include "controller/skew/watch.h"

struct ek_record;

/* Makes the folder dir, or takes one that is there, is empty and belongs to the user. Errors:
 * EK_E_EXIST for a folder that is not empty, EK_E_IO; the message names the folder. */
int ek_record_open(const char *dir, struct ek_record **ret_record, struct ek_err *err);

/* NULL is fine. */
void ek_record_close(struct ek_record *record);

/* What collects the answers of the instances; good as long as the record is. */
const struct ek_probe_tap *ek_record_tap(struct ek_record *record);

/* Notes an instance that the report is about: with probe NULL it has not answered. */
void ek_record_instance(struct ek_record *record, const char *component, const char *address,
                        const struct ek_probe *probe);

/* Writes all that was collected, and the objects of snapshot. Errors: EK_E_IO, EK_E_LIMIT. */
int ek_record_write(struct ek_record *record, const struct ek_skew_snapshot *snapshot,
                    struct ek_err *err);

#endif
