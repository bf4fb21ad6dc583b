/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a kube-apiserver 1.36 keeps of a peer's answers to /api and /apis, by the reader and the
 * filter of the product. Around them stands here what the product does otherwise: it takes v2beta1
 * and plain documents too, and keeps the last good documents of a peer that fails
 * (apiserver/pkg/util/peerproxy/peer_discovery.go:fetchNewDiscoveryFor, aggregateDiscovery).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/yaml.h"
#include "test/vectors/discovery.h"
#include "test/vectors/gojson.h"

#define BODY_MAX  ((size_t)64 << 20)
#define ARENA_MAX ((size_t)256 << 20)
#define SCHEME    "k8s.io/apiserver/pkg/util/peerproxy/peerproxy.go:156"

/* The text of net.SplitHostPort's error, NULL when the address is good. */
static char *address_error(const char *address)
{
    const char *colon = strrchr(address, ':'), *bracket = strchr(address, ']');
    const char *why = NULL;

    if (!colon)
        why = "missing port in address";
    else if (*address == '[' && !bracket)
        why = "missing ']' in address";
    else if (*address == '[' && bracket + 1 != colon)
        why = bracket[1] == ':' ? "too many colons in address" : "missing port in address";
    else if (*address != '[' && strchr(address, ':') != colon)
        why = "too many colons in address";
    if (!why)
        return NULL;
    return *address ? ek_xasprintf("address %s: %s", address, why) : ek_xstrdup(why);
}

/* The struct into which apimachinery reads what a document is, as Go prints it. */
#define META_STRUCT                                                                                \
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "               \
    "\"json:\\\"kind,omitempty\\\"\" }"

/* The text of go-yaml's error for ours: "YAML line L column C: problem while context". Errors of
 * its parser have the line from 0, those of its scanner from 1; the first line has no number
 * (yaml.v2/decode.go:parser.fail). */
static void explain_yaml(struct ek_err *err)
{
    char text[sizeof err->message];
    const char *line_text = strstr(err->message, "YAML line ");
    unsigned long line = line_text ? strtoul(line_text + 10, NULL, 10) : 0;

    snprintf(text, sizeof text, "%s", err->message);
    char *problem = strstr(text, ": "), *context = strstr(text, " while ");
    if (!problem || !line)
        return;
    if (context)
        *context = '\0';
    problem += 2;
    if (!strncmp(problem, "did not find expected", 21))
        line--;
    else if (line == 1)
        line = 0;
    if (line)
        ek_err_set(err, err->code, "yaml: line %lu: %s", line, problem);
    else
        ek_err_set(err, err->code, "yaml: %s", problem);
}

/* The text of encoding/json's error for what is no JSON. */
static void explain_json(const char *body, size_t len, struct ek_err *err)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    EK_AUTO(ek_buf) text;
    const char *number;

    ek_buf_init(&text, BODY_MAX);
    const char *why = gojson_read((struct ek_str){body, len}, &text, arena, &number);
    if (why)
        ek_err_set(err, EK_E_PARSE, "%s", why);
    ek_arena_free(arena);
}

/* JSON begins with a brace; all else is read as YAML
 * (apimachinery/pkg/runtime/serializer/recognizer). */
static yyjson_doc *parse(const char *body, size_t len, struct ek_err *err)
{
    yyjson_doc *doc = NULL;
    size_t blank = strspn(body, " \t\r\n");

    if (blank < len && body[blank] == '{') {
        doc = ek_json_parse(body, len, err);
        if (!doc) {
            explain_json(body, len, err);
            ek_err_prefix(err, "couldn't get version/kind; json parse error");
        }
    } else {
        if (ek_yaml_parse(body, len, BODY_MAX, &doc, err))
            explain_yaml(err);
    }
    return doc;
}

static bool is_one_of(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (!strcmp(s, *list))
            return true;
    return false;
}

/* A member of META_STRUCT, whose name may be written in any case; the last one counts. "" for none.
 */
