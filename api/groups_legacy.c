/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/map.h"
#include "api/groups-internal.h"

struct legacy_group {
    struct legacy_group *next;
    const char *name;
    struct ek_api_version *versions; /* in the arena */
    size_t n, cap;
};

struct ek_api_legacy {
    struct ek_arena *arenas[2]; /* of all groups but core, of core; NULL after its finish */
    struct legacy_group *first[2], **last[2];
    size_t n[2];
    struct ek_map groups;   /* by name */
    struct ek_map versions; /* struct ek_api_version, by "group/version" */
};

#define PLACE(path) ((struct ek_api_place){"", (path)})

struct ek_api_legacy *ek_api_legacy_new(void)
{
    struct ek_api_legacy *legacy = ek_xalloc(sizeof *legacy);

    for (int core = 0; core < 2; core++) {
        legacy->arenas[core] = ek_arena_new(EK_API_GROUPS_MAX);
        legacy->last[core] = &legacy->first[core];
    }
    return legacy;
}

void ek_api_legacy_free(struct ek_api_legacy *legacy)
{
    if (!legacy)
        return;
    ek_map_done(&legacy->groups);
    ek_map_done(&legacy->versions);
    for (int core = 0; core < 2; core++)
        ek_arena_free(legacy->arenas[core]);
    ek_free(legacy);
}

static struct legacy_group *group_of(struct ek_api_legacy *legacy, struct ek_api_reader *reader,
                                     const char *name, size_t n_versions)
{
    struct legacy_group *group = ek_map_get(&legacy->groups, name);

    if (group)
        return group;
    group = ek_api_take(reader, 1, sizeof *group);
    if (!group)
        return NULL;
    group->versions = ek_api_take(reader, n_versions + 1, sizeof *group->versions);
    if (!group->versions)
        return NULL;
    group->name = name;
    group->cap = n_versions;
    bool core = *name == '\0';
    *legacy->last[core] = group;
    legacy->last[core] = &group->next;
    legacy->n[core]++;
    ek_map_put(&legacy->groups, name, group);
    return group;
}

static char *join(struct ek_api_reader *reader, const char *group, const char *version)
{
    size_t size = strlen(group) + strlen(version) + 2;
    char *key = ek_api_take(reader, size, 1);

    if (key)
        snprintf(key, size, "%s/%s", group, version);
    return key;
}

static void add_version(struct ek_api_legacy *legacy, struct ek_api_reader *reader,
                        struct legacy_group *group, const char *version)
{
    char *key = join(reader, group->name, version);

    if (!key || group->n == group->cap || ek_map_get(&legacy->versions, key))
        return;
    struct ek_api_version *added = &group->versions[group->n++];
    added->name = version;
    added->freshness = "Current";
    ek_map_put(&legacy->versions, key, added);
}

static void index_group(struct ek_api_legacy *legacy, struct ek_api_reader *reader,
                        yyjson_val *value)
{
    yyjson_val *versions = yyjson_obj_get(value, "versions"), *version;
    const char *name =
        ek_api_read_string(reader, yyjson_obj_get(value, "name"), PLACE("groups.name"));
    size_t i, n;

    if (!*name)
        return;
    struct legacy_group *group = group_of(legacy, reader, name, yyjson_arr_size(versions));
    yyjson_arr_foreach(versions, i, n, version)
    {
        if (group)
            add_version(legacy, reader, group,
                        ek_api_read_string(reader, yyjson_obj_get(version, "version"),
                                           PLACE("groups.versions.version")));
    }
}

int ek_api_legacy_add_index(struct ek_api_legacy *legacy, yyjson_val *root, struct ek_err *err)
{
    yyjson_val *versions = yyjson_obj_get(root, "versions"), *item;
    yyjson_val *groups = yyjson_obj_get(root, "groups");
    struct ek_err local = {0};
    struct ek_api_reader reader = {.arena = legacy->arenas[1], .err = &local};
    size_t i, n;

    if (!yyjson_is_arr(versions) && !yyjson_is_arr(groups))
        return ek_err_set(err, EK_E_PARSE, "neither an APIVersions nor an APIGroupList");
    if (yyjson_is_arr(versions)) {
        struct legacy_group *core = group_of(legacy, &reader, "", yyjson_arr_size(versions));
        yyjson_arr_foreach(versions, i, n, item)
        {
            if (core)
                add_version(legacy, &reader, core,
                            ek_api_read_string(&reader, item, PLACE("versions")));
        }
    }
    reader.arena = legacy->arenas[0];
    yyjson_arr_foreach(groups, i, n, item) index_group(legacy, &reader, item);
    if (local.code && err)
        *err = local;
    return local.code;
}

