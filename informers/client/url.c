/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses: the configured server's URL in pieces, "ip:port", and percent-encoding. */
#include <ctype.h>
#include <string.h>

#include "informers/client/client-internal.h"

void server_address_done__(struct server_address *address)
{
    ek_free(address->origin);
    ek_free(address->host_port);
    ek_free(address->host);
    ek_free(address->port);
    ek_free(address->prefix);
    *address = (struct server_address){0};
}

static char *with_scheme(const struct ek_client_config *config)
{
    if (strstr(config->server, "://"))
        return ek_xstrdup(config->server);
    return ek_xasprintf("%s://%s", ek_client_config_uses_tls(config) ? "https" : "http",
                        config->server);
}

/* One part of a parsed URL as an owned string, NULL when it has none. */
static char *url_part(CURLU *url, CURLUPart part, unsigned flags)
{
    char *text = NULL, *copy;

    if (curl_url_get(url, part, &text, flags))
        return NULL;
    copy = ek_xstrdup(text);
    curl_free(text);
    return copy;
}

static bool has_part(CURLU *url, CURLUPart part)
{
    EK_AUTOFREE char *text = url_part(url, part, 0);
    return text != NULL;
}

static int read_parts(CURLU *url, struct server_address *out, const char *shown, struct ek_err *err)
{
    EK_AUTOFREE char *scheme = url_part(url, CURLUPART_SCHEME, 0);
    EK_AUTOFREE char *host = url_part(url, CURLUPART_HOST, 0);
    EK_AUTOFREE char *port = url_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    EK_AUTOFREE char *path = url_part(url, CURLUPART_PATH, 0);
    size_t len = path ? strlen(path) : 0;

    if (!scheme || !host || !port || (strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0))
        return ek_err_set(err, EK_E_INVAL,
                          "the server %.200s is not an http or https URL with a host", shown);
    if (has_part(url, CURLUPART_USER) || has_part(url, CURLUPART_PASSWORD))
        return ek_err_set(err, EK_E_INVAL,
                          "the server's URL must not hold a user name; use the user entry");
    if (has_part(url, CURLUPART_QUERY) || has_part(url, CURLUPART_FRAGMENT))
        return ek_err_set(err, EK_E_INVAL, "the server %.200s must not have a query or fragment",
                          shown);
    while (len && path[len - 1] == '/')
        path[--len] = '\0';
    out->tls = !strcmp(scheme, "https");
    out->host_port = ek_xasprintf("%s:%s", host, port);
    out->origin = ek_xasprintf("%s://%s:%s", scheme, host, port);
    out->host = ek_xstrdup(host);
    out->port = ek_xstrdup(port);
    out->prefix = ek_xstrdup(path ? path : "");
    return 0;
}

int server_address_parse__(const struct ek_client_config *config, struct server_address *ret,
                           struct ek_err *err)
{
    if (!config->server || !*config->server)
        return ek_err_set(err, EK_E_INVAL, "no server is configured");
    EK_AUTOFREE char *text = with_scheme(config);
    CURLU *url = curl_url();
    int rc;

    if (!url || curl_url_set(url, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME)) {
        /* It may hold a password, which is why it is not quoted. */
        rc = ek_err_set(err, EK_E_INVAL, "the configured server is not a URL");
    } else {
        rc = read_parts(url, ret, text, err);
    }
    curl_url_cleanup(url);
    return rc;
}

int host_port_split__(const char *text, char **ret_host, char **ret_port, struct ek_err *err)
{
    const char *colon = strrchr(text, ':');
    size_t host_len = colon ? (size_t)(colon - text) : 0;
    bool bracketed = host_len > 2 && text[0] == '[' && colon[-1] == ']';
    bool good = host_len && strlen(colon + 1) <= 5 && colon[1];

    for (const char *p = colon; good && *++p;)
        good = isdigit((unsigned char)*p);
    for (size_t i = 0; good && i < host_len; i++)
        good = isalnum((unsigned char)text[i]) || strchr(".-_", text[i]) ||
               (bracketed && strchr("[]:%", text[i]));
    if (!good)
        return ek_err_set(err, EK_E_INVAL, "\"%.100s\" is not an address of the form ip:port",
                          text);
    *ret_host = ek_xstrndup(text, host_len);
    *ret_port = ek_xstrdup(colon + 1);
    return 0;
}

int ek_uri_escape(struct ek_buf *out, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        /* Not isalnum: that depends on the locale. */
        bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     strchr("-._~", c);
        int rc = plain ? ek_buf_append(out, s, 1) : ek_buf_printf(out, "%%%02X", c);
        if (rc)
            return rc;
    }
    return 0;
}
