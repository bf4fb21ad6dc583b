/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificates/secret.h"

#include <openssl/crypto.h>
#include <string.h>

#include "api/base/base64.h"
#include "api/base/buf.h"

void ek_cert_secret_done(struct ek_cert_secret *secret)
{
    ek_cert_pair_done(&secret->leaf);
    ek_cert_pair_done(&secret->ca);
    ek_cert_pair_done(&secret->next_ca);
    ek_cert_pair_done(&secret->old_ca);
}

/* ---- The object ---- */

/* The members of data and where they belong. */
struct member {
    const char *name;
    char **text;
};

#define MEMBERS_MAX 7

static void list_members(struct ek_cert_secret *secret, struct member ret[MEMBERS_MAX])
{
    ret[0] = (struct member){"tls.crt", &secret->leaf.cert};
    ret[1] = (struct member){"tls.key", &secret->leaf.key};
    ret[2] = (struct member){"ca.crt", &secret->ca.cert};
    ret[3] = (struct member){"ca.key", &secret->ca.key};
    ret[4] = (struct member){"next-ca.crt", &secret->next_ca.cert};
    ret[5] = (struct member){"next-ca.key", &secret->next_ca.key};
    ret[6] = (struct member){"old-ca.crt", &secret->old_ca.cert};
}

static char *read_text(yyjson_val *data, const char *name)
{
    const char *encoded = ek_json_str(data, name, NULL);
    char *text;
    size_t size;

    if (!encoded || ek_base64_decode(encoded, &text, &size))
        return NULL;
    if (size > 0 && size <= EK_CERT_PEM_MAX && !memchr(text, '\0', size))
        return text;
    OPENSSL_cleanse(text, size);
    ek_free(text);
    return NULL;
}

void ek_cert_secret_read(const struct ek_obj *obj, struct ek_cert_secret *ret_secret)
{
    yyjson_val *data = obj ? yyjson_obj_get(ek_obj_root(obj), "data") : NULL;
    struct member members[MEMBERS_MAX];

    *ret_secret = (struct ek_cert_secret){0};
    list_members(ret_secret, members);
    for (size_t i = 0; i < MEMBERS_MAX; i++)
        *members[i].text = read_text(data, members[i].name);
}

yyjson_mut_val *ek_cert_secret_content(const struct ek_cert_secret *secret, yyjson_mut_doc *doc)
{
    struct ek_cert_secret view = *secret;
    struct member members[MEMBERS_MAX];
    yyjson_mut_val *content = yyjson_mut_obj(doc);
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, content, "metadata");
    yyjson_mut_val *labels = yyjson_mut_obj_add_obj(doc, metadata, "labels");
    yyjson_mut_val *data = yyjson_mut_obj_add_obj(doc, content, "data");

    yyjson_mut_obj_add_str(doc, labels, "app.kubernetes.io/name", "evenkeel");
    yyjson_mut_obj_add_str(doc, labels, "app.kubernetes.io/managed-by", "evenkeel");
    list_members(&view, members);
    for (size_t i = 0; i < MEMBERS_MAX; i++) {
        const char *text = *members[i].text;
        if (!text)
            continue;
        char *encoded = ek_base64_encode(text, strlen(text));
        yyjson_mut_obj_add_strcpy(doc, data, members[i].name, encoded);
        OPENSSL_cleanse(encoded, strlen(encoded));
        ek_free(encoded);
    }
    return content;
}

/* ---- What it means ---- */

void ek_cert_secret_facts(const struct ek_cert_secret *secret, const char *const *names,
                          size_t n_names, struct ek_cert_facts *ret_facts)
{
    const struct ek_cert_pair *leaf = &secret->leaf;
    struct ek_cert_facts facts = {
        .ca = ek_cert_read(secret->ca.cert, secret->ca.key ? secret->ca.key : ""),
        .next_ca =
            ek_cert_read(secret->next_ca.cert, secret->next_ca.key ? secret->next_ca.key : ""),
        .old_ca = ek_cert_read(secret->old_ca.cert, NULL),
        .leaf = ek_cert_read(leaf->cert, leaf->key ? leaf->key : ""),
        .leaf_is_of_ca = ek_cert_is_issued_by(leaf->cert, secret->ca.cert),
    };

    facts.leaf.usable =
        facts.leaf.usable && ek_cert_has_names(leaf->cert, names, n_names) &&
        (facts.leaf_is_of_ca || ek_cert_is_issued_by(leaf->cert, secret->old_ca.cert) ||
         ek_cert_is_issued_by(leaf->cert, secret->next_ca.cert));
    *ret_facts = facts;
}

