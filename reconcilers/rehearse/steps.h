/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a rehearsal, in the order of KEP-4330: the new binary emulates the version before,
 * the emulation version rises one minor at a time, the minimum compatibility version rises, and
 * then all goes back. Pure.
 */
#ifndef RECONCILERS_REHEARSE_STEPS_H
#define RECONCILERS_REHEARSE_STEPS_H

#include <stdbool.h>
#include <stddef.h>

#include "api/version.h"

enum ek_rehearse_change {
    EK_REHEARSE_BEFORE, /* the old binary: what is so without any upgrade */
    EK_REHEARSE_BINARY,
    EK_REHEARSE_EMULATION,
    EK_REHEARSE_MIN_COMPAT,
    EK_REHEARSE_BACK,
    EK_REHEARSE_CHANGE_MAX,
};

/* "before", "binary", "emulation", "minimum compatibility", "way back". */
const char *ek_rehearse_change_name(enum ek_rehearse_change change);

struct ek_rehearse_step {
    enum ek_rehearse_change change;
    bool old_binary;            /* --kube-apiserver-old starts, not --kube-apiserver */
    struct ek_minor binary;     /* of that one */
    struct ek_minor emulation;  /* as it runs */
    struct ek_minor min_compat; /* as it runs */
    bool says_emulation;        /* the server gets --emulated-version */
    bool says_min_compat;       /* the server gets --min-compatibility-version */
};

struct ek_rehearse_route {
    struct ek_minor from;       /* the version that the cluster runs */
    struct ek_minor binary;     /* of --kube-apiserver */
    struct ek_minor old_binary; /* of --kube-apiserver-old; unknown without */
    struct ek_minor min_compat; /* that the cluster runs; unknown: the default of from */
};

#define EK_REHEARSE_STEPS_MAX 16

/*
 * Fills steps and sets *ret_n. Returns NULL, or why there is no way: a constant sentence. The
 * versions that a binary emulates are those of ek_start_floor (reconcilers/plan/start.h).
 */
const char *ek_rehearse_steps(const struct ek_rehearse_route *route,
                              struct ek_rehearse_step steps[EK_REHEARSE_STEPS_MAX], size_t *ret_n);

/* The version of "Kubernetes v1.36.2", what a binary prints for --version; unknown for another
 * text. */
struct ek_minor ek_rehearse_version(const char *text);

#endif
