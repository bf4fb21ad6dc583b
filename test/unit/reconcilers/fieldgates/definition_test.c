/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of gates: effective states, all 36 cells, and what is wrong with a definition,
 * V1-V12. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "reconcilers/fieldgates/gates.h"
#include "test/support/gates_case.h"
#include "test/support/suite.h"

/* ---- Effective states ---- */

#define CELLS 3

/* In the order of unset, true, false. */
static const enum ek_gate_setting settings[CELLS] = {EK_GATE_UNSET, EK_GATE_TRUE, EK_GATE_FALSE};

static const struct {
    const char *stage, *initial; /* "" for unset */
    bool on[CELLS];              /* with enabled unset, true, false */
    const char *rules;           /* one digit for each */
    bool legal;
} states[] = {
    {"alpha", "", {false, true, false}, "622", true},
    {"alpha", "false", {false, true, false}, "322", true},
    {"alpha", "true", {true, true, false}, "322", false},
    {"beta", "", {true, true, false}, "422", true},
    {"beta", "false", {false, true, false}, "322", true},
    {"beta", "true", {true, true, false}, "322", false},
    {"stable", "", {true, true, true}, "111", true},
    {"stable", "true", {true, true, true}, "111", true},
    {"stable", "false", {true, true, true}, "111", false},
    {"deprecated", "true", {true, true, false}, "322", true},
    {"deprecated", "false", {false, true, false}, "322", true},
    {"deprecated", "", {false, true, false}, "622", false},
    {"GA", "", {false, true, false}, "622", false},
    {"", "true", {true, true, false}, "322", false},
};

static const struct ek_gates *gate_with(const char *stage, const char *initial, size_t cell)
{
    static const char *const enabled[CELLS] = {"", ", enabled: true", ", enabled: false"};
    char spec[256];

    snprintf(spec, sizeof spec, "{featureGates: [{name: G, fieldPaths: [.spec.a]%s%s%s%s%s}]}",
             *stage ? ", preRelease: " : "", stage, *initial ? ", default: " : "", initial,
             enabled[cell]);
    return test_gates_new(spec);
}

START_TEST(test_states)
{
    for (size_t i = 0; i < CELLS; i++) {
        const struct ek_gates *gates = gate_with(states[_i].stage, states[_i].initial, i);
        const struct ek_gate *gate = ek_gates_find(gates, "G");
        bool is_stable = !strcmp(states[_i].stage, "stable");
        ck_assert_ptr_nonnull(gate);
        ck_assert_msg(gate->on == states[_i].on[i], "%s/%s/%zu", states[_i].stage,
                      states[_i].initial, i);
        ck_assert_int_eq((int)gate->rule, states[_i].rules[i] - '0');
        ck_assert_int_eq(gate->enabled, settings[i]);
        ck_assert((gates->n_problems == 0) == states[_i].legal);
        ck_assert(gate->ignored_enabled == (is_stable && settings[i] == EK_GATE_FALSE));
        ck_assert_ptr_nonnull(gates->root->children[0].children[0].gate);
        ek_gates_unref(gates);
    }
}
END_TEST

static const struct {
    enum ek_gate_rule rule;
    bool on;
    const char *text;
} rule_texts[] = {
    {EK_GATE_RULE_STABLE, true, "stable gates are always on"},
    {EK_GATE_RULE_ENABLED, true, "enabled: true"},
    {EK_GATE_RULE_ENABLED, false, "enabled: false"},
    {EK_GATE_RULE_DEFAULT, true, "default: true"},
    {EK_GATE_RULE_DEFAULT, false, "default: false"},
    {EK_GATE_RULE_BETA, true, "beta gates are on by default"},
    {EK_GATE_RULE_OFF, false, "off by default"},
};

START_TEST(test_rule_texts)
{
    ck_assert_str_eq(ek_gate_rule_text(rule_texts[_i].rule, rule_texts[_i].on),
                     rule_texts[_i].text);
}
END_TEST

/* ---- Validation ---- */

