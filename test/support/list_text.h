/* SPDX-License-Identifier: Apache-2.0 */
/* A list that is at hand as one text, read as an informer reads one that comes in pieces. */
#ifndef TEST_SUPPORT_LIST_TEXT_H
#define TEST_SUPPORT_LIST_TEXT_H

#include "informers/cache/list_reader.h"

/* Reads the len bytes at json in pieces of size bytes. Result and errors: as ek_list_reader_end. */
static inline int list_text_read_pieces(const char *json, size_t len, size_t size,
                                        const struct ek_decode_type *type,
                                        struct ek_list_page *ret_page, struct ek_err *err)
{
    EK_AUTO(ek_list_reader) reader = {0};
    int rc = 0;

    ek_list_reader_begin(&reader, type, (size_t)64 << 20);
    for (size_t at = 0; at < len && !rc; at += size)
        rc = ek_list_reader_push(&reader, json + at, size < len - at ? size : len - at, err);
    return rc ? rc : ek_list_reader_end(&reader, ret_page, err);
}

/* The same in one piece. */
static inline int list_text_read(const char *json, size_t len, const struct ek_decode_type *type,
                                 struct ek_list_page *ret_page, struct ek_err *err)
{
    return list_text_read_pieces(json, len, len ? len : 1, type, ret_page, err);
}

#endif
