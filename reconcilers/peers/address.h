/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses of servers, "10.0.0.1:6443" and "[fd00::1]:6443", in one canonical spelling.
 *
 * Names are no addresses here: what a name resolves to is not trusted. Canonical means as
 * inet_ntop prints it, an IPv4-mapped IPv6 address as IPv4, the port without leading zeros. Text
 * alone is handled; nothing is resolved or called. Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_ADDRESS_H
#define RECONCILERS_PEERS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Holds any canonical address or IP, NUL included. */
#define EK_ADDRESS_SIZE 64

/* Writes the canonical form of the IP s (may be NULL) into buf; false, with buf "", when it is
 * none. Zones ("fe80::1%eth0") are refused. */
bool ek_address_ip(const char *s, char buf[EK_ADDRESS_SIZE]);

/* Writes the canonical "ip:port" of an IP (may be NULL) and a port; false, with buf "", when ip is
 * no IP or port is not within 1..65535. */
bool ek_address_join(const char *ip, int64_t port, char buf[EK_ADDRESS_SIZE]);

/* Reads "ip:port" or "[ip6]:port" (s may be NULL) into the canonical address and, where ret_ip is
 * not NULL, its IP; false, with both "", when s is no address. */
bool ek_address_parse(const char *s, char buf[EK_ADDRESS_SIZE], char ret_ip[EK_ADDRESS_SIZE]);

/*
 * True when a canonical IP may be called on the word of an object in the cluster. Loopback,
 * link-local (cloud metadata services live there), multicast and unspecified addresses never may;
 * the API refuses them in EndpointSlices too, and here the rule also holds for what did not pass
 * its validation.
 */
bool ek_address_is_routable(const char *ip);

/* True for a canonical IP of this host itself, which only its own user's configuration may name. */
bool ek_address_is_loopback(const char *ip);

#endif