#define GATE(name, more) "{name: " name ", preRelease: alpha, " more "}"
#define ONE(more)        "{featureGates: [{" more "}]}"
#define AT_PATH          "spec.featureGates[0].fieldPaths[0]: Invalid value: "
#define WARNING          "spec.featureGates[0].fieldDeprecationWarning: Invalid value: "
#define TEXT_256                                                                                   \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"             \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"             \
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789"   \
    "abcdef"

static const struct {
    const char *name, *spec;
    const char *problems[4]; /* starts of all of them; none: it is accepted */
} rows[] = {
    {"nothing", "{}", {NULL}},
    {"V1 a path in two gates",
     "{featureGates: [" GATE("A", "fieldPaths: [.spec.foo]") ", " GATE(
         "B", "fieldPaths: [.spec.bar, .spec.foo]") "]}",
     {"spec.featureGates[1].fieldPaths[1]: Duplicate value: \".spec.foo\""}},
    {"V1 a path in two gates, written in two ways",
     "{featureGates: [" GATE("A", "fieldPaths: [.spec.replicas]") ", " GATE(
         "B", "fieldPaths: [\".spec['replicas']\"]") "]}",
     {"spec.featureGates[1].fieldPaths[0]: Duplicate value: \".spec.replicas\""}},
    {"V2 a path twice in a gate",
     ONE("name: A, preRelease: alpha, fieldPaths: [.spec.a, .spec.b, .spec.a]"),
     {"spec.featureGates[0].fieldPaths[2]: Duplicate value: \".spec.a\""}},
    {"V3 a path and one below it in another gate",
     "{featureGates: [" GATE("A", "fieldPaths: [.spec.foo]") ", " GATE(
         "B", "fieldPaths: [.spec.foo.bar]") "]}",
     {NULL}},
    {"V4 parent and child in a gate",
     ONE("name: A, preRelease: alpha, fieldPaths: [.spec.foo.bar, .spec.foo]"),
     {NULL}},
    {"V5 empty",
     ONE("name: A, preRelease: alpha, fieldPaths: ['']"),
     {AT_PATH "\"\": offset 0: a path is expected"}},
    {"V5 .", ONE("name: A, preRelease: alpha, fieldPaths: [.]"), {AT_PATH "\".\": offset 1: "}},
    {"V5 spec.a",
     ONE("name: A, preRelease: alpha, fieldPaths: [spec.a]"),
     {AT_PATH "\"spec.a\": offset 0: a path starts with '.'"}},
    {"V5 ..a",
     ONE("name: A, preRelease: alpha, fieldPaths: [..a]"),
     {AT_PATH "\"..a\": offset 1: "}},
    {"V5 .a.",
     ONE("name: A, preRelease: alpha, fieldPaths: [.a.]"),
     {AT_PATH "\".a.\": offset 3: "}},
    {"V5 .a[",
     ONE("name: A, preRelease: alpha, fieldPaths: ['.a[']"),
     {AT_PATH "\".a[\": offset 3: "}},
    {"V5 .a['x]",
     ONE("name: A, preRelease: alpha, fieldPaths: [\".a['x]\"]"),
     {AT_PATH "\".a['x]\": offset 2: "}},
    {"[*] and a key in one map",
     "{featureGates: [" GATE("A", "fieldPaths: ['.m[*].a']") ", " GATE(
         "B", "fieldPaths: [.m.k.a, .m]") "]}",
     {"spec.featureGates[1].fieldPaths[0]: Invalid value: \".m.k.a\": must not have [*] where "
      "another path names a key of the map"}},
    {"V5 .a[0]",
     ONE("name: A, preRelease: alpha, fieldPaths: ['.a[0]']"),
     {AT_PATH "\".a[0]\": offset 2: the items of a list cannot be gated"}},
    {"V5 $.a",
     ONE("name: A, preRelease: alpha, fieldPaths: [$.a]"),
     {AT_PATH "\"$.a\": offset 0: "}},
    {"V5 {.a}",
     ONE("name: A, preRelease: alpha, fieldPaths: ['{.a}']"),
     {AT_PATH "\"{.a}\": offset 0: "}},
    {"V5 a path with NUL",
     ONE("name: A, preRelease: alpha, fieldPaths: [\".a\\0b\"]"),
     {AT_PATH "\".a\\x00b\": must be a string without NUL"}},
    {"V6 identity",
     ONE("name: A, preRelease: alpha, fieldPaths: [.metadata.labels, .apiVersion, .kind]"),
     {AT_PATH "\".metadata.labels\": offset 0: metadata cannot be gated",
      "spec.featureGates[0].fieldPaths[1]: Invalid value: \".apiVersion\"",
      "spec.featureGates[0].fieldPaths[2]: Invalid value: \".kind\""}},
    {"V7 a warning with alpha",
     ONE("name: A, preRelease: alpha, fieldDeprecationWarning: x, fieldPaths: [.a]"),
     {WARNING "\"x\": can only be set for deprecated fields"}},
    {"V7 a warning with beta",
     ONE("name: A, preRelease: beta, fieldDeprecationWarning: x, fieldPaths: [.a]"),
     {WARNING "\"x\": can only be set for deprecated fields"}},
    {"V7 a warning with stable",
     ONE("name: A, preRelease: stable, fieldDeprecationWarning: x, fieldPaths: [.a]"),
     {WARNING "\"x\": can only be set for deprecated fields"}},
    {"V8 alpha and true",
     ONE("name: A, preRelease: alpha, default: true, fieldPaths: [.a]"),
     {"spec.featureGates[0].default: Invalid value: true: must be false, or left out, for alpha"}},
    {"V8 beta and true",
     ONE("name: A, preRelease: beta, default: true, fieldPaths: [.a]"),
     {"spec.featureGates[0].default: Invalid value: true: must be false, or left out, for alpha"}},
    {"V8 stable and false",
     ONE("name: A, preRelease: stable, default: false, fieldPaths: [.a]"),
     {"spec.featureGates[0].default: Invalid value: false: must be true, or left out, for stable"}},
    {"V8 deprecated without",
     ONE("name: A, preRelease: deprecated, fieldPaths: [.a]"),
     {"spec.featureGates[0].default: Required value: must be given for deprecated fields"}},
    {"V9 GA",
     ONE("name: A, preRelease: GA, fieldPaths: [.a]"),
     {"spec.featureGates[0].preRelease: Unsupported value: \"GA\": supported values: \"alpha\", "
      "\"beta\", \"stable\", \"deprecated\""}},
    {"V9 Alpha",
     ONE("name: A, preRelease: Alpha, fieldPaths: [.a]"),
     {"spec.featureGates[0].preRelease: Unsupported value: \"Alpha\""}},
    {"V9 empty",
     ONE("name: A, preRelease: '', fieldPaths: [.a]"),
     {"spec.featureGates[0].preRelease: Required value"}},
    {"V9 missing",
     ONE("name: A, fieldPaths: [.a]"),
     {"spec.featureGates[0].preRelease: Required value"}},
    {"V10 no name",
     ONE("preRelease: alpha, fieldPaths: [.a]"),
     {"spec.featureGates[0].name: Required value"}},
    {"V10 an empty name",
     ONE("name: '', preRelease: alpha, fieldPaths: [.a]"),
     {"spec.featureGates[0].name: Required value"}},
    {"V10 a name twice",
     "{featureGates: [" GATE("A", "fieldPaths: [.a]") ", " GATE("A", "fieldPaths: [.b]") "]}",
     {"spec.featureGates[1].name: Duplicate value: \"A\""}},
    {"V10 no paths",
     ONE("name: A, preRelease: alpha, fieldPaths: []"),
     {"spec.featureGates[0].fieldPaths: Required value: must have at least one field path"}},
    {"V10 paths missing",
     ONE("name: A, preRelease: alpha"),
     {"spec.featureGates[0].fieldPaths: Required value: must have at least one field path"}},
    {"V11 an empty text",
     ONE("name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: '', "
         "fieldPaths: [.a]"),
     {WARNING "\"\": must not be an empty string"}},
    {"V11 256 characters",
     ONE("name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: " TEXT_256
         ", fieldPaths: [.a]"),
     {NULL}},
    {"V11 257 characters",
     ONE("name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: x" TEXT_256
         ", fieldPaths: [.a]"),
     {WARNING}},
    {"V11 two lines",
     ONE("name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: \"a\\nb\", "
         "fieldPaths: [.a]"),
     {WARNING "\"a\\nb\": must only contain printable UTF-8 characters"}},
    {"V11 a control character",
     ONE("name: A, preRelease: deprecated, default: true, fieldDeprecationWarning: \"a\\x85\", "
         "fieldPaths: [.a]"),
     {WARNING "\"a\\u0085\": must only contain printable UTF-8 characters"}},
    {"V12 deprecated without a text",
     ONE("name: A, preRelease: deprecated, default: true, fieldPaths: [.a]"),
     {NULL}},
    {"stable and enabled: false",
     ONE("name: A, preRelease: stable, enabled: false, fieldPaths: [.a]"),
     {NULL}},
    {"nulls are nothing",
     "{component: null, onDisabled: null, featureGates: [{name: A, preRelease: alpha, enabled: "
     "null, default: null, fieldDeprecationWarning: null, failurePolicy: null, fieldPaths: "
     "[.a]}]}",
     {NULL}},
    {"unknown choices",
     "{onDisabled: Warn, featureGates: [{name: A, preRelease: alpha, failurePolicy: Retry, "
     "fieldPaths: [.a]}]}",
     {"spec.onDisabled: Unsupported value: \"Warn\": supported values: \"Suppress\", \"Reject\"",
      "spec.featureGates[0].failurePolicy: Unsupported value: \"Retry\": supported values: "
      "\"Fail\", \"Ignore\""}},
    {"wrong types",
     "{component: 1, featureGates: [{name: A, preRelease: alpha, enabled: 'yes', fieldPaths: "
     ".a}, 5]}",
     {"spec.component: Invalid value: 1: must be a string",
      "spec.featureGates[0].enabled: Invalid value: \"yes\": must be true or false",
      "spec.featureGates[0].fieldPaths: Invalid value: \".a\": must be a list of field paths",
      "spec.featureGates[1]: Invalid value: 5: must be an object"}},
    {"no list", "{featureGates: {}}", {"spec.featureGates: Invalid value: \"object\""}},
};

