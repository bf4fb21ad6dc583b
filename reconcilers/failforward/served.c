/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/served.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/semver.h"

#define TRIED ">=0.46.0 <0.47.0-0"

static const char *const paths[] = {
    "/apis/" EK_FF_OLM_GROUP "/v1alpha1", "/apis/" EK_FF_OLM_GROUP "/v1alpha2",
    "/apis/" EK_FF_OLM_GROUP "/v1",       "/apis/" EK_FF_OLM_GROUP "/v2",
    "/apis/evenkeel.dev/v1alpha1",
};
static const char *const versions[] = {"v1alpha1", "v1alpha2", "v1", "v2", NULL};

const char *ek_ff_served_path(size_t i)
{
    return i < EK_ARRAY_SIZE(paths) ? paths[i] : NULL;
}

static bool has(yyjson_val *document, const char *resource)
{
    yyjson_val *entry;
    size_t i, n;

    yyjson_arr_foreach(ek_json_get(document, "resources", NULL), i, n, entry)
    {
        if (yyjson_equals_str(yyjson_obj_get(entry, "name"), resource))
            return true;
    }
    return false;
}

bool ek_ff_served_note(struct ek_ff_served *served, size_t i, yyjson_val *document)
{
    if (i == 0) {
        *served = (struct ek_ff_served){0};
        return has(document, "subscriptions") && has(document, "installplans") &&
               has(document, "clusterserviceversions") && has(document, "catalogsources");
    }
    if (!versions[i]) {
        served->olm = served->groups_version != NULL;
        served->reports =
            has(document, "failforwardpolicies") && has(document, "failforwardstatuses");
        return false;
    }
    if (has(document, "operatorgroups"))
        served->groups_version = versions[i];
    if (has(document, "operatorconditions"))
        served->conditions_version = versions[i];
    return true;
}

bool ek_ff_is_olm_namespace(const char *name)
{
    return !strcmp(name, "olm") || !strcmp(name, "openshift-operator-lifecycle-manager");
}

bool ek_ff_is_catalog_namespace(const char *name)
{
    return !strcmp(name, "olm") || !strcmp(name, "openshift-marketplace");
}

const char *ek_ff_olm_version(const struct ek_ff_objs *csvs)
{
    for (size_t i = 0; i < csvs->n; i++) {
        const struct ek_obj *csv = csvs->items[i];
        if (strcmp(ek_obj_name(csv), "packageserver") != 0 ||
            !ek_ff_is_olm_namespace(ek_obj_namespace(csv)))
            continue;
        return ek_json_text(ek_json_get(ek_obj_root(csv), "spec", NULL), "version");
    }
    return "";
}

bool ek_ff_olm_is_tried(const char *version)
{
    struct ek_semver parsed;
    bool within = false;

    return !ek_semver_parse(ek_str_from(version), EK_SEMVER_TOLERANT, &parsed) &&
           !ek_semver_within(ek_str_from(TRIED), &parsed, &within) && within;
}
