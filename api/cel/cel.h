/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CEL, the Common Expression Language, with the results and the costs that Kubernetes has.
 *
 * Model: an environment has the names, types, functions and macros that an expression may use. The
 * environment compiles text to a program, which can be evaluated with any values of the variables:
 *
 *     struct ek_cel_env *env = ek_cel_env_new(&(struct ek_cel_env_options){0}, &err);
 *     ek_cel_env_declare(env, "object", "dyn", &err);
 *     struct ek_cel_program *p = ek_cel_compile(env, text, strlen(text), NULL, &issues);
 *     struct ek_cel_val vars[1] = {ek_cel_from_json(yyjson_doc_get_root(doc))};
 *     struct ek_cel_result r;
 *     ek_cel_eval(p, vars, arena, &(struct ek_cel_limits){.cost = 1000000}, &r);
 *
 * A value has 16 bytes, can be copied, and owns nothing. Its content is in the JSON document from
 * which the value was read, in the arena of the evaluation that made the value, or in the program.
 * A value is valid as long as those three are.
 *
 * Threading: one thread may use an environment until its first compilation, or until the
 * environment is frozen; after that the environment does not change. Any number of threads may then
 * use environments and programs. An arena and a result belong to one evaluation.
 *
 * Not supported: protocol buffer messages, partial evaluation with unknowns, and a static estimate
 * of costs. api/cel/library.h describes how further functions are added.
 *
 * Sources: the language definition of google/cel-spec; the behaviour of cel-go 0.26 as Kubernetes
 * 1.36 embeds it (apiserver/pkg/cel/environment/base.go: baseOpts).
 */
#ifndef API_CEL_CEL_H
#define API_CEL_CEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "api/base/arena.h"
#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/base/work.h"

/* ---- Values ---------------------------------------------------------------------------------- */

enum ek_cel_kind {
    EK_CEL_ERROR, /* a failed evaluation; in a list or map only as the host put it there */
    EK_CEL_NULL,
    EK_CEL_BOOL,
    EK_CEL_INT,
    EK_CEL_UINT,
    EK_CEL_DOUBLE,
    EK_CEL_STRING, /* valid UTF-8 */
    EK_CEL_BYTES,
    EK_CEL_LIST,
    EK_CEL_MAP,
    EK_CEL_TIMESTAMP,
    EK_CEL_DURATION,
    EK_CEL_TYPE,
    EK_CEL_OPTIONAL,
    EK_CEL_STRUCT, /* Object{...}, JSONPatch{...}: a type name and the fields that were set */
    EK_CEL_OPAQUE, /* quantity, IP, URL, authorizer, ...: see api/cel/library.h */
    EK_CEL_KIND_MAX,
};

/* What a list is, where that counts. */
enum ek_cel_list_kind {
    EK_CEL_LIST_PLAIN,
    EK_CEL_LIST_SUM,       /* of two lists that both have elements, which JSON rules tell apart */
    EK_CEL_LIST_UNORDERED, /* made by the host: on the left of == it equals each list of the same
                              elements; n elements are followed by n strings that identify them */
};

/* Where a list or map keeps its content. */
enum ek_cel_form {
    EK_CEL_NATIVE, /* union member items or entries */
    EK_CEL_JSON,   /* union member json: an array or object of a yyjson document, read in place */
    EK_CEL_HOST,   /* union member host: a map whose entries the host computes on demand */
};

struct ek_cel_val {
    uint8_t kind;   /* enum ek_cel_kind */
    uint8_t form;   /* enum ek_cel_form of a list or map; else 0 */
    int16_t offset; /* of a timestamp: minutes east of UTC, for its text alone; of a list: enum
                       ek_cel_list_kind; else 0 */
    uint32_t n;     /* octets of a string or bytes; elements of a list or map (0 for EK_CEL_HOST);
                       nanoseconds of a timestamp, 0..999999999; else 0 */
    union {
        bool b;
        int64_t i; /* int; nanoseconds of a duration; seconds since the epoch of a timestamp */
        uint64_t u;
        double d;
        const char *s; /* string and bytes; not NUL-terminated */
        yyjson_val *json;
        const struct ek_cel_items *items;
        const struct ek_cel_entries *entries;
        const struct ek_cel_host *host;
        const struct ek_cel_type *type;
        const struct ek_cel_val *some; /* of an optional; NULL is optional.none() */
        const struct ek_cel_struct *object;
        const struct ek_cel_opaque *opaque;
        const struct ek_cel_fault *fault;
    };
};

