/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a catalog's registry sends: gRPC messages, and in them the few fields that an upgrade graph
 * needs.
 *
 * A gRPC body is a sequence of messages, each behind one byte "compressed" and four bytes of length
 * (gRPC over HTTP2, "Length-Prefixed-Message"). The messages are protocol buffers; the numbers of
 * the fields are those of operator-registry, pkg/api/registry.proto. Fields that are not known, or
 * are of another wire type, are passed over; the last value of a field stays. Text that is no UTF-8
 * or contains a NUL makes a message malformed. Pure; one thread.
 */
#ifndef INFORMERS_REGISTRY_WIRE_H
#define INFORMERS_REGISTRY_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"

/* The largest message: the default of grpc-go, with which OLM reads catalogs. */
#define EK_GRPC_MESSAGE_MAX ((size_t)4 << 20)

/* Entries that one bundle may skip. */
#define EK_REGISTRY_SKIPS_MAX 16384

/* Cuts the pieces of a body into messages. */
struct ek_grpc_reader {
    struct ek_buf pending; /* the start of a message, with its prefix */
};

/* Called for each whole message, borrowed. Anything but 0 ends the reading with that code. */
typedef int (*ek_grpc_message_fn)(void *ctx, struct ek_str message, struct ek_err *err);

void ek_grpc_reader_init(struct ek_grpc_reader *reader);
void ek_grpc_reader_done(struct ek_grpc_reader *reader);

/* Takes the next piece. EK_E_UNSUPPORTED for a compressed message, EK_E_LIMIT for one that is
 * larger than EK_GRPC_MESSAGE_MAX, EK_E_PARSE, EK_E_NOMEM, or what fn returned; then nothing more
 * may be given to the reader. */
int ek_grpc_read(struct ek_grpc_reader *reader, struct ek_str piece, ek_grpc_message_fn fn,
                 void *ctx, struct ek_err *err);

/* True when the body may end here: no message is cut off. */
bool ek_grpc_is_complete(const struct ek_grpc_reader *reader);

/* Appends a message of one text field, with its prefix: the requests. An empty value is left out.
 */
void ek_grpc_request(struct ek_buf *out, unsigned field, struct ek_str value);

/* api.Bundle. Strings are borrowed from the message, empty where absent. */
struct ek_registry_bundle {
    struct ek_str name, package, channel, version, skip_range, replaces;
    struct ek_str *skips; /* owned */
    size_t n_skips;
    bool deprecated;  /* has the property olm.deprecated */
    uint64_t content; /* digest of the CSV, the objects and the path of the image, in any order;
                         differs from process to process; 0 where the message has none of them */
};

/* Reads a message into *ret_bundle, which ek_registry_bundle_done releases. EK_E_PARSE; EK_E_LIMIT
 * for too many skips; EK_E_NOMEM. */
int ek_registry_bundle_read(struct ek_str message, struct ek_registry_bundle *ret_bundle,
                            struct ek_err *err);
void ek_registry_bundle_done(struct ek_registry_bundle *bundle);
EK_CLEANUP(ek_registry_bundle, ek_registry_bundle_done)

/* Reads the default channel of an api.Package, borrowed from the message. EK_E_PARSE. */
int ek_registry_package_read(struct ek_str message, struct ek_str *ret_default_channel,
                             struct ek_err *err);

#endif
