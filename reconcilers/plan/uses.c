/* SPDX-License-Identifier: Apache-2.0 */
/* Who uses what goes, from the metadata of objects and the references in them. */
#include "reconcilers/plan/uses-internal.h"

#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "reconcilers/plan/apis.h"
#include "reconcilers/plan/objects-internal.h"
#include "reconcilers/skew/text.h"

#define ARENA_MAX    ((size_t)4 << 20)
#define WHO_MAX      128 /* of a manager: apimachinery/pkg/apis/meta/v1/validation */
#define SHOWN_MAX    512
#define TIME_MAX     32
#define APPLIED      "kubectl.kubernetes.io/last-applied-configuration"
#define AUTO_MANAGED "kube-aggregator.kubernetes.io/automanaged"

/* ---- What goes ---- */

static bool is_served(enum ek_api_state state)
{
    return state == EK_API_SERVED || state == EK_API_DEPRECATED;
}

/* Retired versions that an older server of the data may still have are alpha, and off unless they
 * are named: no reason to read the objects of a cluster. */
static bool goes(const struct ek_plan_target *target, const struct ek_api_lifecycle *life)
{
    return life && !life->retired && !is_served(ek_api_state_at(life, target->to)) &&
           is_served(ek_api_state_at(life, target->from));
}

static enum ek_api_state row_state(const struct ek_api_row *row, struct ek_minor at)
{
    return row->lifecycle ? ek_api_state_at(row->lifecycle, at) : EK_API_SERVED;
}

/* True when the row is the kind in its group, or what takes the place of the kind. */
static bool is_of(const struct ek_api_row *row, const struct ek_api_lifecycle *life,
                  const struct ek_api_lifecycle *other)
{
    return (!strcmp(row->group, life->group) && !strcmp(row->kind, life->kind)) ||
           (other && !strcmp(row->group, other->group) && !strcmp(row->kind, other->kind));
}

/* The version in which the objects of a kind that goes can be listed: one that is served before and
 * after. A stable one where there is one. NULL without. */
static const struct ek_api_row *staying(const struct ek_plan_target *target,
                                        const struct ek_api_lifecycle *life)
{
    const struct ek_plan_data *data = target->data;
    const struct ek_api_lifecycle *other = ek_api_replacement(data, life, target->to);
    const struct ek_api_row *found = NULL;

    for (size_t i = 0; i < data->n_resources; i++) {
        const struct ek_api_row *row = &data->resources[i];
        if (is_of(row, life, other) && row->stored && is_served(row_state(row, target->from)) &&
            is_served(row_state(row, target->to)) &&
            (!found || ek_api_is_stable(row->version) > ek_api_is_stable(found->version)))
            found = row;
    }
    return found;
}

/* ---- Lists ---- */

/* Objects that have owners or name other objects. Secrets are left out: their metadata cannot be
 * read without a permission for their content. */
static const struct ek_plan_use_list others[] = {
    {"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler",
     EK_PLAN_USE_SCALERS, false},
    {"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", EK_PLAN_USE_ROLES, false},
    {"rbac.authorization.k8s.io", "v1", "roles", "Role", EK_PLAN_USE_ROLES, false},
    {"apiregistration.k8s.io", "v1", "apiservices", "APIService", EK_PLAN_USE_APISERVICES, false},
    {"", "v1", "pods", "Pod", EK_PLAN_USE_METADATA, false},
    {"", "v1", "configmaps", "ConfigMap", EK_PLAN_USE_METADATA, false},
    {"", "v1", "services", "Service", EK_PLAN_USE_METADATA, false},
    {"", "v1", "serviceaccounts", "ServiceAccount", EK_PLAN_USE_METADATA, false},
    {"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", EK_PLAN_USE_METADATA, false},
    {"apps", "v1", "deployments", "Deployment", EK_PLAN_USE_METADATA, false},
    {"apps", "v1", "replicasets", "ReplicaSet", EK_PLAN_USE_METADATA, false},
    {"apps", "v1", "statefulsets", "StatefulSet", EK_PLAN_USE_METADATA, false},
    {"apps", "v1", "daemonsets", "DaemonSet", EK_PLAN_USE_METADATA, false},
    {"batch", "v1", "jobs", "Job", EK_PLAN_USE_METADATA, false},
    {"resource.k8s.io", "v1", "resourceclaims", "ResourceClaim", EK_PLAN_USE_METADATA, false},
};

