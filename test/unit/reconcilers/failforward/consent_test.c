/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/consent.h"

#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

#define POLICY(name, spec) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" spec "}}"
#define SUB(name, more)    "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\"" more "}}"
#define MODE(mode)         ",\"annotations\":{\"failforward.evenkeel.dev/mode\":\"" mode "\"}"
#define LABEL              ",\"labels\":{\"a\":\"b\"}"
#define BY_SUB             ",\"subscriptionSelector\":{\"matchLabels\":{\"a\":\"b\"}}"
#define BY_NS              ",\"namespaceSelector\":{\"matchLabels\":{\"team\":\"x\"}}"

static struct ek_obj *parse(const char *json)
{
    struct ek_err err = {0};
    struct ek_obj *obj = NULL;

    ck_assert_msg(!ek_obj_parse(json, strlen(json), &obj, &err), "%s: %s", err.message, json);
    return obj;
}

static const struct {
    const char *name, *policies[3], *subscription;
    enum ek_ff_mode mode;
    const char *source;
} rows[] = {
    {"nobody consented", {NULL}, SUB("op", ""), EK_FF_OFF, ""},
    {"the annotation", {NULL}, SUB("op", MODE("Assist")), EK_FF_ASSIST, "annotation"},
    {"a mode that is none", {NULL}, SUB("op", MODE("assist")), EK_FF_OFF, "annotation"},
    {"the annotation takes back what a policy gives",
     {POLICY("cluster", "\"mode\":\"Force\"")},
     SUB("op", MODE("Off")),
     EK_FF_OFF,
     "annotation"},
    {"the global policy",
     {POLICY("cluster", "\"mode\":\"Assist\"")},
     SUB("op", ""),
     EK_FF_ASSIST,
     "cluster"},
    {"a policy observes unless it says more",
     {POLICY("cluster", "\"graceSeconds\":1")},
     SUB("op", ""),
     EK_FF_OBSERVE,
     "cluster"},
    {"a policy of a mode that is none",
     {POLICY("cluster", "\"mode\":5")},
     SUB("op", ""),
     EK_FF_OFF,
     "cluster"},
    {"another policy without a selector is for nobody",
     {POLICY("all", "\"mode\":\"Assist\"")},
     SUB("op", ""),
     EK_FF_OFF,
     ""},
    {"by subscription over by namespace",
     {POLICY("n", "\"mode\":\"Assist\"" BY_NS), POLICY("s", "\"mode\":\"Force\"" BY_SUB)},
     SUB("op", LABEL),
     EK_FF_FORCE,
     "s"},
    {"by namespace over the global one",
     {POLICY("cluster", "\"mode\":\"Force\""), POLICY("n", "\"mode\":\"Assist\"" BY_NS)},
     SUB("op", ""),
     EK_FF_ASSIST,
     "n"},
    {"both selectors over one",
     {POLICY("s", "\"mode\":\"Force\"" BY_SUB),
      POLICY("both", "\"mode\":\"Observe\"" BY_SUB BY_NS)},
     SUB("op", LABEL),
     EK_FF_OBSERVE,
     "both"},
    {"of two equal ones the one that allows less",
     {POLICY("a", "\"mode\":\"Force\"" BY_SUB), POLICY("b", "\"mode\":\"Assist\"" BY_SUB)},
     SUB("op", LABEL),
     EK_FF_ASSIST,
     "b"},
    {"not selected", {POLICY("s", "\"mode\":\"Force\"" BY_SUB)}, SUB("op", ""), EK_FF_OFF, ""},
    {"a selector that is not valid",
     {POLICY("s", "\"mode\":\"Force\",\"subscriptionSelector\":{\"matchLabels\":7}")},
     SUB("op", LABEL),
     EK_FF_OFF,
     ""},
};

/* The consent of a subscription that is alone in its namespace. */
static void consent_of(const struct ek_ff_rules *rules, struct ek_obj *sub,
                       struct ek_ff_consent *ret_consent, const char **ret_source)
{
    const struct ek_ff_world world = {.namespace = ek_obj_namespace(sub),
                                      .subscriptions = {&sub, 1}};
    struct ek_ff_consented one;
    EK_AUTO(ek_buf) names;

    ek_buf_init(&names, 256);
    ek_ff_consent_all(rules, &world, &one, &names);
    *ret_consent = one.consent;
    *ret_source = one.source;
}

