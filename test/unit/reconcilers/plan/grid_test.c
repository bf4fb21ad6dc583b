/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grid of KEP-4330, "Integration tests", with its further cases and the table of forward
 * compatibility: a row for each case and side. The binary and N are 1.36. The gates and APIs are
 * made for the cases, because no release has them all; CEL environments, versions and fields are
 * those of the product. Where Kubernetes 1.36 does other than the proposal, the row says so and has
 * what Kubernetes does.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/objects.h"
#include "reconcilers/plan/start.h"
#include "test/support/suite.h"

#define BINARY    EK_MINOR(1, 36)
#define ARENA_MAX ((size_t)16 << 20)
#define FLAGS_MAX 4

/* A removed gate stays for as long as a version is emulated that has the gate, off and locked. */
static const char gates_text[] =
    "- {name: AlphaNew, specs: [{version: '1.36', default: false, preRelease: ALPHA}]}\n"
    "- {name: AlphaToBeta, specs: [{version: '1.35', default: false, preRelease: ALPHA},\n"
    "   {version: '1.36', default: true, preRelease: BETA}]}\n"
    "- {name: BetaRemoved, specs: [{version: '1.35', default: true, preRelease: BETA},\n"
    "   {version: '1.36', default: false, lockToDefault: true, preRelease: DEPRECATED}]}\n"
    "- {name: BetaToGA, specs: [{version: '1.35', default: true, preRelease: BETA},\n"
    "   {version: '1.36', default: true, lockToDefault: true, preRelease: GA}]}\n"
    "- {name: BetaToOpenGA, specs: [{version: '1.35', default: true, preRelease: BETA},\n"
    "   {version: '1.36', default: true, preRelease: GA}]}\n";

/* By group and version, as in the data. 0: always, never. */
static const struct {
    const char *group, *version;
    unsigned introduced, removed;
} versions[] = {
    {"alpha.grid", "v1alpha1", 36, 0}, {"beta.grid", "v1", 36, 0},
    {"beta.grid", "v1beta1", 33, 39},  {"gone.grid", "v1beta1", 33, 36},
    {"one.grid", "v1", 35, 0},         {"one.grid", "v1beta1", 34, 35},
    {"three.grid", "v1", 31, 0},       {"three.grid", "v2", 35, 0},
    {"three.grid", "v2beta1", 34, 35}, {"two.grid", "v1beta1", 34, 35},
    {"two.grid", "v1beta2", 35, 0},
};

static yyjson_doc *gates, *priority;
static struct ek_arena *arena;
static struct ek_feature_registry registry;
static struct ek_plan_data made, real;

static void open_all(void)
{
    static const char order[] =
        "alpha.grid: [v1alpha1]\nbeta.grid: [v1, v1beta1]\ngone.grid: [v1beta1]\n"
        "one.grid: [v1, v1beta1]\nthree.grid: [v2, v1, v2beta1]\ntwo.grid: [v1beta2, v1beta1]\n";
    struct ek_err err = {0};

    arena = ek_arena_new(ARENA_MAX);
    ck_assert_int_eq(ek_yaml_parse(gates_text, strlen(gates_text), 1 << 16, &gates, &err), 0);
    ck_assert_int_eq(ek_yaml_parse(order, strlen(order), 1 << 16, &priority, &err), 0);
    ck_assert_msg(!ek_feature_registry_read(yyjson_doc_get_root(gates), arena, &registry, &err),
                  "%s", err.message);
    made = (struct ek_plan_data){.kinds = ek_arena_alloc(arena, sizeof versions * 4),
                                 .resources = ek_arena_alloc(arena, sizeof versions * 4),
                                 .priority = yyjson_doc_get_root(priority)};
    for (size_t i = 0; i < EK_ARRAY_SIZE(versions); i++) {
        struct ek_api_lifecycle *life = &made.kinds[made.n_kinds++];
        *life = (struct ek_api_lifecycle){
            .group = versions[i].group, .version = versions[i].version, .kind = "Thing"};
        life->introduced = EK_MINOR(1, versions[i].introduced);
        if (versions[i].removed)
            life->removed = EK_MINOR(1, versions[i].removed);
        made.resources[made.n_resources++] = (struct ek_api_row){.group = versions[i].group,
                                                                 .version = versions[i].version,
                                                                 .resource = "things",
                                                                 .kind = "Thing",
                                                                 .stored = true,
                                                                 .lifecycle = life};
    }
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &real, NULL), 0);
}

