/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate authority in memory and serving certificates signed by it, as kubeadm would make
 * them for API servers: for kubernetes, kubernetes.default, kubernetes.default.svc, a hostname and
 * an address. For tests and the demo only. Not thread safe.
 */
#ifndef TEST_APISERVER_PKI_H
#define TEST_APISERVER_PKI_H

#include <stdint.h>

#include "api/base/err.h"
#include "api/base/mem.h"

struct ek_pki;

/* Makes an authority (ECDSA P-256), valid from a day before now_ms for ten years; owned. EK_E_TLS.
 */
int ek_pki_new(int64_t now_ms, struct ek_pki **ret_pki, struct ek_err *err);
void ek_pki_free(struct ek_pki *pki);
EK_CLEANUP_PTR(ek_pki, ek_pki_free)

/* The authority's certificate as PEM, borrowed. */
const char *ek_pki_ca(const struct ek_pki *pki);

/*
 * Signs a serving certificate for host and address (an IP), valid from an hour before from_ms to
 * until_ms. Both results are owned PEM texts. EK_E_TLS.
 */
int ek_pki_sign(struct ek_pki *pki, const char *host, const char *address, int64_t from_ms,
                int64_t until_ms, char **ret_cert, char **ret_key, struct ek_err *err);

#endif
