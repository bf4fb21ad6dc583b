/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-cel-functions: prints every function and macro of CEL, in Markdown, with the compatibility
 * version that brought it. Read off the libraries and environments themselves; api/cel/README.md
 * holds the output, and a test compares them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/env/environment.h"
#include "api/cel/syntax/macro.h"

#define SINCE_NEVER 1000 /* Kubernetes does not offer it */
#define TYPES_MAX   16
#define TEXT_MAX    512

static const struct {
    const struct ek_cel_library *library;
    const char *title;
} libraries[] = {
    {&ek_cel_lib_standard, "The language: operators, conversions, strings, times"},
    {&ek_cel_lib_optional, "Optional values"},
    {&ek_cel_lib_comprehensions, "Macros of two variables"},
    {&ek_cel_lib_strings, "Strings"},
    {&ek_cel_lib_lists, "Lists"},
    {&ek_cel_lib_sets, "Sets"},
    {&ek_cel_lib_k8s_lists, "Lists, by Kubernetes"},
    {&ek_cel_lib_k8s_regex, "Regular expressions"},
    {&ek_cel_lib_k8s_urls, "URLs"},
    {&ek_cel_lib_k8s_quantity, "Quantities"},
    {&ek_cel_lib_k8s_ip, "IP addresses"},
    {&ek_cel_lib_k8s_cidr, "CIDRs"},
    {&ek_cel_lib_k8s_format, "Named formats"},
    {&ek_cel_lib_k8s_semver, "Semantic versions"},
    {&ek_cel_lib_k8s_authz, "Authorization checks"},
    {&ek_cel_lib_k8s_authz_selectors, "Authorization checks with selectors"},
    {&ek_cel_lib_k8s_jsonpatch, "JSON patches"},
    {&ek_cel_lib_math, "Mathematics"},
    {&ek_cel_lib_encoders, "Encodings"},
    {&ek_cel_lib_bindings, "Bindings"},
    {&ek_cel_lib_block, "Blocks, as optimizers write them"},
};

/* How a macro is called: x and y are names, k and v of the key and value (or index and element). */
static const struct {
    const char *name;
    int args;
    const char *call;
} macro_calls[] = {
    {"has", 1, "has(e.field)"},
    {"all", 2, "list.all(x, condition)"},
    {"exists", 2, "list.exists(x, condition)"},
    {"exists_one", 2, "list.exists_one(x, condition)"},
    {"map", 2, "list.map(x, e)"},
    {"map", 3, "list.map(x, condition, e)"},
    {"filter", 2, "list.filter(x, condition)"},
    {"all", 3, "list.all(k, v, condition)"},
    {"exists", 3, "list.exists(k, v, condition)"},
    {"existsOne", 3, "list.existsOne(k, v, condition)"},
    {"exists_one", 3, "list.exists_one(k, v, condition)"},
    {"transformList", 3, "list.transformList(k, v, e)"},
    {"transformList", 4, "list.transformList(k, v, condition, e)"},
    {"transformMap", 3, "map.transformMap(k, v, e)"},
    {"transformMap", 4, "map.transformMap(k, v, condition, e)"},
    {"transformMapEntry", 3, "map.transformMapEntry(k, v, {key: e})"},
    {"transformMapEntry", 4, "map.transformMapEntry(k, v, condition, {key: e})"},
    {"optMap", 2, "optional.optMap(x, e)"},
    {"optFlatMap", 2, "optional.optFlatMap(x, e)"},
    {"sortBy", 2, "list.sortBy(x, key)"},
    {"bind", 3, "cel.bind(x, value, e)"},
    {"block", 2, "cel.block([e, ...], e)"},
    {"index", 1, "cel.index(n)"},
    {"iterVar", 2, "cel.iterVar(level, n)"},
    {"accuVar", 2, "cel.accuVar(level, n)"},
    {"least", -1, "math.least(number, ...)"},
    {"greatest", -1, "math.greatest(number, ...)"},
};

/* Environments: one per compatibility version, for conditions and for mutations. */
static struct ek_cel_env *conditions[EK_CEL_COMPAT_MAX + 1], *mutations[EK_CEL_COMPAT_MAX + 1];

