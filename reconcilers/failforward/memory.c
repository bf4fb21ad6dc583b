/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/memory.h"

#include <stdio.h>
#include <string.h>

#include "api/base/time.h"

#define COUNT_MAX 1000000

const char *ek_ff_act_name(enum ek_ff_act act)
{
    static const char *const names[EK_FF_ACT_MAX] = {
        [EK_FF_NO_ACT] = "",
        [EK_FF_POKE] = "Resolve",
        [EK_FF_REOPEN] = "Retry",
        [EK_FF_REDO_LOST] = "RetryLostObjects",
        [EK_FF_REDO_CSV] = "RetryClusterServiceVersion",
        [EK_FF_SWITCH] = "SwitchOn",
        [EK_FF_PIN] = "Hold",
        [EK_FF_RELEASE] = "Release",
        [EK_FF_APPROVE] = "Approve",
        [EK_FF_STAND_IN] = "StandIn",
        [EK_FF_CLEAR] = "Clear",
        [EK_FF_DELETE] = "Delete",
        [EK_FF_REINSTATE] = "Reinstate",
        [EK_FF_UNPIN] = "EndHold",
        [EK_FF_UNSWITCH] = "SwitchOff",
    };
    return names[act];
}

static void read_name(yyjson_val *object, const char *member, char name[EK_FF_NAME_MAX])
{
    const char *text = ek_json_text(object, member);

    if (strlen(text) < EK_FF_NAME_MAX)
        snprintf(name, EK_FF_NAME_MAX, "%s", text);
}

/* 0 where the time is absent. */
static int64_t read_time(yyjson_val *object, const char *member, int64_t now_ms)
{
    int64_t ms = ek_time_parse(ek_json_text(object, member));

    if (ms == EK_TIME_UNSET)
        return 0;
    return ms < now_ms ? ms : now_ms;
}

static unsigned read_count(yyjson_val *object, const char *member)
{
    yyjson_val *value = ek_json_get(object, member, NULL);
    int64_t n = yyjson_is_int(value) ? yyjson_get_sint(value) : 0;

    return n < 0 ? 0 : n < COUNT_MAX ? (unsigned)n : COUNT_MAX;
}

static void read_writes(yyjson_val *object, int64_t now_ms, struct ek_ff_tries acts[EK_FF_ACT_MAX])
{
    yyjson_val *entry;
    size_t i, n;

    yyjson_arr_foreach(ek_json_get(object, "writes", NULL), i, n, entry)
    {
        const char *name = ek_json_text(entry, "name");
        for (int act = EK_FF_POKE; act < EK_FF_ACT_MAX; act++)
            if (!strcmp(name, ek_ff_act_name((enum ek_ff_act)act))) {
                acts[act].n = read_count(entry, "count");
                acts[act].last_ms = read_time(entry, "lastTime", now_ms);
            }
    }
}

void ek_ff_memory_read(yyjson_val *episode, int64_t now_ms, struct ek_ff_memory *ret_memory)
{
    struct ek_ff_memory *m = ret_memory;
    yyjson_val *entry;
    size_t i, n;

    *m = (struct ek_ff_memory){0};
    read_name(episode, "failing", m->failing);
    m->since_ms = ek_time_parse(ek_json_text(episode, "since"));
    if (m->since_ms == EK_TIME_UNSET)
        m->failing[0] = '\0';
    if (m->since_ms == EK_TIME_UNSET || m->since_ms > now_ms)
        m->since_ms = *m->failing ? now_ms : 0;
    read_name(episode, "held", m->pinned);
    m->switched = yyjson_is_true(ek_json_get(episode, "switched", NULL));
    m->recovered = yyjson_is_true(ek_json_get(episode, "recovered", NULL));
    m->changed_ms = *m->failing ? read_time(episode, "catalogChanged", now_ms) : 0;
    m->hops = read_count(episode, "hops");
    m->hops_ms = read_time(episode, "hopsSince", now_ms);
    read_writes(episode, now_ms, m->acts);
    yyjson_arr_foreach(ek_json_get(episode, "before", NULL), i, n, entry)
    {
        if (i == EK_FF_PAST_MAX || !*m->failing)
            break;
        read_name(entry, "failing", m->past[i].failing);
        read_writes(entry, now_ms, m->past[i].acts);
    }
}

static void put_time(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *member, int64_t ms)
{
    char time[EK_TIME_SIZE];

    if (ms > 0)
        yyjson_mut_obj_add_strcpy(doc, object, member, ek_time_format(ms, time));
}

static void put_writes(yyjson_mut_doc *doc, yyjson_mut_val *object,
                       const struct ek_ff_tries acts[EK_FF_ACT_MAX])
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);

    for (int act = EK_FF_POKE; act < EK_FF_ACT_MAX; act++) {
        if (!acts[act].n)
            continue;
        yyjson_mut_val *entry = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_str(doc, entry, "name", ek_ff_act_name((enum ek_ff_act)act));
        yyjson_mut_obj_add_uint(doc, entry, "count", acts[act].n);
        put_time(doc, entry, "lastTime", acts[act].last_ms);
    }
    if (yyjson_mut_arr_size(list))
        yyjson_mut_obj_add_val(doc, object, "writes", list);
}

/* A version without a write has nothing to remember. */
static void put_past(yyjson_mut_doc *doc, yyjson_mut_val *episode, const struct ek_ff_memory *m)
{
    yyjson_mut_val *list = yyjson_mut_arr(doc);

    for (size_t i = 0; *m->failing && i < EK_FF_PAST_MAX; i++) {
        yyjson_mut_val *entry = yyjson_mut_obj(doc);
        put_writes(doc, entry, m->past[i].acts);
        if (!*m->past[i].failing || !yyjson_mut_obj_size(entry))
            continue;
        yyjson_mut_obj_add_strcpy(doc, entry, "failing", m->past[i].failing);
        yyjson_mut_arr_append(list, entry);
    }
    if (yyjson_mut_arr_size(list))
        yyjson_mut_obj_add_val(doc, episode, "before", list);
}

yyjson_mut_val *ek_ff_memory_write(yyjson_mut_doc *doc, const struct ek_ff_memory *memory)
{
    yyjson_mut_val *episode = yyjson_mut_obj(doc);
    char since[EK_TIME_SIZE];

    if (*memory->failing) { /* without its begin a failure would be forgotten, and its writes */
        yyjson_mut_obj_add_strcpy(doc, episode, "failing", memory->failing);
        yyjson_mut_obj_add_strcpy(doc, episode, "since", ek_time_format(memory->since_ms, since));
    }
    if (*memory->pinned)
        yyjson_mut_obj_add_strcpy(doc, episode, "held", memory->pinned);
    if (memory->switched)
        yyjson_mut_obj_add_bool(doc, episode, "switched", true);
    if (memory->recovered)
        yyjson_mut_obj_add_bool(doc, episode, "recovered", true);
    put_time(doc, episode, "catalogChanged", memory->changed_ms);
    if (memory->hops) {
        yyjson_mut_obj_add_uint(doc, episode, "hops", memory->hops);
        put_time(doc, episode, "hopsSince", memory->hops_ms);
    }
    put_writes(doc, episode, memory->acts);
    put_past(doc, episode, memory);
    return yyjson_mut_obj_size(episode) ? episode : NULL;
}
