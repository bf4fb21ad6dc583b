/* SPDX-License-Identifier: Apache-2.0 */
#include "api/groups.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "api/groups-internal.h"

/* The count lives before the public part, so that readers cannot touch it. */
struct counted {
    atomic_uint refs;
    struct ek_arena *arena;
    struct ek_api_groups groups;
};

static struct counted *counted_of(const struct ek_api_groups *groups)
{
    return (struct counted *)((uintptr_t)groups - offsetof(struct counted, groups));
}

struct ek_api_groups *ek_api_groups_new(struct ek_arena *arena, struct ek_api_list list,
                                        enum ek_discovery_form form)
{
    struct counted *c = ek_xalloc(sizeof *c);

    atomic_init(&c->refs, 1);
    c->arena = arena;
    c->groups = (struct ek_api_groups){.list = list, .form = form, .size = ek_arena_used(arena)};
    return &c->groups;
}

struct ek_api_groups *ek_api_groups_ref(const struct ek_api_groups *groups)
{
    if (!groups)
        return NULL;
    struct counted *c = counted_of(groups);
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return &c->groups;
}

void ek_api_groups_unref(struct ek_api_groups *groups)
{
    if (!groups)
        return;
    struct counted *c = counted_of(groups);
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    ek_arena_free(c->arena);
    ek_free(c);
}

void *ek_api_take(struct ek_api_reader *reader, size_t n, size_t size)
{
    void *p = n <= EK_API_GROUPS_MAX / size ? ek_arena_try(reader->arena, n * size) : NULL;

    if (p)
        memset(p, 0, n * size);
    else if (!reader->err->code && n <= EK_API_GROUPS_MAX / size &&
             n * size <= EK_API_GROUPS_MAX - ek_arena_used(reader->arena))
        ek_err_set(reader->err, EK_E_NOMEM, "no memory is available for the discovery document");
    else if (!reader->err->code)
        ek_err_set(reader->err, EK_E_LIMIT, "the discovery document is too large");
    return p;
}

/* The text of encoding/json, decode.go:UnmarshalTypeError.Error. */
static void wrong_type(struct ek_api_reader *reader, yyjson_val *value, struct ek_api_place place,
                       const char *go_type)
{
    if (reader->err->code)
        return;
    if (*place.path)
        ek_err_set(reader->err, EK_E_PARSE,
                   "json: cannot unmarshal %s into Go struct field %s.%s of type %s",
                   ek_json_kind(yyjson_get_type(value)), place.type, place.path, go_type);
    else
        ek_err_set(reader->err, EK_E_PARSE, "json: cannot unmarshal %s into Go value of type %s",
                   ek_json_kind(yyjson_get_type(value)), go_type);
}

/* True for an object; an absent and a null value are none, anything else is an error. */
static bool read_object(struct ek_api_reader *reader, yyjson_val *value, struct ek_api_place place,
                        const char *go_type)
{
    if (yyjson_is_obj(value))
        return true;
    if (value && !yyjson_is_null(value))
        wrong_type(reader, value, place, go_type);
    return false;
}

/* True for an array; as above. */
static bool read_array(struct ek_api_reader *reader, yyjson_val *value, struct ek_api_place place,
                       const char *go_type)
{
    if (yyjson_is_arr(value))
        return true;
    if (value && !yyjson_is_null(value))
        wrong_type(reader, value, place, go_type);
    return false;
}

/* A string, of a Go type of its own. */
static const char *read_text(struct ek_api_reader *reader, yyjson_val *value,
                             struct ek_api_place place, const char *go_type)
{
    size_t len = yyjson_get_len(value);

    if (!value || yyjson_is_null(value))
        return "";
    if (!yyjson_is_str(value)) {
        wrong_type(reader, value, place, go_type);
        return "";
    }
    /* No name has one, and what is behind would be lost. */
    if (memchr(yyjson_get_str(value), '\0', len)) {
        if (!reader->err->code)
            ek_err_set(reader->err, EK_E_PARSE, "%s contains a NUL character", place.path);
        return "";
    }
    char *copy = ek_api_take(reader, len + 1, 1);
    if (!copy)
        return "";
    memcpy(copy, yyjson_get_str(value), len);
    return copy;
}

