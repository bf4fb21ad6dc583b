/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "reconcilers/peers/pod_flags.h"
#include "reconcilers/skew/facts-internal.h"
#include "reconcilers/skew/policy.h"

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

bool ek_facts_is_current__(const struct ek_probe *probe, const struct ek_probe_answer *answer)
{
    return answer->good_at_ms != EK_TIME_UNSET && !answer->error.code && !probe->reach.error.code;
}

/* Light rounds do not repeat every request: one that was not repeated fails as long as the process
 * is away. */
void ek_facts_set_age__(struct reading *reading, const struct ek_probe *probe,
                        const struct ek_probe_answer *answer)
{
    const struct ek_probe_answer *reach = &probe->reach;
    bool away =
        reach->error.code && (!answer->error.code || reach->failing_at_ms < answer->failing_at_ms);
    int64_t since = away ? reach->failing_at_ms : answer->failing_at_ms;

    reading->current = ek_facts_is_current__(probe, answer);
    reading->outdated = !reading->current && (answer->outdated || since == EK_TIME_UNSET ||
                                              reach->tried_at_ms - since > EK_FACTS_KEPT_MS);
}

/* The first reading that knows part: a current one, else a kept one that is outdated or not. A kept
 * reading counts only where it is of the same binary, because after an upgrade it is of another
 * process. */
static const struct reading *pick(const struct reading *readings, size_t n, enum part part,
                                  struct ek_minor binary, bool outdated)
{
    for (size_t i = 0; i < n; i++)
        if (readings[i].current && part_of(&readings[i], part).known)
            return &readings[i];
    for (size_t i = 0; i < n; i++)
        if (part_of(&readings[i], part).known && readings[i].outdated == outdated &&
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

    return ek_arena_printf(arena, "%s reports %s version %s, but %s reports %s", a->name,
                           words[part], ek_minor_format(part_of(a, part), left), b->name,
                           ek_minor_format(part_of(b, part), right));
}

const char *ek_facts_conflict__(struct ek_arena *arena, const struct reading *readings, size_t n,
                                enum ek_disputed *ret_disputed)
{
    static const enum ek_disputed disputed[PART_MAX] = {EK_DISPUTED_BINARY, EK_DISPUTED_EMULATION,
                                                        EK_DISPUTED_MIN_COMPAT};

    *ret_disputed = EK_DISPUTED_NONE;
    for (enum part part = BINARY; part < PART_MAX; part++) {
        const struct reading *first = NULL;
        for (size_t i = 0; i < n; i++) {
            if (!readings[i].current || !part_of(&readings[i], part).known)
                continue;
            if (!first)
                first = &readings[i];
            else if (!same(part_of(first, part), part_of(&readings[i], part))) {
                *ret_disputed = disputed[part];
                return describe_conflict(arena, first, &readings[i], part);
            }
        }
    }
    return "";
}

/* True when v is unknown or within low..high. */
static bool within(struct ek_minor v, struct ek_minor low, struct ek_minor high)
{
    return !v.known || (ek_minor_cmp(v, low) >= 0 && ek_minor_cmp(v, high) <= 0);
}

/* Completes flags that were read by their defaults, or drops what the binary would refuse; returns
 * a sentence then, "" otherwise. */
static const char *settle_flags(struct ek_arena *arena, struct reading *flags,
                                struct ek_minor binary)
{
    char version[EK_MINOR_SIZE];

    if (!flags->flags || !binary.known)
        return "";
    struct ek_minor floor = ek_policy_floor(binary);
    struct ek_minor emulation = flags->emulation.known ? flags->emulation : binary;
    if (within(emulation, floor, binary) && within(flags->min_compat, floor, emulation)) {
        flags->emulation = emulation;
        if (!flags->min_compat.known)
            flags->min_compat = ek_policy_default_min_compat(binary, emulation);
        return "";
    }
    flags->emulation = flags->min_compat = EK_MINOR_UNKNOWN;
    flags->flags = false;
    return ek_arena_printf(arena, "%s sets versions that a binary of %s refuses", flags->name,
                           ek_minor_format(binary, version));
}

static void settle_emulation(const struct reading *readings, size_t n, struct ek_versions *versions)
{
    const struct reading *reported = pick(readings, n, EMULATION, versions->binary, false);
    const struct reading *shown =
        reported ? reported : pick(readings, n, EMULATION, versions->binary, true);

    versions->emulation_source = EK_SOURCE_NONE;
    versions->emulation = shown ? shown->emulation : versions->binary;
    if (reported)
        versions->emulation_source = reported->source;
    else if (versions->binary.known && ek_minor_cmp(versions->binary, EK_FIRST_EMULATION) <= 0)
        versions->emulation_source = versions->source;
    else
        versions->assumed_emulation = versions->emulation.known;
}

static void settle_min_compat(const struct reading *readings, size_t n,
                              struct ek_versions *versions)
{
    const struct reading *reported = pick(readings, n, MIN_COMPAT, versions->binary, false);
    const struct reading *shown =
        reported ? reported : pick(readings, n, MIN_COMPAT, versions->binary, true);
    bool fixed = versions->binary.known && ek_minor_cmp(versions->binary, EK_FIRST_MIN_COMPAT) < 0;

