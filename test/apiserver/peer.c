/* SPDX-License-Identifier: Apache-2.0 */
/* Peers: their versions, what they serve, and what they write about themselves. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "reconcilers/peers/server_id.h"
#include "test/apiserver/server-internal.h"

#define RENEW_EVERY_MS 10000
#define LEASE_SECONDS  3600

static int take_config(struct ek_apiserver_peer *peer,
                       const struct ek_apiserver_peer_config *config, struct ek_err *err)
{
    struct ek_minor binary = ek_minor_parse(config->binary ? config->binary : "");

    if (!binary.known)
        return ek_err_set(err, EK_E_INVAL, "peer %s: \"%s\" is no version such as 1.36.2",
                          peer->name, config->binary ? config->binary : "");
    ek_free(peer->binary);
    ek_free(peer->resources_off);
    ek_free(peer->resources_on);
    ek_free(peer->gates);
    peer->binary = ek_xstrdup(config->binary);
    peer->resources_off = ek_xstrdup(config->resources_off ? config->resources_off : "");
    peer->resources_on = ek_xstrdup(config->resources_on ? config->resources_on : "");
    peer->gates = ek_xstrdup(config->gates ? config->gates : "");
    peer->emulation = config->emulation.known ? config->emulation : binary;
    peer->min_compat =
        config->min_compat.known ? config->min_compat : ek_minor_offset(peer->emulation, -1);
    peer->hides_emulation = config->hides_emulation;
    ek_peer_forget_documents(peer);
    return 0;
}

void ek_peer_free(struct ek_apiserver_peer *peer)
{
    ek_peer_forget_documents(peer);
    ek_free(peer->name);
    ek_free(peer->address);
    ek_free(peer->binary);
    ek_free(peer->resources_off);
    ek_free(peer->resources_on);
    ek_free(peer->gates);
    ek_free(peer->lease_name);
    ek_free(peer);
}

struct ek_apiserver_peer *ek_apiserver_find_peer(struct ek_apiserver *server, const char *name)
{
    for (size_t i = 0; i < server->n_peers; i++) {
        if (strcmp(server->peers[i]->name, name) == 0)
            return server->peers[i];
    }
    return NULL;
}

int ek_apiserver_add_peer(struct ek_apiserver *server,
                          const struct ek_apiserver_peer_config *config,
                          struct ek_apiserver_peer **ret_peer, struct ek_err *err)
{
    char id[EK_SERVER_ID_SIZE];

    if (ek_apiserver_find_peer(server, config->name) || server->n_peers == EK_PEERS_MAX)
        return ek_err_set(err, EK_E_EXIST, "peer %s exists, or there are %d of them", config->name,
                          EK_PEERS_MAX);
    struct ek_apiserver_peer *peer = ek_xalloc(sizeof(*peer));
    peer->server = server;
    peer->name = ek_xstrdup(config->name);
    peer->address = ek_xstrdup(config->address);
    peer->port = config->port;
    peer->lease_name = ek_xstrdup(ek_server_id_format(EK_SERVER_ID_1_27, config->name, id));
    server->peers[server->n_peers++] = peer;
    int code = take_config(peer, config, err);
    if (code < 0) {
        ek_peer_free(peer);
        server->n_peers--;
        return code;
    }
    *ret_peer = peer;
    return 0;
}

int ek_apiserver_peer_change(struct ek_apiserver_peer *peer,
                             const struct ek_apiserver_peer_config *config, struct ek_err *err)
{
    struct ek_apiserver_peer_config full = *config;
    /* What is kept is taken from copies, because take_config releases the old texts. */
    char *kept[4] = {ek_xstrdup(peer->binary), ek_xstrdup(peer->resources_off),
                     ek_xstrdup(peer->resources_on), ek_xstrdup(peer->gates)};

    full.binary = full.binary ? full.binary : kept[0];
    full.resources_off = full.resources_off ? full.resources_off : kept[1];
    full.resources_on = full.resources_on ? full.resources_on : kept[2];
    full.gates = full.gates ? full.gates : kept[3];
    int code = take_config(peer, &full, err);
    for (size_t i = 0; i < EK_ARRAY_SIZE(kept); i++)
        ek_free(kept[i]);
    return code;
}

void ek_apiserver_peer_listening(struct ek_apiserver_peer *peer, uint16_t port)
{
    peer->port = port;
}

bool ek_apiserver_peer_is_running(const struct ek_apiserver_peer *peer)
{
    return peer->running;
}

