/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/registry/wire.h"

#include <stdint.h>

#include "api/base/hash.h"
#include "api/base/quote.h"

#define PREFIX_SIZE 5

/* Protocol Buffers, "Encoding": wire types. Groups (3 and 4) are not in use and refused. */
enum wire_type { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

/* api.Bundle, api.Property and api.Package. */
enum {
    BUNDLE_NAME = 1,
    BUNDLE_PACKAGE = 2,
    BUNDLE_CHANNEL = 3,
    BUNDLE_CSV = 4,
    BUNDLE_OBJECT = 5,
    BUNDLE_PATH = 6,
    BUNDLE_VERSION = 9,
    BUNDLE_SKIP_RANGE = 10,
    BUNDLE_PROPERTIES = 12,
    BUNDLE_REPLACES = 13,
    BUNDLE_SKIPS = 14,
    PROPERTY_TYPE = 1,
    PACKAGE_DEFAULT_CHANNEL = 3,
};

struct field {
    uint64_t number;
    unsigned type;
    struct ek_str bytes; /* of WIRE_BYTES */
};

static int malformed(struct ek_err *err, const char *what)
{
    return ek_err_set(err, EK_E_PARSE, "the registry sends a malformed message: %s", what);
}

static bool read_varint(struct ek_str *in, uint64_t *ret_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70 && in->len > 0; shift += 7) {
        uint8_t byte = (uint8_t)*in->p;
        *in = (struct ek_str){in->p + 1, in->len - 1};
        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = value;
            return true;
        }
    }
    return false;
}

static bool skip(struct ek_str *in, uint64_t n)
{
    if (n > in->len)
        return false;
    *in = (struct ek_str){in->p + n, in->len - (size_t)n};
    return true;
}

/* Takes a field off *in, which is not empty. */
static bool read_field(struct ek_str *in, struct field *ret_field)
{
    uint64_t key, n;

    if (!read_varint(in, &key) || key >> 3 == 0 || key >> 3 > 536870911)
        return false;
    *ret_field = (struct field){.number = key >> 3, .type = key & 7};
    switch (ret_field->type) {
    case WIRE_VARINT:
        return read_varint(in, &n);
    case WIRE_64:
        return skip(in, 8);
    case WIRE_32:
        return skip(in, 4);
    case WIRE_BYTES:
        if (!read_varint(in, &n) || n > in->len)
            return false;
        ret_field->bytes = (struct ek_str){in->p, (size_t)n};
        return skip(in, n);
    default:
        return false;
    }
}

static bool is_text(struct ek_str s)
{
    unsigned rune;

    while (s.len > 0) {
        size_t len = ek_utf8_decode(s, &rune);
        if (len == 0 || rune == 0)
            return false;
        s = (struct ek_str){s.p + len, s.len - len};
    }
    return true;
}

void ek_grpc_reader_init(struct ek_grpc_reader *reader)
{
    ek_buf_init(&reader->pending, PREFIX_SIZE + EK_GRPC_MESSAGE_MAX);
}

void ek_grpc_reader_done(struct ek_grpc_reader *reader)
{
    ek_buf_done(&reader->pending);
}

/* The length of the message at the start of data, which has a whole prefix. */
static int read_prefix(const char *data, size_t *ret_len, struct ek_err *err)
{
    const uint8_t *p = (const uint8_t *)data;

    *ret_len = (size_t)p[1] << 24 | (size_t)p[2] << 16 | (size_t)p[3] << 8 | p[4];
    if (p[0] == 1)
        return ek_err_set(err, EK_E_UNSUPPORTED, "the registry compresses messages unrequested");
    if (p[0] != 0)
        return malformed(err, "the prefix is none of gRPC");
    if (*ret_len > EK_GRPC_MESSAGE_MAX)
        return ek_err_set(err, EK_E_LIMIT,
                          "the registry sends a message of %zu bytes; OLM takes at most %zu",
                          *ret_len, EK_GRPC_MESSAGE_MAX);
    return 0;
}

int ek_grpc_read(struct ek_grpc_reader *reader, struct ek_str piece, ek_grpc_message_fn fn,
                 void *ctx, struct ek_err *err)
{
    struct ek_buf *pending = &reader->pending;

    for (;;) {
        size_t want = PREFIX_SIZE, len = 0;
        int rc = pending->len < PREFIX_SIZE ? 0 : read_prefix(pending->data, &len, err);
        if (rc)
            return rc;
        want += len;
        size_t n = want - pending->len < piece.len ? want - pending->len : piece.len;
        bool new_prefix = pending->len < PREFIX_SIZE;
        if (n > 0 && ek_buf_append(pending, piece.p, n))
            return ek_err_set(err, EK_E_NOMEM, "out of memory");
        piece = (struct ek_str){n ? piece.p + n : piece.p, piece.len - n};
        if (pending->len < want)
            return 0;
        if (new_prefix) {
            rc = read_prefix(pending->data, &len, err);
            if (rc)
                return rc;
            if (len > 0)
                continue;
        }
        struct ek_str message = {pending->data + PREFIX_SIZE, want - PREFIX_SIZE};
        rc = fn(ctx, message, err);
        if (rc)
            return rc;
        ek_buf_reset(pending);
    }
}

