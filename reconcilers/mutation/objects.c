/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/objects.h"

#include <string.h>

#include "api/schema/merge.h"
#include "reconcilers/mutation/extended.h"

struct objects_val {
    struct ek_cel_opaque opaque;
    const struct ek_objects *objects;
    struct ek_arena *arena; /* of the run: also for the notes of applications */
};

struct removal_val {
    struct ek_cel_opaque opaque;
    struct ek_cel_val item;
};

static const struct ek_cel_opaque_kind objects_kind = {.name = EK_OBJECTS_TYPE};
static const struct ek_cel_opaque_kind removal_kind = {.name = "evenkeel.Removal"};

struct ek_cel_val ek_objects_val(const struct ek_objects *objects, struct ek_arena *arena)
{
    struct objects_val *value = ek_arena_alloc(arena, sizeof *value);

    *value = (struct objects_val){{&objects_kind}, objects, arena};
    return ek_cel_opaque_val(&value->opaque);
}

const struct ek_cel_val *ek_objects_removed(const struct ek_cel_val *value)
{
    return ek_cel_is_opaque(value, &removal_kind)
               ? &((const struct removal_val *)(const void *)value->opaque)->item
               : NULL;
}

static struct ek_cel_val do_remove(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                   uint32_t n)
{
    struct removal_val *value = ek_cel_alloc(eval, sizeof *value);

    (void)n;
    if (!value)
        return ek_cel_no_memory(eval);
    *value = (struct removal_val){{&removal_kind}, args[1]};
    return ek_cel_opaque_val(&value->opaque);
}

/* ---- Documents in the evaluation's memory ---- */

static void *take(void *ctx, size_t size)
{
    return ek_cel_alloc(ctx, size);
}

static void *retake(void *ctx, void *p, size_t old_size, size_t size)
{
    void *more = size > old_size ? ek_cel_alloc(ctx, size) : p;

    return more && more != p ? memcpy(more, p, old_size) : more;
}

static void drop(void *ctx, void *p)
{
    (void)ctx;
    (void)p;
}

/* ---- objects.apply ---- */

/* The type that a patch of that type name is for. */
static int find_type(const struct ek_objects *objects, const char *name, uint32_t *ret_type,
                     struct ek_err *err)
{
    const char *path = name + strlen("Object");

    if (objects->type == EK_SCHEMA_NONE)
        return ek_err_set(err, EK_E_NOENT, "the kind of the object has no schema");
    int rc = ek_schema_resolve(objects->schema, objects->type, ek_str_from(path + (*path == '.')),
                               ret_type, err);
    if (rc)
        return rc;
    const struct ek_schema_type *type = ek_schema_type(objects->schema, *ret_type);
    if (type->list != EK_LIST_NONE && type->map == EK_MAP_NONE)
        *ret_type = type->item;
    return 0;
}

static int merge(const struct objects_val *value, const struct ek_cel_val *patch,
                 yyjson_mut_doc *doc, yyjson_mut_val *live, struct ek_buf *text, struct ek_err *err)
{
    const struct ek_objects *objects = value->objects;
    struct ek_merge_patch made = {0};
    uint32_t type = EK_SCHEMA_NONE;

    int rc = find_type(objects, ek_cel_struct_type(patch), &type, err);
    if (!rc)
        rc = ek_merge_validate(objects->schema, type, live, EK_MERGE_DUPLICATES, objects->work,
                               text, err);
    if (!rc)
        rc = ek_extended_patch(patch, objects->schema, type, doc, value->arena, objects->work,
                               &made, err);
    made.work = objects->work;
    return rc ? rc
              : ek_merge_apply(objects->schema, type, doc, live, &made, objects->flags, text, err);
}

static struct ek_cel_val apply_in(struct ek_cel_eval *eval, const struct objects_val *objects,
                                  const struct ek_cel_val *args, yyjson_mut_doc *doc,
                                  const yyjson_alc *alc)
{
    struct ek_err err = {0};
    EK_AUTO(ek_buf) text;
    yyjson_mut_val *live =
        ek_cel_to_json(&args[1], EK_CEL_JSON_PLAIN, doc, objects->objects->work, &err);

    ek_buf_init(&text, EK_MERGE_TEXT_MAX);
    int rc = live ? merge(objects, &args[2], doc, live, &text, &err) : EK_E_INVAL;
    if (rc == EK_E_NOMEM)
        return ek_cel_no_memory(eval);
    if (rc)
        return ek_cel_fail(eval, "objects.apply: %s", err.message);
    yyjson_doc *result = yyjson_mut_val_imut_copy(live, alc);
    return result ? ek_cel_from_json(yyjson_doc_get_root(result)) : ek_cel_no_memory(eval);
}

static struct ek_cel_val do_apply(struct ek_cel_eval *eval, const struct ek_cel_val *args,
                                  uint32_t n)
{
    const struct objects_val *objects = (const struct objects_val *)(const void *)args[0].opaque;
    const yyjson_alc alc = {take, retake, drop, eval};
    yyjson_mut_doc *doc;

    if (!ek_cel_is_opaque(&args[0], &objects_kind) ||
        (args[1].kind != EK_CEL_MAP && args[1].kind != EK_CEL_STRUCT))
        return ek_cel_no_overload(eval, "apply", args, n);
    if (args[2].kind != EK_CEL_STRUCT || strncmp(ek_cel_struct_type(&args[2]), "Object", 6) != 0)
        return ek_cel_fail(eval, "objects.apply: the patch must be an Object, whose type's name "
                                 "says where it belongs, such as Object.spec.widgets{...}");
    doc = yyjson_mut_doc_new(&alc);
    return doc ? apply_in(eval, objects, args, doc, &alc) : ek_cel_no_memory(eval);
}

/* Values lie one after the other, those of a container behind it. */
static uint64_t apply_cost(const struct ek_cel_val *args, uint32_t n,
                           const struct ek_cel_val *result)
{
    (void)args;
    (void)n;
    if (result->kind != EK_CEL_MAP || result->form != EK_CEL_JSON)
        return 1;
    return (uint64_t)(unsafe_yyjson_get_next(result->json) - result->json);
}

/* ---- The library ---- */

static const struct ek_cel_overload apply_overloads[] = {
    {.id = "evenkeel_objects_apply",
     .signature = EK_OBJECTS_TYPE ", dyn, T -> dyn",
     .flags = EK_CEL_MEMBER,
     .fn = do_apply,
     .cost = apply_cost},
    {0},
};

/* The result takes the type of the item, so that it may stand beside others in a list. */
static const struct ek_cel_overload remove_overloads[] = {
    {.id = "evenkeel_objects_remove",
     .signature = EK_OBJECTS_TYPE ", T -> T",
     .flags = EK_CEL_MEMBER,
     .fn = do_remove},
    {0},
};

static const struct ek_cel_function functions[] = {
    {.name = "apply", .overloads = apply_overloads},
    {.name = "remove", .overloads = remove_overloads},
    {0},
};

static const struct ek_cel_opaque_kind *const types[] = {&objects_kind, &removal_kind, NULL};

const struct ek_cel_library ek_objects_library = {
    .name = "evenkeel.objects", .functions = functions, .types = types};
