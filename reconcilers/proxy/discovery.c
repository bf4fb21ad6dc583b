/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/proxy/discovery.h"

#include <stdio.h>
#include <string.h>

void ek_discovery_remade_done(struct ek_discovery_remade *discovery)
{
    ek_document_done(&discovery->remade);
    *discovery = (struct ek_discovery_remade){0};
}

const struct ek_view_document *
ek_discovery_find(const struct ek_view *view, const struct ek_negotiate_choice *choice, size_t own)
{
    static const enum ek_view_form forms[] = {[EK_NEGOTIATE_V2] = EK_VIEW_V2,
                                              [EK_NEGOTIATE_V2BETA1] = EK_VIEW_V2BETA1,
                                              [EK_NEGOTIATE_PLAIN] = EK_VIEW_PLAIN};
    enum ek_view_place place = choice->core ? EK_VIEW_API : EK_VIEW_APIS;

    switch (choice->kind) {
    case EK_NEGOTIATE_ROOT:
        if (choice->own)
            return ek_view_own(view, own, place, forms[choice->form]);
        return ek_view_merged(view, place, forms[choice->form]);
    case EK_NEGOTIATE_GROUP:
        return ek_view_group(view, choice->group);
    case EK_NEGOTIATE_RESOURCES:
        return ek_view_resources(view, choice->group, choice->version);
    default:
        return NULL;
    }
}

/* It is made and compressed once, while clients want the same one. */
static bool is_made(const struct ek_discovery_remade *d, const struct ek_view_document *document,
                    const struct ek_negotiate_choice *choice)
{
    return d->form == choice->form && d->yaml == choice->yaml && !strcmp(d->etag, document->etag);
}

bool ek_discovery_must_remake(const struct ek_discovery_remade *discovery,
                              const struct ek_view_document *document,
                              const struct ek_negotiate_choice *choice,
                              const struct ek_negotiate_headers *headers)
{
    const struct ek_negotiate_document given = {document->body, document->gzip, document->etag};
    struct ek_negotiate_reply reply;

    if (!(choice->pretty || choice->yaml) || is_made(discovery, document, choice))
        return false;
    ek_negotiate_reply(choice, headers, &given, &reply);
    return reply.code == 200;
}

bool ek_discovery_remake(struct ek_discovery_remade *d, const struct ek_view_document *document,
                         const struct ek_negotiate_choice *choice)
{
    struct ek_buf out;

    if (is_made(d, document, choice))
        return true;
    ek_discovery_remade_done(d);
    ek_buf_init(&out, EK_DOCUMENT_MAX);
    if (choice->yaml ? ek_negotiate_yaml(document->body, &out)
                     : ek_negotiate_indent(document->body, &out)) {
        ek_buf_done(&out);
        return false;
    }
    ek_document_make(&d->remade, &out, document->etag);
    snprintf(d->etag, sizeof d->etag, "%s", document->etag);
    d->form = choice->form;
    d->yaml = choice->yaml;
    return true;
}

bool ek_discovery_reply(struct ek_discovery_remade *discovery,
                        const struct ek_view_document *document,
                        const struct ek_negotiate_choice *choice,
                        const struct ek_negotiate_headers *headers, struct ek_negotiate_reply *ret)
{
    struct ek_negotiate_document given = {document->body, document->gzip, document->etag};
    const struct ek_document *remade = &discovery->remade;

    ek_negotiate_reply(choice, headers, &given, ret);
    if (!(choice->pretty || choice->yaml) || ret->code != 200)
        return true;
    if (!ek_discovery_remake(discovery, document, choice))
        return !choice->yaml;
    given.body = (struct ek_str){remade->body.data, remade->body.len};
    given.gzip = (struct ek_str){remade->gzip.data, remade->gzip.len};
    ek_negotiate_reply(choice, headers, &given, ret);
    return true;
}

void ek_discovery_each_field(const struct ek_negotiate_reply *reply,
                             void (*put)(void *ctx, const char *name, const char *value), void *ctx)
{
    const char *const fields[][2] = {{"Content-Type", reply->content_type},
                                     {"ETag", reply->etag},
                                     {"Cache-Control", reply->cache_control},
                                     {"Vary", reply->vary[0]},
                                     {"Vary", reply->vary[0] ? reply->vary[1] : NULL},
                                     {"Content-Encoding", reply->content_encoding}};

    for (size_t i = 0; i < EK_ARRAY_SIZE(fields); i++)
        if (fields[i][1])
            put(ctx, fields[i][0], fields[i][1]);
}