static void close_all(void)
{
    ek_plan_data_done(&real);
    yyjson_doc_free(gates);
    yyjson_doc_free(priority);
    ek_arena_free(arena);
}

/* ---- What is decided ---- */

enum what {
    GATE,   /* subject: a gate; want: "on", "off", or the refusal */
    API,    /* subject: a group; want: the versions that are served, or the refusal */
    STORE,  /* subject: a group; want: the version of storage; at: the minimum compatibility */
    NEW,    /* subject: an expression that is written; want: "compiles" or "refused" */
    STORED, /* the same for one that is stored */
    START,  /* want: "starts", or the refusal */
    FIELD,  /* subject: an object; want: the rules of the findings of a step to at + 1 */
};

/* Proofs with the real binaries: a script of test/e2e and what the script says. */
#define STEPS   "plan_e2e", "the steps, one after the other"
#define REFUSED "plan_flags_e2e", "flags that a server refuses, as plan -f reports them"
#define LOCKED  "plan_e2e", "and the server does not start"
#define WRITTEN "plan_e2e", "an expression that the minimum compatibility version does not have"
#define ALONE   NULL, NULL /* no release has the case, or no server shows the case apart */

#define SORT "[2, 1].sort() == [1, 2]" /* since 1.34 */
#define DRIVER                                                                                     \
    "apiVersion: storage.k8s.io/v1\nkind: CSIDriver\nmetadata: {name: a}\n"                        \
    "spec: {preventPodSchedulingIfMissing: true}\n"
#define RELAXED                                                                                    \
    "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"                                             \
    "spec: {containers: [{name: a, image: a, env: [{name: '1.a=', value: b}]}]}\n"

