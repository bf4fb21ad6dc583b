/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a Table: JSONPaths of printer columns, and renderers for what paths cannot say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "test/apiserver/server-internal.h"

static const struct ek_column default_columns[] = {
    {"Name", "string", ".metadata.name", 0}, {"Age", "string", "@age", 0}, {NULL, NULL, NULL, 0}};

static const struct ek_column *columns_of(const struct ek_kind *kind)
{
    return kind->columns ? kind->columns : default_columns;
}

void ek_cells_columns(const struct ek_render *render, struct ek_buf *out)
{
    ek_buf_puts(out, "\"columnDefinitions\":[");
    for (const struct ek_column *c = columns_of(render->kind); c->name; c++) {
        ek_buf_printf(out, "%s{\"name\":", c == columns_of(render->kind) ? "" : ",");
        ek_json_quote(out, c->name);
        ek_buf_printf(out,
                      ",\"type\":\"%s\",\"format\":\"%s\",\"description\":\"\",\"priority\":%d}",
                      c->type, strcmp(c->name, "Name") == 0 ? "name" : "", c->priority);
    }
    ek_buf_puts(out, "]");
}

/* One step "[...]" of a JSONPath: an index, a quoted name, or a filter on one member. */
static yyjson_val *step_bracket(yyjson_val *value, const char *inside, size_t len)
{
    char name[256], wanted[256];

    if (len > 2 && (*inside == '\'' || *inside == '"')) {
        return yyjson_obj_getn(value, inside + 1, len - 2);
    }
    if (sscanf(inside, "?(@.%255[A-Za-z0-9_-]%*[ ]==%*[ ]\"%255[^\"]\")", name, wanted) == 2 ||
        sscanf(inside, "?(@.%255[A-Za-z0-9_-]==\"%255[^\"]\")", name, wanted) == 2 ||
        sscanf(inside, "?(@.%255[A-Za-z0-9_-]=='%255[^']')", name, wanted) == 2) {
        size_t index, max;
        yyjson_val *item;
        yyjson_arr_foreach(value, index, max, item)
        {
            if (yyjson_equals_str(yyjson_obj_get(item, name), wanted))
                return item;
        }
        return NULL;
    }
    return *inside >= '0' && *inside <= '9' ? yyjson_arr_get(value, strtoul(inside, NULL, 10))
                                            : NULL;
}

/* Follows a JSONPath of the kind that printer columns use. */
static yyjson_val *follow(yyjson_val *value, const char *path)
{
    char name[256];

    while (value && *path) {
        if (*path == '[') {
            const char *close = strchr(path, ']');
            if (!close)
                return NULL;
            value = step_bracket(value, path + 1, (size_t)(close - path - 1));
            path = close + 1;
            continue;
        }
        size_t n = 0;
        for (path += *path == '.'; *path && *path != '.' && *path != '['; path++) {
            if (*path == '\\' && path[1])
                path++;
            if (n + 1 < sizeof(name))
                name[n++] = *path;
        }
        name[n] = '\0';
        value = n > 0 ? yyjson_obj_get(value, name) : value;
    }
    return value;
}

static void put_age(const struct ek_render *render, const char *since, struct ek_buf *out)
{
    int64_t ms = ek_time_parse(since);
    char text[EK_TIME_SIZE];

    if (ms == EK_TIME_UNSET)
        ek_buf_puts(out, "\"<unknown>\"");
    else
        ek_buf_printf(out, "\"%s\"",
                      ek_duration_human(ms > render->now_ms ? 0 : render->now_ms - ms, text));
}

static void put_path(const struct ek_render *render, const struct ek_column *column,
                     yyjson_val *object, struct ek_buf *out)
{
    yyjson_val *value = follow(object, column->path);
    bool custom = (render->kind->flags & EK_KIND_CUSTOM) != 0;

    if (custom && strcmp(column->type, "date") == 0) {
        put_age(render, yyjson_get_str(value), out);
        return;
    }
    if (!value || yyjson_is_null(value)) {
        bool integer = strcmp(column->type, "integer") == 0;
        ek_buf_puts(out, custom ? "null" : integer ? "0" : "\"\"");
        return;
    }
    char *json = yyjson_val_write(value, 0, NULL);
    if (yyjson_is_ctn(value) || (strcmp(column->type, "string") == 0 && !yyjson_is_str(value)))
        ek_json_quote(out, json ? json : "");
    else
        ek_buf_puts(out, json ? json : "null");
    free(json);
}

static void put_node_status(yyjson_val *object, struct ek_buf *out)
{
    const char *ready =
        yyjson_get_str(follow(object, ".status.conditions[?(@.type==\"Ready\")].status"));
    bool off = yyjson_get_bool(ek_json_get(object, "spec", "unschedulable", NULL));

    ek_buf_printf(out, "\"%s%s\"",
                  !ready                       ? "Unknown"
                  : strcmp(ready, "True") == 0 ? "Ready"
                                               : "NotReady",
                  off ? ",SchedulingDisabled" : "");
}

