/* SPDX-License-Identifier: Apache-2.0 */
/* Which annotations become CustomFeatureGates, once, and what is remembered: by row. */
#include <check.h>
#include <stdio.h>

#include "reconcilers/fieldgates/annotation.h"
#include "reconcilers/fieldgates/imports.h"
#include "test/support/gates_kinds.h"
#include "test/support/suite.h"

static const struct ek_resource gates = {.resource = "customfeaturegates"};
static const struct ek_resource config_maps = {.resource = "configmaps"};

#define FIRST  "first.stable.example.com"
#define SECOND "second.stable.example.com"
#define BRINGS                                                                                     \
    EK_GATES_ANNOTATION ": '{featureGates: [{name: A, preRelease: alpha, fieldPaths: "             \
                        "[.spec.a]}]}'"
#define WRONG EK_GATES_ANNOTATION ": 'gates: 7'"

/* An answer to a create. */
enum answer { MADE, INVALID, LATER, CHANGED };

static const struct {
    const char *name;
    const char *first,
        *second;         /* annotations of two CRDs, whose uids are u-1 and u-2; NULL: none */
    bool gated;          /* the first has a CustomFeatureGates */
    const char *known;   /* data of the ConfigMap in YAML; NULL: there is none */
    enum answer answer;  /* to all */
    const char *creates; /* names */
    const char *ends;    /* intents at the end: reasons of Events, "marks" */
    const char *marks;   /* YAML, when they are written */
    bool fails;          /* the run does */
} rows[] = {
    {"no CRDs", NULL, NULL, false, NULL, MADE, "", "", NULL, false},
    {"no annotation", "", NULL, false, NULL, MADE, "", "", NULL, false},
    {"one", BRINGS, NULL, false, NULL, MADE, FIRST " ", "marks ", "{" FIRST ": u-1}", false},
    {"two", BRINGS, BRINGS, false, NULL, MADE, FIRST " " SECOND " ", "marks ",
     "{" FIRST ": u-1, " SECOND ": u-2}", false},
    {"one that was taken over", BRINGS, NULL, false, "{" FIRST ": u-1}", MADE, "", "", NULL, false},
    {"by another CRD of the name", BRINGS, NULL, false, "{" FIRST ": u-0}", MADE, FIRST " ",
     "marks ", "{" FIRST ": u-1}", false},
    {"one that has gates counts as taken over", BRINGS, NULL, true, NULL, MADE, "", "marks ",
     "{" FIRST ": u-1}", false},
    {"which is known", BRINGS, NULL, true, "{" FIRST ": u-1}", MADE, "", "", NULL, false},
    {"a mark without its annotation goes", "", BRINGS, false, "{" FIRST ": u-1, " SECOND ": u-2}",
     MADE, "", "marks ", "{" SECOND ": u-2}", false},
    {"a mark without its CRD goes", NULL, NULL, false, "{" FIRST ": u-1}", MADE, "", "marks ", "{}",
     false},
    {"an annotation that cannot be read", WRONG, NULL, false, NULL, MADE, "", "GatesNotImported ",
     NULL, false},
    {"keeps nobody else back", WRONG, BRINGS, false, NULL, MADE, SECOND " ",
     "GatesNotImported marks ", "{" SECOND ": u-2}", false},
    {"an annotation that is refused", BRINGS, NULL, false, NULL, INVALID, FIRST " ",
     "GatesNotImported ", NULL, false},
    {"a server that is away", BRINGS, NULL, false, NULL, LATER, FIRST " ", "", NULL, true},
};

struct world {
    struct ek_gates_imports *imports;
    struct ek_gated_kinds kinds;
    struct ek_obj *known;
    struct ek_obj *crds[2];
    size_t n;
};

static void set_up(struct world *w, const char *first, const char *second, bool gated,
                   const char *known, const char *version)
{
    const char *annotations[] = {first, second};

    *w = (struct world){.imports = ek_gates_imports_new(),
                        .known = known ? test_object(known) : NULL};
    for (size_t i = 0; i < 2; i++)
        if (annotations[i])
            w->crds[w->n++] =
                test_crd(i ? "second" : "first", i ? "u-2" : "u-1", version, annotations[i]);
    struct ek_obj *obj = test_gates(FIRST, "g", 1, TEST_ALPHA("A", ".spec.a"), "");
    const struct ek_obj *none = NULL;
    ek_gated_kinds_update(&w->kinds, &obj, &none, gated);
    ek_obj_unref(obj);
}

