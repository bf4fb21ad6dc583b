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
#ifndef CONTROLLER_MANIFESTS_MANIFESTS_INTERNAL_H
#define CONTROLLER_MANIFESTS_MANIFESTS_INTERNAL_H

#include <stdio.h>

#include "api/base/map.h"
#include "api/decode/custom.h"
#include "api/obj.h"
#include "api/schema/builtin.h"
#include "api/schema/schema.h"
#include "api/validation/validate.h"
#include "controller/cli/commands.h"
#include "controller/cli/output.h"
#include "controller/manifests/documents.h"
#include "reconcilers/mutation/rules.h"
#include "reconcilers/mutation/validate.h"
#include "reconcilers/plan/objects.h"
#include "reconcilers/policylint/typecheck.h"

/* Exit codes of both commands. */
#define EK_CI_EXIT_FOUND 1 /* denied, failed, golden differs; findings */
#define EK_CI_EXIT_USAGE 2 /* flags, files, data that is no good */

/* Prints err, and returns EK_CI_EXIT_USAGE. */
static inline int ek_ci_complain(const struct ek_err *err)
{
    ek_complain(err);
    return EK_CI_EXIT_USAGE;
}

#define EK_CI_FILE_MAX ((size_t)64 << 20)

/* A member of a document of JSON that another one of its name replaces. */
struct ek_ci_twin {
    size_t number;    /* of the document in the file, from 1 */
    const char *path; /* in the document; in the arena */
};

/* A file that objects were read from. */
struct ek_ci_file {
    char *text; /* owned */
    size_t len;
    bool json;
    struct ek_ci_twin *twins; /* owned; in the order of the text */
    size_t n_twins;
    struct ek_manifest_lines lines; /* of the text */
};

/* An object of a file. */
struct ek_ci_object {
    yyjson_val *value;                /* as it is written */
    yyjson_val *seen;                 /* as policies see it: value, unless it was decoded */
    const char *source;               /* the file's name, "standard input" */
    struct ek_ci_file *file;          /* NULL for an object of a cluster */
    size_t number;                    /* of its document in the file, from 1 */
    const char *prefix;               /* of its paths in the document: "items[3]." */
    size_t first_finding, n_findings; /* of its fields in the report of struct ek_ci_fields */
};

struct ek_ci_objects {
    struct ek_ci_object *list; /* owned */
    size_t n;
};

/* Schemas that a file or a CustomResourceDefinition brought. */
struct ek_ci_schema {
    struct ek_schema *schema;
};

/* Fields of one fault in all objects. */
struct ek_ci_named {
    size_t n;          /* that are reported */
    size_t n_unlisted; /* objects with further ones */
};

/* Names for a note: the first of them, borrowed, and how many there are. */
#define EK_CI_NAMED_MAX 5u
struct ek_ci_names {
    const char *first[EK_CI_NAMED_MAX];
    size_t n;
};

/* What mutate takes for granted of a cluster, as far as an object depends on it. */
struct ek_ci_assumed {
    unsigned *flags;               /* owned: of bound, then of validating; NULL before the first */
    struct ek_ci_names policies;   /* are bound, though no binding was read */
    size_t n_validating;           /* of these policies */
    bool have_params;              /* one of these policies */
    struct ek_ci_names namespaces; /* have no labels, though they were not read */
};

struct ek_ci {
    struct ek_arena *arena;
    yyjson_doc **docs; /* owned: all that was read */
    size_t n_docs;
    struct ek_ci_file **files; /* owned, with their texts */
    size_t n_files;
    bool stdin_taken, skip_unknown;
    size_t n_skipped; /* documents that skip_unknown left out */

    struct ek_ci_objects objects;  /* of -f, but policies and bindings */
    struct ek_ci_objects params;   /* of --params */
    struct ek_ci_objects old;      /* of --old */
    struct ek_ci_objects policies; /* and bindings, as they were read */
    struct ek_ci_objects crds;
    yyjson_val *namespace_object; /* of --namespace-object; NULL without */
    struct ek_map namespaces;     /* of the world, by name: of objects, and made up */
    struct ek_map made;           /* those that are made up, and no note is to name */
    struct ek_map olds;           /* of old, as seen, by kind and name; made at the first look */

    int minor;                  /* of the built-in kinds */
    struct ek_schema *builtin;  /* NULL when only files count */
    struct ek_ci_schema *extra; /* owned */
    size_t n_extra;

