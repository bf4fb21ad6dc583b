/* SPDX-License-Identifier: Apache-2.0 */
/* What an object uses that a version does not know: collected in guard_news.c. */
#ifndef RECONCILERS_PLAN_GUARD_INTERNAL_H
#define RECONCILERS_PLAN_GUARD_INTERNAL_H

#include "reconcilers/plan/guard.h"

struct ek_guard_news {
    const char *rule;  /* constant, as of a plan: "field-rollback" */
    const char *key;   /* the place without indices: the same place of another list item */
    const char *field; /* the first place; "" for the object */
    const char *text;  /* what the version does not know */
    size_t n;          /* places */
    bool runs;         /* the version runs what is stored, and refuses a new one */
};

struct ek_guard_list {
    struct ek_guard_news list[EK_GUARD_NEWS_MAX];
    size_t n;
    bool more;   /* there was no room for others */
    bool failed; /* the object was not looked at to its end */
};

/* Collects of object what back does not know and a later version up to newest does. */
void ek_guard_collect__(const struct ek_plan_target *target, yyjson_val *object,
                        struct ek_arena *arena, struct ek_work *work, struct ek_guard_list *ret);

#endif
