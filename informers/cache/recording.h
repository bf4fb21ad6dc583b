/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording: a folder of a cluster's answers, read instead of the cluster (support cases).
 *
 * Layout:
 *   index.json                     [{"file", "path", "accept", "status", "headers": {..},
 *                                    "error": {"kind", "message"}, "certificate": {..}}, ..]
 *   peers.json                     {"apiservers": [{"hostname", "address"}, ..],
 *                                   "components": [{"component", "hostname"}, ..]}
 *   peers/<hostname>/index.json    the same list for what one API server answered
 *   peers/<hostname>/discovery/index.json     likewise, may be absent
 *   components/<hostname>/index.json          what another component's port answered
 *
 * `evenkeel check --record` writes more (controller/commands/record.c), and each of it may be
 * absent:
 *
 *   an entry with "error"          the request failed: "kind" is a text of ek_strerror, "file" may
 *                                   be absent
 *   an entry with "certificate"    {"fingerprint", "names": [..], "notAfter", "verified"} of the
 *                                   connection
 *   peers.json                     "time": when the cluster was read (MicroTime); "configured":
 *                                   "ip:port" of the configured server; "probed": false where not
 *                                   every instance has answered
 *   an instance in peers.json      "address" of a component too; "proven": false for an API server
 *                                   that has not proven its identity; "noToken": {"kind",
 * "message"} where there was no token to show
 *
 * An answer is found by its path and the best clause of the Accept header that was recorded for
 * it. Files are read on request, by blocking calls: this is for one-shot commands.
 * Not thread safe.
 */
#ifndef INFORMERS_CACHE_RECORDING_H
#define INFORMERS_CACHE_RECORDING_H

#include "api/obj.h"
#include "informers/cache/informer.h"
#include "informers/client/client.h"
#include "informers/probe/session.h"

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

/* When the cluster was read, in milliseconds; EK_TIME_UNSET where the recording does not say. */
int64_t ek_recording_time(const struct ek_recording *recording);

/* "ip:port" of the configured server; NULL where the recording does not say. Borrowed. */
const char *ek_recording_configured(const struct ek_recording *recording);

/* False where the recording says that not every instance has answered. */
bool ek_recording_is_probed(const struct ek_recording *recording);

/* Shows the answers that instances gave to tap (copied), too: for a recording of a recording. */
void ek_recording_set_tap(struct ek_recording *recording, const struct ek_probe_tap *tap);

/* The instances that were recorded. */
size_t ek_recording_size(const struct ek_recording *recording);

/* Puts the questions of a full round to instance i; now_ms stamps the answers. Returns the probe,
 * one reference; *ret_address gets "ip:port" of an API server, that or "<component>/<hostname>" of
 * another component; borrowed. */
struct ek_probe *ek_recording_probe(struct ek_recording *recording, size_t i, int64_t now_ms,
                                    const char **ret_address);

/* The component of instance i: "kube-apiserver". Borrowed. */
const char *ek_recording_component(const struct ek_recording *recording, size_t i);

#endif
