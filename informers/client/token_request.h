/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A short-lived token of another ServiceAccount, by the TokenRequest API. Processes that must not
 * get the token of Evenkeel get this token.
 *
 *   POST /api/v1/namespaces/NAMESPACE/serviceaccounts/NAME/token, spec.expirationSeconds 600 (the
 *   least that API servers grant: kubernetes:pkg/apis/authentication/validation,
 *   ValidateTokenRequest), for the API server's own audiences, bound to no object.
 *
 * Model: ek_token_get returns the token while it is valid. The function requests a new token if
 * there is none, if the token expires within EK_TOKEN_RENEW_MS (the token stays in use meanwhile),
 * or if a server refused the token. After a failure the next request waits for
 * EK_TOKEN_RETRY_MS. How long a token lives is counted from before the request by our own clock, so
 * that clocks may differ. The token is part of no error, and wiped when it is released.
 *
 * Threading: the loop thread.
 */
#ifndef INFORMERS_CLIENT_TOKEN_REQUEST_H
#define INFORMERS_CLIENT_TOKEN_REQUEST_H

#include "informers/client/client.h"
#include "informers/client/credentials.h"

#define EK_TOKEN_LIFE_S   600
#define EK_TOKEN_RENEW_MS INT64_C(120000)
#define EK_TOKEN_RETRY_MS INT64_C(10000)

struct ek_token;

/*
 * Makes a source of tokens of the ServiceAccount name in namespace (both copied; DNS names, as the
 * API has them); requests nothing yet. now is the wall clock in milliseconds. changed is called
 * with ctx from the loop whenever a request has ended, well or not; it must not close the source.
 */
struct ek_token *ek_token_new(struct ek_client *client, const char *namespace, const char *name,
                              int64_t (*now)(void), void (*changed)(void *ctx), void *ctx);

/* Cancels what is under way and releases the source; NULL is fine. Before its client's close. */
void ek_token_free(struct ek_token *token);

/*
 * Gives the token in *ret_text (borrowed until the loop's next turn), requesting what is due.
 * EK_CREDENTIALS_PENDING: the call of changed comes. EK_CREDENTIALS_FAILED: err says why, and what
 * to grant.
 */
enum ek_credentials_state ek_token_get(struct ek_token *token, const char **ret_text,
                                       struct ek_err *err);

/* Reports that a server answered 401 to the current token: the next ek_token_get requests another,
 * unless this one is younger than EK_TOKEN_RETRY_MS. */
void ek_token_refused(struct ek_token *token);

#endif
