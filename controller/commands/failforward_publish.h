/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `evenkeel failforward check --catalog` reports of a catalog that is not published yet: which
 * installed versions have an edge, and whether the definitions of the versions on the way accept
 * the objects that exist. One thread.
 */
#ifndef CONTROLLER_COMMANDS_FAILFORWARD_PUBLISH_H
#define CONTROLLER_COMMANDS_FAILFORWARD_PUBLISH_H

#include "controller/commands/failforward-internal.h"
#include "reconcilers/failforward/bundles.h"

/* Verdicts, the worst last. */
enum ek_ffp_verdict { EK_FFP_ACCEPTED, EK_FFP_UNKNOWN, EK_FFP_REFUSED };

/* Objects of one version of a definition that are read; more are unknown. */
#define EK_FFP_OBJECTS_MAX 10000

/* A finding; the kinds are those of the README in reconcilers/failforward. */
struct ek_ffp_finding {
    const char *kind;       /* "StoredVersion", "Object", "Dropped", "FieldGate", "NotServed" */
    const char *refused_by; /* "OLM", "API server", "OLM, API server"; "" for a warning */
    const char *object, *version, *message; /* of the arena; "" where there is none */
};

/* A definition that a bundle brings. */
#define EK_FFP_FINDINGS_MAX 20
struct ek_ffp_definition {
    const char *name, *bundle; /* borrowed from the catalog */
    yyjson_val *definition;
    yyjson_doc *current; /* owned: that of the cluster; NULL: there is none, or it cannot be read */
    bool is_new;         /* the cluster has no definition of that name */
    size_t n_objects;    /* that were validated */
    size_t n_refused;    /* findings that refuse, also those that there is no room for */
    size_t n_warned;
    struct ek_ffp_finding findings[EK_FFP_FINDINGS_MAX];
    size_t n_findings;
    const char *unknown; /* the first reason why not all was decided; NULL */
};

struct ek_ffp_definitions {
    struct ek_ffp_definition *items; /* owned */
    size_t n, cap;
    struct ek_arena *arena; /* owned */
};

/* Adds a finding. Texts are of the arena of all. */
void ek_ffp_find(struct ek_ffp_definition *d, const struct ek_ffp_finding *finding);

/* Reads what exists from the cluster, and holds it against the definitions; blocks. What cannot be
 * read is unknown. */
void ek_ffp_check_cluster(struct ek_ffp_definitions *all, const struct ek_ffc_options *o);

/* Adds members `upgrades` and `definitions` to root; returns the worst verdict. */
enum ek_ffp_verdict ek_ffp_report(const struct ek_ffc_inputs *in, const struct ek_ffc_options *o,
                                  const struct ek_ff_bundles *bundles, yyjson_mut_doc *doc,
                                  yyjson_mut_val *root);

/* Appends both as tables; nothing where root has none. Returns 0 or the buffer's error. */
int ek_ffp_table(yyjson_val *root, bool color, struct ek_buf *out);

#endif