static const struct {
    const char *name;
    enum what what;
    unsigned at; /* the emulation version; of expressions and storage, the minimum compatibility */
    const char *subject, *flags[FLAGS_MAX], *want, *script, *says;
} rows[] = {
    /* 1 to 4: gates */
    {"1 alpha gate new in N, emulating N-1: set to true",
     GATE,
     35,
     "AlphaNew",
     {"--feature-gates=AlphaNew=true"},
     "cannot set feature gate AlphaNew to true",
     REFUSED},
    {"1 alpha gate new in N, emulating N-1: set to false",
     GATE,
     35,
     "AlphaNew",
     {"--feature-gates=AlphaNew=false"},
     "cannot set feature gate AlphaNew to false",
     REFUSED},
    {"1 alpha gate new in N, emulating N-1", GATE, 35, "AlphaNew", {NULL}, "off", STEPS},
    {"1 alpha gate new in N, at N", GATE, 36, "AlphaNew", {NULL}, "off", STEPS},
    {"1 alpha gate new in N, at N: set (the proposal: not with emulation)",
     GATE,
     36,
     "AlphaNew",
     {"--feature-gates=AlphaNew=true"},
     "on",
     ALONE},
    {"2 alpha to beta, emulating N-1", GATE, 35, "AlphaToBeta", {NULL}, "off", STEPS},
    {"2 alpha to beta, emulating N-1: set",
     GATE,
     35,
     "AlphaToBeta",
     {"--feature-gates=AlphaToBeta=true"},
     "on",
     ALONE},
    {"2 alpha to beta, at N", GATE, 36, "AlphaToBeta", {NULL}, "on", STEPS},
    {"2 alpha to beta, at N: set to false",
     GATE,
     36,
     "AlphaToBeta",
     {"--feature-gates=AlphaToBeta=false"},
     "off",
     ALONE},
    {"3 beta to GA, emulating N-1", GATE, 35, "BetaToGA", {NULL}, "on", STEPS},
    {"3 beta to GA, emulating N-1: set to false",
     GATE,
     35,
     "BetaToGA",
     {"--feature-gates=BetaToGA=false"},
     "off",
     "plan_e2e",
     "a gate that the target locks blocks"},
    {"3 beta to GA, at N", GATE, 36, "BetaToGA", {NULL}, "on", STEPS},
    {"3 beta to GA, at N: set to false",
     GATE,
     36,
     "BetaToGA",
     {"--feature-gates=BetaToGA=false"},
     "cannot set feature gate BetaToGA to false, feature is locked to true",
     LOCKED},
    {"3 beta to GA, at N: set to true",
     GATE,
     36,
     "BetaToGA",
     {"--feature-gates=BetaToGA=true"},
     "on",
     ALONE},
    {"3 beta to GA that is not locked, at N: set to false (the proposal: may not be set)",
     GATE,
     36,
     "BetaToOpenGA",
     {"--feature-gates=BetaToOpenGA=false"},
     "off",
     ALONE},
    {"4 beta gate removed, emulating N-1", GATE, 35, "BetaRemoved", {NULL}, "on", STEPS},
    {"4 beta gate removed, emulating N-1: set to false",
     GATE,
     35,
     "BetaRemoved",
     {"--feature-gates=BetaRemoved=false"},
     "off",
     ALONE},
    {"4 beta gate removed, at N", GATE, 36, "BetaRemoved", {NULL}, "off", STEPS},
    {"4 beta gate removed, at N: set to true",
     GATE,
     36,
     "BetaRemoved",
     {"--feature-gates=BetaRemoved=true"},
     "cannot set feature gate BetaRemoved to true",
     ALONE},
    {"4 beta gate removed from the binary, at N",
     GATE,
     36,
     "AlphaNew",
     {"--feature-gates=LongGone=true"},
     "unrecognized feature gate: LongGone",
     ALONE},
    /* 5 to 8: APIs */
    {"5 alpha API new in N, emulating N-1", API, 35, "alpha.grid", {NULL}, "", STEPS},
    {"5 alpha API new in N, emulating N-1: all alpha APIs",
     API,
     35,
     "alpha.grid",
     {"--runtime-config=api/alpha=true"},
     "",
     ALONE},
    {"5 alpha API new in N, emulating N-1: named",
     API,
     35,
     "alpha.grid",
     {"--runtime-config=alpha.grid/v1alpha1=true"},
     "cannot enable version alpha.grid/v1alpha1 in runtime-config",
     REFUSED},
    {"5 alpha API new in N, at N", API, 36, "alpha.grid", {NULL}, "", STEPS},
    {"5 alpha API new in N, at N: named",
     API,
     36,
     "alpha.grid",
     {"--runtime-config=alpha.grid/v1alpha1=true"},
     "v1alpha1",
     ALONE},
    {"6 beta API to GA, emulating N-1", API, 35, "beta.grid", {NULL}, "", STEPS},
    {"6 beta API to GA, emulating N-1: named (v1 needs a flag)",
     API,
     35,
     "beta.grid",
     {"--runtime-config=beta.grid/v1beta1=true"},
     "v1beta1",
     STEPS},
    {"6 beta API to GA, emulating N-1: forward compatible",
     API,
     35,
     "beta.grid",
     {"--runtime-config=beta.grid/v1beta1=true", "--emulation-forward-compatible=true"},
     "v1 v1beta1",
     ALONE},
    {"6 beta API to GA, at N", API, 36, "beta.grid", {NULL}, "v1", STEPS},
    {"7 beta API that is off removed, emulating N-1", API, 35, "gone.grid", {NULL}, "", STEPS},
    {"7 beta API that is off removed, emulating N-1: named",
     API,
     35,
     "gone.grid",
     {"--runtime-config=gone.grid/v1beta1=true"},
     "v1beta1",
     STEPS},
    {"7 beta API that is off removed, at N: named",
     API,
     36,
     "gone.grid",
     {"--runtime-config=gone.grid/v1beta1=true"},
     "",
     STEPS},
    /* Kubernetes 1.36 has no beta API that is on by default: api/beta=true stands for the default.
     */
    {"8 beta API that is on removed, emulating N-1",
     API,
     35,
     "gone.grid",
     {"--runtime-config=api/beta=true"},
     "v1beta1",
     ALONE},
    {"8 beta API that is on removed, emulating N-1: off",
     API,
     35,
     "gone.grid",
     {"--runtime-config=api/beta=true,gone.grid/v1beta1=false"},
     "",
     ALONE},
    {"8 beta API that is on removed, at N",
     API,
     36,
     "gone.grid",
     {"--runtime-config=api/beta=true"},
     "",
     ALONE},
    /* 9: storage, which follows the minimum compatibility version */
    {"9 storage version changed, compatible with N-1",
     STORE,
     35,
     "beta.grid",
     {NULL},
     "beta.grid/v1beta1",
     STEPS},
    {"9 storage version changed, compatible with N",
     STORE,
     36,
     "beta.grid",
     {NULL},
     "beta.grid/v1",
     STEPS},
    /* 10, 11: CEL functions, by the minimum compatibility version */
    {"10 new CEL function, before: written", NEW, 33, SORT, {NULL}, "refused", WRITTEN},
    {"10 new CEL function, before: stored (the proposal: does not exist)",
     STORED,
     33,
     SORT,
     {NULL},
     "compiles",
     ALONE},
    {"11 introduced CEL function: written", NEW, 34, SORT, {NULL}, "compiles", WRITTEN},
    {"11 introduced CEL function: stored", STORED, 34, SORT, {NULL}, "compiles", ALONE},
    /* 12: versions; since 1.33, N-3 to N can be emulated */
    {"12 emulating N-2 (the proposal: fails)",
     START,
     34,
     "",
     {NULL},
     "starts",
     "plan_e2e",
     "an API server of 1.36 that emulates 1.33, three minors back: the plan of all steps to 1.36"},
    {"12 emulating N-3",
     START,
     33,
     "",
     {NULL},
     "starts",
     "plan_e2e",
     "an API server of 1.36 that emulates 1.33, three minors back: the plan of all steps to 1.36"},
    {"12 emulating N-4", START, 32, "", {NULL}, "emulation version 1.32 is not between", REFUSED},
    {"12 emulating N+1", START, 37, "", {NULL}, "emulation version 1.37 is not between", REFUSED},
    /* 13: API servers do not prune fields by the emulation version */
    {"13 new field, at the step to N: lost on the way back",
     FIELD,
     35,
     DRIVER,
     {NULL},
     "field-rollback ",
     "plan_condition_e2e",
     "a new binary emulates the version before: writes that 1.34 does not know get a warning"},
    {"13 new field, at the step before", FIELD, 34, DRIVER, {NULL}, "field-unknown ", ALONE},
    {"13 relaxed validation: not known, and the report says so",
     FIELD,
     35,
     RELAXED,
     {NULL},
     "",
     ALONE},
    /* The table of forward compatibility, for a binary of 1.36 */
    {"v1beta1 then v1, emulating v1beta1: default", API, 34, "one.grid", {NULL}, "", STEPS},
    {"v1beta1 then v1, emulating v1beta1: named",
     API,
     34,
     "one.grid",
     {"--runtime-config=one.grid/v1beta1=true"},
     "v1beta1",
     STEPS},
    {"v1beta1 then v1, emulating v1beta1: all beta APIs",
     API,
     34,
     "one.grid",
     {"--runtime-config=api/beta=true"},
     "v1beta1",
     ALONE},
    {"v1beta1 then v1, emulating v1beta1: forward compatible",
     API,
     34,
     "one.grid",
     {"--runtime-config=one.grid/v1beta1=true", "--emulation-forward-compatible=true"},
     "v1 v1beta1",
     ALONE},
    {"v1beta1 then v1, emulating v1beta1: v1 named",
     API,
     34,
     "one.grid",
     {"--runtime-config=one.grid/v1beta1=true,one.grid/v1=true",
      "--runtime-config-emulation-forward-compatible=true"},
     "v1 v1beta1",
     ALONE},
    {"v1beta1 then v1, emulating v1beta1: v1 named without the flag",
     API,
     34,
     "one.grid",
     {"--runtime-config=one.grid/v1=true"},
     "cannot enable version one.grid/v1 in runtime-config",
     REFUSED},
    {"v1beta1 then v1, at N",
     API,
     36,
     "one.grid",
     {"--runtime-config=one.grid/v1beta1=true"},
     "v1",
     STEPS},
    {"v1beta1 then v1beta2, emulating v1beta1: named",
     API,
     34,
     "two.grid",
     {"--runtime-config=two.grid/v1beta1=true"},
     "v1beta1",
     STEPS},
    {"v1beta1 then v1beta2, emulating v1beta1: forward compatible",
     API,
     34,
     "two.grid",
     {"--runtime-config=two.grid/v1beta1=true", "--emulation-forward-compatible=true"},
     "v1beta1 v1beta2",
     ALONE},
    {"v1beta1 then v1beta2, at N", API, 36, "two.grid", {NULL}, "", STEPS},
    {"v1beta1 then v1beta2, at N: named",
     API,
     36,
     "two.grid",
     {"--runtime-config=two.grid/v1beta2=true"},
     "v1beta2",
     ALONE},
    {"v1, v2beta1 then v2, emulating v1", API, 33, "three.grid", {NULL}, "v1", STEPS},
    {"v1, v2beta1 then v2, emulating v1: forward compatible",
     API,
     33,
     "three.grid",
     {"--emulation-forward-compatible=true"},
     "v1 v2",
     ALONE},
    {"v1, v2beta1 then v2, emulating v2beta1", API, 34, "three.grid", {NULL}, "v1", STEPS},
    {"v1, v2beta1 then v2, emulating v2beta1: named",
     API,
     34,
     "three.grid",
     {"--runtime-config=three.grid/v2beta1=true"},
     "v1 v2beta1",
     STEPS},
    {"v1, v2beta1 then v2, emulating v2beta1: forward compatible",
     API,
     34,
     "three.grid",
     {"--emulation-forward-compatible=true"},
     "v1 v2",
     ALONE},
    {"v1, v2beta1 then v2, at N", API, 36, "three.grid", {NULL}, "v1 v2", STEPS},
    {"forward compatible, at N",
     API,
     36,
     "one.grid",
     {"--emulation-forward-compatible=true"},
     "ServerRunOptions.EmulationForwardCompatible cannot be set",
     REFUSED},
};

