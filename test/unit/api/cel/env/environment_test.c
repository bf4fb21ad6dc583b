/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/env/environment.h"
#include "test/support/suite.h"

static struct ek_cel_env *env_new(enum ek_cel_env_set set, enum ek_cel_env_mode mode, int minor)
{
    struct ek_cel_env_options options = {.set = set, .mode = mode, .compat_minor = minor};
    struct ek_err err = {0};
    struct ek_cel_env *env = ek_cel_env_new(&options, &err);

    ck_assert_msg(env != NULL, "%s", err.message);
    return env;
}

/* Every set of every version can be made: all signatures of all libraries are read. */
START_TEST(test_all_versions)
{
    for (int set = 0; set <= EK_CEL_ENV_STANDARD; set++) {
        for (int minor = EK_CEL_COMPAT_MIN; minor <= EK_CEL_COMPAT_MAX; minor++) {
            ek_cel_env_unref(env_new((enum ek_cel_env_set)set, EK_CEL_NEW, minor));
            ek_cel_env_unref(env_new((enum ek_cel_env_set)set, EK_CEL_STORED, minor));
        }
    }
}
END_TEST

START_TEST(test_unknown_version)
{
    static const int minors[] = {-1, 1, EK_CEL_COMPAT_MIN - 1, EK_CEL_COMPAT_MAX + 1};
    struct ek_err err;

    for (size_t i = 0; i < EK_ARRAY_SIZE(minors); i++) {
        struct ek_cel_env_options options = {.compat_minor = minors[i]};
        ck_assert_ptr_null(ek_cel_env_new(&options, &err));
        ck_assert_int_eq(err.code, EK_E_INVAL);
        ck_assert_ptr_nonnull(strstr(err.message, "1.23 to 1.36"));
    }
}
END_TEST

static const struct rules_row {
    const char *name;
    enum ek_cel_env_set set;
    enum ek_cel_env_mode mode;
    int minor;
    bool homogeneous, mixed_numeric_order, optional_syntax, backticks, validate_literals,
        object_types, locals_first;
} rules_rows[] = {
    {"1.27", EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 27, 1, 0, 0, 0, 0, 0, 0},
    {"1.28", EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 28, 1, 1, 1, 0, 0, 0, 0},
    {"1.29", EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 29, 1, 1, 1, 0, 1, 0, 0},
    {"newest", EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 0, 1, 1, 1, 0, 1, 0, 0},
    {"stored", EK_CEL_ENV_KUBERNETES, EK_CEL_STORED, 27, 1, 1, 1, 0, 1, 0, 0},
    {"mutation", EK_CEL_ENV_MUTATION, EK_CEL_NEW, 27, 1, 0, 0, 0, 0, 1, 0},
    {"standard", EK_CEL_ENV_STANDARD, EK_CEL_NEW, 27, 0, 1, 1, 1, 0, 1, 1},
};

START_TEST(test_rules)
{
    const struct rules_row *r = &rules_rows[_i];
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(r->set, r->mode, r->minor);
    const struct ek_cel_env_rules *rules = ek_cel_env_rules(env);

    ck_assert_msg(
        rules->homogeneous == r->homogeneous &&
            rules->mixed_numeric_order == r->mixed_numeric_order &&
            rules->optional_syntax == r->optional_syntax && rules->backticks == r->backticks &&
            rules->validate_literals == r->validate_literals &&
            rules->object_types == r->object_types && rules->locals_first == r->locals_first &&
            rules->checked && !rules->presence_test_costs && *rules->container == '\0',
        "%s", r->name);
}
END_TEST

