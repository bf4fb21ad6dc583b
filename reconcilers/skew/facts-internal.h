/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collectors of facts share. facts.c calls peer_facts.c, instance_facts.c and
 * node_facts.c in this order; readings.c turns what several sources say into one ek_versions. For
 * these files only.
 */
#ifndef RECONCILERS_SKEW_FACTS_INTERNAL_H
#define RECONCILERS_SKEW_FACTS_INTERNAL_H

#include "reconcilers/peers/notes.h"
#include "reconcilers/skew/facts.h"
#include "reconcilers/skew/spec.h"

struct facts {
    const struct ek_skew_view *view;
    const struct ek_skew_spec *spec;
    struct ek_arena *arena;
    struct ek_notes *notes;
    struct ek_skew_facts *out;
    struct ek_objs pods[EK_COMPONENT_MAX]; /* the view's, by component, in the same order */
    struct ek_probe_target *targets;       /* room for EK_SKEW_TARGETS_MAX */
    size_t n_targets;
};

/* Adds a target unless it is there already or the table is full. */
void ek_facts_add_target__(struct facts *f, const char *component, const char *address);

void ek_facts_collect_peers__(struct facts *f);
void ek_facts_collect_instances__(struct facts *f);
void ek_facts_collect_nodes__(struct facts *f);

/* What one source says of an instance. */
struct reading {
    enum ek_source source;
    const char *name; /* "its version_info metric", for sentences */
    const char *text; /* the binary version as reported, "" when it was not */
    struct ek_minor binary, emulation, min_compat;
    bool current; /* the last attempt to read it was good */
};

/* Major and minor of a reported version; unknown also for major 0, which a build without a tag
 * calls itself ("0.0.0-master+$Format:%H$"; skew sheet, section 3.4). */
struct ek_minor ek_facts_minor__(const char *text);

/* Makes a reading of source from a text alone. */
struct reading ek_facts_reading__(enum ek_source source, const char *name, const char *text,
                                  bool current);

/*
 * Makes one ek_versions of n readings, best source first. A current reading beats one that is
 * kept from before; differences between current ones become the conflict. What is missing is
 * assumed by the skew sheet, section 3.3. otherwise is the unknown_reason when no source tells a
 * binary version.
 */
struct ek_versions ek_facts_merge__(struct ek_arena *arena, const struct reading *readings,
                                    size_t n, const char *otherwise);

/* For components that cannot emulate (all but API servers, controller managers and schedulers;
 * skew sheet, section 1): the emulation version is the binary's, which is no assumption, and there
 * is no minimum compatibility version. */
void ek_facts_no_emulation__(struct ek_versions *versions);

#endif
