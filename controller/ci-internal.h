/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `evenkeel mutate` and `evenkeel lint` share: manifests read from files, and a small world
 * made of them that the engine and the checks can ask, without a cluster.
 *
 * Model: files hold objects in YAML or JSON, several in one file, lists of them, folders of files.
 * Policies and bindings among them make the policy set; CustomResourceDefinitions bring schemas
 * and resource names; Namespaces are what objects live in. One thread. Everything lives in struct
 * ek_ci and is released by ek_ci_done.
 */
#ifndef CONTROLLER_CI_INTERNAL_H
#define CONTROLLER_CI_INTERNAL_H

#include "api/obj.h"
#include "api/schema/builtin.h"
#include "api/schema/schema.h"
#include "controller/commands.h"
#include "reconcilers/mutation/engine.h"
#include "reconcilers/mutation/rules.h"

/* Exit codes of both commands. */
#define EK_CI_EXIT_FOUND 1 /* denied, failed, golden differs; findings */
#define EK_CI_EXIT_USAGE 2 /* flags, files, data that is no good */

#define EK_CI_FILE_MAX ((size_t)64 << 20)

/* An object of a file. */
struct ek_ci_object {
    yyjson_val *value;
    const char *source; /* the file's name, "standard input" */
};

struct ek_ci_objects {
    struct ek_ci_object *list; /* owned */
    size_t n;
};

/* Schemas that a file or a CustomResourceDefinition brought. */
struct ek_ci_schema {
    struct ek_schema *schema;
};

struct ek_ci {
    struct ek_arena *arena;
    yyjson_doc **docs; /* owned: all that was read */
    size_t n_docs;
    bool stdin_taken;

    struct ek_ci_objects objects;  /* of -f, but policies, bindings and definitions */
    struct ek_ci_objects params;   /* of --params */
    struct ek_ci_objects old;      /* of --old */
    struct ek_ci_objects policies; /* and bindings, as they were read */
    struct ek_ci_objects crds;
    yyjson_val *namespace_object; /* of --namespace-object; NULL without */

    int minor;                  /* of the built-in kinds */
    struct ek_schema *builtin;  /* NULL when only files count */
    struct ek_ci_schema *extra; /* owned */
    size_t n_extra;

    const struct ek_policy **compiled; /* owned, in the order of their names */
    const char **compiled_source;      /* their files, beside compiled */
    size_t n_compiled;
    const struct ek_binding **bindings; /* owned */
    size_t n_bindings;
    size_t n_read_bindings; /* those that were read come first, then those made up */
    struct ek_bound *bound; /* owned */
    size_t n_bound;

    yyjson_val *allow, *deny; /* lists of rules; NULL without */
    bool asked_authorizer;
    struct ek_equivalents equivalents; /* that the world has */

    yyjson_mut_doc *notes_doc;
    yyjson_mut_val *notes; /* array of texts, each once */
};

/* The flags that say what is read. */
struct ek_ci_options {
    struct ek_flag_list files, params, schemas;
    struct ek_cluster_options cluster; /* for --schema cluster */
    const char *compat;                /* "1.34"; "" for the schema's version */
};

/* Reads all of path (a file, a folder, "-") into objects; lists are taken apart. */
int ek_ci_read(struct ek_ci *ci, const char *path, struct ek_ci_objects *objects,
               struct ek_err *err);

/* Reads what the options name, and sorts it. After success or failure: ek_ci_done. */
int ek_ci_init(struct ek_ci *ci, const struct ek_ci_options *options, struct ek_err *err);
void ek_ci_done(struct ek_ci *ci);
EK_CLEANUP(ek_ci, ek_ci_done)

/* Takes a reference to a schema, or a list of CustomResourceDefinitions. */
void ek_ci_add_schema(struct ek_ci *ci, struct ek_schema *schema);
void ek_ci_add_crds(struct ek_ci *ci, yyjson_doc *doc);

/* Asks a cluster for all its schemas and CustomResourceDefinitions; blocks. */
int ek_ci_fetch(struct ek_ci *ci, const struct ek_cluster_options *cluster, struct ek_err *err);

/* Compiles policies and bindings and pairs them; compat_minor as in ek_policy_new. */
void ek_ci_bind(struct ek_ci *ci, int compat_minor);

