/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/clients_seen.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/err.h"
#include "api/base/time.h"
#include "api/promtext.h"

#define REQUESTS    "evenkeel_proxy_client_requests_total"
#define LAST        "evenkeel_proxy_client_last_request_timestamp_seconds"
#define CONNECTIONS "evenkeel_proxy_connections" /* each proxy has it */

struct reading {
    struct ek_clients_seen *clients;
    const struct ek_bounds *bounds;
    bool proxy;
};

/* Judges the labels as the header that they were made of; false when they are of none. */
static bool judge(const char *client, const char *version, const struct ek_bounds *bounds,
                  struct ek_client_version *ret)
{
    char header[128];
    char text[EK_MINOR_SIZE];
    struct ek_minor v = ek_minor_parse(version);
    bool library = !strcmp(client, "client-go"); /* its releases are 0.N where others are 1.N */

    if (v.known && (strcmp(ek_minor_format(v, text), version) != 0 || (library && v.major != 1)))
        return false;
    snprintf(header, sizeof header, "%.40s/v%" PRIu64 ".%" PRIu64 ".0", client,
             library ? 0 : v.major, v.minor);
    *ret = ek_client_version_judge(v.known ? header : client, bounds);
    if (strcmp(ret->client, client) != 0)
        return false;
    if (!strcmp(version, "other")) { /* which version is not known any more */
        snprintf(ret->version, sizeof ret->version, "other");
        ret->verdict = ret->verdict == EK_VERDICT_NOT_JUDGED ? ret->verdict : EK_VERDICT_UNKNOWN;
    }
    return v.known || !*version || !strcmp(version, "other");
}

static struct ek_client_seen *find_or_add(struct ek_clients_seen *clients,
                                          const struct ek_client_version *is)
{
    for (size_t i = 0; i < clients->n; i++)
        if (!strcmp(clients->rows[i].is.client, is->client) &&
            !strcmp(clients->rows[i].is.version, is->version))
            return &clients->rows[i];
    if (clients->n == EK_CLIENTS_SEEN_MAX)
        return NULL;
    clients->rows[clients->n] = (struct ek_client_seen){.is = *is, .last_ms = EK_TIME_UNSET};
    return &clients->rows[clients->n++];
}

static void on_sample(void *ctx, const struct ek_prom_sample *sample)
{
    struct reading *reading = ctx;
    struct ek_client_version is;

    reading->proxy = true;
    if (!strcmp(sample->name, CONNECTIONS) || !isfinite(sample->value) || sample->value < 0 ||
        !judge(ek_prom_label(sample, "client"), ek_prom_label(sample, "version"), reading->bounds,
               &is))
        return;
    struct ek_client_seen *row = find_or_add(reading->clients, &is);
    if (!row)
        return;
    if (!strcmp(sample->name, REQUESTS)) {
        row->requests += sample->value;
    } else if (sample->value < 1e11) { /* within the calendar */
        int64_t at_ms = (int64_t)(sample->value * 1000);
        row->last_ms = at_ms > row->last_ms ? at_ms : row->last_ms;
    }
}

static int by_name(const void *a, const void *b)
{
    const struct ek_client_version *x = &((const struct ek_client_seen *)a)->is;
    const struct ek_client_version *y = &((const struct ek_client_seen *)b)->is;
    int order = strcmp(x->client, y->client);

    if (order)
        return order;
    struct ek_minor v = ek_minor_parse(x->version), w = ek_minor_parse(y->version);
    return v.known && w.known ? ek_minor_cmp(v, w) : strcmp(x->version, y->version);
}

int ek_clients_seen_read(struct ek_clients_seen *clients, struct ek_str page,
                         const struct ek_bounds *bounds)
{
    static const char *const wanted[] = {REQUESTS, LAST, CONNECTIONS, NULL};
    EK_AUTO(ek_promtext) reader;
    struct reading reading = {.clients = clients, .bounds = bounds};

    ek_promtext_init(&reader, wanted, on_sample, &reading);
    ek_promtext_feed(&reader, page.p, page.len);
    ek_promtext_finish(&reader);
    qsort(clients->rows, clients->n, sizeof *clients->rows, by_name);
    return reading.proxy ? 0 : EK_E_PARSE;
}
