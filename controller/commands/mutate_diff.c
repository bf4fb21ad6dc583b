/* SPDX-License-Identifier: Apache-2.0 */
/* A unified diff of two texts, for people and for patch(1). */
#include <stdint.h>
#include <string.h>

#include "api/base/mem.h"
#include "controller/manifests/manifests-internal.h"

#define CONTEXT   3
#define CELLS_MAX ((size_t)16 << 20) /* beyond that the middle is replaced as a whole */

struct lines {
    struct ek_str *list; /* owned */
    size_t n;
};

static struct lines split(const char *text)
{
    struct lines ret = {0};

    while (*text) {
        size_t len = strcspn(text, "\n");
        ret.list = ek_xrealloc(ret.list, ret.n + 1, sizeof *ret.list);
        ret.list[ret.n++] = (struct ek_str){text, len};
        text += len + (text[len] == '\n');
    }
    return ret;
}

/* One line of the answer: ' ', '-' or '+'. */
struct edit {
    char sign;
    struct ek_str text;
};

struct script {
    struct edit *list; /* owned */
    size_t n;
};

static void emit(struct script *s, char sign, struct ek_str text)
{
    s->list = ek_xrealloc(s->list, s->n + 1, sizeof *s->list);
    s->list[s->n++] = (struct edit){sign, text};
}

/* The longest common subsequence of what differs in the middle. */
static void align(struct script *s, const struct ek_str *a, size_t n, const struct ek_str *b,
                  size_t m)
{
    size_t width = m + 1, i = 0, j = 0;
    uint32_t *length =
        (n + 1) * width <= CELLS_MAX ? ek_xalloc((n + 1) * width * sizeof *length) : NULL;

    for (size_t x = n; length && x-- > 0;)
        for (size_t y = m; y-- > 0;) {
            uint32_t down = length[(x + 1) * width + y], right = length[x * width + y + 1];
            length[x * width + y] = ek_str_eq(a[x], b[y]) ? length[(x + 1) * width + y + 1] + 1
                                    : down > right        ? down
                                                          : right;
        }
    while (length && i < n && j < m) {
        if (ek_str_eq(a[i], b[j])) {
            emit(s, ' ', a[i++]);
            j++;
        } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) {
            emit(s, '-', a[i++]);
        } else {
            emit(s, '+', b[j++]);
        }
    }
    while (i < n)
        emit(s, '-', a[i++]);
    while (j < m)
        emit(s, '+', b[j++]);
    ek_free(length);
}

static struct script compare(const struct lines *a, const struct lines *b)
{
    struct script s = {0};
    size_t start = 0, end = 0;

    while (start < a->n && start < b->n && ek_str_eq(a->list[start], b->list[start]))
        emit(&s, ' ', a->list[start++]);
    while (end < a->n - start && end < b->n - start &&
           ek_str_eq(a->list[a->n - 1 - end], b->list[b->n - 1 - end]))
        end++;
    align(&s, a->list + start, a->n - start - end, b->list + start, b->n - start - end);
    for (size_t i = a->n - end; i < a->n; i++)
        emit(&s, ' ', a->list[i]);
    return s;
}

/* Whether a line is within the context of a change. */
static bool is_shown(const struct script *s, size_t i)
{
    size_t from = i > CONTEXT ? i - CONTEXT : 0;

    for (size_t k = from; k < s->n && k <= i + CONTEXT; k++)
        if (s->list[k].sign != ' ')
            return true;
    return false;
}

static void write_hunk(const struct script *s, size_t first, size_t last, size_t line_a,
                       size_t line_b, bool color, struct ek_buf *out)
{
    size_t n_a = 0, n_b = 0;

    for (size_t i = first; i < last; i++) {
        n_a += s->list[i].sign != '+';
        n_b += s->list[i].sign != '-';
    }
    ek_buf_printf(out, "%s@@ -%zu,%zu +%zu,%zu @@%s\n", color ? "\033[36m" : "", line_a + (n_a > 0),
                  n_a, line_b + (n_b > 0), n_b, color ? "\033[0m" : "");
    for (size_t i = first; i < last; i++) {
        const struct edit *e = &s->list[i];
        bool painted = color && e->sign != ' ';
        ek_buf_puts(out, !painted ? "" : e->sign == '-' ? "\033[31m" : "\033[32m");
        ek_buf_append(out, &e->sign, 1);
        ek_buf_append(out, e->text.p, e->text.len);
        ek_buf_puts(out, painted ? "\033[0m\n" : "\n");
    }
}

int ek_text_diff(const char *before, const char *after, bool color, struct ek_buf *out)
{
    struct lines a = split(before), b = split(after);
    struct script s = compare(&a, &b);
    size_t line_a = 0, line_b = 0, i = 0;

    while (i < s.n) {
        size_t first = i, at_a = line_a, at_b = line_b;
        while (i < s.n && is_shown(&s, i)) {
            line_a += s.list[i].sign != '+';
            line_b += s.list[i].sign != '-';
            i++;
        }
        if (i > first) {
            write_hunk(&s, first, i, at_a, at_b, color, out);
            continue;
        }
        i++;
        line_a++;
        line_b++;
    }
    ek_free(a.list);
    ek_free(b.list);
    ek_free(s.list);
    return out->failed;
}