static void put_node_roles(yyjson_val *object, struct ek_buf *out)
{
    static const char prefix[] = "node-role.kubernetes.io/";
    size_t index, max, n = 0;
    yyjson_val *key, *value;

    ek_buf_puts(out, "\"");
    ek_json_each_member(ek_json_get(object, "metadata", "labels", NULL), index, max, key, value)
    {
        const char *name = yyjson_get_str(key);
        if (strncmp(name, prefix, sizeof(prefix) - 1) == 0)
            ek_buf_printf(out, "%s%s", n++ ? "," : "", name + sizeof(prefix) - 1);
    }
    ek_buf_puts(out, n ? "\"" : "<none>\"");
}

static void put_joined(yyjson_val *list, const char *member, const char *second, struct ek_buf *out)
{
    size_t index, max;
    yyjson_val *item;

    ek_buf_puts(out, "\"");
    yyjson_arr_foreach(list, index, max, item)
    {
        yyjson_val *value = follow(item, member);
        char *json = yyjson_is_str(value) ? NULL : yyjson_val_write(value, 0, NULL);
        const char *more = *second ? ek_json_str(item, second, NULL) : NULL;
        ek_buf_printf(out, "%s%s%s%s", index ? "," : "", json ? json : yyjson_get_str(value),
                      more ? "/" : "", more ? more : "");
        free(json);
    }
    ek_buf_puts(out, yyjson_arr_size(list) ? "\"" : "<none>\"");
}

static void put_event_cell(const struct ek_render *render, const char *what, yyjson_val *object,
                           struct ek_buf *out)
{
    const char *kind = ek_json_str(object, "involvedObject", "kind", NULL);
    const char *name = ek_json_str(object, "involvedObject", "name", NULL);
    const char *message = ek_json_str(object, "message", NULL);
    const char *last = ek_json_str(object, "series", "lastObservedTime", NULL);

    last = last ? last : ek_json_str(object, "lastTimestamp", NULL);
    last = last ? last : ek_json_str(object, "eventTime", NULL);
    last = last ? last : ek_json_str(object, "metadata", "creationTimestamp", NULL);
    if (strcmp(what, "@event-age") == 0) {
        put_age(render, last, out);
    } else if (strcmp(what, "@event-message") == 0) {
        ek_json_quote(out, message ? message : "");
    } else {
        char text[600];
        snprintf(text, sizeof(text), "%s/%s", kind ? kind : "", name ? name : "");
        for (char *p = text; *p && *p != '/'; p++)
            *p = *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p;
        ek_json_quote(out, text);
    }
}

static void put_ready(yyjson_val *object, const char *what, struct ek_buf *out)
{
    yyjson_val *list = ek_json_get(object, "status", "containerStatuses", NULL), *item;
    long long ready = yyjson_get_sint(ek_json_get(object, "status", "readyReplicas", NULL));
    long long all = yyjson_get_sint(ek_json_get(object, "spec", "replicas", NULL));
    long long restarts = 0;
    size_t index, max;

    if (strncmp(what, "@pod", 4) == 0) {
        all = (long long)yyjson_arr_size(ek_json_get(object, "spec", "containers", NULL));
        ready = 0;
    }
    yyjson_arr_foreach(list, index, max, item)
    {
        ready += yyjson_get_bool(yyjson_obj_get(item, "ready"));
        restarts += yyjson_get_sint(yyjson_obj_get(item, "restartCount"));
    }
    if (strcmp(what, "@pod-restarts") == 0)
        ek_buf_printf(out, "\"%lld\"", restarts);
    else
        ek_buf_printf(out, "\"%lld/%lld\"", ready, all);
}

static void put_special(const struct ek_render *render, const char *what, yyjson_val *object,
                        struct ek_buf *out)
{
    if (strcmp(what, "@age") == 0)
        put_age(render, ek_json_str(object, "metadata", "creationTimestamp", NULL), out);
    else if (strcmp(what, "@node-status") == 0)
        put_node_status(object, out);
    else if (strcmp(what, "@node-roles") == 0)
        put_node_roles(object, out);
    else if (strncmp(what, "@count:", 7) == 0)
        ek_buf_printf(out, "%zu", yyjson_obj_size(yyjson_obj_get(object, what + 7)));
    else if (strcmp(what, "@service-ports") == 0)
        put_joined(ek_json_get(object, "spec", "ports", NULL), ".port", "protocol", out);
    else if (strcmp(what, "@slice-ports") == 0)
        put_joined(ek_json_get(object, "ports", NULL), ".port", "", out);
    else if (strcmp(what, "@slice-endpoints") == 0)
        put_joined(ek_json_get(object, "endpoints", NULL), ".addresses[0]", "", out);
    else if (strcmp(what, "@endpoints") == 0)
        put_joined(follow(object, ".subsets[0].addresses"), ".ip", "", out);
    else if (strncmp(what, "@event-", 7) == 0)
        put_event_cell(render, what, object, out);
    else if (strncmp(what, "@pod", 4) == 0 || strncmp(what, "@deployment", 11) == 0)
        put_ready(object, what, out);
    else
        ek_buf_puts(out, "\"<none>\"");
}

void ek_cells_row(const struct ek_render *render, yyjson_val *object, struct ek_buf *out)
{
    for (const struct ek_column *c = columns_of(render->kind); c->name; c++) {
        if (c != columns_of(render->kind))
            ek_buf_append(out, ",", 1);
        if (c->path[0] == '@')
            put_special(render, c->path, object, out);
        else
            put_path(render, c, object, out);
    }
}