const char *ek_apiserver_peer_name(const struct ek_apiserver_peer *peer)
{
    return peer->name;
}

const char *ek_apiserver_peer_address(const struct ek_apiserver_peer *peer)
{
    return peer->address;
}

uint16_t ek_apiserver_peer_port(const struct ek_apiserver_peer *peer)
{
    return peer->port;
}

struct ek_apiserver *ek_apiserver_peer_server(const struct ek_apiserver_peer *peer)
{
    return peer->server;
}

static bool listed(const char *words, const struct ek_kind *kind)
{
    char version[EK_GV_SIZE], resource[EK_GV_SIZE], full[2 * EK_GV_SIZE];

    ek_kind_api_version(kind, version);
    snprintf(full, sizeof(full), "%s/%s", ek_kind_resource_name(kind, resource), kind->version);
    return ek_words_have(words, version) || ek_words_have(words, full);
}

bool ek_peer_serves(const struct ek_apiserver_peer *peer, const struct ek_kind *kind)
{
    int minor = (int)peer->emulation.minor;

    if (kind->gone || listed(peer->resources_off, kind))
        return false;
    if ((kind->since && minor < kind->since) || (kind->until && minor > kind->until))
        return false;
    return !(kind->flags & EK_KIND_OFF) || listed(peer->resources_on, kind);
}

void ek_peer_forget_documents(struct ek_apiserver_peer *peer)
{
    for (int i = 0; i < 2; i++) {
        ek_free(peer->discovery[i]);
        ek_free(peer->discovery_tag[i]);
        peer->discovery[i] = peer->discovery_tag[i] = NULL;
    }
}

/* A request of the peer to itself, with all rights. Returns the status. */
static int loopback(struct ek_apiserver_peer *peer, const char *method, const char *path,
                    const char *type, const char *json, int64_t now_ms)
{
    struct ek_apiserver_request request = {
        .method = method,
        .path = path,
        .query = "",
        .content_type = type,
        .user_agent = "kube-apiserver/v1",
        .authorization = "Bearer loopback",
        .body = ek_str_from(json),
    };
    struct ek_apiserver_response response;
    struct ek_test_token *spare = &peer->server->tokens[0];

    /* Row 0 is the loopback's, and only while it speaks. */
    spare->rules = ek_xstrdup("*");
    ek_apiserver_handle(peer, &request, now_ms, &response);
    ek_free(spare->rules);
    spare->rules = NULL;
    int status = response.status;
    ek_apiserver_response_done(&response);
    return status;
}

/* Sets an object by merge patch, creating it when it is not there. */
static void set_object(struct ek_apiserver_peer *peer, const char *collection, const char *name,
                       const char *json, int64_t now_ms)
{
    char *path = ek_xasprintf("%s/%s", collection, name);

    if (loopback(peer, "PATCH", path, "application/merge-patch+json", json, now_ms) == 404)
        (void)loopback(peer, "POST", collection, "application/json", json, now_ms);
    ek_free(path);
}

#define SERVICE_PATH "/api/v1/namespaces/default/services"
#define SLICE_PATH   "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
#define ENDS_PATH    "/api/v1/namespaces/default/endpoints"
#define LEASE_PATH   "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"

/* Writes the addresses of the running peers where clients look for them. */
static void publish_addresses(struct ek_apiserver_peer *writer, int64_t now_ms)
{
    struct ek_apiserver *server = writer->server;
    EK_AUTO(ek_buf) slice;
    EK_AUTO(ek_buf) ends;
    size_t n = 0;
    unsigned port = writer->port;

    ek_buf_init(&slice, 65536);
    ek_buf_init(&ends, 65536);
    ek_buf_puts(&slice, "{\"metadata\":{\"name\":\"kubernetes\",\"labels\":{"
                        "\"kubernetes.io/service-name\":\"kubernetes\"}},\"addressType\":\"IPv4\","
                        "\"endpoints\":[");
    ek_buf_puts(&ends, "{\"metadata\":{\"name\":\"kubernetes\",\"labels\":{"
                       "\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}},\"subsets\":[{"
                       "\"addresses\":[");
    for (size_t i = 0; i < server->n_peers; i++) {
        const struct ek_apiserver_peer *peer = server->peers[i];
        if (!peer->running)
            continue;
        port = peer->port;
        ek_buf_printf(&slice, "%s{\"addresses\":[\"%s\"],\"conditions\":{\"ready\":true}}",
                      n ? "," : "", peer->address);
        ek_buf_printf(&ends, "%s{\"ip\":\"%s\"}", n++ ? "," : "", peer->address);
    }
    ek_buf_printf(&slice, "],\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":%u}]}",
                  port);
    ek_buf_printf(&ends, "],\"ports\":[{\"name\":\"https\",\"port\":%u,\"protocol\":\"TCP\"}]}]}",
                  port);
    set_object(writer, SLICE_PATH, "kubernetes", ek_buf_str(&slice), now_ms);
    set_object(writer, ENDS_PATH, "kubernetes", ek_buf_str(&ends), now_ms);
}

