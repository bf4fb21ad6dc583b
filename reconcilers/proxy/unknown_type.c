/* SPDX-License-Identifier: Apache-2.0 */
/* ek_route_is_unknown_type and ek_route_is_refusal: answers in the forms in which API servers write
 * them. */
#include <string.h>

#include "api/media_type.h"
#include "api/obj.h"
#include "reconcilers/proxy/route.h"

static bool is_plain(struct ek_str body, const char *text)
{
    while (body.len && body.p[body.len - 1] == '\n')
        body.len--;
    return ek_str_eq(body, ek_str_from(text));
}

static bool is_json(struct ek_str body)
{
    yyjson_doc *doc = ek_json_parse(body.p, body.len, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *kind = ek_json_str(root, "kind", NULL);
    const char *reason = ek_json_str(root, "reason", NULL);
    const char *of = ek_json_str(root, "details", "kind", NULL);
    bool unknown =
        kind && !strcmp(kind, "Status") && reason && !strcmp(reason, "NotFound") && !(of && *of);

    yyjson_doc_free(doc);
    return unknown;
}

/* ---- Protobuf: apimachinery, pkg/runtime/generated.proto and pkg/apis/meta/v1/generated.proto
 * ----
 */

#define WIRE_VARINT 0
#define WIRE_64     1
#define WIRE_BYTES  2
#define WIRE_32     5

static bool take_varint(struct ek_str *in, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; in->len && shift < 64; shift += 7) {
        unsigned char c = (unsigned char)*in->p++;
        in->len--;
        *ret |= (uint64_t)(c & 0x7f) << shift;
        if (!(c & 0x80))
            return true;
    }
    return false;
}

static bool skip(struct ek_str *in, uint64_t n)
{
    if (n > in->len)
        return false;
    in->p += n;
    in->len -= (size_t)n;
    return true;
}

/* The last field of that number with bytes in a message, as protobuf has it. False when message is
 * none; *ret is empty when there is no such field. */
static bool field_of(struct ek_str message, uint64_t number, struct ek_str *ret)
{
    uint64_t tag, n;

    *ret = (struct ek_str){"", 0};
    while (message.len) {
        if (!take_varint(&message, &tag))
            return false;
        switch (tag & 7) {
        case WIRE_VARINT:
            if (!take_varint(&message, &n))
                return false;
            break;
        case WIRE_BYTES:
            if (!take_varint(&message, &n) || n > message.len)
                return false;
            if (tag >> 3 == number)
                *ret = (struct ek_str){message.p, (size_t)n};
            if (!skip(&message, n))
                return false;
            break;
        case WIRE_64:
        case WIRE_32:
            if (!skip(&message, (tag & 7) == WIRE_64 ? 8 : 4))
                return false;
            break;
        default:
            return false;
        }
    }
    return true;
}

/* The Status in a body; false when that has none. Unknown: typeMeta 1 (kind 2), raw 2. */
static bool status_of(struct ek_str body, struct ek_str *ret)
{
    static const struct ek_str magic = {"k8s\0", 4};
    struct ek_str type, kind;

    if (body.len < magic.len || memcmp(body.p, magic.p, magic.len) != 0)
        return false;
    struct ek_str unknown = {body.p + magic.len, body.len - magic.len};
    return field_of(unknown, 1, &type) && field_of(type, 2, &kind) &&
           ek_str_eq(kind, EK_STR("Status")) && field_of(unknown, 2, ret);
}

/* Status: reason 4, details 5 (kind 3). */
static bool is_protobuf(struct ek_str body)
{
    struct ek_str status, reason, details, of;

    return status_of(body, &status) && field_of(status, 4, &reason) &&
           ek_str_eq(reason, EK_STR("NotFound")) && field_of(status, 5, &details) &&
           field_of(details, 3, &of) && of.len == 0;
}

bool ek_route_is_unknown_type(const struct ek_proxy_request *request, const char *content_type,
                              struct ek_str body)
{
    if (!request->is_resource || request->has_tail || body.len > EK_ROUTE_HELD_MAX)
        return false;
    if (ek_media_type_is(content_type, "text/plain"))
        return is_plain(body, "404 page not found");
    if (ek_media_type_is(content_type, "application/json"))
        return is_json(body);
    return ek_media_type_is(content_type, "application/vnd.kubernetes.protobuf") &&
           is_protobuf(body);
}

/* ---- Refusals ---- */

static const char *const refusals[] = {
    "apiserver is shutting down",
    "the request has been made before all known HTTP paths have been installed, please try again",
    "apiserver not ready",
};

static bool is_refusal(struct ek_str message)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(refusals); i++)
        if (ek_str_eq(message, ek_str_from(refusals[i])))
            return true;
    return false;
}

static bool json_refuses(struct ek_str body)
{
    yyjson_doc *doc = ek_json_parse(body.p, body.len, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *kind = ek_json_str(root, "kind", NULL);
    const char *message = ek_json_str(root, "message", NULL);
    bool refuses = kind && !strcmp(kind, "Status") && message && is_refusal(ek_str_from(message));

    yyjson_doc_free(doc);
    return refuses;
}

bool ek_route_is_refusal(const struct ek_proxy_request *request, int status,
                         const char *content_type, struct ek_str body)
{
    struct ek_str failure, message;

    if (request->has_tail || body.len > EK_ROUTE_HELD_MAX)
        return false;
    if (status == 429)
        return ek_media_type_is(content_type, "text/plain") &&
               is_plain(body, "The apiserver is shutting down, please try again later.");
    if (status != 503)
        return false;
    if (ek_media_type_is(content_type, "application/json"))
        return json_refuses(body);
    /* Status: message 3. */
    return ek_media_type_is(content_type, "application/vnd.kubernetes.protobuf") &&
           status_of(body, &failure) && field_of(failure, 3, &message) && is_refusal(message);
}