    const struct ek_policy **compiled;         /* owned, in the order of their names */
    const struct ek_ci_object **compiled_from; /* owned: what each was read from */
    size_t n_compiled;
    const struct ek_binding **bindings;        /* owned */
    const struct ek_ci_object **bindings_from; /* owned, of the n_read_bindings */
    size_t n_bindings;
    size_t n_read_bindings; /* those that were read come first, then those made up */
    struct ek_bound *bound; /* owned: of mutating policies */
    size_t n_bound;
    struct ek_bound *validating; /* owned: of validating policies, by policy and binding */
    size_t n_validating;

    struct ek_map validators; /* owned: of versions of definitions that objects were validated by */

    yyjson_val *allow, *deny;          /* lists of rules; NULL without */
    struct ek_equivalents equivalents; /* that the world has */

    struct ek_ci_fields *fields; /* owned; NULL: not looked at */

    struct ek_ci_named unknown, twice; /* unknown fields, and fields that stand twice */
    bool has_more_twins;               /* a file has more of the latter than are kept */

    struct ek_ci_assumed assumed;

    yyjson_mut_doc *notes_doc;
    yyjson_mut_val *notes; /* array of texts, each once */
    struct ek_map noted;   /* the same texts */
};

/* The flags that say what is read. */
struct ek_ci_options {
    struct ek_flag_list files, params, schemas;
    char *const *more_files; /* as files, of arguments without a flag; borrowed */
    size_t n_more_files;
    bool skip_unknown;                 /* leave out documents without apiVersion and kind */
    struct ek_cluster_options cluster; /* for --schema cluster */
    const char *compat;                /* controller/cli/compat.h; "" without */
};

