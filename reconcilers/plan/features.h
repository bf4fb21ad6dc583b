/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feature gates of a Kubernetes binary at any emulation version (EV) and minimum compatibility
 * version (MCV): which gates exist, whether each is on, and which settings the binary refuses, in
 * the words of the binary.
 *
 * The rules are those of component-base/featuregate/feature_gate.go at 1.36: AddVersioned and
 * AddDependencies for a registry, featureSpecAtEmulationAndMinCompatVersion for the choice of a
 * specification, unsafeSetFromMap for settings. Everything lives in the caller's arena or is
 * borrowed from the JSON that was read. Pure; any thread.
 */
#ifndef RECONCILERS_PLAN_FEATURES_H
#define RECONCILERS_PLAN_FEATURES_H

#include <yyjson.h>

#include "api/base/arena.h"
#include "api/base/buf.h"
#include "api/version.h"

#define EK_FEATURE_STAGES(X)                                                                       \
    X(PRE_ALPHA, "PRE-ALPHA") /* the gate does not exist yet at this version */                    \
    X(ALPHA, "ALPHA")                                                                              \
    X(BETA, "BETA")                                                                                \
    X(GA, "GA")                                                                                    \
    X(DEPRECATED, "DEPRECATED")

enum ek_feature_stage {
#define X(name, text) EK_FEATURE_##name,
    EK_FEATURE_STAGES(X)
#undef X
        EK_FEATURE_STAGE_MAX,
};

/* "PRE-ALPHA", "ALPHA", "BETA", "GA", "DEPRECATED". */
const char *ek_feature_stage_name(enum ek_feature_stage stage);

/* What a gate is from a version on. */
struct ek_feature_spec {
    struct ek_minor from;       /* the first emulation version of the specification */
    struct ek_minor min_compat; /* the first MCV of the specification; unknown: any */
    enum ek_feature_stage stage;
    bool on;     /* the default */
    bool locked; /* no other value than the default is accepted */
};

struct ek_feature {
    const char *name;
    const struct ek_feature_spec *specs; /* oldest first, at least one */
    size_t n_specs;
    const size_t *needs; /* positions of gates in the registry that this gate depends on */
    size_t n_needs;
};

/* The gates of one binary. */
struct ek_feature_registry {
    struct ek_feature *gates; /* sorted by name */
    size_t n;
};

/*
 * Reads an array of {"name", "specs": [{"version", "default", "lockToDefault", "preRelease",
 * "minCompatibilityVersion"}]} and adds AllAlpha and AllBeta where they are absent. Strings are
 * borrowed from gates. Returns 0, or EK_E_INVAL with the sentence of AddVersioned about the first
 * gate that breaks a rule.
 */
int ek_feature_registry_read(yyjson_val *gates, struct ek_arena *arena,
                             struct ek_feature_registry *ret_registry, struct ek_err *err);

/*
 * Adds the member "dependencies" (names) of each value of the array that ek_feature_registry_read
 * read. Returns 0, or EK_E_INVAL with the sentence of AddDependencies about the first dependency
 * that breaks a rule.
 */
int ek_feature_registry_link(yyjson_val *gates, struct ek_arena *arena,
                             struct ek_feature_registry *registry, struct ek_err *err);

/* The gate of a name; NULL without. */
const struct ek_feature *ek_feature_find(const struct ek_feature_registry *registry,
                                         struct ek_str name);

/* The specification of a gate at a version; that of PRE-ALPHA where the gate has none. min_compat
 * unknown: one minor below emulation. */
const struct ek_feature_spec *ek_feature_spec_at(const struct ek_feature *gate,
                                                 struct ek_minor emulation,
                                                 struct ek_minor min_compat);

/* Why a binary refuses a setting. */
enum ek_feature_problem_kind {
    EK_FEATURE_BAD_TEXT,  /* the text is not Name=true */
    EK_FEATURE_UNKNOWN,   /* the binary has no such gate */
    EK_FEATURE_LOCKED,    /* another value than that of a locked default */
    EK_FEATURE_TOO_NEW,   /* the gate does not exist yet at the emulated version */
    EK_FEATURE_DEPENDENT, /* the gate is on, and a gate that it depends on is off */
};

struct ek_feature_problem {
    enum ek_feature_problem_kind kind;
    const char *gate; /* "" for EK_FEATURE_BAD_TEXT */
    const char *text; /* the sentence of the binary */
};

struct ek_feature_problems {
    const struct ek_feature_problem *list; /* sorted by text */
    size_t n;
};

/* A setting that was given. */
struct ek_feature_setting {
    const char *name;
    bool on;
};

/* The gates of a process. */
struct ek_features {
    const struct ek_feature_registry *registry;
    struct ek_arena *arena;
    struct ek_minor emulation, min_compat;
    signed char *values;            /* for each gate of the registry: -1 not set, 0 off, 1 on */
    struct ek_feature_setting *raw; /* what was set so far, by name */
    size_t n_raw;
};

/* Gates with their defaults. min_compat unknown: one minor below emulation. */
void ek_features_init(struct ek_features *gates, const struct ek_feature_registry *registry,
                      struct ek_arena *arena, struct ek_minor emulation,
                      struct ek_minor min_compat);

/*
 * Sets gates from "Name=true,Other=false". As in the binary, all earlier settings are applied
 * again. With problems the values stay as they were, and *ret_problems has all problems; the binary
 * itself stops at the first unknown gate, in any order.
 */
void ek_features_set(struct ek_features *gates, struct ek_str text,
                     struct ek_feature_problems *ret_problems);

/* Whether a gate of the registry is on. */
bool ek_features_on(const struct ek_features *gates, const struct ek_feature *gate);

#endif