bool ek_grpc_is_complete(const struct ek_grpc_reader *reader)
{
    return reader->pending.len == 0;
}

static size_t put_varint(char *out, uint64_t value)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        out[n++] = (char)(value | 0x80);
    out[n++] = (char)value;
    return n;
}

void ek_grpc_request(struct ek_buf *out, unsigned field, struct ek_str value)
{
    char head[20];
    size_t n = put_varint(head, (uint64_t)field << 3 | WIRE_BYTES);

    n += put_varint(head + n, value.len);
    size_t len = value.len ? n + value.len : 0;
    char prefix[PREFIX_SIZE] = {0, (char)(len >> 24), (char)(len >> 16), (char)(len >> 8),
                                (char)len};
    ek_buf_append(out, prefix, sizeof prefix);
    if (value.len > 0) {
        ek_buf_append(out, head, n);
        ek_buf_append(out, value.p, value.len);
    }
}

static int read_property(struct ek_str message, bool *deprecated, struct ek_err *err)
{
    struct ek_str type = {0};
    struct field field;

    while (message.len > 0) {
        if (!read_field(&message, &field))
            return malformed(err, "a property");
        if (field.number == PROPERTY_TYPE && field.type == WIRE_BYTES)
            type = field.bytes;
    }
    *deprecated = *deprecated || ek_str_eq(type, EK_STR("olm.deprecated"));
    return 0;
}

static int add_skip(struct ek_registry_bundle *bundle, size_t *cap, struct ek_str name,
                    struct ek_err *err)
{
    if (bundle->n_skips == EK_REGISTRY_SKIPS_MAX)
        return ek_err_set(err, EK_E_LIMIT, "a bundle skips more than %d others",
                          EK_REGISTRY_SKIPS_MAX);
    if (bundle->n_skips == *cap) {
        size_t more = *cap ? *cap * 2 : 8;
        struct ek_str *grown = ek_realloc(bundle->skips, more * sizeof *grown);
        if (!grown)
            return ek_err_set(err, EK_E_NOMEM, "out of memory");
        bundle->skips = grown;
        *cap = more;
    }
    bundle->skips[bundle->n_skips++] = name;
    return 0;
}

static struct ek_str *text_slot(struct ek_registry_bundle *bundle, uint64_t number)
{
    switch (number) {
    case BUNDLE_NAME:
        return &bundle->name;
    case BUNDLE_PACKAGE:
        return &bundle->package;
    case BUNDLE_CHANNEL:
        return &bundle->channel;
    case BUNDLE_VERSION:
        return &bundle->version;
    case BUNDLE_SKIP_RANGE:
        return &bundle->skip_range;
    case BUNDLE_REPLACES:
        return &bundle->replaces;
    default:
        return NULL;
    }
}

/* A registry may give the objects in another order each time. */
static void add_content(struct ek_registry_bundle *bundle, const struct field *field)
{
    uint64_t pair[2] = {field->number, ek_hash(field->bytes.p, field->bytes.len)};

    if (field->number >= BUNDLE_CSV && field->number <= BUNDLE_PATH && field->bytes.len)
        bundle->content += ek_hash(pair, sizeof pair);
}

static int read_bundle_field(struct ek_registry_bundle *bundle, size_t *cap,
                             const struct field *field, struct ek_err *err)
{
    struct ek_str *slot = text_slot(bundle, field->number);

    if (field->type != WIRE_BYTES)
        return 0;
    add_content(bundle, field);
    if (field->number == BUNDLE_PROPERTIES)
        return read_property(field->bytes, &bundle->deprecated, err);
    if (!slot && field->number != BUNDLE_SKIPS)
        return 0;
    if (!is_text(field->bytes))
        return malformed(err, "a text that is no UTF-8 or has a NUL");
    if (!slot)
        return add_skip(bundle, cap, field->bytes, err);
    *slot = field->bytes;
    return 0;
}

int ek_registry_bundle_read(struct ek_str message, struct ek_registry_bundle *ret_bundle,
                            struct ek_err *err)
{
    struct ek_registry_bundle bundle = {0};
    size_t cap = 0;
    struct field field;
    int rc = 0;

    while (message.len > 0 && !rc)
        rc = read_field(&message, &field) ? read_bundle_field(&bundle, &cap, &field, err)
                                          : malformed(err, "a bundle");
    if (rc) {
        ek_registry_bundle_done(&bundle);
        return rc;
    }
    *ret_bundle = bundle;
    return 0;
}

void ek_registry_bundle_done(struct ek_registry_bundle *bundle)
{
    ek_free(bundle->skips);
    bundle->skips = NULL;
}

int ek_registry_package_read(struct ek_str message, struct ek_str *ret_default_channel,
                             struct ek_err *err)
{
    struct ek_str channel = {0};
    struct field field;

    while (message.len > 0) {
        if (!read_field(&message, &field))
            return malformed(err, "a package");
        if (field.number == PACKAGE_DEFAULT_CHANNEL && field.type == WIRE_BYTES)
            channel = field.bytes;
    }
    if (!is_text(channel))
        return malformed(err, "a text that is no UTF-8 or has a NUL");
    *ret_default_channel = channel;
    return 0;
}
