/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ek-load: clients of a real API server that create ConfigMaps without a pause, over N connections,
 * and count each answer that is not what it should be. It goes on until the signal to end
 * (SIGTERM), finishes what is under way, and prints what came out:
 *
 *     created=5120 unmutated=0 failed=3 lost=0 slowest_ms=1020
 *     3 x 500: Internal error occurred: failed calling webhook ...
 *
 * failed counts attempts, lost objects: one that failed is tried again, with pauses, as controllers
 * do; after TRIES_MAX it is lost. An object without the label is unmutated. While it runs, it
 * prints "at N" now and then, N objects created. Exits with 1 when anything is lost or unmutated.
 *
 * usage: ek-load SERVER CA CERT KEY NAMESPACE LABEL CONNECTIONS
 */
#include <curl/curl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/base/buf.h"
#include "api/base/mem.h"
#include "api/obj.h"

#define CONNECTIONS_MAX 64
#define TRIES_MAX       10
#define PAUSE_MS        50 /* before the second attempt; twice that before the third, and so on */
#define ANSWER_MAX      ((size_t)1 << 20)
#define TELL_EVERY      50
#define KINDS_MAX       16 /* of failures that are counted apart */

static char **args; /* SERVER and so on */
static atomic_bool ending;
static atomic_uint created, unmutated, failed, lost, slowest_ms;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    char text[400];
    unsigned n;
} kinds[KINDS_MAX]; /* guarded */

/* ---- Counting ---- */

/* Takes a note of a failure; texts that differ in a number only are the same. */
static void note(const char *text)
{
    char key[sizeof kinds[0].text];
    size_t n = 0;

    for (; *text && n + 1 < sizeof key; text++)
        if (*text < '0' || *text > '9')
            key[n++] = *text;
        else if (n == 0 || key[n - 1] != '#')
            key[n++] = '#';
    key[n] = '\0';
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < KINDS_MAX; i++) {
        if (kinds[i].n > 0 && strcmp(kinds[i].text, key) != 0)
            continue;
        memcpy(kinds[i].text, key, sizeof key);
        kinds[i].n++;
        break;
    }
    pthread_mutex_unlock(&lock);
}

static void count_created(void)
{
    unsigned n = atomic_fetch_add(&created, 1) + 1;

    if (n % TELL_EVERY == 0)
        printf("at %u\n", n);
}

static void count_time(double seconds)
{
    unsigned ms = (unsigned)(seconds * 1000), before = atomic_load(&slowest_ms);

    while (ms > before && !atomic_compare_exchange_weak(&slowest_ms, &before, ms))
        ;
}

/* ---- One client ---- */

struct client {
    pthread_t thread;
    unsigned number;
    CURL *curl;
    struct ek_buf answer;
};

static size_t on_data(char *data, size_t size, size_t n, void *ctx)
{
    struct client *client = ctx;

    return ek_buf_append(&client->answer, data, size * n) ? 0 : size * n;
}

/* Checks the answer to a creation; true when the object is there. */
static bool judge(struct client *client, long status)
{
    yyjson_doc *doc = ek_json_parse(ek_buf_str(&client->answer), client->answer.len, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    bool there = status == 201;
    char text[512];

    if (there) {
        count_created();
        if (!ek_json_str(root, "metadata", "labels", args[5], NULL))
            atomic_fetch_add(&unmutated, 1);
    } else {
        const char *message = ek_json_str(root, "message", NULL);
        snprintf(text, sizeof text, "%ld: %s", status, message ? message : "no Status");
        note(text);
    }
    yyjson_doc_free(doc);
    return there;
}

static bool attempt(struct client *client, const char *body)
{
    long status = 0;
    double seconds = 0;

    ek_buf_reset(&client->answer);
    curl_easy_setopt(client->curl, CURLOPT_COPYPOSTFIELDS, body);
    CURLcode rc = curl_easy_perform(client->curl);
    curl_easy_getinfo(client->curl, CURLINFO_TOTAL_TIME, &seconds);
    count_time(seconds);
    if (rc == CURLE_OK) {
        curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
        return judge(client, status);
    }
    note(curl_easy_strerror(rc));
    return false;
}

static void create(struct client *client, unsigned n)
{
    EK_AUTOFREE char *body = ek_xasprintf(
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"load-%u-%u\"}}",
        client->number, n);

    for (long i = 1; i <= TRIES_MAX; i++) {
        if (attempt(client, body))
            return;
        atomic_fetch_add(&failed, 1);
        nanosleep(&(struct timespec){.tv_nsec = i * PAUSE_MS * 1000000}, NULL);
    }
    atomic_fetch_add(&lost, 1);
}

static void *run_client(void *arg)
{
    struct client *client = arg;
    EK_AUTOFREE char *url = ek_xasprintf("%s/api/v1/namespaces/%s/configmaps", args[0], args[4]);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");

    client->curl = curl_easy_init();
    ek_buf_init(&client->answer, ANSWER_MAX);
    curl_easy_setopt(client->curl, CURLOPT_URL, url);
    curl_easy_setopt(client->curl, CURLOPT_CAINFO, args[1]);
    curl_easy_setopt(client->curl, CURLOPT_SSLCERT, args[2]);
    curl_easy_setopt(client->curl, CURLOPT_SSLKEY, args[3]);
    curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(client->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, 40000L);
    curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, client);
    for (unsigned n = 0; !atomic_load(&ending); n++)
        create(client, n);
    curl_easy_cleanup(client->curl);
    curl_slist_free_all(headers);
    ek_buf_done(&client->answer);
    return NULL;
}

/* ---- All ---- */

static void wait_for_the_end(void)
{
    sigset_t set;
    int signal;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigwait(&set, &signal);
    atomic_store(&ending, true);
}

static int report(void)
{
    printf("created=%u unmutated=%u failed=%u lost=%u slowest_ms=%u\n", atomic_load(&created),
           atomic_load(&unmutated), atomic_load(&failed), atomic_load(&lost),
           atomic_load(&slowest_ms));
    for (size_t i = 0; i < KINDS_MAX && kinds[i].n > 0; i++)
        printf("%u x %s\n", kinds[i].n, kinds[i].text);
    return atomic_load(&lost) || atomic_load(&unmutated) ? 1 : 0;
}

int main(int argc, char **argv)
{
    static struct client clients[CONNECTIONS_MAX];
    long n = argc == 8 ? strtol(argv[7], NULL, 10) : 0;
    sigset_t set;

    if (n < 1 || n > CONNECTIONS_MAX) {
        fprintf(stderr, "usage: ek-load SERVER CA CERT KEY NAMESPACE LABEL CONNECTIONS\n");
        return 2;
    }
    args = argv + 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    for (long i = 0; i < n; i++) {
        clients[i].number = (unsigned)i;
        if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]))
            return 1;
    }
    wait_for_the_end();
    for (long i = 0; i < n; i++)
        pthread_join(clients[i].thread, NULL);
    return report();
}
