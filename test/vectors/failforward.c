/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded timeline of OLM through classification and planning. Prints a line whenever the
 * verdict on a subscription changes. Nothing is carried out: what the recording did is all that
 * happened. Every subscription consents.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "controller/commands/failforward-internal.h"
#include "reconcilers/failforward/judge.h"
#include "test/vectors/vectors.h"

#define OBJECTS_MAX 256
#define SUBS_MAX    OBJECTS_MAX

struct kind {
    const char *name;
    struct ek_obj *items[OBJECTS_MAX];
    size_t n;
};

enum { SUBSCRIPTIONS, PLANS, CSVS, GROUPS, CONDITIONS, CATALOGS, KINDS };

struct track {
    char name[EK_FF_NAME_MAX];
    struct ek_ff_memory memory;
    char line[1024];
    enum ek_ff_act due;          /* the write of S1; NO_ACT while S1 is not due */
    char target[EK_FF_NAME_MAX]; /* its plan */
};

struct replay {
    struct ek_ff_consent consent;
    struct kind kinds[KINDS];
    struct track tracks[SUBS_MAX];
    size_t n_tracks;
    char namespace[EK_FF_NAME_MAX];
    struct ek_ff_graph *graph; /* of the last record CATALOG */
    int64_t base_ms;           /* wall clock at t_ms 0, as far as creation times say */
    int64_t catalog_t, again_t;
};

static bool read_grace(const char *text, int64_t *ret_ms)
{
    char *end;
    long seconds = strtol(text, &end, 10);

    *ret_ms = seconds * INT64_C(1000);
    return *text && !*end && seconds >= 0 && seconds <= INT32_MAX;
}

static void *open_replay(char **options, int n)
{
    struct replay *replay = ek_xalloc(sizeof *replay);
    static const char *const names[KINDS] = {"Subscription",          "InstallPlan",
                                             "ClusterServiceVersion", "OperatorGroup",
                                             "OperatorCondition",     "CatalogSource"};
    bool good = true;

    memset(replay, 0, sizeof *replay);
    replay->consent = (struct ek_ff_consent){
        .mode = EK_FF_ASSIST, .grace_ms = 300000, .max_retries = 3, .max_hops = 5};
    for (int i = 0; i < KINDS; i++)
        replay->kinds[i].name = names[i];
    for (int i = 0; i + 1 < n; i += 2) {
        if (!strcmp(options[i], "--mode") && !strcmp(options[i + 1], "Force"))
            replay->consent.mode = EK_FF_FORCE;
        else if (!strcmp(options[i], "--grace"))
            good = good && read_grace(options[i + 1], &replay->consent.grace_ms);
        else if (strcmp(options[i], "--mode") != 0 || strcmp(options[i + 1], "Assist") != 0)
            good = false;
    }
    if (good && n % 2 == 0)
        return replay;
    fputs("ek-vectors: usage: failforward [--mode Assist|Force] [--grace SECONDS] FILE\n", stderr);
    ek_free(replay);
    return NULL;
}

static void close_replay(void *state)
{
    struct replay *replay = state;

    for (int i = 0; i < KINDS; i++)
        for (size_t j = 0; j < replay->kinds[i].n; j++)
            ek_obj_unref(replay->kinds[i].items[j]);
    ek_ff_graph_free(replay->graph);
    ek_free(replay);
}

static struct track *track_of(struct replay *replay, const char *name)
{
    for (size_t i = 0; i < replay->n_tracks; i++)
        if (!strcmp(replay->tracks[i].name, name))
            return &replay->tracks[i];
    if (replay->n_tracks == SUBS_MAX) /* names of a recording that are gone count, too */
        return NULL;
    struct track *track = &replay->tracks[replay->n_tracks++];
    snprintf(track->name, sizeof track->name, "%s", name);
    return track;
}

static void fill_edges(const struct replay *replay, const struct ek_ff_state *state,
                       const struct ek_ff_finding *finding, struct ek_ff_edges *edges)
{
    ek_ff_find_edges(replay->graph, state, finding, edges);
    edges->changed_ms = edges->known_ms = replay->base_ms + replay->catalog_t;
}

static void say(struct track *track, int64_t t_ms, const struct ek_ff_finding *finding,
                const struct ek_ff_next *next)
{
    char line[sizeof track->line];
    const char *class = ek_ff_class_name(finding->class);
    const char *reason = *finding->text && finding->reason && *finding->reason ? finding->reason
                         : finding->phase                                      ? finding->phase
                                                                               : "";

    snprintf(line, sizeof line,
             "\"subscription\":\"%s\",\"class\":\"%s\",\"reason\":\"%s\",\"next\":\"%s%s%s\"}",
             track->name, *class ? class : "none", reason, ek_ff_step_name(next->step),
             next->blocked ? ":" : "", ek_ff_blocked_name(next->blocked));
    if (!strcmp(line, track->line))
        return;
    memcpy(track->line, line, sizeof line);
    printf("{\"t_ms\":%lld,%s\n", (long long)t_ms, line);
}

