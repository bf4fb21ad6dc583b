/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Kubernetes API server for tests and the demo: N peers of different versions over one storage.
 *
 * What it is: the part of an API server that a controller, kubectl and our prober can observe from
 * the outside, close enough that answers compare equal with recorded ones. What it is not: a
 * cluster. There are no controllers: no garbage collection by owner, no scheduling.
 *
 * This header is the core without I/O. A request goes in with the time, a response comes out; a
 * response may carry a watch, which its owner pulls at its own pace: so a slow client costs no
 * memory, and falls out of the window as it would elsewhere. Sockets are in http_shell.h, faults
 * in faults.h.
 *
 * Ownership: the server owns its peers; responses belong to the caller. Time is an argument,
 * milliseconds since the epoch. Not thread safe.
 */
#ifndef TEST_APISERVER_APISERVER_H
#define TEST_APISERVER_APISERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/version.h"

struct ek_apiserver;
struct ek_apiserver_peer;
struct ek_apiserver_watch;
struct ek_admission; /* admission.h */

struct ek_apiserver_config {
    size_t window; /* changes that each resource remembers; 0 means 10,000 */
    uint64_t seed; /* of uids and generated names: the same seed gives the same ones */
    bool rbac;     /* decide by the Roles and bindings in the storage */
};

/* One peer. Strings are copied. */
struct ek_apiserver_peer_config {
    const char *name;           /* its hostname, "cp-a" */
    const char *address;        /* without port */
    uint16_t port;              /* may be set later, see ek_apiserver_peer_listening */
    const char *binary;         /* "1.36.2" */
    struct ek_minor emulation;  /* unknown: as binary */
    struct ek_minor min_compat; /* unknown: one below emulation */
    bool hides_emulation;       /* a binary before 1.33: /version has no such fields */
    const char *resources_off;  /* "leases.coordination.k8s.io/v1 ..." or "group/v1", by blanks */
    const char *resources_on;   /* the same, for rows that are off by default */
    const char *gates;          /* "Name=true Other=false", over the built-in table */
};

/* Returns an owned server with the namespaces that every cluster has. */
struct ek_apiserver *ek_apiserver_new(const struct ek_apiserver_config *config, int64_t now_ms);
void ek_apiserver_free(struct ek_apiserver *server);

/* Adds a peer (borrowed from the server); it is stopped. EK_E_INVAL for a version that does not
 * parse, EK_E_EXIST for a name that is taken. */
int ek_apiserver_add_peer(struct ek_apiserver *server,
                          const struct ek_apiserver_peer_config *config,
                          struct ek_apiserver_peer **ret_peer, struct ek_err *err);
struct ek_apiserver_peer *ek_apiserver_find_peer(struct ek_apiserver *server, const char *name);

/* Gives a peer another version and set of resources, as a restart would; texts that are NULL stay
 * as they are, and so do name and address. */
int ek_apiserver_peer_change(struct ek_apiserver_peer *peer,
                             const struct ek_apiserver_peer_config *config, struct ek_err *err);

/* Tells where the peer listens. */
void ek_apiserver_peer_listening(struct ek_apiserver_peer *peer, uint16_t port);

/*
 * Starts a peer: writes its identity Lease anew, adds its address to the EndpointSlice and
 * Endpoints default/kubernetes. Stopping in order takes both back; a crash leaves the Lease.
 */
void ek_apiserver_peer_start(struct ek_apiserver_peer *peer, int64_t now_ms);
void ek_apiserver_peer_stop(struct ek_apiserver_peer *peer, bool crash, int64_t now_ms);
bool ek_apiserver_peer_is_running(const struct ek_apiserver_peer *peer);
const char *ek_apiserver_peer_name(const struct ek_apiserver_peer *peer);
const char *ek_apiserver_peer_address(const struct ek_apiserver_peer *peer);
uint16_t ek_apiserver_peer_port(const struct ek_apiserver_peer *peer);
struct ek_apiserver *ek_apiserver_peer_server(const struct ek_apiserver_peer *peer);

/* Renews the identity Leases that are due; returns when to call again. */
int64_t ek_apiserver_tick(struct ek_apiserver *server, int64_t now_ms);