/* ---- Decisions ---- */

static void start_of(unsigned emulation, const char *const *flags, struct ek_start *ret)
{
    const char *args[FLAGS_MAX + 1];
    size_t n = 0;

    args[n++] = ek_arena_printf(arena, "--emulated-version=1.%u", emulation);
    for (size_t i = 0; i < FLAGS_MAX && flags[i]; i++)
        args[n++] = flags[i];
    ek_start_read(&registry, BINARY, args, n, EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN, arena, ret);
}

static const char *gate_of(const struct ek_start *start, const char *name)
{
    if (start->stage != EK_START_OK)
        return start->errors[0];
    return ek_features_on(&start->gates, ek_feature_find(&registry, ek_str_from(name))) ? "on"
                                                                                        : "off";
}

static const char *value_of(const char *const *flags, const char *name)
{
    for (size_t i = 0; i < FLAGS_MAX && flags[i]; i++)
        if (!strncmp(flags[i], name, strlen(name)))
            return flags[i] + strlen(name);
    return "";
}

static const char *apis_of(const struct ek_start *start, const char *group,
                           const char *const *flags)
{
    bool served[EK_ARRAY_SIZE(versions)];
    const struct ek_api_config config = {
        .emulation = start->emulation,
        .emulates = ek_minor_cmp(start->emulation, BINARY) < 0,
        .runtime_config = value_of(flags, "--runtime-config="),
        .forward_compatible = *value_of(flags, "--emulation-forward-compatible=") != '\0',
        .runtime_forward_compatible =
            *value_of(flags, "--runtime-config-emulation-forward-compatible=") != '\0',
        .features = &start->gates};
    const char *refusal = ek_api_served(&made, &config, arena, served), *list = "";

    for (size_t i = 0; !refusal && i < made.n_resources; i++)
        if (served[i] && !strcmp(made.resources[i].group, group))
            list =
                ek_arena_printf(arena, "%s%s%s", list, *list ? " " : "", made.resources[i].version);
    return refusal ? refusal : list;
}