/* Functions by version, with the number of their overloads. */
static const struct function_row {
    const char *function;
    enum ek_cel_env_set set;
    int minor;
    uint32_t overloads; /* 0: not declared */
} function_rows[] = {
    {"_+_", EK_CEL_ENV_KUBERNETES, 23, 9},
    {"_==_", EK_CEL_ENV_KUBERNETES, 23, 1},
    {"_[_]", EK_CEL_ENV_KUBERNETES, 27, 2},
    {"_[_]", EK_CEL_ENV_KUBERNETES, 28, 4},
    {"_?._", EK_CEL_ENV_KUBERNETES, 27, 0},
    {"_?._", EK_CEL_ENV_KUBERNETES, 28, 1},
    {"string", EK_CEL_ENV_KUBERNETES, 29, 8},
    {"string", EK_CEL_ENV_KUBERNETES, 30, 10},
    {"indexOf", EK_CEL_ENV_KUBERNETES, 29, 3},
    {"charAt", EK_CEL_ENV_KUBERNETES, 23, 1},
    {"charAt", EK_CEL_ENV_KUBERNETES, 36, 1},
    {"format", EK_CEL_ENV_KUBERNETES, 28, 0},
    {"format", EK_CEL_ENV_KUBERNETES, 29, 1},
    {"reverse", EK_CEL_ENV_KUBERNETES, 33, 0},
    {"reverse", EK_CEL_ENV_KUBERNETES, 34, 1},
    {"reverse", EK_CEL_ENV_STANDARD, 34, 2},
    {"sets.contains", EK_CEL_ENV_KUBERNETES, 28, 0},
    {"sets.contains", EK_CEL_ENV_KUBERNETES, 29, 1},
    {"path", EK_CEL_ENV_KUBERNETES, 26, 0},
    {"path", EK_CEL_ENV_KUBERNETES, 27, 1},
    {"fieldSelector", EK_CEL_ENV_KUBERNETES, 27, 1},
    {"jsonpatch.escapeKey", EK_CEL_ENV_KUBERNETES, 36, 0},
    {"jsonpatch.escapeKey", EK_CEL_ENV_MUTATION, 23, 1},
    {"math.abs", EK_CEL_ENV_MUTATION, 36, 0},
};

START_TEST(test_functions)
{
    const struct function_row *r = &function_rows[_i];
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(r->set, EK_CEL_NEW, r->minor);
    const struct ek_cel_decl_function *f = ek_cel_env_function(env, r->function);
    uint32_t n = f ? f->n : 0;

    ck_assert_msg(n == r->overloads, "%s on 1.%d: %u overloads, want %u", r->function, r->minor, n,
                  r->overloads);
    for (uint32_t i = 0; i < n; i++) {
        const struct ek_cel_overload *o = f->overloads[i].def;
        bool special = r->function[0] == '_' || !strcmp(r->function, "jsonpatch.escapeKey");
        ck_assert_msg(special || o->fn || f->def->singleton, "%s: %s has no code", r->function,
                      o->id);
    }
}
END_TEST

START_TEST(test_macros)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *old = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 27);
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 36);
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *none =
        ek_cel_env_new(&(struct ek_cel_env_options){.no_macros = true}, NULL);

    ck_assert_ptr_nonnull(ek_cel_env_macro(old, "has", false, 1));
    ck_assert_ptr_null(ek_cel_env_macro(old, "has", true, 1));
    ck_assert_ptr_nonnull(ek_cel_env_macro(old, "all", true, 2));
    ck_assert_ptr_null(ek_cel_env_macro(old, "all", true, 3));
    ck_assert_ptr_nonnull(ek_cel_env_macro(env, "all", true, 3));
    ck_assert_ptr_null(ek_cel_env_macro(old, "optMap", true, 2));
    ck_assert_ptr_nonnull(ek_cel_env_macro(env, "optMap", true, 2));
    ck_assert_ptr_null(ek_cel_env_macro(env, "bind", true, 3));
    ck_assert_ptr_null(ek_cel_env_macro(none, "has", false, 1));
}
END_TEST

/* ---- Declaring --------------------------------------------------------------------------------
 */

