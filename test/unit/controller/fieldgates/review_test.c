/* SPDX-License-Identifier: Apache-2.0 */
/* Reviews of gated resources, of definitions and of the canary: what is answered, refused, counted
 * and annotated; and sets that are swapped under reviews. */
#include "controller/fieldgates/review.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconcilers/fieldgates/registration.h"
#include "test/support/gates_case.h"
#include "test/support/gates_words.h"
#include "test/support/suite.h"

#define CRD "crontabs.stable.example.com"

enum handler { WRITE, FINAL, CANARY, DEFINITION };

static struct {
    unsigned hits, deprecated;
    char last[256];
} told;

static void on_hit(void *ctx, const char *crd, const char *gate, const char *operation,
                   bool deprecated)
{
    ck_assert_ptr_eq(ctx, &told);
    told.hits++;
    told.deprecated += deprecated;
    snprintf(told.last, sizeof told.last, "%s %s %s", crd, gate, operation);
}

static int64_t now_ms;

static int64_t clock_ms(void)
{
    return now_ms;
}

static struct ek_gates_review *review;
static struct ek_webhook_handler handlers[EK_GATES_REVIEW_HANDLERS];

static void setup(void)
{
    review = ek_gates_review_new(&(struct ek_gates_review_config){on_hit, &told, clock_ms});
    ek_gates_review_handlers(review, handlers);
    memset(&told, 0, sizeof told);
}

static void teardown(void)
{
    ek_gates_review_free(review);
    ek_gates_review_free(NULL);
}

static void publish(const char *spec, const char *version)
{
    static const struct ek_gates_shape shape = {.has_status = true};
    const struct ek_gates *gates = spec ? test_gates_new(spec) : NULL;
    struct ek_gates_reviewed kind = {gates, &shape, version};

    ek_gates_review_publish(review, &kind, gates ? 1 : 0);
    ek_gates_unref(gates);
}

/* ---- Writes ---- */

/* What came of a review; NULL texts and 0 are "none". */
struct answer {
    struct ek_arena *arena;
    struct ek_admission_response response;
    yyjson_mut_doc *patch;
    struct ek_err err;
    int status;
};

static void ask(enum handler handler, const char *name, const struct ek_admission_request *request,
                struct answer *ret)
{
    *ret = (struct answer){.arena = ek_arena_new(1 << 20)};
    ret->status = handlers[handler].review(handlers[handler].ctx, name, request, ret->arena, NULL,
                                           &ret->response, &ret->patch, &ret->err);
}

static void answer_done(struct answer *answer)
{
    yyjson_mut_doc_free(answer->patch);
    ek_arena_free(answer->arena);
}

static struct ek_admission_request request_for(yyjson_doc *old, yyjson_doc *new)
{
    return (struct ek_admission_request){
        .operation = old ? "UPDATE" : "CREATE",
        .subresource = "",
        .name = "a",
        .resource = {"stable.example.com", "v1", "crontabs"},
        .object = yyjson_doc_get_root(new),
        .old_object = yyjson_doc_get_root(old),
    };
}

static const char *annotation(const struct ek_admission_response *response, const char *key)
{
    for (size_t i = 0; i < response->n_audit_annotations; i++)
        if (!strcmp(response->audit_annotations[2 * i], key))
            return response->audit_annotations[2 * i + 1];
    return NULL;
}