static const char *compile(const char *text, enum ek_cel_env_mode mode, unsigned compat)
{
    struct ek_cel_issues issues = {0};
    struct ek_cel_env *env = ek_cel_env_new(
        &(struct ek_cel_env_options){
            .set = EK_CEL_ENV_KUBERNETES, .mode = mode, .compat_minor = (int)compat},
        NULL);
    struct ek_cel_program *program = ek_cel_compile(env, text, strlen(text), NULL, &issues);
    const char *ret = program ? "compiles" : "refused";

    ek_cel_program_unref(program);
    ek_cel_issues_done(&issues);
    ek_cel_env_unref(env);
    return ret;
}

static const char *fields_of(const char *text, unsigned at)
{
    const struct ek_plan_target target = {&real, EK_MINOR(1, at - 1 + (at == 35)),
                                          EK_MINOR(1, at + (at == 35))};
    struct ek_plan_report report = {.arena = arena};
    const char *ret = "";
    yyjson_doc *doc;

    ck_assert_int_eq(ek_yaml_parse(text, strlen(text), 1 << 16, &doc, NULL), 0);
    ek_plan_check_object(&target,
                         &(struct ek_plan_object){.value = yyjson_doc_get_root(doc), .source = "a"},
                         &report);
    for (size_t i = 0; i < report.n; i++)
        ret = ek_arena_printf(arena, "%s%s ", ret, report.list[i].rule);
    yyjson_doc_free(doc);
    return ret;
}