/* A map computed by the host, such as `variables`: get is called for each key that is read. */
struct ek_cel_host {
    /*
     * Finds the entry name (len octets). Returns 1 and fills *ret_value and *ret_cost (charged to
     * the evaluation), 0 when there is no such key, or -1 with *ret_value an error made by
     * ek_cel_error. Runs on the evaluating thread; what it returns must outlive the evaluation.
     */
    int (*get)(void *arg, const char *name, size_t len, struct ek_cel_val *ret_value,
               uint64_t *ret_cost);
    void *arg;
};

/* What kind of failure a value of kind EK_CEL_ERROR or an issue is. */
enum ek_cel_error_kind {
    EK_CEL_E_SYNTAX = 1, /* does not parse */
    EK_CEL_E_TYPE,       /* does not type-check, or an argument that can be seen to be invalid */
    EK_CEL_E_EVAL,       /* evaluates to an error */
    EK_CEL_E_COST,       /* cost limit or budget exceeded */
    EK_CEL_E_MEMORY,     /* memory bound of the evaluation exceeded, or no memory */
    EK_CEL_E_CANCELED,
    EK_CEL_E_LIMIT, /* the text is larger or deeper than the parser takes */
};

struct ek_cel_fault {
    enum ek_cel_error_kind kind;
    uint32_t position;   /* code points before the part of the text that failed */
    const char *message; /* one line; lives as long as the value */
};

/* The value that stands for a JSON value read in place (NULL stands for null). Whole numbers that
 * fit int64 are int, all others double: what Kubernetes' unstructured content does. */
static inline struct ek_cel_val ek_cel_from_json(yyjson_val *json)
{
    struct ek_cel_val v = {.kind = EK_CEL_NULL};

    switch (yyjson_get_type(json)) {
    case YYJSON_TYPE_STR:
        v.kind = EK_CEL_STRING;
        v.n = (uint32_t)unsafe_yyjson_get_len(json);
        v.s = unsafe_yyjson_get_str(json);
        break;
    case YYJSON_TYPE_OBJ:
        v.kind = EK_CEL_MAP;
        v.form = EK_CEL_JSON;
        v.n = (uint32_t)unsafe_yyjson_get_len(json);
        v.json = json;
        break;
    case YYJSON_TYPE_ARR:
        v.kind = EK_CEL_LIST;
        v.form = EK_CEL_JSON;
        v.n = (uint32_t)unsafe_yyjson_get_len(json);
        v.json = json;
        break;
    case YYJSON_TYPE_BOOL:
        v.kind = EK_CEL_BOOL;
        v.b = unsafe_yyjson_get_bool(json);
        break;
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(json)) {
            v.kind = EK_CEL_DOUBLE;
            v.d = unsafe_yyjson_get_real(json);
        } else if (yyjson_is_sint(json) || unsafe_yyjson_get_uint(json) <= INT64_MAX) {
            v.kind = EK_CEL_INT;
            v.i = unsafe_yyjson_get_sint(json);
        } else {
            v.kind = EK_CEL_DOUBLE;
            v.d = (double)unsafe_yyjson_get_uint(json);
        }
        break;
    default:
        break;
    }
    return v;
}

static inline struct ek_cel_val ek_cel_null(void)
{
    return (struct ek_cel_val){.kind = EK_CEL_NULL};
}

static inline struct ek_cel_val ek_cel_bool(bool b)
{
    return (struct ek_cel_val){.kind = EK_CEL_BOOL, .b = b};
}

static inline struct ek_cel_val ek_cel_int(int64_t i)
{
    return (struct ek_cel_val){.kind = EK_CEL_INT, .i = i};
}

static inline struct ek_cel_val ek_cel_uint(uint64_t u)
{
    return (struct ek_cel_val){.kind = EK_CEL_UINT, .u = u};
}

static inline struct ek_cel_val ek_cel_double(double d)
{
    return (struct ek_cel_val){.kind = EK_CEL_DOUBLE, .d = d};
}

/* A string of len octets of valid UTF-8, borrowed. */
static inline struct ek_cel_val ek_cel_string(const char *s, size_t len)
{
    return (struct ek_cel_val){.kind = EK_CEL_STRING, .n = (uint32_t)len, .s = s};
}

