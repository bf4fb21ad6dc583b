/* SPDX-License-Identifier: Apache-2.0 */
/* As whom a request goes to an API server. */
#include <stdio.h>

#include "api/base/time.h"
#include "controller/proxy/proxy-internal.h"

/* The Host of every request: a name that each API server has, so that a request can go to another
 * one as it is. */
#define HOST "kubernetes.default.svc"

/* By which audit logs tell two certificates of one user apart (apiserver 1.36,
 * pkg/authentication/user/user.go:CredentialIDKey, request/x509/x509.go:CommonNameUserConversion).
 */
#define CREDENTIAL_ID "authentication.kubernetes.io/credential-id"

/* Adds the credentials of the account that impersonates; false when they are not known. */
static bool put_account(struct ek_proxy_front *front)
{
    const struct ek_proxy_config *config = front->proxy->config;
    struct ek_proxy_exchange *x = &front->exchange;

    if (config->options.policy.mode != EK_IDENTITY_IMPERSONATE || !x->identity.ours)
        return true;
    char *account = ek_proxy_board_account(config->board);
    bool known = account != NULL;
    if (known && *account)
        ek_buf_printf(&x->head, "Authorization: %s\r\n", account);
    ek_free(account);
    return known;
}

/* An API server verifies the certificate of a connection at each request (apiserver 1.36,
 * pkg/authentication/request/x509/x509.go:Authenticator.AuthenticateRequest). */
static bool judge_certificate(struct ek_proxy_front *front, struct ek_proxy_answer *refusal)
{
    const struct ek_proxy_conn *conn = front->conn;
    int64_t end_ms = conn->subject.not_after_ms;

    if (!conn->has_subject)
        return true;
    if (conn->outdated)
        ek_proxy_answer_set(refusal, 503, 1,
                            "the authorities of client certificates have changed: connect again");
    else if (end_ms != EK_TIME_UNSET && front->proxy->options.wall_ms() > end_ms)
        ek_proxy_answer_set(refusal, 401, 0, "the client certificate has expired");
    else
        return true;
    ek_relay_drain(front->relay, ek_proxy_now__(front->proxy));
    if (conn->h2)
        ek_h2_shutdown(conn->h2, ek_proxy_now__(front->proxy));
    return false;
}

bool ek_exchange_identify__(struct ek_proxy_front *front, const struct ek_identity_pair *headers,
                            size_t n_headers)
{
    struct ek_proxy_exchange *x = &front->exchange;
    const struct ek_tls_subject *subject = &front->conn->subject;
    char id[96];
    const struct ek_identity_pair extra = {CREDENTIAL_ID, id};
    /* An account that impersonates would need a permission for each UID and each extra field. */
    bool whole = front->proxy->options.policy.mode == EK_IDENTITY_FRONT_PROXY;
    const struct ek_identity_user user = {.name = subject->name,
                                          .uid = whole && subject->uid ? subject->uid : "",
                                          .groups = (const char *const *)subject->groups,
                                          .n_groups = subject->n_groups,
                                          .extra = &extra,
                                          .n_extra = whole && *subject->fingerprint};
    const struct ek_identity_request request = {.version = 11,
                                                .method = x->method,
                                                .authority = "",
                                                .headers = headers,
                                                .n_headers = n_headers,
                                                .user = front->conn->has_subject ? &user : NULL,
                                                .unverified = front->conn->unverified,
                                                .host = HOST,
                                                .remote_ip = front->conn->client->ip};

    snprintf(id, sizeof id, "X509SHA256=%s", subject->fingerprint);
    EK_AUTOPTR(ek_identity_names, ek_identity_names_unref) *names =
        ek_proxy_board_names(front->proxy->config->board);
    struct ek_identity_policy policy = front->proxy->options.policy;
    policy.servers = names;
    int rc = ek_identity_forward(&policy, &request, &x->identity, &x->head);
    if (!rc && !x->identity.refusal.code && judge_certificate(front, &x->identity.refusal) &&
        !put_account(front))
        ek_proxy_answer_set(&x->identity.refusal, 503, 1,
                            "the credentials of the proxy are not known");
    rc = rc ? rc : x->head.failed;
    if (!rc && !x->identity.refusal.code)
        return true;
    if (rc)
        ek_proxy_answer_set(&x->identity.refusal, 431, 0, "the header is too large");
    ek_exchange_answer_ambiguous__(front, &x->identity.refusal);
    return false;
}

bool ek_exchange_is_unaccepted__(const struct ek_proxy_front *front, int status)
{
    return status == 401 && front->exchange.identity.ours &&
           front->proxy->options.policy.mode == EK_IDENTITY_IMPERSONATE;
}

/* The client is not to believe that its certificate is refused. */
void ek_exchange_unaccepted__(struct ek_proxy_front *front)
{
    struct ek_proxy_answer answer = {0};

    ek_log_info_limited(front->proxy->config->log, 5, 60000,
                        "An API server does not accept the credentials of the proxy",
                        EK_S("peer", front->exchange.peer_name));
    front->exchange.relayed = false;
    ek_proxy_answer_set(&answer, 503, 1,
                        "an API server does not accept the credentials of the proxy");
    ek_exchange_answer__(front, &answer);
}