START_TEST(test_validation)
{
    const struct ek_gates *gates = test_gates_new(rows[_i].spec);
    size_t n = 0;

    while (n < EK_ARRAY_SIZE(rows[_i].problems) && rows[_i].problems[n])
        n++;
    ck_assert_msg(gates->n_problems == n, "%s: %zu problems, %s", rows[_i].name, gates->n_problems,
                  gates->n_problems ? gates->problems[0] : "none");
    for (size_t i = 0; i < n; i++)
        ck_assert_msg(
            !strncmp(gates->problems[i], rows[_i].problems[i], strlen(rows[_i].problems[i])),
            "%s: %s", rows[_i].name, gates->problems[i]);
    ek_gates_unref(gates);
}
END_TEST

/* ---- Names of definitions ---- */

static const struct {
    const char *name; /* NULL: none */
    const char *problem;
    bool gated; /* the gates take part */
} names[] = {
    {"crontabs.stable.example.com", NULL, true},
    {NULL, "metadata.name: Required value: must be the name of a CustomResourceDefinition", true},
    {"crontabs", "metadata.name: Invalid value: \"crontabs\": must be the name of a Custom", true},
    {"pods.v1", "metadata.name: Invalid value: \"pods.v1\": must be the name of a Custom", true},
    {"controlplanes.evenkeel.dev", "metadata.name: Forbidden: the kinds of evenkeel.dev cannot be",
     false},
    {"xs.notevenkeel.dev", NULL, true},
};

