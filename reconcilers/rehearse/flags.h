/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flags of a running kube-apiserver, made safe for a rehearsal on a copy of the data.
 *
 * Kept is what decides whether the server starts and what the server accepts: feature gates, APIs,
 * admission plug-ins, ranges. Replaced are addresses, certificates and the etcd. Removed, and named
 * in the report, is whatever lets the server dial out or needs a file of the machine: webhooks,
 * audit, tracing, egress, token issuers, and each flag that is not known here and whose value is a
 * URL, an address or a path. A flag that is not known here and has another value is kept, so that
 * the server itself says whether it still has the flag.
 *
 * Pure; everything lives in the arena or is borrowed from the arguments.
 */
#ifndef RECONCILERS_REHEARSE_FLAGS_H
#define RECONCILERS_REHEARSE_FLAGS_H

#include <stdbool.h>

#include "api/base/arena.h"

/* More arguments are not read. */
#define EK_REHEARSE_ARGS_MAX 1024

struct ek_rehearse_removed {
    const char *flag; /* "--audit-log-path"; "feature gate X" */
    const char *why;  /* "writes an audit log" */
};

struct ek_rehearse_flags {
    struct ek_arena *arena;
    const char **list; /* "--name=value" each, "--name" for a switch */
    size_t n;
    struct ek_rehearse_removed *removed;
    size_t n_removed;
};

/* Reads n arguments in the forms --name=value and --name value; words that are no flags do not
 * count. arena must outlive ret_flags. */
void ek_rehearse_flags_make(const char *const *args, size_t n, struct ek_arena *arena,
                            struct ek_rehearse_flags *ret_flags);

/* Notes that a flag, or a part of one, was removed and why; both texts live as long as the arena.
 */
void ek_rehearse_flags_note(struct ek_rehearse_flags *f, const char *flag, const char *why);

/* The value of the last flag of a name (without dashes) among n arguments; NULL without. The value
 * is borrowed. */
const char *ek_rehearse_flag_value(const char *const *args, size_t n, const char *name);

/*
 * Takes out what a server refuses with sentence (ek_rehearse_refusal): an unknown or malformed
 * flag, a feature gate, an item of --runtime-config, an admission plug-in. Returns what was taken
 * out, as text in the arena, or NULL where the sentence names nothing that is there.
 */
const char *ek_rehearse_flags_drop(struct ek_rehearse_flags *flags, const char *sentence);

/* Takes out all flags but those that say how data is stored and which ranges are used: the last
 * attempt. Returns false when nothing else is there. */
bool ek_rehearse_flags_strip(struct ek_rehearse_flags *flags);

#endif