static bool has_list(const struct ek_plan_use_list *lists, size_t n,
                     const struct ek_plan_use_list *list)
{
    for (size_t i = 0; i < n; i++)
        if (!strcmp(lists[i].group, list->group) && !strcmp(lists[i].resource, list->resource))
            return true;
    return false;
}

/* What is read of a resource that goes: more than its metadata where it names other objects. */
static enum ek_plan_use_what what_of(const struct ek_api_row *row)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(others); i++)
        if (!strcmp(others[i].group, row->group) && !strcmp(others[i].resource, row->resource))
            return others[i].what;
    return EK_PLAN_USE_METADATA;
}

size_t ek_plan_uses_lists(const struct ek_plan_target *target, struct ek_arena *arena,
                          struct ek_plan_use_list **ret_lists)
{
    const struct ek_plan_data *data = target->data;
    size_t n = 0;
    bool any = false;
    struct ek_plan_use_list *lists =
        ek_arena_alloc(arena, (data->n_kinds + EK_ARRAY_SIZE(others)) * sizeof *lists);

    *ret_lists = lists;
    for (size_t i = 0; i < data->n_kinds; i++) {
        if (!goes(target, &data->kinds[i]))
            continue;
        any = true;
        const struct ek_api_row *row = staying(target, &data->kinds[i]);
        if (!row)
            continue;
        const struct ek_plan_use_list list = {row->group, row->version, row->resource,
                                              row->kind,  what_of(row), true};
        if (!has_list(lists, n, &list))
            lists[n++] = list;
    }
    for (size_t i = 0; any && i < EK_ARRAY_SIZE(others); i++)
        if (!has_list(lists, n, &others[i]))
            lists[n++] = others[i];
    return n;
}

/* ---- Collecting ---- */

void ek_plan_uses_init(struct ek_plan_uses *uses, const struct ek_plan_target *target)
{
    *uses = (struct ek_plan_uses){.target = *target, .arena = ek_arena_new(ARENA_MAX)};
    uses->list = ek_arena_alloc(uses->arena, EK_PLAN_USES_MAX * sizeof *uses->list);
}

void ek_plan_uses_done(struct ek_plan_uses *uses)
{
    ek_arena_free(uses->arena);
    *uses = (struct ek_plan_uses){0};
}

/* What is known of an item while it is looked at. */
struct item {
    struct ek_plan_uses *uses;
    const struct ek_plan_use_list *list;
    yyjson_val *value;
};

static const char *kept(const struct item *it, const char *text, size_t max)
{
    struct ek_arena *arena = it->uses->arena;

    return ek_arena_strdup(arena, ek_skew_clean_max(arena, text, max));
}

static const char *shown(const struct item *it)
{
    const struct ek_plan_use_list *l = it->list;
    const char *namespace = ek_json_str(it->value, "metadata", "namespace", NULL);
    const char *name = ek_json_str(it->value, "metadata", "name", NULL);
    char text[SHOWN_MAX + 1];
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, SHOWN_MAX);
    ek_buf_printf(&out, "%s%s%s %s %s%s%s", l->group, *l->group ? "/" : "", l->version, l->kind,
                  namespace ? namespace : "", namespace ? "/" : "", name ? name : "");
    snprintf(text, sizeof text, "%s", out.failed ? l->kind : ek_buf_str(&out));
    return kept(it, text, SHOWN_MAX);
}

/* The entry of the use, made when it is new; NULL without room. */
static struct ek_plan_use *need(const struct item *it, enum ek_plan_use_rule rule,
                                const struct ek_api_lifecycle *life, const char *who)
{
    struct ek_plan_uses *uses = it->uses;

    for (size_t i = 0; i < uses->n; i++)
        if (uses->list[i].rule == rule && uses->list[i].life == life &&
            !strcmp(uses->list[i].who, who))
            return &uses->list[i];
    if (uses->n == EK_PLAN_USES_MAX || ek_arena_exhausted(uses->arena)) {
        uses->n_more++;
        return NULL;
    }
    uses->list[uses->n] = (struct ek_plan_use){.rule = rule,
                                               .life = life,
                                               .who = kept(it, who, WHO_MAX),
                                               .object = "",
                                               .field = "",
                                               .time = ""};
    return &uses->list[uses->n++];
}

/* A reference from the item. */
static void refer(const struct item *it, enum ek_plan_use_rule rule,
                  const struct ek_api_lifecycle *life, const char *field)
{
    struct ek_plan_use *use = need(it, rule, life, it->list->kind);

    if (!use || use->n++)
        return;
    use->object = shown(it);
    use->field = field;
}

