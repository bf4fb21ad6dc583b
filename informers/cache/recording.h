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
 * `evenkeel check --record` (controller/commands/record.c) also writes the following, all of which
 * is optional:
 *
 *   an entry with "error"          the request failed: "kind" is a text of ek_strerror, "file" may
 *                                   be absent
 *   an entry with "certificate"    {"fingerprint", "names": [..], "notAfter", "verified"} of the
 *                                   connection
 *   peers.json                     "time": when the cluster was read (MicroTime); "configured":
 *                                   "ip:port" of the configured server; "probed": false where not
 *                                   every instance has answered
 *   an instance in peers.json      "address", also of a component; "proven": false for an API
 * server that has not proven its identity; "noToken": {"kind", "message"} where there was no token
 * to send
 *
 * An answer is found by its path and the best clause of its recorded Accept header. Files are read
 * on request, by blocking calls, as one-shot commands need. Not thread safe.
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

/* Time at which the cluster was read, in milliseconds; EK_TIME_UNSET if the recording has none. */
int64_t ek_recording_time(const struct ek_recording *recording);

/* "ip:port" of the configured server; NULL if the recording has none. Borrowed. */
const char *ek_recording_configured(const struct ek_recording *recording);

/* False if the recording states that some instances have not answered. */
bool ek_recording_is_probed(const struct ek_recording *recording);

/* Sets a tap (copied) that gets the answers of instances, too: a recording can be recorded again.
 */
void ek_recording_set_tap(struct ek_recording *recording, const struct ek_probe_tap *tap);

/* Number of recorded instances. */
size_t ek_recording_size(const struct ek_recording *recording);

/* Makes a probe of instance i from the recorded answers, as of the time now_ms. Returns the probe,
 * one reference. *ret_address gets "ip:port", or "<component>/<hostname>" for a component without a
 * recorded address; borrowed. */
struct ek_probe *ek_recording_probe(struct ek_recording *recording, size_t i, int64_t now_ms,
                                    const char **ret_address);

/* The component of instance i: "kube-apiserver". Borrowed. */
const char *ek_recording_component(const struct ek_recording *recording, size_t i);

#endif
