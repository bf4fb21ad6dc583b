/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a gated write has to be sent to us, in CEL.
 *
 * Paths are compared as optional values: what is absent, also because a field above it is absent,
 * null or a scalar, is none, and none equals none. The old object of a create is null, so that
 * there a path counts when it is present. A list above a field would be an error, which would be a
 * denial; where there is one, only the first names of paths are compared. A list or a map whose
 * items hold what is gated is compared as a whole.
 */
#include <string.h>

#include "reconcilers/fieldgates/registration-internal.h"

enum part { PART_MAIN, PART_STATUS, PART_SCALE, PARTS };

struct writer {
    const struct ek_gates_share *share;
    enum part part;
    bool coarse;        /* first names alone */
    struct ek_buf *out; /* NULL: only counting */
    size_t n;
    const struct ek_field_path **seen; /* room for what is written; NULL: it is not kept */
};

/* How many names of path are compared: those before [*]. */
static size_t compared(const struct ek_field_path *path)
{
    size_t n = 0;

    while (n < path->n && !ek_field_path_is_each(path->names[n]))
        n++;
    return n;
}

static bool is_status(const struct ek_field_path *path)
{
    return ek_str_eq(path->names[0], EK_STR("status"));
}

/* /scale writes one field of the object, which autoscaling/v1 shows as spec.replicas. */
static bool concerns(const struct writer *w, const struct ek_field_path *path)
{
    const struct ek_gates_shape *shape = &w->share->of->crd->shape;

    switch (w->part) {
    case PART_STATUS:
        return shape->has_status && is_status(path);
    case PART_SCALE:
        return shape->replicas && ek_field_path_covers(path, shape->replicas);
    default:
        return !(shape->has_status && is_status(path));
    }
}

/* Nothing is enforced of a deprecated field that is on: no write has to fail because the
 * warning is unavailable. */
static bool takes(const struct ek_gates_share *share, const struct ek_gate *gate)
{
    bool deprecated = gate->on && gate->stage == EK_GATE_DEPRECATED;
    bool ignore = deprecated || gate->ignore_failures;
    return ignore == share->ignore_failures && (!gate->on || (deprecated && !share->backstop));
}

/* ---- Paths ---- */

/* What may stand after a dot: an identifier that is no word of CEL's own. */
static bool is_selector(struct ek_str name)
{
    static const char *const words[] = {"as",   "break",     "const", "continue", "else",   "false",
                                        "for",  "function",  "if",    "import",   "in",     "let",
                                        "loop", "namespace", "null",  "package",  "return", "true",
                                        "var",  "void",      "while"};

    for (size_t i = 0; i < name.len; i++) {
        char c = name.p[i];
        bool letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    for (size_t i = 0; i < EK_ARRAY_SIZE(words); i++)
        if (ek_str_eq(name, ek_str_from(words[i])))
            return false;
    return name.len > 0;
}

static void put_name(struct ek_buf *out, struct ek_str name)
{
    if (is_selector(name)) {
        ek_buf_puts(out, ".?");
        ek_buf_append(out, name.p, name.len);
        return;
    }
    ek_buf_puts(out, "[?'");
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.p[i];
        if (c < 0x20 || c == 0x7f)
            ek_buf_printf(out, "\\x%02x", c);
        else
            ek_buf_printf(out, "%s%c", c == '\'' || c == '\\' ? "\\" : "", c);
    }
    ek_buf_puts(out, "']");
}

static void put_difference(struct ek_buf *out, const struct ek_str *names, size_t n)
{
    static const char *const sides[] = {"object", " != oldObject"};

    for (size_t side = 0; side < EK_ARRAY_SIZE(sides); side++) {
        ek_buf_puts(out, sides[side]);
        for (size_t i = 0; i < n; i++)
            put_name(out, names[i]);
    }
}

static bool starts_alike(const struct ek_field_path *a, const struct ek_field_path *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (i >= a->n || i >= b->n || !ek_str_eq(a->names[i], b->names[i]))
            return false;
    return true;
}

/* Whether a path with the same names is there. */
static bool is_seen(const struct writer *w, const struct ek_field_path *path)
{
    size_t n = w->coarse ? 1 : compared(path);

    for (size_t i = 0; i < w->n; i++)
        if ((w->coarse || compared(w->seen[i]) == n) && starts_alike(w->seen[i], path, n))
            return true;
    return false;
}

static void put_path(struct writer *w, const struct ek_field_path *path)
{
    static const struct ek_str replicas[] = {{"spec", 4}, {"replicas", 8}};

    if (w->seen && is_seen(w, path))
        return;
    if (w->seen)
        w->seen[w->n] = path;
    if (w->out && w->n)
        ek_buf_puts(w->out, " || ");
    w->n++;
    if (!w->out)
        return;
    if (w->part == PART_SCALE)
        put_difference(w->out, replicas, EK_ARRAY_SIZE(replicas));
    else
        put_difference(w->out, path->names, w->coarse ? 1 : compared(path));
}

/* A value below a path of the list differs only where the value at the path differs, too. */
static void walk(struct writer *w, const struct ek_gate_node *node)
{
    if (w->part == PART_SCALE && w->n)
        return;
    if (node->gate && node->path && takes(w->share, node->gate) && concerns(w, node->path)) {
        put_path(w, node->path);
        return;
    }
    for (size_t i = 0; i < node->n_children; i++)
        walk(w, &node->children[i]);
}

static size_t count(const struct ek_gates_share *share, enum part part)
{
    struct writer w = {.share = share, .part = part};

    if (share->of->gates->root)
        walk(&w, share->of->gates->root);
    return w.n;
}

