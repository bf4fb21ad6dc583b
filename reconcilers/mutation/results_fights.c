/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/results_fights.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/base/quote.h"
#include "api/base/time.h"
#include "api/obj.h"
#include "reconcilers/mutation/results.h"

/* ---- Texts ---- */

static char *cut(const char *text, size_t max)
{
    struct ek_str all = ek_str_from(text);

    return ek_xstrndup(all.p, ek_utf8_cut(all, max));
}

/* HMAC-SHA-256 (RFC 2104) of the value as JSON, its first bytes in hex; "" for absent or without
 * a key or without memory. */
static char *value_hash(yyjson_val *value, const unsigned char key[EK_RESULTS_KEY_SIZE])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    size_t len = 0;
    char *text = value ? yyjson_val_write_opts(value, 0, &ek_json_alc, &len, NULL) : NULL;
    bool hashed =
        text && key &&
        HMAC(EVP_sha256(), key, EK_RESULTS_KEY_SIZE, (unsigned char *)text, len, digest, NULL);

    if (text)
        OPENSSL_cleanse(text, len);
    ek_free(text);
    return hashed ? ek_xasprintf("%02x%02x%02x%02x", digest[0], digest[1], digest[2], digest[3])
                  : ek_xstrdup("");
}

static char *kind_text(const struct ek_gvk *kind)
{
    return ek_xasprintf("%s%s%s, Kind=%s", kind->group, *kind->group ? "/" : "", kind->version,
                        kind->kind);
}

/* "p, q" */
static char *parties_text(const struct ek_results_fight *fight)
{
    EK_AUTO(ek_buf) text;

    ek_buf_init(&text, EK_BUF_SMALL_MAX);
    for (size_t i = 0; i < fight->n_parties; i++)
        ek_buf_printf(&text, "%s%s", i ? ", " : "", fight->parties[i].name);
    return ek_xstrdup(ek_buf_str(&text));
}

/* ---- One fight ---- */

static void drop(struct ek_results_fight *fight)
{
    for (size_t i = 0; i < fight->n_parties; i++) {
        ek_free(fight->parties[i].uid);
        ek_free(fight->parties[i].name);
        ek_free(fight->parties[i].value_hash);
    }
    ek_free(fight->parties);
    ek_free(fight->path);
    ek_free(fight->kind);
}

static size_t count_parties(const struct ek_fight *fight)
{
    return fight->n < EK_POLICY_STATUS_PARTIES_MAX ? fight->n : EK_POLICY_STATUS_PARTIES_MAX;
}

static bool same_parties(const struct ek_results_fight *known, const struct ek_fight *fight)
{
    if (known->n_parties != count_parties(fight))
        return false;
    for (size_t i = 0; i < known->n_parties; i++)
        if (strcmp(known->parties[i].uid, fight->parties[i]->uid) != 0 ||
            known->parties[i].generation != fight->parties[i]->generation)
            return false;
    return true;
}

static struct ek_results_fight *find(const struct ek_results_fights *fights, const char *kind,
                                     const struct ek_fight *fight)
{
    EK_AUTOFREE char *path = cut(fight->path, EK_RESULTS_TEXT_MAX);

    for (size_t i = 0; i < fights->n; i++) {
        struct ek_results_fight *known = &fights->items[i];
        if (!strcmp(known->path, path) && !strcmp(known->kind, kind) && same_parties(known, fight))
            return known;
    }
    return NULL;
}

static struct ek_results_fight keep(const char *kind, const struct ek_fight *fight,
                                    bool (*draw)(unsigned char *bytes, size_t n), int64_t now_ms)
{
    struct ek_results_fight kept = {.path = cut(fight->path, EK_RESULTS_TEXT_MAX),
                                    .kind = ek_xstrdup(kind),
                                    .n_parties = count_parties(fight),
                                    .since_ms = now_ms,
                                    .seen_ms = now_ms};
    unsigned char key[EK_RESULTS_KEY_SIZE];
    bool has_key = draw(key, sizeof key);

    kept.parties = ek_xalloc((kept.n_parties + 1) * sizeof *kept.parties);
    for (size_t i = 0; i < kept.n_parties; i++)
        kept.parties[i] = (struct ek_results_party){
            .uid = ek_xstrdup(fight->parties[i]->uid),
            .name = ek_xstrdup(fight->parties[i]->name),
            .value_hash = value_hash(fight->values[i], has_key ? key : NULL),
            .generation = fight->parties[i]->generation};
    OPENSSL_cleanse(key, sizeof key);
    return kept;
}