static void tear_down(struct world *w)
{
    for (size_t i = 0; i < w->n; i++)
        ek_obj_unref(w->crds[i]);
    ek_obj_unref(w->known);
    ek_gated_kinds_done(&w->kinds);
    ek_gates_imports_free(w->imports);
}

static yyjson_val *known_of(const struct world *w)
{
    return w->known ? ek_obj_root(w->known) : NULL;
}

/* A create, and the Event that depends on it. */
static void expect_create(const struct ek_intent *make, const struct ek_intent *event)
{
    ck_assert(make->verb == EK_CREATE && make->tag == EK_GATES_TAG_IMPORT);
    ck_assert_ptr_nonnull(yyjson_mut_ptr_get(make->content, "/spec/featureGates/0/name"));
    ck_assert(event->verb == EK_EVENT && event->depends && !event->event.warning);
    ck_assert_str_eq(event->event.reason, "GatesImported");
    ck_assert_str_eq(event->event.regarding.name, make->name);
}

/* Plans creates, appends their names to got, and answers them. True when the run has failed. */
static bool create(struct world *w, enum answer answer, char *got, size_t size)
{
    static const struct ek_err answers[] = {
        [MADE] = {0},
        [INVALID] = {.code = EK_E_INVAL, .message = "no such stage"},
        [LATER] = {.code = EK_E_SERVER, .message = "away"},
    };
    struct ek_intents intents;
    bool failed = false;

    ek_gates_imports_begin(w->imports, w->crds, w->n, &w->kinds, known_of(w));
    ek_intents_init(&intents);
    ck_assert(!ek_gates_imports_plan(w->imports, &gates, &intents));
    for (size_t i = 0; i < intents.n; i += 2) {
        const struct ek_intent *make = &intents.items[i];
        struct ek_err err = answers[answer];
        size_t len = strlen(got);
        snprintf(got + len, size - len, "%s ", make->name);
        expect_create(make, make + 1);
        ek_gates_imports_answered(w->imports, make->name, &err);
        failed = failed || err.code;
    }
    ek_intents_done(&intents);
    return failed;
}

static void finish(struct world *w, const char *name, const char *want, const char *marks)
{
    struct ek_intents intents;
    char got[100] = "";

    ek_intents_init(&intents);
    ek_gates_imports_finish(w->imports, &config_maps, known_of(w), &intents);
    for (size_t i = 0; i < intents.n; i++) {
        const struct ek_intent *intent = &intents.items[i];
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s ",
                 intent->verb == EK_EVENT ? intent->event.reason : "marks");
        if (intent->verb == EK_EVENT) {
            ck_assert(intent->event.warning && !intent->depends);
            continue;
        }
        ck_assert_str_eq(intent->name, EK_GATES_IMPORTS_NAME);
        ck_assert_int_eq(intent->tag, EK_GATES_TAG_MARKS);
        struct ek_obj *content = ek_obj_from_mut(intent->content);
        struct ek_obj *right = test_object(marks ? marks : "{}");
        ck_assert_msg(
            ek_json_equal(yyjson_obj_get(ek_obj_root(content), "data"), ek_obj_root(right)),
            "%s: marks", name);
        ek_obj_unref(right);
        ek_obj_unref(content);
    }
    ck_assert_msg(!strcmp(got, want), "%s: %s", name, got);
    ek_intents_done(&intents);
}

START_TEST(imports)
{
    struct world w;
    char got[100] = "";

    set_up(&w, rows[_i].first, rows[_i].second, rows[_i].gated, rows[_i].known, "1");
    bool failed = create(&w, rows[_i].answer, got, sizeof got);
    ck_assert_msg(!strcmp(got, rows[_i].creates), "%s: creates %s", rows[_i].name, got);
    ck_assert_msg(failed == rows[_i].fails, "%s: fails", rows[_i].name);
    finish(&w, rows[_i].name, rows[_i].ends, rows[_i].marks);
    tear_down(&w);
}
END_TEST

