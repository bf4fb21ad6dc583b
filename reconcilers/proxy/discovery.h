/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers to requests for discovery from a view: for `evenkeel proxy` (controller/proxy) and for
 * the endpoint of `evenkeel run` (controller/run/discovery_endpoint.h). Which document a request is
 * about, and by which headers it is sent, says negotiate.h.
 *
 * Pure: nothing but memory is read. Threading: one thread at a time for each struct
 * ek_discovery_remade.
 */
#ifndef RECONCILERS_PROXY_DISCOVERY_H
#define RECONCILERS_PROXY_DISCOVERY_H

#include "reconcilers/peers/document.h"
#include "reconcilers/peers/view.h"
#include "reconcilers/proxy/negotiate.h"

/* The document that was indented or made YAML last, by the tag and the form of the compact one, so
 * that clients that want the same one share the work. A zeroed struct has none. */
struct ek_discovery_remade {
    struct ek_document remade;
    char etag[EK_ETAG_SIZE]; /* "" for none */
    enum ek_negotiate_form form;
    bool yaml;
};

void ek_discovery_remade_done(struct ek_discovery_remade *discovery);

/* The document of a choice, borrowed from the view. own: the peer whose document is sent for
 * profile=nopeer; SIZE_MAX: none is chosen. NULL: nobody serves it, or it is not known. */
const struct ek_view_document *
ek_discovery_find(const struct ek_view *view, const struct ek_negotiate_choice *choice, size_t own);

/* True when ek_discovery_reply would first indent the document or write it as YAML, which takes
 * some 40 ms for each MiB. */
bool ek_discovery_must_remake(const struct ek_discovery_remade *discovery,
                              const struct ek_view_document *document,
                              const struct ek_negotiate_choice *choice,
                              const struct ek_negotiate_headers *headers);

/* Does that, for a discovery of which nobody else has the struct; on any thread. False without
 * memory. */
bool ek_discovery_remake(struct ek_discovery_remade *discovery,
                         const struct ek_view_document *document,
                         const struct ek_negotiate_choice *choice);

/* The reply with a document; what it has is borrowed from the document, and from discovery until
 * the next call. False when the document cannot be written as YAML. */
bool ek_discovery_reply(struct ek_discovery_remade *discovery,
                        const struct ek_view_document *document,
                        const struct ek_negotiate_choice *choice,
                        const struct ek_negotiate_headers *headers, struct ek_negotiate_reply *ret);

/* Calls put for each header of the reply, in the order in which they are sent; for all but the
 * length of the body. */
void ek_discovery_each_field(const struct ek_negotiate_reply *reply,
                             void (*put)(void *ctx, const char *name, const char *value),
                             void *ctx);

#endif