START_TEST(test_slots)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 0);
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *child = NULL;
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *grandchild = NULL;

    ck_assert_uint_eq(ek_cel_env_slots(env), 0);
    ck_assert_ptr_null(ek_cel_env_slot_name(env, 0));
    ck_assert_int_eq(ek_cel_env_declare(env, "object", "dyn", NULL), 0);
    ck_assert_int_eq(ek_cel_env_declare(env, "request", "kubernetes.AdmissionRequest", NULL), 1);
    child = ek_cel_env_extend(env);
    grandchild = ek_cel_env_extend(child);
    ck_assert_uint_eq(ek_cel_env_slots(grandchild), 2);
    ck_assert_int_eq(ek_cel_env_declare(grandchild, "a.b", "list(string)", NULL), 2);
    ck_assert_uint_eq(ek_cel_env_slots(grandchild), 3);
    ck_assert_uint_eq(ek_cel_env_slots(child), 2);
    ck_assert_str_eq(ek_cel_env_slot_name(grandchild, 0), "object");
    ck_assert_str_eq(ek_cel_env_slot_name(grandchild, 2), "a.b");
    ck_assert_ptr_null(ek_cel_env_slot_name(grandchild, 3));
    ck_assert_uint_eq(ek_cel_env_variable(grandchild, "request")->slot, 1);
    ck_assert_ptr_null(ek_cel_env_variable(env, "a.b"));
}
END_TEST

/* An environment lives as long as its extensions. */
START_TEST(test_parents_live)
{
    struct ek_cel_env *env = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 0);

    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        ck_assert_int_eq(ek_cel_env_declare(env, name, "map(string, dyn)", NULL), i);
        struct ek_cel_env *next = ek_cel_env_extend(env);
        ek_cel_env_unref(env);
        env = next;
    }
    ck_assert_str_eq(ek_cel_env_slot_name(env, 42), "v42");
    ck_assert_uint_eq(ek_cel_env_variable(env, "v99")->slot, 99);
    ck_assert_ptr_eq(ek_cel_env_ref(env), env);
    ek_cel_env_unref(env);
    ek_cel_env_unref(env);
    ek_cel_env_unref(NULL);
}
END_TEST

static const struct declare_row {
    const char *name, *type, *want; /* part of the message; NULL: declared */
} declare_rows[] = {
    {"a", "int", NULL},
    {"_a1", "timestamp", NULL},
    {"a.b.c", "optional_type(int)", NULL},
    {"namespace", "dyn", NULL},
    {"l", "list", NULL},
    {"t", "type(int)", NULL},
    {"q", "kubernetes.Quantity", NULL},
    {"m", " map( string , list(net.IP) ) ", NULL},
    {"o", "Object.spec", NULL},
    {"taken", "int", "the CEL variable taken is declared twice"},
    {"", "int", "\"\" is not a valid name of a CEL variable"},
    {"1a", "int", "is not a valid name of a CEL variable"},
    {"a-b", "int", "is not a valid name of a CEL variable"},
    {"a.", "int", "is not a valid name of a CEL variable"},
    {".a", "int", "is not a valid name of a CEL variable"},
    {"a", "", "expected a name"},
    {"a", "nope", "CEL variable a: type \"nope\": unknown type"},
    {"a", "T", "unknown type"},
    {"a", "list(int", "expected ) or ,"},
    {"a", "list(int))", "text after the type"},
    {"a", "list(int, int)", "wrong number of parameters"},
    {"a", "map(int)", "wrong number of parameters"},
    {"a", "int(int)", "a type that has no parameters"},
    {"a",
     "list(list(list(list(list(list(list(list(list(list(list(list(list(list(list(list(list("
     "list(list(list(list(list(list(list(list(list(list(list(list(list(list(list(list(list("
     "int))))))))))))))))))))))))))))))))))",
     "nested too deeply"},
};

START_TEST(test_declare)
{
    const struct declare_row *r = &declare_rows[_i];
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_MUTATION, EK_CEL_NEW, 0);
    struct ek_err err = {0};
    int rc;

    ck_assert_int_eq(ek_cel_env_declare(env, "taken", "int", NULL), 0);
    rc = ek_cel_env_declare(env, r->name, r->type, &err);
    if (r->want) {
        ck_assert_msg(rc == EK_E_INVAL && strstr(err.message, r->want), "%s %s: %d %s", r->name,
                      r->type, rc, err.message);
        ck_assert_uint_eq(ek_cel_env_slots(env), 1);
    } else {
        ck_assert_msg(rc == 1, "%s %s: %s", r->name, r->type, err.message);
    }
}
END_TEST