static void publish_service(struct ek_apiserver_peer *peer, int64_t now_ms)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"kubernetes\",\"labels\":{\"component\":\"apiserver\","
             "\"provider\":\"kubernetes\"}},\"spec\":{\"ports\":[{\"name\":\"https\",\"protocol\":"
             "\"TCP\",\"port\":443,\"targetPort\":%u}]}}",
             peer->port);
    (void)loopback(peer, "POST", SERVICE_PATH, "application/json", json, now_ms);
}

static void delete_lease(struct ek_apiserver_peer *peer, int64_t now_ms)
{
    char *path = ek_xasprintf(LEASE_PATH "/%s", peer->lease_name);

    (void)loopback(peer, "DELETE", path, "application/json", "", now_ms);
    ek_free(path);
}

static void create_lease(struct ek_apiserver_peer *peer, int64_t now_ms)
{
    char uid[37], now[EK_TIME_SIZE], note[160] = "";

    ek_server_uid(peer->server, uid);
    /* The peer address is published by the gate UnknownVersionInteroperabilityProxy, on at 1.36. */
    if (peer->emulation.minor >= 36)
        snprintf(note, sizeof(note),
                 ",\"annotations\":{\"kubernetes.io/peer-advertise-address\":\"%s:%u\"}",
                 peer->address, peer->port);
    char *json = ek_xasprintf(
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"apiserver.kubernetes.io/identity\":"
        "\"kube-apiserver\",\"kubernetes.io/hostname\":\"%s\"}%s},\"spec\":{\"holderIdentity\":"
        "\"%s_%s\",\"leaseDurationSeconds\":%d,\"renewTime\":\"%s\"}}",
        peer->lease_name, peer->name, note, peer->lease_name, uid, LEASE_SECONDS,
        ek_time_format_micro(now_ms, now));
    (void)loopback(peer, "POST", LEASE_PATH, "application/json", json, now_ms);
    ek_free(json);
}

static void renew_lease(struct ek_apiserver_peer *peer, int64_t now_ms)
{
    char now[EK_TIME_SIZE], json[128];
    char *path = ek_xasprintf(LEASE_PATH "/%s", peer->lease_name);

    snprintf(json, sizeof(json), "{\"spec\":{\"renewTime\":\"%s\"}}",
             ek_time_format_micro(now_ms, now));
    if (loopback(peer, "PATCH", path, "application/merge-patch+json", json, now_ms) == 404)
        create_lease(peer, now_ms);
    peer->renew_ms = now_ms + RENEW_EVERY_MS;
    ek_free(path);
}

void ek_apiserver_peer_start(struct ek_apiserver_peer *peer, int64_t now_ms)
{
    peer->running = true;
    publish_service(peer, now_ms);
    delete_lease(peer, now_ms);
    create_lease(peer, now_ms);
    peer->renew_ms = now_ms + RENEW_EVERY_MS;
    publish_addresses(peer, now_ms);
}

void ek_apiserver_peer_stop(struct ek_apiserver_peer *peer, bool crash, int64_t now_ms)
{
    struct ek_apiserver *server = peer->server;

    if (!peer->running)
        return;
    peer->running = false;
    if (!crash)
        delete_lease(peer, now_ms);
    /* Of a crashed peer the others take the address away, when its endpoint lease is over; here at
     * once. The last one leaves its address behind. */
    for (size_t i = 0; i < server->n_peers; i++) {
        if (server->peers[i]->running) {
            publish_addresses(server->peers[i], now_ms);
            return;
        }
    }
}

int64_t ek_apiserver_tick(struct ek_apiserver *server, int64_t now_ms)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < server->n_peers; i++) {
        struct ek_apiserver_peer *peer = server->peers[i];
        if (!peer->running)
            continue;
        if (now_ms >= peer->renew_ms)
            renew_lease(peer, now_ms);
        next = peer->renew_ms < next ? peer->renew_ms : next;
    }
    return next;
}
