/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/failforward/kept.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"

static struct ek_ff_kept_item *find(const struct ek_ff_kept_list *list, const char *uid)
{
    for (size_t i = 0; i < list->n; i++)
        if (!strcmp(list->items[i].uid, uid))
            return &list->items[i];
    return NULL;
}

const struct ek_ff_kept *ek_ff_kept_get(const struct ek_ff_kept_list *list, const char *uid)
{
    const struct ek_ff_kept_item *item = find(list, uid);
    return item ? &item->kept : NULL;
}

static struct ek_ff_kept_item *add(struct ek_ff_kept_list *list, const char *uid)
{
    list->items = ek_xrealloc(list->items, list->n + 1, sizeof *list->items);
    struct ek_ff_kept_item *item = &list->items[list->n++];
    *item = (struct ek_ff_kept_item){.uid = ek_xstrdup(uid)};
    return item;
}

static void refuse(struct ek_ff_kept_item *item, const char *why, int64_t until_ms)
{
    struct ek_str text = ek_str_from(why);

    snprintf(item->kept.refused, sizeof item->kept.refused, "%.*s",
             (int)ek_utf8_cut(text, sizeof item->kept.refused - 1), text.p);
    item->kept.until_ms = until_ms;
    item->n_conflicts = 0;
}

enum ek_apply_class ek_ff_kept_fail(struct ek_ff_kept_list *list, const char *uid,
                                    const struct ek_ff_memory *undone, const struct ek_err *err,
                                    int64_t now_ms)
{
    enum ek_apply_class class = ek_apply_classify(err);
    struct ek_ff_kept_item *item;

    if (class == EK_APPLY_DONE || class == EK_APPLY_LATER)
        return class; /* the write may have been carried out */
    item = find(list, uid);
    if (!item)
        item = add(list, uid);
    item->kept.undone = true;
    item->kept.memory = *undone;
    if (class == EK_APPLY_DENIED || class == EK_APPLY_TERMINAL)
        refuse(item, err->message, now_ms + EK_FF_REFUSED_MS);
    else if (++item->n_conflicts >= EK_FF_CONFLICTS_MAX)
        refuse(item, "the object changes all the time", now_ms + EK_FF_CONFLICT_MS);
    return class;
}

void ek_ff_kept_remembered(struct ek_ff_kept_list *list, const char *uid)
{
    struct ek_ff_kept_item *item = find(list, uid);

    if (item)
        item->kept.undone = false;
}

void ek_ff_kept_forget(struct ek_ff_kept_list *list, const char *uid)
{
    struct ek_ff_kept_item *item = find(list, uid);

    if (!item)
        return;
    ek_free(item->uid);
    *item = list->items[--list->n];
}

void ek_ff_kept_done(struct ek_ff_kept_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        ek_free(list->items[i].uid);
    ek_free(list->items);
    *list = (struct ek_ff_kept_list){0};
}
