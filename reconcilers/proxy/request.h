/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request is about: method and target to verb, group, version, resource, name and
 * subresource, by the rules of k8s.io/apiserver 1.36,
 * pkg/endpoints/request/requestinfo.go:NewRequestInfo.
 *
 * The decision is made about the bytes that are forwarded: the target is never rewritten, and a
 * target that two readers could take for two different resources is refused with 400. Refused are:
 * what does not begin with "/" (absolute form, "*"), a fragment, octets outside of printable ASCII,
 * a percent sign without two hexadecimal digits, "." and ".." as a segment in any spelling, an
 * encoded control character, and a backslash. Before the tail of a proxied path also: an empty
 * segment, an encoded "/" or "\", and an encoded "%". The tail is what follows the subresource
 * "proxy" or belongs to the verb "proxy": it is the path of another server.
 *
 * The name in fieldSelector=metadata.name=... is not read: no decision of the proxy depends on a
 * name. Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_REQUEST_H
#define RECONCILERS_PROXY_REQUEST_H

#include <stdbool.h>

#include "reconcilers/proxy/answer.h"

/* A longer target is refused with 414. Selectors make targets long. */
#define EK_PROXY_TARGET_MAX ((size_t)128 * 1024)

/* All strings are percent-decoded, never NULL, and owned by the struct. */
struct ek_proxy_request {
    bool is_resource;  /* names a resource; else only path, verb and query mean something */
    const char *verb;  /* "get", "list", "watch", "create", "update", "patch", "delete",
                          "deletecollection", "proxy", ""; else the method in lower case */
    const char *path;  /* decoded, without the query */
    const char *query; /* as it came, without "?"; "" for none */
    const char *group; /* "" for core */
    const char *version;
    const char *resource;
    const char *subresource; /* "" for none */
    const char *namespace;
    const char *name;
    bool reads;        /* GET or HEAD: repeating the request does no harm, see runs */
    bool runs;         /* exec, attach, portforward, proxy: a repetition may act twice */
    bool long_running; /* watch, proxy, log, exec, attach, portforward: no time limit for the whole
                          (pkg/server/config.go:BasicLongRunningRequestCheck) */
    bool has_tail;     /* goes to a server behind the API server, whose answers mean nothing here */
    char *text;        /* owned */
};

/*
 * Reads method and target into *ret, to be released by ek_proxy_request_done after any outcome.
 * Returns true; false with *refusal set (400, 405 for CONNECT and TRACE, 414, 503 without memory).
 */
bool ek_proxy_request_read(const char *method, const char *target, struct ek_proxy_request *ret,
                           struct ek_proxy_answer *refusal);
void ek_proxy_request_done(struct ek_proxy_request *request);
EK_CLEANUP(ek_proxy_request, ek_proxy_request_done)

/*
 * Copies the first value of a query parameter into out (size bytes with the NUL; "" when absent),
 * decoded as net/url:ParseQuery of Go 1.24 does: a pair with ";" or a broken escape is not there.
 * False when it is absent; what does not fit out counts as present and is cut.
 */
bool ek_proxy_query_first(const char *query, const char *name, char *out, size_t size);

#endif