const char *ek_api_read_string(struct ek_api_reader *reader, yyjson_val *value,
                               struct ek_api_place place)
{
    return read_text(reader, value, place, "string");
}

struct ek_api_names ek_api_read_names(struct ek_api_reader *reader, yyjson_val *value,
                                      struct ek_api_place place)
{
    struct ek_api_names names = {0};
    yyjson_val *item;
    size_t i, n;

    if (!read_array(reader, value, place, "[]string"))
        return names;
    const char **items = ek_api_take(reader, yyjson_arr_size(value) + 1, sizeof *items);
    if (!items)
        return names;
    yyjson_arr_foreach(value, i, n, item) items[i] = ek_api_read_string(reader, item, place);
    return (struct ek_api_names){.items = items, .n = n, .set = true};
}

static void read_kind(struct ek_api_reader *reader, yyjson_val *value, const char *const paths[3],
                      struct ek_api_kind *ret_kind)
{
    const char *type = "GroupVersionKind";

    ret_kind->group = ek_api_read_string(reader, yyjson_obj_get(value, "group"),
                                         (struct ek_api_place){type, paths[0]});
    ret_kind->version = ek_api_read_string(reader, yyjson_obj_get(value, "version"),
                                           (struct ek_api_place){type, paths[1]});
    ret_kind->kind = ek_api_read_string(reader, yyjson_obj_get(value, "kind"),
                                        (struct ek_api_place){type, paths[2]});
}

#define R "items.versions.resources."
#define S R "subresources."

static const char *const resource_kind[] = {R "responseKind.group", R "responseKind.version",
                                            R "responseKind.kind"};
static const char *const sub_kind[] = {S "responseKind.group", S "responseKind.version",
                                       S "responseKind.kind"};
static const char *const accepted_kind[] = {S "acceptedTypes.group", S "acceptedTypes.version",
                                            S "acceptedTypes.kind"};

static const struct ek_api_kind *read_response_kind(struct ek_api_reader *reader, yyjson_val *value,
                                                    struct ek_api_place place,
                                                    const char *const paths[3])
{
    if (!read_object(reader, value, place, "v1.GroupVersionKind"))
        return NULL;
    struct ek_api_kind *kind = ek_api_take(reader, 1, sizeof *kind);
    if (kind)
        read_kind(reader, value, paths, kind);
    return kind;
}

static struct ek_api_kinds read_accepted(struct ek_api_reader *reader, yyjson_val *value)
{
    static const struct ek_api_place place = {"APISubresourceDiscovery", S "acceptedTypes"};
    yyjson_val *item;
    size_t i, n;

    if (!read_array(reader, value, place, "[]v1.GroupVersionKind"))
        return (struct ek_api_kinds){0};
    struct ek_api_kind *items = ek_api_take(reader, yyjson_arr_size(value) + 1, sizeof *items);
    if (!items)
        return (struct ek_api_kinds){0};
    yyjson_arr_foreach(value, i, n, item)
    {
        read_object(reader, item, place, "v1.GroupVersionKind");
        read_kind(reader, item, accepted_kind, &items[i]);
    }
    return (struct ek_api_kinds){.items = items, .n = n, .set = true};
}

static void read_subresource(struct ek_api_reader *reader, yyjson_val *value,
                             struct ek_api_subresource *ret_sub)
{
    static const char type[] = "APISubresourceDiscovery";

    read_object(reader, value, (struct ek_api_place){"APIResourceDiscovery", R "subresources"},
                "v2.APISubresourceDiscovery");
    ret_sub->name = ek_api_read_string(reader, yyjson_obj_get(value, "subresource"),
                                       (struct ek_api_place){type, S "subresource"});
    ret_sub->kind = read_response_kind(reader, yyjson_obj_get(value, "responseKind"),
                                       (struct ek_api_place){type, S "responseKind"}, sub_kind);
    ret_sub->accepted = read_accepted(reader, yyjson_obj_get(value, "acceptedTypes"));
    ret_sub->verbs = ek_api_read_names(reader, yyjson_obj_get(value, "verbs"),
                                       (struct ek_api_place){type, S "verbs"});
}

