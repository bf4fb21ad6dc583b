/* SPDX-License-Identifier: Apache-2.0 */
/* What is registered, withdrawn and proven of gated kinds: by row. */
#include <check.h>
#include <stdio.h>

#include "reconcilers/fieldgates/registrar.h"
#include "test/support/gates_kinds.h"
#include "test/support/suite.h"

static const struct ek_webhooks_options options = TEST_WEBHOOKS;
static const struct ek_resource mutating = {.resource = "m"}, validating = {.resource = "v"};
static const struct ek_resource *const resources[] = {&mutating, &validating};

#define A TEST_ALPHA("A", ".spec.a")
#define B TEST_ALPHA("A", ".spec.b")

/* The kinds of a cluster by their gates; NULL: there is no such kind. */
struct world {
    struct ek_gated_kinds kinds;
    struct ek_gates_registrar registrar;
    struct ek_obj *live[EK_GATES_CONFIGURATIONS]; /* owned */
};

static void set_kinds(struct world *w, const char *first, const char *second)
{
    const char *gates[] = {first, second};
    struct ek_obj *objects[2], *crds[2];
    size_t n = 0;

    for (size_t i = 0; i < 2; i++) {
        const char *plural = i ? "second" : "first";
        EK_AUTOFREE char *name = ek_xasprintf("%s.stable.example.com", plural);
        if (!gates[i])
            continue;
        objects[n] = test_gates(name, "u", 0, gates[i], "");
        crds[n++] = test_crd(plural, "c", "1", "");
    }
    ek_gated_kinds_update(&w->kinds, objects, (const struct ek_obj *const *)crds, n);
    for (size_t i = 0; i < n; i++) {
        ek_obj_unref(objects[i]);
        ek_obj_unref(crds[i]);
    }
}

static void make(struct world *w, bool serving)
{
    yyjson_val *const live[] = {w->live[0] ? ek_obj_root(w->live[0]) : NULL,
                                w->live[1] ? ek_obj_root(w->live[1]) : NULL};
    ek_gates_registrar_make(&w->registrar, &w->kinds, live, &options, serving);
}

/* The cluster gets the contents of the registrar. */
static void write_live(struct world *w, bool first, bool second)
{
    const bool writes[] = {first, second};

    for (size_t k = 0; k < EK_GATES_CONFIGURATIONS; k++) {
        if (!writes[k])
            continue;
        ek_obj_unref(w->live[k]);
        w->live[k] = ek_obj_from_mut(w->registrar.contents[k]);
    }
}

static void done(struct world *w)
{
    ek_gates_registrar_done(&w->registrar);
    ek_gated_kinds_done(&w->kinds);
    for (size_t k = 0; k < EK_GATES_CONFIGURATIONS; k++)
        ek_obj_unref(w->live[k]);
}

/* ---- Writing ---- */

static const struct {
    const char *name;
    const char *before, *now; /* gates of the first kind; NULL: none */
    bool written[2];          /* what was written of before */
    bool deaf;                /* this process does not serve */
    const char *not_ready;
    const char *want; /* resources that are applied */
    int64_t again_ms;
    const char *failure; /* NULL: none */
} rows[] = {
    {"nothing", NULL, NULL, {false, false}, false, NULL, "", 0, NULL},
    {"nothing, and not ready", NULL, NULL, {false, false}, false, "no cert", "", 0, NULL},
    {"a first kind", NULL, A, {false, false}, false, NULL, "m v", 0, NULL},
    {"but not before requests can be answered",
     NULL,
     A,
     {false, false},
     false,
     "no cert",
     "",
     1000,
     "no cert"},
    {"it is there", A, A, {true, true}, false, NULL, "", 0, NULL},
    {"it is there, which needs no readiness", A, A, {true, true}, false, "no cert", "", 0, NULL},
    {"one of the two is missing", A, A, {true, false}, false, NULL, "v", 0, NULL},
    {"the other is", A, A, {false, true}, false, NULL, "m", 0, NULL},
    {"but not before requests can be answered, either",
     A,
     A,
     {false, true},
     false,
     "no cert",
     "",
     1000,
     "no cert"},
    {"the gates changed", A, B, {true, true}, false, NULL, "m v", 0, NULL},
    {"the gates are gone", A, NULL, {true, true}, false, NULL, "m v", 0, NULL},
    {"and are withdrawn at once", A, NULL, {true, true}, false, "no cert", "m v", 0, NULL},
    {"so they are where nobody serves", A, A, {true, true}, true, NULL, "m v", 0, NULL},
    {"nothing is closed any more",
     A,
     TEST_ON("A", ".spec.a"),
     {true, true},
     false,
     NULL,
     "m v",
     0,
     NULL},
};

