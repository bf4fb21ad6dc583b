/* SPDX-License-Identifier: Apache-2.0 */
/* What a change of a CustomFeatureGates' status is worth telling, by row; and what the annotation
 * that brings gates along means. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/fieldgates/annotation.h"
#include "reconcilers/fieldgates/events.h"
#include "reconcilers/fieldgates/gates.h"
#include "test/support/suite.h"

static yyjson_doc *parse(const char *yaml)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ck_assert_msg(ek_yaml_parse(yaml, strlen(yaml), 1 << 20, &doc, &err) == 0, "%s: %s", yaml,
                  err.message);
    return doc;
}

#define ON(name)       "{name: " name ", state: \"On\", reason: \"enabled: true\"}"
#define OFF(name)      "{name: " name ", state: \"Off\", reason: off by default}"
#define REFUSED(name)  "{name: " name ", state: \"Off\", refused: true, reason: off by default}"
#define ENFORCED(what) "conditions: [{type: Enforced, status: '" what "', message: why}]"

static const struct {
    const char *name, *old, *now; /* statuses in YAML; old NULL: none */
    const char *want;             /* "Reason: note; ..." */
} rows[] = {
    {"nothing", "{gates: [" ON("a") "]}", "{gates: [" ON("a") "]}", ""},
    {"the first status tells no states", NULL, "{gates: [" ON("a") ", " OFF("b") "]}", ""},
    {"a new gate is no change", "{gates: [" ON("a") "]}", "{gates: [" ON("a") ", " OFF("b") "]}",
     ""},
    {"turned on", "{gates: [" OFF("a") "]}", "{gates: [" ON("a") "]}",
     "GateEnabled: Turned on, so that their fields can be written: a (enabled: true)"},
    {"turned off", "{gates: [" ON("a") "]}", "{gates: [" OFF("a") "]}",
     "GateDisabled: Turned off, so that new fields are dropped and existing fields are frozen: a "
     "(off by default)"},
    {"many at once", "{gates: [" OFF("a") ", " OFF("b") ", " OFF("c") "]}",
     "{gates: [" ON("a") ", " ON("b") ", " OFF("c") "]}",
     "GateEnabled: Turned on, so that their fields can be written: a (enabled: true), b (enabled: "
     "true)"},
    {"refused, with the finding's words", "{gates: [" OFF("a") "]}",
     "{gates: [" REFUSED("a") "], findings: [{gate: b, refused: true, message: no}, {gate: a, "
                              "message: no}, {gate: a, refused: true, message: it is required}]}",
     "!GateRefused: Not enforced, so that their fields can be written: a (it is required)"},
    {"refused from the start", NULL, "{gates: [" REFUSED("a") "]}",
     "!GateRefused: Not enforced, so that their fields can be written: a (off by default)"},
    {"still refused", "{gates: [" REFUSED("a") "]}", "{gates: [" REFUSED("a") "]}", ""},
    {"updates are denied", "{gates: [" OFF("a") "]}",
     "{findings: [{gate: a, version: v2, updatesDenied: true, message: v2 lacks it}]}",
     "!UpdatesDenied: v2 lacks it"},
    {"updates are denied still",
     "{findings: [{gate: b, version: v2, updatesDenied: true, message: v2 lacks b}]}",
     "{findings: [{gate: a, version: v2, updatesDenied: true, message: v2 lacks a}]}", ""},
    {"enforced", NULL, "{" ENFORCED("True") "}", "Enforced: why"},
    {"not known yet", NULL, "{" ENFORCED("Unknown") "}", ""},
    {"not known any more", "{" ENFORCED("True") "}", "{" ENFORCED("Unknown") "}", ""},
    {"not enforced any more", "{" ENFORCED("True") "}", "{" ENFORCED("False") "}",
     "!NotEnforced: why"},
    {"not enforced yet", NULL, "{" ENFORCED("False") "}", ""},
    {"invalid", NULL, "{conditions: [{type: Accepted, status: 'False', message: bad}]}",
     "!DefinitionInvalid: bad"},
    {"still invalid", "{conditions: [{type: Accepted, status: 'False'}]}",
     "{conditions: [{type: Accepted, status: 'False', message: bad}]}", ""},
    {"nonsense", "{gates: 7, conditions: 8}", "{gates: [1, {}, {name: a}], conditions: {}}", ""},
};

START_TEST(tells_changes)
{
    struct ek_gate_event events[EK_GATE_EVENTS_MAX];
    struct ek_arena *arena = ek_arena_new(1 << 20);
    yyjson_doc *old = rows[_i].old ? parse(rows[_i].old) : NULL, *now = parse(rows[_i].now);
    size_t n = ek_gate_events(yyjson_doc_get_root(old), yyjson_doc_get_root(now), arena, events);
    const char *got = "";

    for (size_t i = 0; i < n; i++)
        got = ek_arena_printf(arena, "%s%s%s%s: %s", got, i ? "; " : "",
                              events[i].warning ? "!" : "", events[i].reason, events[i].note);
    ck_assert_msg(!strcmp(got, rows[_i].want), "%s: %s", rows[_i].name, got);
    yyjson_doc_free(old);
    yyjson_doc_free(now);
    ek_arena_free(arena);
}
END_TEST

