/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the collectors of facts share. facts.c calls peer_facts.c, instance_facts.c and
 * node_facts.c in this order; readings.c merges the readings of several sources into one
 * ek_versions. For these files only.
 */
#ifndef RECONCILERS_SKEW_FACTS_INTERNAL_H
#define RECONCILERS_SKEW_FACTS_INTERNAL_H

#include "reconcilers/peers/notes.h"
#include "reconcilers/peers/trust.h"
#include "reconcilers/skew/facts.h"
#include "reconcilers/skew/spec.h"

struct facts {
    const struct ek_skew_view *view;
    const struct ek_skew_spec *spec;
    struct ek_arena *arena;
    struct ek_notes *notes;
    struct ek_skew_facts *out;
    struct ek_objs pods[EK_COMPONENT_MAX]; /* the view's, by component, in the same order */
    struct ek_trust_server *servers;       /* the API servers, from ek_facts_collect_peers__ on */
    size_t n_servers;
    struct ek_probe_target *targets; /* room for EK_SKEW_TARGETS_MAX */
    size_t n_targets;
};

/* The oldest versions of live API servers, unknown while none is known. An emulation version that
 * is assumed counts as the oldest that it may be. */
struct oldest {
    struct ek_minor binary, emulation;
};
struct oldest ek_facts_oldest_server__(const struct ek_skew_facts *facts);

/* Adds a target unless it is not to be contacted, is there already, or the table is full. host: the
 * name of an API server, else "". */
void ek_facts_add_target__(struct facts *f, const char *component, const char *address,
                           enum ek_probe_credential credential, const char *host);

void ek_facts_collect_peers__(struct facts *f);
void ek_facts_collect_instances__(struct facts *f);
void ek_facts_collect_nodes__(struct facts *f);

/* What one source says of an instance. */
struct reading {
    enum ek_source source;
    const char *name; /* "its version_info metric", for sentences */
    const char *text; /* the binary version as reported, "" when it was not */
    struct ek_minor binary, emulation, min_compat;
    bool current;         /* the last attempt to read it was good */
    bool outdated;        /* kept from a process that may be another now */
    bool unproven;        /* of a pod that proves nothing */
    bool flags;           /* whole command line: a version that it does not name is the default */
    const char *conflict; /* what the source says against itself, a sentence; NULL for nothing */
};

/* How long a request may have failed until what it answered before counts no more: four rounds of
 * the default interval, so that one that fails does not change a verdict. */
#define EK_FACTS_KEPT_MS 60000

/* Whether the last round read an answer of probe. */
bool ek_facts_is_current__(const struct ek_probe *probe, const struct ek_probe_answer *answer);

/* Sets whether reading, of an answer of probe, is current, kept or outdated: kept from before the
 * process was away, or failing for EK_FACTS_KEPT_MS. */
void ek_facts_set_age__(struct reading *reading, const struct ek_probe *probe,
                        const struct ek_probe_answer *answer);

/* What one instance can be read from: metrics, /version, OpenAPI or LeaseCandidate, flags, image.
 */
#define EK_FACTS_READINGS_MAX 5

/*
 * Adds what the flags and the image of component's pod say to readings[*n]. Returns why the flags
 * say nothing, a clause ("the flags of pod x cannot be read: ..."), "" when they do; *ret_flags
 * gets them. pod may be NULL.
 */
const char *ek_facts_pod_readings__(struct facts *f, const struct ek_obj *pod,
                                    enum ek_component component, struct reading *readings,
                                    size_t *n, struct ek_pod_flags *ret_flags);

/* Major and minor of a reported version; unknown also for major 0, which a build without a tag
 * calls itself ("0.0.0-master+$Format:%H$"; component-base/version/base.go). */
struct ek_minor ek_facts_minor__(const char *text);

/* Makes a reading of source from a text alone. */
struct reading ek_facts_reading__(enum ek_source source, const char *name, const char *text,
                                  bool current);

/* The first difference between two current readings, as a sentence; "" when there is none.
 * *ret_disputed is the version that differs. */
const char *ek_facts_conflict__(struct ek_arena *arena, const struct reading *readings, size_t n,
                                enum ek_disputed *ret_disputed);

/*
 * Makes one ek_versions of n (at most EK_FACTS_READINGS_MAX) readings, best source first. A current
 * reading beats one that is kept from before; differences between current ones become the conflict.
 * An outdated one proves nothing: its binary version is unknown, the others are assumed.
 * Flags that the binary would refuse are not those of its process and are left out. What is missing
 * is assumed, see struct ek_versions. otherwise is the unknown_reason when no source reports a
 * binary version; unread (a clause) is kept where no source reports the emulation version.
 */
struct ek_versions ek_facts_merge__(struct ek_arena *arena, const struct reading *readings,
                                    size_t n, const char *otherwise, const char *unread);

/* For components that cannot emulate (all but API servers, controller managers and schedulers;
 * KEP-4330): the emulation version is the version of the binary, and is not marked as assumed.
 * There is no minimum compatibility version. */
void ek_facts_no_emulation__(struct ek_versions *versions);

#endif