START_TEST(plans_writes)
{
    struct world w = {0};
    struct ek_intents intents;
    char got[64] = "";

    set_kinds(&w, rows[_i].before, NULL);
    make(&w, true);
    write_live(&w, rows[_i].written[0], rows[_i].written[1]);
    set_kinds(&w, rows[_i].now, NULL);
    make(&w, !rows[_i].deaf);
    ek_intents_init(&intents);
    bool goes_on = ek_gates_registrar_plan(&w.registrar, resources, rows[_i].not_ready, &intents);
    for (size_t i = 0; i < intents.n; i++) {
        const struct ek_intent *intent = &intents.items[i];
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s%s", i ? " " : "", intent->resource.resource);
        ck_assert_int_eq(intent->verb, EK_APPLY);
        ck_assert_int_eq(intent->on_failure, EK_GO_ON);
        ck_assert_int_eq(intent->tag, EK_GATES_TAG_REGISTRATION);
        ck_assert_str_eq(intent->name, *intent->resource.resource == 'm'
                                           ? EK_GATES_MUTATING_NAME
                                           : EK_GATES_VALIDATING_NAME);
        ck_assert_ptr_nonnull(yyjson_mut_obj_get(intent->content, "webhooks"));
    }
    ck_assert_msg(!strcmp(got, rows[_i].want), "%s: %s", rows[_i].name, got);
    ck_assert_msg(intents.again_ms == rows[_i].again_ms, "%s", rows[_i].name);
    ck_assert_msg(goes_on == (rows[_i].again_ms == 0), "%s", rows[_i].name);
    const char *failure = w.registrar.failure;
    ck_assert_msg(rows[_i].failure ? failure && !strcmp(failure, rows[_i].failure) : !failure,
                  "%s: %s", rows[_i].name, failure ? failure : "nothing");
    ek_intents_done(&intents);
    done(&w);
}
END_TEST

/* ---- What status says ---- */

/* What came before the present state: e: the canary answered for what was there. */
static const struct {
    const char *name;
    const char *before, *now;    /* gates of the first kind */
    const char *second;          /* of another one, now */
    bool proven;                 /* the canary answered before */
    bool written;                /* now */
    const char *failure;         /* of writing now */
    enum ek_gates_canary canary; /* now */
    bool registered;
    enum ek_gates_canary want;
    const char *message; /* of the canary; NULL: none */
} facts[] = {
    {"being written", NULL, A, NULL, false, false, NULL, EK_CANARY_PENDING, true, EK_CANARY_PENDING,
     "being registered"},
    {"cannot be written", NULL, A, NULL, false, false, "no", EK_CANARY_PENDING, false,
     EK_CANARY_PENDING, "being registered"},
    {"an answer to what was before proves nothing", NULL, A, NULL, false, false, NULL,
     EK_CANARY_ANSWERED, true, EK_CANARY_PENDING, "being registered"},
    {"written", A, A, NULL, false, true, NULL, EK_CANARY_PENDING, true, EK_CANARY_PENDING, "hm"},
    {"answered", A, A, NULL, false, true, NULL, EK_CANARY_ANSWERED, true, EK_CANARY_ANSWERED, "hm"},
    {"not answered", A, A, NULL, false, true, NULL, EK_CANARY_FAILED, true, EK_CANARY_FAILED, "hm"},
    {"another kind comes: this one stays proven", A, A, A, true, false, NULL, EK_CANARY_PENDING,
     true, EK_CANARY_ANSWERED, NULL},
    {"also when that cannot be written", A, A, A, true, false, "no", EK_CANARY_PENDING, true,
     EK_CANARY_ANSWERED, NULL},
    {"also while that is not answered", A, A, A, true, true, NULL, EK_CANARY_PENDING, true,
     EK_CANARY_ANSWERED, NULL},
    {"but not when a server does not reach us", A, A, A, true, true, NULL, EK_CANARY_FAILED, true,
     EK_CANARY_FAILED, "hm"},
    {"this kind changes", A, B, NULL, true, false, NULL, EK_CANARY_PENDING, true, EK_CANARY_PENDING,
     "being registered"},
    {"and has to be proven anew", A, B, NULL, true, true, NULL, EK_CANARY_PENDING, true,
     EK_CANARY_PENDING, "hm"},
};