START_TEST(modes)
{
    struct ek_obj *policies[3], *sub = parse(rows[_i].subscription);
    struct ek_obj *namespace =
        parse("{\"metadata\":{\"name\":\"ns\",\"labels\":{\"team\":\"x\"}}}");
    struct ek_ff_rules rules = {.policies = {policies, 0}, .namespaces = {&namespace, 1}};
    struct ek_ff_consent consent;
    const char *source;

    while (rules.policies.n < 3 && rows[_i].policies[rules.policies.n]) {
        policies[rules.policies.n] = parse(rows[_i].policies[rules.policies.n]);
        rules.policies.n++;
    }
    consent_of(&rules, sub, &consent, &source);
    ck_assert_msg(consent.mode == rows[_i].mode, "%s: %s", rows[_i].name,
                  ek_ff_mode_name(consent.mode));
    ck_assert_msg(!strcmp(source, rows[_i].source), "%s: %s", rows[_i].name, source);
    for (size_t i = 0; i < rules.policies.n; i++)
        ek_obj_unref(policies[i]);
    ek_obj_unref(namespace);
    ek_obj_unref(sub);
}
END_TEST

START_TEST(numbers)
{
    static const struct {
        const char *spec;
        int64_t grace_ms;
        unsigned retries, hops, denied;
        bool approve;
    } cases[] = {
        {"\"mode\":\"Assist\"", 300000, 3, 5, 0, false},
        {"\"graceSeconds\":0,\"maxRetriesSameVersion\":1,\"maxHopsPerDay\":2,\"approve\":true", 0,
         1, 2, 0, true},
        {"\"graceSeconds\":-1,\"maxRetriesSameVersion\":\"9\",\"maxHopsPerDay\":9999999", 300000, 3,
         100, 0, false},
        {"\"allowedActions\":[\"S1\",\"S3a\",\"S3b\"]", 300000, 3, 5,
         1U << EK_FF_S2 | 1U << EK_FF_S3C | 1U << EK_FF_S3D | 1U << EK_FF_S4 | 1U << EK_FF_S5 |
             1U << EK_FF_S6,
         false},
        {"\"allowedActions\":[]", 300000, 3, 5,
         1U << EK_FF_S1 | 1U << EK_FF_S2 | 1U << EK_FF_S3A | 1U << EK_FF_S3B | 1U << EK_FF_S3C |
             1U << EK_FF_S3D | 1U << EK_FF_S4 | 1U << EK_FF_S5 | 1U << EK_FF_S6,
         false},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        char json[512];
        const char *source;
        struct ek_ff_consent consent;
        snprintf(json, sizeof json, "{\"metadata\":{\"name\":\"cluster\"},\"spec\":{%s}}",
                 cases[i].spec);
        struct ek_obj *policy = parse(json), *sub = parse(SUB("op", ""));
        const struct ek_ff_rules rules = {.policies = {&policy, 1}};
        consent_of(&rules, sub, &consent, &source);
        ck_assert_int_eq(consent.grace_ms, cases[i].grace_ms);
        ck_assert_uint_eq(consent.max_retries, cases[i].retries);
        ck_assert_uint_eq(consent.max_hops, cases[i].hops);
        ck_assert_uint_eq(consent.denied, cases[i].denied);
        ck_assert(consent.approve == cases[i].approve);
        ek_obj_unref(policy);
        ek_obj_unref(sub);
    }
}
END_TEST

/* Case 9, and case 13: a subscription that OLM made for a dependency. */
START_TEST(neighbors)
{
    static const struct {
        const char *others[2], *names;
    } cases[] = {
        {{NULL}, ""},
        {{SUB("a", MODE("Assist")), SUB("b", MODE("Force"))}, ""},
        {{SUB("a", MODE("Observe")), SUB("b", "")}, "a,b"},
        {{SUB("dep", ",\"annotations\":{\"olm.generated-by\":\"install-x\"}")}, ""},
        {{SUB("dep", ",\"annotations\":{\"olm.generated-by\":\"install-x\","
                     "\"failforward.evenkeel.dev/mode\":\"Off\"}")},
         "dep"},
        {{"{\"metadata\":{\"namespace\":\"elsewhere\",\"name\":\"c\"}}"}, ""},
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_obj *subs[3] = {parse(SUB("op", MODE("Assist")))};
        struct ek_ff_world world = {.namespace = "ns", .subscriptions = {subs, 1}};
        const struct ek_ff_rules rules = {0};
        struct ek_ff_consented all[3] = {{{0}, NULL}};
        EK_AUTO(ek_buf) names;
        ek_buf_init(&names, 1024);
        for (size_t j = 0; j < 2 && cases[i].others[j]; j++)
            subs[world.subscriptions.n++] = parse(cases[i].others[j]);
        ek_ff_consent_all(&rules, &world, all, &names);
        ck_assert_str_eq(ek_buf_str(&names), cases[i].names);
        ck_assert(all[0].consent.shared == (*cases[i].names != '\0'));
        for (size_t j = 0; j < world.subscriptions.n; j++)
            ck_assert(!all[j].consent.shared || all[j].consent.mode >= EK_FF_ASSIST);
        for (size_t j = 0; j < world.subscriptions.n; j++)
            ek_obj_unref(subs[j]);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, modes, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, numbers);
    tcase_add_test(tc, neighbors);
    return ek_test_run("consent", tc);
}