static struct ek_api_subresources read_subresources(struct ek_api_reader *reader, yyjson_val *value)
{
    static const struct ek_api_place place = {"APIResourceDiscovery", R "subresources"};
    yyjson_val *item;
    size_t i, n;

    if (!read_array(reader, value, place, "[]v2.APISubresourceDiscovery"))
        return (struct ek_api_subresources){0};
    struct ek_api_subresource *items =
        ek_api_take(reader, yyjson_arr_size(value) + 1, sizeof *items);
    if (!items)
        return (struct ek_api_subresources){0};
    yyjson_arr_foreach(value, i, n, item) read_subresource(reader, item, &items[i]);
    return (struct ek_api_subresources){.items = items, .n = n, .set = true};
}

static void read_resource(struct ek_api_reader *reader, yyjson_val *value,
                          struct ek_api_resource *ret_resource)
{
    static const char type[] = "APIResourceDiscovery";

    read_object(reader, value,
                (struct ek_api_place){"APIVersionDiscovery", "items.versions.resources"},
                "v2.APIResourceDiscovery");
    ret_resource->name = ek_api_read_string(reader, yyjson_obj_get(value, "resource"),
                                            (struct ek_api_place){type, R "resource"});
    ret_resource->kind =
        read_response_kind(reader, yyjson_obj_get(value, "responseKind"),
                           (struct ek_api_place){type, R "responseKind"}, resource_kind);
    ret_resource->scope = read_text(reader, yyjson_obj_get(value, "scope"),
                                    (struct ek_api_place){type, R "scope"}, "v2.ResourceScope");
    ret_resource->singular = ek_api_read_string(reader, yyjson_obj_get(value, "singularResource"),
                                                (struct ek_api_place){type, R "singularResource"});
    ret_resource->verbs = ek_api_read_names(reader, yyjson_obj_get(value, "verbs"),
                                            (struct ek_api_place){type, R "verbs"});
    ret_resource->short_names = ek_api_read_names(reader, yyjson_obj_get(value, "shortNames"),
                                                  (struct ek_api_place){type, R "shortNames"});
    ret_resource->categories = ek_api_read_names(reader, yyjson_obj_get(value, "categories"),
                                                 (struct ek_api_place){type, R "categories"});
    ret_resource->subresources = read_subresources(reader, yyjson_obj_get(value, "subresources"));
}

static void read_version(struct ek_api_reader *reader, yyjson_val *value,
                         struct ek_api_version *ret_version)
{
    static const char type[] = "APIVersionDiscovery";
    yyjson_val *resources = yyjson_obj_get(value, "resources"), *item;
    size_t i, n;

    read_object(reader, value, (struct ek_api_place){"APIGroupDiscovery", "items.versions"},
                "v2.APIVersionDiscovery");
    ret_version->name = ek_api_read_string(reader, yyjson_obj_get(value, "version"),
                                           (struct ek_api_place){type, "items.versions.version"});
    ret_version->freshness =
        read_text(reader, yyjson_obj_get(value, "freshness"),
                  (struct ek_api_place){type, "items.versions.freshness"}, "v2.DiscoveryFreshness");
    if (!read_array(reader, resources, (struct ek_api_place){type, "items.versions.resources"},
                    "[]v2.APIResourceDiscovery"))
        return;
    struct ek_api_resource *items =
        ek_api_take(reader, yyjson_arr_size(resources) + 1, sizeof *items);
    if (!items)
        return;
    yyjson_arr_foreach(resources, i, n, item) read_resource(reader, item, &items[i]);
    ret_version->resources = items;
    ret_version->n = n;
    ret_version->set = true;
}

/* How a member of metadata is written. */
enum meta_form {
    META_TEXT,
    META_NUMBER,
    META_SOME_NUMBER, /* a pointer: 0 is written */
    META_TIME,
    META_MAP,
    META_LIST,
};

