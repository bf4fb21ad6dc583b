/* SPDX-License-Identifier: Apache-2.0 */
/* Lists that are sets or maps have no item twice: apiextensions-apiserver 1.36,
 * pkg/apiserver/schema/listtype/validation.go. Embedded resources have a kind: objectmeta. */
#include <string.h>

#include "api/names.h"
#include "api/obj.h"
#include "api/objectmeta.h"
#include "api/validation/validation-internal.h"

/* A value as JSON in the arena. exact: 1.0 is not 1, as float64 and int64 are not in Go. */
static const char *text_of(struct ek_vwalk *w, yyjson_val *value, bool exact)
{
    const char *text = ek_vjson__(w, value);
    return exact && yyjson_is_real(value) ? ek_arena_printf(w->arena, "%s.", text) : text;
}

const char *ek_videntity__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *item, bool is_map,
                           bool exact)
{
    yyjson_val *key, *keys = yyjson_obj_get(schema, "x-kubernetes-list-map-keys");
    EK_AUTO(ek_buf) out;
    size_t i, n, n_found = 0;

    ek_buf_init(&out, (size_t)1 << 20);
    if (!is_map)
        return text_of(w, item, exact);
    if (!yyjson_is_obj(item) && !yyjson_is_null(item))
        return NULL;
    ek_buf_puts(&out, "{");
    yyjson_arr_foreach(keys, i, n, key)
    {
        yyjson_val *value = yyjson_obj_get(item, yyjson_get_str(key));
        if (value)
            ek_buf_printf(&out, "%s%s:%s", n_found++ ? "," : "", ek_vjson__(w, key),
                          text_of(w, value, exact));
    }
    ek_buf_puts(&out, "}");
    return ek_arena_strdup(w->arena, ek_buf_str(&out));
}

static void check_list(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *list,
                       const struct ek_vpath *path)
{
    static char once, twice;
    const char *type = ek_json_text(schema, "x-kubernetes-list-type");
    bool is_map = !strcmp(type, "map");
    struct ek_map seen;
    yyjson_val *item;
    size_t i, n;

    if (!is_map && strcmp(type, "set") != 0)
        return;
    ek_map_init(&seen);
    yyjson_arr_foreach(list, i, n, item)
    {
        const struct ek_vpath at = {.up = path, .step = EK_VSTEP_INDEX, .index = i};
        const char *id = ek_videntity__(w, schema, item, is_map, true);
        if (!ek_work_do(w->work, 4))
            break;
        if (!id) {
            ek_verror__(w, ek_vpath_text__(w, &at, true),
                        "Invalid value: %s: must be an object for an array of list-type map",
                        ek_vtext__(w, item));
            break;
        }
        const void *before = ek_map_get(&seen, id);
        if (before == &once)
            ek_verror__(w, ek_vpath_text__(w, &at, true), "Duplicate value: %s",
                        w->hides ? "<value>" : ek_videntity__(w, schema, item, is_map, false));
        ek_map_put(&seen, id, before ? &twice : &once);
    }
    ek_map_done(&seen);
}

/* ---- Embedded resources ---- */

static const char *below(struct ek_vwalk *w, const struct ek_vpath *path, const char *name)
{
    const struct ek_vpath at = {.up = path, .step = EK_VSTEP_FIELD, .name = ek_str_from(name)};
    return ek_vkeeps__(w) ? ek_vpath_text__(w, &at, true) : "";
}

/* apimachinery/pkg/runtime/schema/group_version.go:ParseGroupVersion. */
static void check_api_version(struct ek_vwalk *w, yyjson_val *value, const struct ek_vpath *path)
{
    const char *text = yyjson_get_str(value), *slash = strchr(text, '/');

    if (slash && strchr(slash + 1, '/'))
        ek_verror__(w, below(w, path, "apiVersion"),
                    "Invalid value: %s: unexpected GroupVersion string: %s", ek_vtext__(w, value),
                    w->hides ? "<value>" : text);
}

/* A kind in small letters. One that is too long stays so when it is cut. */
static void check_kind(struct ek_vwalk *w, yyjson_val *value, const struct ek_vpath *path)
{
    const char *wrong[EK_NAME_ERRORS_MAX], *text = yyjson_get_str(value);
    char small[256];
    size_t n = 0, n_wrong;

    for (; text[n] && n + 1 < sizeof small; n++)
        small[n] = (char)(text[n] >= 'A' && text[n] <= 'Z' ? text[n] + 'a' - 'A' : text[n]);
    n_wrong = ek_name_check(EK_NAME_DNS1035_LABEL, (struct ek_str){small, n}, wrong);
    if (n_wrong)
        ek_verror__(w, below(w, path, "kind"),
                    "Invalid value: %s: may have mixed case, but should otherwise match: %s%s%s",
                    ek_vtext__(w, value), wrong[0], n_wrong > 1 ? "," : "",
                    n_wrong > 1 ? wrong[1] : "");
}

