/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/proxy/egress.h"

#include <stdio.h>
#include <string.h>

#include "controller/http/server.h"
#include "controller/proxy/h1.h"

#define SCHEME "http://"

#define ADDRESS "0123456789abcdefABCDEF.:[]"

struct ek_tunnel {
    char request[256];
    char why[64];
    struct ek_h1 reader; /* of the answer */
};

static bool is_port_0(const char *address)
{
    const char *colon = strrchr(address, ':');
    return colon && strspn(colon + 1, "0") == strlen(colon + 1);
}

int ek_egress_parse(const char *url, struct ek_egress *ret_egress, struct ek_err *err)
{
    const char *address = url + strlen(SCHEME);
    struct ek_err why = {0};

    *ret_egress = (struct ek_egress){0};
    if (strncmp(url, SCHEME, strlen(SCHEME)) != 0)
        return ek_err_set(err, EK_E_INVAL, "not a URL that begins with http://");
    size_t len = strlen(address);
    if (len >= sizeof ret_egress->address || strspn(address, ADDRESS) != len || address[0] == ':' ||
        is_port_0(address) || ek_http_address_parse(address, &ret_egress->addr, &why))
        return ek_err_set(err, EK_E_INVAL, "not an IP address and a port behind http://");
    snprintf(ret_egress->address, sizeof ret_egress->address, "%s", address);
    return 0;
}

struct ek_tunnel *ek_tunnel_new(const char *address)
{
    struct ek_tunnel *tunnel = ek_xalloc(sizeof *tunnel);

    snprintf(tunnel->request, sizeof tunnel->request,
             "CONNECT %.100s HTTP/1.1\r\nHost: %.100s\r\n\r\n", address, address);
    ek_h1_init(&tunnel->reader, EK_H1_RESPONSE, EK_TUNNEL_HEAD_MAX);
    ek_h1_begin(&tunnel->reader, true); /* the body of a 2xx is the tunnel */
    return tunnel;
}

void ek_tunnel_free(struct ek_tunnel *tunnel)
{
    if (!tunnel)
        return;
    ek_h1_done(&tunnel->reader);
    ek_free(tunnel);
}

struct ek_str ek_tunnel_request(const struct ek_tunnel *tunnel)
{
    return ek_str_from(tunnel->request);
}

static void on_body(void *ctx, const char *data, size_t len)
{
    (void)ctx; /* a message without a body */
    (void)data;
    (void)len;
}

static enum ek_tunnel_state end(const char *why, const char **ret_why)
{
    *ret_why = why;
    return EK_TUNNEL_ENDED;
}

enum ek_tunnel_state ek_tunnel_read(struct ek_tunnel *tunnel, const char *data, size_t len,
                                    const char **ret_why)
{
    enum ek_h1_event event;
    size_t used = ek_h1_read(&tunnel->reader, data, len, on_body, NULL, &event);

    if (event == EK_H1_MORE)
        return EK_TUNNEL_WAITS;
    if (event != EK_H1_HEAD)
        return end("the egress proxy sent no answer of HTTP", ret_why);
    if (tunnel->reader.head.status / 100 != 2) {
        snprintf(tunnel->why, sizeof tunnel->why, "the egress proxy answered CONNECT with %d",
                 tunnel->reader.head.status);
        return end(tunnel->why, ret_why);
    }
    if (used < len)
        return end("the egress proxy sent more than its answer", ret_why);
    return EK_TUNNEL_OPEN;
}