START_TEST(reports_what_is_proven)
{
    struct ek_gates_facts got = {0};
    struct world w = {0};

    set_kinds(&w, facts[_i].before, NULL);
    make(&w, true);
    write_live(&w, true, true);
    make(&w, true);
    ck_assert(w.registrar.current);
    ek_gates_registrar_prove(&w.registrar, &w.kinds,
                             facts[_i].proven ? EK_CANARY_ANSWERED : EK_CANARY_PENDING);
    set_kinds(&w, facts[_i].now, facts[_i].second);
    make(&w, true);
    if (facts[_i].written) {
        write_live(&w, true, true);
        make(&w, true);
    }
    ek_gates_registrar_fail(&w.registrar, facts[_i].failure);
    const char *hash = ek_gates_registrar_expects(&w.registrar);
    ck_assert_msg(facts[_i].written ? hash && *hash : !hash, "%s: %s", facts[_i].name,
                  hash ? hash : "nothing");
    ek_gates_registrar_facts(&w.registrar,
                             ek_gated_kinds_find(&w.kinds, "first.stable.example.com"),
                             facts[_i].canary, "hm", &got);
    ck_assert_msg(got.registered == facts[_i].registered, "%s: registered", facts[_i].name);
    ck_assert_msg(got.canary == facts[_i].want, "%s: %d", facts[_i].name, got.canary);
    ck_assert_uint_eq(got.n_exempt, 3);
    ck_assert_str_eq(got.exempt[0], "evenkeel-system");
    ck_assert_msg(facts[_i].message
                      ? got.canary_message && strstr(got.canary_message, facts[_i].message)
                      : !got.canary_message,
                  "%s: %s", facts[_i].name, got.canary_message ? got.canary_message : "nothing");
    done(&w);
}
END_TEST

/* Without both configurations an answer is of another registration: it proves nothing. */
START_TEST(proves_nothing_that_is_not_there)
{
    struct ek_gates_facts got = {0};
    struct world w = {0};

    set_kinds(&w, A, NULL);
    make(&w, true);
    ek_gates_registrar_prove(&w.registrar, &w.kinds, EK_CANARY_ANSWERED);
    ck_assert_uint_eq(w.registrar.n_proofs, 0);
    write_live(&w, true, false);
    make(&w, true);
    ek_gates_registrar_prove(&w.registrar, &w.kinds, EK_CANARY_ANSWERED);
    ck_assert_uint_eq(w.registrar.n_proofs, 0);
    ek_gates_registrar_facts(&w.registrar, &w.kinds.kinds[0], EK_CANARY_ANSWERED, NULL, &got);
    ck_assert_int_eq(got.canary, EK_CANARY_PENDING);
    done(&w);
}
END_TEST

/* What does not fit into the two objects is not registered, and status reports that. */
START_TEST(reports_what_has_no_room)
{
    struct ek_obj *objects[] = {test_gates("first.stable.example.com", "u", 1, A, "")};
    struct ek_obj *crd = test_crd("first", "c", "1", "");
    const struct ek_obj *crds[] = {crd};
    yyjson_val *const live[EK_GATES_CONFIGURATIONS] = {NULL};
    char *bundle = ek_xalloc(1 << 20);
    struct ek_webhooks_options large = options;
    struct ek_gates_facts got = {.registered = true};
    struct world w = {0};

    memset(bundle, 'x', (1 << 20) - 1);
    large.ca_bundle = bundle;
    ek_gated_kinds_update(&w.kinds, objects, crds, 1);
    ek_gates_registrar_make(&w.registrar, &w.kinds, live, &large, true);
    got.registered = false;
    ek_gates_registrar_facts(&w.registrar, &w.kinds.kinds[0], EK_CANARY_ANSWERED, NULL, &got);
    ck_assert(!got.registered);
    ck_assert_ptr_nonnull(strstr(got.registration_message, "no room"));
    ek_free(bundle);
    ek_obj_unref(objects[0]);
    ek_obj_unref(crd);
    done(&w);
}
END_TEST