START_TEST(test_frozen)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 0);
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *child = ek_cel_env_extend(env);
    struct ek_err err;

    ck_assert_int_eq(ek_cel_env_declare(env, "a", "int", &err), EK_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "the environment is in use"));
    ck_assert_int_eq(ek_cel_env_declare_field(env, "S", "f", "int", NULL), EK_E_INVAL);
    ck_assert_int_eq(ek_cel_env_add_library(env, &ek_cel_lib_math, 1, NULL), EK_E_INVAL);
    ck_assert_int_eq(ek_cel_env_declare(child, "a", "int", NULL), 0);
    ek_cel_env_freeze(child);
    ek_cel_env_freeze(child);
    ck_assert_int_eq(ek_cel_env_declare(child, "b", "int", NULL), EK_E_INVAL);
}
END_TEST

static const char *field_type(const struct ek_cel_env *env, const char *type, const char *field)
{
    struct ek_cel_type object = {.kind = EK_CEL_T_STRUCT, .name = type};
    const struct ek_cel_type *found = ek_cel_env_field(env, &object, field);

    return found ? found->name : "none";
}

START_TEST(test_fields)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_MUTATION, EK_CEL_NEW, 0);
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *child = NULL;
    struct ek_arena *arena = ek_arena_new(4096);

    ck_assert_int_eq(ek_cel_env_declare_field(env, "kubernetes.variables", "a", "int", NULL), 0);
    ck_assert_int_eq(ek_cel_env_declare_field(env, "my.Point", "x", "double", NULL), 0);
    ck_assert_int_eq(ek_cel_env_declare_field(env, "my.Point", "next", "my.Point", NULL), 0);
    ck_assert_int_eq(ek_cel_env_declare(env, "p", "list(my.Point)", NULL), 0);
    ck_assert_str_eq(field_type(env, "kubernetes.variables", "a"), "int");
    ck_assert_str_eq(field_type(env, "kubernetes.variables", "b"), "none");
    ck_assert_str_eq(field_type(env, "my.Point", "next"), "my.Point");
    ck_assert_str_eq(field_type(env, "JSONPatch", "op"), "string");
    ck_assert_str_eq(field_type(env, "Object", "whatever"), "dyn");
    ck_assert_str_eq(field_type(env, "Objection", "whatever"), "none");
    ck_assert_ptr_nonnull(ek_cel_env_struct(env, "my.Point", arena));
    ck_assert_ptr_nonnull(ek_cel_env_struct(env, "Object", arena));
    ck_assert_str_eq(ek_cel_env_struct(env, "Object.a.b", arena)->name, "Object.a.b");
    ck_assert_ptr_null(ek_cel_env_struct(env, "Objection", arena));
    ck_assert_ptr_null(ek_cel_env_type(env, "my.Point"));
    ck_assert_ptr_null(ek_cel_env_type(env, "kubernetes.Quantity"));
    ck_assert_ptr_nonnull(ek_cel_env_type(env, "net.CIDR"));

    /* A policy's variables, one extension each; the last of a name counts. */
    child = ek_cel_env_extend(env);
    ck_assert_int_eq(ek_cel_env_declare_field(child, "kubernetes.variables", "b", "bool", NULL), 0);
    ck_assert_int_eq(ek_cel_env_declare_field(child, "kubernetes.variables", "a", "uint", NULL), 0);
    ck_assert_str_eq(field_type(child, "kubernetes.variables", "a"), "uint");
    ck_assert_str_eq(field_type(child, "kubernetes.variables", "b"), "bool");
    ck_assert_str_eq(field_type(env, "kubernetes.variables", "b"), "none");
    ck_assert_int_eq(ek_cel_env_declare_field(child, "S", "", "int", NULL), EK_E_INVAL);
    ck_assert_int_eq(ek_cel_env_declare_field(child, "S", "f", "nope", NULL), EK_E_INVAL);
    ek_arena_free(arena);
}
END_TEST

/* Types made from schemas escape the names that are keywords; 1.31 lets them be written plainly. */
START_TEST(test_keyword_fields)
{
    for (int minor = 30; minor <= 31; minor++) {
        EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env =
            env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, minor);
        ck_assert_int_eq(ek_cel_env_declare_field(env, "S", "__namespace__", "int", NULL), 0);
        ck_assert_int_eq(ek_cel_env_declare_field(env, "S", "__other__", "int", NULL), 0);
        ck_assert_str_eq(field_type(env, "S", "__namespace__"), "int");
        ck_assert_str_eq(field_type(env, "S", "namespace"), minor < 31 ? "none" : "int");
        ck_assert_str_eq(field_type(env, "S", "other"), "none");
        ck_assert_str_eq(field_type(env, "kubernetes.AdmissionRequest", "namespace"), "string");
    }
}
END_TEST