static bool has_party(const struct ek_results_fight *fight, const char *uid)
{
    for (size_t i = 0; i < fight->n_parties; i++)
        if (!strcmp(fight->parties[i].uid, uid))
            return true;
    return false;
}

/* ---- All of them ---- */

void ek_results_fights_done(struct ek_results_fights *fights)
{
    for (size_t i = 0; i < fights->n; i++)
        drop(&fights->items[i]);
    ek_free(fights->items);
    *fights = (struct ek_results_fights){0};
}

bool ek_results_fights_note(struct ek_results_fights *fights, const struct ek_gvk *kind,
                            const struct ek_fight *fight,
                            bool (*draw)(unsigned char *bytes, size_t n), int64_t now_ms)
{
    EK_AUTOFREE char *text = kind_text(kind);
    struct ek_results_fight *known = find(fights, text, fight);

    if (known && now_ms > known->seen_ms)
        known->seen_ms = now_ms;
    if (known || fights->n == EK_RESULTS_FIGHTS_MAX)
        return false;
    fights->items = ek_xrealloc(fights->items, fights->n + 1, sizeof *fights->items);
    fights->items[fights->n++] = keep(text, fight, draw, now_ms);
    return true;
}

/* Keeps the order of the others: statuses list them so. */
static void remove_at(struct ek_results_fights *fights, size_t i)
{
    fights->ended = fights->ended || fights->items[i].taken;
    drop(&fights->items[i]);
    fights->n--;
    memmove(&fights->items[i], &fights->items[i + 1], (fights->n - i) * sizeof *fights->items);
}

static bool are_present(const struct ek_results_fight *fight,
                        bool (*is_present)(void *ctx, const char *uid, int64_t generation),
                        void *ctx)
{
    for (size_t i = 0; i < fight->n_parties; i++)
        if (!is_present(ctx, fight->parties[i].uid, fight->parties[i].generation))
            return false;
    return true;
}

bool ek_results_fights_end(struct ek_results_fights *fights,
                           bool (*is_present)(void *ctx, const char *uid, int64_t generation),
                           void *ctx)
{
    for (size_t i = fights->n; i-- > 0;)
        if (!are_present(&fights->items[i], is_present, ctx))
            remove_at(fights, i);
    return fights->ended;
}

int64_t ek_results_fights_due(const struct ek_results_fights *fights)
{
    int64_t due = EK_TIME_UNSET;

    for (size_t i = 0; i < fights->n; i++) {
        int64_t end = fights->items[i].seen_ms + EK_RESULTS_FIGHT_MS;
        if (due == EK_TIME_UNSET || end < due)
            due = end;
    }
    return due;
}

static void report_parties(const struct ek_results_fight *fight,
                           void (*added)(void *ctx, const char *uid, char *note), void *ctx)
{
    EK_AUTOFREE char *parties = parties_text(fight);
    const char *what = fight->n_parties > 1 ? "policies fight over" : "it never rests:";

    for (size_t i = 0; i < fight->n_parties; i++)
        added(ctx, fight->parties[i].uid,
              ek_xasprintf("%s %s of %s: %s", what, fight->path, fight->kind, parties));
}

bool ek_results_fights_take(struct ek_results_fights *fights, int64_t now_ms,
                            void (*added)(void *ctx, const char *uid, char *note), void *ctx)
{
    for (size_t i = fights->n; i-- > 0;)
        if (fights->items[i].seen_ms + EK_RESULTS_FIGHT_MS <= now_ms)
            remove_at(fights, i);
    bool changed = fights->ended;
    fights->ended = false;
    for (size_t i = 0; i < fights->n; i++) {
        if (fights->items[i].taken)
            continue;
        fights->items[i].taken = changed = true;
        report_parties(&fights->items[i], added, ctx);
    }
    return changed;
}

/* ---- Reporting ---- */

static void copy_fight(const struct ek_results_fight *fight, struct ek_arena *arena,
                       struct ek_fight_seen *ret)
{
    struct ek_fight_party *parties =
        ek_arena_alloc(arena, (fight->n_parties + 1) * sizeof *parties);

    for (size_t i = 0; i < fight->n_parties; i++)
        parties[i] = (struct ek_fight_party){
            .policy = ek_arena_strdup(arena, fight->parties[i].name),
            .value_hash = ek_arena_strdup(arena, fight->parties[i].value_hash)};
    *ret = (struct ek_fight_seen){.path = ek_arena_strdup(arena, fight->path),
                                  .kind = ek_arena_strdup(arena, fight->kind),
                                  .parties = parties,
                                  .n_parties = fight->n_parties,
                                  .since_ms = fight->since_ms};
}

size_t ek_results_fights_of(const struct ek_results_fights *fights, const char *uid,
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
