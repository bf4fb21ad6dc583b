/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/fieldgates/tally.h"

#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"

/* One gate. The sum of base and taken is shown. */
struct entry {
    char *crd, *gate, *uid; /* uid: of the object */
    uint64_t base[2];       /* what status said when we began, less what we had taken by then */
    uint64_t taken[2];      /* of our own counts: suppressed, deprecated uses */
    unsigned generation;    /* of the tally when base was set */
    unsigned take;          /* of the tally when taken was set */
};

struct ek_gates_tally {
    struct entry *entries;
    size_t n;
    unsigned generation, take;
    int64_t last_ms;
    bool any; /* taken at least once */
};

struct ek_gates_tally *ek_gates_tally_new(void)
{
    struct ek_gates_tally *tally = ek_xalloc(sizeof *tally);

    tally->generation = tally->take = 1;
    return tally;
}

void ek_gates_tally_free(struct ek_gates_tally *tally)
{
    if (!tally)
        return;
    for (size_t i = 0; i < tally->n; i++) {
        ek_free(tally->entries[i].crd);
        ek_free(tally->entries[i].gate);
        ek_free(tally->entries[i].uid);
    }
    ek_free(tally->entries);
    ek_free(tally);
}

void ek_gates_tally_restart(struct ek_gates_tally *tally)
{
    tally->generation++;
}

int64_t ek_gates_tally_wait(const struct ek_gates_tally *tally, int64_t now_ms)
{
    int64_t next_ms = tally->last_ms + EK_GATES_TALLY_PACE_MS;
    return tally->any && now_ms < next_ms ? next_ms - now_ms : 0;
}

int64_t ek_gates_tally_take(struct ek_gates_tally *tally, int64_t now_ms, bool waiting,
                            bool *ret_taken)
{
    int64_t wait_ms = ek_gates_tally_wait(tally, now_ms);

    *ret_taken = wait_ms == 0;
    if (wait_ms)
        return waiting ? wait_ms : 0;
    tally->any = true;
    tally->last_ms = now_ms;
    tally->take++;
    return 0;
}

static struct entry *find(struct ek_gates_tally *tally, const char *crd, const char *gate)
{
    for (size_t i = 0; i < tally->n; i++)
        if (!strcmp(tally->entries[i].gate, gate) && !strcmp(tally->entries[i].crd, crd))
            return &tally->entries[i];
    if (tally->n == EK_GATES_TALLY_MAX)
        return NULL;
    tally->entries = ek_xrealloc(tally->entries, tally->n + 1, sizeof *tally->entries);
    tally->entries[tally->n] = (struct entry){.crd = ek_xstrdup(crd), .gate = ek_xstrdup(gate)};
    return &tally->entries[tally->n++];
}

/* What status says of a gate. */
static uint64_t shown(yyjson_val *status, const char *gate, const char *member)
{
    yyjson_val *v;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(status, "gates"), i, n, v)
    {
        if (yyjson_equals_str(yyjson_obj_get(v, "name"), gate))
            return yyjson_get_uint(yyjson_obj_get(v, member));
    }
    return 0;
}

static void take(const struct ek_gates_tally *tally, struct entry *e,
                 const struct ek_gate_count *counted)
{
    e->take = tally->take;
    e->taken[0] = counted->suppressed;
    e->taken[1] = counted->deprecated_uses;
}

/* What was counted for gates that are gone is not for those that came after them. */
static void begin(const struct ek_gates_tally *tally, struct entry *e, const char *uid,
                  yyjson_val *old_status, const struct ek_gate_count *counted)
{
    if (e->uid && strcmp(e->uid, uid) != 0)
        take(tally, e, counted);
    ek_free(e->uid);
    e->uid = ek_xstrdup(uid);
    e->generation = tally->generation;
    e->base[0] = shown(old_status, e->gate, "suppressed") - e->taken[0];
    e->base[1] = shown(old_status, e->gate, "deprecatedUses") - e->taken[1];
}

static struct ek_gate_count count_of(struct ek_gates_tally *tally, const struct ek_obj *obj,
                                     const char *gate, const struct ek_gate_count *counted)
{
    struct entry *e = find(tally, ek_obj_name(obj), gate);

    if (!e)
        return (struct ek_gate_count){.gate = gate};
    if (e->generation != tally->generation || !e->uid || strcmp(e->uid, ek_obj_uid(obj)) != 0)
        begin(tally, e, ek_obj_uid(obj), yyjson_obj_get(ek_obj_root(obj), "status"), counted);
    if (e->take != tally->take)
        take(tally, e, counted);
    return (struct ek_gate_count){.gate = gate,
                                  .suppressed = e->base[0] + e->taken[0],
                                  .deprecated_uses = e->base[1] + e->taken[1]};
}

const struct ek_gate_count *ek_gates_tally_of(struct ek_gates_tally *tally,
                                              const struct ek_obj *obj,
                                              const struct ek_gates *gates,
                                              const struct ek_gate_count *counted,
                                              struct ek_arena *arena)
{
    struct ek_gate_count *list = ek_arena_alloc(arena, (gates->n_gates + 1) * sizeof *list);

    for (size_t i = 0; i < gates->n_gates; i++)
        list[i] = count_of(tally, obj, gates->gates[i].name, &counted[i]);
    return list;
}