static const struct {
    const char *name;
    enum handler handler;
    const char *spec, *old, *new;
    bool dry_run;
    bool allowed;
    const char *patch, *warning, *message, *suppressed; /* NULL: none */
    unsigned hits, deprecated;
} rows[] = {
    {"suppressed", WRITE, R_OFF, NULL, SPEC(", replicas: 3"), false, true,
     "[{\"op\":\"remove\",\"path\":\"/spec/replicas\"}]", DROPPED(".spec.replicas", "R"), NULL,
     ".spec.replicas", 1, 0},
    {"suppressed, a dry run", WRITE, R_OFF, NULL, SPEC(", replicas: 3"), true, true,
     "[{\"op\":\"remove\",\"path\":\"/spec/replicas\"}]", DROPPED(".spec.replicas", "R"), NULL,
     ".spec.replicas", 0, 0},
    {"untouched", WRITE, R_OFF, SPEC(), SPEC(), false, true, NULL, NULL, NULL, NULL, 0, 0},
    {"deprecated", WRITE, GATES(OLD("D", ".spec.d")), SPEC(), SPEC(", d: 1"), false, true, NULL,
     USED(".spec.d"), NULL, NULL, 1, 1},
    {"rejected", WRITE, REJECT(OFF("R", ".spec.replicas")), NULL, SPEC(", replicas: 3"), false,
     false, NULL, NULL, CANNOT("set"), ".spec.replicas", 1, 0},
    {"verified", FINAL, R_OFF, SPEC(", replicas: 3"), SPEC(", replicas: 3"), false, true, NULL,
     NULL, NULL, NULL, 0, 0},
    {"put back later", FINAL, R_OFF, NULL, SPEC(", replicas: 3"), false, false, NULL, NULL,
     CANNOT("set"), ".spec.replicas", 1, 0},
    {"verified, deprecated", FINAL, GATES(OLD("D", ".spec.d")), NULL, SPEC(", d: 1"), false, true,
     NULL, NULL, NULL, NULL, 0, 0},
};

static void check_patch(const char *name, const struct answer *a, const char *want)
{
    char *got = a->response.patch ? yyjson_mut_val_write(a->response.patch, 0, NULL) : NULL;

    ck_assert_msg((got != NULL) == (want != NULL), "%s: %s", name, got ? got : "no patch");
    if (got)
        ck_assert_str_eq(got, want);
    ck_assert(a->response.patch == yyjson_mut_doc_get_root(a->patch));
    free(got);
}

START_TEST(test_writes)
{
    yyjson_doc *old = rows[_i].old ? test_gates_yaml(rows[_i].old) : NULL;
    yyjson_doc *new = test_gates_yaml(rows[_i].new);
    struct ek_admission_request request = request_for(old, new);
    struct answer a;

    publish(rows[_i].spec, "v1");
    request.dry_run = rows[_i].dry_run;
    ask(rows[_i].handler, CRD, &request, &a);
    publish(NULL, NULL); /* the answer is its own */
    ck_assert_int_eq(a.status, 0);
    ck_assert_msg(a.response.allowed == rows[_i].allowed, "%s", rows[_i].name);
    check_patch(rows[_i].name, &a, rows[_i].patch);
    ck_assert_uint_eq(a.response.n_warnings, rows[_i].warning ? 1 : 0);
    if (rows[_i].warning)
        ck_assert_str_eq(a.response.warnings[0], rows[_i].warning);
    if (rows[_i].message)
        ck_assert_str_eq(a.response.message, rows[_i].message);
    ck_assert_str_eq(annotation(&a.response, "generation"), "7");
    ck_assert_pstr_eq(annotation(&a.response, "suppressed"), rows[_i].suppressed);
    ck_assert_uint_eq(told.hits, rows[_i].hits);
    ck_assert_uint_eq(told.deprecated, rows[_i].deprecated);
    if (told.hits)
        ck_assert_msg(!strncmp(told.last, CRD " ", strlen(CRD " ")), "%s", told.last);
    answer_done(&a);
    yyjson_doc_free(old);
    yyjson_doc_free(new);
}
END_TEST

