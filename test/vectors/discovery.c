/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merged discovery of peers: the merge, the order of names, and the events of Leases. What is read
 * of a peer is in discovery_ingest.c.
 */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/document.h"
#include "reconcilers/peers/lease_event.h"
#include "reconcilers/peers/order.h"
#include "test/vectors/discovery.h"

#define ARENA_MAX    ((size_t)256 << 20)
#define DOCUMENT_MAX ((size_t)64 << 20)

/* ---- discovery-order ---- */

static bool answer_order(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                         yyjson_mut_val *answer)
{
    yyjson_val *lists = yyjson_obj_get(record, "lists"), *list, *name;
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_name_list *input =
        ek_arena_alloc(arena, (yyjson_arr_size(lists) + 1) * sizeof *input);
    yyjson_mut_val *order = yyjson_mut_obj_add_arr(doc, answer, "order");
    size_t i, n, j, m, n_order;

    (void)state;
    yyjson_arr_foreach(lists, i, n, list)
    {
        const char **names = ek_arena_alloc(arena, (yyjson_arr_size(list) + 1) * sizeof *names);
        yyjson_arr_foreach(list, j, m, name) names[j] = yyjson_get_str(name);
        input[i] = (struct ek_name_list){names, yyjson_arr_size(list)};
    }
    const char *const *merged = ek_order_merge(input, yyjson_arr_size(lists), arena, &n_order);
    for (size_t k = 0; k < n_order; k++)
        yyjson_mut_arr_add_strcpy(doc, order, merged[k]);
    ek_arena_free(arena);
    return yyjson_is_arr(lists);
}

const struct ek_vectors_subject ek_vectors_discovery_order = {
    .name = "discovery-order", .options = "", .answer = answer_order};

/* ---- peer-leases ---- */

/* "a = b" as "a" and "b", in text. */
static void split_selector(char *text, struct ek_lease_rule *rule)
{
    char *to = text;

    for (const char *from = text; *from; from++)
        if (*from != ' ')
            *to++ = *from;
    *to = '\0';
    char *equals = strchr(text, '=');
    rule->label = text;
    rule->value = equals ? equals + 1 : "";
    if (equals)
        *equals = '\0';
}

static bool answer_leases(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                          yyjson_mut_val *answer)
{
    yyjson_val *old = yyjson_obj_get(record, "old"), *new = yyjson_obj_get(record, "new");
    const char *self = ek_json_str(record, "self", NULL);
    const char *selector = ek_json_str(record, "selector", NULL);
    struct ek_obj *before = yyjson_is_obj(old) ? ek_obj_from_val(old) : NULL;
    struct ek_obj *after = yyjson_is_obj(new) ? ek_obj_from_val(new) : NULL;
    struct ek_lease_rule rule = {.self = self};

    (void)state;
    if (!self || !selector || (!before && !after))
        return false;
    char *text = ek_xstrdup(selector);
    split_selector(text, &rule);
    yyjson_mut_val *queued = yyjson_mut_obj_add_arr(doc, answer, "queued");
    if (ek_lease_event_matters(&rule, before, after))
        yyjson_mut_arr_add_strcpy(doc, queued, ek_obj_name(after ? after : before));
    ek_obj_unref(before);
    ek_obj_unref(after);
    ek_free(text);
    return true;
}

const struct ek_vectors_subject ek_vectors_peer_leases = {
    .name = "peer-leases", .options = "", .answer = answer_leases};

/* ---- discovery-merge ---- */

struct ek_api_groups *ek_vectors_groups(yyjson_val *list)
{
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(made);
    struct ek_err err = {0};

    yyjson_mut_doc_set_root(made, root);
    yyjson_mut_obj_add_val(made, root, "items", yyjson_val_mut_copy(made, list));
    yyjson_doc *doc = yyjson_mut_doc_imut_copy(made, NULL);
    struct ek_api_groups *groups =
        ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, &err);
    if (!groups)
        fprintf(stderr, "ek-vectors: %s\n", err.message);
    yyjson_doc_free(doc);
    yyjson_mut_doc_free(made);
    return groups;
}

static struct ek_api_groups *read_groups(const char *dir, const char *name)
{
    char *path = ek_xasprintf("%s/%s", dir, name);
    FILE *file = fopen(path, "r");
    char *text = ek_xalloc(DOCUMENT_MAX);
    size_t len = file ? fread(text, 1, DOCUMENT_MAX, file) : 0;
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(text, len, &err);
    struct ek_api_groups *groups =
        doc ? ek_api_groups_read(yyjson_doc_get_root(doc), EK_DISCOVERY_V2, &err) : NULL;

    if (!groups)
        fprintf(stderr, "ek-vectors: %s: %s\n", path, file ? err.message : "cannot be opened");
    if (file)
        fclose(file);
    yyjson_doc_free(doc);
    ek_free(text);
    ek_free(path);
    return groups;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

struct ek_exclusions ek_vectors_exclusions(yyjson_val *list, struct ek_arena *arena)
{
    size_t i, n;
    yyjson_val *item;
    const char **names = ek_arena_alloc(arena, (yyjson_arr_size(list) + 1) * sizeof *names);

