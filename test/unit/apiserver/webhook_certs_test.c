/* SPDX-License-Identifier: Apache-2.0 */
/* The keepers of the webhook's certificates, of several replicas at once, against the test API
 * server: what they write, serve and tell while years pass and somebody meddles with the Secret. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "controller/certificates/certificates.h"
#include "controller/certificates/secret.h"
#include "controller/certificates/subject.h"
#include "test/support/subjectbench.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"
#include "test/support/testpki.h"

#define NOW    1763636289000
#define DAY    EK_CERT_DAY_MS
#define SECRET "/api/v1/namespaces/default/secrets/evenkeel-webhook-cert"

#define LEAF_LEFT_MS (EK_CERT_LEAF_LIFE_MS - EK_CERT_BACKDATE_MS) /* when it is made */
#define REPLICAS     2

/* One replica's keeper. */
struct keeper {
    struct ek_webhook_certs *certs;
    struct ek_tls_identity *identity;
    struct ek_runnable files;
    size_t publisher;
    bool has_files;
    unsigned n_changed; /* of the bundle */
};

static struct subjectbench bench;
static struct keeper keepers[REPLICAS];
static int n_stopped;

/* What the test last read of the Secret. */
static struct ek_cert_secret secret;
static struct ek_cert_facts facts;

static const char *const names[] = {"evenkeel-webhook.default.svc"};

static int64_t now_ms(void)
{
    return subjectbench_now;
}

static void on_changed(void *ctx)
{
    ((struct keeper *)ctx)->n_changed++;
}

/* ---- The API server ---- */

static void setup(void)
{
    static const struct ek_subject *const subjects[REPLICAS] = {&ek_certificates_subject,
                                                                &ek_certificates_subject};

    subjectbench_start(&bench, NULL, subjects, REPLICAS);
    subjectbench_now = NOW;
}

static void send_json(const char *method, const char *body, int want)
{
    int status = apiworld_request(&bench.world, method, SECRET, body, NULL);
    ck_assert_msg(status == want, "%s %s: %d", method, body ? body : "", status);
}

static void read_secret(void)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *obj = NULL;
    EK_AUTOFREE char *body = NULL;

    ck_assert_int_eq(apiworld_request(&bench.world, "GET", SECRET, NULL, &body), 200);
    ck_assert_int_eq(ek_obj_parse(body, strlen(body), &obj, NULL), 0);
    ek_cert_secret_done(&secret);
    ek_cert_secret_read(obj, &secret);
    ek_cert_secret_facts(&secret, names, 1, &facts);
}

/* For what must not happen: gives it time for a few turns of the loop. */
static void read_secret_later(void)
{
    for (int i = 0; i < 5; i++)
        read_secret();
}

/* ---- Keepers ---- */

static void start_keeper(int i, bool leads, const char *cert_path)
{
    struct ek_subject_env env = subjectbench_env(&bench, (size_t)i);
    struct keeper *k = &keepers[i];

    bench.slots[i].leads = leads;
    k->identity = ek_tls_identity_new();
    k->certs =
        ek_webhook_certs_new(&(struct ek_webhook_certs_config){.loop = env.loop,
                                                               .identity = k->identity,
                                                               .cert_path = cert_path,
                                                               .namespace = "default",
                                                               .secret = "evenkeel-webhook-cert",
                                                               .names = names,
                                                               .n_names = 1,
                                                               .now_ms = now_ms,
                                                               .changed = on_changed,
                                                               .ctx = k});
    k->publisher = ek_webhook_certs_expect(k->certs);
    k->has_files = ek_webhook_certs_runnable(k->certs, &k->files);
    if (k->has_files)
        subjectbench_start_runnable(&k->files);
    env.serving.certs = k->certs;
    subjectbench_run(&bench, (size_t)i, &env);
}

static void on_stopped(void *token)
{
    (void)token;
    n_stopped++;
}

static void stop_keepers(void)
{
    for (int i = 0; i < REPLICAS; i++) {
        struct keeper *k = &keepers[i];
        if (!k->certs)
            continue;
        n_stopped = 0;
        if (k->has_files) {
            k->files.stop(k->files.ctx, on_stopped, NULL);
            clientbench_run_until(&bench.world.bench, &n_stopped);
        }
        subjectbench_close(&bench, (size_t)i);
        ek_webhook_certs_free(k->certs);
        ek_tls_identity_free(k->identity);
        *k = (struct keeper){0};
    }
}

static void teardown(void)
{
    stop_keepers();
    ek_cert_secret_done(&secret);
    secret = (struct ek_cert_secret){0};
    subjectbench_stop(&bench);
}

/* How many authorities k trusts. */
static int trusted(const struct keeper *k)
{
    const char *at = ek_webhook_ca_bundle(k->certs);
    int n = 0;

    for (; at && (at = strstr(at, "BEGIN CERTIFICATE")) != NULL; at++)
        n++;
    return n;
}