/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member's name */
#define EK_SKIP_UNKNOWN_FLAG(holder, member)                                                       \
    {                                                                                              \
        .name = "skip-unknown", .type = EK_FLAG_BOOL, .offset = offsetof(holder, member),          \
        .help = "Leave out documents without apiVersion and kind, such as values of a Helm chart"  \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* Reads all of path (a file, a folder, "-") into objects; lists are taken apart. */
int ek_ci_read(struct ek_ci *ci, const char *path, struct ek_ci_objects *objects,
               struct ek_err *err);

/* The line (from 1) in the object's file of the value at a JSON pointer, or of the last part of it
 * that is there; 0 where the line is not known. The places of one document of a file are kept, so
 * that calls in the order of the documents take linear time together. */
size_t ek_ci_line(const struct ek_ci_object *object, const char *pointer);

/* The same for a path, as ek_yaml_line. */
size_t ek_ci_path_line(const struct ek_ci_object *object, const char *path);

/*
 * Decodes an object as an API server does before admission, into object->seen: by crd, its
 * CustomResourceDefinition, or as a built-in kind of the version of the schemas (NULL, or a crd
 * without that version); an object of another kind stays as it is. is_stored: it is not what a
 * client sends, but what was stored; else its unknown fields, which are dropped, are reported
 * (ek_ci_fields_unknown). *ret_unknown (NULL: not wanted): these fields, in ci's arena. EK_E_INVAL
 * names the line and the object which an API server would answer 400, in its words for custom
 * resources and with the place of the value for built-in kinds; EK_E_NOMEM.
 */
int ek_ci_decode(struct ek_ci *ci, struct ek_ci_object *object, yyjson_val *crd, bool is_stored,
                 struct ek_paths *ret_unknown, struct ek_err *err);

/* The same for all objects of -f, --params and --old, by the definitions of ci; the latter two were
 * stored. */
int ek_ci_decode_all(struct ek_ci *ci, struct ek_err *err);

/*
 * Validates the write of a custom resource of a kind, decoded, by crd, its definition, as an API
 * server does after admission. *ret_refusal: what it answers (422) in the arena of ci; NULL: it
 * stores the object. What an update leaves wrong is not refused; what cannot be decided is noted.
 * Errors: those of ek_validator_new.
 */
int ek_ci_validate(struct ek_ci *ci, yyjson_val *crd, const struct ek_gvk *kind,
                   const struct ek_custom_write *write, const char **ret_refusal,
                   struct ek_err *err);

/* Keeps a document until ek_ci_done. */
void ek_ci_own(struct ek_ci *ci, yyjson_doc *doc);

/* Reads the documents of a file, JSON or YAML, into an array that ci owns; shown is the file's name
 * in messages. */
int ek_ci_read_documents(struct ek_ci *ci, const char *path, const char *shown,
                         yyjson_doc **ret_doc, struct ek_err *err);

/* ---- Fields that releases of Kubernetes know ---- */

/* The version whose API servers the objects are for, what they do not know of the objects, and the
 * data that shows this. */
struct ek_ci_fields {
    struct ek_plan_data data;
    struct ek_plan_target target; /* from: the version to go back to; unknown without */
    struct ek_plan_report report;
};

/*
 * From here on the fields of all objects that are read are looked at, for the version that --compat
 * means (API servers of 1.NN + 1, which may go back to 1.NN), or else for the version of the
 * built-in schemas; for none with the schemas of a cluster, whose version is not read.
 */
int ek_ci_fields_open(struct ek_ci *ci, const struct ek_ci_options *options, struct ek_err *err);
void ek_ci_fields_free(struct ek_ci_fields *fields);

/* Adds to the report which fields of an object are not known; line as in struct ek_plan_object. */
void ek_ci_fields_check(struct ek_ci *ci, struct ek_ci_object *object,
                        size_t (*line)(void *ctx, const char *path), void *ctx);

/* The same for what policies made of an object, without the fields that it had before. */
void ek_ci_fields_check_result(struct ek_ci *ci, yyjson_val *before,
                               const struct ek_ci_object *after);

/*
 * Reports fields of an object, by their paths, which neither its Go types nor its
 * CustomResourceDefinition have, in the words of a server with fieldValidation=Warn
 * (apiserver/pkg/endpoints/handlers/create.go: createHandler, strict decoding errors): in the
 * report of ci->fields, or in a note where fields are not looked at. Those that the report has
 * already as fields of another release are left out. Of one object the first five are named, of all
 * objects the first 1,000; a last finding has the number of the others.
 */
void ek_ci_fields_unknown(struct ek_ci *ci, const struct ek_ci_object *object,
                          const struct ek_paths *unknown);

/* The same for fields of an object that stand twice in a file of JSON, of which the last counts. In
 * YAML, such a field is an error of the file. */
void ek_ci_fields_twice(struct ek_ci *ci, const struct ek_ci_object *object);

/* After the last object: reports how many objects have fields that are not named. */
void ek_ci_fields_unlisted(struct ek_ci *ci);

/* Notes a finding of the report: "warning: web.yaml:12: apps/v1 Deployment web: MESSAGE". */
void ek_ci_note_finding(struct ek_ci *ci, const struct ek_plan_finding *finding);

/* Fields of kinds, for checks of expressions; in ci's arena. */
const struct ek_type_gaps *ek_ci_fields_gaps(struct ek_ci *ci);

/* Reads what the options name, and sorts it. After success or failure: ek_ci_done. */
int ek_ci_init(struct ek_ci *ci, const struct ek_ci_options *options, struct ek_err *err);
void ek_ci_done(struct ek_ci *ci);
EK_CLEANUP(ek_ci, ek_ci_done)

/* Takes a reference to a schema, or a list of CustomResourceDefinitions. */
void ek_ci_add_schema(struct ek_ci *ci, struct ek_schema *schema);
void ek_ci_add_crds(struct ek_ci *ci, yyjson_doc *doc);

/* Reads all schemas and CustomResourceDefinitions of a cluster; blocks. */
int ek_ci_fetch(struct ek_ci *ci, const struct ek_cluster_options *cluster, struct ek_err *err);

/* Compiles policies and bindings and pairs them; compat_minor as in ek_policy_new. */
void ek_ci_bind(struct ek_ci *ci, int compat_minor);

/* After ek_ci_bind: EK_E_INVAL for the first policy that API servers refuse to create, with its
 * file and line and the words of the server (reconcilers/mutation/policy.h: problems). Such
 * policies are bound to nothing. */
int ek_ci_check_policies(struct ek_ci *ci, struct ek_err *err);

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

/* Calls fn for each known resource (and kind) that a rule of matchConstraints covers. */
void ek_ci_each_kind(const struct ek_ci *ci,
                     void (*fn)(void *arg, const struct ek_gvr *resource, const char *subresource,
                                const struct ek_gvk *kind),
                     void *arg);

/* Whether one of the policies and bindings is a binding. */
bool ek_ci_is_binding(const struct ek_ci_object *object);

/* Whether an object is a CustomResourceDefinition, of any version. */
bool ek_ci_is_definition(const struct ek_ci_object *object);

/* What an object says it is; group "" is core. Strings live in the arena. */
struct ek_gvk ek_ci_kind_of(struct ek_ci *ci, yyjson_val *object);
struct ek_gvk ek_ci_split_kind(struct ek_ci *ci, const char *api_version, const char *kind);

/* The world of the engine; arg is ci. Takes the namespaces of the objects as they are seen at the
 * first call; one that is not among them is made up once. */
void ek_ci_world(struct ek_ci *ci, struct ek_mutation_world *ret);

/* The resources that API servers regard as other versions of one resource: those of one definition,
 * and built-in resources of one name ("events" of both groups). */
void ek_ci_each_equivalent(void *ci, const struct ek_gvr *resource, const char *subresource,
                           bool (*fn)(void *fn_arg, const struct ek_gvr *other,
                                      const struct ek_gvk *kind),
                           void *fn_arg);

/* The scale subresource of a CustomResourceDefinition's version, or its status: the value under
 * spec.versions[].subresources; NULL without. */
yyjson_val *ek_ci_crd_subresource(const struct ek_ci *ci, const struct ek_gvr *resource,
                                  const char *subresource);

/* The CustomResourceDefinition of a kind among the files; NULL without. */
yyjson_val *ek_ci_crd_of(const struct ek_ci *ci, const struct ek_gvk *kind);

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
    const char *namespace;   /* of objects that have none; "" for default */
    const char *old, *namespace_object, *user, *field_manager, *allow, *deny, *expect;
    struct ek_flag_list groups, extra; /* extra: "key=value" */
    bool update_golden, allow_empty, as_stored;
    const char *output, *color, *denied;
};