static const char *meta_member(yyjson_val *root, const char *name, struct ek_err *err)
{
    const char *text = "";
    yyjson_val *key, *value;
    size_t i, n;

    ek_json_each_member(root, i, n, key, value)
    {
        if (strcasecmp(yyjson_get_str(key), name) != 0 || yyjson_is_null(value))
            continue;
        if (yyjson_is_str(value))
            text = yyjson_get_str(value);
        else if (!err->code)
            ek_err_set(err, EK_E_PARSE,
                       "json: cannot unmarshal %s into Go struct field .%s of type string",
                       ek_json_kind(yyjson_get_type(value)), name);
    }
    return text;
}

/* Types that are registered for each version of each group: apimachinery
 * pkg/apis/meta/v1/register.go:AddToGroupVersion, optionsTypes. */
static const char *const common[] = {
    "WatchEvent",    "ListOptions",   "GetOptions",   "DeleteOptions",
    "CreateOptions", "UpdateOptions", "PatchOptions", NULL};

static void check_type(const char *kind, const char *version, struct ek_err *err)
{
    static const char *const plain[] = {"Status",   "APIVersions",     "APIGroupList",
                                        "APIGroup", "APIResourceList", NULL};
    const char *slash = strchr(version, '/');
    bool ours = !strcmp(version, "apidiscovery.k8s.io/v2");

    if (slash && strchr(slash + 1, '/'))
        ek_err_set(err, EK_E_PARSE, "unexpected GroupVersion string: %s", version);
    else if (is_one_of(kind, plain) || (ours && is_one_of(kind, common)))
        ek_err_set(err, EK_E_PARSE,
                   "converting (v1.%s) to (v2.APIGroupDiscoveryList): unknown conversion", kind);
    else if (ours && !strcmp(kind, "APIGroupDiscovery"))
        ek_err_set(err, EK_E_PARSE,
                   "converting (v2.%s) to (v2.APIGroupDiscoveryList): unknown conversion", kind);
    else if (!ours || strcmp(kind, "APIGroupDiscoveryList") != 0)
        ek_err_set(err, EK_E_PARSE,
                   "no kind \"%s\" is registered for version \"%s\" in scheme \"" SCHEME "\"", kind,
                   version);
}

/* Of which type the document is, and whether it is the one that is read
 * (serializer/json/meta.go:SimpleMetaFactory.Interpret). */
static bool is_list(yyjson_val *root, struct ek_err *err)
{
    if (!yyjson_is_obj(root) && !yyjson_is_null(root))
        ek_err_set(err, EK_E_PARSE, "json: cannot unmarshal %s into Go value of type " META_STRUCT,
                   ek_json_kind(yyjson_get_type(root)));
    const char *version = meta_member(root, "apiVersion", err);
    const char *kind = meta_member(root, "kind", err);
    if (err->code)
        ek_err_prefix(err, "couldn't get version/kind; json parse error");
    else
        check_type(*kind ? kind : "APIGroupDiscoveryList",
                   *version ? version : "apidiscovery.k8s.io/v2", err);
    return err->code == 0;
}

static struct ek_api_groups *decode(const char *body, size_t len, struct ek_err *err)
{
    yyjson_doc *doc = parse(body, len, err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct ek_api_groups *groups =
        doc && is_list(root, err) ? ek_api_groups_read(root, EK_DISCOVERY_V2, err) : NULL;

    if (!groups)
        ek_err_prefix(err, "error decoding discovery response");
    yyjson_doc_free(doc);
    return groups;
}

/* The answer to one path: no entry is 404, a failed connection 503. */
static struct ek_api_groups *fetch(yyjson_val *replies, const char *path, struct ek_err *err)
{
    yyjson_val *reply = yyjson_obj_get(replies, path), *body = yyjson_obj_get(reply, "body");
    int status = !reply                           ? 404
                 : yyjson_obj_get(reply, "error") ? 503
                                                  : yyjson_get_int(yyjson_obj_get(reply, "status"));

    if (status == 200)
        return decode(body ? yyjson_get_str(body) : "", yyjson_get_len(body), err);
    ek_err_set(err, EK_E_HTTP, "discovery request failed with status: %d", status);
    return NULL;
}

struct name {
    const char *group, *version, *resource;
};

static int by_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    int c = strcmp(x->group, y->group);

    if (!c)
        c = strcmp(x->version, y->version);
    return c ? c : strcmp(x->resource, y->resource);
}

struct names {
    struct name *items;
    size_t n;
};

