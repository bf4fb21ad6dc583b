/* SPDX-License-Identifier: Apache-2.0 */
/* What tls_context.c and tls_session.c share. */
#ifndef CONTROLLER_TLS_INTERNAL_H
#define CONTROLLER_TLS_INTERNAL_H

#include "controller/tls.h"

/* A reference to the present context, NULL when there is none; released by SSL_CTX_free. */
struct ssl_ctx_st *ek_tls_identity_ref__(struct ek_tls_identity *identity);

/* Sets err to "<what>: <OpenSSL's last reason>" and clears OpenSSL's queue; returns code. */
int ek_tls_fail__(struct ek_err *err, int code, const char *what);

#endif