static inline struct ek_cel_val ek_cel_bytes(const char *s, size_t len)
{
    return (struct ek_cel_val){.kind = EK_CEL_BYTES, .n = (uint32_t)len, .s = s};
}

/* ns nanoseconds. */
static inline struct ek_cel_val ek_cel_duration(int64_t ns)
{
    return (struct ek_cel_val){.kind = EK_CEL_DURATION, .i = ns};
}

static inline struct ek_cel_val ek_cel_timestamp(int64_t seconds, uint32_t ns)
{
    return (struct ek_cel_val){.kind = EK_CEL_TIMESTAMP, .n = ns, .i = seconds};
}

/* A map computed on demand; host is borrowed. */
static inline struct ek_cel_val ek_cel_host_map(const struct ek_cel_host *host)
{
    return (struct ek_cel_val){.kind = EK_CEL_MAP, .form = EK_CEL_HOST, .host = host};
}

static inline struct ek_cel_val ek_cel_error(const struct ek_cel_fault *fault)
{
    return (struct ek_cel_val){.kind = EK_CEL_ERROR, .fault = fault};
}

/* CEL's ==: never fails, false across kinds, numbers compared on the number line, NaN unequal to
 * itself, lists and maps by content (google/cel-spec, doc/langdef.md, "Equality"). Host maps equal
 * nothing. */
bool ek_cel_equal(const struct ek_cel_val *a, const struct ek_cel_val *b);

/*
 * Walks a list or map. For a list, key counts from 0 and value is the element; for a map, both
 * are the entry's. A host map has no entries to walk. The container must outlive the walk.
 */
struct ek_cel_iter {
    struct ek_cel_val container, key, value;
    uint32_t at;
    yyjson_arr_iter arr;
    yyjson_obj_iter obj;
};

void ek_cel_iter_init(struct ek_cel_iter *iter, const struct ek_cel_val *container);

/* Moves to the next entry and fills iter->key and iter->value; false at the end. */
bool ek_cel_iter_next(struct ek_cel_iter *iter);

/* The element at index of a list; index must be below n. Linear in index for JSON arrays of
 * containers, so walk instead of counting. */
struct ek_cel_val ek_cel_list_at(const struct ek_cel_val *list, uint32_t index);

/* Finds the entry of a map whose key equals key (a number of another kind also finds it). Returns
 * 1 and fills *ret_value, or 0; for a host map as its get does, without the cost. */
int ek_cel_map_find(const struct ek_cel_val *map, const struct ek_cel_val *key,
                    struct ek_cel_val *ret_value);

/* The name of a struct's type ("Object.spec"), and its fields in the order they were written. */
const char *ek_cel_struct_type(const struct ek_cel_val *object);
size_t ek_cel_struct_len(const struct ek_cel_val *object);
/* Field at index: fills *ret_name (NUL-terminated) and *ret_value. A field set to optional.none()
 * without `?` is an optional, not a null. */
void ek_cel_struct_at(const struct ek_cel_val *object, size_t index, const char **ret_name,
                      struct ek_cel_val *ret_value);
/* Returns 1 and fills *ret_value, or 0. */
int ek_cel_struct_find(const struct ek_cel_val *object, const char *name, size_t len,
                       struct ek_cel_val *ret_value);

/*
 * What the literal that made a map or struct left out on purpose: keys and fields written as
 * `?name: value` whose value was optional.none(), and that no later one of the name set. Nothing in
 * the language sees them. A host may take them for a request to remove the field (KEP-3962,
 * "Unsetting values"). The i-th, i below the number, is a key; a string for fields.
 */
size_t ek_cel_unset_len(const struct ek_cel_val *value);
struct ek_cel_val ek_cel_unset_at(const struct ek_cel_val *value, size_t i);

/* The type of a value as type() gives it, without arguments: list, map, net.IP ... Static. */
const char *ek_cel_type_name(const struct ek_cel_val *value);

/* Appends the value as people read it in a report: CEL syntax, nested, at most the buffer's
 * maximum. Returns 0 or the buffer's error. */
int ek_cel_format(const struct ek_cel_val *value, struct ek_buf *out);

/* How values become JSON. */
enum ek_cel_json_rules {
    EK_CEL_JSON_PLAIN,     /* nothing is refused but types, functions and opaque values: bytes are
                              base64, durations and timestamps text, whole doubles ints */
    EK_CEL_JSON_APPLY,     /* as an in-tree ApplyConfiguration (ObjectVal.ConvertToNative) */
    EK_CEL_JSON_JSONPATCH, /* as the value of an in-tree JSONPatch operation */
};