    versions->min_compat_source = EK_SOURCE_NONE;
    versions->min_compat =
        shown ? shown->min_compat
              : ek_policy_default_min_compat(versions->binary, versions->emulation);
    if (reported)
        versions->min_compat_source = reported->source;
    else if (versions->emulation.known && !versions->assumed_emulation && fixed)
        versions->min_compat_source = versions->emulation_source;
    else
        versions->assumed_min_compat = versions->emulation.known;
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
            if (!readings[i].binary.known)
                versions->unknown_reason = "Unparsable";
            return;
        }
}

struct ek_versions ek_facts_merge__(struct ek_arena *arena, const struct reading *reported,
                                    size_t n, const char *otherwise, const char *unread)
{
    struct ek_versions versions = {.binary_string = "", .unknown_reason = ""};
    struct reading readings[EK_FACTS_READINGS_MAX] = {{0}};
    const char *refused = "";
    enum ek_disputed disputed; /* by whom is the caller's to say */

    n = n < EK_FACTS_READINGS_MAX ? n : EK_FACTS_READINGS_MAX;
    for (size_t i = 0; i < n; i++)
        readings[i] = reported[i];
    const struct reading *binary = pick(readings, n, BINARY, EK_MINOR_UNKNOWN, false);
    if (binary) {
        versions.binary = binary->binary;
        versions.source = binary->source;
        versions.unproven = binary->unproven;
        versions.binary_string = pick_text(readings, n, binary);
    } else {
        explain_unknown(readings, n, otherwise, &versions);
    }
    for (size_t i = 0; i < n; i++)
        if (!*refused)
            refused = settle_flags(arena, &readings[i], versions.binary);
    versions.conflict = ek_facts_conflict__(arena, readings, n, &disputed);
    if (!*versions.conflict)
        versions.conflict = refused;
    for (size_t i = 0; i < n && !*versions.conflict; i++)
        if (readings[i].conflict)
            versions.conflict = readings[i].conflict;
    settle_emulation(readings, n, &versions);
    settle_min_compat(readings, n, &versions);
    versions.unread = *refused ? refused : unread;
    versions.binary_string = ek_notes_cut(arena, versions.binary_string, TEXT_MAX);
    return versions;
}

static struct reading flags_reading(struct ek_arena *arena, const struct ek_obj *pod,
                                    const struct ek_pod_flags *flags)
{
    return (struct reading){
        .source = EK_SOURCE_POD_FLAGS,
        .name = ek_arena_printf(arena, "the command line of pod %s", ek_obj_name(pod)),
        .text = "",
        .emulation = flags->emulation,
        .min_compat = flags->min_compat,
        .current = true,
        .flags = true,
    };
}

const char *ek_facts_pod_readings__(struct facts *f, const struct ek_obj *pod,
                                    enum ek_component component, struct reading *readings,
                                    size_t *n, struct ek_pod_flags *ret_flags)
{
    const char *name = ek_component_name(component), *unread = "it has no known pod";
    struct ek_pod_image image;
    bool proven = pod && ek_pod_is_proven(pod, &f->view->nodes);

    *ret_flags = (struct ek_pod_flags){.unread = unread};
    if (!pod)
        return unread;
    if (!proven) {
        unread = ek_arena_printf(f->arena,
                                 "pod %s is on a node that is not known to be of the control plane",
                                 ek_obj_name(pod));
    } else {
        ek_pod_flags_read(pod, name, f->arena, ret_flags);
        unread = "";
        if (*ret_flags->unread)
            unread = ek_arena_printf(f->arena, "the flags of pod %s cannot be read: %s",
                                     ek_obj_name(pod), ret_flags->unread);
        else
            readings[(*n)++] = flags_reading(f->arena, pod, ret_flags);
    }
    ek_pod_image_read(pod, name, f->arena, &image);
    readings[*n] = ek_facts_reading__(EK_SOURCE_POD_IMAGE, "its pod's image", image.version,
                                      ek_pod_is_running(pod));
    if (*image.doubt)
        readings[*n].conflict =
            ek_arena_printf(f->arena, "the spec of pod %s %s", ek_obj_name(pod), image.doubt);
    readings[(*n)++].unproven = !proven;
    return unread;
}

void ek_facts_no_emulation__(struct ek_versions *versions)
{
    versions->emulation = versions->binary;
    versions->emulation_source = versions->binary.known ? versions->source : EK_SOURCE_NONE;
    versions->min_compat = EK_MINOR_UNKNOWN;
    versions->min_compat_source = EK_SOURCE_NONE;
    versions->assumed_emulation = versions->assumed_min_compat = false;
}