START_TEST(test_names)
{
    char text[512];

    snprintf(text, sizeof text,
             "{metadata: {%s%s}, spec: {featureGates: [" GATE("A", "fieldPaths: [.a]") "]}}",
             names[_i].name ? "name: " : "", names[_i].name ? names[_i].name : "");
    yyjson_doc *doc = test_gates_yaml(text);
    const struct ek_gates *gates = ek_gates_new(yyjson_doc_get_root(doc), NULL, 0);
    const char *problem = names[_i].problem;

    yyjson_doc_free(doc);
    ck_assert_uint_eq(gates->n_problems, problem ? 1 : 0);
    if (problem)
        ck_assert_msg(!strncmp(gates->problems[0], problem, strlen(problem)), "%s",
                      gates->problems[0]);
    ck_assert_uint_eq(gates->root->n_children, names[_i].gated ? 1 : 0);
    ek_gates_unref(gates);
}
END_TEST

/* ---- What is read ---- */

START_TEST(test_fields)
{
    const struct ek_gates *gates = test_gates_new(
        "{component: istio, onDisabled: Reject, featureGates: ["
        "{name: A, enabled: true, preRelease: deprecated, default: false, "
        "fieldDeprecationWarning: use .spec.b, failurePolicy: Ignore, "
        "fieldPaths: [\".spec['a']\", .spec.c]}, {name: B, preRelease: beta, fieldPaths: [.x]}]}");
    const struct ek_gate *a = ek_gates_find(gates, "A"), *b = ek_gates_find(gates, "B");

    ck_assert_str_eq(gates->name, "crontabs.stable.example.com");
    ck_assert_int_eq(gates->generation, 7);
    ck_assert_str_eq(gates->component, "istio");
    ck_assert_int_eq(gates->on_disabled, EK_GATES_REJECT);
    ck_assert_uint_eq(gates->n_gates, 2);
    ck_assert(a == &gates->gates[0] && a->on && a->ignore_failures);
    ck_assert_int_eq(a->stage, EK_GATE_DEPRECATED);
    ck_assert_str_eq(ek_gate_stage_name(a->stage), "deprecated");
    ck_assert_str_eq(a->warning, "use .spec.b");
    ck_assert_uint_eq(a->n_paths, 2);
    ck_assert_str_eq(a->paths[0].text, ".spec.a");
    ck_assert(b->on && !b->ignore_failures && !b->warning);
    ck_assert_ptr_null(ek_gates_find(gates, "C"));
    ck_assert_str_eq(ek_gate_stage_name(EK_GATE_STAGE_UNKNOWN), "");
    ek_gates_unref(ek_gates_ref(gates));
    ek_gates_unref(gates);
    ek_gates_unref(NULL);
}
END_TEST