static const struct ek_api_kind *read_plain_kind(struct ek_api_reader *reader, yyjson_val *value)
{
    struct ek_api_kind *kind = ek_api_take(reader, 1, sizeof *kind);

    if (!kind)
        return NULL;
    kind->group =
        ek_api_read_string(reader, yyjson_obj_get(value, "group"), PLACE("resources.group"));
    kind->version =
        ek_api_read_string(reader, yyjson_obj_get(value, "version"), PLACE("resources.version"));
    kind->kind = ek_api_read_string(reader, yyjson_obj_get(value, "kind"), PLACE("resources.kind"));
    return kind;
}

static const char *scope_of(yyjson_val *value)
{
    return yyjson_get_bool(yyjson_obj_get(value, "namespaced")) ? "Namespaced" : "Cluster";
}

static void read_plain_resource(struct ek_api_reader *reader, yyjson_val *value, const char *name,
                                struct ek_api_resource *ret_resource)
{
    ret_resource->name = name;
    ret_resource->scope = scope_of(value);
    ret_resource->kind = read_plain_kind(reader, value);
    ret_resource->singular = ek_api_read_string(reader, yyjson_obj_get(value, "singularName"),
                                                PLACE("resources.singularName"));
    ret_resource->verbs =
        ek_api_read_names(reader, yyjson_obj_get(value, "verbs"), PLACE("resources.verbs"));
    ret_resource->short_names = ek_api_read_names(reader, yyjson_obj_get(value, "shortNames"),
                                                  PLACE("resources.shortNames"));
    ret_resource->categories = ek_api_read_names(reader, yyjson_obj_get(value, "categories"),
                                                 PLACE("resources.categories"));
}

/* An entry of a list: a resource, or with sub a subresource of name. */
struct plain_name {
    yyjson_val *value;
    const char *name, *sub; /* sub NULL for a resource */
    size_t at;              /* its place in the list */
};

/* What is being made of one APIResourceList. */
struct list_maker {
    struct ek_api_reader *reader;
    struct ek_map parents; /* struct ek_api_resource, by name */
    struct ek_api_resource *resources;
    size_t n, cap;
    struct ek_api_subresource *subs; /* of the parent that is being read */
};

static struct ek_api_resource *parent_of(struct list_maker *maker, yyjson_val *value,
                                         const char *name)
{
    struct ek_api_resource *parent = ek_map_get(&maker->parents, name);

    if (parent || maker->n == maker->cap)
        return parent;
    /* A subresource without a parent gets one, which has no kind. */
    parent = &maker->resources[maker->n++];
    parent->name = name;
    parent->scope = scope_of(value);
    parent->singular = "";
    ek_map_put(&maker->parents, name, parent);
    return parent;
}

/* Adds one of the at most n subresources of its parent, which come one behind the other. */
static void add_subresource(struct list_maker *maker, const struct plain_name *name, size_t n)
{
    struct ek_api_resource *parent = parent_of(maker, name->value, name->name);

    if (!parent)
        return;
    if (!parent->subresources.set) {
        maker->subs = ek_api_take(maker->reader, n, sizeof *maker->subs);
        if (!maker->subs)
            return;
        parent->subresources.items = maker->subs;
        parent->subresources.set = true;
    }
    struct ek_api_subresource *sub = &maker->subs[parent->subresources.n++];
    sub->name = name->sub;
    sub->kind = read_plain_kind(maker->reader, name->value);
    sub->verbs = ek_api_read_names(maker->reader, yyjson_obj_get(name->value, "verbs"),
                                   PLACE("resources.verbs"));
}

static int by_parent(const void *a, const void *b)
{
    const struct plain_name *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    return c ? c : x->at < y->at ? -1 : x->at > y->at;
}

static void split(struct ek_api_reader *reader, struct plain_name *name)
{
    const char *slash = strchr(name->name, '/');
    size_t len = slash ? (size_t)(slash - name->name) : 0;
    char *parent = slash ? ek_api_take(reader, len + 1, 1) : NULL;

    if (!parent)
        return;
    memcpy(parent, name->name, len);
    name->name = parent;
    name->sub = slash + 1;
}

static void make_resources(struct list_maker *maker, const struct plain_name *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (names[i].sub || maker->n == maker->cap)
            continue;
        struct ek_api_resource *resource = &maker->resources[maker->n++];
        read_plain_resource(maker->reader, names[i].value, names[i].name, resource);
        ek_map_put(&maker->parents, resource->name, resource);
    }
}

