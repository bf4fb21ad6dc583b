/* SPDX-License-Identifier: Apache-2.0 */
/* The webhook's own certificates: what is made, and a whole life of them. */
#include <check.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "api/base/time.h"
#include "controller/certificates/secret.h"
#include "controller/webhook/review.h"
#include "test/support/suite.h"

#define NOW  1763636289000
#define DAY  EK_CERT_DAY_MS
#define YEAR (365 * DAY)

static const char *const names[] = {"evenkeel-webhook.evenkeel-system.svc",
                                    "evenkeel-webhook.evenkeel-system.svc.cluster.local",
                                    "127.0.0.1", "::1"};
#define N_NAMES EK_ARRAY_SIZE(names)

/* ---- Certificates ---- */

static X509 *parse(const char *pem)
{
    BIO *bio = BIO_new_mem_buf(pem, -1);
    X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);

    BIO_free(bio);
    ck_assert_ptr_nonnull(cert);
    return cert;
}

/* Whether a client that trusts bundle takes leaf for name, at a time. */
static bool is_trusted(const char *bundle, const char *leaf_pem, const char *name, int64_t now_ms)
{
    X509_STORE *store = X509_STORE_new();
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    X509 *leaf = parse(leaf_pem), *ca;
    BIO *bio = BIO_new_mem_buf(bundle, -1);

    while ((ca = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
        X509_STORE_add_cert(store, ca);
        X509_free(ca);
    }
    X509_STORE_CTX_init(ctx, store, leaf, NULL);
    X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
    X509_VERIFY_PARAM_set_time(param, (time_t)(now_ms / 1000));
    X509_VERIFY_PARAM_set1_host(param, name, 0);
    X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
    X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
    bool trusted = X509_verify_cert(ctx) == 1;
    if (!trusted)
        printf("%s\n", X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    X509_STORE_CTX_free(ctx);
    X509_STORE_free(store);
    X509_free(leaf);
    BIO_free(bio);
    return trusted;
}

START_TEST(makes)
{
    EK_AUTO(ek_cert_pair) ca = {0};
    EK_AUTO(ek_cert_pair) leaf = {0};
    struct ek_err err;

    ck_assert_int_eq(ek_cert_make_ca(NOW, &ca, &err), 0);
    ck_assert_int_eq(ek_cert_make_leaf(&ca, names, N_NAMES, NOW, &leaf, &err), 0);
    struct ek_cert_fact fact = ek_cert_read(leaf.cert, leaf.key);
    ck_assert(fact.present && fact.usable);
    ck_assert_int_eq(fact.not_before_ms, NOW - EK_CERT_BACKDATE_MS);
    ck_assert_int_eq(fact.not_after_ms, NOW - EK_CERT_BACKDATE_MS + EK_CERT_LEAF_LIFE_MS);
    fact = ek_cert_read(ca.cert, ca.key);
    ck_assert_int_eq(fact.not_after_ms, NOW - EK_CERT_BACKDATE_MS + EK_CERT_CA_LIFE_MS);
    ck_assert(!ek_cert_read(leaf.cert, ca.key).usable);
    ck_assert(ek_cert_has_names(leaf.cert, names, N_NAMES));
    ck_assert(!ek_cert_has_names(leaf.cert, (const char *const[]){"other"}, 1));
    ck_assert(ek_cert_is_issued_by(leaf.cert, ca.cert) &&
              !ek_cert_is_issued_by(ca.cert, leaf.cert));
    ck_assert(is_trusted(ca.cert, leaf.cert, names[0], NOW));
}
END_TEST

START_TEST(refuses)
{
    static const struct {
        const char *name, *names[2];
        size_t n;
    } rows[] = {
        {"no names", {NULL}, 0},
        {"an empty one", {""}, 1},
        {"an extension", {"a,email:b"}, 1},
        {"a section", {"a", "b;c"}, 2},
        {"a line", {"a\nb"}, 1},
    };
    EK_AUTO(ek_cert_pair) ca = {0};
    struct ek_cert_pair leaf = {0}, half, none = {0};
    struct ek_err err;

    ck_assert_int_eq(ek_cert_make_ca(NOW, &ca, &err), 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        ck_assert_msg(ek_cert_make_leaf(&ca, rows[i].names, rows[i].n, NOW, &leaf, &err) ==
                          EK_E_INVAL,
                      "%s", rows[i].name);
    half = (struct ek_cert_pair){ca.cert, NULL};
    ck_assert_int_eq(ek_cert_make_leaf(&half, names, N_NAMES, NOW, &leaf, &err), EK_E_INVAL);
    ck_assert_int_eq(ek_cert_make_leaf(&none, names, N_NAMES, NOW, &leaf, &err), EK_E_INVAL);
    ck_assert(!ek_cert_read("garbage", "garbage").present);
    ck_assert(!ek_cert_read(NULL, NULL).present);
}
END_TEST

/* A leaf does not outlive its authority. */
START_TEST(late_leaf)
{
    EK_AUTO(ek_cert_pair) ca = {0};
    EK_AUTO(ek_cert_pair) leaf = {0};
    int64_t late = NOW + EK_CERT_CA_LIFE_MS - 100 * DAY;

    ck_assert_int_eq(ek_cert_make_ca(NOW, &ca, NULL), 0);
    ck_assert_int_eq(ek_cert_make_leaf(&ca, names, N_NAMES, late, &leaf, NULL), 0);
    ck_assert_int_eq(ek_cert_read(leaf.cert, leaf.key).not_after_ms,
                     ek_cert_read(ca.cert, ca.key).not_after_ms);
}
END_TEST

/* ---- The Secret ---- */

static struct ek_obj *as_object(const struct ek_cert_secret *secret)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_obj *obj = ek_obj_from_mut(ek_cert_secret_content(secret, doc));

    yyjson_mut_doc_free(doc);
    return obj;
}

/*
 * Thirty years, an hour at a time when something is due, through the Secret's JSON each time. API
 * servers have the bundle of one look before (the registration follows), and must always trust what
 * is served, by the new leaf and by the one that a slow replica still has.
 */
START_TEST(life)
{
    EK_AUTO(ek_cert_secret) secret = {0};
    char *registered = NULL, *slow_leaf = NULL;
    int64_t published_ms = EK_TIME_UNSET, now_ms = NOW;
    unsigned counts[EK_CERT_INTENT_MAX] = {0};
    struct ek_err err;

    while (now_ms < NOW + 30 * YEAR) {
        struct ek_cert_facts facts;
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = as_object(&secret);
        ek_cert_secret_done(&secret);
        ek_cert_secret_read(obj, &secret);
        ek_cert_secret_facts(&secret, names, N_NAMES, &facts);
        struct ek_cert_plan plan = ek_cert_plan_make(&facts, now_ms, published_ms);
        counts[plan.intent]++;
        if (plan.intent == EK_CERT_NOTHING) {
            now_ms += published_ms == EK_TIME_UNSET ? 60000 : 37 * DAY;
            ek_free(slow_leaf);
            slow_leaf = ek_xstrdup(secret.leaf.cert);
        } else {
            ck_assert_int_eq(
                ek_cert_secret_change(&secret, plan.intent, names, N_NAMES, now_ms, &err), 0);
        }
        EK_AUTOFREE char *bundle = ek_cert_secret_bundle(&secret);
        if (registered && plan.intent != EK_CERT_DROP_CA) {
            ck_assert(is_trusted(registered, secret.leaf.cert, names[0], now_ms));
            ck_assert(!slow_leaf || is_trusted(registered, slow_leaf, names[0], now_ms));
        }
        if (plan.intent == EK_CERT_NOTHING && published_ms == EK_TIME_UNSET) {
            ek_free(registered);
            registered = ek_xstrdup(bundle);
            published_ms = now_ms;
        } else if (registered && strcmp(registered, bundle) != 0) {
            published_ms = EK_TIME_UNSET;
        }
    }
    ck_assert_uint_eq(counts[EK_CERT_MAKE_ALL], 1);
    ck_assert_uint_ge(counts[EK_CERT_MAKE_LEAF], 30);
    ck_assert_uint_eq(counts[EK_CERT_ADD_CA], 4);
    ck_assert_uint_eq(counts[EK_CERT_SWITCH_CA], 4);
    ck_assert_uint_eq(counts[EK_CERT_DROP_CA], 4);
    ek_free(registered);
    ek_free(slow_leaf);
}
END_TEST

START_TEST(broken_secrets)
{
    static const char *const rows[] = {
        "{}",
        "{\"data\":[]}",
        "{\"data\":{\"tls.crt\":7,\"tls.key\":null}}",
        "{\"data\":{\"tls.crt\":\"%%%\",\"ca.crt\":\"\"}}",
        "{\"data\":{\"tls.crt\":\"AAAA\",\"ca.crt\":\"bm8gUEVN\",\"ca.key\":\"bm8gUEVN\"}}",
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;
        EK_AUTO(ek_cert_secret) secret;
        struct ek_cert_facts facts;
        ck_assert_int_eq(ek_obj_parse(rows[i], strlen(rows[i]), &obj, NULL), 0);
        ek_cert_secret_read(obj, &secret);
        ek_cert_secret_facts(&secret, names, N_NAMES, &facts);
        ck_assert(!facts.ca.present && !facts.leaf.present);
        ck_assert_ptr_null(ek_cert_secret_bundle(&secret));
        ck_assert_int_eq(ek_cert_plan_make(&facts, NOW, EK_TIME_UNSET).intent, EK_CERT_MAKE_ALL);
    }
}
END_TEST

/* ---- Access reviews ---- */

START_TEST(review_bodies)
{
    static const struct {
        const char *name;
        struct ek_cel_authz_attributes what;
        const char *want; /* the spec */
    } rows[] = {
        {"a path",
         {.verb = EK_STR("get"), .path = EK_STR("/healthz")},
         "{\"user\":\"jane\",\"groups\":[\"a\"],\"nonResourceAttributes\":{\"verb\":\"get\","
         "\"path\":\"/healthz\"}}"},
        {"a resource",
         {.verb = EK_STR("list"),
          .is_resource = true,
          .group = EK_STR("apps"),
          .resource = EK_STR("deployments"),
          .subresource = EK_STR("scale"),
          .namespace_ = EK_STR("ns"),
          .name = EK_STR("x"),
          .field_selector = EK_STR("a=b"),
          .label_selector = EK_STR("c")},
         "{\"user\":\"jane\",\"groups\":[\"a\"],\"resourceAttributes\":{\"verb\":\"list\","
         "\"group\":\"apps\",\"version\":\"*\",\"resource\":\"deployments\",\"subresource\":"
         "\"scale\",\"namespace\":\"ns\",\"name\":\"x\",\"fieldSelector\":{\"rawSelector\":"
         "\"a=b\"},\"labelSelector\":{\"rawSelector\":\"c\"}}}"},
        {"an account",
         {.account_namespace = EK_STR("n"),
          .account_name = EK_STR("s"),
          .verb = EK_STR("get"),
          .is_resource = true,
          .resource = EK_STR("pods")},
         "{\"user\":\"system:serviceaccount:n:s\",\"groups\":[\"system:serviceaccounts\","
         "\"system:serviceaccounts:n\"],\"resourceAttributes\":{\"verb\":\"get\",\"version\":"
         "\"*\",\"resource\":\"pods\"}}"},
    };
    static const char user[] = "{\"username\":\"jane\",\"groups\":[\"a\"],\"uid\":null}";
    yyjson_doc *doc = yyjson_read(user, sizeof user - 1, 0);

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_webhook_ask *ask = ek_webhook_review_ask(yyjson_doc_get_root(doc), &rows[i].what);
        ck_assert_msg(strstr(ask->body, rows[i].want) != NULL, "%s: %s", rows[i].name, ask->body);
        ck_assert_uint_eq(strlen(ask->key), 64);
        ek_webhook_ask_free(ask);
    }
    yyjson_doc_free(doc);
}
END_TEST

START_TEST(review_answers)
{
    static const struct {
        const char *answer; /* NULL: the request failed */
        bool remembered, allowed;
        const char *reason, *error;
    } rows[] = {
        {"{\"status\":{\"allowed\":true,\"reason\":\"r\"}}", true, true, "r", ""},
        {"{\"status\":{\"allowed\":false}}", true, false, "", ""},
        {"{\"status\":{\"allowed\":false,\"evaluationError\":\"e\"}}", false, false, "", "e"},
        {"{\"status\":{}}", false, false, "", "SubjectAccessReview: the answer has no status"},
        {"[]", false, false, "", "SubjectAccessReview: the answer has no status"},
        {"{\"status\":{\"allowed\":\"yes\"}}", false, false, "",
         "SubjectAccessReview: the answer has no status"},
        {NULL, false, false, "", "SubjectAccessReview: no route"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_webhook_review review;
        struct ek_webhook_ask *ask = ek_webhook_ask_new(NULL, NULL, NULL, 0);
        if (rows[i].answer) {
            ask->answer = ek_xstrdup(rows[i].answer);
            ask->answer_size = strlen(rows[i].answer);
        } else {
            ek_err_set(&ask->err, EK_E_NET, "no route");
        }
        ck_assert_int_eq(ek_webhook_review_read(ask, &review), rows[i].remembered);
        ck_assert_int_eq(review.allowed, rows[i].allowed);
        ck_assert_str_eq(review.reason, rows[i].reason);
        ck_assert_str_eq(review.error, rows[i].error);
        ek_webhook_ask_free(ask);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_certs");

    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, makes);
    tcase_add_test(tcase, refuses);
    tcase_add_test(tcase, late_leaf);
    tcase_add_test(tcase, life);
    tcase_add_test(tcase, broken_secrets);
    tcase_add_test(tcase, review_bodies);
    tcase_add_test(tcase, review_answers);
    return ek_test_run("webhook_certs", tcase);
}
