/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document as it is sent: bytes that are encoded and compressed once, with their tag.
 *
 * An ETag is the SHA-512 in upper-case hex, in double quotes
 * (apiserver/pkg/endpoints/discovery/aggregated/etag.go:calculateETag). That of an aggregated
 * document is computed without its kind and apiVersion, so that all forms of one list have one tag;
 * that of a plain document is computed over its bytes.
 *
 * API servers compress answers of more than 128 KiB
 * (apiserver/pkg/endpoints/handlers/responsewriters/writers.go:defaultGzipThresholdBytes). Pure;
 * any thread.
 */
#ifndef RECONCILERS_PEERS_DOCUMENT_H
#define RECONCILERS_PEERS_DOCUMENT_H

#include "api/base/buf.h"

#define EK_DOCUMENT_GZIP_FROM ((size_t)128 * 1024)

/* The bytes of a body, and of its compression, that are made at most. */
#define EK_DOCUMENT_MAX ((size_t)256 * 1024 * 1024)

#define EK_ETAG_SIZE 131 /* 128 digits, two quotes, NUL */

/* Owned. body.data is NULL for a document that could not be made. */
struct ek_document {
    struct ek_buf body, gzip; /* gzip.len 0: not worth it */
    char etag[EK_ETAG_SIZE];
};

/* Writes the tag of len bytes. */
void ek_document_etag(const char *data, size_t len, char etag[EK_ETAG_SIZE]);

/* Takes the body (which must not have failed) and compresses it. etag NULL: that of the body. */
void ek_document_make(struct ek_document *document, struct ek_buf *body, const char *etag);

void ek_document_done(struct ek_document *document);

#endif
