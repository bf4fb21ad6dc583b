/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses and prefixes as text, the way Go's net/netip reads and writes them, with its words
 * for what is wrong. Pure; any thread. Source: Go's net/netip documentation; RFC 5952;
 * Kubernetes 1.36, apiserver/pkg/cel/library/{ip,cidr}.go.
 */
#ifndef API_CEL_TEXT_ADDRESS_H
#define API_CEL_TEXT_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"

struct ek_cel_address {
    uint8_t bits;      /* 32 or 128 */
    bool has_zone;     /* "fe80::1%eth0" */
    uint8_t bytes[16]; /* in network order; the first 4 for 32 bits */
};

struct ek_cel_prefix {
    struct ek_cel_address address;
    uint8_t length; /* bits of the address that count */
};

/* What is wrong with a text, and the part of it (p NULL: none) that it was noticed at. */
struct ek_cel_address_fault {
    const char *message;
    struct ek_str at;
    bool of_address; /* in the address of a prefix: whole is the text of the address */
    struct ek_str whole;
};

/* Read text; false with *ret_fault filled. A prefix may have bits beyond its length. */
bool ek_cel_address_parse(struct ek_str text, struct ek_cel_address *ret,
                          struct ek_cel_address_fault *ret_fault);
bool ek_cel_prefix_parse(struct ek_str text, struct ek_cel_prefix *ret,
                         struct ek_cel_address_fault *ret_fault);

/* Append the fault of parsing text: `ParseAddr("1.2.3"): IPv4 address too short`. Return 0 or the
 * buffer's error. */
int ek_cel_address_explain(struct ek_str text, const struct ek_cel_address_fault *fault,
                           struct ek_buf *out);
int ek_cel_prefix_explain(struct ek_str text, const struct ek_cel_address_fault *fault,
                          struct ek_buf *out);

/* Room for an address or prefix as text, with its NUL. */
#define EK_CEL_ADDRESS_TEXT_MAX 64

/* Write the canonical text without the zone; return its length. */
size_t ek_cel_address_text(const struct ek_cel_address *a, char out[EK_CEL_ADDRESS_TEXT_MAX]);
size_t ek_cel_prefix_text(const struct ek_cel_prefix *p, char out[EK_CEL_ADDRESS_TEXT_MAX]);

bool ek_cel_address_equal(const struct ek_cel_address *a, const struct ek_cel_address *b);

/* A number that equal addresses share. */
uint64_t ek_cel_address_hash(const struct ek_cel_address *a);

/* ::ffff:0:0/96: an IPv4 address written as one of version 6. */
bool ek_cel_address_is_mapped(const struct ek_cel_address *a);
bool ek_cel_address_is_unspecified(const struct ek_cel_address *a);
bool ek_cel_address_is_loopback(const struct ek_cel_address *a);
bool ek_cel_address_is_link_local_multicast(const struct ek_cel_address *a);
bool ek_cel_address_is_link_local_unicast(const struct ek_cel_address *a);
bool ek_cel_address_is_global_unicast(const struct ek_cel_address *a);

/* True when a and b are of one version and their first bits (at most a's) are equal. */
bool ek_cel_address_agrees(const struct ek_cel_address *a, const struct ek_cel_address *b,
                           unsigned bits);

/* The prefix with the bits beyond its length cleared. */
struct ek_cel_prefix ek_cel_prefix_masked(const struct ek_cel_prefix *p);

#endif
