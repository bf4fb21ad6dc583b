/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: a folder of a cluster's answers, read instead of the cluster (support cases).
 *
 * Layout:
 *   index.json                     [{"file", "path", "accept", "status", "headers": {..}}, ..]
 *   peers.json                     {"apiservers": [{"hostname", "address"}, ..],
 *                                   "components": [{"component", "hostname"}, ..]}
 *   peers/<hostname>/index.json    the same list for what one API server answered
 *   peers/<hostname>/discovery/index.json     likewise, may be absent
 *   components/<hostname>/index.json          what another component's port answered
 *
 * An answer is found by its path and the best clause of the Accept header that was recorded for
 * it. Files are read when they are asked for, by blocking calls: this is for one-shot commands.
 * Not thread safe.
 */
#ifndef INFORMERS_RECORDING_H
#define INFORMERS_RECORDING_H

#include "api/obj.h"
#include "informers/client.h"
#include "informers/informer.h"
#include "informers/probe.h"

struct ek_recording;

/* Opens the folder dir. Errors: EK_E_NOENT when it holds no index.json, EK_E_PARSE for a list that
 * cannot be read; the message names the file. */
int ek_recording_open(const char *dir, struct ek_recording **ret_recording, struct ek_err *err);
void ek_recording_close(struct ek_recording *recording);

/*
 * Reads the recorded list of a resource: *ret_items gets *ret_n references (release each, then
 * ek_free the array). A selector of the resource is applied here. Errors: EK_E_NOENT when the
 * recording has no such list, or what the server answered.
 */
int ek_recording_list(struct ek_recording *recording, const struct ek_resource *resource,
                      struct ek_obj ***ret_items, size_t *ret_n, struct ek_err *err);

/* The instances that were recorded. */
size_t ek_recording_size(const struct ek_recording *recording);

/* Puts the questions of a full round to instance i; now_ms stamps the answers. Returns the probe,
 * one reference; *ret_address gets "ip:port" of an API server, "<component>/<hostname>" of another
 * component; borrowed. */
struct ek_probe *ek_recording_probe(struct ek_recording *recording, size_t i, int64_t now_ms,
                                    const char **ret_address);

#endif
