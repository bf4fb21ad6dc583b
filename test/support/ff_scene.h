/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A namespace of OLM out of a few words. Items are separated by ";":
 *
 * - og, og on, og on mark=N: an operator group; on: with fail forward; mark: of S2, at generation 3
 * - cat [STATE]: the catalog source, READY without a state
 * - sub CUR INST [WORD...] ['MESSAGE']: the subscription "op" of package "op": current and
 *   installed CSV ("-": none). Words: manual, start=CSV, ref=PLAN, unresolved=SECONDS
 *   (ResolutionFailed), unpacked=SECONDS (BundleUnpackFailed), package=NAME. MESSAGE is of that
 *   condition
 * - neighbor [CUR INST]: the subscription "other" of package "other"
 * - csv NAME<OLD PHASE/REASON [WORD...] ['MESSAGE']: "<OLD" may be absent. Words: ran, entries=N
 *   (status.conditions has N Pending ones), fails=N/REASON, ago=SECONDS (since when), made=SECONDS,
 *   account, rights, definition=lost|unserved|required (that are lost), unmet, converts, copied,
 *   elsewhere (of another namespace), label=NAME (of OLM, in the place of op.ns)
 * - plan NAME CSV PHASE [WORD...] ['MESSAGE']: words: gen=N, ago=SECONDS, done=SECONDS,
 *   retried=SECONDS (by S1, not begun since), check=SECONDS (MESSAGE is of InstallCheckFailed),
 *   image, ours, begins (the CSV is not made yet), replaces=CSV (in the manifest of the CSV)
 * - cond CSV STATUS [override]: Upgradeable of an OperatorCondition
 * - hook CONFIGURATION WEBHOOK CSV: a webhook that OLM made for the CSV ("-": without the label)
 *
 * Times are seconds before EK_FF_NOW. A text that does not parse ends the test.
 */
#ifndef TEST_SUPPORT_FF_SCENE_H
#define TEST_SUPPORT_FF_SCENE_H

#include "reconcilers/failforward/ladder.h"

#define EK_FF_NOW INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

enum {
    EK_FF_SCENE_SUBS,
    EK_FF_SCENE_PLANS,
    EK_FF_SCENE_CSVS,
    EK_FF_SCENE_GROUPS,
    EK_FF_SCENE_CONDITIONS,
    EK_FF_SCENE_CATALOGS,
    EK_FF_SCENE_HOOKS,
    EK_FF_SCENE_KINDS
};

struct ek_ff_scene {
    struct ek_obj *objects[EK_FF_SCENE_KINDS][16];
    size_t n[EK_FF_SCENE_KINDS];
    struct ek_ff_world world;
};

/* Builds the scene of a text; released by ek_ff_scene_done. */
void ek_ff_scene_init(struct ek_ff_scene *scene, const char *text);
void ek_ff_scene_done(struct ek_ff_scene *scene);

/* The subscription of that name, borrowed. */
struct ek_obj *ek_ff_scene_sub(const struct ek_ff_scene *scene, const char *name);

/* What a decision is given beside the scene. Zero: no edge leads on, mode Assist, no grace. */
struct ek_ff_given {
    const char *from_failing, *from_running, *head;
    bool unknown;         /* no reader of the catalog answered */
    int changed_ago;      /* seconds since the catalog changed; 0: unknown */
    int known_ago;        /* seconds since the process read this content first; 0: unknown */
    enum ek_ff_mode mode; /* EK_FF_OFF: Assist */
    bool off, observe;    /* modes by name, because zero is Assist */
    int grace;            /* seconds */
    unsigned retries;     /* 0: 3 */
    bool approve, shared;
    unsigned denied, hops;
    const char *failing; /* the episode began with this version before; NULL: it begins now */
    const char *pinned;
    bool switched;
    enum ek_ff_act done; /* a write of this episode, done_n times, the last done_ago seconds ago */
    unsigned done_n;
    int done_ago;
    unsigned cleared; /* S5 was taken so many times, the last done_ago seconds ago */
};

/* The decision, and what led to it. */
struct ek_ff_judged {
    struct ek_ff_state state;
    struct ek_ff_finding finding;
    struct ek_ff_edges edges;
    struct ek_ff_consent consent;
    struct ek_ff_memory memory;
    struct ek_ff_next next;
};

/* Judges the subscription "op" at EK_FF_NOW. The memory is that of an episode that begins, with
 * what is given. */
void ek_ff_scene_judge(const struct ek_ff_scene *scene, const struct ek_ff_given *g,
                       struct ek_ff_judged *j);

/* A decision that is expected. */
struct ek_ff_step_row {
    const char *name, *scene;
    struct ek_ff_given given;
    const char *next;   /* "S3a", "Blocked:NoEdge" */
    const char *target; /* of the write; NULL: no write is due */
    enum ek_ff_act act;
};

/* Ends the test where the decision on the scene of the row is another one. */
void ek_ff_scene_check(const struct ek_ff_step_row *row);

#endif
