/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stage of the demo: a control plane that exists in this process only, and the way to change
 * it.
 *
 * It is the built-in API server with three peers (cp-a, cp-b, cp-c on loopback addresses), and a
 * client that writes nodes, leases and the ControlPlane through HTTPS like any other client. What
 * it is not: Evenkeel. That runs as child processes (replicas.h) and learns of the stage only by
 * with requests to its API servers.
 *
 * The demo is a script, so the stage is used in straight lines: a function that has to wait runs
 * the loop meanwhile. Hence none of them may be called from a callback of the loop.
 *
 * Ownership: the stage owns all its parts and the folder with its files. Threading: one thread.
 */
#ifndef TEST_DEMO_STAGE_H
#define TEST_DEMO_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/err.h"
#include "api/obj.h"

struct ek_stage;

#define EK_STAGE_NAMESPACE "evenkeel-system"
#define EK_STAGE_LEASE     "evenkeel-leader"

/* Called from the loop, about twenty times a second and after each event. */
struct ek_stage_hooks {
    void (*tick)(void *ctx);
    void (*status)(void *ctx, const struct ek_obj *control_plane); /* it is new or has changed */
    void (*killed)(void *ctx); /* a second signal came: the process is about to exit */
    void *ctx;
};

/*
 * Makes the folder, the API server and its peers, which listen on port (0: a free one). From now on
 * SIGINT and SIGTERM end every wait. EK_E_IO, EK_E_TLS.
 */
int ek_stage_open(uint16_t port, const struct ek_stage_hooks *hooks, struct ek_stage **ret_stage,
                  struct ek_err *err);

/* Ends everything and removes the folder, unless keep_files. NULL is fine. Returns false when a
 * part does not end: the stage is left as it is, and standard error has what is open. */
bool ek_stage_close(struct ek_stage *stage, bool keep_files);

/* Installs the definition at crd_path and fills the cluster with what the first act starts from.
 * API servers get probe_timeout ("3s") to answer in. */
int ek_stage_set(struct ek_stage *stage, const char *crd_path, const char *probe_timeout,
                 struct ek_err *err);

/* Where the files are; the user's kubeconfig and that of the replicas. Borrowed. */
const char *ek_stage_folder(const struct ek_stage *stage);
const char *ek_stage_kubeconfig(const struct ek_stage *stage);
const char *ek_stage_replica_kubeconfig(const struct ek_stage *stage);

/*
 * Runs the loop until reached returns true. Returns 0, EK_E_TIMEOUT after max_ms, or EK_E_CANCELED
 * after a signal. With reached NULL it lets max_ms pass, and 0 is what it returns then.
 */
int ek_stage_wait(struct ek_stage *stage, bool (*reached)(void *ctx), void *ctx, int64_t max_ms);

/* From now on waits go on in spite of the signal that came: for cleaning up. */
void ek_stage_ignore_signal(struct ek_stage *stage);
bool ek_stage_is_canceled(const struct ek_stage *stage);

/* Stops a peer in order and starts it at its place with another emulation version, 1.<minor>; 36 is
 * that of its binary. */
int ek_stage_restart_peer(struct ek_stage *stage, const char *name, unsigned minor,
                          struct ek_err *err);

/* A hung peer accepts connections and answers nothing. */
void ek_stage_hang_peer(struct ek_stage *stage, const char *name, bool hangs);

/* Gives a node another kubelet, or lets it join. */
int ek_stage_set_node(struct ek_stage *stage, const char *name, const char *version,
                      struct ek_err *err);

/* Replaces the leader of a component ("kube-scheduler") by one of another version. */
int ek_stage_set_controller(struct ek_stage *stage, const char *component, const char *binary,
                            struct ek_err *err);

/* The last known ControlPlane, borrowed until the loop runs; NULL before there is one. */
const struct ek_obj *ek_stage_control_plane(const struct ek_stage *stage);

/* Who holds Evenkeel's election Lease, borrowed likewise; "" when nobody does. */
const char *ek_stage_leader(const struct ek_stage *stage);

#endif