/* Converts value into a JSON value that doc owns; of keys of a map that have one text the last one
 * counts. work may be NULL. Returns NULL and fills err (may be NULL) when the rules refuse it
 * (EK_E_INVAL), when the work is over (EK_E_CANCELED), or without memory (EK_E_NOMEM). */
yyjson_mut_val *ek_cel_to_json(const struct ek_cel_val *value, enum ek_cel_json_rules rules,
                               yyjson_mut_doc *doc, struct ek_work *work, struct ek_err *err);

/* ---- Environments ---------------------------------------------------------------------------- */

struct ek_cel_env;

enum ek_cel_env_set {
    EK_CEL_ENV_KUBERNETES, /* what conditions and validations of that version may use */
    EK_CEL_ENV_MUTATION,   /* the same with Object, Object.*, JSONPatch and jsonpatch.* */
    EK_CEL_ENV_STANDARD,   /* every library in its newest version, no Kubernetes restrictions */
};

enum ek_cel_env_mode {
    EK_CEL_STORED, /* expressions that a server has already accepted: everything it knows */
    EK_CEL_NEW,    /* expressions that are new at that compatibility version */
};

struct ek_cel_env_options {
    enum ek_cel_env_set set;
    enum ek_cel_env_mode mode;
    int compat_minor;      /* NN of the compatibility version 1.NN; 0 is the newest known */
    const char *container; /* namespace that names are resolved in; NULL is the root */
    bool no_macros;        /* read macros as ordinary calls */
    bool no_check;         /* skip type checking; names and overloads are found at run time */
};

/* Returns an owned, mutable environment, or NULL with err filled (unknown version, no memory). */
struct ek_cel_env *ek_cel_env_new(const struct ek_cel_env_options *options, struct ek_err *err);

/*
 * Returns an owned environment with parent's content, to which more can be declared. It holds a
 * reference to parent, which becomes frozen. It is cheap; intended use: one per policy.
 */
struct ek_cel_env *ek_cel_env_extend(struct ek_cel_env *parent);

struct ek_cel_env *ek_cel_env_ref(struct ek_cel_env *env);
void ek_cel_env_unref(struct ek_cel_env *env); /* NULL is fine */

/*
 * Declares a variable of a type written as CEL prints it: "dyn", "list(string)",
 * "map(string, int)", "optional_type(int)", "kubernetes.AdmissionRequest". The name may be dotted
 * ("authorizer.requestResource"); with "@" in front it takes a slot, but cannot be written in an
 * expression. Variables get slots in the order of their declaration, from 0,
 * parent's first. Returns the slot, or EK_E_INVAL with err filled (bad name or type, declared
 * twice, environment frozen).
 */
int ek_cel_env_declare(struct ek_cel_env *env, const char *name, const char *type,
                       struct ek_err *err);

/*
 * Declares a struct type of typed fields, for variables whose fields are to be checked (such as
 * "kubernetes.variables"). Declaring a known name adds fields to it. Types as above; copies its
 * arguments. Returns 0 or EK_E_INVAL.
 */
int ek_cel_env_declare_field(struct ek_cel_env *env, const char *struct_name, const char *field,
                             const char *type, struct ek_err *err);

/* The number of variables, and the name of the one in a slot. */
size_t ek_cel_env_slots(const struct ek_cel_env *env);
const char *ek_cel_env_slot_name(const struct ek_cel_env *env, size_t slot);

/* The oldest and newest compatibility minor that environments are known for. */
#define EK_CEL_COMPAT_MIN 23
#define EK_CEL_COMPAT_MAX 36

/* ---- Compiling ------------------------------------------------------------------------------- */

struct ek_cel_issue {
    enum ek_cel_error_kind kind;
    uint32_t position;     /* code points before the place; UINT32_MAX for the whole text */
    uint32_t line, column; /* from 1, columns in code points; 0 for the whole text */
    const char *message;   /* one line, owned by the issues */
};

/* What is wrong with a text, by its place in it: the first EK_CEL_ISSUES_MAX that were found are
 * kept. Zero-initialise before use. */
#define EK_CEL_ISSUES_MAX 100
struct ek_cel_issues {
    struct ek_cel_issue *list;
    size_t len, dropped;
    struct ek_arena *arena; /* owned */
};

