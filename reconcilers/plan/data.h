/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the program knows about Kubernetes versions: the feature gates and APIs of the newest
 * binary, which it has for every version that it emulates, and the fields that each release brought
 * and dropped.
 *
 * The data is one file for each version, data/1.NN.json, compiled into the program; a newer file
 * can be read from a text (README.md, "Data"). Constant after ek_plan_data_open; any thread may
 * read.
 */
#ifndef RECONCILERS_PLAN_DATA_H
#define RECONCILERS_PLAN_DATA_H

#include "reconcilers/plan/features.h"

/* The lifecycle of a kind in a group and version (prerelease-lifecycle-gen of Kubernetes). */
struct ek_api_lifecycle {
    const char *group, *version, *kind;              /* group "" is core */
    struct ek_minor introduced, deprecated, removed; /* unknown: always, never */
    const char *new_group, *new_version, *new_kind;  /* the replacement; NULL without */
    bool retired;        /* of the table of kinds that went before the data (retired.c) */
    const char *instead; /* the remedy where no kind replaces it, "use ..."; NULL: not known */
};

/* A resource as API servers list it. */
struct ek_api_row {
    const char *group, *version, *resource, *kind;
    const char *gate;         /* listed only with this feature gate; NULL without */
    yyjson_val *subresources; /* array of names */
    bool stored; /* objects of the resource are stored, and the data has their version */
    const struct ek_api_lifecycle *lifecycle; /* NULL: always served */
};

/* A resource that the binary stores in one version at any minimum compatibility version. */
struct ek_api_override {
    const char *group, *resource;
    const char *stored; /* "group/version", "v1" */
};

/* What changed in the fields of a kind with a release. */
struct ek_field_change {
    struct ek_minor at;
    bool is_new, gone; /* the kind itself came or went */
    yyjson_val *came,
        *went; /* arrays of paths: "spec.containers[].env[].name", "{}" a map's value */
};

struct ek_field_kind {
    const char *api_version, *kind;
    struct ek_field_change *changes; /* oldest first */
    size_t n_changes;
};

struct ek_plan_data {
    struct ek_arena *arena;
    yyjson_doc **docs;
    size_t n_docs;
    struct ek_minor oldest, newest; /* the releases whose fields are known */
    struct ek_minor binary;         /* the binary whose gates and APIs are known */
    const char *binary_version;     /* "1.36.2" */
    const char *recorded;           /* the date of that file, "2026-11-22" */
    struct ek_feature_registry features;
    struct ek_api_lifecycle *kinds; /* by group, version, kind */
    size_t n_kinds;
    struct ek_api_row *resources; /* by group, version, resource */
    size_t n_resources;
    struct ek_api_override *overrides;
    size_t n_overrides;
    yyjson_val *flags;            /* component -> names of its flags; NULL: not known */
    yyjson_val *priority;         /* group -> versions, the preferred one first */
    struct ek_field_kind *fields; /* by API version and kind */
    size_t n_fields;
    struct ek_plan_data *older; /* the data of the program, where a newer binary takes its place */
};

/*
 * Reads the data of the program, and more (the text of a file of the same form, p NULL for none):
 * it takes the place of the program's file of that version. After success or failure:
 * ek_plan_data_done. EK_E_PARSE or EK_E_INVAL for a text that is no such file.
 */
int ek_plan_data_open(struct ek_str more, struct ek_plan_data *ret_data, struct ek_err *err);
void ek_plan_data_done(struct ek_plan_data *data);
EK_CLEANUP(ek_plan_data, ek_plan_data_done)

/* The data whose gates and APIs are nearest to those of a binary: that of the program for a binary
 * that is not newer, else data itself. Borrowed. */
const struct ek_plan_data *ek_plan_data_at(const struct ek_plan_data *data, struct ek_minor binary);

/* The lifecycle of a kind; NULL when the data has none. */
const struct ek_api_lifecycle *ek_plan_find_kind(const struct ek_plan_data *data, const char *group,
                                                 const char *version, const char *kind);

#endif
