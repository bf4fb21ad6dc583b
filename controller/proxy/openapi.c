/* SPDX-License-Identifier: Apache-2.0 */
/* The index of OpenAPI v3: that of one API server, with what the others serve. */
#include "controller/proxy/proxy-internal.h"

bool ek_openapi_begin__(struct ek_proxy_front *front, const struct ek_h1_head *head)
{
    struct ek_proxy_exchange *x = &front->exchange;
    struct ek_proxy_answer answer = {0};

    if (ek_proxy_gather_begin__(front, head))
        return true;
    ek_openapi_document_read(&x->request, &x->document);
    x->indexing = head->framing == EK_H1_EMPTY && ek_openapi_is_index(&x->request);
    if (!x->indexing || ek_view_is_complete(x->view))
        return false;
    ek_proxy_answer_set(&answer, 503, 1,
                        "the discovery documents of an API server are not known yet");
    ek_exchange_answer__(front, &answer);
    return true;
}

void ek_openapi_announce__(struct ek_proxy_front *front)
{
    if (ek_openapi_is_mixed(front->exchange.view))
        ek_relay_announce(front->relay,
                          "Warning: 299 - \"this document is that of one API server; others serve "
                          "further resources\"\r\n");
}

/* Octets are counted before they come. */
enum ek_relay_fate ek_openapi_collect__(struct ek_proxy_front *front, const struct ek_h1_head *head)
{
    uint64_t length = head->framing == EK_H1_LENGTH ? head->length : EK_RELAY_COLLECT_MAX;

    ek_openapi_announce__(front); /* one that is too long, or no index */
    if (length > EK_RELAY_COLLECT_MAX)
        return EK_RELAY_STREAM;
    front->exchange.limit = ek_proxy_count_body__(front, (size_t)length);
    return front->exchange.limit ? EK_RELAY_DISCARD : EK_RELAY_COLLECT;
}

_Static_assert(EK_OPENAPI_INDEX_READ_MAX == EK_RELAY_COLLECT_MAX, "what a relay collects");

bool ek_openapi_answer__(struct ek_proxy_front *front, struct ek_str index)
{
    EK_AUTO(ek_buf) merged;

    ek_buf_init(&merged, EK_OPENAPI_INDEX_MAX);
    bool done = ek_openapi_index(front->exchange.view, index, &merged);
    if (done)
        ek_exchange_answer_document__(front, 200,
                                      EK_STR("Content-Type: application/json\r\n"
                                             "Cache-Control: no-cache, private\r\n"),
                                      (struct ek_str){ek_buf_str(&merged), merged.len});
    return done;
}