START_TEST(a_failure_ends_when_it_is_written)
{
    struct world w = {0};

    set_kinds(&w, A, NULL);
    make(&w, true);
    ek_gates_registrar_fail(&w.registrar, "no");
    make(&w, true);
    ck_assert_str_eq(w.registrar.failure, "no");
    write_live(&w, true, true);
    make(&w, true);
    ck_assert_ptr_null(w.registrar.failure);
    ck_assert(w.registrar.carries && !w.registrar.empty);
    done(&w);
}
END_TEST

/* Each of the two must have the CA bundle: the first alone would leave the second without. */
START_TEST(both_carry_the_bundle)
{
    for (int without = 0; without < EK_GATES_CONFIGURATIONS; without++) {
        struct ek_webhooks_options other = options;
        struct world w = {0};
        set_kinds(&w, A, NULL);
        make(&w, true);
        write_live(&w, without != 0, without != 1);
        other.ca_bundle = "another";
        yyjson_val *const none[EK_GATES_CONFIGURATIONS] = {NULL};
        ek_gates_registrar_make(&w.registrar, &w.kinds, none, &other, true);
        write_live(&w, without == 0, without == 1);
        make(&w, true);
        ck_assert_msg(!w.registrar.carries, "%d", without);
        done(&w);
    }
}
END_TEST

/* ---- Orphans ---- */

#define URL(path)  "{clientConfig: {url: 'https://a" path "'}}"
#define PATH(path) "{clientConfig: {service: {path: " path "}}}"

static const struct {
    const char *name, *live; /* YAML; NULL: there is no configuration */
    const char *want;        /* names; first.stable.example.com has gates */
} orphans[] = {
    {"no configuration", NULL, ""},
    {"no webhooks", "{}", ""},
    {"one that has gates", "{webhooks: [" PATH("/gates/first.stable.example.com") "]}", ""},
    {"one that has none", "{webhooks: [" PATH("/gates/x.y") "]}", "x.y "},
    {"by URL", "{webhooks: [" URL("/gates/x.y") "]}", "x.y "},
    {"each once",
     "{webhooks: [" PATH("/gates/x.y") ", " PATH("/gates/z") ", " PATH("/gates/x.y") "]}",
     "x.y z "},
    {"no other webhooks",
     "{webhooks: [" PATH("/gates-canary/x.y") ", " PATH("/mutate/x.y") ", {}]}", ""},
};

START_TEST(finds_orphans)
{
    struct ek_obj *live = orphans[_i].live ? test_object(orphans[_i].live) : NULL;
    struct ek_arena *arena = ek_arena_new(1 << 16);
    struct world w = {0};
    char got[100] = "";
    size_t n;

    set_kinds(&w, A, NULL);
    const char *const *names =
        ek_gates_orphans(&w.kinds, live ? ek_obj_root(live) : NULL, arena, &n);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(got);
        snprintf(got + len, sizeof got - len, "%s ", names[i]);
    }
    ck_assert_msg(!strcmp(got, orphans[_i].want), "%s: %s", orphans[_i].name, got);
    ek_obj_unref(live);
    ek_arena_free(arena);
    done(&w);
}
END_TEST

START_TEST(warns_of_orphans)
{
    struct ek_obj *crd = test_crd("first", "c", "1", "");
    struct ek_intents intents;

    ek_intents_init(&intents);
    ek_gates_plan_orphan(crd, &intents);
    ck_assert_uint_eq(intents.n, 1);
    const struct ek_event *event = &intents.items[0].event;
    ck_assert(intents.items[0].verb == EK_EVENT && !intents.items[0].depends && event->warning);
    ck_assert_str_eq(event->reason, "GatesRemoved");
    ck_assert_str_eq(event->regarding.kind, "CustomResourceDefinition");
    ck_assert_str_eq(event->regarding.name, "first.stable.example.com");
    ck_assert_str_eq(event->regarding.uid, "c");
    ek_intents_done(&intents);
    ek_obj_unref(crd);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, plans_writes, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tc, reports_what_is_proven, 0, EK_ARRAY_SIZE(facts));
    tcase_add_test(tc, proves_nothing_that_is_not_there);
    tcase_add_test(tc, reports_what_has_no_room);
    tcase_add_test(tc, a_failure_ends_when_it_is_written);
    tcase_add_test(tc, both_carry_the_bundle);
    tcase_add_loop_test(tc, finds_orphans, 0, EK_ARRAY_SIZE(orphans));
    tcase_add_test(tc, warns_of_orphans);
    return ek_test_run("gates registrar", tc);
}