/* What a version lacks is kept with the set. */
START_TEST(test_versions)
{
    char version[] = "v2", gate[] = "R", path[] = ".spec.replicas";
    struct ek_gates_lack lacks[] = {
        {.version = version, .gate = gate, .path = path, .status = true}};
    const struct ek_gates_shape shape = {.has_status = true, .lacks = lacks, .n_lacks = 1};
    const struct ek_gates *gates = test_gates_new(R_OFF);
    yyjson_doc *old = test_gates_yaml(SPEC()), *new = test_gates_yaml(SPEC(", bar: 1"));
    struct ek_admission_request request = request_for(old, new);
    struct answer a;

    ek_gates_review_publish(review, &(struct ek_gates_reviewed){gates, &shape, "v1"}, 1);
    memset(version, 0, sizeof version);
    lacks[0] = (struct ek_gates_lack){0};
    request.request_resource = (struct ek_gvr){"stable.example.com", "v2", "crontabs"};
    ask(FINAL, CRD, &request, &a);
    ck_assert_int_eq(a.status, 0);
    ck_assert(!a.response.allowed);
    ck_assert_int_eq(a.response.code, 403);
    ck_assert_str_eq(annotation(&a.response, "suppressed"), ".spec.replicas");
    ck_assert_uint_eq(told.hits, 1);
    answer_done(&a);
    ask(WRITE, CRD, &request, &a);
    ck_assert(a.response.allowed);
    answer_done(&a);
    /* A subresource that only this version has comes as it is. */
    request.resource.version = "v2";
    request.subresource = "status";
    ask(FINAL, CRD, &request, &a);
    ck_assert_int_eq(a.status, 0);
    ck_assert(!a.response.allowed && a.response.code == 403);
    answer_done(&a);
    request.subresource = "scale";
    ask(FINAL, CRD, &request, &a);
    ck_assert_int_eq(a.status, 503);
    answer_done(&a);
    ek_gates_unref(gates);
    yyjson_doc_free(old);
    yyjson_doc_free(new);
}
END_TEST

/* A review that may be forged gets the same answer, and counts nothing. */
START_TEST(test_forged)
{
    yyjson_doc *old = rows[_i].old ? test_gates_yaml(rows[_i].old) : NULL;
    yyjson_doc *new = test_gates_yaml(rows[_i].new);
    struct ek_admission_request request = request_for(old, new);
    struct answer a;

    publish(rows[_i].spec, "v1");
    request.unproven = true;
    ask(rows[_i].handler, CRD, &request, &a);
    ck_assert_msg(a.response.allowed == rows[_i].allowed, "%s", rows[_i].name);
    check_patch(rows[_i].name, &a, rows[_i].patch);
    ck_assert_msg(told.hits == 0, "%s: %u hits", rows[_i].name, told.hits);
    answer_done(&a);
    yyjson_doc_free(old);
    yyjson_doc_free(new);
}
END_TEST

/* One write, of which two webhooks ask: that of closed fields, then that of deprecated ones, to
 * whom the first patch is shown. */
START_TEST(test_counts_once)
{
    static const char *const asked[] = {SPEC(", replicas: 3, d: 1"), SPEC(", d: 1")};

    publish(GATES(OFF("R", ".spec.replicas") "," OLD("D", ".spec.d")), "v1");
    for (unsigned i = 0; i < EK_ARRAY_SIZE(asked); i++) {
        yyjson_doc *new = test_gates_yaml(asked[i]);
        struct ek_admission_request request = request_for(NULL, new);
        struct answer a;
        ask(WRITE, CRD, &request, &a);
        ck_assert_uint_eq(a.response.n_warnings, 2 - i);
        ck_assert_uint_eq(told.hits, 1 + i);
        ck_assert_uint_eq(told.deprecated, i);
        answer_done(&a);
        yyjson_doc_free(new);
    }
}
END_TEST

/* ---- Refusals ---- */

static const struct {
    const char *name, *path, *version; /* version of the set's; NULL: there is no set */
    struct ek_gvr resource;
    int status;
    const char *message;
} refusals[] = {
    {"before the first set",
     CRD,
     NULL,
     {"stable.example.com", "v1", "crontabs"},
     503,
     "the field gates of " CRD " are not known here yet"},
    {"an unknown CRD",
     "jobs.example.com",
     "v1",
     {"example.com", "v1", "jobs"},
     503,
     "the field gates of jobs.example.com are not known here yet"},
    {"another version",
     CRD,
     "v1",
     {"stable.example.com", "v2", "crontabs"},
     503,
     "the field gates of " CRD " are for version v1, not v2"},
    {"another resource",
     CRD,
     "v1",
     {"example.com", "v1", "jobs"},
     404,
     "asked about jobs.example.com at the path of " CRD},
    {"no name",
     "",
     "v1",
     {"stable.example.com", "v1", "crontabs"},
     404,
     "asked about crontabs.stable.example.com at the path of "},
    {"any version", CRD, "", {"stable.example.com", "v2", "crontabs"}, 0, NULL},
};