static struct ek_cel_env *make_env(enum ek_cel_env_set set, int minor)
{
    struct ek_cel_env_options options = {.set = set, .mode = EK_CEL_NEW, .compat_minor = minor};
    struct ek_err err = {0};
    struct ek_cel_env *env = ek_cel_env_new(&options, &err);

    if (!env) {
        fprintf(stderr, "ek-cel-functions: 1.%d: %s\n", minor, err.message);
        exit(1);
    }
    return env;
}

/* What is looked for in an environment: an overload, or a macro. */
struct sought {
    const char *name, *id;
    const struct ek_cel_macro *macro;
    bool mixed; /* orders numbers of two kinds, which is an option of the environment */
};

static bool has(const struct ek_cel_env *env, const struct sought *sought)
{
    if (sought->macro) {
        const struct ek_cel_macro *m = sought->macro;
        const struct ek_cel_macro *found =
            ek_cel_env_macro(env, m->name, m->member, m->args < 0 ? 1 : (uint32_t)m->args);
        return found == m;
    }
    if (sought->mixed && !ek_cel_env_rules(env)->mixed_numeric_order)
        return false;
    const struct ek_cel_decl_function *f = ek_cel_env_function(env, sought->name);
    for (uint32_t i = 0; f && i < f->n; i++)
        if (!strcmp(f->overloads[i].def->id, sought->id))
            return true;
    return false;
}

static int since(struct ek_cel_env *const *envs, const struct sought *sought)
{
    for (int minor = EK_CEL_COMPAT_MIN; minor <= EK_CEL_COMPAT_MAX; minor++)
        if (has(envs[minor], sought))
            return minor;
    return SINCE_NEVER;
}

static void since_text(const struct sought *sought, char text[64])
{
    int condition = since(conditions, sought), mutation = since(mutations, sought);
    int oldest = condition < mutation ? condition : mutation;

    if (oldest == SINCE_NEVER)
        snprintf(text, 64, "not in Kubernetes");
    else if (oldest == EK_CEL_COMPAT_MIN)
        snprintf(text, 64, "always%s", condition == SINCE_NEVER ? ", in mutations" : "");
    else
        snprintf(text, 64, "1.%d%s", oldest, condition == SINCE_NEVER ? ", in mutations" : "");
}

/* ---- Signatures ---- */

/* Cuts "a, b(c, d) -> e" into its types, the last being the result; returns their number. */
static size_t cut(char *signature, char *types[TYPES_MAX])
{
    char *arrow = strstr(signature, "->"), *at = signature;
    size_t n = 0;
    int depth = 0;

    types[n] = at;
    for (; at < arrow && n < TYPES_MAX - 2; at++) {
        depth += (*at == '(') - (*at == ')');
        if (*at == ',' && !depth) {
            *at = '\0';
            types[++n] = at + 2;
        }
    }
    if (arrow > signature) {
        arrow[-1] = '\0';
        n++;
    }
    types[n] = arrow + 3;
    return n + 1;
}

/* An operator with types in place of its underscores. */
static void put_operator(char *out, size_t size, const char *name, char *const *types)
{
    size_t len = 0, next = 0;

    if (!strcmp(name, EK_CEL_OP_OPT_SELECT))
        name = "_.?field";
    if (!strcmp(name, EK_CEL_OP_IN))
        name = "_ in _";
    for (const char *p = name; *p && len < size; p++) {
        bool spaced = strchr("+*/%<>=!&|?:-", *p) && name[0] == '_' && !strchr(name, '.') &&
                      !strchr(name, '[');
        bool first = spaced && p > name && p[-1] == '_', last = spaced && p[1] == '_';
        if (*p == '_')
            len += (size_t)snprintf(out + len, size - len, "%s", types[next++]);
        else
            len += (size_t)snprintf(out + len, size - len, "%s%c%s", first ? " " : "", *p,
                                    last ? " " : "");
    }
}

static void put_call(char *out, size_t size, const char *name, unsigned flags, char *const *types,
                     size_t n)
{
    bool member = flags & EK_CEL_MEMBER;
    size_t len =
        (size_t)snprintf(out, size, "%s%s%s(", member ? types[0] : "", member ? "." : "", name);

    for (size_t i = member; i + 1 < n && len < size; i++)
        len += (size_t)snprintf(out + len, size - len, "%s%s", i > member ? ", " : "", types[i]);
    if (len < size)
        snprintf(out + len, size - len, ")");
}

