/* SPDX-License-Identifier: Apache-2.0 */
/* What stage.c (its life) and stage_objects.c (what is written into it) share. */
#ifndef TEST_DEMO_STAGE_INTERNAL_H
#define TEST_DEMO_STAGE_INTERNAL_H

#include <uv.h>

#include "controller/manager/signals.h"
#include "informers/cache/informer.h"
#include "informers/client/client.h"
#include "test/apiserver/shell.h"
#include "test/demo/stage.h"

#define EK_STAGE_PEERS    3
#define EK_STAGE_BINARY   "1.36.2"
#define EK_STAGE_NEWEST   36
#define EK_STAGE_PATH_MAX 512
#define EK_STAGE_TOKEN    33

struct ek_stage {
    uv_loop_t loop;
    uv_timer_t timer;
    struct ek_stage_hooks hooks;
    struct ek_signals signals;
    int n_signals, n_ignored;
    unsigned n_open; /* parts that are not closed yet */
    struct ek_apiserver *server;
    struct ek_apishell *shell;
    struct ek_apiserver_peer *peers[EK_STAGE_PEERS];
    struct ek_client *client;
    struct ek_informer *control_planes, *leases;
    char folder[EK_STAGE_PATH_MAX - 64];
    char kubeconfig[EK_STAGE_PATH_MAX], replica_kubeconfig[EK_STAGE_PATH_MAX];
    char user_token[EK_STAGE_TOKEN], replica_token[EK_STAGE_TOKEN];
};

/* What cp-a, cp-b, cp-c emulate at the start. */
extern const unsigned ek_stage_first_minors[EK_STAGE_PEERS];

#endif
