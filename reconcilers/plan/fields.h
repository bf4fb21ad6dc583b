/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which fields of an object a release of Kubernetes does not know. The schemas of built-in kinds
 * do not show this, because a newer server describes its own fields for every version that it
 * emulates; the data has what each release itself serialises (test/data/versions/README.md).
 *
 * Pure; any thread.
 */
#ifndef RECONCILERS_PLAN_FIELDS_H
#define RECONCILERS_PLAN_FIELDS_H

#include "reconcilers/plan/data.h"

/* A field of an object that a release does not know. */
struct ek_field_unknown {
    const char *path;   /* in the object: "spec.template.spec.containers[0].x" */
    struct ek_minor at; /* the release that brought the field (newer than the release asked for), or
                           the first release without the field */
    bool went;          /* the field is gone */
    bool is_false;      /* its value is false */
};

/*
 * Calls fn for each field of object that the release does not know, only for the topmost where
 * fields lie within each other. A field that is null is absent. The strings live in arena, which fn
 * may reset; without room in the arena the rest is left out.
 */
void ek_fields_unknown(const struct ek_plan_data *data, yyjson_val *object, struct ek_minor release,
                       struct ek_arena *arena,
                       void (*fn)(void *ctx, const struct ek_field_unknown *field), void *ctx);

/* What changed after a release in a kind beside its status: the version that brought the kind
 * itself
 * (*ret_came; unknown: the release has the kind, or nothing is known of it). True when the kind or
 * a field of it is newer than the release. */
bool ek_fields_are_newer(const struct ek_plan_data *data, const char *api_version, const char *kind,
                         struct ek_minor release, struct ek_minor *ret_came);

/*
 * Finds the field at path, in the form of the data ("spec.containers[].x", "{}" for the value of a
 * map), of a kind. Returns true with *ret filled (path as given) when the release does not know the
 * field: only for the field itself, not for what lies within.
 */
bool ek_fields_find(const struct ek_plan_data *data, const char *api_version, const char *kind,
                    const char *path, struct ek_minor release, struct ek_field_unknown *ret);

/* The release that is nearest to a release and whose fields are known. What went before a newer
 * release is gone there as well, and what came after an older one is not there yet; what the newer
 * one itself changed is not known. */
struct ek_minor ek_fields_nearest(const struct ek_plan_data *data, struct ek_minor release);

/* Whether the fields of a release are known at all. */
bool ek_fields_have(const struct ek_plan_data *data, struct ek_minor release);

#endif