/* Judges the namespace. False when there is no room for another subscription. */
static bool judge(struct replay *replay, int64_t t_ms)
{
    const struct kind *kinds = replay->kinds;
    struct ek_ff_world world = {
        .namespace = replay->namespace,
        .subscriptions = {kinds[SUBSCRIPTIONS].items, kinds[SUBSCRIPTIONS].n},
        .plans = {kinds[PLANS].items, kinds[PLANS].n},
        .csvs = {kinds[CSVS].items, kinds[CSVS].n},
        .groups = {kinds[GROUPS].items, kinds[GROUPS].n},
        .conditions = {kinds[CONDITIONS].items, kinds[CONDITIONS].n},
        .catalogs = {kinds[CATALOGS].items, kinds[CATALOGS].n},
    };
    int64_t now_ms = replay->base_ms + t_ms;

    replay->again_t = 0;
    for (size_t i = 0; i < world.subscriptions.n; i++) {
        struct ek_ff_state state;
        struct ek_ff_finding finding;
        struct ek_ff_edges edges;
        struct ek_ff_next next;
        struct track *track = track_of(replay, ek_obj_name(world.subscriptions.items[i]));

        if (!track)
            return false;
        ek_ff_observe(&world, world.subscriptions.items[i], now_ms, &state);
        ek_ff_classify(&state, now_ms, &finding);
        ek_ff_remember(&state, &finding, now_ms, &track->memory);
        fill_edges(replay, &state, &finding, &edges);
        ek_ff_classify_edges(&state, &edges, now_ms, &finding);
        ek_ff_decide(&state, &finding, &edges, &replay->consent, &track->memory, now_ms, &next);
        say(track, t_ms, &finding, &next);
        track->due = next.step == EK_FF_S1 ? next.act : EK_FF_NO_ACT;
        snprintf(track->target, sizeof track->target, "%s", next.target ? next.target : "");
        int64_t again_t = next.again_ms - replay->base_ms;
        if (next.again_ms && again_t > t_ms && (!replay->again_t || again_t < replay->again_t))
            replay->again_t = again_t;
    }
    return true;
}

/* A retry of the recording is a try of the episode. Its time is not remembered: the recording does
 * not keep the gaps between tries. */
static void count_retry(struct replay *replay, yyjson_val *action)
{
    const char *why = ek_json_str(action, "why", NULL), *path = ek_json_str(action, "path", NULL);

    if (!why || !path || strncmp(why, "S1", 2) != 0)
        return;
    for (size_t i = 0; i < replay->n_tracks; i++) {
        struct track *track = &replay->tracks[i];
        EK_AUTOFREE char *plan = ek_xasprintf("/installplans/%s/status", track->target);
        if (track->due != EK_FF_NO_ACT && strstr(path, plan))
            track->memory.acts[track->due].n++;
    }
}

static struct kind *kind_of(struct replay *replay, const struct ek_obj *obj)
{
    for (int i = 0; i < KINDS; i++)
        if (!strcmp(replay->kinds[i].name, ek_obj_kind(obj)))
            return &replay->kinds[i];
    return NULL;
}

/* Keeps or removes an object. False when there is no room. */
static bool store(struct replay *replay, yyjson_val *object, bool deleted)
{
    struct ek_obj *obj = ek_obj_from_val(object);
    struct kind *kind = kind_of(replay, obj);
    size_t i = 0;

    if (!kind) {
        ek_obj_unref(obj);
        return true;
    }
    while (i < kind->n && strcmp(ek_obj_key(kind->items[i]), ek_obj_key(obj)) != 0)
        i++;
    if (i < kind->n)
        ek_obj_unref(kind->items[i]);
    if (deleted || i == OBJECTS_MAX) {
        ek_obj_unref(obj);
        if (i < kind->n)
            kind->items[i] = kind->items[--kind->n];
        return deleted;
    }
    kind->items[i] = obj;
    kind->n += i == kind->n;
    return true;
}

static void set_clock(struct replay *replay, yyjson_val *object, int64_t t_ms)
{
    int64_t created = ek_time_parse(ek_json_str(object, "metadata", "creationTimestamp", NULL));

    if (created != EK_TIME_UNSET && created - t_ms > replay->base_ms)
        replay->base_ms = created - t_ms;
}

/* Without a record SCENARIO the namespace is that of the first subscription. */
static void take_namespace(struct replay *replay, yyjson_val *object)
{
    const char *kind = ek_json_str(object, "kind", NULL);
    const char *namespace = ek_json_str(object, "metadata", "namespace", NULL);

    if (!*replay->namespace && kind && namespace && !strcmp(kind, "Subscription"))
        snprintf(replay->namespace, sizeof replay->namespace, "%s", namespace);
}

static const char too_many[] = "more subscriptions than the replay holds";

static const char *next_record(void *state, yyjson_val *record)
{
    struct replay *replay = state;
    const char *event = ek_json_str(record, "event", NULL);
    yyjson_val *object = ek_json_get(record, "object", NULL);
    int64_t t_ms = yyjson_get_sint(ek_json_get(record, "t_ms", NULL));

    if (!event || !yyjson_is_obj(object))
        return "no event of a timeline";
    while (replay->again_t && replay->again_t < t_ms)
        if (!judge(replay, replay->again_t))
            return too_many;
    if (!strcmp(event, "SCENARIO")) {
        const char *namespace = ek_json_str(object, "namespace", NULL);
        snprintf(replay->namespace, sizeof replay->namespace, "%s", namespace ? namespace : "");
    } else if (!strcmp(event, "CATALOG")) {
        ek_ff_graph_free(replay->graph);
        replay->graph = ek_ffc_recorded_graph(object);
        replay->catalog_t = t_ms;
    } else if (!strcmp(event, "ADDED") || !strcmp(event, "MODIFIED")) {
        take_namespace(replay, object);
        set_clock(replay, object, t_ms);
        if (!store(replay, object, false))
            return "more objects than the replay holds";
    } else if (!strcmp(event, "DELETED")) {
        store(replay, object, true);
    } else if (!strcmp(event, "ACTION")) {
        count_retry(replay, object);
    }
    return judge(replay, t_ms) ? NULL : too_many;
}

const struct ek_vectors_subject ek_vectors_failforward = {
    .name = "failforward",
    .options = "[--mode Assist|Force] [--grace SECONDS]",
    .open = open_replay,
    .close = close_replay,
    .next = next_record,
};