/* What is waited for: the first keepers serve a leaf that ends then, and trust so many. */
struct goal {
    int64_t not_after_ms;
    int n_trusted, n_keepers;
};

static bool is_reached(const void *ctx)
{
    const struct goal *goal = ctx;

    for (int i = 0; i < goal->n_keepers; i++)
        if (ek_tls_identity_not_after(keepers[i].identity) != goal->not_after_ms ||
            trusted(&keepers[i]) != goal->n_trusted)
            return false;
    return true;
}

/* Runs until the keepers serve a leaf that was made at made_ms and trust n authorities. */
static void until(int64_t made_ms, int n_trusted, int n_keepers)
{
    const struct goal goal = {made_ms / 1000 * 1000 + LEAF_LEFT_MS, n_trusted, n_keepers};

    apiworld_run_until(&bench.world, is_reached, &goal);
}

/* The clock is later by ms; everybody looks. */
static void pass(int64_t ms)
{
    subjectbench_now += ms;
    for (int i = 0; i < REPLICAS; i++)
        if (keepers[i].certs)
            ek_controller_observe(bench.slots[i].controller);
}

static void publish(int i, bool everywhere)
{
    ek_webhook_certs_published(keepers[i].certs, keepers[i].publisher,
                               ek_webhook_ca_bundle(keepers[i].certs), everywhere);
}

/* ---- Tests ---- */

/* Two that both believe to lead write one Secret and serve the same. */
START_TEST(one_secret)
{
    start_keeper(0, true, NULL);
    start_keeper(1, true, NULL);
    until(NOW, 1, 2);
    read_secret();
    ck_assert(facts.leaf.usable && facts.leaf_is_of_ca && facts.ca.usable);
    ck_assert_str_eq(ek_webhook_ca_bundle(keepers[0].certs),
                     ek_webhook_ca_bundle(keepers[1].certs));
    ck_assert_uint_eq(keepers[0].n_changed, 1);
}
END_TEST

/* Who does not lead makes nothing, and serves as soon as somebody has. */
START_TEST(follower)
{
    start_keeper(0, false, NULL);
    send_json("GET", NULL, 404);
    ck_assert(ek_tls_identity_not_after(keepers[0].identity) == EK_TIME_UNSET);
    start_keeper(1, true, NULL);
    until(NOW, 1, 2);
}
END_TEST

/* A leader that could not write, because it was none, does so once it leads. */
START_TEST(leadership)
{
    start_keeper(0, false, NULL);
    send_json("GET", NULL, 404);
    bench.slots[0].leads = true;
    ek_controller_elected(bench.slots[0].controller);
    until(NOW, 1, 1);
}
END_TEST

/* The leaf is renewed by the same authority; then the authority is handed over in its three steps,
 * none of which comes early. */
START_TEST(rotation)
{
    start_keeper(0, true, NULL);
    start_keeper(1, false, NULL);
    until(NOW, 1, 2);
    EK_AUTOFREE char *first = ek_xstrdup(ek_webhook_ca_bundle(keepers[0].certs));
    pass(300 * DAY);
    until(subjectbench_now, 1, 2);
    ck_assert_str_eq(ek_webhook_ca_bundle(keepers[1].certs), first);
    pass(INT64_C(8) * 365 * DAY); /* the leaf has ended meanwhile, and the authority is due */
    int64_t leaf_ms = subjectbench_now;
    until(leaf_ms, 2, 2);
    ck_assert_uint_eq(keepers[1].n_changed, 2);

    pass(2 * EK_CERT_OVERLAP_MS); /* without anybody knowing the bundle nothing happens */
    read_secret_later();
    ck_assert(facts.next_ca.usable && !facts.old_ca.present);
    ek_webhook_certs_published(keepers[0].certs, keepers[0].publisher, first, true);
    pass(2 * EK_CERT_OVERLAP_MS); /* nor when an earlier one is known */
    read_secret_later();
    ck_assert(facts.next_ca.usable && !facts.old_ca.present);
    publish(0, true);
    pass(EK_CERT_OVERLAP_MS - 1000);
    read_secret_later();
    ck_assert(facts.next_ca.usable && !facts.old_ca.present);
    publish(0, false); /* somebody has taken it away again: the time begins anew */
    publish(0, true);
    pass(2000);
    read_secret_later();
    ck_assert(facts.next_ca.usable && !facts.old_ca.present);
    pass(EK_CERT_OVERLAP_MS);
    until(subjectbench_now, 2, 2);
    read_secret();
    ck_assert(facts.leaf_is_of_ca && facts.old_ca.present && !facts.next_ca.present);

    int64_t switched_ms = subjectbench_now;
    pass(EK_CERT_LEAVING_MS);
    until(switched_ms, 1, 2);
    ck_assert_ptr_null(strstr(ek_webhook_ca_bundle(keepers[0].certs), first));
}
END_TEST

