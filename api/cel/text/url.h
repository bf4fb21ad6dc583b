/* SPDX-License-Identifier: Apache-2.0 */
/*
 * URLs as Go's net/url reads and writes them; the url() of Kubernetes' CEL library uses net/url.
 *
 * Texts are borrowed from the text that was parsed, or, where characters had to be unescaped, from
 * the memory that the caller supplies. Unescaped parts may hold any octets. Pure. Not for hosts.
 * Source: Go 1.26, net/url; RFC 3986, RFC 6874.
 */
#ifndef API_CEL_TEXT_URL_H
#define API_CEL_TEXT_URL_H

#include <stdbool.h>

#include "api/base/buf.h"

struct ek_cel_url {
    struct ek_str scheme; /* in small letters */
    struct ek_str opaque; /* what follows "mailto:" */
    struct ek_str user, password;
    struct ek_str host; /* with the port; an address of version 6 in brackets */
    struct ek_str path, raw_path;
    struct ek_str query; /* as written, without "?" */
    struct ek_str fragment, raw_fragment;
    bool has_user, has_password;
    bool force_query; /* "?" with nothing behind it */
    bool omit_host;   /* "scheme:/path" */
};

/* What is wrong with a text: before, then quoted between quotes unless its p is NULL, then after.
 */
struct ek_cel_url_fault {
    const char *before;
    struct ek_str quoted;
    const char *after;
};

/*
 * Reads len octets of valid UTF-8 whose fragment was cut off. With request, only an absolute URL
 * or an absolute path will do. room has len octets and is used up to *ret_used. Returns false with
 * *ret_fault filled.
 */
bool ek_cel_url_parse(const char *s, size_t len, bool request, char *room, size_t *ret_used,
                      struct ek_cel_url *ret, struct ek_cel_url_fault *ret_fault);

/* Adds the fragment (what follows "#"); room has as many octets. */
bool ek_cel_url_set_fragment(struct ek_cel_url *url, struct ek_str fragment, char *room,
                             struct ek_cel_url_fault *ret_fault);

/* host without and port with what follows the last colon, where that is a port. */
void ek_cel_url_split_host(struct ek_str host, struct ek_str *ret_name, struct ek_str *ret_port);

/* The path escaped as it was, or as it must be: raw_path itself, or written to room, which has
 * three times the octets of path. */
struct ek_str ek_cel_url_escaped_path(const struct ek_cel_url *url, char *room);

/* Writes the URL into out and returns its length, at most ek_cel_url_text_max. */
size_t ek_cel_url_text(const struct ek_cel_url *url, char *out);
size_t ek_cel_url_text_max(const struct ek_cel_url *url);

/* Unescapes part of a query ("+" is a space) into room, which has as many octets. False when a
 * percent sign is no escape. */
bool ek_cel_url_unescape_query(struct ek_str s, char *room, struct ek_str *ret);

/* Where octets need no escape. */
enum ek_cel_url_place {
    EK_CEL_URL_PATH = 1,
    EK_CEL_URL_HOST = 2,
    EK_CEL_URL_USER = 4,
    EK_CEL_URL_FRAGMENT = 8,
    EK_CEL_URL_QUERY = 16,
    EK_CEL_URL_ZONE = 32, /* of an address: the same octets as in a host, other escapes */
};

bool ek_cel_url_plain(unsigned char c, enum ek_cel_url_place place);

/* Unescapes s into room (as many octets); false with *ret_fault. */
bool ek_cel_url_unescape(struct ek_str s, enum ek_cel_url_place place, char *room,
                         struct ek_str *ret, struct ek_cel_url_fault *ret_fault);

/* True for an IPv6 address, with a zone or without, embedded IPv4 allowed (Go net/netip). */
bool ek_cel_url_is_ipv6(struct ek_str s);

#endif
