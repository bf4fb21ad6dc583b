/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small pieces of text for messages and status. Every string that came from a server or a node
 * goes through ek_skew_clean before it is shown. Results live in the arena. Pure.
 */
#ifndef RECONCILERS_SKEW_TEXT_H
#define RECONCILERS_SKEW_TEXT_H

#include "api/base/arena.h"
#include "api/version.h"
#include "reconcilers/skew/policy.h"

/* Longest name or version that is shown. */
#define EK_SKEW_TEXT_MAX 63

/* s as printable ASCII ('?' for the rest), cut to EK_SKEW_TEXT_MAX characters of which "..." are
 * the last; NULL becomes "". Returns s itself when nothing had to be changed. */
const char *ek_skew_clean(struct ek_arena *arena, const char *s);

/* As ek_skew_clean with a limit of its own, for sentences that came from elsewhere. */
const char *ek_skew_clean_max(struct ek_arena *arena, const char *s, size_t max);

/* "1.36", or "unknown". */
const char *ek_skew_minor_text(struct ek_arena *arena, struct ek_minor v);

/* "a, b and c", or "a, b, c and 5 more": at most max of the n_names given names, out of n. */
const char *ek_skew_names_text(struct ek_arena *arena, const char *const *names, size_t n_names,
                               size_t n, size_t max);

/* "a, b, or c": the n alternatives that are not "". */
const char *ek_skew_or_text(struct ek_arena *arena, const char *const *alternatives, size_t n);

/* How to leave component out, in the cluster and in a single check; in the arena. Never fails. */
const char *ek_skew_ignore_text(struct ek_arena *arena, enum ek_component component);

/* What makes controllers write LeaseCandidates, where the oldest emulation version of the API
 * servers is ev: v1beta1 from 1.33 on, at 1.32 v1alpha2; "" where it is older or not known
 * (KEP-4355; that of 1.31, v1alpha1, is not read). */
const char *ek_skew_candidates_text(struct ek_arena *arena, struct ek_minor ev);

/* The error text of a transport without the parts that differ at each attempt ("after 3 ms"), so
 * that the same failure has the same text; cleaned. */
const char *ek_skew_steady(struct ek_arena *arena, const char *s);

#endif
