/* SPDX-License-Identifier: Apache-2.0 */
#include "test/bench/corpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/bench/measure.h"

#define CORPUS_MAX       ((size_t)2 << 30)
#define RESOURCE_VERSION 2000000

const struct ek_resource bench_leases = {
    .group = "coordination.k8s.io", .version = "v1", .resource = "leases", .kind = "Lease"};
const struct ek_resource bench_nodes = {
    .group = "", .version = "v1", .resource = "nodes", .kind = "Node"};

const struct ek_resource *bench_resource(const char *name)
{
    if (!strcmp(name, bench_leases.resource))
        return &bench_leases;
    if (!strcmp(name, bench_nodes.resource))
        return &bench_nodes;
    bench_fail("there is no corpus of %s", name);
}

static yyjson_doc *read_recording(const struct ek_resource *resource)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/cluster/%s.json", EK_SHARED_DATA, resource->resource);
    yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);

    if (!doc) {
        fprintf(stderr, "skipped: no recorded objects at %s\n", path);
        exit(77);
    }
    return doc;
}

/* Writes the i-th object, made from a recorded one. */
static void add_item(struct bench_corpus *corpus, yyjson_val *template, size_t i)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *item = yyjson_val_mut_copy(doc, template);
    yyjson_mut_val *meta = yyjson_mut_obj_get(item, "metadata");
    char name[64], uid[64], version[32];
    size_t len;

    snprintf(name, sizeof name, "ip-10-%03zu-%03zu-%03zu.eu-west-1.compute.internal", i >> 16,
             i >> 8 & 255, i & 255);
    snprintf(uid, sizeof uid, "f520a6de-57e8-46ca-9ec1-%012zx", i);
    snprintf(version, sizeof version, "%zu", RESOURCE_VERSION - corpus->n + i);
    yyjson_mut_obj_put(meta, yyjson_mut_str(doc, "name"), yyjson_mut_str(doc, name));
    yyjson_mut_obj_put(meta, yyjson_mut_str(doc, "uid"), yyjson_mut_str(doc, uid));
    yyjson_mut_obj_put(meta, yyjson_mut_str(doc, "resourceVersion"), yyjson_mut_str(doc, version));
    if (corpus->resource == &bench_leases)
        yyjson_mut_obj_put(meta, yyjson_mut_str(doc, "namespace"),
                           yyjson_mut_str(doc, "kube-node-lease"));
    char *text = yyjson_mut_val_write(item, 0, &len);
    ek_buf_append(&corpus->items, text, len);
    ek_buf_puts(&corpus->items, ",");
    free(text);
    yyjson_mut_doc_free(doc);
}

static void put_version(const struct ek_resource *resource, struct ek_buf *out)
{
    ek_buf_printf(out, "%s%s%s", resource->group, *resource->group ? "/" : "", resource->version);
}

void bench_corpus_head(const struct bench_corpus *corpus, const char *next, struct ek_buf *out)
{
    ek_buf_printf(out, "{\"kind\":\"%sList\",\"apiVersion\":\"", corpus->resource->kind);
    put_version(corpus->resource, out);
    ek_buf_printf(out, "\",\"metadata\":{\"resourceVersion\":\"%d\"", RESOURCE_VERSION);
    if (*next)
        ek_buf_printf(out, ",\"continue\":\"%s\"", next);
    ek_buf_puts(out, "},\"items\":[");
}

static void add_frame(struct bench_corpus *corpus, const struct ek_buf *frame)
{
    ek_buf_printf(&corpus->stream, "%zx\r\n", frame->len);
    ek_buf_append(&corpus->stream, frame->data, frame->len);
    ek_buf_puts(&corpus->stream, "\r\n");
}

static void begin_frame(const struct bench_corpus *corpus, const char *type, struct ek_buf *frame)
{
    ek_buf_reset(frame);
    ek_buf_printf(frame, "{\"type\":\"%s\",\"object\":{\"kind\":\"%s\",\"apiVersion\":\"", type,
                  corpus->resource->kind);
    put_version(corpus->resource, frame);
    ek_buf_puts(frame, "\",");
}

static void add_stream(struct bench_corpus *corpus)
{
    EK_AUTO(ek_buf) frame;

    ek_buf_init(&frame, CORPUS_MAX);
    for (size_t i = 0; i < corpus->n; i++) {
        size_t at = corpus->offsets[i], len = corpus->offsets[i + 1] - at - 1;
        begin_frame(corpus, "ADDED", &frame);
        ek_buf_append(&frame, corpus->items.data + at + 1, len - 1);
        ek_buf_puts(&frame, "}\n");
        add_frame(corpus, &frame);
    }
    begin_frame(corpus, "BOOKMARK", &frame);
    ek_buf_printf(&frame,
                  "\"metadata\":{\"resourceVersion\":\"%d\",\"creationTimestamp\":null,"
                  "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
                  RESOURCE_VERSION);
    add_frame(corpus, &frame);
}

void bench_corpus_init(struct bench_corpus *corpus, const struct ek_resource *resource, size_t n)
{
    yyjson_doc *doc = read_recording(resource);
    yyjson_val *items = yyjson_obj_get(yyjson_doc_get_root(doc), "items");
    size_t n_items = yyjson_arr_size(items);

    *corpus = (struct bench_corpus){.resource = resource, .n = n};
    ek_buf_init(&corpus->items, CORPUS_MAX);
    ek_buf_init(&corpus->stream, CORPUS_MAX);
    corpus->offsets = ek_xrealloc(NULL, n + 1, sizeof *corpus->offsets);
    corpus->offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        add_item(corpus, yyjson_arr_get(items, i % n_items), i);
        corpus->offsets[i + 1] = corpus->items.len;
    }
    yyjson_doc_free(doc);
    add_stream(corpus);
    if (corpus->items.failed || corpus->stream.failed)
        bench_fail("no memory for %zu objects", n);
}

void bench_corpus_done(struct bench_corpus *corpus)
{
    ek_buf_done(&corpus->items);
    ek_buf_done(&corpus->stream);
    ek_free(corpus->offsets);
}
