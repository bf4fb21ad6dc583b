/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list reader: bytes of a list in, its objects out, as the bytes come.
 *
 * An API server sends a list in one piece when the list is served from its watch cache: a hundred
 * megabytes of a large cluster. The reader makes an object of each item as soon as the item is
 * complete, so that neither the text nor the parsed text of the whole list is ever in memory: what
 * is held is the objects, the text of one item, and the envelope, which is the list without its
 * items (kind and metadata).
 *
 * Model: ek_list_reader_begin, then ek_list_reader_push for each piece of the body, then
 * ek_list_reader_end for the page. Outside of items the reader copies bytes to the envelope, and
 * looks for an array that is the member "items" of the root. Within that array a framer
 * (informers/cache/framer.h) cuts the items. Where an item ends is guessed first: API servers write
 * all items alike, so that an item ends before what the first item began with. The parser confirms
 * a guess: no JSON object is the beginning of another one. An array under a name that is written
 * with escapes stays in the envelope, and its items are read at the end where there is no other. Of
 * two members "items" the last array counts.
 *
 * Errors are those of a list that is not what was requested: see ek_list_reader_push. An error is
 * final until the next begin.
 *
 * Pure: no I/O, no clock. Not thread safe.
 */
#ifndef INFORMERS_CACHE_LIST_READER_H
#define INFORMERS_CACHE_LIST_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "informers/cache/decode.h"
#include "informers/cache/framer.h"

/* Longest separator of items that is learned, in bytes; with longer ones nothing is guessed. */
#define EK_LIST_SEPARATOR_MAX 64

struct ek_list_reader {
    struct ek_decode_type type;     /* borrowed strings */
    struct ek_buf envelope;         /* the list without the items that were taken out of it */
    struct ek_framer framer;        /* the items, and what is left of the piece pushed last */
    struct ek_json_scratch scratch; /* of the item that is parsed */
    struct ek_list_page page;       /* the objects so far; no other member is set */
    size_t cap;                     /* of page.items */
    size_t taken;                   /* bytes pushed so far */
    size_t max;                     /* bytes that a list may have */
    unsigned depth;                 /* open brackets of the envelope */
    bool in_string, escaped;        /* within a string of the envelope; behind its backslash */
    bool in_items;                  /* within the array of items */
    bool streamed;                  /* an array of items has begun */
    bool comma;                     /* behind the comma of two items */
    size_t n_items;                 /* of the array under way */
    size_t last_size;               /* bytes of the last item; 0: none yet */
    unsigned misses;                /* guesses that were wrong */
    size_t separator_size;          /* 0: nothing is guessed */
    char separator[EK_LIST_SEPARATOR_MAX]; /* "},{" and the first member's name */
};

/*
 * Begins a list of at most max bytes, whose items are of type (its strings are borrowed until the
 * end). reader holds zeros, or is one that was begun before, whose content is released. Allocates
 * nothing.
 */
void ek_list_reader_begin(struct ek_list_reader *reader, const struct ek_decode_type *type,
                          size_t max);

/*
 * Takes the next len bytes at data, which are not needed afterwards. Returns 0 or a negative code:
 * EK_E_PARSE (no JSON, an item without a name), EK_E_UNSUPPORTED (an item of another kind),
 * EK_E_LIMIT (a list or an item that is too large or nests too deep), EK_E_NOMEM. err may be NULL.
 */
int ek_list_reader_push(struct ek_list_reader *reader, const char *data, size_t len,
                        struct ek_err *err);

/*
 * Ends the list and moves its objects into *ret_page, which the caller releases with
 * ek_list_page_done. Errors: as those of ek_list_reader_push, EK_E_PARSE also for what is no list,
 * EK_E_UNSUPPORTED also for a Table, EK_E_LIMIT also for a continue token or a resourceVersion
 * that is too long. Releases the reader in either case. err may be NULL.
 */
int ek_list_reader_end(struct ek_list_reader *reader, struct ek_list_page *ret_page,
                       struct ek_err *err);

/* Releases what the reader holds; it holds zeros afterwards and may be begun again. */
void ek_list_reader_done(struct ek_list_reader *reader);

EK_CLEANUP(ek_list_reader, ek_list_reader_done)

#endif