/* The members of metav1.ObjectMeta in their order; lists of structs (ownerReferences,
 * managedFields) are in no discovery document and are left out. */
static const struct {
    const char *name, *path;
    enum meta_form form;
    const char *go_type;
} meta_members[] = {
#define MEMBER(name, form, go_type)                                                                \
    {                                                                                              \
        name, "items.metadata." name, form, go_type                                                \
    }
    MEMBER("name", META_TEXT, "string"),
    MEMBER("generateName", META_TEXT, "string"),
    MEMBER("namespace", META_TEXT, "string"),
    MEMBER("selfLink", META_TEXT, "string"),
    MEMBER("uid", META_TEXT, "types.UID"),
    MEMBER("resourceVersion", META_TEXT, "string"),
    MEMBER("generation", META_NUMBER, "int64"),
    MEMBER("creationTimestamp", META_TIME, "string"),
    MEMBER("deletionTimestamp", META_TIME, "string"),
    MEMBER("deletionGracePeriodSeconds", META_SOME_NUMBER, "int64"),
    MEMBER("labels", META_MAP, "map[string]string"),
    MEMBER("annotations", META_MAP, "map[string]string"),
    MEMBER("finalizers", META_LIST, "[]string"),
#undef MEMBER
};

static int by_key(const void *a, const void *b)
{
    yyjson_val *const *x = a, *const *y = b;
    return strcmp(yyjson_get_str(*x), yyjson_get_str(*y));
}

/* A map as Go writes it, by key. */
static void write_map(struct ek_buf *out, yyjson_val *map)
{
    size_t i, n, n_keys = 0;
    yyjson_val *key, *value;
    yyjson_val **keys = ek_xalloc((yyjson_obj_size(map) + 1) * sizeof(yyjson_val *));

    ek_json_each_member(map, i, n, key, value) keys[n_keys++] = key;
    qsort(keys, n_keys, sizeof(yyjson_val *), by_key);
    ek_buf_puts(out, "{");
    for (size_t k = 0; k < n_keys; k++) {
        const char *text = yyjson_get_str(unsafe_yyjson_get_next(keys[k]));
        ek_buf_puts(out, k ? "," : "");
        ek_api_write_string(out, yyjson_get_str(keys[k]));
        ek_buf_puts(out, ":");
        ek_api_write_string(out, text ? text : "");
    }
    ek_buf_puts(out, "}");
    ek_free(keys);
}

static void write_meta_value(struct ek_buf *out, yyjson_val *value, enum meta_form form)
{
    char time[EK_TIME_SIZE];
    yyjson_val *item;
    size_t i, n;

    if (form == META_TIME) {
        ek_api_write_string(out, ek_time_format(ek_time_parse(yyjson_get_str(value)), time));
    } else if (yyjson_is_str(value)) {
        ek_api_write_string(out, yyjson_get_str(value));
    } else if (yyjson_is_obj(value)) {
        write_map(out, value);
    } else if (yyjson_is_arr(value)) {
        ek_buf_puts(out, "[");
        yyjson_arr_foreach(value, i, n, item)
        {
            ek_buf_puts(out, i ? "," : "");
            ek_api_write_string(out, yyjson_is_str(item) ? yyjson_get_str(item) : "");
        }
        ek_buf_puts(out, "]");
    } else {
        ek_buf_printf(out, "%lld", (long long)yyjson_get_sint(value));
    }
}

/* omitempty: "", 0 and what is empty are left out. */
static bool is_written(yyjson_val *value, enum meta_form form)
{
    switch (form) {
    case META_NUMBER:
        return yyjson_get_sint(value) != 0;
    case META_SOME_NUMBER:
        return yyjson_is_int(value);
    case META_MAP:
        return yyjson_obj_size(value) > 0;
    case META_LIST:
        return yyjson_arr_size(value) > 0;
    default:
        return yyjson_get_len(value) > 0;
    }
}

