/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/mutation_fights.h"

#include <string.h>

#include "api/mem.h"
#include "api/obj.h"
#include "api/quote.h"
#include "api/time.h"
#include "controller/mutation_observations.h"

/* ---- Texts ---- */

static char *cut(const char *text, size_t max)
{
    struct ek_str all = ek_str_from(text);

    return ek_xstrndup(all.p, ek_utf8_cut(all, max));
}

static char *value_text(yyjson_val *value)
{
    char *text = value ? yyjson_val_write_opts(value, 0, &ek_json_alc, NULL, NULL) : NULL;
    char *kept = cut(text ? text : "", EK_OBSERVATIONS_TEXT_MAX);

    ek_free(text);
    return kept;
}

static char *kind_text(const struct ek_gvk *kind)
{
    return ek_xasprintf("%s%s%s, Kind=%s", kind->group, *kind->group ? "/" : "", kind->version,
                        kind->kind);
}

/* "p sets 1, q sets nothing" */
static char *parties_text(const struct ek_observed_fight *fight)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < fight->n_parties; i++) {
        const struct ek_observed_party *party = &fight->parties[i];
        ek_buf_printf(&text, "%s%s sets %s", i ? ", " : "", party->name,
                      *party->value ? party->value : "nothing");
    }
    return ek_xstrdup(ek_buf_str(&text));
}

/* ---- One fight ---- */

static void drop(struct ek_observed_fight *fight)
{
    for (size_t i = 0; i < fight->n_parties; i++) {
        ek_free(fight->parties[i].uid);
        ek_free(fight->parties[i].name);
        ek_free(fight->parties[i].value);
    }
    ek_free(fight->parties);
    ek_free(fight->path);
    ek_free(fight->kind);
}

static size_t count_parties(const struct ek_fight *fight)
{
    return fight->n < EK_POLICY_STATUS_PARTIES_MAX ? fight->n : EK_POLICY_STATUS_PARTIES_MAX;
}

static bool same_parties(const struct ek_observed_fight *known, const struct ek_fight *fight)
{
    if (known->n_parties != count_parties(fight))
        return false;
    for (size_t i = 0; i < known->n_parties; i++)
        if (strcmp(known->parties[i].uid, fight->parties[i]->uid) != 0 ||
            known->parties[i].generation != fight->parties[i]->generation)
            return false;
    return true;
}

static struct ek_observed_fight *find(const struct ek_observed_fights *fights, const char *kind,
                                      const struct ek_fight *fight)
{
    EK_AUTOFREE char *path = cut(fight->path, EK_OBSERVATIONS_TEXT_MAX);

    for (size_t i = 0; i < fights->n; i++) {
        struct ek_observed_fight *known = &fights->items[i];
        if (!strcmp(known->path, path) && !strcmp(known->kind, kind) && same_parties(known, fight))
            return known;
    }
    return NULL;
}

static struct ek_observed_fight keep(const char *kind, const struct ek_fight *fight, int64_t now_ms)
{
    struct ek_observed_fight kept = {.path = cut(fight->path, EK_OBSERVATIONS_TEXT_MAX),
                                     .kind = ek_xstrdup(kind),
                                     .n_parties = count_parties(fight),
                                     .since_ms = now_ms,
                                     .seen_ms = now_ms};

    kept.parties = ek_xalloc((kept.n_parties + 1) * sizeof *kept.parties);
    for (size_t i = 0; i < kept.n_parties; i++)
        kept.parties[i] = (struct ek_observed_party){.uid = ek_xstrdup(fight->parties[i]->uid),
                                                     .name = ek_xstrdup(fight->parties[i]->name),
                                                     .value = value_text(fight->values[i]),
                                                     .generation = fight->parties[i]->generation};
    return kept;
}

static bool has_party(const struct ek_observed_fight *fight, const char *uid)
{
    for (size_t i = 0; i < fight->n_parties; i++)
        if (!strcmp(fight->parties[i].uid, uid))
            return true;
    return false;
}

/* ---- All of them ---- */

void ek_observed_fights_done(struct ek_observed_fights *fights)
{
    for (size_t i = 0; i < fights->n; i++)
        drop(&fights->items[i]);
    ek_free(fights->items);
    *fights = (struct ek_observed_fights){0};
}

