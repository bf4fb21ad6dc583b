/* SPDX-License-Identifier: Apache-2.0 */
/* Components against versions. */
#include "controller/page/page.h"

/* Columns, and a minor version, at most: what a component reports may be any number. */
#define COLUMNS_MAX 16
#define MINOR_MAX   9999

struct span {
    uint64_t first, last; /* minors of major version 1 */
    bool known;
};

static bool is_usable(struct ek_minor v)
{
    return v.known && v.major == 1 && v.minor <= MINOR_MAX;
}

/* Widens span by v, unless there would be too many columns. */
static void include(struct span *span, struct ek_minor v)
{
    if (!is_usable(v))
        return;
    if (!span->known) {
        *span = (struct span){v.minor, v.minor, true};
        return;
    }
    uint64_t first = v.minor < span->first ? v.minor : span->first;
    uint64_t last = v.minor > span->last ? v.minor : span->last;
    if (last - first < COLUMNS_MAX) {
        span->first = first;
        span->last = last;
    }
}

/* The target first: what is far from the target is left out. */
static struct span columns_of(const struct ek_page_matrix *m)
{
    struct span ret = {0};

    include(&ret, m->target);
    for (size_t i = 0; i < m->n; i++) {
        include(&ret, m->rows[i].binary);
        include(&ret, m->rows[i].emulation);
        include(&ret, m->rows[i].min_compat);
    }
    for (size_t i = 0; i < m->n; i++) {
        include(&ret, m->rows[i].from);
        include(&ret, m->rows[i].to);
    }
    return ret;
}

void ek_page_matrix_legend(struct ek_buf *out)
{
    ek_buf_puts(out, "<ul class=\"legend\"><li><b class=\"mark\">B</b> binary</li>"
                     "<li><b class=\"mark emulation\">E</b> emulation version</li>"
                     "<li><b class=\"mark compat\">C</b> minimum compatibility version</li>"
                     "<li><span class=\"swatch\"></span> window: what the binary of an API server "
                     "can emulate, and what the version skew policy allows for the other "
                     "components</li></ul>\n");
}

static void put_head(struct ek_buf *out, const struct ek_page_matrix *m, struct span span)
{
    ek_buf_puts(out, "<thead><tr><th scope=\"col\">component</th>");
    for (uint64_t v = span.first; v <= span.last; v++) {
        bool target = is_usable(m->target) && m->target.minor == v;
        ek_buf_printf(out, "<th scope=\"col\" class=\"version%s\">1.%u%s", target ? " target" : "",
                      (unsigned)v, target ? "<br>" : "");
        if (target)
            ek_page_text(out, m->target_name);
        ek_buf_puts(out, "</th>");
    }
    ek_buf_puts(out, "</tr></thead><tbody>\n");
}

static bool is_at(struct ek_minor v, uint64_t minor)
{
    return is_usable(v) && v.minor == minor;
}

/* Within the window; an open end is open. False where no end is known. */
static bool is_within(const struct ek_page_component *row, uint64_t minor)
{
    if (!is_usable(row->from) && !is_usable(row->to))
        return false;
    return (!is_usable(row->from) || minor >= row->from.minor) &&
           (!is_usable(row->to) || minor <= row->to.minor);
}

static void put_mark(struct ek_buf *out, bool shown, const char *class, const char *letter,
                     const char *what)
{
    if (shown)
        ek_buf_printf(out,
                      "<b class=\"mark%s\" title=\"%s\" aria-hidden=\"true\">%s</b><span "
                      "class=\"hidden-text\">%s </span>",
                      class, what, letter, what);
}

static void put_cell(struct ek_buf *out, const struct ek_page_component *row, uint64_t minor)
{
    bool binary = is_at(row->binary, minor), emulation = is_at(row->emulation, minor);
    bool compat = is_at(row->min_compat, minor), in = is_within(row, minor);
    bool judged = row->emulation.known ? emulation : binary;
    bool has_window = is_usable(row->from) || is_usable(row->to);

    ek_buf_printf(out, "<td%s>",
                  in                     ? " class=\"in\""
                  : judged && has_window ? " class=\"out\""
                                         : "");
    put_mark(out, binary, "", "B", "binary");
    put_mark(out, emulation, " emulation", "E", "emulation version");
    put_mark(out, compat, " compat", "C", "minimum compatibility version");
    if (in || (judged && has_window))
        ek_buf_printf(out, "<span class=\"hidden-text\">%s the window</span>",
                      in ? "in" : "outside of");
    ek_buf_puts(out, "</td>");
}

void ek_page_matrix(struct ek_buf *out, const struct ek_page_matrix *m)
{
    struct span span = columns_of(m);

    if (!span.known)
        return;
    ek_buf_puts(out, "<div class=\"scroll\" role=\"region\" aria-label=\"");
    ek_page_text(out, m->label);
    ek_buf_puts(out, "\"><table class=\"matrix\"><caption>");
    ek_page_text(out, m->label);
    ek_buf_puts(out, "</caption>");
    put_head(out, m, span);
    for (size_t i = 0; i < m->n; i++) {
        ek_buf_puts(out, "<tr><th scope=\"row\">");
        if (m->rows[i].group && *m->rows[i].group) {
            ek_page_text(out, m->rows[i].group);
            ek_buf_puts(out, " ");
        }
        ek_page_text(out, m->rows[i].name);
        ek_buf_puts(out, "</th>");
        for (uint64_t v = span.first; v <= span.last; v++)
            put_cell(out, &m->rows[i], v);
        ek_buf_puts(out, "</tr>\n");
    }
    ek_buf_puts(out, "</tbody></table></div>\n");
}