/* The lifecycle of an API version, "group/version", and a kind; NULL for what does not go. */
static const struct ek_api_lifecycle *going(const struct ek_plan_uses *uses,
                                            const char *api_version, const char *kind)
{
    const char *slash = api_version ? strchr(api_version, '/') : NULL;
    char group[254];

    if (!api_version || !kind || (slash && (size_t)(slash - api_version) >= sizeof group))
        return NULL;
    snprintf(group, sizeof group, "%.*s", slash ? (int)(slash - api_version) : 0, api_version);
    const struct ek_api_lifecycle *life =
        ek_plan_find_kind(uses->target.data, group, slash ? slash + 1 : api_version, kind);
    return goes(&uses->target, life) ? life : NULL;
}

/* ---- Metadata ---- */

static const char *text_of(yyjson_val *entry, const char *name)
{
    return ek_json_text(entry, name);
}

/* True when the manager wrote the object in another version that stays, at that time or later.
 * Times of API servers have one form, which sorts as text. */
static bool has_moved(const struct item *it, yyjson_val *entries, yyjson_val *entry)
{
    size_t i, n;
    yyjson_val *other;

    yyjson_arr_foreach(entries, i, n, other)
    {
        const char *version = text_of(other, "apiVersion");
        if (!strcmp(text_of(other, "manager"), text_of(entry, "manager")) && *version &&
            strcmp(version, text_of(entry, "apiVersion")) != 0 &&
            !going(it->uses, version, it->list->kind) &&
            strcmp(text_of(other, "time"), text_of(entry, "time")) >= 0)
            return true;
    }
    return false;
}

static void look_at_write(const struct item *it, yyjson_val *entries, yyjson_val *entry)
{
    const struct ek_api_lifecycle *life =
        going(it->uses, text_of(entry, "apiVersion"), it->list->kind);
    const char *manager = text_of(entry, "manager"), *time = text_of(entry, "time");

    if (!life)
        return;
    struct ek_plan_use *use =
        need(it, EK_PLAN_USE_WRITTEN, life, *manager ? manager : "a client without a name");
    if (!use)
        return;
    use->n++;
    use->n_current += !has_moved(it, entries, entry);
    if (use->n > 1 && strcmp(time, use->time) <= 0)
        return;
    use->object = shown(it);
    use->time = kept(it, time, TIME_MAX);
}

/* The annotation of kubectl apply, where no write records the version. */
static void look_at_applied(const struct item *it, yyjson_val *entries)
{
    yyjson_val *value = ek_json_get(it->value, "metadata", "annotations", NULL), *entry;
    const char *text = ek_json_str(value, APPLIED, NULL);
    size_t i, n;

    if (!text)
        return;
    yyjson_doc *doc = ek_json_parse(text, strlen(text), NULL);
    const struct ek_api_lifecycle *life =
        going(it->uses, ek_json_str(yyjson_doc_get_root(doc), "apiVersion", NULL),
              ek_json_str(yyjson_doc_get_root(doc), "kind", NULL));
    yyjson_doc_free(doc);
    yyjson_arr_foreach(entries, i, n, entry)
    {
        if (life && going(it->uses, text_of(entry, "apiVersion"), it->list->kind) == life)
            return;
    }
    if (life)
        refer(it, EK_PLAN_USE_APPLIED, life, "metadata.annotations[" APPLIED "]");
}

static void look_at_metadata(const struct item *it)
{
    yyjson_val *entries = ek_json_get(it->value, "metadata", "managedFields", NULL), *entry;
    size_t i, n;

    if (it->list->goes) {
        yyjson_arr_foreach(entries, i, n, entry)
        {
            look_at_write(it, entries, entry);
        }
        look_at_applied(it, entries);
    }
    yyjson_arr_foreach(ek_json_get(it->value, "metadata", "ownerReferences", NULL), i, n, entry)
    {
        const struct ek_api_lifecycle *life =
            going(it->uses, text_of(entry, "apiVersion"), text_of(entry, "kind"));
        if (life)
            refer(it, EK_PLAN_USE_OWNER, life, "metadata.ownerReferences");
    }
}

/* ---- Objects ---- */

static void look_at_scaler(const struct item *it)
{
    yyjson_val *to = ek_json_get(it->value, "spec", "scaleTargetRef", NULL);
    const struct ek_api_lifecycle *life =
        going(it->uses, text_of(to, "apiVersion"), text_of(to, "kind"));

    if (life)
        refer(it, EK_PLAN_USE_TARGET, life, "spec.scaleTargetRef");
}