static void add_names(struct names *names, const struct ek_api_list *list)
{
    for (size_t g = 0; g < list->n; g++) {
        for (size_t v = 0; v < list->groups[g].n; v++) {
            const struct ek_api_version *version = &list->groups[g].versions[v];
            names->items =
                ek_xrealloc(names->items, names->n + version->n + 1, sizeof *names->items);
            for (size_t r = 0; r < version->n; r++)
                names->items[names->n++] =
                    (struct name){list->groups[g].name, version->name, version->resources[r].name};
        }
    }
}

static void put_names(const struct names *names, const struct ek_exclusions *exclusions,
                      yyjson_mut_doc *doc, yyjson_mut_val *array)
{
    for (size_t i = 0; i < names->n; i++) {
        const struct name *name = &names->items[i];
        if ((i && by_name(name - 1, name) == 0) ||
            ek_exclusions_has(exclusions, name->group, name->version))
            continue;
        char *text = ek_xasprintf("%s%s%s/%s", name->group, *name->group ? "/" : "", name->version,
                                  name->resource);
        yyjson_mut_arr_add_strcpy(doc, array, text);
        ek_free(text);
    }
}

static void put_result(yyjson_mut_doc *doc, yyjson_mut_val *result, struct ek_api_list core,
                       struct ek_api_list groups, const struct ek_exclusions *exclusions,
                       struct ek_arena *arena)
{
    static const struct ek_exclusions none = {0};
    const struct ek_api_list kept = ek_merge_kept(core, groups, arena);
    yyjson_mut_val *before = yyjson_mut_obj_add_arr(doc, result, "groups_before_exclusion");
    struct names names = {0};

    for (size_t g = 0; g < kept.n; g++)
        yyjson_mut_arr_add_strcpy(doc, before, kept.groups[g].name);
    yyjson_mut_obj_add_val(
        doc, result, "groups",
        ek_vectors_list(doc, ek_merge_exclude(core, groups, kept, exclusions, arena)));
    add_names(&names, &core);
    add_names(&names, &groups);
    if (names.n)
        qsort(names.items, names.n, sizeof *names.items, by_name);
    put_names(&names, &none, doc,
              yyjson_mut_obj_add_arr(doc, result, "resources_before_exclusion"));
    put_names(&names, exclusions, doc, yyjson_mut_obj_add_arr(doc, result, "resources"));
    yyjson_mut_obj_add_bool(doc, result, "kept", names.n > 0 || kept.n > 0);
    ek_free(names.items);
}

/* The error of the last path counts alone. */
static void put_error(yyjson_mut_doc *doc, yyjson_mut_val *result, const char *error)
{
    yyjson_mut_obj_add_bool(doc, result, "retry", error != NULL);
    if (error)
        yyjson_mut_obj_add_strcpy(doc, result, "error", error);
}

static bool answer_ingest(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                          yyjson_mut_val *answer)
{
    yyjson_val *replies = yyjson_obj_get(record, "replies");
    const char *address = ek_json_str(record, "address", NULL);
    char *bad = address ? address_error(address) : NULL;
    yyjson_mut_val *result = yyjson_mut_obj_add_obj(doc, answer, "result");
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_exclusions exclusions =
        ek_vectors_exclusions(yyjson_obj_get(record, "exclude"), arena);
    struct ek_err core_err = {0}, err = {0};
    struct ek_api_groups *core = bad ? NULL : fetch(replies, "/api", &core_err);
    struct ek_api_groups *groups = bad ? NULL : fetch(replies, "/apis", &err);

    (void)state;
    put_result(doc, result, core ? core->list : (struct ek_api_list){0},
               groups ? groups->list : (struct ek_api_list){0}, &exclusions, arena);
    if (bad)
        ek_err_set(&err, EK_E_INVAL,
                   "failed to get host port info from identity lease for server peer: %s", bad);
    put_error(doc, result, err.code ? err.message : NULL);
    ek_api_groups_unref(core);
    ek_api_groups_unref(groups);
    ek_arena_free(arena);
    ek_free(bad);
    return yyjson_is_obj(replies);
}

const struct ek_vectors_subject ek_vectors_discovery_ingest = {
    .name = "discovery-ingest", .options = "", .answer = answer_ingest};
