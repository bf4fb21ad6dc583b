/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feature gates of one kind of custom resource, read from a CustomFeatureGates object and
 * compiled: stages, effective states, paths, and a trie of the paths.
 *
 * A definition that is wrong is still read: problems says what is wrong, and only what is right
 * takes part in decisions (a gate whose paths cannot be read has none). Whether the paths fit the
 * CRD is not known here: see resolve.h, whose findings a caller passes on as `refused`.
 *
 * Gates are immutable, refcounted and may be shared between threads.
 * Source: KEP-2608, "API Changes".
 */
#ifndef RECONCILERS_FIELDGATES_GATES_H
#define RECONCILERS_FIELDGATES_GATES_H

#include "api/fielderr.h"
#include "api/obj.h"
#include "reconcilers/fieldgates/path.h"

/* Entries beyond a maximum are reported as problems, and ignored. */
#define EK_GATES_MAX        64  /* gates of one definition */
#define EK_GATES_PATHS_MAX  512 /* paths of all of them */
#define EK_GATE_PATHS_MAX   32  /* paths of one gate */
#define EK_GATE_NAME_MAX    253 /* octets, of a component too */
#define EK_GATE_WARNING_MAX 256 /* octets of fieldDeprecationWarning, as of a CRD version's */

/* The annotation on a CRD that is imported once, as JSON or YAML of a spec. */
#define EK_GATES_ANNOTATION "evenkeel.dev/custom-feature-gates"

enum ek_gate_stage {
    EK_GATE_ALPHA,
    EK_GATE_BETA,
    EK_GATE_STABLE,
    EK_GATE_DEPRECATED,
    EK_GATE_STAGE_UNKNOWN, /* missing or misspelt: off, by rule 6 */
};

enum ek_gate_setting { EK_GATE_UNSET, EK_GATE_FALSE, EK_GATE_TRUE };

/* Numbered as in the KEP, whose list has no 5. */
enum ek_gate_rule {
    EK_GATE_RULE_STABLE = 1,
    EK_GATE_RULE_ENABLED = 2,
    EK_GATE_RULE_DEFAULT = 3,
    EK_GATE_RULE_BETA = 4,
    EK_GATE_RULE_OFF = 6,
};

/* What becomes of a write that a closed gate does not allow: CustomFeatureGates' onDisabled. */
enum ek_gates_on_disabled {
    EK_GATES_SUPPRESS, /* the KEP: dropped or frozen, with a warning */
    EK_GATES_REJECT,   /* the request is denied */
};

struct ek_gate {
    const char *name; /* "" when it has none: then it has no paths either */
    enum ek_gate_stage stage;
    enum ek_gate_setting enabled, initial; /* spec's enabled and default */
    bool on;                               /* effective */
    enum ek_gate_rule rule;                /* that decided it */
    bool ignored_enabled;                  /* stable, and enabled says false */
    bool ignore_failures;                  /* failurePolicy: Ignore */
    bool removable;                        /* allowRemoval: off, its values may be removed */
    const char *warning;                   /* fieldDeprecationWarning; NULL: none, or a bad one */
    const struct ek_field_path *paths;     /* each once in the definition; the first to say it */
    size_t n_paths;
};

/*
 * A node of the trie: a name below its parent. A path below another one of the same gate is left
 * out, unless a path of another gate is between them: it says nothing new (V4). A node with a child
 * for [*] has no other children.
 */
struct ek_gate_node {
    struct ek_str name;                  /* "" for the root, and for [*] */
    const char *each;                    /* of [*]: its path, up to and with it; NULL for names */
    const struct ek_gate *gate;          /* that gates this very path; NULL for none */
    const struct ek_field_path *path;    /* of it; NULL with gate */
    const struct ek_gate_node *children; /* in the order of their names */
    size_t n_children;
};

struct ek_gates {
    const char *name; /* of the object and the CRD: "crontabs.stable.example.com"; "" for none */
    int64_t generation;
    const char *component; /* "" when not given */
    enum ek_gates_on_disabled on_disabled;
    const struct ek_gate *gates; /* in the order of the definition */
    size_t n_gates;
    const struct ek_gate_node *root;
    /* Violations of V1-V12, in the order of the fields and in the words of apimachinery. */
    const char *const *problems;
    size_t n_problems;
};

/* What state the values give: rules 1, 2, 3, 4, 6; total, also for what validation refuses.
 * Source: KEP-2608, "API Changes". */
bool ek_gate_is_on(enum ek_gate_stage stage, enum ek_gate_setting enabled,
                   enum ek_gate_setting initial, enum ek_gate_rule *ret_rule);

/*
 * Reads obj, a CustomFeatureGates (NULL: an empty one), and keeps nothing of it. refused (n names
 * of gates, may be NULL when n is 0) are left out of the trie: their paths are open. Aborts without
 * memory, never NULL. One reference for the caller.
 */
const struct ek_gates *ek_gates_new(yyjson_val *obj, const char *const *refused, size_t n);

/* Adds a reference and returns gates; NULL stays NULL. */
const struct ek_gates *ek_gates_ref(const struct ek_gates *gates);
void ek_gates_unref(const struct ek_gates *gates); /* NULL is fine */

/* The gate of a name, NULL for none. */
const struct ek_gate *ek_gates_find(const struct ek_gates *gates, const char *name);

/* "alpha", ...; "" for unknown. Constant. */
const char *ek_gate_stage_name(enum ek_gate_stage stage);

/* The rule in words, constant for each pair: "stable gates are always on", "enabled: true",
 * "default: false", "beta gates are on by default", "off by default". */
const char *ek_gate_rule_text(enum ek_gate_rule rule, bool on);

static inline void ek_gates_unref_cleanup(const struct ek_gates **slot)
{
    ek_gates_unref(*slot);
}

#endif