static void describe(const char *name, const struct ek_cel_overload *overload, char out[TEXT_MAX])
{
    char signature[TEXT_MAX], *types[TYPES_MAX] = {0};

    snprintf(signature, sizeof(signature), "%s", overload->signature);
    size_t n = cut(signature, types);
    bool is_operator = strchr("_!-@", name[0]) != NULL;
    if (is_operator)
        put_operator(out, TEXT_MAX, name, types);
    else
        put_call(out, TEXT_MAX, name, overload->flags, types, n);
    size_t len = strlen(out);
    snprintf(out + len, TEXT_MAX - len, " -> %s", types[n - 1]);
}

/* Bars would end a cell. */
static void put_code(const char *code)
{
    putchar('`');
    for (; *code; code++)
        fputs(*code == '|' ? "\\|" : (char[]){*code, '\0'}, stdout);
    putchar('`');
}

/* ---- Tables ---- */

static bool is_private(const char *name)
{
    return strchr(name, '@') && strcmp(name, EK_CEL_OP_IN) != 0;
}

/* True when an overload before this one reads the same: libraries keep versions of one. */
static bool repeats(const struct ek_cel_overload *first, const struct ek_cel_overload *overload)
{
    for (; first < overload; first++)
        if (!strcmp(first->id, overload->id))
            return true;
    return false;
}

/* int < double and the like. */
static bool mixes_numbers(const char *name, const struct ek_cel_overload *overload)
{
    char signature[TEXT_MAX], *types[TYPES_MAX] = {0};

    snprintf(signature, sizeof(signature), "%s", overload->signature);
    return (name[1] == '<' || name[1] == '>') && cut(signature, types) == 3 &&
           strcmp(types[0], types[1]) != 0;
}

/* Rows of overloads that came together. */
static void put_function(const struct ek_cel_function *function)
{
    char row[64] = "", text[TEXT_MAX], version[64];

    for (const struct ek_cel_overload *o = function->overloads; o->id; o++) {
        if (repeats(function->overloads, o))
            continue;
        since_text(&(struct sought){.name = function->name,
                                    .id = o->id,
                                    .mixed = mixes_numbers(function->name, o)},
                   version);
        if (*row && strcmp(row, version) != 0)
            printf(" | %s |\n", row);
        fputs(*row && !strcmp(row, version) ? "<br>" : "| ", stdout);
        snprintf(row, sizeof(row), "%s", version);
        describe(function->name, o, text);
        put_code(text);
    }
    printf(" | %s |\n", row);
}

static void put_macro(const struct ek_cel_macro *macro)
{
    char version[64];

    since_text(&(struct sought){.macro = macro}, version);
    for (size_t i = 0; i < EK_ARRAY_SIZE(macro_calls); i++) {
        if (strcmp(macro->name, macro_calls[i].name) != 0 || macro->args != macro_calls[i].args)
            continue;
        printf("| `%s` (macro) | %s |\n", macro_calls[i].call, version);
        return;
    }
    fprintf(stderr, "ek-cel-functions: how is %s called? add it to macro_calls\n", macro->name);
    exit(1);
}

static void put_macros(const struct ek_cel_macro *macros)
{
    for (const struct ek_cel_macro *m = macros; m && m->name; m++)
        put_macro(m);
}

int main(void)
{
    for (int minor = EK_CEL_COMPAT_MIN; minor <= EK_CEL_COMPAT_MAX; minor++) {
        conditions[minor] = make_env(EK_CEL_ENV_KUBERNETES, minor);
        mutations[minor] = make_env(EK_CEL_ENV_MUTATION, minor);
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(libraries); i++) {
        const struct ek_cel_library *library = libraries[i].library;
        printf("%s### %s\n\n`%s`\n\n| | since |\n|---|---|\n", i ? "\n" : "", libraries[i].title,
               library->name);
        if (library == &ek_cel_lib_standard)
            put_macros(ek_cel_standard_macros);
        put_macros(library->macros);
        for (const struct ek_cel_function *f = library->functions; f && f->name; f++)
            if (!is_private(f->name))
                put_function(f);
    }
    for (int minor = EK_CEL_COMPAT_MIN; minor <= EK_CEL_COMPAT_MAX; minor++) {
        ek_cel_env_unref(conditions[minor]);
        ek_cel_env_unref(mutations[minor]);
    }
    return 0;
}