static void make_subresources(struct list_maker *maker, struct plain_name *names, size_t n)
{
    qsort(names, n, sizeof *names, by_parent);
    for (size_t i = 0, end = 0; i < n; i++) {
        for (end = end > i ? end : i + 1; end < n && !strcmp(names[end].name, names[i].name);)
            end++;
        if (names[i].sub)
            add_subresource(maker, &names[i], end - i);
    }
}

static void read_resources(struct ek_api_reader *reader, yyjson_val *resources,
                           struct ek_api_version *version)
{
    size_t i, n, count = yyjson_arr_size(resources);
    struct list_maker maker = {.reader = reader, .cap = count};
    struct plain_name *names = ek_api_take(reader, count + 1, sizeof *names);
    yyjson_val *value;

    maker.resources = ek_api_take(reader, count + 1, sizeof *maker.resources);
    if (!names || !maker.resources)
        return;
    yyjson_arr_foreach(resources, i, n, value)
    {
        names[i] = (struct plain_name){.value = value, .at = i};
        names[i].name =
            ek_api_read_string(reader, yyjson_obj_get(value, "name"), PLACE("resources.name"));
        split(reader, &names[i]);
    }
    make_resources(&maker, names, count);
    make_subresources(&maker, names, count);
    ek_map_done(&maker.parents);
    version->resources = maker.resources;
    version->n = maker.n;
    version->set = true;
}

int ek_api_legacy_add_resources(struct ek_api_legacy *legacy, yyjson_val *root, struct ek_err *err)
{
    struct ek_err local = {0};
    struct ek_api_reader reader = {.err = &local};
    yyjson_val *resources = yyjson_obj_get(root, "resources");
    const char *gv = ek_json_str(root, "groupVersion", NULL);

    if (!gv || !yyjson_is_arr(resources))
        return ek_err_set(err, EK_E_PARSE, "not an APIResourceList");
    char *key = strchr(gv, '/') ? ek_xstrdup(gv) : ek_xasprintf("/%s", gv);
    struct ek_api_version *version = ek_map_get(&legacy->versions, key);
    ek_free(key);
    reader.arena = legacy->arenas[!strchr(gv, '/')];
    if (version && !version->set)
        read_resources(&reader, resources, version);
    if (local.code && err)
        *err = local;
    return local.code;
}

/* {"name":"..."}, or {} for core. */
static const char *metadata_of(struct ek_api_reader *reader, const char *name)
{
    struct ek_buf out;

    if (!*name)
        return "{}";
    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    ek_buf_puts(&out, "{\"name\":");
    ek_api_write_string(&out, name);
    ek_buf_puts(&out, "}");
    char *copy = out.failed ? NULL : ek_api_take(reader, out.len + 1, 1);
    if (copy)
        memcpy(copy, ek_buf_str(&out), out.len);
    else if (!reader->err->code)
        ek_err_set(reader->err, EK_E_LIMIT, "the name of a group is too large");
    ek_buf_done(&out);
    return copy ? copy : "{}";
}

/* Takes the versions that a list was read for; false when there is none. */
static bool finish_group(struct ek_api_reader *reader, const struct legacy_group *group,
                         struct ek_api_group *ret_group)
{
    size_t n = 0;

    for (size_t v = 0; v < group->n; v++)
        if (group->versions[v].set)
            group->versions[n++] = group->versions[v];
    *ret_group = (struct ek_api_group){.name = group->name,
                                       .metadata = metadata_of(reader, group->name),
                                       .versions = group->versions,
                                       .n = n,
                                       .set = true};
    return n > 0;
}

struct ek_api_groups *ek_api_legacy_finish(struct ek_api_legacy *legacy, bool core,
                                           struct ek_err *err)
{
    struct ek_err local = {0};
    struct ek_api_reader reader = {.arena = legacy->arenas[core], .err = &local};
    struct ek_api_group *groups = ek_api_take(&reader, legacy->n[core] + 1, sizeof *groups);
    size_t n = 0;

    for (const struct legacy_group *g = legacy->first[core]; g && groups; g = g->next)
        n += finish_group(&reader, g, &groups[n]);
    if (local.code) {
        if (err)
            *err = local;
        return NULL;
    }
    legacy->arenas[core] = NULL;
    return ek_api_groups_new(reader.arena,
                             (struct ek_api_list){.groups = groups, .n = n, .set = true},
                             EK_DISCOVERY_LEGACY);
}
