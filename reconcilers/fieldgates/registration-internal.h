/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of registration.h; not for others. */
#ifndef RECONCILERS_FIELDGATES_REGISTRATION_INTERNAL_H
#define RECONCILERS_FIELDGATES_REGISTRATION_INTERNAL_H

#include "api/base/buf.h"
#include "reconcilers/fieldgates/registration.h"

#define EK_GATES_CONDITION_MAX 16000 /* octets; the server takes 100,000 */

/* What of a kind's gates one webhook is for. */
struct ek_gates_share {
    const struct ek_gates_registered *of;
    bool ignore_failures; /* gates with failurePolicy Ignore and deprecated ones that are on, or
                             else the others */
    bool backstop;        /* closed gates alone: deprecation is reported once */
};

/* What of the resource it has to see. */
struct ek_gates_parts {
    bool main, status, scale;
};

/* What the share has to see. The backstop sees every update through a version that lacks a path of
 * the share (ek_gates_lack), of each subresource, since all of them erase the field. */
struct ek_gates_parts ek_gates_share_parts(const struct ek_gates_share *share);

/* Whether the share is the backstop that denies updates for lack, one of its kind's. */
bool ek_gates_share_guards(const struct ek_gates_share *share, const struct ek_gates_lack *lack);

/*
 * Appends a CEL expression that is true when the webhook is needed: a path of the share differs
 * between object and oldObject, or the backstop has to deny the update for its version. It never
 * fails, whatever the objects hold. Paths that are too many to be written out are cut to their
 * first names: true more often.
 */
void ek_gates_share_condition(const struct ek_gates_share *share, struct ek_buf *out);

#endif
