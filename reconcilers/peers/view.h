/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view: what every API server serves, at one instant, for all who route requests and answer
 * discovery.
 *
 * A view has the known API servers, each with the discovery documents that it gave last, the merged
 * document of all of them, and every form of a document as bytes that were encoded and compressed
 * once. The merged document is the one that a kube-apiserver with --peer-ca-file sends
 * (reconcilers/peers/merge.h; KEP-4020), as seen by the routable server with the least id; see the
 * README beside this file.
 *
 * A view is immutable, counts its references, and is shared between threads. What it returns is
 * borrowed from it.
 */
#ifndef RECONCILERS_PEERS_VIEW_H
#define RECONCILERS_PEERS_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/mem.h"

/* Servers beyond these are in no view; the view is then never complete. */
#define EK_VIEW_PEERS_MAX 64

enum ek_view_answer {
    EK_VIEW_NO,
    EK_VIEW_YES,
    EK_VIEW_UNKNOWN, /* the documents of the server are not known */
};

/* The path of a discovery document. */
enum ek_view_place {
    EK_VIEW_API,
    EK_VIEW_APIS,
    EK_VIEW_PLACE_MAX,
};

enum ek_view_form {
    EK_VIEW_V2,
    EK_VIEW_V2BETA1,
    EK_VIEW_PLAIN, /* APIVersions, APIGroupList */
    EK_VIEW_FORM_MAX,
};

/* One peer of a view. Strings are never NULL and owned by the view. */
struct ek_view_peer {
    const char *name;      /* as in struct ek_peer */
    const char *server_id; /* "" when no lease is known */
    const char *address;   /* "ip:port" or "[ip]:port"; "" when none is trusted */
    bool routable; /* its address is trusted, its lease valid, it is ready and its documents are
                      known: requests may go there */
    const char *why_not; /* one of ek_view_reasons, constant; "" while it is routable */
    bool down;           /* declared down: its absence of an answer no longer holds back answers */
    bool fetched;        /* both documents are known (perhaps old) */
    int64_t fetched_ms;  /* wall clock of the last good answer (304 counts); EK_TIME_UNSET before */
};

/* Why an API server is not routable, one word each (the README beside this file); NULL at the end.
 */
extern const char *const ek_view_reasons[];

struct ek_view;

/* NULL is fine for both. */
struct ek_view *ek_view_ref(const struct ek_view *view);
void ek_view_unref(struct ek_view *view);
EK_CLEANUP_PTR(ek_view, ek_view_unref)

/* The peers by name, *ret_n of them. */
const struct ek_view_peer *ek_view_peers(const struct ek_view *view, size_t *ret_n);

/* Every known peer was fetched, or is declared down, and one was fetched: only then may a 404 be
 * given for what nobody serves. */
bool ek_view_is_complete(const struct ek_view *view);

/*
 * Whether peers[i] serves it. resource "": the group version as such. version "": any version of
 * the group. subresource "": none. A group version that is Stale is served as far as routing goes;
 * one that is Stale and lists no resources serves any resource, because only its backend knows
 * them.
 */
enum ek_view_answer ek_view_serves(const struct ek_view *view, size_t i, const char *group,
                                   const char *version, const char *resource,
                                   const char *subresource);

struct ek_view_document {
    struct ek_str body; /* ends in a line feed */
    struct ek_str gzip; /* the same compressed; len 0: not worth it */
    const char *etag;   /* with quotes */
};

/* The merged document; NULL while the view is not complete. */
const struct ek_view_document *ek_view_merged(const struct ek_view *view, enum ek_view_place place,
                                              enum ek_view_form form);

/* The one of peers[i] alone (profile=nopeer); NULL when it is not known. */
const struct ek_view_document *ek_view_own(const struct ek_view *view, size_t i,
                                           enum ek_view_place place, enum ek_view_form form);

/* The peer as which the documents are merged: of the routable peers the one with the least id, else
 * of all whose documents are known. SIZE_MAX: there is none. */
size_t ek_view_merges_as(const struct ek_view *view);

/* APIGroup of /apis/<group>, merged. NULL: nobody serves it, or the view is not complete. */
const struct ek_view_document *ek_view_group(const struct ek_view *view, const char *group);

/* APIResourceList of /apis/<group>/<version>, or of /api/<version> with group "", merged. NULL as
 * above. */
const struct ek_view_document *ek_view_resources(const struct ek_view *view, const char *group,
                                                 const char *version);

/* The next group version of the merged document ("apps/v1", "/v1" of core) that a routable server
 * serves; NULL behind the last, or while the view is not complete. *cursor is 0 at first. Those of
 * custom resources and of extension API servers, which all servers know, are left out. */
const char *ek_view_group_version(const struct ek_view *view, size_t *cursor);

#endif