void ek_cel_issues_done(struct ek_cel_issues *issues);

/* Appends each issue as "ERROR: <input>:line:column: message", the line of text and a caret under
 * the place, as cel-go prints them. Returns 0 or the buffer's error. */
int ek_cel_issues_format(const struct ek_cel_issues *issues, const char *text, size_t len,
                         struct ek_buf *out);

struct ek_cel_program;

/*
 * Compiles len octets of UTF-8. want is the type that the result must have ("bool",
 * "list(JSONPatch)"), or NULL for any; it must be the exact type, as admission demands, and dyn
 * is not bool. Freezes env. Returns an owned program, or NULL with issues (may be NULL) saying
 * why. Bounded: 100,000 code points, nesting 250, and memory in proportion to the text.
 */
struct ek_cel_program *ek_cel_compile(struct ek_cel_env *env, const char *text, size_t len,
                                      const char *want, struct ek_cel_issues *issues);

struct ek_cel_program *ek_cel_program_ref(struct ek_cel_program *program);
void ek_cel_program_unref(struct ek_cel_program *program); /* NULL is fine */

/* The static type of the result as CEL prints it; "dyn" when checking was skipped. */
const char *ek_cel_program_type(const struct ek_cel_program *program);

/* The text that was compiled, NUL-terminated. */
const char *ek_cel_program_text(const struct ek_cel_program *program);

/* True when the program reads the variable of that slot. */
bool ek_cel_program_uses(const struct ek_cel_program *program, size_t slot);

/*
 * What the program may read: one path per distinct chain of fields from a variable, such as slot
 * 0 with "spec.template.spec.containers[*].image". "[*]" stands for the elements of a list or map
 * that are visited or indexed by something that is not constant, `["a.b/c"]` for a constant key
 * that is no identifier. A path whose value is used whole ends there; all below it is read.
 */
struct ek_cel_read {
    size_t slot;
    const char *path; /* "" is the whole variable; borrowed from the program */
};
size_t ek_cel_program_reads(const struct ek_cel_program *program, const struct ek_cel_read **ret);

/*
 * What the value of a program may write: calls add with one path per leaf of the Object literals
 * that the value may be, or per path of the JSONPatch literals; paths as above, below the object.
 * What is no literal may hold anything, so its path stands for all below it: "" where that is the
 * value itself. add may get a path twice. Returns 0, or EK_E_LIMIT or EK_E_NOMEM, when the
 * paths are not all.
 */
int ek_cel_program_writes(const struct ek_cel_program *program,
                          void (*add)(void *arg, const char *path), void *arg);

/* Octets of memory that the program holds. */
size_t ek_cel_program_size(const struct ek_cel_program *program);

/* ---- Evaluating ------------------------------------------------------------------------------ */

struct ek_cel_limits {
    uint64_t cost;    /* of this evaluation; 0 is no limit */
    uint64_t *budget; /* shared by several evaluations of one thread: lowered by what this one
                         costs, and a limit too; NULL is none */
    /* Called every 100 steps of a loop; true ends the evaluation. NULL is never. */
    bool (*canceled)(void *arg);
    void *canceled_arg;
};

struct ek_cel_result {
    struct ek_cel_val value; /* kind EK_CEL_ERROR when the evaluation failed */
    uint64_t cost;           /* also of a failed evaluation */
};

/*
 * Evaluates program over one value per slot of its environment (slots it does not use may hold
 * anything). Memory is taken from arena, which is also its bound: beyond arena's limit the
 * evaluation fails with EK_CEL_E_MEMORY. Never blocks, never aborts. Returns true when the value
 * is no error. PerCallLimit and the budgets of Kubernetes are the caller's to set
 * (apiserver/pkg/apis/cel/config.go).
 */
bool ek_cel_eval(const struct ek_cel_program *program, const struct ek_cel_val *vars,
                 struct ek_arena *arena, const struct ek_cel_limits *limits,
                 struct ek_cel_result *ret);

#define EK_CEL_PER_CALL_LIMIT         1000000u
#define EK_CEL_MUTATION_BUDGET        10000000u
#define EK_CEL_MATCH_CONDITION_BUDGET 2500000u

EK_CLEANUP(ek_cel_issues, ek_cel_issues_done)
EK_CLEANUP_PTR(ek_cel_env, ek_cel_env_unref)
EK_CLEANUP_PTR(ek_cel_program, ek_cel_program_unref)

#endif
