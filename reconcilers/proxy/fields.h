/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Header fields by name: what each one means for a proxy (RFC 9110, 7.6; RFC 9112, 6). Names are
 * compared without regard to case. Pure; any thread.
 */
#ifndef RECONCILERS_PROXY_FIELDS_H
#define RECONCILERS_PROXY_FIELDS_H

#include "reconcilers/proxy/identity.h"

enum ek_field_class {
    EK_FIELD_PLAIN, /* passed on */
    EK_FIELD_HOST,
    EK_FIELD_LENGTH, /* Content-Length */
    EK_FIELD_CODING, /* Transfer-Encoding */
    EK_FIELD_CONNECTION,
    EK_FIELD_UPGRADE,
    EK_FIELD_EXPECT,
    EK_FIELD_HOP,         /* of one connection: Keep-Alive, TE, Trailer, HTTP2-Settings, Proxy-* */
    EK_FIELD_IDENTITY,    /* X-Remote-*, and the names of the policy */
    EK_FIELD_IMPERSONATE, /* Impersonate-* */
    EK_FIELD_AUTHORIZATION,
    EK_FIELD_MARKER,
    EK_FIELD_FORWARDED,       /* Forwarded, X-Forwarded-*, X-Real-Ip */
    EK_FIELD_SOCKET_PROTOCOL, /* Sec-WebSocket-Protocol, which may carry a token */
};

enum ek_field_class ek_field_class_of(const struct ek_identity_policy *policy, const char *name);

/* True for a class whose fields only the proxy or the credentials of the client may decide: naming
 * one in "Connection" is an attack, and so is a spelling of its name with "_". */
bool ek_field_is_protected(enum ek_field_class class);

/* True when name is a token, and value holds no control characters. */
bool ek_field_name_is_good(const char *name);
bool ek_field_value_is_good(const char *value);

/* Takes the next element of a comma-separated list off *list, without blanks around it. False at
 * the end; empty elements are skipped. */
bool ek_field_next(struct ek_str *list, struct ek_str *ret);

#endif