static bool names(yyjson_val *rule, const char *member, const char *name)
{
    size_t i, n, len = strlen(name);
    yyjson_val *value;

    yyjson_arr_foreach(yyjson_obj_get(rule, member), i, n, value)
    {
        const char *text = yyjson_get_str(value);
        if (text && !strncmp(text, name, len) && (text[len] == '\0' || text[len] == '/'))
            return true;
    }
    return false;
}

bool ek_plan_uses_remains__(const struct ek_plan_target *target, const char *group,
                            const char *resource)
{
    for (size_t i = 0; i < target->data->n_resources; i++) {
        const struct ek_api_row *row = &target->data->resources[i];
        if (!strcmp(row->group, group) && (!resource || !strcmp(row->resource, resource)) &&
            is_served(row_state(row, target->to)))
            return true;
    }
    return false;
}

const char *ek_plan_uses_plural__(const struct ek_plan_target *target,
                                  const struct ek_api_lifecycle *life)
{
    const struct ek_api_lifecycle *other = ek_api_replacement(target->data, life, target->to);

    for (size_t i = 0; i < target->data->n_resources; i++)
        if (is_of(&target->data->resources[i], life, other))
            return target->data->resources[i].resource;
    return NULL;
}

static void look_at_rule(const struct item *it, yyjson_val *rule)
{
    const struct ek_plan_target *target = &it->uses->target;

    for (size_t i = 0; i < target->data->n_kinds; i++) {
        const struct ek_api_lifecycle *life = &target->data->kinds[i];
        if (!goes(target, life) || !*life->group || !names(rule, "apiGroups", life->group))
            continue;
        const char *plural = ek_plan_uses_plural__(target, life);
        if ((plural && names(rule, "resources", plural) &&
             !ek_plan_uses_remains__(target, life->group, plural)) ||
            (names(rule, "resources", "*") && !ek_plan_uses_remains__(target, life->group, NULL))) {
            refer(it, EK_PLAN_USE_RULE, life, "rules");
            return;
        }
    }
}

static void look_at_role(const struct item *it)
{
    size_t i, n;
    yyjson_val *rule;

    yyjson_arr_foreach(ek_json_get(it->value, "rules", NULL), i, n, rule)
    {
        look_at_rule(it, rule);
    }
}

/* A kind of the group version that is served at the version; NULL: none is. */
static const struct ek_api_lifecycle *any_kind(const struct ek_plan_data *data, const char *group,
                                               const char *version, struct ek_minor at)
{
    for (size_t i = 0; i < data->n_kinds; i++) {
        const struct ek_api_lifecycle *life = &data->kinds[i];
        if (!strcmp(life->group, group) && !strcmp(life->version, version) &&
            is_served(ek_api_state_at(life, at)))
            return life;
    }
    return NULL;
}

static void look_at_apiservice(const struct item *it)
{
    const struct ek_plan_target *target = &it->uses->target;
    yyjson_val *spec = yyjson_obj_get(it->value, "spec");
    const char *group = ek_json_text(spec, "group"), *version = ek_json_text(spec, "version");
    bool service = yyjson_is_obj(yyjson_obj_get(spec, "service"));
    bool managed =
        yyjson_obj_get(ek_json_get(it->value, "metadata", "labels", NULL), AUTO_MANAGED) != NULL;
    const struct ek_api_lifecycle *from = any_kind(target->data, group, version, target->from);
    const struct ek_api_lifecycle *to = any_kind(target->data, group, version, target->to);

    if (!(service ? !from && to : from && !to && !managed))
        return;
    struct ek_plan_use *use = need(it, EK_PLAN_USE_APISERVICE, service ? to : from, "APIService");
    if (!use || use->n++)
        return;
    use->object = shown(it);
    use->field = "spec";
    use->serves = service;
}

void ek_plan_uses_item(struct ek_plan_uses *uses, const struct ek_plan_use_list *list,
                       yyjson_val *item)
{
    const struct item it = {uses, list, item};

    look_at_metadata(&it);
    if (list->what == EK_PLAN_USE_SCALERS)
        look_at_scaler(&it);
    else if (list->what == EK_PLAN_USE_ROLES)
        look_at_role(&it);
    else if (list->what == EK_PLAN_USE_APISERVICES)
        look_at_apiservice(&it);
}
