/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of `evenkeel proxy`. Flags that kube-apiserver has keep the names of kube-apiserver
 * (apiserver 1.36, pkg/server/options/{serving,authentication}.go).
 */
#ifndef CONTROLLER_RUN_PROXY_OPTIONS_H
#define CONTROLLER_RUN_PROXY_OPTIONS_H

#include "controller/run/options.h"

struct ek_proxy_command_options {
    struct ek_run_options run; /* first: the groups of options.h fill it. Health, metrics, cluster
                                  and log; the rest is zero */
    const char *config;        /* "": flags alone */
    const char *bind_address;
    const char *tls_cert_file, *tls_private_key_file;
    const char *client_ca_file; /* "": tokens alone */
    const char *proxy_client_cert_file, *proxy_client_key_file;
    bool impersonate;         /* the users of client certificates */
    const char *peer_ca_file; /* "": of the client configuration */
    const char *egress_proxy; /* "": API servers are reached directly */
    struct ek_flag_list fallback_servers;
    struct ek_flag_list identity_headers, identity_header_prefixes;
    bool access_log;
    int64_t discovery_ms;
    int64_t grant_ms; /* 0: permissions for discovery are not kept */
    int64_t delay_ms; /* between the end of readiness and the drain */
    int64_t drain_ms;
    int64_t peer_rate;                           /* octets a second; 0: no cap */
    int64_t client_connections, client_requests; /* of one address, at once */
    int64_t answer_ms;                           /* to the head of a response */
};

#define EK_PROXY_FLAG_GROUPS 4
extern const struct ek_flag_group *const ek_proxy_flag_groups[EK_PROXY_FLAG_GROUPS];

/* Checks the flags against each other. EK_E_INVAL names the flag that is missing or useless. */
int ek_proxy_options_check(const struct ek_proxy_command_options *options, struct ek_err *err);

#endif
