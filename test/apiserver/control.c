/* SPDX-License-Identifier: Apache-2.0 */
/* The control endpoint: faults, peers and compaction from outside. */
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/apiserver/shell-internal.h"

static void reply_error(struct ek_http_reply *reply, const struct ek_err *err)
{
    ek_http_reply_text(reply, err->code == EK_E_NOENT ? 404 : 400, err->message);
}

static void faults(struct ek_apishell *shell, const struct ek_http_request *request,
                   struct ek_http_reply *reply)
{
    struct ek_err err = {0};
    struct ek_fault fault;
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 65536);
    if (strcmp(request->method, "DELETE") == 0)
        ek_faults_clear(&shell->faults);
    if (strcmp(request->method, "POST") == 0 &&
        (ek_fault_parse(request->body.p, request->body.len, &fault, &err) < 0 ||
         ek_faults_add(&shell->faults, &fault, &err) < 0)) {
        reply_error(reply, &err);
        return;
    }
    ek_faults_format(&shell->faults, &out);
    ek_http_reply_send(reply, 200, "application/json", ek_buf_str(&out), out.len);
}

static int change(struct ek_apiserver_peer *peer, yyjson_val *root, struct ek_err *err)
{
    const struct ek_apiserver_peer_config config = {
        .binary = ek_json_str(root, "binary", NULL),
        .emulation = ek_minor_parse(
            ek_json_str(root, "emulation", NULL) ? ek_json_str(root, "emulation", NULL) : ""),
        .min_compat = ek_minor_parse(ek_json_str(root, "minCompatibility", NULL)
                                         ? ek_json_str(root, "minCompatibility", NULL)
                                         : ""),
        .hides_emulation = yyjson_get_bool(yyjson_obj_get(root, "hidesEmulation")),
        .resources_off = ek_json_str(root, "resourcesOff", NULL),
        .resources_on = ek_json_str(root, "resourcesOn", NULL),
        .gates = ek_json_str(root, "gates", NULL),
    };

    return ek_apiserver_peer_change(peer, &config, err);
}

static int act(struct ek_apishell *shell, yyjson_val *root, struct ek_err *err)
{
    const char *name = ek_json_str(root, "peer", NULL), *what = ek_json_str(root, "action", NULL);
    struct ek_apiserver_peer *peer =
        name ? ek_apiserver_find_peer(shell->config.server, name) : NULL;
    int code = 0;

    if (!peer || !what)
        return ek_err_set(err, EK_E_NOENT, "no such peer, or no action");
    if (strcmp(what, "stop") == 0 || strcmp(what, "crash") == 0) {
        ek_apishell_stop_peer(shell, peer, strcmp(what, "crash") == 0);
    } else if (strcmp(what, "start") == 0) {
        code = change(peer, root, err);
        code = code < 0 ? code : ek_apishell_start_peer(shell, peer, err);
    } else if (strcmp(what, "hang") == 0 || strcmp(what, "resume") == 0) {
        ek_apishell_hang_peer(shell, peer, strcmp(what, "hang") == 0);
    } else if (strcmp(what, "expire") == 0 || strcmp(what, "renew") == 0) {
        code = ek_apishell_expire_certificate(shell, peer, strcmp(what, "expire") == 0, err);
    } else {
        code = ek_err_set(err, EK_E_INVAL, "no such action: \"%.64s\"", what);
    }
    return code;
}

static void peers(struct ek_apishell *shell, const struct ek_http_request *request,
                  struct ek_http_reply *reply)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(request->body.p, request->body.len, &err);

    if (!doc || act(shell, yyjson_doc_get_root(doc), &err) < 0)
        reply_error(reply, &err);
    else
        ek_http_reply_text(reply, 200, "done");
    yyjson_doc_free(doc);
}

bool ek_shell_control(struct ek_shell_conn *conn, const struct ek_http_request *request,
                      struct ek_http_reply *reply)
{
    struct ek_apishell *shell = conn->listener->shell;

    if (strncmp(request->path, "/_", 2) != 0)
        return false;
    if (!ek_apiserver_is_admin(shell->config.server,
                               ek_http_request_header(request, "authorization"),
                               ek_shell_wall(shell))) {
        ek_http_reply_text(reply, 403, "only system:masters may do this");
    } else if (strcmp(request->path, "/_faults") == 0) {
        faults(shell, request, reply);
    } else if (strcmp(request->path, "/_peers") == 0) {
        peers(shell, request, reply);
    } else if (strcmp(request->path, "/_compact") == 0) {
        ek_apiserver_compact(shell->config.server);
        ek_http_reply_text(reply, 200, "done");
    } else {
        ek_http_reply_text(reply, 404, "no such control endpoint");
    }
    return true;
}
