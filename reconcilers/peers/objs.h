/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was observed of a cluster at one instant, in the form that decisions read: the objects of a
 * resource, and the probe of an address. Everything is borrowed. Pure data; threading: none.
 */
#ifndef RECONCILERS_PEERS_OBJS_H
#define RECONCILERS_PEERS_OBJS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/obj.h"
#include "informers/probe/probe.h"

/* Objects of one resource. available false: not served, not permitted or not yet listed; why says
 * which, for messages ("forbidden: needs list on nodes"). Objects come in key order. */
struct ek_objs {
    struct ek_obj *const *items;
    size_t n;
    bool available;
    const char *why; /* "" when available */
};

/* A probe result by the address ("10.99.0.11:6443", "[fd00::1]:6443") it was asked of. A recording
 * that knows other components by hostname alone says "kube-scheduler/sched-a" instead; that is
 * matched by hostname and never becomes a target. */
struct ek_probe_at {
    const char *address;
    const struct ek_probe *probe;
};

#endif
