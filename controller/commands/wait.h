/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a command to a cluster, one after another, each waited for. Threading: one thread,
 * and a loop of its own.
 */
#ifndef CONTROLLER_COMMANDS_WAIT_H
#define CONTROLLER_COMMANDS_WAIT_H

#include <uv.h>

#include "api/obj.h"
#include "controller/cli/commands.h"
#include "informers/client/client.h"

struct ek_wait {
    uv_loop_t loop;
    struct ek_client *client;
    size_t max_body; /* octets of one answer */
    unsigned levels; /* that an answer has above its objects (ek_json_parse_envelope) */
    bool done;
    yyjson_doc *doc;   /* of the last answer, for the caller to free; NULL with err */
    struct ek_err err; /* of the last failure */
};

/* Makes the client that the flags name; max_body and levels are set before. Close wait in any case.
 * Errors (in wait->err): as ek_kubeconfig_load and ek_client_new. */
int ek_wait_open(struct ek_wait *wait, const struct ek_cluster_options *options);

/* Reads path, and parses the answer into wait->doc. Errors (in wait->err): as ek_client_send;
 * EK_E_PARSE. */
int ek_wait_get(struct ek_wait *wait, const char *path);

/* Sends request, whose timeout and max_body are set here, and parses the answer as ek_wait_get. */
int ek_wait_send(struct ek_wait *wait, const struct ek_request *request);

void ek_wait_close(struct ek_wait *wait);

#endif
