/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail forward over a namespace of any objects, policies and reports: a JSON list of objects, told
 * apart by their kinds. Whatever they say, a step has consent, goes to an object of the namespace,
 * and follows the memory of it; and a memory that is written is the memory that is read.
 */
#include <string.h>

#include "api/base/mem.h"
#include "reconcilers/failforward/memory.h"
#include "reconcilers/failforward/report.h"
#include "test/fuzz/fuzz.h"

#define NOW         INT64_C(1767225600000)
#define OBJECTS_MAX 16

enum { SUBS, PLANS, CSVS, GROUPS, CONDITIONS, CATALOGS, POLICIES, REPORTS, HOOKS, KINDS };

struct world {
    struct ek_obj *objects[KINDS][OBJECTS_MAX];
    size_t n[KINDS];
};

static void take(struct world *world, yyjson_val *value)
{
    static const char *const kinds[KINDS] = {
        "Subscription",      "InstallPlan",       "ClusterServiceVersion",
        "OperatorGroup",     "OperatorCondition", "CatalogSource",
        "FailForwardPolicy", "FailForwardStatus", "ValidatingWebhookConfiguration"};

    for (int kind = 0; kind < KINDS; kind++) {
        if (strcmp(ek_json_text(value, "kind"), kinds[kind]) != 0 || world->n[kind] == OBJECTS_MAX)
            continue;
        struct ek_obj *obj = ek_obj_from_val(value);
        if (obj)
            world->objects[kind][world->n[kind]++] = obj;
    }
}

static struct ek_obj *written(const struct ek_ff_memory *memory)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    struct ek_obj *value = ek_obj_from_mut(ek_ff_memory_write(doc, memory));

    yyjson_mut_doc_free(doc);
    return value;
}

static void check_memory(const struct ek_ff_memory *memory)
{
    struct ek_ff_memory read;
    struct ek_obj *value = written(memory);

    ek_ff_memory_read(value ? ek_obj_root(value) : NULL, NOW, &read);
    struct ek_obj *copy = written(&read);
    fuzz_require(!strcmp(read.pinned, memory->pinned) && read.switched == memory->switched);
    fuzz_require(!value == !copy);
    fuzz_require(!value || ek_json_equal(ek_obj_root(value), ek_obj_root(copy)));
    ek_obj_unref(value);
    ek_obj_unref(copy);
}

static void check_verdict(const struct ek_ff_verdict *v, const struct ek_intents *intents)
{
    bool remembered = false, reread = false;

    for (size_t i = 0; i < intents->n; i++) {
        const struct ek_intent *intent = &intents->items[i];
        reread = reread || intent->verb == EK_LIST;
        remembered = remembered || intent->verb == EK_APPLY_STATUS;
        if (intent->verb == EK_EVENT || intent->verb == EK_LIST)
            continue;
        fuzz_require(!strcmp(intent->resource.namespace, "ns"));
        if (ek_ff_tag_kind(intent->tag) != EK_FF_TAG_STEP)
            continue;
        fuzz_require(remembered && intent->depends);
        fuzz_require(reread || v->next.step == EK_FF_RESTORE);
        fuzz_require(v->consent.mode >= EK_FF_ASSIST || v->next.step == EK_FF_RESTORE);
        fuzz_require(intent->verb != EK_DELETE || v->consent.mode == EK_FF_FORCE);
        fuzz_require(!v->is_taken && !v->is_gated);
    }
    fuzz_require(v->given != EK_FF_OFF || v->report);
}

static void judge(const struct world *w)
{
#define OBJS(kind)                                                                                 \
    {                                                                                              \
        w->objects[kind], w->n[kind]                                                               \
    }
    const struct ek_ff_world world = {.namespace = "ns",
                                      .subscriptions = OBJS(SUBS),
                                      .plans = OBJS(PLANS),
                                      .csvs = OBJS(CSVS),
                                      .groups = OBJS(GROUPS),
                                      .conditions = OBJS(CONDITIONS),
                                      .catalogs = OBJS(CATALOGS),
                                      .hooks = OBJS(HOOKS)};
    const struct ek_ff_rules rules = {.policies = OBJS(POLICIES)};
    const struct ek_ff_inputs inputs = {.world = &world,
                                        .rules = &rules,
                                        .reports = OBJS(REPORTS),
                                        .olm_version = "0.46.0",
                                        .now_ms = NOW};
#undef OBJS
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_ff_verdict *verdicts;
    size_t n = ek_ff_judge(&inputs, arena, &verdicts);

    for (size_t i = 0; i < n; i++) {
        EK_AUTO(ek_intents) intents;
        ek_intents_init(&intents);
        ek_ff_plan(&verdicts[i], i, &world, NOW, &intents);
        check_verdict(&verdicts[i], &intents);
        check_memory(&verdicts[i].memory);
    }
    ek_arena_free(arena);
}

/* The rows of the watch set have objects of one namespace each; here others are left out. */
static bool is_here(yyjson_val *value)
{
    yyjson_val *metadata = ek_json_get(value, "metadata", NULL);
    const char *kind = ek_json_text(value, "kind");

    return !strcmp(ek_json_text(metadata, "namespace"), "ns") || !strcmp(kind, "CatalogSource") ||
           !strcmp(kind, "FailForwardPolicy");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *doc = ek_json_parse((const char *)data, size, NULL);
    struct world world = {0};
    yyjson_val *value;
    size_t i, n;

    yyjson_arr_foreach(yyjson_doc_get_root(doc), i, n, value)
    {
        if (is_here(value))
            take(&world, value);
    }
    yyjson_doc_free(doc);
    judge(&world);
    for (int kind = 0; kind < KINDS; kind++)
        for (i = 0; i < world.n[kind]; i++)
            ek_obj_unref(world.objects[kind][i]);
    return 0;
}
