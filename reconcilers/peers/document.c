/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/document.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <zlib.h>

#define GZIP_WINDOW 31 /* 15 bits, with the header of gzip */

void ek_document_etag(const char *data, size_t len, char etag[EK_ETAG_SIZE])
{
    static const char digits[] = "0123456789ABCDEF";
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    char *p = etag;

    if (EVP_Digest(data ? data : "", len, hash, &size, EVP_sha512(), NULL) != 1)
        size = 0;
    *p++ = '"';
    for (unsigned int i = 0; i < size && i < 64; i++) {
        *p++ = digits[hash[i] >> 4];
        *p++ = digits[hash[i] & 15];
    }
    *p++ = '"';
    *p = '\0';
}

/* Without memory, or where it gains nothing, there is no compression. */
static void compress_body(struct ek_document *document)
{
    const struct ek_buf *body = &document->body;
    z_stream z = {0};

    ek_buf_init(&document->gzip, EK_DOCUMENT_MAX);
    if (body->len <= EK_DOCUMENT_GZIP_FROM)
        return;
    if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY))
        return;
    char *out = ek_alloc(body->len);
    if (out) {
        z.next_in = (Bytef *)body->data;
        z.avail_in = (uInt)body->len;
        z.next_out = (Bytef *)out;
        z.avail_out = (uInt)body->len;
        if (deflate(&z, Z_FINISH) == Z_STREAM_END)
            ek_buf_append(&document->gzip, out, z.total_out);
    }
    deflateEnd(&z);
    ek_free(out);
}

void ek_document_make(struct ek_document *document, struct ek_buf *body, const char *etag)
{
    document->body = *body;
    ek_buf_init(body, 0);
    if (etag)
        snprintf(document->etag, sizeof document->etag, "%s", etag);
    else
        ek_document_etag(document->body.data, document->body.len, document->etag);
    compress_body(document);
}

void ek_document_done(struct ek_document *document)
{
    ek_buf_done(&document->body);
    ek_buf_done(&document->gzip);
}