    size_t kept = 0;
    yyjson_arr_foreach(list, i, n, item)
    {
        const char *name = yyjson_get_str(item), *slash = strchr(name, '/');
        /* schema.ParseGroupVersion: "/v1" is of the core group. */
        if (!slash || !strchr(slash + 1, '/'))
            names[kept++] = slash == name ? name + 1 : name;
    }
    qsort(names, kept, sizeof *names, by_text);
    return (struct ek_exclusions){names, kept};
}

yyjson_mut_val *ek_vectors_list(yyjson_mut_doc *doc, struct ek_api_list list)
{
    struct ek_buf out;

    list.set = true;
    ek_buf_init(&out, DOCUMENT_MAX);
    ek_api_write_aggregated(&out, &list, NULL);
    yyjson_doc *read = ek_json_parse(ek_buf_str(&out), out.len, NULL);
    yyjson_mut_val *copy =
        yyjson_val_mut_copy(doc, ek_json_get(yyjson_doc_get_root(read), "items", NULL));
    yyjson_doc_free(read);
    ek_buf_done(&out);
    return copy;
}

/* The documents of a case: given, or in files below the data folder. */
struct merge_case {
    const char *dir;
    struct ek_arena *arena;
    struct ek_exclusions exclusions;
    struct ek_api_groups *local;
    struct ek_api_groups **peers; /* n of them, references */
    struct ek_merge_server *servers;
    size_t n;
};

static bool add_peers(struct merge_case *c, yyjson_val *peers, bool files)
{
    size_t i, n, max = c->n + yyjson_obj_size(peers);
    yyjson_val *id, *value;

    c->peers = ek_xrealloc(c->peers, max + 1, sizeof(struct ek_api_groups *));
    c->servers = ek_xrealloc(c->servers, max + 1, sizeof *c->servers);
    ek_json_each_member(peers, i, n, id, value)
    {
        struct ek_api_groups *groups =
            files ? read_groups(c->dir, yyjson_get_str(value)) : ek_vectors_groups(value);
        if (!groups)
            return false;
        c->peers[c->n] = groups;
        c->servers[c->n++] = (struct ek_merge_server){
            yyjson_get_str(id), ek_merge_exclude((struct ek_api_list){0}, groups->list,
                                                 groups->list, &c->exclusions, c->arena)};
    }
    return true;
}

static void add_body(yyjson_mut_doc *doc, yyjson_mut_val *answer, const struct ek_api_list *list)
{
    unsigned char hash[EVP_MAX_MD_SIZE];
    char etag[EK_ETAG_SIZE], hex[65];
    unsigned int size = 0;
    struct ek_buf out;

    ek_buf_init(&out, DOCUMENT_MAX);
    ek_api_write_aggregated(&out, list, NULL);
    ek_document_etag(ek_buf_str(&out), out.len, etag);
    ek_buf_reset(&out);
    ek_api_write_aggregated(&out, list, "v2");
    ek_buf_puts(&out, "\n");
    EVP_Digest(ek_buf_str(&out), out.len, hash, &size, EVP_sha256(), NULL);
    for (unsigned int i = 0; i < 32; i++)
        snprintf(hex + 2 * (size_t)i, 3, "%02x", hash[i]);
    yyjson_mut_obj_add_strncpy(doc, answer, "etag", etag + 1, strlen(etag) - 2);
    yyjson_mut_obj_add_uint(doc, answer, "body_bytes", out.len);
    yyjson_mut_obj_add_strcpy(doc, answer, "body_sha256", hex);
    ek_buf_done(&out);
}

static void *open_merge(char **options, int n)
{
    if (n == 2 && !strcmp(options[0], "--data"))
        return options[1];
    fputs("ek-vectors: discovery-merge needs --data DIR\n", stderr);
    return NULL;
}

static bool answer_merge(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                         yyjson_mut_val *answer)
{
    struct merge_case c = {.dir = state, .arena = ek_arena_new(ARENA_MAX)};
    const char *id = ek_json_str(record, "serverID", NULL);
    const char *file = ek_json_str(record, "local_file", NULL);
    bool good;

    c.exclusions = ek_vectors_exclusions(yyjson_obj_get(record, "exclude"), c.arena);
    c.local = file ? read_groups(c.dir, file) : ek_vectors_groups(yyjson_obj_get(record, "local"));
    good = id && c.local && add_peers(&c, yyjson_obj_get(record, "peers"), false) &&
           add_peers(&c, yyjson_obj_get(record, "peer_files"), true);
    if (good) {
        struct ek_api_list merged = ek_merge_groups(id, c.local->list, c.servers, c.n, c.arena);
        if (ek_arena_exhausted(c.arena)) {
            yyjson_mut_obj_add_str(doc, answer, "error", "the merge takes too much memory");
        } else {
            yyjson_mut_obj_add_val(doc, answer, "merged", ek_vectors_list(doc, merged));
            add_body(doc, answer, &merged);
        }
    }
    ek_api_groups_unref(c.local);
    for (size_t i = 0; i < c.n; i++)
        ek_api_groups_unref(c.peers[i]);
    ek_free(c.peers);
    ek_free(c.servers);
    ek_arena_free(c.arena);
    return good;
}

const struct ek_vectors_subject ek_vectors_discovery_merge = {
    .name = "discovery-merge", .options = "--data DIR", .open = open_merge, .answer = answer_merge};