/*
 * Gives token to a user in groups (separated by blanks). rules says what the user may do: "*" for
 * everything, or rows "verbs resources [group]" separated by ";" with commas inside, for example
 * "get,list,watch leases,nodes;create events events.k8s.io"; group "*" or absent is any. NULL or
 * "" leaves it to RBAC. Members of system:masters may do everything.
 */
void ek_apiserver_add_token(struct ek_apiserver *server, const char *token, const char *user,
                            const char *groups, const char *rules);

/* Revokes a token: a request with it gets 401 from now on. */
void ek_apiserver_revoke_token(struct ek_apiserver *server, const char *token);

/* True when an Authorization header is that of a member of system:masters. */
bool ek_apiserver_is_admin(struct ek_apiserver *server, const char *authorization, int64_t now_ms);

struct ek_apiserver_request {
    const char *method, *path, *query; /* as sent, query without "?" */
    const char *accept, *content_type, *user_agent, *authorization, *if_none_match; /* or NULL */
    struct ek_str body;
    struct ek_admission *admission; /* the answers of webhooks; NULL: none is called */
};

#define EK_APISERVER_HEADERS_MAX 8

struct ek_apiserver_response {
    int status;
    char content_type[160];
    struct ek_header_pair {
        const char *name;
        char value[512];
    } headers[EK_APISERVER_HEADERS_MAX];
    size_t n_headers;
    struct ek_buf body;
    struct ek_apiserver_watch *watch; /* owned; NULL unless the answer is a stream */
    /* For the audit. */
    char user[256], verb[24], resource[128], name_space[128], name[256];
};

void ek_apiserver_response_done(struct ek_apiserver_response *response);

/* Answers request as peer would. *ret_response is to be released by the caller; it is empty while
 * a call of the request's admission is due. */
void ek_apiserver_handle(struct ek_apiserver_peer *peer, const struct ek_apiserver_request *request,
                         int64_t now_ms, struct ek_apiserver_response *ret_response);

enum ek_watch_state {
    EK_WATCH_STATE_IDLE, /* nothing to say before the deadline or the next change */
    EK_WATCH_STATE_MORE, /* out is full: call again when it has been sent */
    EK_WATCH_STATE_OVER, /* the stream ends after what is in out */
};

/* What a fault may do to the initial events of a streaming list. */
struct ek_watch_distortion {
    bool no_end_bookmark, duplicate, reverse;
};

/* Appends what a watch has to say now, about max bytes at most. */
enum ek_watch_state ek_apiserver_watch_pull(struct ek_apiserver_watch *watch, int64_t now_ms,
                                            size_t max, struct ek_buf *out);

/* When a watch wants to be pulled even if nothing changes. */
int64_t ek_apiserver_watch_deadline(const struct ek_apiserver_watch *watch);
void ek_apiserver_watch_distort(struct ek_apiserver_watch *watch,
                                const struct ek_watch_distortion *how);
void ek_apiserver_watch_free(struct ek_apiserver_watch *watch);

/* Appends the ERROR frame "too old resource version" that a watch gets after compaction. */
void ek_apiserver_watch_put_gone(struct ek_buf *out, uint64_t rv, uint64_t compacted);

/* Calls fn after each change, NULL for none; fn may pull watches but not write. */
void ek_apiserver_on_change(struct ek_apiserver *server, void (*fn)(void *ctx), void *ctx);

/* Forgets the past of all resources up to now: continue tokens and watches from before get 410. */
void ek_apiserver_compact(struct ek_apiserver *server);

/* The last resourceVersion given out, and a way to continue a recording. */
uint64_t ek_apiserver_rv(const struct ek_apiserver *server);
void ek_apiserver_set_rv(struct ek_apiserver *server, uint64_t rv);

/* Stores an object exactly as given, without checks; resourceVersion 0 takes the next one. For
 * seeding tests with recorded objects and benches with many. EK_E_NOENT when no such kind exists,
 * EK_E_PARSE. */
int ek_apiserver_seed(struct ek_apiserver *server, const char *group, const char *version,
                      const char *plural, const char *json, size_t len, struct ek_err *err);

#endif