START_TEST(test_refusals)
{
    yyjson_doc *new = test_gates_yaml(SPEC(", replicas: 3"));
    struct ek_admission_request request = request_for(NULL, new);

    request.resource = refusals[_i].resource;
    if (refusals[_i].version)
        publish(R_OFF, refusals[_i].version);
    for (int handler = WRITE; handler <= FINAL; handler++) {
        struct answer a;
        ask(handler, refusals[_i].path, &request, &a);
        ck_assert_msg(a.status == refusals[_i].status, "%s: %d", refusals[_i].name, a.status);
        if (a.status)
            ck_assert_str_eq(a.err.message, refusals[_i].message);
        ck_assert(!a.status || (!a.patch && !a.response.allowed));
        answer_done(&a);
    }
    yyjson_doc_free(new);
}
END_TEST

static bool at_once(void *arg)
{
    (void)arg;
    return true;
}

/* What cannot be judged, for want of time or room, is denied in an answer: with a refusal the
 * registration's failurePolicy would let it through a closed gate. */
START_TEST(test_undecided)
{
    bool in_time = _i == 1; /* then there is no room */
    EK_AUTOFREE char *long_text = ek_xalloc(100001);
    memset(long_text, 'x', 100000);
    EK_AUTOFREE char *text = ek_xasprintf("{spec: {replicas: %s}}", long_text);
    yyjson_doc *old = test_gates_yaml("{spec: {replicas: 3}}"), *new = test_gates_yaml(text);
    struct ek_admission_request request = request_for(old, new);

    publish(R_OFF, "v1");
    for (int handler = WRITE; handler <= FINAL; handler++) {
        struct ek_work work = {.is_over = in_time ? NULL : at_once};
        struct answer a = {.arena = ek_arena_new(in_time ? 64 : 1 << 20)};
        a.status = handlers[handler].review(handlers[handler].ctx, CRD, &request, a.arena, &work,
                                            &a.response, &a.patch, &a.err);
        ck_assert_int_eq(a.status, 0);
        ck_assert_int_eq(a.err.code == EK_E_CANCELED, !in_time);
        ck_assert_int_ne(a.err.code, 0);
        ck_assert(!a.response.allowed && !a.patch);
        ck_assert_int_eq(a.response.code, 500);
        ck_assert_ptr_nonnull(strstr(a.response.message, "the field gates of the object"));
        answer_done(&a);
    }
    yyjson_doc_free(old);
    yyjson_doc_free(new);
}
END_TEST

/* What was gated and is no more is allowed, as long as API servers still ask; and is gated again
 * when it comes back. */
START_TEST(test_gone)
{
    yyjson_doc *new = test_gates_yaml(SPEC(", replicas: 3"));
    struct ek_admission_request request = request_for(NULL, new);
    static const bool gated[] = {true, false, false, true};

    for (size_t i = 0; i < EK_ARRAY_SIZE(gated); i++) {
        struct answer a;
        publish(gated[i] ? R_OFF : NULL, "v1");
        ask(WRITE, CRD, &request, &a);
        ck_assert_int_eq(a.status, 0);
        ck_assert(a.response.allowed && (a.response.patch != NULL) == gated[i]);
        ck_assert_uint_eq(a.response.n_audit_annotations, gated[i] ? 2 : 0);
        answer_done(&a);
    }
    yyjson_doc_free(new);
}
END_TEST

/* It is for a minute that API servers may be late. */
START_TEST(test_forgotten)
{
    static const struct {
        int64_t after_ms;
        bool known;
    } steps[] = {{0, true}, {EK_GATES_REVIEW_GONE_MS - 1, true}, {EK_GATES_REVIEW_GONE_MS, false}};
    yyjson_doc *new = test_gates_yaml(SPEC(", replicas: 3"));
    struct ek_admission_request request = request_for(NULL, new);
    int64_t start_ms = now_ms;

    publish(R_OFF, "v1");
    publish(NULL, NULL);
    for (size_t i = 0; i < EK_ARRAY_SIZE(steps); i++) {
        struct answer a;
        now_ms = start_ms + steps[i].after_ms;
        if (_i)
            publish(NULL, NULL); /* a new set does not begin anew */
        ask(WRITE, CRD, &request, &a);
        ck_assert_int_eq(a.status, steps[i].known ? 0 : 503);
        ck_assert(a.response.allowed == steps[i].known);
        answer_done(&a);
    }
    yyjson_doc_free(new);
}
END_TEST

