/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of manifests of which nothing is known: each is said once. */
#include <string.h>

#include "api/obj.h"
#include "controller/commands/plan-internal.h"

/* The group of an API version, with a slash at its end; owned. */
static char *group_kind(const char *api_version, const char *kind)
{
    const char *slash = strchr(api_version, '/');

    return ek_xasprintf("%.*s/%s", slash ? (int)(slash - api_version) : 0, api_version, kind);
}

struct ek_plan_kind *ek_plan_kinds_note(struct ek_plan_kinds *kinds, yyjson_val *object)
{
    const char *api_version = ek_json_text(object, "apiVersion"),
               *kind = ek_json_text(object, "kind");
    EK_AUTOFREE char *key = ek_xasprintf("%s %s", api_version, kind);
    struct ek_plan_kind *ret = ek_map_get(&kinds->seen, key);

    if (!ret) {
        ret = ek_xalloc(sizeof *ret);
        *ret = (struct ek_plan_kind){.shown = ek_xstrdup(key),
                                     .group_kind = group_kind(api_version, kind),
                                     .version_len = strlen(api_version)};
        ek_map_put(&kinds->seen, ret->shown, ret);
        *(kinds->last ? &kinds->last->next : &kinds->first) = ret;
        kinds->last = ret;
    }
    ret->n++;
    return ret;
}

void ek_plan_kinds_define(struct ek_plan_kinds *kinds, yyjson_val *definition)
{
    char *key = ek_xasprintf("%s/%s", ek_json_text(yyjson_obj_get(definition, "spec"), "group"),
                             ek_json_text(ek_json_get(definition, "spec", "names", NULL), "kind"));

    if (ek_map_get(&kinds->defined, key))
        ek_free(key);
    else
        ek_map_put(&kinds->defined, key, key);
}

void ek_plan_kinds_say(const struct ek_plan_kinds *kinds, struct ek_plan_report *report)
{
    for (const struct ek_plan_kind *kind = kinds->first; kind; kind = kind->next)
        if (!ek_map_get(&kinds->defined, kind->group_kind))
            ek_plan_report_add(
                report,
                &(struct ek_plan_finding){
                    .severity = EK_PLAN_WARNING,
                    .rule = "kind-unknown",
                    .source = kind->source,
                    .line = kind->line,
                    .object = kind->shown,
                    .message = ek_arena_printf(report->arena,
                                               "the kind is not known, and %zu object%s of the "
                                               "kind %s not checked",
                                               kind->n, kind->n == 1 ? "" : "s",
                                               kind->n == 1 ? "was" : "were"),
                    .api_version = ek_arena_strndup(report->arena, kind->shown, kind->version_len),
                    .kind = kind->shown + kind->version_len + 1,
                    .remedy = "look the kind up in the documentation of what brings it",
                });
}

void ek_plan_kinds_done(struct ek_plan_kinds *kinds)
{
    size_t cursor = 0;
    void *key;

    for (struct ek_plan_kind *kind = kinds->first, *next; kind; kind = next) {
        next = kind->next;
        ek_free(kind->shown);
        ek_free(kind->group_kind);
        ek_free(kind->source);
        ek_free(kind);
    }
    while (ek_map_next(&kinds->defined, &cursor, NULL, &key))
        ek_free(key);
    ek_map_done(&kinds->seen);
    ek_map_done(&kinds->defined);
    *kinds = (struct ek_plan_kinds){0};
}
