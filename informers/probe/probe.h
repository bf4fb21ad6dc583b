/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result of one probe of a component instance, as data.
 *
 * A probe sends a few requests to one API server (or to another component's metrics port). Each
 * request has a struct ek_probe_answer with its state: no answer yet, a good answer, or a failure.
 * After a failure, the probe still has the content and the time of the last good answer. The prober
 * (informers/probe/prober.h) fills probes from the network, a recording fills them from files;
 * reconcilers only read them.
 *
 * A struct ek_probe is immutable once published and refcounted.
 */
#ifndef INFORMERS_PROBE_PROBE_H
#define INFORMERS_PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/err.h"
#include "api/base/time.h"
#include "api/discovery.h"
#include "api/groups.h"
#include "api/version.h"

/* The credentials that a probe sends to a process. reconcilers/peers/trust.h decides which process
 * gets which credentials. */
enum ek_probe_credential {
    EK_PROBE_NOT_CONTACTED,
    EK_PROBE_METRICS, /* a short-lived token that may read /metrics and nothing else */
    EK_PROBE_OWN,     /* our own credentials */
    EK_PROBE_CREDENTIAL_MAX,
};

/* The state of one request of a probe. */
struct ek_probe_answer {
    int64_t good_at_ms;  /* wall clock of the last good answer, EK_TIME_UNSET when there is none */
    int64_t tried_at_ms; /* of the last attempt, EK_TIME_UNSET before */
    int64_t failing_at_ms; /* of the first attempt that failed since the last good answer,
                              EK_TIME_UNSET when there is none */
    bool outdated;         /* the server was unreachable since the last good answer: another process
                              may answer now */
    struct ek_err error;   /* of the last attempt; code 0 when it was good */
};

struct ek_feature_gate {
    const char *name;
    const char *stage; /* "" for GA, "ALPHA", "BETA", "DEPRECATED" */
    bool enabled;
};

/* An API version that is deprecated and was requested since the API server started
 * (apiserver_requested_deprecated_apis). */
struct ek_deprecated_use {
    char *group, *version, *resource;
    struct ek_minor removed; /* unknown where no release removes the version */
};

/* The manifests that a static admission plug-in of an API server has loaded
 * (apiserver_manifest_admission_config_controller_last_config_info, KEP-5793, alpha in 1.36). */
struct ek_probe_manifests {
    char *plugin; /* "ValidatingAdmissionPolicy" */
    char *hash;   /* of the manifests: "sha256:..." */
};

struct ek_probe {
    /* Of all requests together. good_at_ms: time of the last answer to any request. */
    struct ek_probe_answer reach;
    bool proven;   /* an API server answered in this process's life, its certificate verified for
                      kubernetes.default.svc by the cluster's authority */
    bool no_token; /* not contacted in the last round: no token to show; reach.error says why */

    struct ek_probe_answer version_answer;         /* GET /version (API servers only) */
    char git_version[128];                         /* "" when not answered */
    struct ek_minor binary, emulation, min_compat; /* unknown where the field is absent */

    struct ek_probe_answer ready_answer; /* GET /readyz: good means requested and answered */
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
    struct ek_deprecated_use *uses; /* in the order of the page; subresources count for their
                                       resource; owned */
    size_t n_uses;
    struct ek_probe_manifests *manifests; /* sorted by plugin, each once; owned */
    size_t n_manifests;

    struct ek_probe_answer flagz_answer; /* GET /flagz (API servers, where it was requested) */
    char **flagz; /* all flags of the process, "--name=value"; NULL when the last round got none;
                     owned */
    size_t n_flagz;

    struct ek_probe_answer discovery_answer; /* /api and /apis */
    struct ek_discovery *discovery;          /* sealed; NULL when never answered; owned */
    enum ek_discovery_form discovery_form;
    struct ek_api_groups *core, *groups; /* the documents of /api and /apis, whole; both or none;
                                            references */
    char api_etag[160], apis_etag[160];  /* of the two documents in discovery, "" for none */

    char cert_fingerprint[65]; /* serving certificate, "" when not known */
    char **cert_names;         /* its DNS names and IP addresses; owned */
    size_t n_cert_names;
    int64_t cert_not_after_ms; /* EK_TIME_UNSET when not known */
};

/* Returns an empty probe, one reference; aborts without memory. */
struct ek_probe *ek_probe_new(void);

/* Whether /readyz succeeded in the last round. Also true when /readyz was never answered, for
 * example without the permission to read it: callers then require the documents of discovery. */
bool ek_probe_is_ready(const struct ek_probe *probe);

/* Removes the content of the answer to GET /metrics. */
void ek_probe_clear_metrics(struct ek_probe *probe);

/* Add and drop a reference; NULL is fine. Content may change only while there is one reference. */
struct ek_probe *ek_probe_ref(const struct ek_probe *probe);
void ek_probe_unref(struct ek_probe *probe);
EK_CLEANUP_PTR(ek_probe, ek_probe_unref)

#endif
