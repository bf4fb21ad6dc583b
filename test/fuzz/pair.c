/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fuzz/pair.h"

#include <string.h>

#include "api/base/buf.h"
#include "api/obj.h"

#define TEXT_MAX ((size_t)1 << 22)

static yyjson_doc *read_one(struct fuzz_around around, const uint8_t *data, size_t size)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, TEXT_MAX);
    ek_buf_puts(&text, around.before);
    ek_buf_append(&text, data, size);
    ek_buf_puts(&text, around.after);
    return ek_json_parse(text.data, text.len, NULL);
}

bool fuzz_pair_read(const uint8_t *data, size_t size, struct fuzz_around first,
                    struct fuzz_around second, struct fuzz_pair *ret_pair)
{
    const uint8_t *cut = size ? memchr(data, '\n', size) : NULL;

    if (!cut)
        return false;
    size_t len = (size_t)(cut - data);
    struct fuzz_pair pair = {.first = read_one(first, data, len),
                             .second = read_one(second, cut + 1, size - len - 1)};
    if (!pair.first || !pair.second) {
        fuzz_pair_done(&pair);
        return false;
    }
    *ret_pair = pair;
    return true;
}

void fuzz_pair_done(struct fuzz_pair *pair)
{
    yyjson_doc_free(pair->first);
    yyjson_doc_free(pair->second);
}