/* Whatever is done to the Secret, nobody serves what is not trusted: what it held comes back, and
 * the authority is replaced in order. */
START_TEST(meddling)
{
    static const struct {
        const char *name, *patch; /* NULL: it is deleted */
        int n_trusted;            /* afterwards; the leaf is the same */
    } rows[] = {
        {"deleted", NULL, 2},
        {"emptied", "{\"data\":null}", 2},
        {"without authority", "{\"data\":{\"ca.crt\":null,\"ca.key\":null}}", 2},
        {"garbage", "{\"data\":{\"ca.crt\":\"AAAA\",\"tls.crt\":\"AAAA\",\"tls.key\":\"AAAA\"}}",
         2},
        {"without the authority's key", "{\"data\":{\"ca.key\":null}}", 2},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        start_keeper(0, true, NULL);
        start_keeper(1, false, NULL);
        until(NOW, 1, 2);
        read_secret();
        EK_AUTOFREE char *leaf = ek_xstrdup(secret.leaf.cert);
        EK_AUTOFREE char *ca = ek_xstrdup(secret.ca.cert);
        subjectbench_now += 1000; /* a leaf made from now on would have another end */
        if (rows[i].patch)
            send_json("PATCH", rows[i].patch, 200);
        else
            send_json("DELETE", NULL, 200);
        until(NOW, rows[i].n_trusted, 2);
        read_secret();
        ck_assert_msg(!strcmp(secret.leaf.cert, leaf) && !strcmp(secret.ca.cert, ca), "%s",
                      rows[i].name);
        ck_assert_msg(facts.leaf.usable && facts.next_ca.usable, "%s", rows[i].name);
        publish(0, true);
        pass(EK_CERT_OVERLAP_MS);
        until(subjectbench_now, 2, 2);
        stop_keepers();
        send_json("DELETE", NULL, 200);
        subjectbench_now = NOW;
    }
}
END_TEST

/* Without the leaf a new one is made; one that does not fit its key is not served. */
START_TEST(leaf_is_spoilt)
{
    static const char *const patches[] = {"{\"data\":{\"tls.crt\":null}}",
                                          "{\"data\":{\"tls.key\":null}}",
                                          "{\"data\":{\"tls.key\":\"AAAA\"}}"};

    start_keeper(0, true, NULL);
    start_keeper(1, false, NULL);
    until(NOW, 1, 2);
    EK_AUTOFREE char *bundle = ek_xstrdup(ek_webhook_ca_bundle(keepers[0].certs));
    for (size_t i = 0; i < EK_ARRAY_SIZE(patches); i++) {
        subjectbench_now += 1000;
        send_json("PATCH", patches[i], 200);
        until(subjectbench_now, 1, 2);
        ck_assert_str_eq(ek_webhook_ca_bundle(keepers[1].certs), bundle);
    }
}
END_TEST

/* Files are somebody else's: they are served and trusted as they come. */
START_TEST(files)
{
    struct testpki_cert authority = testpki_authority("a"), other = testpki_authority("b");
    struct testpki_cert leaf = testpki_issue(
        &authority,
        &(struct testpki_spec){.common_name = "x", .starts_in_s = -60, .ends_in_s = 3600});
    char dir[TESTDIR_SIZE];
    struct keeper *k = &keepers[0];

    testdir_make(dir);
    testdir_put(dir, "tls.crt", leaf.cert, 0600);
    testdir_put(dir, "tls.key", leaf.key, 0600);
    testdir_put(dir, "ca.crt", authority.cert, 0600);
    start_keeper(0, true, dir);
    ck_assert_str_eq(ek_webhook_ca_bundle(k->certs), authority.cert);
    ck_assert_int_eq(ek_tls_identity_not_after(k->identity),
                     ek_cert_read(leaf.cert, NULL).not_after_ms);
    EK_AUTOFREE char *both = ek_xasprintf("%s%s", authority.cert, other.cert);
    testdir_put(dir, "ca.crt", both, 0600);
    until(ek_cert_read(leaf.cert, NULL).not_after_ms - LEAF_LEFT_MS, 2, 1);
    ek_controller_elected(bench.slots[0].controller); /* nothing to it */
    publish(0, true);
    send_json("GET", NULL, 404);
    stop_keepers();
    testdir_remove(dir);
    testpki_done(&leaf);
    testpki_done(&other);
    testpki_done(&authority);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("webhook_certs");

    tcase_set_timeout(tc, 60);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, one_secret);
    tcase_add_test(tc, follower);
    tcase_add_test(tc, leadership);
    tcase_add_test(tc, rotation);
    tcase_add_test(tc, meddling);
    tcase_add_test(tc, leaf_is_spoilt);
    tcase_add_test(tc, files);
    return ek_test_run("webhook_certs", tc);
}
