/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one component instance answered when it was asked: the result of a probe, as data.
 *
 * A probe asks one API server (or another component's metrics port) a handful of questions. Each
 * question has an answer of its own: it may be unanswered, failed or answered, and a failure keeps
 * the last good answer with its time, so that "what did it say, and how old is that" can always be
 * told. The prober (informers/prober.h) fills these from the network, a recording fills them from
 * files; reconcilers only read them.
 *
 * A struct ek_probe is immutable once published and refcounted.
 */
#ifndef INFORMERS_PROBE_H
#define INFORMERS_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/discovery.h"
#include "api/err.h"
#include "api/time.h"
#include "api/version.h"

/* The state of one question. */
struct ek_probe_answer {
    int64_t good_at_ms;  /* wall clock of the last good answer, EK_TIME_UNSET when there is none */
    int64_t tried_at_ms; /* of the last attempt, EK_TIME_UNSET before */
    struct ek_err error; /* of the last attempt; code 0 when it was good */
};

struct ek_feature_gate {
    const char *name;
    const char *stage; /* "" for GA, "ALPHA", "BETA", "DEPRECATED" */
    bool enabled;
};

struct ek_probe {
    /* Reachable: the transport as a whole. good_at_ms is when anything was last answered. */
    struct ek_probe_answer reach;

    struct ek_probe_answer version_answer;         /* GET /version (API servers only) */
    char git_version[128];                         /* "" when not answered */
    struct ek_minor binary, emulation, min_compat; /* unknown where the field is absent */

    struct ek_probe_answer ready_answer; /* GET /readyz: good means asked and answered */
    bool ready;                          /* it answered 200 */
    char not_ready[256];                 /* the failing checks, comma separated */

    struct ek_probe_answer openapi_answer; /* OpenAPI info.version: the emulation version */
    struct ek_minor openapi;

    struct ek_probe_answer metrics_answer; /* GET /metrics */
    char info_binary[128];                 /* version_info labels, "" when the series is absent */
    struct ek_minor info_emulation, info_min_compat;
    struct ek_feature_gate *gates; /* sorted by name; NULL when kubernetes_feature_enabled is
                                      absent; owned */
    size_t n_gates;

    struct ek_probe_answer discovery_answer; /* /api and /apis */
    struct ek_discovery *discovery;          /* sealed; NULL when never answered; owned */
    enum ek_discovery_form discovery_form;
    char api_etag[160], apis_etag[160]; /* of the two documents in discovery, "" for none */

    char cert_fingerprint[65]; /* serving certificate, "" when not known */
    char **cert_names;         /* its DNS names and IP addresses; owned */
    size_t n_cert_names;
    int64_t cert_not_after_ms; /* EK_TIME_UNSET when not known */
};

/* Returns an empty probe, one reference; aborts without memory. */
struct ek_probe *ek_probe_new(void);

/* Counts references; content may only be changed while there is one. NULL is fine. */
struct ek_probe *ek_probe_ref(const struct ek_probe *probe);
void ek_probe_unref(struct ek_probe *probe);
EK_CLEANUP_PTR(ek_probe, ek_probe_unref)

#endif
