/* SPDX-License-Identifier: Apache-2.0 */
/* The two documents of the credential plugin protocol; the child process is exec_run.c's. */
#include "informers/client/exec_credential.h"

#include <string.h>

#include "api/base/base64.h"
#include "api/base/line.h"
#include "api/base/time.h"
#include "api/obj.h"

void ek_exec_credential_done(struct ek_exec_credential *credential)
{
    ek_secret_free(credential->token);
    ek_free(credential->cert);
    ek_secret_free(credential->key);
    *credential = (struct ek_exec_credential){.expires_ms = EK_TIME_UNSET};
}

/* A string member of status, owned; NULL where absent or "". */
static int read_member(yyjson_val *status, const char *name, char **ret_text, struct ek_err *err)
{
    yyjson_val *value = yyjson_obj_get(status, name);

    if (!value || yyjson_is_null(value))
        return 0;
    if (!yyjson_is_str(value))
        return ek_err_set(err, EK_E_PARSE, "status.%s is not a string", name);
    if (yyjson_get_len(value))
        *ret_text = ek_xstrdup(yyjson_get_str(value));
    return 0;
}

static int read_expiry(yyjson_val *status, int64_t *ret_ms, struct ek_err *err)
{
    yyjson_val *value = yyjson_obj_get(status, "expirationTimestamp");

    if (!value || yyjson_is_null(value))
        return 0;
    *ret_ms = ek_time_parse(yyjson_get_str(value));
    if (*ret_ms == EK_TIME_UNSET)
        return ek_err_set(err, EK_E_PARSE, "status.expirationTimestamp is not an RFC 3339 time");
    return 0;
}

static int read_status(yyjson_val *status, struct ek_exec_credential *out, struct ek_err *err)
{
    int rc = read_member(status, "token", &out->token, err);

    if (!rc)
        rc = read_member(status, "clientCertificateData", &out->cert, err);
    if (!rc)
        rc = read_member(status, "clientKeyData", &out->key, err);
    if (!rc)
        rc = read_expiry(status, &out->expires_ms, err);
    if (rc)
        return rc;
    if (!out->token && !out->cert && !out->key)
        return ek_err_set(err, EK_E_PARSE, "it holds neither a token nor a certificate with key");
    if (!out->cert != !out->key)
        return ek_err_set(err, EK_E_PARSE, "it holds only one of certificate and key");
    return 0;
}

static int read_document(yyjson_val *root, const char *api_version, struct ek_exec_credential *out,
                         struct ek_err *err)
{
    const char *kind = ek_json_str(root, "kind", NULL);
    const char *version = ek_json_str(root, "apiVersion", NULL);
    yyjson_val *status = ek_json_get(root, "status", NULL);

    if (!kind || strcmp(kind, "ExecCredential") != 0)
        return ek_err_set(err, EK_E_PARSE, "it is not of kind ExecCredential");
    if (!version || strcmp(version, api_version) != 0)
        return ek_err_set(err, EK_E_PARSE, "it has apiVersion %.60s, the kubeconfig requires %s",
                          version ? version : "(none)", api_version);
    if (!yyjson_is_obj(status))
        return ek_err_set(err, EK_E_PARSE, "it has no status");
    return read_status(status, out, err);
}

int ek_exec_credential_parse(const char *json, size_t len, const char *api_version,
                             struct ek_exec_credential *ret_credential, struct ek_err *err)
{
    EK_AUTO(ek_exec_credential) out = {.expires_ms = EK_TIME_UNSET};
    struct ek_err why = {0};
    yyjson_doc *doc = ek_json_parse(json, len, &why);
    int rc;

    if (!doc && why.code == EK_E_NOMEM)
        return ek_err_set(err, EK_E_NOMEM, "no memory for the ExecCredential it printed");
    if (!doc)
        return ek_err_set(err, EK_E_PARSE, "the ExecCredential it printed is not JSON");
    rc = read_document(yyjson_doc_get_root(doc), api_version, &out, err);
    yyjson_doc_free(doc);
    if (rc) {
        ek_err_prefix(err, "the ExecCredential it printed is not usable");
        if (err)
            ek_line_clean(err->message);
        return rc;
    }
    *ret_credential = out;
    out = (struct ek_exec_credential){.expires_ms = EK_TIME_UNSET};
    return 0;
}

static void add_text(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *name,
                     const char *value)
{
    if (value && *value)
        yyjson_mut_obj_add_strcpy(doc, object, name, value);
}

static yyjson_mut_val *cluster_info(yyjson_mut_doc *doc, const struct ek_client_config *config,
                                    const char *ca_pem)
{
    yyjson_mut_val *cluster = yyjson_mut_obj(doc);
    const char *extension = config->exec->cluster_config;

    add_text(doc, cluster, "server", config->server);
    add_text(doc, cluster, "tls-server-name", config->tls_server_name);
    if (config->insecure_skip_tls_verify)
        yyjson_mut_obj_add_bool(doc, cluster, "insecure-skip-tls-verify", true);
    if (ca_pem) {
        EK_AUTOFREE char *encoded = ek_base64_encode(ca_pem, strlen(ca_pem));
        add_text(doc, cluster, "certificate-authority-data", encoded);
    }
    add_text(doc, cluster, "proxy-url", config->proxy_url);
    if (config->disable_compression)
        yyjson_mut_obj_add_bool(doc, cluster, "disable-compression", true);
    /* The kubeconfig's reader wrote it, from YAML whose names are unique: it parses. */
    yyjson_doc *parsed = extension
                             ? yyjson_read_opts((char *)(uintptr_t)extension, strlen(extension),
                                                YYJSON_READ_NOFLAG, &ek_json_xalc, NULL)
                             : NULL;
    if (parsed) {
        yyjson_mut_val *copy = yyjson_val_mut_copy(doc, yyjson_doc_get_root(parsed));
        yyjson_mut_obj_add_val(doc, cluster, "config", copy);
        yyjson_doc_free(parsed);
    }
    return cluster;
}

char *ek_exec_info_format(const struct ek_client_config *config, const char *ca_pem)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *spec = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "kind", "ExecCredential");
    yyjson_mut_obj_add_strcpy(doc, root, "apiVersion", config->exec->api_version);
    if (config->exec->provide_cluster_info)
        yyjson_mut_obj_add_val(doc, spec, "cluster", cluster_info(doc, config, ca_pem));
    yyjson_mut_obj_add_bool(doc, spec, "interactive", false);
    yyjson_mut_obj_add_val(doc, root, "spec", spec);
    char *json = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &ek_json_xalc, NULL, NULL);
    yyjson_mut_doc_free(doc);
    return json ? json : ek_xstrdup("{}");
}
