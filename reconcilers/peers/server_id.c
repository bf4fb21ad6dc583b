/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/server_id.h"

#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "api/base/buf.h"

#define HASH_BYTES 16
#define HASH_CHARS 26 /* ceil(16 * 8 / 5) */

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz234567";

static const char *const prefixes[EK_SERVER_ID_FORM_MAX] = {
    [EK_SERVER_ID_NONE] = "",
    [EK_SERVER_ID_1_26] = "kube-apiserver-",
    [EK_SERVER_ID_1_27] = "apiserver-",
};

enum ek_server_id_form ek_server_id_form(const char *name)
{
    for (int form = EK_SERVER_ID_1_26; form < EK_SERVER_ID_FORM_MAX; form++) {
        size_t len = strlen(prefixes[form]);
        if (strncmp(name, prefixes[form], len) != 0)
            continue;
        const char *hash = name + len;
        if (strlen(hash) == HASH_CHARS && strspn(hash, alphabet) == HASH_CHARS)
            return (enum ek_server_id_form)form;
    }
    return EK_SERVER_ID_NONE;
}

/* Base32 of RFC 4648, section 6, in lower case and without padding. */
static void base32(const uint8_t in[HASH_BYTES], char out[HASH_CHARS + 1])
{
    uint32_t bits = 0;
    unsigned n_bits = 0;
    size_t o = 0;

    for (size_t i = 0; i < HASH_BYTES; i++) {
        bits = (bits << 8 | in[i]) & 0xffff;
        n_bits += 8;
        while (n_bits >= 5) {
            n_bits -= 5;
            out[o++] = alphabet[bits >> n_bits & 31];
        }
    }
    out[o++] = alphabet[bits << (5 - n_bits) & 31];
    out[o] = '\0';
}

static void append_framed(struct ek_buf *buf, const char *s)
{
    size_t len = strlen(s);
    uint8_t size[2] = {(uint8_t)(len >> 8), (uint8_t)len};

    ek_buf_append(buf, size, sizeof size);
    ek_buf_append(buf, s, len);
}

const char *ek_server_id_format(enum ek_server_id_form form, const char *hostname,
                                char buf[EK_SERVER_ID_SIZE])
{
    uint8_t digest[EVP_MAX_MD_SIZE];
    char hash[HASH_CHARS + 1];
    EK_AUTO(ek_buf) in;

    buf[0] = '\0';
    ek_buf_init(&in, (size_t)UINT16_MAX + 32);
    if (form == EK_SERVER_ID_NONE || strlen(hostname) > UINT16_MAX)
        return buf;
    if (form == EK_SERVER_ID_1_27) {
        append_framed(&in, hostname);
        append_framed(&in, "kube-apiserver");
    } else {
        ek_buf_puts(&in, hostname);
    }
    if (in.failed || EVP_Digest(ek_buf_str(&in), in.len, digest, NULL, EVP_sha256(), NULL) != 1)
        return buf;
    base32(digest, hash);
    snprintf(buf, EK_SERVER_ID_SIZE, "%s%s", prefixes[form], hash);
    return buf;
}

bool ek_server_id_matches(const char *name, const char *hostname)
{
    char buf[EK_SERVER_ID_SIZE];
    enum ek_server_id_form form = ek_server_id_form(name);

    return form != EK_SERVER_ID_NONE && hostname &&
           strcmp(name, ek_server_id_format(form, hostname, buf)) == 0;
}
