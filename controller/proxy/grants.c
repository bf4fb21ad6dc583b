/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/grants.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>

#include "api/base/mem.h"

#define PLACES 64

struct grant {
    int64_t until_ms; /* 0: none */
    uint8_t hash[32];
};

struct ek_grants {
    int64_t ttl_ms;
    EVP_MAC_CTX *mac; /* has the key */
    struct grant places[PLACES][EK_GRANTS_OF_CLIENT];
};

static bool set_key(EVP_MAC_CTX *mac)
{
    char digest[] = "SHA256";
    uint8_t key[32];
    const OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end(),
    };

    bool set =
        mac && RAND_bytes(key, sizeof key) == 1 && EVP_MAC_init(mac, key, sizeof key, params) == 1;
    OPENSSL_cleanse(key, sizeof key);
    return set;
}

struct ek_grants *ek_grants_new(int64_t ttl_ms)
{
    if (ttl_ms <= 0)
        return NULL;
    struct ek_grants *grants = ek_xalloc(sizeof *grants);
    EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
    grants->ttl_ms = ttl_ms;
    grants->mac = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
    EVP_MAC_free(hmac);
    if (set_key(grants->mac))
        return grants;
    ek_grants_free(grants);
    return NULL;
}

void ek_grants_free(struct ek_grants *grants)
{
    if (!grants)
        return;
    EVP_MAC_CTX_free(grants->mac);
    ek_free(grants);
}

/* The hash of before and text one after the other. before says where it ends, so that no octet can
 * count as one of the other part. */
static bool hash(struct ek_grants *grants, const void *before, size_t n_before, struct ek_str text,
                 uint8_t ret_hash[32])
{
    size_t len = 0;

    return EVP_MAC_init(grants->mac, NULL, 0, NULL) == 1 &&
           EVP_MAC_update(grants->mac, before, n_before) == 1 &&
           EVP_MAC_update(grants->mac, (const unsigned char *)text.p, text.len) == 1 &&
           EVP_MAC_final(grants->mac, ret_hash, &len, 32) == 1 && len == 32;
}

void ek_grants_key(struct ek_grants *grants, const struct ek_grants_request *request,
                   int64_t now_ms, struct ek_grants_key *ret_key)
{
    /* The place of a client is a hash of its own kind. */
    const uint64_t of_client = 1;
    const uint64_t of_request[] = {2, request->peers, request->ours, ek_str_from(request->ip).len};
    uint8_t before[sizeof of_request + 64], digest[32] = {0};
    size_t n_ip = strlen(request->ip);

    *ret_key = (struct ek_grants_key){0};
    if (!grants || request->head.len > EK_GRANTS_HEAD_MAX ||
        n_ip > sizeof before - sizeof of_request)
        return;
    memcpy(before, of_request, sizeof of_request);
    memcpy(before + sizeof of_request, request->ip, n_ip);
    ret_key->known = hash(grants, &of_client, sizeof of_client, ek_str_from(request->ip), digest) &&
                     hash(grants, before, sizeof of_request + n_ip, request->head, ret_key->hash);
    ret_key->place = digest[0] % PLACES;
    ret_key->until_ms = now_ms + grants->ttl_ms;
}

static bool is_of(const struct grant *grant, const struct ek_grants_key *key)
{
    return memcmp(grant->hash, key->hash, sizeof grant->hash) == 0;
}

bool ek_grants_has(const struct ek_grants *grants, const struct ek_grants_key *key, int64_t now_ms)
{
    if (!grants || !key->known)
        return false;
    for (size_t i = 0; i < EK_GRANTS_OF_CLIENT; i++) {
        const struct grant *grant = &grants->places[key->place][i];
        if (is_of(grant, key))
            return grant->until_ms > now_ms;
    }
    return false;
}

void ek_grants_add(struct ek_grants *grants, const struct ek_grants_key *key, int64_t now_ms)
{
    if (!grants || !key->known || key->until_ms <= now_ms)
        return;
    struct grant *slot = &grants->places[key->place][0];
    for (size_t i = 0; i < EK_GRANTS_OF_CLIENT && !is_of(slot, key); i++) {
        struct grant *grant = &grants->places[key->place][i];
        if (is_of(grant, key) || grant->until_ms < slot->until_ms)
            slot = grant;
    }
    /* The answer to an earlier request may come later. */
    if (is_of(slot, key) && slot->until_ms > key->until_ms)
        return;
    slot->until_ms = key->until_ms;
    memcpy(slot->hash, key->hash, sizeof slot->hash);
}
