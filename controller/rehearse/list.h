/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and pages of lists of an API server that is not trusted. Threading: the thread of the loop.
 */
#ifndef CONTROLLER_REHEARSE_LIST_H
#define CONTROLLER_REHEARSE_LIST_H

#include "controller/rehearse/ask.h"
#include "reconcilers/rehearse/view.h"

#define EK_REHEARSE_PAGE      500    /* objects of a page */
#define EK_REHEARSE_PAGES_MAX 100000 /* of a list */

/* Appends the path of an object, "shop/web" or "node-1"; or of the collection of its
 * namespace, of all namespaces for a name without one. */
void ek_rehearse_object_path(struct ek_buf *out, const struct ek_rehearse_type *type,
                             const char *name, bool collection);

/*
 * Requests one page of at most limit objects behind token ("": the first page), of at most max_body
 * octets (0: EK_REHEARSE_BODY_MAX), and waits. Returns the list as a document for the caller to
 * free; NULL with err: as ek_rehearse_ask_one, EK_E_PARSE for an answer that is no list.
 */
yyjson_doc *ek_rehearse_list_page(struct ek_rehearse_ask *ask, struct ek_client *client,
                                  const struct ek_rehearse_type *type, unsigned limit,
                                  const char *token, size_t max_body, struct ek_err *err);

#endif