/* Says something once. */
void ek_ci_note(struct ek_ci *ci, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The resource that objects of a kind are; false for a guess. */
struct ek_ci_resource {
    struct ek_gvr resource;
    bool namespaced;
};
bool ek_ci_resource_of(struct ek_ci *ci, const struct ek_gvk *kind, bool has_namespace,
                       struct ek_ci_resource *ret);

/* The schema that has a kind, NULL when none has. Borrowed. */
const struct ek_schema *ek_ci_schema_of(const struct ek_ci *ci, const struct ek_gvk *kind);

/* Calls fn for each resource (and kind) that a rule of matchConstraints covers, until all known
 * ones were looked at. */
void ek_ci_each_kind(const struct ek_ci *ci,
                     void (*fn)(void *arg, const struct ek_gvr *resource, const char *subresource,
                                const struct ek_gvk *kind),
                     void *arg);

/* What an object says it is; group "" is core. Strings live in the arena. */
struct ek_gvk ek_ci_kind_of(struct ek_ci *ci, yyjson_val *object);
struct ek_gvk ek_ci_split_kind(struct ek_ci *ci, const char *api_version, const char *kind);

/* The world that the engine asks; arg is ci. */
void ek_ci_world(struct ek_ci *ci, struct ek_mutation_world *ret);

/* The resources that API servers take for other versions of one: those of a definition, and
 * built-in ones of one name ("events" of both groups). */
void ek_ci_each_equivalent(void *ci, const struct ek_gvr *resource, const char *subresource,
                           bool (*fn)(void *fn_arg, const struct ek_gvr *other,
                                      const struct ek_gvk *kind),
                           void *fn_arg);

/* The scale subresource of a CustomResourceDefinition's version, or its status: the value under
 * spec.versions[].subresources; NULL without. */
yyjson_val *ek_ci_crd_subresource(const struct ek_ci *ci, const struct ek_gvr *resource,
                                  const char *subresource);

/* The built-in subresource of a resource; NULL when it has none. */
const struct ek_builtin_resource *ek_ci_builtin_subresource(const struct ek_ci *ci,
                                                            const struct ek_gvr *resource,
                                                            const char *subresource);

/* "name", "namespace/name"; in the arena. */
const char *ek_ci_key(struct ek_ci *ci, yyjson_val *object);

/* ---- mutate ---- */

struct ek_mutate_options {
    struct ek_ci_options inputs;
    const char *operation;   /* "" for CREATE, or UPDATE where --old has the object */
    const char *subresource; /* "" for the objects themselves */
    const char *old, *namespace_object, *user, *allow, *deny, *expect;
    struct ek_flag_list groups;
    bool update_golden;
    const char *output, *color;
};

/*
 * Makes the request that an API server would make of an object: an admission request's JSON, owned.
 * With a subresource it is an update of that, or a creation where its kind is its own (an
 * Eviction); a Scale is made of the object that is scaled. NULL for an object that has no such
 * subresource, which is noted. Errors: EK_E_INVAL, EK_E_NOMEM.
 */
int ek_mutate_request(struct ek_ci *ci, const struct ek_mutate_options *options,
                      const struct ek_ci_object *object, yyjson_doc **ret_doc, struct ek_err *err);

/* Runs the objects through the engine. Returns the report, a value of *ret_doc. *ret_bad tells
 * whether an object was denied. */
yyjson_doc *ek_mutate_report(struct ek_ci *ci, const struct ek_mutate_options *options,
                             bool *ret_bad, struct ek_err *err);

/* Compares the results with, or writes them to, files of a folder; tells on stderr what differs.
 * Returns how many differ, or an error below zero. */
int ek_mutate_golden(const char *folder, bool update, yyjson_val *report, struct ek_err *err);

/* The forms of a report for people; ek_print_table_fn each. */
int ek_mutate_diff(void *ctx, yyjson_val *report, bool color, struct ek_buf *out);
int ek_mutate_table(void *ctx, yyjson_val *report, bool color, struct ek_buf *out);
/* The resulting objects, as a stream of YAML documents. */
int ek_mutate_yaml(yyjson_val *report, struct ek_buf *out);

/* Appends a unified diff of two texts, with all of it as context up to three lines. */
int ek_text_diff(const char *before, const char *after, bool color, struct ek_buf *out);

#endif