/*
 * Makes the request that an API server would make of an object: an admission request's JSON, owned.
 * With a subresource it is an update of that, or a creation where its kind is its own (an
 * Eviction); a Scale is made of the object that is scaled. NULL for an object that has no such
 * subresource, which is noted. Errors: EK_E_INVAL, EK_E_NOMEM.
 */
int ek_mutate_request(struct ek_ci *ci, const struct ek_mutate_options *options,
                      const struct ek_ci_object *object, yyjson_doc **ret_doc, struct ek_err *err);

/*
 * Makes the object that goes back to the file: as it is written there, with what the policies
 * changed, a tree of doc. before is the object of the request, as an API server decoded it, after
 * what the policies made of it. What the decoder dropped stays, and what it added (defaults) stays
 * away, unless a policy changed it; of stringData the keys go whose data a policy changed, because
 * the API server would write them over the change.
 */
yyjson_mut_val *ek_mutate_carry(yyjson_mut_doc *doc, yyjson_val *written, yyjson_val *before,
                                yyjson_val *after);

/* What of a written object is not stored: parts that the write does not reach, fields of metadata
 * that API servers set, and fields that a CustomResourceDefinition does not have. */
enum {
    EK_UNSTORED_PART = 1u << 0,
    EK_UNSTORED_METADATA = 1u << 1,
    EK_UNSTORED_FIELDS = 1u << 2,
};

/*
 * Makes of object, a tree of doc that is written by request, what is stored of it: from (NULL:
 * there is none) has the parts that the write does not reach, which are the status in a write of a
 * whole object that has a subresource status, and all else in a write of that; and the fields of
 * metadata that API servers set. Fields that are unknown go. Returns what of the object this
 * changes (EK_UNSTORED_*).
 */
unsigned ek_mutate_store(const struct ek_ci *ci, const struct ek_admission_request *request,
                         yyjson_val *from, yyjson_mut_doc *doc, yyjson_mut_val *object);

/*
 * Returns why an API server refuses to store what policies made of the object of a request, in its
 * words and the arena of ci; NULL: it does not. object is as ek_mutate_store leaves it. Custom
 * resources are validated by their CustomResourceDefinition among the files; of other kinds only
 * the metadata is looked at. What cannot be validated is noted.
 */
const char *ek_mutate_refusal(struct ek_ci *ci, const struct ek_admission_request *request,
                              yyjson_val *object);

/*
 * Judges a request whose object has become object (NULL: it is as it was) by the validating
 * policies. ret is in arena. Returns 0 or an error.
 */
int ek_mutate_validate(struct ek_ci *ci, yyjson_val *request, yyjson_val *object,
                       const struct ek_mutation_world *world, struct ek_arena *arena,
                       struct ek_validating_outcome *ret, struct ek_err *err);

/*
 * Looks at a request that n policies, bound, were run on: which of them were taken to be bound and
 * match the request, and whether one of them depends on a Namespace that is not among the files.
 * bound is that of ci, or validating of ci.
 */
void ek_mutate_assume(struct ek_ci *ci, const struct ek_admission_request *request,
                      const struct ek_bound *bound, size_t n);

/* After the last object: notes what was assumed and counted, each in one note, and the bindings
 * that name no policy of the files. */
void ek_mutate_note_assumed(struct ek_ci *ci);

/* Adds what the validating policies said to a result. */
void ek_mutate_add_validation(yyjson_mut_doc *doc, yyjson_mut_val *result,
                              const struct ek_validating_outcome *outcome);