/* ---- A host's library -------------------------------------------------------------------------
 */

static struct ek_cel_val nothing(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                 uint32_t n)
{
    (void)eval, (void)args, (void)n;
    return ek_cel_null();
}

static uint64_t free_of_cost(const struct ek_cel_val *args, uint32_t n,
                             const struct ek_cel_val *result)
{
    (void)args, (void)n, (void)result;
    return 0;
}

static const struct ek_cel_overload size_overloads[] = {
    {.id = "size_point", .signature = "my.Point -> int"},
    {.id = "size_later", .signature = "my.Point, int -> int", .version = 2},
    {.id = "size_gone", .signature = "my.Point, uint -> int", .until = 1},
    {.id = NULL},
};
static const struct ek_cel_overload zip_overloads[] = {
    {.id = "zip",
     .signature = "list(T), list(U) -> list(my.Pair(T, U))",
     .flags = EK_CEL_MEMBER,
     .fn = nothing},
    {.id = NULL},
};
static const struct ek_cel_function own_functions[] = {
    {"size", size_overloads, nothing, free_of_cost},
    {"zip", zip_overloads, NULL, NULL},
    {.name = NULL},
};
static const struct ek_cel_opaque_kind point = {.name = "my.Point", .named = true};
static const struct ek_cel_opaque_kind *const own_types[] = {&point, NULL};
static const struct ek_cel_library own = {
    .name = "own", .functions = own_functions, .types = own_types};

START_TEST(test_library)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 0);
    const struct ek_cel_decl_function *f = ek_cel_env_function(env, "size");
    uint32_t before = f->n;

    ck_assert_int_eq(ek_cel_env_add_library(env, &own, 1, NULL), 0);
    f = ek_cel_env_function(env, "size");
    ck_assert_uint_eq(f->n, before + 1);
    ck_assert_str_eq(f->overloads[before].def->id, "size_point");
    /* What a library says of all overloads is said of its own alone. */
    ck_assert(f->overloads[before].def->fn == nothing);
    ck_assert(f->overloads[before].def->cost == free_of_cost);
    ck_assert(f->overloads[0].def->cost != free_of_cost);
    ck_assert_str_eq(f->overloads[before].args[0]->name, "my.Point");
    ck_assert_int_eq(f->overloads[before].args[0]->kind, EK_CEL_T_OPAQUE);

    f = ek_cel_env_function(env, "zip");
    ck_assert(f->overloads[0].generic);
    ck_assert_uint_eq(f->overloads[0].variables, 2);
    ck_assert_uint_eq(f->overloads[0].result->params[0]->n, 2);
    ck_assert_ptr_nonnull(ek_cel_env_type(env, "my.Point"));
    ck_assert_int_eq(ek_cel_env_declare(env, "p", "my.Point", NULL), 0);

    /* Other environments don't have it. */
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *other = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 0);
    ck_assert_uint_eq(ek_cel_env_function(other, "size")->n, before);
    ck_assert_ptr_null(ek_cel_env_function(other, "zip"));
}
END_TEST

static const char *const bad_signatures[] = {
    "",         "int",          "int ->",      "int int -> int",
    "-> int x", "list( -> int", "int, -> int", "A, B, C, D, E, F, G, H, I -> int",
};

START_TEST(test_bad_library)
{
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, 0);
    struct ek_cel_overload overloads[] = {{.id = "bad", .signature = bad_signatures[_i]},
                                          {.id = NULL}};
    struct ek_cel_function functions[] = {{.name = "f", .overloads = overloads}, {.name = NULL}};
    struct ek_cel_library library = {.name = "broken", .functions = functions};
    struct ek_err err = {0};

    ck_assert_int_eq(ek_cel_env_add_library(env, &library, 0, &err), EK_E_INVAL);
    ck_assert_ptr_nonnull(strstr(err.message, "library broken: overload bad: "));
}
END_TEST

