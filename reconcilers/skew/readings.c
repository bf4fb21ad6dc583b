/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/skew/facts-internal.h"

#define TEXT_MAX 128

struct ek_minor ek_facts_minor__(const char *text)
{
    struct ek_minor minor = ek_minor_parse(text);
    return minor.known && minor.major > 0 ? minor : EK_MINOR_UNKNOWN;
}

struct reading ek_facts_reading__(enum ek_source source, const char *name, const char *text,
                                  bool current)
{
    return (struct reading){
        .source = source,
        .name = name,
        .text = text,
        .binary = ek_facts_minor__(text),
        .current = current,
    };
}

static bool same(struct ek_minor a, struct ek_minor b)
{
    return a.known && b.known && ek_minor_cmp(a, b) == 0;
}

/* Which of a reading's versions is meant. */
enum part { BINARY, EMULATION, MIN_COMPAT, PART_MAX };

static struct ek_minor part_of(const struct reading *reading, enum part part)
{
    switch (part) {
    case BINARY:
        return reading->binary;
    case EMULATION:
        return reading->emulation;
    default:
        return reading->min_compat;
    }
}

/* The first reading that knows part: a current one, else any. A kept reading counts only where it
 * is of the same binary, because after an upgrade it is of another process. */
static const struct reading *pick(const struct reading *readings, size_t n, enum part part,
                                  struct ek_minor binary)
{
    for (size_t i = 0; i < n; i++)
        if (readings[i].current && part_of(&readings[i], part).known)
            return &readings[i];
    for (size_t i = 0; i < n; i++)
        if (part_of(&readings[i], part).known &&
            (part == BINARY || !binary.known || !readings[i].binary.known ||
             same(binary, readings[i].binary)))
            return &readings[i];
    return NULL;
}

static const char *describe_conflict(struct ek_arena *arena, const struct reading *a,
                                     const struct reading *b, enum part part)
{
    static const char *const words[PART_MAX] = {"binary", "emulation", "minimum compatibility"};
    char left[EK_MINOR_SIZE], right[EK_MINOR_SIZE];

    return ek_arena_printf(arena, "%s says %s version %s, but %s says %s", a->name, words[part],
                           ek_minor_format(part_of(a, part), left), b->name,
                           ek_minor_format(part_of(b, part), right));
}

/* The first difference between two current readings, "" when there is none. */
static const char *find_conflict(struct ek_arena *arena, const struct reading *readings, size_t n)
{
    for (enum part part = BINARY; part < PART_MAX; part++) {
        const struct reading *first = NULL;
        for (size_t i = 0; i < n; i++) {
            if (!readings[i].current || !part_of(&readings[i], part).known)
                continue;
            if (!first)
                first = &readings[i];
            else if (!same(part_of(first, part), part_of(&readings[i], part)))
                return describe_conflict(arena, first, &readings[i], part);
        }
    }
    return "";
}

/*
 * The default of --min-compatibility-version: one below the emulation version, but not below the
 * floor of what may be emulated, max(BV-3, 1.31). No binary up to 1.31 can emulate, and none of
 * them raises the default: there the floor is none.
 */
static struct ek_minor default_min_compat(struct ek_minor emulation, struct ek_minor binary)
{
    struct ek_minor lowest = EK_MINOR(1, 31);
    struct ek_minor result = ek_minor_offset(emulation, -1);

    if (!binary.known || ek_minor_cmp(binary, lowest) <= 0)
        return result;
    struct ek_minor floor = ek_minor_offset(binary, -3);
    if (ek_minor_cmp(floor, lowest) < 0)
        floor = lowest;
    return ek_minor_cmp(result, floor) < 0 ? floor : result;
}

static void assume(struct ek_versions *versions)
{
    if (!versions->emulation.known && versions->binary.known) {
        versions->emulation = versions->binary;
        versions->assumed_emulation = true;
    }
    if (!versions->min_compat.known && versions->emulation.known) {
        versions->min_compat = default_min_compat(versions->emulation, versions->binary);
        versions->assumed_min_compat = true;
    }
}

/* The fullest text of the binary: version_info says "1.36.2" where /version says
 * "v1.36.2-gke.1014001". */
static const char *pick_text(const struct reading *readings, size_t n, const struct reading *chosen)
{
    const char *text = chosen->text;

    for (size_t i = 0; i < n; i++)
        if (readings[i].current == chosen->current && same(readings[i].binary, chosen->binary) &&
            strlen(readings[i].text) > strlen(text) && readings[i].source == EK_SOURCE_VERSION)
            text = readings[i].text;
    return text;
}

static void explain_unknown(const struct reading *readings, size_t n, const char *otherwise,
                            struct ek_versions *versions)
{
    versions->source = EK_SOURCE_NONE;
    versions->unknown_reason = otherwise;
    for (size_t i = 0; i < n; i++)
        if (*readings[i].text) {
            versions->binary_string = readings[i].text;
            versions->source = readings[i].source;
            versions->unknown_reason = "Unparsable";
            return;
        }
}

struct ek_versions ek_facts_merge__(struct ek_arena *arena, const struct reading *readings,
                                    size_t n, const char *otherwise)
{
    struct ek_versions versions = {.binary_string = "", .unknown_reason = ""};
    const struct reading *binary = pick(readings, n, BINARY, EK_MINOR_UNKNOWN);

    versions.conflict = find_conflict(arena, readings, n);
    if (binary) {
        versions.binary = binary->binary;
        versions.source = binary->source;
        versions.binary_string = pick_text(readings, n, binary);
    } else {
        explain_unknown(readings, n, otherwise, &versions);
    }
    const struct reading *emulation = pick(readings, n, EMULATION, versions.binary);
    const struct reading *min_compat = pick(readings, n, MIN_COMPAT, versions.binary);
    if (emulation)
        versions.emulation = emulation->emulation;
    if (min_compat)
        versions.min_compat = min_compat->min_compat;
    assume(&versions);
    versions.binary_string = ek_notes_cut(arena, versions.binary_string, TEXT_MAX);
    return versions;
}

void ek_facts_no_emulation__(struct ek_versions *versions)
{
    versions->emulation = versions->binary;
    versions->min_compat = EK_MINOR_UNKNOWN;
    versions->assumed_emulation = versions->assumed_min_compat = false;
}