static const struct {
    const char *name;
    const char *version; /* resourceVersion of the CRD in the second run */
    enum answer answer;  /* in the first */
    const char *creates; /* in the second */
} again[] = {
    {"not before its CRD has changed", "1", INVALID, ""},
    {"then again", "2", INVALID, FIRST " "},
    {"a server that was away is tried again", "1", LATER, FIRST " "},
};

START_TEST(remembers_refusals)
{
    struct world w;
    char got[100] = "";

    set_up(&w, BRINGS, NULL, false, NULL, "1");
    create(&w, again[_i].answer, got, sizeof got);
    finish(&w, again[_i].name, again[_i].answer == INVALID ? "GatesNotImported " : "", NULL);
    ek_obj_unref(w.crds[0]);
    w.crds[0] = test_crd("first", "u-1", again[_i].version, BRINGS);
    got[0] = '\0';
    create(&w, MADE, got, sizeof got);
    ck_assert_msg(!strcmp(got, again[_i].creates), "%s: %s", again[_i].name, got);
    tear_down(&w);
}
END_TEST

/* ---- Later releases ---- */

#define GATE(more) "{name: A, preRelease: alpha, fieldPaths: [.spec.a]" more "}"
#define BETA(more) "{name: A, preRelease: beta, fieldPaths: [.spec.a, .spec.b]" more "}"

static const struct {
    const char *name;
    const char *imported; /* the spec that was imported; NULL: the object was not */
    const char *spec;     /* of the object now */
    const char *next;     /* the annotation */
    const char *version;  /* resourceVersion of the CRD */
    enum answer answer;
    const char *want; /* the patch's spec; NULL: nothing is written */
    const char *ends; /* as in rows */
} follows[] = {
    {"the same", "{featureGates: [" GATE("") "]}", "{featureGates: [" GATE("") "]}",
     "{featureGates: [" GATE("") "]}", "2", MADE, NULL, ""},
    {"promoted", "{featureGates: [" GATE("") "]}", "{featureGates: [" GATE("") "]}",
     "{featureGates: [" BETA("") "]}", "2", MADE, "{component: null, featureGates: [" BETA("") "]}",
     ""},
    {"the administrator's part stays", "{featureGates: [" GATE("") "]}",
     "{onDisabled: Reject, featureGates: [" GATE(", enabled: true, failurePolicy: Ignore") "]}",
     "{onDisabled: Suppress, featureGates: [" BETA(", enabled: false") "]}", "2", MADE,
     "{component: null, featureGates: [" BETA(", enabled: true, failurePolicy: Ignore") "]}", ""},
    {"a gate more, a component", "{featureGates: [" GATE("") "]}", "{featureGates: [" GATE("") "]}",
     "{component: cron, featureGates: [{name: B, preRelease: alpha, enabled: true, fieldPaths: "
     "[.spec.b]}, " GATE("") "]}",
     "2", MADE,
     "{component: cron, featureGates: [{name: B, preRelease: alpha, enabled: true, fieldPaths: "
     "[.spec.b]}, " GATE("") "]}",
     ""},
    {"a gate less", "{featureGates: [" GATE("") "]}",
     "{featureGates: [" GATE(", enabled: true") "]}", "{featureGates: []}", "2", MADE,
     "{component: null, featureGates: []}", ""},
    {"somebody else has changed the gates", "{featureGates: [" GATE("") "]}",
     "{featureGates: [" BETA("") "]}", "{featureGates: []}", "2", MADE, NULL, ""},
    {"somebody else has made the gates", NULL, "{featureGates: [" GATE("") "]}",
     "{featureGates: [" BETA("") "]}", "2", MADE, NULL, ""},
    {"an annotation that cannot be read", "{featureGates: [" GATE("") "]}",
     "{featureGates: [" GATE("") "]}", "{gates: 7}", "2", MADE, NULL, ""},
    {"an annotation that is refused", "{featureGates: [" GATE("") "]}",
     "{featureGates: [" GATE("") "]}", "{featureGates: [" BETA("") "]}", "2", INVALID,
     "{component: null, featureGates: [" BETA("") "]}", "GatesNotImported "},
    {"gates that have changed since they were read", "{featureGates: [" GATE("") "]}",
     "{featureGates: [" GATE("") "]}", "{featureGates: [" BETA("") "]}", "2", CHANGED,
     "{component: null, featureGates: [" BETA("") "]}", ""},
};