/* ---- The canary ---- */

static const struct {
    const char *hash;
    bool published;
    int status;
} canaries[] = {
    {"0123abcd", true, 0},
    {"0123abcd", false, 503},
    {"", true, 404},
    {"../x", true, 404},
    {"a%20b", true, 404},
    {"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0", true, 404},
};

START_TEST(test_canary)
{
    struct ek_admission_request request = {.operation = "CREATE"};
    struct answer a;

    if (canaries[_i].published)
        publish(NULL, NULL);
    ask(CANARY, canaries[_i].hash, &request, &a);
    ck_assert_int_eq(a.status, canaries[_i].status);
    ck_assert(!a.response.allowed);
    if (!a.status)
        ck_assert_str_eq(a.response.message, EK_GATES_CANARY_TEXT "0123abcd");
    answer_done(&a);
}
END_TEST

/* ---- Definitions ---- */

#define BAD  "spec: {featureGates: [{name: A, preRelease: GA, fieldPaths: [x]}]}"
#define GOOD "spec: {featureGates: [{name: A, preRelease: beta, fieldPaths: [.x]}]}"
#define NAME "metadata: {name: " CRD "}, "

static const struct {
    const char *name, *old, *new, *subresource;
    const char *message; /* NULL: allowed */
    const char *warning;
} definitions[] = {
    {"good", NULL, "{" NAME GOOD "}", "", NULL, NULL},
    {"bad", NULL, "{" NAME BAD "}", "",
     "CustomFeatureGates.evenkeel.dev \"" CRD "\" is invalid: "
     "[spec.featureGates[0].preRelease: Unsupported value: \"GA\": supported values: \"alpha\", "
     "\"beta\", \"stable\", \"deprecated\", spec.featureGates[0].fieldPaths[0]: Invalid value: "
     "\"x\": offset 0: a path starts with '.']",
     NULL},
    {"made bad", "{" NAME GOOD "}", "{" NAME BAD "}", "",
     "CustomFeatureGates.evenkeel.dev \"" CRD "\" is invalid: ", NULL},
    {"bad before, and the same", "{" NAME BAD "}", "{" NAME BAD ", status: {}}", "", NULL, NULL},
    {"status of a bad one", "{" NAME GOOD "}", "{" NAME BAD "}", "status", NULL, NULL},
    {"stable and disabled", NULL,
     "{" NAME
     "spec: {featureGates: [{name: A, preRelease: stable, enabled: false, fieldPaths: [.x]}]}}",
     "", NULL,
     "spec.featureGates[0].enabled: false is ignored, because stable gates are always on"},
    {"our own kinds", NULL, "{metadata: {name: controlplanes.evenkeel.dev}, " GOOD "}", "",
     "CustomFeatureGates.evenkeel.dev \"controlplanes.evenkeel.dev\" is invalid: metadata.name: "
     "Forbidden: the kinds of evenkeel.dev cannot be gated",
     NULL},
};

START_TEST(test_definitions)
{
    yyjson_doc *old = definitions[_i].old ? test_gates_yaml(definitions[_i].old) : NULL;
    yyjson_doc *new = test_gates_yaml(definitions[_i].new);
    struct ek_admission_request request = request_for(old, new);
    const char *message = definitions[_i].message;
    struct answer a;

    request.resource = (struct ek_gvr){"evenkeel.dev", "v1alpha1", "customfeaturegates"};
    request.subresource = definitions[_i].subresource;
    ask(DEFINITION, "", &request, &a);
    ck_assert_int_eq(a.status, 0);
    ck_assert_msg(a.response.allowed == !message, "%s: %s", definitions[_i].name,
                  a.response.message);
    if (message)
        ck_assert_msg(a.response.code == 422 &&
                          !strncmp(a.response.message, message, strlen(message)),
                      "%s: %s", definitions[_i].name, a.response.message);
    ck_assert_uint_eq(a.response.n_warnings, definitions[_i].warning ? 1 : 0);
    if (definitions[_i].warning)
        ck_assert_str_eq(a.response.warnings[0], definitions[_i].warning);
    answer_done(&a);
    yyjson_doc_free(old);
    yyjson_doc_free(new);
}
END_TEST

