/* SPDX-License-Identifier: Apache-2.0 */
/* A network of the rehearsal's own (Linux network namespace), in which only the loopback interface
 * exists. Threading: one thread, and no other one in the process. */
#ifndef CONTROLLER_REHEARSE_NETWORK_H
#define CONTROLLER_REHEARSE_NETWORK_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/err.h"

/*
 * Moves the process into a new network namespace, with a user namespace where the process may not
 * make one without, and turns its loopback interface on. Child processes are in there as well.
 * Returns 0; EK_E_FORBIDDEN where the system permits no namespace: the process is where it was;
 * EK_E_IO where the namespace cannot be set up: the process is in there, and can go no further. The
 * message names the step that failed: the user namespace, setgroups, the uid map, the gid map, the
 * network namespace or the loopback interface (user_namespaces.7, network_namespaces.7).
 */
int ek_rehearse_network_enter(struct ek_err *err);

/* What happened in the network of the process. */
struct ek_rehearse_traffic {
    unsigned interfaces; /* other than lo */
    uint64_t sent;       /* packets that left by these */
    uint64_t no_route;   /* attempts to send a packet to an address without a route (ip.7, RFC 4293:
                            ipSystemStatsOutNoRoutes) */
};

/* Reads /proc/self/net; what cannot be read is 0. */
void ek_rehearse_network_read(struct ek_rehearse_traffic *ret_traffic);

/* The counters of one text each; pure. dev: /proc/net/dev; snmp: /proc/net/snmp and snmp6. */
void ek_rehearse_network_count_dev(const char *dev, struct ek_rehearse_traffic *traffic);
uint64_t ek_rehearse_network_no_route(const char *snmp);

/* A TCP port of 127.0.0.1 that is free at the moment; 0 without one. */
int ek_rehearse_network_port(void);

#endif