/* Texts, which a map or a list has; null is "". */
static void check_texts(struct ek_api_reader *reader, yyjson_val *value, struct ek_api_place place)
{
    yyjson_val *key, *item;
    size_t i, n;

    ek_json_each_member(value, i, n, key, item) read_text(reader, item, place, "string");
    yyjson_arr_foreach(value, i, n, item) read_text(reader, item, place, "string");
}

/* An int64: what does not fit is an error, with its digits. */
static void check_number(struct ek_api_reader *reader, yyjson_val *value, struct ek_api_place place)
{
    if (!yyjson_is_num(value))
        wrong_type(reader, value, place, "int64");
    else if (!reader->err->code && yyjson_is_uint(value) && yyjson_get_uint(value) > INT64_MAX)
        ek_err_set(reader->err, EK_E_PARSE,
                   "json: cannot unmarshal number %llu into Go struct field %s.%s of type int64",
                   (unsigned long long)yyjson_get_uint(value), place.type, place.path);
    else if (!reader->err->code && yyjson_is_real(value))
        ek_err_set(reader->err, EK_E_PARSE,
                   "json: cannot unmarshal number %.17g into Go struct field %s.%s of type int64",
                   yyjson_get_real(value), place.type, place.path);
}

/* metav1.Time (apimachinery/pkg/apis/meta/v1/time.go:UnmarshalJSON), which reads for itself. */
static void check_time(struct ek_api_reader *reader, yyjson_val *value)
{
    static const struct ek_api_place nowhere = {"", ""};

    if (!yyjson_is_str(value))
        wrong_type(reader, value, nowhere, "string");
    else if (!reader->err->code && ek_time_parse(yyjson_get_str(value)) == EK_TIME_UNSET)
        ek_err_set(reader->err, EK_E_PARSE,
                   "parsing time \"%.64s\" as \"2006-01-02T15:04:05Z07:00\": cannot parse it",
                   yyjson_get_str(value));
}

/* Of metadata; absent and null values are fine. */
static void check_member(struct ek_api_reader *reader, yyjson_val *value, size_t member)
{
    const struct ek_api_place place = {"ObjectMeta", meta_members[member].path};
    const char *go_type = meta_members[member].go_type;

    if (!value || yyjson_is_null(value))
        return;
    switch (meta_members[member].form) {
    case META_TEXT:
        read_text(reader, value, place, go_type);
        return;
    case META_NUMBER:
    case META_SOME_NUMBER:
        check_number(reader, value, place);
        return;
    case META_TIME:
        check_time(reader, value);
        return;
    case META_MAP:
        if (read_object(reader, value, place, go_type))
            check_texts(reader, value, place);
        return;
    case META_LIST:
        if (read_array(reader, value, place, go_type))
            check_texts(reader, value, place);
        return;
    }
}

static const char *read_metadata(struct ek_api_reader *reader, yyjson_val *value)
{
    struct ek_buf out;
    const char *separator = "{";
    const struct ek_api_place place = {"APIGroupDiscovery", "items.metadata"};

    if (!read_object(reader, value, place, "v1.ObjectMeta"))
        return "{}";
    ek_buf_init(&out, EK_API_GROUPS_MAX);
    for (size_t m = 0; m < EK_ARRAY_SIZE(meta_members); m++) {
        yyjson_val *member = yyjson_obj_get(value, meta_members[m].name);
        check_member(reader, member, m);
        if (reader->err->code || !is_written(member, meta_members[m].form))
            continue;
        ek_buf_printf(&out, "%s\"%s\":", separator, meta_members[m].name);
        write_meta_value(&out, member, meta_members[m].form);
        separator = ",";
    }
    ek_buf_puts(&out, *separator == '{' ? "{}" : "}");
    char *copy = out.failed ? NULL : ek_api_take(reader, out.len + 1, 1);
    if (copy)
        memcpy(copy, ek_buf_str(&out), out.len);
    else if (!reader->err->code && out.failed == EK_E_NOMEM)
        ek_err_set(reader->err, EK_E_NOMEM, "no memory for the metadata of a group");
    else if (!reader->err->code)
        ek_err_set(reader->err, EK_E_LIMIT, "the metadata of a group is too large");
    ek_buf_done(&out);
    return copy ? copy : "{}";
}