START_TEST(test_definition_elsewhere)
{
    yyjson_doc *new = test_gates_yaml("{" NAME BAD "}");
    struct ek_admission_request request = request_for(NULL, new);
    struct answer a;

    ask(DEFINITION, "", &request, &a);
    ck_assert_int_eq(a.status, 404);
    answer_done(&a);
    request.resource = (struct ek_gvr){"evenkeel.dev", "v1alpha1", "customfeaturegates"};
    request.operation = "DELETE";
    ask(DEFINITION, "", &request, &a);
    ck_assert(a.status == 0 && a.response.allowed);
    answer_done(&a);
    yyjson_doc_free(new);
}
END_TEST

/* ---- Sets under reviews ---- */

static atomic_bool stop;

static void *review_always(void *arg)
{
    yyjson_doc *new = test_gates_yaml(SPEC(", replicas: 3"));
    struct ek_admission_request request = request_for(NULL, new);
    uintptr_t failed = 0;

    (void)arg;
    request.dry_run = true;
    while (!atomic_load(&stop)) {
        struct answer a;
        ask(WRITE, CRD, &request, &a);
        failed += a.status != 0 || !a.response.allowed;
        answer_done(&a);
    }
    yyjson_doc_free(new);
    return (void *)failed;
}

START_TEST(test_swap)
{
    pthread_t threads[3];
    void *failed;

    publish(R_OFF, "v1");
    for (size_t i = 0; i < EK_ARRAY_SIZE(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, review_always, NULL), 0);
    for (int i = 0; i < 500; i++)
        publish(i % 3 ? R_OFF : i % 2 ? R_ON : NULL, "v1");
    atomic_store(&stop, true);
    for (size_t i = 0; i < EK_ARRAY_SIZE(threads); i++) {
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
}
END_TEST

/* More kinds have gone than are remembered: the newest losses are. */
START_TEST(test_many_gone)
{
    static const struct ek_gates_shape shape;
    struct ek_gates_reviewed kinds[EK_GATES_REVIEW_GONE_MAX];
    yyjson_doc *new = test_gates_yaml(SPEC());
    struct ek_admission_request request = request_for(NULL, new);
    struct answer a;

    publish(R_OFF, "v1");
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++) {
        char name[64];
        snprintf(name, sizeof name, "{metadata: {name: kind%zu.example.com}}", i);
        yyjson_doc *doc = test_gates_yaml(name);
        kinds[i] = (struct ek_gates_reviewed){ek_gates_new(yyjson_doc_get_root(doc), NULL, 0),
                                              &shape, NULL};
        yyjson_doc_free(doc);
    }
    ek_gates_review_publish(review, kinds, EK_ARRAY_SIZE(kinds));
    ask(WRITE, CRD, &request, &a);
    ck_assert(a.status == 0 && a.response.allowed);
    answer_done(&a);
    ek_gates_review_publish(review, NULL, 0);
    ask(WRITE, CRD, &request, &a);
    ck_assert_int_eq(a.status, 503);
    answer_done(&a);
    request.resource = (struct ek_gvr){"example.com", "v1", "kind7"};
    ask(WRITE, "kind7.example.com", &request, &a);
    ck_assert(a.status == 0 && a.response.allowed);
    answer_done(&a);
    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        ek_gates_unref(kinds[i].gates);
    yyjson_doc_free(new);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("core");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, test_writes, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, test_versions);
    tcase_add_loop_test(tcase, test_forged, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, test_counts_once);
    tcase_add_loop_test(tcase, test_refusals, 0, EK_ARRAY_SIZE(refusals));
    tcase_add_loop_test(tcase, test_undecided, 0, 2);
    tcase_add_test(tcase, test_gone);
    tcase_add_loop_test(tcase, test_forgotten, 0, 2);
    tcase_add_loop_test(tcase, test_canary, 0, EK_ARRAY_SIZE(canaries));
    tcase_add_loop_test(tcase, test_definitions, 0, EK_ARRAY_SIZE(definitions));
    tcase_add_test(tcase, test_definition_elsewhere);
    tcase_add_test(tcase, test_swap);
    tcase_add_test(tcase, test_many_gone);
    return ek_test_run("gates_review", tcase);
}
