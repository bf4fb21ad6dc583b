/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a rehearsal: etcd on a copy of the snapshot, and one API server at a time. Both
 * listen on the loopback address alone and ask each client for a certificate of an authority that
 * exists for the rehearsal. Threading: one thread, that of the loop.
 */
#ifndef CONTROLLER_REHEARSE_SERVERS_H
#define CONTROLLER_REHEARSE_SERVERS_H

#include "controller/rehearse/ask.h"
#include "controller/rehearse/folder.h"
#include "controller/rehearse/network.h"
#include "reconcilers/rehearse/flags.h"
#include "reconcilers/rehearse/steps.h"

struct ek_rehearse_servers {
    struct ek_rehearse_folder *folder;
    struct ek_rehearse_ask *ask;
    struct ek_cert_pair authority, pair;
    char *ca_file, *cert_file, *key_file; /* in the folder */
    char *etcd_path, *etcdutl_path;
    int etcd_port, peer_port, port;
    struct ek_rehearse_child etcd, server;
    struct ek_client *etcd_client, *client; /* NULL while the server does not run */
};

/* Makes the certificates and finds the programs: etcd and etcdutl in etcd_folder, or where that is
 * "", beside apiserver or in $PATH. servers is zeroed but for folder and ask; close in any case.
 * Errors: EK_E_NOENT for a program; EK_E_IO, EK_E_TLS. */
int ek_rehearse_servers_open(struct ek_rehearse_servers *servers, const char *etcd_folder,
                             const char *apiserver, struct ek_err *err);
void ek_rehearse_servers_close(struct ek_rehearse_servers *servers);

/* Writes the first line that program prints for --version to ret_text (size octets). Errors:
 * EK_E_IO, EK_E_TIMEOUT. */
int ek_rehearse_servers_version(struct ek_rehearse_servers *servers, const char *program,
                                char *ret_text, size_t size, struct ek_err *err);

/* Restores a copy of the snapshot ("": an empty etcd) and starts etcd. Errors: EK_E_IO and
 * EK_E_TIMEOUT with the last line of the log. */
int ek_rehearse_servers_etcd(struct ek_rehearse_servers *servers, const char *snapshot,
                             struct ek_err *err);

/* How a start of an API server ended. */
enum ek_rehearse_start {
    EK_REHEARSE_READY,            /* answers, and says that it is ready */
    EK_REHEARSE_NOT_READY,        /* answers, and was not ready in time */
    EK_REHEARSE_REFUSED_TO_START, /* ended by itself */
    EK_REHEARSE_HUNG,             /* runs, and did not answer in time */
    EK_REHEARSE_STOPPED,          /* the rehearsal was stopped, or could not start the program */
};

/* Starts program with flags at the versions of step, and waits until it is ready, at most
 * timeout_ms. encryption: the path of an EncryptionConfiguration, "" for none. What does not run
 * any more was ended. servers->server.log has the output. */
enum ek_rehearse_start ek_rehearse_servers_start(struct ek_rehearse_servers *servers,
                                                 const char *program,
                                                 const struct ek_rehearse_flags *flags,
                                                 const struct ek_rehearse_step *step,
                                                 const char *encryption, int64_t timeout_ms,
                                                 struct ek_err *err);

/* Kills the API server; fine without one. */
void ek_rehearse_servers_end(struct ek_rehearse_servers *servers);

#endif
