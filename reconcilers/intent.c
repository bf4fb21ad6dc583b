/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/intent.h"

void ek_intents_init(struct ek_intents *intents)
{
    *intents = (struct ek_intents){.doc = ek_json_doc_new()};
}

void ek_intents_done(struct ek_intents *intents)
{
    yyjson_mut_doc_free(intents->doc);
    ek_free(intents->items);
    *intents = (struct ek_intents){0};
}

yyjson_mut_doc *ek_intents_doc(struct ek_intents *intents)
{
    return intents->doc;
}

/* The document's own copy of a text; NULL stays NULL. */
static const char *keep(const struct ek_intents *intents, const char *text)
{
    return text ? yyjson_mut_get_str(yyjson_mut_strcpy(intents->doc, text)) : NULL;
}

/* Appends an intent that is all zero. */
static struct ek_intent *append(struct ek_intents *intents, enum ek_verb verb)
{
    if (intents->n == intents->size) {
        intents->size = intents->size ? 2 * intents->size : 8;
        intents->items = ek_xrealloc(intents->items, intents->size, sizeof *intents->items);
    }
    struct ek_intent *intent = &intents->items[intents->n++];
    *intent = (struct ek_intent){.verb = verb};
    return intent;
}

static struct ek_intent *append_write(struct ek_intents *intents, enum ek_verb verb,
                                      const struct ek_apply_target *target, yyjson_mut_val *content)
{
    struct ek_intent *intent = append(intents, verb);
    const struct ek_resource *resource = target->resource;

    intent->resource = (struct ek_resource){.group = keep(intents, resource->group),
                                            .version = keep(intents, resource->version),
                                            .resource = keep(intents, resource->resource),
                                            .kind = keep(intents, resource->kind),
                                            .namespace = keep(intents, resource->namespace)};
    intent->name = keep(intents, target->name);
    intent->uid = keep(intents, target->uid);
    intent->resource_version = keep(intents, target->resource_version);
    intent->content = content ? content : yyjson_mut_obj(intents->doc);
    return intent;
}

struct ek_intent *ek_intents_create(struct ek_intents *intents,
                                    const struct ek_apply_target *target, yyjson_mut_val *content)
{
    return append_write(intents, EK_CREATE, target, content);
}

struct ek_intent *ek_intents_apply(struct ek_intents *intents, const struct ek_apply_target *target,
                                   yyjson_mut_val *content)
{
    return append_write(intents, EK_APPLY, target, content);
}

struct ek_intent *ek_intents_apply_status(struct ek_intents *intents,
                                          const struct ek_apply_target *target,
                                          yyjson_mut_val *status)
{
    yyjson_mut_val *content = yyjson_mut_obj(intents->doc);

    yyjson_mut_obj_add_val(intents->doc, content, "status", status);
    return append_write(intents, EK_APPLY_STATUS, target, content);
}

struct ek_intent *ek_intents_patch(struct ek_intents *intents, const struct ek_apply_target *target,
                                   yyjson_mut_val *content)
{
    return append_write(intents, EK_PATCH, target, content);
}

struct ek_intent *ek_intents_patch_status(struct ek_intents *intents,
                                          const struct ek_apply_target *target,
                                          yyjson_mut_val *content)
{
    return append_write(intents, EK_PATCH_STATUS, target, content);
}

struct ek_intent *ek_intents_delete(struct ek_intents *intents,
                                    const struct ek_apply_target *target)
{
    return append_write(intents, EK_DELETE, target, NULL);
}

struct ek_intent *ek_intents_list(struct ek_intents *intents, const struct ek_resource *resource)
{
    const struct ek_apply_target target = {.resource = resource, .name = ""};
    struct ek_intent *intent = append_write(intents, EK_LIST, &target, NULL);

    intent->resource.field_selector = keep(intents, resource->field_selector);
    return intent;
}

struct ek_intent *ek_intents_event(struct ek_intents *intents, const struct ek_event *event)
{
    struct ek_intent *intent = append(intents, EK_EVENT);
    const struct ek_event_regarding *about = &event->regarding;

    intent->event =
        (struct ek_event){.regarding = {.api_version = keep(intents, about->api_version),
                                        .kind = keep(intents, about->kind),
                                        .namespace = keep(intents, about->namespace),
                                        .name = keep(intents, about->name),
                                        .uid = keep(intents, about->uid),
                                        .resource_version = keep(intents, about->resource_version)},
                          .warning = event->warning,
                          .reason = keep(intents, event->reason),
                          .action = keep(intents, event->action),
                          .note = keep(intents, event->note)};
    return intent;
}

struct ek_intent *ek_intents_depend(struct ek_intent *intent)
{
    intent->depends = true;
    return intent;
}

void ek_intents_weigh(struct ek_intents *intents, size_t bytes)
{
    intents->bytes += bytes;
}

bool ek_intents_is_full(const struct ek_intents *intents)
{
    return intents->n >= EK_INTENTS_MAX || intents->bytes >= EK_INTENTS_BYTES;
}

void ek_intents_again(struct ek_intents *intents, int64_t ms)
{
    if (ms > 0 && (!intents->again_ms || ms < intents->again_ms))
        intents->again_ms = ms;
}

void ek_intents_fail(struct ek_intents *intents, const struct ek_err *err)
{
    if (err && err->code && !intents->failure.code)
        intents->failure = *err;
}

enum ek_apply_class ek_apply_classify(const struct ek_err *err)
{
    switch (err ? err->code : 0) {
    case 0:
        return EK_APPLY_DONE;
    case EK_E_CONFLICT:
    case EK_E_EXIST:
        return EK_APPLY_CONFLICT;
    case EK_E_NOENT:
        return EK_APPLY_ABSENT;
    case EK_E_UNAUTHORIZED:
    case EK_E_FORBIDDEN:
        return EK_APPLY_DENIED;
    case EK_E_INVAL:
    case EK_E_UNSUPPORTED:
    case EK_E_LIMIT:
        return EK_APPLY_TERMINAL;
    case EK_E_HTTP:
        /* 413 and 415: the body itself is refused */
        return err->http_status == 413 || err->http_status == 415 ? EK_APPLY_TERMINAL
                                                                  : EK_APPLY_LATER;
    default:
        return EK_APPLY_LATER;
    }
}