START_TEST(test_empty)
{
    const struct ek_gates *gates = ek_gates_new(NULL, NULL, 0);

    ck_assert_str_eq(gates->name, "");
    ck_assert_uint_eq(gates->n_gates, 0);
    ck_assert_uint_eq(gates->root->n_children, 0);
    ck_assert_uint_eq(gates->n_problems, 1);
    ek_gates_unref(gates);
}
END_TEST

/* Writes the trie as "name:gate(child child)". */
static void show_node(const struct ek_gate_node *node, struct ek_buf *out)
{
    ek_buf_printf(out, "%.*s", (int)node->name.len, node->name.p);
    if (node->gate)
        ek_buf_printf(out, ":%s", node->gate->name);
    for (size_t i = 0; i < node->n_children; i++) {
        ek_buf_puts(out, i ? " " : "(");
        show_node(&node->children[i], out);
    }
    if (node->n_children)
        ek_buf_puts(out, ")");
}

static const struct {
    const char *name, *paths_a, *paths_b, *refused, *trie;
} tries[] = {
    {"children are sorted", ".z, .b.d, .b.c, .bb", ".a", NULL, "(a:B b(c:A d:A) bb:A z:A)"},
    {"nested gates", ".spec.foo", ".spec.foo.qux", NULL, "(spec(foo:A(qux:B)))"},
    {"a redundant child", ".spec.foo.qux, .spec.foo", ".x", NULL, "(spec(foo:A) x:B)"},
    {"a child below another gate", ".a, .a.b.c", ".a.b", NULL, "(a:A(b:B(c:A)))"},
    {"a refused gate", ".spec.foo", ".spec.foo.qux", "A", "(spec(foo(qux:B)))"},
    {"a refused child", ".spec.foo", ".spec.foo.qux.x", "B", "(spec(foo:A))"},
    {"the first of two has a path", ".a", ".a, .b", NULL, "(a:A b:B)"},
};