START_TEST(grid)
{
    const char *got = "", *subject = rows[_i].subject;
    const char *const *flags = rows[_i].flags;
    unsigned at = rows[_i].at;
    struct ek_start start = {0};

    if (rows[_i].what == GATE || rows[_i].what == API || rows[_i].what == START)
        start_of(at, flags, &start);
    switch (rows[_i].what) {
    case GATE:
        got = gate_of(&start, subject);
        break;
    case API:
        got = apis_of(&start, subject, flags);
        break;
    case STORE:
        got = ek_api_storage(&made, subject, "things", EK_MINOR(1, at), arena);
        break;
    case NEW:
        got = compile(subject, EK_CEL_NEW, at);
        break;
    case STORED:
        got = compile(subject, EK_CEL_STORED, at);
        break;
    case START:
        got = start.stage == EK_START_OK ? "starts" : start.errors[0];
        break;
    case FIELD:
        got = fields_of(subject, at);
        break;
    }
    /* A refusal is given by its beginning. */
    bool sentence = strlen(rows[_i].want) > 24;
    ck_assert_msg(sentence ? !strncmp(got, rows[_i].want, strlen(rows[_i].want))
                           : !strcmp(got, rows[_i].want),
                  "%s: %s", rows[_i].name, got);
}
END_TEST

/* A proof that is named exists. */
START_TEST(proofs)
{
    static char text[1 << 17];
    char path[512], says[256];

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        if (!rows[i].script)
            continue;
        snprintf(path, sizeof path, EK_TEST_DATA "/../e2e/%s", rows[i].script);
        snprintf(says, sizeof says, "say \"%s\"\n", rows[i].says);
        FILE *stream = fopen(path, "r");
        ck_assert_msg(stream != NULL, "%s", path);
        size_t len = fread(text, 1, sizeof text - 1, stream);
        fclose(stream);
        text[len] = '\0';
        ck_assert_msg(strstr(text, says) != NULL, "%s: %s", rows[i].name, says);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("grid");

    tcase_add_unchecked_fixture(tc, open_all, close_all);
    tcase_add_loop_test(tc, grid, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, proofs);
    return ek_test_run("grid", tc);
}