static void read_group(struct ek_api_reader *reader, yyjson_val *value,
                       struct ek_api_group *ret_group)
{
    yyjson_val *versions = yyjson_obj_get(value, "versions"), *item;
    size_t i, n;

    read_object(reader, value, (struct ek_api_place){"APIGroupDiscoveryList", "items"},
                "v2.APIGroupDiscovery");
    ret_group->kind =
        ek_api_read_string(reader, yyjson_obj_get(value, "kind"),
                           (struct ek_api_place){"APIGroupDiscovery", "items.TypeMeta.kind"});
    ret_group->api_version =
        ek_api_read_string(reader, yyjson_obj_get(value, "apiVersion"),
                           (struct ek_api_place){"APIGroupDiscovery", "items.TypeMeta.apiVersion"});
    ret_group->metadata = read_metadata(reader, yyjson_obj_get(value, "metadata"));
    ret_group->name =
        ek_api_read_string(reader, ek_json_get(value, "metadata", "name", NULL),
                           (struct ek_api_place){"ObjectMeta", "items.metadata.name"});
    if (!read_array(reader, versions, (struct ek_api_place){"APIGroupDiscovery", "items.versions"},
                    "[]v2.APIVersionDiscovery"))
        return;
    struct ek_api_version *items =
        ek_api_take(reader, yyjson_arr_size(versions) + 1, sizeof *items);
    if (!items)
        return;
    yyjson_arr_foreach(versions, i, n, item) read_version(reader, item, &items[i]);
    ret_group->versions = items;
    ret_group->n = n;
    ret_group->set = true;
}

/* metav1.ListMeta, of which nothing is kept: API servers never set it. */
static void check_list_metadata(struct ek_api_reader *reader, yyjson_val *value)
{
    static const struct ek_api_place place = {"APIGroupDiscoveryList", "metadata"};
    static const char *const names[] = {"selfLink", "resourceVersion", "continue"};
    static const char *const paths[] = {"metadata.selfLink", "metadata.resourceVersion",
                                        "metadata.continue"};
    yyjson_val *left = yyjson_obj_get(value, "remainingItemCount");

    if (!read_object(reader, value, place, "v1.ListMeta"))
        return;
    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++)
        ek_api_read_string(reader, yyjson_obj_get(value, names[i]),
                           (struct ek_api_place){"ListMeta", paths[i]});
    if (left && !yyjson_is_null(left))
        check_number(reader, left,
                     (struct ek_api_place){"ListMeta", "metadata.remainingItemCount"});
}

static void read_list(struct ek_api_reader *reader, yyjson_val *root, struct ek_api_list *ret_list)
{
    yyjson_val *items = yyjson_obj_get(root, "items"), *item;
    size_t i, n;

    read_object(reader, root, (struct ek_api_place){"", ""}, "v2.APIGroupDiscoveryList");
    check_list_metadata(reader, yyjson_obj_get(root, "metadata"));
    if (!read_array(reader, items, (struct ek_api_place){"APIGroupDiscoveryList", "items"},
                    "[]v2.APIGroupDiscovery"))
        return;
    struct ek_api_group *groups = ek_api_take(reader, yyjson_arr_size(items) + 1, sizeof *groups);
    if (!groups)
        return;
    yyjson_arr_foreach(items, i, n, item) read_group(reader, item, &groups[i]);
    *ret_list = (struct ek_api_list){.groups = groups, .n = n, .set = true};
}

struct ek_api_groups *ek_api_groups_read(yyjson_val *root, enum ek_discovery_form form,
                                         struct ek_err *err)
{
    struct ek_err local = {0};
    struct ek_api_reader reader = {.arena = ek_arena_new(EK_API_GROUPS_MAX), .err = &local};
    struct ek_api_list list = {0};

    read_list(&reader, root, &list);
    if (!local.code)
        return ek_api_groups_new(reader.arena, list, form);
    ek_arena_free(reader.arena);
    if (err)
        *err = local;
    return NULL;
}