START_TEST(test_read_type)
{
    static const char *const rows[] = {"int",
                                       "list(map(string, optional_type(net.IP)))",
                                       "type(type(int))",
                                       "list(JSONPatch)",
                                       "Object",
                                       "kubernetes.AdmissionRequest"};
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = env_new(EK_CEL_ENV_MUTATION, EK_CEL_NEW, 0);
    struct ek_arena *arena = ek_arena_new((size_t)64 * 1024);

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTO(ek_buf) out;
        const struct ek_cel_type *a = ek_cel_env_read_type(env, rows[i], arena, NULL);
        const struct ek_cel_type *b = ek_cel_env_read_type(env, rows[i], arena, NULL);
        ek_buf_init(&out, 1024);
        ck_assert_ptr_nonnull(a);
        ck_assert(ek_cel_type_equal(a, b));
        ck_assert_int_eq(ek_cel_type_format(a, &out), 0);
        ck_assert_str_eq(ek_buf_str(&out), rows[i]);
        ck_assert(i == 0 || !ek_cel_type_equal(a, &ek_cel_type_int));
    }
    ek_arena_free(arena);
}
END_TEST

/* ---- Threads and memory -----------------------------------------------------------------------
 */

static void *make_many(void *arg)
{
    const struct ek_cel_decl_function **ret = arg;

    for (int minor = EK_CEL_COMPAT_MIN; minor <= EK_CEL_COMPAT_MAX; minor++) {
        struct ek_cel_env *env = env_new(EK_CEL_ENV_KUBERNETES, EK_CEL_NEW, minor);
        *ret = ek_cel_env_function(env, "size");
        ek_cel_env_unref(env);
    }
    return NULL;
}

/* Base declarations are made once, by the first user. */
START_TEST(test_threads)
{
    const struct ek_cel_decl_function *seen[4];
    pthread_t threads[4];

    for (size_t i = 0; i < EK_ARRAY_SIZE(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_many, &seen[i]), 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(threads); i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    for (size_t i = 1; i < EK_ARRAY_SIZE(threads); i++)
        ck_assert_ptr_eq(seen[i], seen[0]);
}
END_TEST

static bool build_once(void)
{
    struct ek_cel_env_options options = {.set = EK_CEL_ENV_MUTATION, .container = "a.b"};
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env = ek_cel_env_new(&options, NULL);
    EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *child = env ? ek_cel_env_extend(env) : NULL;

    return child && ek_cel_env_declare(child, "x.y", "list(Object.a)", NULL) == 0 &&
           ek_cel_env_declare_field(child, "S", "f", "map(string, int)", NULL) == 0 &&
           ek_cel_env_add_library(child, &own, 2, NULL) == 0;
}

/* Every allocation of a first environment fails once; what was half made is made again later. */
START_TEST(test_no_memory)
{
    bool done = false;

    for (long n = 1; !done; n++) {
        ck_assert_int_lt(n, 5000);
        ek_alloc_fail_after(n);
        done = build_once() && ek_alloc_unfailed();
        ek_alloc_fail_after(0);
    }
    ck_assert(build_once());
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("environment");

    tcase_add_test(tc, test_all_versions);
    tcase_add_test(tc, test_unknown_version);
    tcase_add_loop_test(tc, test_rules, 0, EK_ARRAY_SIZE(rules_rows));
    tcase_add_loop_test(tc, test_functions, 0, EK_ARRAY_SIZE(function_rows));
    tcase_add_test(tc, test_macros);
    tcase_add_test(tc, test_slots);
    tcase_add_test(tc, test_parents_live);
    tcase_add_loop_test(tc, test_declare, 0, EK_ARRAY_SIZE(declare_rows));
    tcase_add_test(tc, test_frozen);
    tcase_add_test(tc, test_fields);
    tcase_add_test(tc, test_keyword_fields);
    tcase_add_test(tc, test_library);
    tcase_add_loop_test(tc, test_bad_library, 0, EK_ARRAY_SIZE(bad_signatures));
    tcase_add_test(tc, test_read_type);
    tcase_add_test(tc, test_threads);
    tcase_add_test(tc, test_no_memory);
    return ek_test_run("cel_environment", tc);
}