START_TEST(test_tries)
{
    char text[512];
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 4096);
    snprintf(text, sizeof text,
             "{spec: {featureGates: [{name: A, fieldPaths: [%s]}, {name: B, fieldPaths: [%s]}]}}",
             tries[_i].paths_a, tries[_i].paths_b);
    yyjson_doc *doc = test_gates_yaml(text);
    const struct ek_gates *gates =
        ek_gates_new(yyjson_doc_get_root(doc), &tries[_i].refused, tries[_i].refused ? 1 : 0);

    yyjson_doc_free(doc);
    show_node(gates->root, &out);
    ck_assert_msg(!strcmp(ek_buf_str(&out), tries[_i].trie), "%s: %s", tries[_i].name,
                  ek_buf_str(&out));
    ck_assert_uint_gt(gates->gates[0].n_paths, 0);
    ek_gates_unref(gates);
}
END_TEST

/* ---- Limits ---- */

/* n gates of m paths each. */
static const struct ek_gates *many(size_t n, size_t m)
{
    EK_AUTO(ek_buf) spec;

    ek_buf_init(&spec, 1 << 20);
    ek_buf_puts(&spec, "{\"featureGates\": [");
    for (size_t i = 0; i < n; i++) {
        ek_buf_printf(&spec, "%s{\"name\": \"G%zu\", \"preRelease\": \"alpha\", \"fieldPaths\": [",
                      i ? "," : "", i);
        for (size_t k = 0; k < m; k++)
            ek_buf_printf(&spec, "%s\".g%zu.p%zu\"", k ? "," : "", i, k);
        ek_buf_puts(&spec, "]}");
    }
    ek_buf_puts(&spec, "]}");
    return test_gates_new(ek_buf_str(&spec));
}

static const struct {
    size_t gates, paths, read_gates, read_paths; /* in all */
    const char *problem;
} sizes[] = {
    {64, 8, 64, 512, NULL},
    {65, 1, 64, 64, "spec.featureGates: Too many: 65: must have at most 64 items"},
    {1, 33, 1, 32, "spec.featureGates[0].fieldPaths: Too many: 33: must have at most 32 items"},
    {17, 32, 17, 512,
     "spec.featureGates[16].fieldPaths: Forbidden: there are more than 512 field paths in all"},
};

START_TEST(test_sizes)
{
    const struct ek_gates *gates = many(sizes[_i].gates, sizes[_i].paths);
    size_t paths = 0;

    for (size_t i = 0; i < gates->n_gates; i++)
        paths += gates->gates[i].n_paths;
    ck_assert_uint_eq(gates->n_gates, sizes[_i].read_gates);
    ck_assert_uint_eq(paths, sizes[_i].read_paths);
    ck_assert_uint_eq(gates->n_problems, sizes[_i].problem ? 1 : 0);
    if (sizes[_i].problem)
        ck_assert_str_eq(gates->problems[0], sizes[_i].problem);
    ek_gates_unref(gates);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_loop_test(tcase, test_states, 0, EK_ARRAY_SIZE(states));
    tcase_add_loop_test(tcase, test_rule_texts, 0, EK_ARRAY_SIZE(rule_texts));
    tcase_add_loop_test(tcase, test_validation, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, test_names, 0, EK_ARRAY_SIZE(names));
    tcase_add_test(tcase, test_fields);
    tcase_add_test(tcase, test_empty);
    tcase_add_loop_test(tcase, test_tries, 0, EK_ARRAY_SIZE(tries));
    tcase_add_loop_test(tcase, test_sizes, 0, EK_ARRAY_SIZE(sizes));
    return ek_test_run("gates_definition", tcase);
}
