/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/skew/text.h"

#include <stdbool.h>
#include <string.h>

static bool plain(char c)
{
    return c >= 0x20 && c < 0x7f;
}

const char *ek_skew_clean_max(struct ek_arena *arena, const char *s, size_t max)
{
    size_t len = 0, clean = 0;
    if (!s)
        return "";
    for (; s[len] && len <= max; len++)
        clean += plain(s[len]);
    if (len <= max && clean == len)
        return s;
    bool cut = len > max;
    len = cut ? max : len;
    char *out = ek_arena_strndup(arena, s, len);
    for (size_t i = 0; i < len; i++)
        if (!plain(out[i]))
            out[i] = '?';
    if (cut)
        memset(out + len - 3, '.', 3);
    return out;
}

const char *ek_skew_clean(struct ek_arena *arena, const char *s)
{
    return ek_skew_clean_max(arena, s, EK_SKEW_TEXT_MAX);
}

const char *ek_skew_minor_text(struct ek_arena *arena, struct ek_minor v)
{
    char buf[EK_MINOR_SIZE];
    return v.known ? ek_arena_strdup(arena, ek_minor_format(v, buf)) : "unknown";
}

const char *ek_skew_names_text(struct ek_arena *arena, const char *const *names, size_t n_names,
                               size_t n, size_t max)
{
    const char *text = "";
    size_t shown = n_names < max ? n_names : max;
    for (size_t i = 0; i < shown; i++) {
        const char *sep = i == 0 ? "" : i + 1 == n ? " and " : ", ";
        text = ek_arena_printf(arena, "%s%s%s", text, sep, ek_skew_clean(arena, names[i]));
    }
    if (n > shown)
        text = ek_arena_printf(arena, "%s%s%zu more", text, shown ? " and " : "", n - shown);
    return text;
}

/* The length of "12 ms", "3ms" or "7 milliseconds" at the start of s, 0 when it is none. */
static size_t elapsed_size(const char *s)
{
    static const char *const units[] = {"milliseconds", "ms"};
    size_t digits = strspn(s, "0123456789");
    const char *unit = s + digits + strspn(s + digits, " ");
    for (size_t i = 0; digits > 0 && i < sizeof(units) / sizeof(*units); i++)
        if (strncmp(unit, units[i], strlen(units[i])) == 0)
            return (size_t)(unit - s) + strlen(units[i]);
    return 0;
}

const char *ek_skew_steady(struct ek_arena *arena, const char *s)
{
    static const char after[] = " after ";
    char *out = ek_arena_strdup(arena, ek_skew_clean_max(arena, s, 256));
    for (char *from = strstr(out, after); from; from = strstr(from, after)) {
        char *to = from + sizeof(after) - 1;
        size_t size = elapsed_size(to);
        if (size > 0)
            memmove(from, to + size, strlen(to + size) + 1);
        else
            from = to;
    }
    return out;
}

const char *ek_skew_or_text(struct ek_arena *arena, const char *const *alternatives, size_t n)
{
    const char *text = "";
    size_t left = 0;

    for (size_t i = 0; i < n; i++)
        left += *alternatives[i] != '\0';
    for (size_t i = 0; i < n; i++) {
        if (!*alternatives[i])
            continue;
        left--;
        text = ek_arena_printf(arena, "%s%s%s%s", text, *text ? ", " : "",
                               *text && left == 0 ? "or " : "", alternatives[i]);
    }
    return text;
}

const char *ek_skew_candidates_text(struct ek_arena *arena, struct ek_minor ev)
{
    if (!ev.known || ek_minor_cmp(ev, EK_MINOR(1, 32)) < 0)
        return "";
    return ek_arena_printf(arena,
                           "enable the feature gate CoordinatedLeaderElection with "
                           "coordination.k8s.io/%s",
                           ek_minor_cmp(ev, EK_MINOR(1, 32)) > 0 ? "v1beta1" : "v1alpha2");
}

const char *ek_skew_ignore_text(struct ek_arena *arena, enum ek_component component)
{
    const char *name = ek_component_name(component);

    return ek_arena_printf(
        arena, "list %s in spec.skewPolicy.ignoredComponents, or run check with --ignore=%s", name,
        name);
}
