/* SPDX-License-Identifier: Apache-2.0 */
/* Versions and subresources of the kinds that files and this program know. */
#include <string.h>

#include "controller/manifests/manifests-internal.h"

typedef bool equivalent_fn(void *fn_arg, const struct ek_gvr *other, const struct ek_gvk *kind);

/* The definition of a resource, whatever its version; NULL for none. */
static yyjson_val *find_crd(const struct ek_ci *ci, const struct ek_gvr *resource)
{
    for (size_t i = 0; i < ci->crds.n; i++) {
        yyjson_val *spec = yyjson_obj_get(ci->crds.list[i].value, "spec");
        const char *group = ek_json_str(spec, "group", NULL);
        const char *plural = ek_json_str(spec, "names", "plural", NULL);
        if (group && plural && !strcmp(group, resource->group) &&
            !strcmp(plural, resource->resource))
            return spec;
    }
    return NULL;
}

yyjson_val *ek_ci_crd_of(const struct ek_ci *ci, const struct ek_gvk *kind)
{
    for (size_t i = 0; i < ci->crds.n; i++) {
        yyjson_val *spec = yyjson_obj_get(ci->crds.list[i].value, "spec");
        if (!strcmp(ek_json_text(spec, "group"), kind->group) &&
            !strcmp(ek_json_text(yyjson_obj_get(spec, "names"), "kind"), kind->kind))
            return ci->crds.list[i].value;
    }
    return NULL;
}

static bool is_served(yyjson_val *version)
{
    return yyjson_get_str(yyjson_obj_get(version, "name")) &&
           yyjson_is_true(yyjson_obj_get(version, "served"));
}

yyjson_val *ek_ci_crd_subresource(const struct ek_ci *ci, const struct ek_gvr *resource,
                                  const char *subresource)
{
    yyjson_val *spec = find_crd(ci, resource), *version;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), i, n, version)
    {
        if (is_served(version) &&
            !strcmp(yyjson_get_str(yyjson_obj_get(version, "name")), resource->version))
            return ek_json_get(version, "subresources", subresource, NULL);
    }
    return NULL;
}

static void each_version(const struct ek_ci *ci, yyjson_val *spec, const struct ek_gvr *resource,
                         const char *subresource, equivalent_fn *fn, void *fn_arg)
{
    const char *kind = ek_json_str(spec, "names", "kind", NULL);
    yyjson_val *version;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(spec, "versions"), i, n, version)
    {
        const char *name = ek_json_str(version, "name", NULL);
        if (!kind || !is_served(version) || !strcmp(name, resource->version))
            continue;
        struct ek_gvr other = {resource->group, name, resource->resource};
        struct ek_gvk its_kind = {resource->group, name, kind};
        if (*subresource && !ek_ci_crd_subresource(ci, &other, subresource))
            continue;
        if (!strcmp(subresource, "scale"))
            its_kind = (struct ek_gvk){"autoscaling", "v1", "Scale"};
        if (fn(fn_arg, &other, &its_kind))
            return;
    }
}

/* Whether a row is that resource, or subresource, of any group. */
static bool is_named(const struct ek_builtin_resource *row, const char *resource,
                     const char *subresource)
{
    size_t len = strlen(resource);

    return !strncmp(row->resource, resource, len) &&
           (*subresource
                ? row->resource[len] == '/' && !strcmp(row->resource + len + 1, subresource)
                : row->resource[len] == '\0');
}

const struct ek_builtin_resource *ek_ci_builtin_subresource(const struct ek_ci *ci,
                                                            const struct ek_gvr *resource,
                                                            const char *subresource)
{
    size_t n;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);

    for (size_t i = 0; i < n; i++)
        if (ek_builtin_serves(&all[i], ci->minor) && !strcmp(all[i].group, resource->group) &&
            !strcmp(all[i].version, resource->version) &&
            is_named(&all[i], resource->resource, subresource))
            return &all[i];
    return NULL;
}

/* API servers take built-in resources of one name for one, because they are stored in one place. */
static void each_builtin(const struct ek_ci *ci, const struct ek_gvr *resource,
                         const char *subresource, equivalent_fn *fn, void *fn_arg)
{
    size_t n;
    const struct ek_builtin_resource *all = ek_builtin_resources(&n);

    if (!ek_ci_builtin_subresource(ci, resource, subresource))
        return;
    for (size_t i = 0; i < n; i++) {
        if (!ek_builtin_serves(&all[i], ci->minor) ||
            !is_named(&all[i], resource->resource, subresource) ||
            (!strcmp(all[i].group, resource->group) && !strcmp(all[i].version, resource->version)))
            continue;
        if (fn(fn_arg, &(struct ek_gvr){all[i].group, all[i].version, resource->resource},
               &(struct ek_gvk){all[i].kind_group, all[i].kind_version, all[i].kind}))
            return;
    }
}

void ek_ci_each_equivalent(void *arg, const struct ek_gvr *resource, const char *subresource,
                           bool (*fn)(void *fn_arg, const struct ek_gvr *other,
                                      const struct ek_gvk *kind),
                           void *fn_arg)
{
    const struct ek_ci *ci = arg;
    yyjson_val *spec = find_crd(ci, resource);

    if (spec)
        each_version(ci, spec, resource, subresource, fn, fn_arg);
    else
        each_builtin(ci, resource, subresource, fn, fn_arg);
}