/* Eight gates are named. */
START_TEST(names_some_gates)
{
    struct ek_gate_event events[EK_GATE_EVENTS_MAX];

    for (int n = 8; n <= 9; n++) {
        struct ek_arena *arena = ek_arena_new(1 << 20);
        EK_AUTO(ek_buf) old, now;
        ek_buf_init(&old, 1 << 16);
        ek_buf_init(&now, 1 << 16);
        for (int i = 0; i < n; i++) {
            ek_buf_printf(&old, "%s{name: g%d, state: \"Off\"}", i ? ", " : "{gates: [", i);
            ek_buf_printf(&now, "%s{name: g%d, state: \"On\"}", i ? ", " : "{gates: [", i);
        }
        ek_buf_puts(&old, "]}");
        ek_buf_puts(&now, "]}");
        yyjson_doc *a = parse(ek_buf_str(&old)), *b = parse(ek_buf_str(&now));
        ck_assert_uint_eq(
            ek_gate_events(yyjson_doc_get_root(a), yyjson_doc_get_root(b), arena, events), 1);
        const char *end = strstr(events[0].note, "g7 ()");
        ck_assert_ptr_nonnull(end);
        ck_assert_str_eq(end, n == 8 ? "g7 ()" : "g7 () and 1 more");
        yyjson_doc_free(a);
        yyjson_doc_free(b);
        ek_arena_free(arena);
    }
}
END_TEST

START_TEST(keeps_notes_short)
{
    struct ek_gate_event events[EK_GATE_EVENTS_MAX];
    struct ek_arena *arena = ek_arena_new(1 << 20);
    EK_AUTO(ek_buf) old, now;

    ek_buf_init(&old, 1 << 20);
    ek_buf_init(&now, 1 << 20);
    ek_buf_puts(&old, "{gates: [");
    ek_buf_puts(&now, "{gates: [");
    for (int i = 0; i < 64; i++) {
        ek_buf_printf(&old, "%s{name: g%d, state: \"Off\"}", i ? ", " : "", i);
        ek_buf_printf(&now, "%s{name: g%d, state: \"On\", reason: %0400d}", i ? ", " : "", i, 1);
    }
    ek_buf_puts(&old, "]}");
    ek_buf_puts(&now, "]}");
    yyjson_doc *a = parse(ek_buf_str(&old)), *b = parse(ek_buf_str(&now));
    ck_assert_uint_eq(ek_gate_events(yyjson_doc_get_root(a), yyjson_doc_get_root(b), arena, events),
                      1);
    ck_assert_uint_le(strlen(events[0].note), 1000);
    yyjson_doc_free(a);
    yyjson_doc_free(b);
    ek_arena_free(arena);
}
END_TEST

/* ---- Imports ---- */

#define SPEC "{featureGates: [{name: a, preRelease: alpha, fieldPaths: [.spec.a]}]}"

static const struct {
    const char *name, *annotation, *spec;
    const char *want; /* a part of the message; NULL: there is none */
} imports[] = {
    {"none", NULL, SPEC, NULL},
    {"the same", SPEC, SPEC, NULL},
    {"the same as JSON",
     "{\\\"featureGates\\\": [{\\\"name\\\": \\\"a\\\", \\\"preRelease\\\": \\\"alpha\\\", "
     "\\\"fieldPaths\\\": [\\\".spec.a\\\"]}]}",
     SPEC, NULL},
    {"the administrator's part", SPEC,
     "{onDisabled: Reject, featureGates: [{name: a, enabled: true, failurePolicy: Ignore, "
     "preRelease: alpha, fieldPaths: [.spec.a]}]}",
     NULL},
    {"another stage", SPEC, "{featureGates: [{name: a, preRelease: beta, fieldPaths: [.spec.a]}]}",
     "differs in gate a"},
    {"another path", SPEC, "{featureGates: [{name: a, preRelease: alpha, fieldPaths: [.spec.b]}]}",
     "differs in gate a"},
    {"a gate more", SPEC,
     "{featureGates: [{name: a, preRelease: alpha, fieldPaths: [.spec.a]}, {name: b, preRelease: "
     "alpha, fieldPaths: [.spec.b]}]}",
     "differs in gate b"},
    {"a gate less", SPEC, "{featureGates: []}", "differs in gate a"},
    {"no list", "{gates: []}", SPEC, "has no list featureGates"},
    {"no YAML", "{a: [", SPEC, "annotation evenkeel.dev/custom-feature-gates: "},
    {"empty", "", SPEC, "has no list featureGates"},
};

START_TEST(compares_annotations)
{
    EK_AUTOFREE char *text =
        imports[_i].annotation
            ? ek_xasprintf("{metadata: {annotations: {" EK_GATES_ANNOTATION ": \"%s\"}}}",
                           imports[_i].annotation)
            : ek_xstrdup("{metadata: {}}");
    EK_AUTOFREE char *gates = ek_xasprintf("{spec: %s}", imports[_i].spec);
    yyjson_doc *doc = parse(text), *spec = parse(gates);
    struct ek_obj *crd = ek_obj_from_val(yyjson_doc_get_root(doc));
    struct ek_obj *obj = ek_obj_from_val(yyjson_doc_get_root(spec));
    EK_AUTOFREE char *message = ek_gates_import_message(crd, obj);

    ck_assert_msg(imports[_i].want ? message && strstr(message, imports[_i].want) : !message,
                  "%s: %s", imports[_i].name, message ? message : "nothing");
    ek_obj_unref(obj);
    ek_obj_unref(crd);
    yyjson_doc_free(doc);
    yyjson_doc_free(spec);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, tells_changes, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, keeps_notes_short);
    tcase_add_test(tc, names_some_gates);
    tcase_add_loop_test(tc, compares_annotations, 0, EK_ARRAY_SIZE(imports));
    return ek_test_run("gates events", tc);
}