bool ek_gates_share_guards(const struct ek_gates_share *share, const struct ek_gates_lack *lack)
{
    const struct ek_gate *gate = ek_gates_find(share->of->gates, lack->gate);
    return share->backstop && gate && takes(share, gate);
}

static bool guards_any(const struct ek_gates_share *share)
{
    const struct ek_gates_shape *shape = &share->of->crd->shape;

    for (size_t i = 0; i < shape->n_lacks; i++)
        if (ek_gates_share_guards(share, &shape->lacks[i]))
            return true;
    return false;
}

/* Of differences alone. */
static struct ek_gates_parts differing_parts(const struct ek_gates_share *share)
{
    return (struct ek_gates_parts){.main = count(share, PART_MAIN) > 0,
                                   .status = count(share, PART_STATUS) > 0,
                                   .scale = count(share, PART_SCALE) > 0};
}

struct ek_gates_parts ek_gates_share_parts(const struct ek_gates_share *share)
{
    const struct ek_gates_shape *shape = &share->of->crd->shape;

    if (guards_any(share))
        return (struct ek_gates_parts){
            .main = true, .status = shape->has_status, .scale = shape->replicas != NULL};
    return differing_parts(share);
}

/* ---- Expressions ---- */

/* True when a field above one of the n paths is a list; each list appears once. Returns their
 * number. */
static size_t put_lists(const struct ek_field_path *const *paths, size_t n, struct ek_buf *out)
{
    static const char *const sides[] = {"object", "oldObject"};
    size_t written = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t depth = 1; depth < compared(paths[i]); depth++) {
            size_t before = 0;
            while (before < i && !(starts_alike(paths[before], paths[i], depth) &&
                                   compared(paths[before]) > depth))
                before++;
            if (before < i)
                continue;
            for (size_t side = 0; side < EK_ARRAY_SIZE(sides); side++) {
                ek_buf_printf(out, "%stype(%s", written++ ? " || " : "", sides[side]);
                for (size_t k = 0; k < depth; k++)
                    put_name(out, paths[i]->names[k]);
                ek_buf_puts(out, ".orValue(0)) == list");
            }
        }
    }
    return written;
}

static void put_paths(struct writer *w)
{
    w->n = 0;
    walk(w, w->share->of->gates->root);
}

static void put_part(const struct ek_gates_share *share, enum part part, bool coarse,
                     struct ek_buf *out)
{
    size_t n = count(share, part);
    struct writer w = {.share = share, .part = part, .coarse = coarse, .out = out};

    if (n == 0) {
        ek_buf_puts(out, "false");
        return;
    }
    w.seen = ek_xalloc(n * sizeof(const struct ek_field_path *));
    if (!coarse && part != PART_SCALE) {
        w.out = NULL;
        put_paths(&w);
        w.out = out;
        if (put_lists(w.seen, w.n, out)) {
            ek_buf_puts(out, " ? ");
            w.coarse = true;
            put_paths(&w);
            w.coarse = false;
            ek_buf_puts(out, " : ");
        }
    }
    put_paths(&w);
    ek_free(w.seen);
}

static void put_all(const struct ek_gates_share *share, bool coarse, struct ek_buf *out)
{
    static const char subresource[] = "request.?subResource.orValue('') == ";
    struct ek_gates_parts parts = differing_parts(share);
    int n = parts.main + parts.status + parts.scale;

    if (n == 1) {
        put_part(share,
                 parts.main     ? PART_MAIN
                 : parts.status ? PART_STATUS
                                : PART_SCALE,
                 coarse, out);
        return;
    }
    if (parts.scale) {
        ek_buf_printf(out, "%s'scale' ? ", subresource);
        put_part(share, PART_SCALE, coarse, out);
        ek_buf_puts(out, " : ");
    }
    if (parts.status) {
        ek_buf_printf(out, "%s'status' ? (", subresource);
        put_part(share, PART_STATUS, coarse, out);
        ek_buf_puts(out, ") : ");
    }
    put_part(share, PART_MAIN, coarse, out);
}

/* One condition for all versions: versions of a CRD are DNS labels, at most 64 (resolve.c). The
 * object of a /scale has no deletionTimestamp. */
static void put_guard(const struct ek_gates_share *share, struct ek_buf *out)
{
    const struct ek_gates_shape *shape = &share->of->crd->shape;
    const char *comma = "";

    ek_buf_puts(out, " || (oldObject != null && "
                     "!object.?metadata.?deletionTimestamp.hasValue() && "
                     "request.requestResource.version in [");
    for (size_t i = 0; i < shape->n_lacks; i++) {
        if (!ek_gates_share_guards(share, &shape->lacks[i]))
            continue;
        ek_buf_printf(out, "%s'%s'", comma, shape->lacks[i].version);
        comma = ", ";
    }
    ek_buf_puts(out, "])");
}

static void put_whole(const struct ek_gates_share *share, bool coarse, struct ek_buf *out)
{
    if (!guards_any(share)) {
        put_all(share, coarse, out);
        return;
    }
    ek_buf_puts(out, "(");
    put_all(share, coarse, out);
    ek_buf_puts(out, ")");
    put_guard(share, out);
}

void ek_gates_share_condition(const struct ek_gates_share *share, struct ek_buf *out)
{
    for (int coarse = 0; coarse < 2; coarse++) {
        EK_AUTO(ek_buf) text;
        ek_buf_init(&text, EK_GATES_CONDITION_MAX);
        put_whole(share, coarse, &text);
        if (!text.failed) {
            ek_buf_append(out, text.data, text.len);
            return;
        }
    }
    ek_buf_puts(out, "true");
}
