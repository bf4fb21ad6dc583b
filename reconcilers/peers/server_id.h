/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server id: what an API server calls itself, which is also the name of its identity Lease.
 *
 * It is a hash of the process's hostname, so a lease's name proves the hostname that its label
 * claims, and two servers on one hostname have one id. Two formulas exist
 * (apiserver/pkg/server/config.go: NewConfig): since Kubernetes 1.27 "apiserver-" and a hash over
 * length-prefixed hostname and "kube-apiserver"; in 1.26 "kube-apiserver-" and a hash over the bare
 * hostname. Both print the first 16 bytes of SHA-256 as 26 characters of lower-case base32 without
 * padding.
 *
 * Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_SERVER_ID_H
#define RECONCILERS_PEERS_SERVER_ID_H

#include <stdbool.h>

/* Holds any server id, NUL included. */
#define EK_SERVER_ID_SIZE 48

enum ek_server_id_form {
    EK_SERVER_ID_NONE, /* not a server id */
    EK_SERVER_ID_1_26, /* "kube-apiserver-..." */
    EK_SERVER_ID_1_27, /* "apiserver-...", 1.27 and later */
    EK_SERVER_ID_FORM_MAX,
};

/* Returns the form of name, by prefix, length and alphabet; name must not be NULL. */
enum ek_server_id_form ek_server_id_form(const char *name);

/*
 * Writes the id that a server on hostname (not NULL, at most 65535 bytes) has in the given form;
 * returns buf, which holds "" for EK_SERVER_ID_NONE or a hostname that is too long.
 */
const char *ek_server_id_format(enum ek_server_id_form form, const char *hostname,
                                char buf[EK_SERVER_ID_SIZE]);

/* True when name is the id, in the form it has, of a server on hostname; hostname may be NULL. */
bool ek_server_id_matches(const char *name, const char *hostname);

#endif
