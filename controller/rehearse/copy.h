/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a live cluster in place of a snapshot: read by the API, written to the etcd of the
 * rehearsal.
 *
 * A child process reads the cluster, before the rehearsal enters a network without a way out, into
 * a file of the temporary folder; the rehearsal writes the file to etcd. The requests are GET
 * alone, one at a time and at most so many a second. Threading: one thread.
 */
#ifndef CONTROLLER_REHEARSE_COPY_H
#define CONTROLLER_REHEARSE_COPY_H

#include "api/version.h"
#include "controller/rehearse/ask.h"
#include "controller/rehearse/folder.h"

/* What is copied; texts are borrowed. */
struct ek_rehearse_copy_options {
    const char *kubeconfig, *context; /* "": as kubectl */
    const char *resources; /* names separated by commas (copy.h of the decisions); "": all */
    bool secret_values;    /* as they are */
    bool version_known;    /* the version of the cluster is known without its answer */
};

/* A copy that was read. */
struct ek_rehearse_copied {
    struct ek_minor version, min_compat; /* that the cluster runs; unknown: not said */
    size_t objects;
    char server[256]; /* the URL of the cluster */
};

/*
 * Reads the cluster into a new file of folder, whose path is put into ret_path, owned. root: as
 * ek_rehearse_copy_key; deadline_ms: on ek_monotonic_ms, 0 for none; say(ctx, what, n) is called in
 * the child process with the kind under way and the objects that were read. Waits for the child.
 * Resources that cannot be read are in the file; the definitions of resources and the namespaces
 * have to be readable, and the version without version_known (EK_E_PARSE for an answer without
 * one). Errors: those of the kubeconfig and of the requests; EK_E_INVAL for a
 * resource that the cluster does not have; EK_E_LIMIT for a cluster above 8 GiB; EK_E_CANCELED
 * after a signal, EK_E_TIMEOUT after the deadline; EK_E_IO.
 */
int ek_rehearse_copy_read(const struct ek_rehearse_copy_options *options,
                          const struct ek_rehearse_folder *folder, const char *root,
                          int64_t deadline_ms, void (*say)(void *ctx, const char *what, size_t n),
                          void *ctx, struct ek_rehearse_copied *ret_copied, char **ret_path,
                          struct ek_err *err);

/*
 * Writes the objects of the file at path to etcd, and calls missing(ctx, resource, why) for each
 * resource that was not copied, or not whole. Errors: EK_E_IO; EK_E_CANCELED when the rehearsal was
 * stopped; those of etcd.
 */
int ek_rehearse_copy_write(struct ek_rehearse_ask *ask, struct ek_client *etcd, const char *path,
                           void (*missing)(void *ctx, const char *resource, const char *why),
                           void *ctx, struct ek_err *err);

#endif