static void check_names(struct ek_field_errors *errors, yyjson_val *metadata, const char *at)
{
    const char *namespace = ek_json_text(metadata, "namespace"), *wrong[EK_NAME_ERRORS_MAX];

    /* A resource in another may have no name. */
    if (*ek_json_text(metadata, "name") || *ek_json_text(metadata, "generateName"))
        ek_validate_object_name(errors, metadata, EK_NAME_PATH_SEGMENT, at);
    size_t n = *namespace ? ek_name_check(EK_NAME_DNS1123_LABEL, ek_str_from(namespace), wrong) : 0;
    for (size_t i = 0; i < n; i++)
        ek_field_invalid(errors, ek_field_quote(errors, namespace), wrong[i], "%s.namespace", at);
    yyjson_val *generation = yyjson_obj_get(metadata, "generation");
    if (yyjson_get_sint(generation) < 0)
        ek_field_invalid(
            errors, ek_arena_printf(errors->arena, "%lld", (long long)yyjson_get_sint(generation)),
            "must be greater than or equal to 0", "%s.generation", at);
    ek_validate_object_meta(errors, metadata, at);
}

static void check_embedded_metadata(struct ek_vwalk *w, yyjson_val *metadata,
                                    const struct ek_vpath *path)
{
    struct ek_field_errors found = {.arena = w->arena};
    size_t before = w->errors ? w->errors->n : 0;

    if (!yyjson_is_obj(metadata) || !ek_vkeeps__(w) || ek_arena_exhausted(w->arena))
        return;
    check_names(&found, metadata, "metadata");
    if (!found.n)
        return;
    if (w->hides) {
        ek_vunknown__(w, path, "the metadata of an embedded resource is not evaluated");
        return;
    }
    check_names(w->errors, metadata, below(w, path, "metadata"));
    w->n_failed += w->errors->n - before;
}

/* pkg/apiserver/schema/objectmeta/validation.go:validateEmbeddedResource. */
static void check_embedded(struct ek_vwalk *w, yyjson_val *value, const struct ek_vpath *path)
{
    static const char *const names[] = {"apiVersion", "kind"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        yyjson_val *text = yyjson_obj_get(value, names[i]);
        if (!yyjson_is_str(text)) {
            w->n_blocking++;
            ek_verror__(w, below(w, path, names[i]), "Required value");
        } else if (!yyjson_get_len(text)) {
            ek_verror__(w, below(w, path, names[i]), "Invalid value: \"\": must not be empty");
        } else if (i == 0) {
            check_api_version(w, text, path);
        } else {
            check_kind(w, text, path);
        }
    }
    check_embedded_metadata(w, yyjson_obj_get(value, "metadata"), path);
}

/* ---- All values ---- */

typedef void check_fn(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                      const struct ek_vpath *path);

static void each(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                 const struct ek_vpath *path, check_fn *check)
{
    yyjson_val *key, *member, *items = yyjson_obj_get(schema, "items");
    size_t i, n;

    if (!yyjson_is_ctn(value) || !ek_work_do(w->work, 1))
        return;
    check(w, schema, value, path);
    yyjson_arr_foreach(yyjson_is_arr(value) && yyjson_is_obj(items) ? value : NULL, i, n, member)
    {
        const struct ek_vpath at = {.up = path, .step = EK_VSTEP_INDEX, .index = i};
        each(w, items, member, &at, check);
    }
    ek_json_each_member(yyjson_is_obj(value) ? value : NULL, i, n, key, member)
    {
        struct ek_vpath at = {.up = path};
        bool is_key;
        at.name = (struct ek_str){yyjson_get_str(key), yyjson_get_len(key)};
        yyjson_val *of = ek_vmember__(w->work, schema, at.name, &is_key);
        at.step = is_key ? EK_VSTEP_KEY : EK_VSTEP_FIELD;
        if (of)
            each(w, of, member, &at, check);
    }
}

static void check_resource(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                           const struct ek_vpath *path)
{
    if (yyjson_is_obj(value) &&
        yyjson_is_true(yyjson_obj_get(schema, "x-kubernetes-embedded-resource")))
        check_embedded(w, value, path);
}

void ek_vembedded__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                    const struct ek_vpath *path)
{
    each(w, schema, value, path, check_resource);
}

static void check_items(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                        const struct ek_vpath *path)
{
    if (yyjson_is_arr(value))
        check_list(w, schema, value, path);
}

void ek_vlists__(struct ek_vwalk *w, yyjson_val *schema, yyjson_val *value,
                 const struct ek_vpath *path)
{
    each(w, schema, value, path, check_items);
}