/* The annotation that an import of spec writes. */
static char *imported_by(const char *spec)
{
    struct ek_obj *read = test_object(spec);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *content = ek_gates_import_content(ek_obj_root(read), doc);
    char *digest = ek_xstrdup(yyjson_mut_get_str(yyjson_mut_obj_get(
        yyjson_mut_ptr_get(content, "/metadata/annotations"), EK_GATES_IMPORTED_ANNOTATION)));

    ck_assert_ptr_nonnull(digest);
    yyjson_mut_doc_free(doc);
    ek_obj_unref(read);
    return digest;
}

static void set_up_follow(struct world *w, int i)
{
    EK_AUTOFREE char *digest = imported_by(follows[i].imported ? follows[i].imported : "{}");
    EK_AUTOFREE char *text = ek_xasprintf(
        "{metadata: {name: " FIRST ", uid: g, resourceVersion: '7', annotations: {%s: '%s'}}, "
        "spec: %s}",
        follows[i].imported ? EK_GATES_IMPORTED_ANNOTATION : "other", digest, follows[i].spec);
    EK_AUTOFREE char *annotation = ek_xasprintf(EK_GATES_ANNOTATION ": '%s'", follows[i].next);
    struct ek_obj *obj = test_object(text);
    const struct ek_obj *none = NULL;

    *w = (struct world){
        .imports = ek_gates_imports_new(), .known = test_object("{" FIRST ": u-1}"), .n = 1};
    w->crds[0] = test_crd("first", "u-1", follows[i].version, annotation);
    ek_gated_kinds_update(&w->kinds, &obj, &none, 1);
    ek_obj_unref(obj);
}

static void expect_patch(const struct ek_intents *intents, int i)
{
    const struct ek_intent *patch = &intents->items[0], *event = &intents->items[1];
    struct ek_obj *want = test_object(follows[i].want), *got;
    EK_AUTOFREE char *digest = imported_by(follows[i].next);

    ck_assert_uint_eq(intents->n, 2);
    ck_assert(patch->verb == EK_PATCH && patch->tag == EK_GATES_TAG_IMPORT);
    ck_assert_str_eq(patch->uid, "g");
    ck_assert_str_eq(patch->resource_version, "7");
    got = ek_obj_from_mut(patch->content);
    ck_assert_msg(ek_json_equal(yyjson_obj_get(ek_obj_root(got), "spec"), ek_obj_root(want)), "%s",
                  follows[i].name);
    ck_assert_str_eq(ek_obj_annotation(got, EK_GATES_IMPORTED_ANNOTATION), digest);
    ck_assert(event->verb == EK_EVENT && event->depends && !event->event.warning);
    ck_assert_str_eq(event->event.reason, "GatesFollowed");
    ek_obj_unref(want);
    ek_obj_unref(got);
}

START_TEST(follows_later_releases)
{
    static const struct ek_err answers[] = {
        [MADE] = {0},
        [INVALID] = {.code = EK_E_INVAL, .message = "no such stage"},
        [CHANGED] = {.code = EK_E_CONFLICT, .message = "the object has been modified"}};
    struct ek_err err;
    struct ek_intents intents;
    struct world w;

    set_up_follow(&w, _i);
    for (int run = 0; run < 2; run++) {
        bool writes = run == 0 || follows[_i].answer != INVALID;
        ek_intents_init(&intents);
        ek_gates_imports_begin(w.imports, w.crds, w.n, &w.kinds, known_of(&w));
        ek_gates_imports_plan(w.imports, &gates, &intents);
        ck_assert_msg((intents.n > 0) == (follows[_i].want != NULL && writes), "%s: %zu in run %d",
                      follows[_i].name, intents.n, run);
        if (intents.n) {
            expect_patch(&intents, _i);
            err = answers[follows[_i].answer];
            ek_gates_imports_answered(w.imports, FIRST, &err);
            ck_assert_int_eq(err.code, 0);
        }
        ek_intents_done(&intents);
        finish(&w, follows[_i].name, run == 0 ? follows[_i].ends : "", NULL);
    }
    tear_down(&w);
}
END_TEST