/* Handles the result of one object, which is valid during the call. Returns 0 or an error, which
 * ends the run. */
typedef int (*ek_mutate_fn)(void *ctx, yyjson_val *result, struct ek_err *err);

/* Runs the objects through the engine, one by one, in their order. */
int ek_mutate_each(struct ek_ci *ci, const struct ek_mutate_options *options, ek_mutate_fn fn,
                   void *ctx, struct ek_err *err);

/* ---- mutate: golden files ---- */

/* Compares results with the files of a folder, or writes the files. */
struct ek_golden {
    const char *folder; /* borrowed */
    bool update;
    size_t differ;       /* results that differ, and files without a result */
    struct ek_map names; /* file names of the results so far; the values are owned */
    const char *rule;    /* "golden-missing", "golden-differs": the last result; NULL: it equals */
    struct ek_buf text;  /* then for people, with the differences */
};

int ek_golden_open(struct ek_golden *golden, const char *folder, bool update, struct ek_err *err);
/* One result. Prints a difference on stderr. Returns 0, or an error of the files. */
int ek_golden_add(struct ek_golden *golden, yyjson_val *result, struct ek_err *err);
/* Reports the .yaml files of the folder that no result has, on stderr and to on_stale. */
int ek_golden_end(struct ek_golden *golden,
                  void (*on_stale)(void *ctx, const char *path, const char *text), void *ctx,
                  struct ek_err *err);
void ek_golden_done(struct ek_golden *golden);

/* ---- mutate: output ---- */

/* Writes results as they come, in memory for one of them; a table and the reports of checks (junit,
 * sarif) are written at the end, and so is -o yaml --denied fail, all of it from memory: a
 * container may have no folder for files. */
struct ek_mutate_output {
    const struct ek_mutate_options *options;
    struct ek_text_table *table;     /* -o table; owned */
    struct ek_mutate_checks *checks; /* -o junit, -o sarif; owned */
    struct ek_buf held; /* -o yaml --denied fail: what is printed if nothing is denied */
    size_t n, denied;
};

int ek_mutate_output_open(struct ek_mutate_output *out, const struct ek_mutate_options *options,
                          struct ek_err *err);
/* golden: of the result; NULL without golden files. */
int ek_mutate_output_add(struct ek_mutate_output *out, yyjson_val *result,
                         const struct ek_golden *golden, struct ek_err *err);
/* A golden file without a result; ctx is the output. */
void ek_mutate_output_stale(void *ctx, const char *path, const char *text);
/* notes as in struct ek_ci. Errors: EK_E_LIMIT, EK_E_NOMEM, EK_E_NET for a failed write. */
int ek_mutate_output_end(struct ek_mutate_output *out, yyjson_mut_val *notes, struct ek_err *err);
void ek_mutate_output_done(struct ek_mutate_output *out);

/* Results as checks for CI systems: by golden files, an object that differs from its file fails,
 * and a file without an object; without them, an object that is denied. format: "junit" or "sarif".
 */
struct ek_mutate_checks *ek_mutate_checks_new(const char *format);
void ek_mutate_checks_free(struct ek_mutate_checks *checks);
/* golden as above. */
void ek_mutate_checks_add(struct ek_mutate_checks *checks, yyjson_val *result,
                          const struct ek_golden *golden);
void ek_mutate_checks_stale(struct ek_mutate_checks *checks, const char *path, const char *text);
/* Appends the report, after the last check. Returns 0, EK_E_LIMIT or EK_E_NOMEM. */
int ek_mutate_checks_write(struct ek_mutate_checks *checks, struct ek_buf *out);

/* Whether the output format is one of these. */
bool ek_mutate_is_checks(const struct ek_mutate_options *options);

/* "apps/v1 Deployment prod/web", "apps/v1 Deployment prod/web /status". */
void ek_mutate_title(yyjson_val *result, struct ek_buf *out);
/* Appends the changes of each policy with a diff. as_stored: the objects of the result are those
 * that an API server would store, as the head of the diff says; else the diff is of the file.
 * Returns 0 or EK_E_LIMIT. Pure; any thread. */
int ek_mutate_diff(yyjson_val *result, bool as_stored, bool color, struct ek_buf *out);
/* Make a table of results (freed by ek_text_table_free), and add the rows of one result. */
struct ek_text_table *ek_mutate_table_new(void);
void ek_mutate_table_add(struct ek_text_table *table, yyjson_val *result);

/* Appends a unified diff of two texts, with all of it as context up to three lines. */
int ek_text_diff(const char *before, const char *after, bool color, struct ek_buf *out);

#endif