bool ek_observed_fights_note(struct ek_observed_fights *fights, const struct ek_gvk *kind,
                             const struct ek_fight *fight, int64_t now_ms)
{
    EK_AUTOFREE char *text = kind_text(kind);
    struct ek_observed_fight *known = find(fights, text, fight);

    if (known && now_ms > known->seen_ms)
        known->seen_ms = now_ms;
    if (known || fights->n == EK_OBSERVATIONS_FIGHTS_MAX)
        return false;
    fights->items = ek_xrealloc(fights->items, fights->n + 1, sizeof *fights->items);
    fights->items[fights->n++] = keep(text, fight, now_ms);
    return true;
}

/* Keeps the order of the others: statuses list them so. */
static void remove_at(struct ek_observed_fights *fights, size_t i)
{
    fights->ended = fights->ended || fights->items[i].taken;
    drop(&fights->items[i]);
    fights->n--;
    memmove(&fights->items[i], &fights->items[i + 1], (fights->n - i) * sizeof *fights->items);
}

static bool are_present(const struct ek_observed_fight *fight,
                        bool (*is_present)(void *ctx, const char *uid, int64_t generation),
                        void *ctx)
{
    for (size_t i = 0; i < fight->n_parties; i++)
        if (!is_present(ctx, fight->parties[i].uid, fight->parties[i].generation))
            return false;
    return true;
}

bool ek_observed_fights_end(struct ek_observed_fights *fights,
                            bool (*is_present)(void *ctx, const char *uid, int64_t generation),
                            void *ctx)
{
    for (size_t i = fights->n; i-- > 0;)
        if (!are_present(&fights->items[i], is_present, ctx))
            remove_at(fights, i);
    return fights->ended;
}

int64_t ek_observed_fights_due(const struct ek_observed_fights *fights)
{
    int64_t due = EK_TIME_UNSET;

    for (size_t i = 0; i < fights->n; i++) {
        int64_t end = fights->items[i].seen_ms + EK_OBSERVATIONS_FIGHT_MS;
        if (due == EK_TIME_UNSET || end < due)
            due = end;
    }
    return due;
}

static void tell_parties(const struct ek_observed_fight *fight,
                         void (*added)(void *ctx, const char *uid, char *note), void *ctx)
{
    EK_AUTOFREE char *parties = parties_text(fight);
    const char *what = fight->n_parties > 1 ? "policies fight over" : "it never rests:";

    for (size_t i = 0; i < fight->n_parties; i++)
        added(ctx, fight->parties[i].uid,
              ek_xasprintf("%s %s of %s: %s", what, fight->path, fight->kind, parties));
}

bool ek_observed_fights_take(struct ek_observed_fights *fights, int64_t now_ms,
                             void (*added)(void *ctx, const char *uid, char *note), void *ctx)
{
    for (size_t i = fights->n; i-- > 0;)
        if (fights->items[i].seen_ms + EK_OBSERVATIONS_FIGHT_MS <= now_ms)
            remove_at(fights, i);
    bool changed = fights->ended;
    fights->ended = false;
    for (size_t i = 0; i < fights->n; i++) {
        if (fights->items[i].taken)
            continue;
        fights->items[i].taken = changed = true;
        tell_parties(&fights->items[i], added, ctx);
    }
    return changed;
}

/* ---- Telling ---- */

static void copy_fight(const struct ek_observed_fight *fight, struct ek_arena *arena,
                       struct ek_fight_seen *ret)
{
    struct ek_fight_party *parties =
        ek_arena_alloc(arena, (fight->n_parties + 1) * sizeof *parties);

    for (size_t i = 0; i < fight->n_parties; i++)
        parties[i] =
            (struct ek_fight_party){.policy = ek_arena_strdup(arena, fight->parties[i].name),
                                    .value = ek_arena_strdup(arena, fight->parties[i].value)};
    *ret = (struct ek_fight_seen){.path = ek_arena_strdup(arena, fight->path),
                                  .kind = ek_arena_strdup(arena, fight->kind),
                                  .parties = parties,
                                  .n_parties = fight->n_parties,
                                  .since_ms = fight->since_ms};
}

size_t ek_observed_fights_of(const struct ek_observed_fights *fights, const char *uid,
                             struct ek_arena *arena, const struct ek_fight_seen **ret)
{
    struct ek_fight_seen *list = ek_arena_alloc(arena, (fights->n + 1) * sizeof *list);
    size_t n = 0;

    for (size_t i = 0; i < fights->n; i++)
        if (fights->items[i].taken && has_party(&fights->items[i], uid))
            copy_fight(&fights->items[i], arena, &list[n++]);
    *ret = list;
    return n;
}