START_TEST(leaves_what_is_being_deleted)
{
    struct ek_obj *crd = test_object("{metadata: {name: " FIRST ", uid: u-1, deletionTimestamp: "
                                     "'2026-01-01T00:00:00Z', annotations: {" BRINGS "}}}");
    struct world w;
    char got[100] = "";

    set_up(&w, NULL, NULL, false, NULL, "1");
    w.crds[w.n++] = crd;
    create(&w, MADE, got, sizeof got);
    ck_assert_str_eq(got, "");
    finish(&w, "deleted", "", NULL);
    tear_down(&w);
}
END_TEST

#define MANY (EK_GATES_IMPORTS_MAX + 5)

/* Thousands at once are handed over in parts, and beyond the limit passed over. */
START_TEST(imports_in_parts)
{
    struct ek_obj **crds = ek_xalloc(MANY * sizeof(struct ek_obj *));
    struct world w;
    size_t made = 0;
    bool more = true;
    int parts = 0;

    set_up(&w, NULL, NULL, false, NULL, "1");
    for (size_t i = 0; i < MANY; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("a%04zu", i);
        crds[i] = test_crd(name, name, "1", BRINGS);
    }
    ek_gates_imports_begin(w.imports, crds, MANY, &w.kinds, NULL);
    for (; more; parts++) {
        struct ek_intents intents;
        ek_intents_init(&intents);
        more = ek_gates_imports_plan(w.imports, &gates, &intents);
        ck_assert_uint_le(intents.n, EK_INTENTS_MAX);
        made += intents.n / 2;
        ek_intents_done(&intents);
    }
    ck_assert_uint_eq(made, EK_GATES_IMPORTS_MAX);
    ck_assert_int_gt(parts, 1);
    for (size_t i = 0; i < MANY; i++)
        ek_obj_unref(crds[i]);
    ek_free(crds);
    tear_down(&w);
}
END_TEST

/* Refusals beyond the bound are not remembered: these annotations are tried in each run. */
START_TEST(refusals_are_bounded)
{
    struct ek_obj **crds = ek_xalloc(EK_GATES_IMPORTS_MAX * sizeof(struct ek_obj *));
    struct ek_intents intents;
    struct world w;
    char got[100] = "";

    set_up(&w, BRINGS, NULL, false, NULL, "1");
    for (size_t i = 0; i < EK_GATES_IMPORTS_MAX; i++) {
        EK_AUTOFREE char *name = ek_xasprintf("a%04zu", i);
        crds[i] = test_crd(name, name, "1", WRONG);
    }
    ek_intents_init(&intents);
    ek_gates_imports_begin(w.imports, crds, EK_GATES_IMPORTS_MAX, &w.kinds, NULL);
    ck_assert(!ek_gates_imports_plan(w.imports, &gates, &intents));
    ck_assert_uint_eq(intents.n, 0);
    for (int run = 0; run < 2; run++)
        create(&w, INVALID, got, sizeof got);
    ck_assert_str_eq(got, FIRST " " FIRST " ");
    ek_intents_done(&intents);
    for (size_t i = 0; i < EK_GATES_IMPORTS_MAX; i++)
        ek_obj_unref(crds[i]);
    ek_free(crds);
    tear_down(&w);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, imports, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, follows_later_releases, 0, EK_ARRAY_SIZE(follows));
    tcase_add_loop_test(tc, remembers_refusals, 0, EK_ARRAY_SIZE(again));
    tcase_add_test(tc, leaves_what_is_being_deleted);
    tcase_add_test(tc, imports_in_parts);
    tcase_add_test(tc, refusals_are_bounded);
    return ek_test_run("gates imports", tc);
}
