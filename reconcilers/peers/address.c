/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ek_address_ip(const char *s, char buf[EK_ADDRESS_SIZE])
{
    struct in6_addr v6;
    struct in_addr v4;

    buf[0] = '\0';
    if (!s)
        return false;
    if (inet_pton(AF_INET, s, &v4) == 1)
        return inet_ntop(AF_INET, &v4, buf, EK_ADDRESS_SIZE) != NULL;
    if (inet_pton(AF_INET6, s, &v6) != 1)
        return false;
    if (!IN6_IS_ADDR_V4MAPPED(&v6))
        return inet_ntop(AF_INET6, &v6, buf, EK_ADDRESS_SIZE) != NULL;
    memcpy(&v4, v6.s6_addr + 12, sizeof v4);
    return inet_ntop(AF_INET, &v4, buf, EK_ADDRESS_SIZE) != NULL;
}

bool ek_address_join(const char *ip, int64_t port, char buf[EK_ADDRESS_SIZE])
{
    char canonical[EK_ADDRESS_SIZE];

    buf[0] = '\0';
    if (port < 1 || port > 65535 || !ek_address_ip(ip, canonical))
        return false;
    bool v6 = strchr(canonical, ':') != NULL;
    snprintf(buf, EK_ADDRESS_SIZE, v6 ? "[%.46s]:%d" : "%.46s:%d", canonical, (int)port);
    return true;
}

bool ek_address_parse(const char *s, char buf[EK_ADDRESS_SIZE], char ret_ip[EK_ADDRESS_SIZE])
{
    char host[EK_ADDRESS_SIZE];
    const char *colon = s ? strrchr(s, ':') : NULL;

    buf[0] = '\0';
    if (ret_ip)
        ret_ip[0] = '\0';
    if (!colon || strlen(colon + 1) > 5 || strspn(colon + 1, "0123456789") != strlen(colon + 1))
        return false;
    bool v6 = *s == '[';
    size_t len = (size_t)(colon - s);
    if (v6 && (len < 2 || colon[-1] != ']'))
        return false;
    if (v6) {
        s++;
        len -= 2;
    }
    if (len == 0 || len >= sizeof host || (memchr(s, ':', len) != NULL) != v6)
        return false;
    memcpy(host, s, len);
    host[len] = '\0';
    if (!ek_address_join(host, strtol(colon + 1, NULL, 10), buf))
        return false;
    if (ret_ip)
        ek_address_ip(host, ret_ip);
    return true;
}

bool ek_address_is_routable(const char *ip)
{
    struct in6_addr v6;
    struct in_addr v4;

    if (inet_pton(AF_INET, ip, &v4) == 1) {
        uint32_t a = ntohl(v4.s_addr);
        return a >> 24 != 0 && a >> 24 != 127 && a >> 16 != 0xa9fe && a >> 28 < 0xe;
    }
    return inet_pton(AF_INET6, ip, &v6) == 1 && !IN6_IS_ADDR_LOOPBACK(&v6) &&
           !IN6_IS_ADDR_UNSPECIFIED(&v6) && !IN6_IS_ADDR_LINKLOCAL(&v6) &&
           !IN6_IS_ADDR_MULTICAST(&v6);
}

bool ek_address_is_loopback(const char *ip)
{
    return !strncmp(ip, "127.", 4) || !strcmp(ip, "::1");
}