char *ek_cert_secret_bundle(const struct ek_cert_secret *secret)
{
    const char *const texts[] = {secret->ca.cert, secret->next_ca.cert, secret->old_ca.cert};
    EK_AUTO(ek_buf) bundle;

    ek_buf_init(&bundle, 4 * EK_CERT_PEM_MAX);
    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++) {
        if (!ek_cert_read(texts[i], NULL).present)
            continue;
        ek_buf_puts(&bundle, texts[i]);
        if (texts[i][strlen(texts[i]) - 1] != '\n')
            ek_buf_puts(&bundle, "\n");
    }
    return bundle.len > 0 && !bundle.failed ? ek_buf_steal(&bundle) : NULL;
}

/* ---- Changes ---- */

static void replace(struct ek_cert_pair *slot, struct ek_cert_pair *by)
{
    ek_cert_pair_done(slot);
    *slot = *by;
    *by = (struct ek_cert_pair){0};
}

/* A leaf of ca, which then becomes the authority if it was another. */
static int issue(struct ek_cert_secret *secret, const struct ek_cert_pair *ca,
                 const char *const *names, size_t n_names, int64_t now_ms, struct ek_err *err)
{
    EK_AUTO(ek_cert_pair) leaf = {0};
    int rc = ek_cert_make_leaf(ca, names, n_names, now_ms, &leaf, err);

    if (!rc)
        replace(&secret->leaf, &leaf);
    return rc;
}

static int make_all(struct ek_cert_secret *secret, const char *const *names, size_t n_names,
                    int64_t now_ms, struct ek_err *err)
{
    EK_AUTO(ek_cert_pair) ca = {0};
    int rc = ek_cert_make_ca(now_ms, &ca, err);

    if (!rc)
        rc = issue(secret, &ca, names, n_names, now_ms, err);
    if (rc)
        return rc;
    replace(&secret->ca, &ca);
    ek_cert_pair_done(&secret->next_ca);
    ek_cert_pair_done(&secret->old_ca);
    return 0;
}

static int add_ca(struct ek_cert_secret *secret, int64_t now_ms, struct ek_err *err)
{
    EK_AUTO(ek_cert_pair) ca = {0};
    int rc = ek_cert_make_ca(now_ms, &ca, err);

    if (!rc)
        replace(&secret->next_ca, &ca);
    return rc;
}

static int switch_ca(struct ek_cert_secret *secret, const char *const *names, size_t n_names,
                     int64_t now_ms, struct ek_err *err)
{
    int rc = issue(secret, &secret->next_ca, names, n_names, now_ms, err);

    if (rc)
        return rc;
    replace(&secret->old_ca, &secret->ca);
    replace(&secret->ca, &secret->next_ca);
    if (secret->old_ca.key) /* it signs nothing any more */
        OPENSSL_cleanse(secret->old_ca.key, strlen(secret->old_ca.key));
    ek_free(secret->old_ca.key);
    secret->old_ca.key = NULL;
    return 0;
}

int ek_cert_secret_change(struct ek_cert_secret *secret, enum ek_cert_intent intent,
                          const char *const *names, size_t n_names, int64_t now_ms,
                          struct ek_err *err)
{
    switch (intent) {
    case EK_CERT_MAKE_ALL:
        return make_all(secret, names, n_names, now_ms, err);
    case EK_CERT_MAKE_LEAF:
        return issue(secret, &secret->ca, names, n_names, now_ms, err);
    case EK_CERT_ADD_CA:
        return add_ca(secret, now_ms, err);
    case EK_CERT_SWITCH_CA:
        return switch_ca(secret, names, n_names, now_ms, err);
    case EK_CERT_DROP_CA:
        ek_cert_pair_done(&secret->old_ca);
        return 0;
    case EK_CERT_NOTHING:
    case EK_CERT_RESTORE:
    case EK_CERT_INTENT_MAX:
        break;
    }
    return 0;
}
