/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding: what a reflector takes, list pages and watch frames, and the reading of frames. Lists
 * are read as they come: informers/cache/list_reader.h.
 *
 * Each object becomes an ek_obj of its own, slimmed by ek_obj_from_item, so that neither the list
 * nor the frame stays in memory. List items come without apiVersion and kind; these are filled in.
 * An answer of another kind than requested (a Table, for example) is refused here, so that it can
 * never reach a store. Pure: no I/O.
 */
#ifndef INFORMERS_CACHE_DECODE_H
#define INFORMERS_CACHE_DECODE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/err.h"
#include "api/obj.h"

/* Longest continue token and resourceVersion, in bytes: both go back to the server in a path, which
 * has a maximum. Real ones have a few hundred bytes at most. */
#define EK_CONTINUE_MAX         ((size_t)8192)
#define EK_RESOURCE_VERSION_MAX ((size_t)512)

/* What the objects must be. Borrowed strings. */
struct ek_decode_type {
    const char *api_version; /* "coordination.k8s.io/v1" */
    const char *kind;        /* "Lease" */
    bool metadata_only;      /* objects may also come as PartialObjectMetadata, and stay so */
};

/* A page of a list, or a whole one. */
struct ek_list_page {
    struct ek_obj **items; /* owned array of owned references */
    size_t n;
    char *resource_version; /* owned, "" when absent */
    char *next;             /* metadata.continue, owned; "" on the last page */
};

/* Releases what page holds; it holds zeros afterwards. */
void ek_list_page_done(struct ek_list_page *page);
EK_CLEANUP(ek_list_page, ek_list_page_done)

enum ek_watch_type {
    EK_WATCH_ADDED,
    EK_WATCH_MODIFIED,
    EK_WATCH_DELETED,
    EK_WATCH_BOOKMARK,
    EK_WATCH_ERROR,
    EK_WATCH_UNKNOWN, /* a type of event or object that is to be passed over */
    EK_WATCH_TYPE_MAX,
};

struct ek_watch_frame {
    enum ek_watch_type type;
    struct ek_obj *obj;   /* owned; NULL for EK_WATCH_ERROR and EK_WATCH_UNKNOWN */
    struct ek_err status; /* of EK_WATCH_ERROR: what the Status in it says */
};

/* Decodes one watch frame. Errors: EK_E_PARSE (not JSON, no type, an object without a name),
 * EK_E_LIMIT (depth, a resourceVersion that is too long), EK_E_NOMEM. On success
 * ek_watch_frame_done releases the frame. */
int ek_decode_watch_frame(const char *json, size_t len, const struct ek_decode_type *type,
                          struct ek_watch_frame *ret_frame, struct ek_err *err);
void ek_watch_frame_done(struct ek_watch_frame *frame);
EK_CLEANUP(ek_watch_frame, ek_watch_frame_done)

/* Fills err from a metav1.Status: code by its reason and code, message, retryAfterSeconds. Returns
 * err's code, never 0: what is no Status, or a Status without a code, is EK_E_HTTP. */
int ek_decode_status(yyjson_val *status, struct ek_err *err);

#endif
