/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a catalog's registry sends: a body in two pieces is cut as the whole one is, and each
 * message is read as a bundle and as a package. The first octet of the input says where to cut.
 */
#include "informers/registry/wire.h"
#include "test/fuzz/fuzz.h"

struct seen {
    size_t n, bytes;
};

static bool is_inside(struct ek_str whole, struct ek_str part)
{
    return part.len == 0 || (part.p >= whole.p && part.p + part.len <= whole.p + whole.len);
}

static int on_message(void *ctx, struct ek_str message, struct ek_err *err)
{
    struct seen *seen = ctx;
    struct ek_registry_bundle bundle = {0};
    struct ek_str channel = {0};

    seen->n++;
    seen->bytes += message.len;
    if (!ek_registry_bundle_read(message, &bundle, err)) {
        fuzz_require(is_inside(message, bundle.name) && is_inside(message, bundle.replaces));
        for (size_t i = 0; i < bundle.n_skips; i++)
            fuzz_require(is_inside(message, bundle.skips[i]));
        ek_registry_bundle_done(&bundle);
    }
    fuzz_require(ek_registry_package_read(message, &channel, err) || is_inside(message, channel));
    return 0;
}

static int read_body(struct ek_str body, size_t cut, struct seen *seen, bool *ret_complete)
{
    struct ek_grpc_reader reader;

    ek_grpc_reader_init(&reader);
    int rc = ek_grpc_read(&reader, (struct ek_str){body.p, cut}, on_message, seen, NULL);
    if (!rc)
        rc = ek_grpc_read(&reader, (struct ek_str){body.p + cut, body.len - cut}, on_message, seen,
                          NULL);
    *ret_complete = ek_grpc_is_complete(&reader);
    ek_grpc_reader_done(&reader);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct seen whole = {0}, pieces = {0};
    bool whole_complete, pieces_complete;

    if (size == 0)
        return 0;
    struct ek_str body = {(const char *)data + 1, size - 1};
    int rc = read_body(body, body.len, &whole, &whole_complete);
    fuzz_require(rc ==
                 read_body(body, body.len ? data[0] % body.len : 0, &pieces, &pieces_complete));
    fuzz_require(whole.n == pieces.n && whole.bytes == pieces.bytes);
    fuzz_require(rc || whole_complete == pieces_complete);
    return 0;
}
