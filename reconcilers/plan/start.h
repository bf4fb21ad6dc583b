/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a control plane binary does with its version and feature gate flags when it starts: the
 * versions and gates that it runs with, or the sentences with which it refuses to start.
 *
 * The rules are those of component-base/compatibility/registry.go (Set) and version.go (Validate)
 * and of component-base/cli/flag (ColonSeparatedMultimapStringString) at 1.36, for the component
 * "kube". Pure; everything lives in the arena.
 */
#ifndef RECONCILERS_PLAN_START_H
#define RECONCILERS_PLAN_START_H

#include "reconcilers/plan/features.h"

/* How far a start comes. */
enum ek_start_stage {
    EK_START_OK,
    EK_START_PARSE,    /* the command line cannot be read */
    EK_START_SET,      /* a version or a feature gate is refused */
    EK_START_VALIDATE, /* a version is out of range */
};

struct ek_start {
    enum ek_start_stage stage;
    const char **errors; /* of the stage, sorted; all feature gates that are refused, where the
                            binary stops at the first unknown gate */
    size_t n_errors;
    struct ek_minor emulation, min_compat; /* known after the versions were read */
    struct ek_features gates;              /* at these versions */
    struct ek_feature_problems problems;   /* of the feature gates */
};

/* The oldest version that a binary emulates or is compatible with: three minors back, not below
 * 1.31 (apiserver/pkg/util/compatibility/version.go:kubeEffectiveVersionFloors). */
struct ek_minor ek_start_floor(struct ek_minor binary);

/*
 * Reads --emulated-version, --min-compatibility-version and --feature-gates out of the n arguments
 * of a binary with these gates, in the forms --flag=value and --flag value. Other arguments do not
 * count. emulation and min_compat, where known, take the place of the two version flags.
 */
void ek_start_read(const struct ek_feature_registry *registry, struct ek_minor binary,
                   const char *const *args, size_t n, struct ek_minor emulation,
                   struct ek_minor min_compat, struct ek_arena *arena, struct ek_start *ret_start);

#endif
