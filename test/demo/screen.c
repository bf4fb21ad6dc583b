/* SPDX-License-Identifier: Apache-2.0 */
#include "test/demo/screen.h"

#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "api/cond.h"

#define INDENT      4
#define LINES_MAX   3 /* of a message */
#define TYPE_WIDTH  24
#define ROW_FORMAT  "%-8s  %-7s  %-5s  %-9s  %-10s  %-7s  %-4s  %-9s  %s"
#define WIDTH_MIN   60
#define WIDTH_PLAIN 100

enum paint { PLAIN, BOLD, DIM, RED, GREEN, YELLOW };

static const char *paint(const struct ek_screen *screen, enum paint how)
{
    static const char *const codes[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                        "\033[31m", "\033[32m", "\033[33m"};
    return screen->color ? codes[how] : "";
}

static enum paint paint_of(const char *status)
{
    if (!strcmp(status, "True"))
        return GREEN;
    return !strcmp(status, "False") ? RED : YELLOW;
}

void ek_screen_init(struct ek_screen *screen, FILE *out, bool color, int64_t now_ms)
{
    struct winsize size;

    *screen =
        (struct ek_screen){.out = out, .color = color, .width = WIDTH_PLAIN, .began_ms = now_ms};
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        screen->width = size.ws_col < WIDTH_MIN ? WIDTH_MIN : size.ws_col;
    setvbuf(out, NULL, _IOLBF, 0);
}

void ek_screen_done(struct ek_screen *screen)
{
    ek_obj_unref(screen->shown);
    screen->shown = NULL;
}

/* Prints text in lines of at most n_lines, each after indent blanks; what is more becomes "...". */
static void put_text(const struct ek_screen *screen, const char *text, size_t indent,
                     size_t n_lines)
{
    size_t room = screen->width - indent;

    for (size_t line = 1; *text; line++) {
        size_t len = strlen(text);
        bool last = line == n_lines && len > room;
        if (len > room) {
            size_t cut = room - (last ? 4 : 0);
            while (cut > 1 && text[cut] != ' ')
                cut--;
            len = cut > 1 ? cut : room;
        }
        fprintf(screen->out, "%*s%.*s%s\n", (int)indent, "", (int)len, text, last ? " ..." : "");
        if (last)
            return;
        text += len;
        text += strspn(text, " ");
    }
}

void ek_screen_act(struct ek_screen *screen, size_t n, const char *title, const char *text,
                   int64_t now_ms)
{
    int64_t elapsed = now_ms - screen->began_ms;

    fprintf(screen->out, "\n%s%zu. %s%s%s  (%lld.%lld s)%s\n", paint(screen, BOLD), n, title,
            paint(screen, PLAIN), paint(screen, DIM), (long long)elapsed / 1000,
            (long long)elapsed / 100 % 10, paint(screen, PLAIN));
    put_text(screen, text, 3, SIZE_MAX);
    fprintf(screen->out, "\n%s" ROW_FORMAT "%s\n", paint(screen, DIM), "NAME", "READY", "PEERS",
            "VERSIONS", "VIOLATIONS", "UNKNOWN", "NEXT", "NEXT-SAFE", "REASON",
            paint(screen, PLAIN));
    screen->row[0] = '\0';
}

static yyjson_val *conditions_of(const struct ek_obj *obj)
{
    return obj ? ek_json_get(ek_obj_root(obj), "status", "conditions", NULL) : NULL;
}

/* A member of a condition, "" where there is none. */
static const char *part(yyjson_val *condition, const char *name)
{
    const char *s = ek_json_str(condition, name, NULL);
    return s ? s : "";
}

static void format_row(const struct ek_obj *obj, char row[EK_SCREEN_ROW])
{
    yyjson_val *summary = ek_json_get(ek_obj_root(obj), "status", "summary", NULL);
    yyjson_val *ready = ek_cond_find(conditions_of(obj), "Ready");
    yyjson_val *next = ek_cond_find(conditions_of(obj), "NextVersionSafe");
    char violations[24], unknown[24];

    snprintf(violations, sizeof violations, "%lld",
             (long long)yyjson_get_sint(yyjson_obj_get(summary, "violations")));
    snprintf(unknown, sizeof unknown, "%lld",
             (long long)yyjson_get_sint(yyjson_obj_get(summary, "unknown")));
    snprintf(row, EK_SCREEN_ROW, ROW_FORMAT, ek_obj_name(obj), part(ready, "status"),
             part(summary, "peers"), part(summary, "versions"), violations, unknown,
             part(summary, "nextVersion"), part(next, "status"), part(ready, "reason"));
}

/* What the eye should see of a condition is status and reason; the message of a good one is not
 * worth a line of its own. */
static void put_condition(const struct ek_screen *screen, yyjson_val *condition, bool with_message)
{
    const char *status = part(condition, "status");

    fprintf(screen->out, "%*s%-*s%s%-8s%s%s\n", INDENT, "", TYPE_WIDTH, part(condition, "type"),
            paint(screen, paint_of(status)), status, paint(screen, PLAIN),
            part(condition, "reason"));
    if (!with_message || !strcmp(status, "True"))
        return;
    fputs(paint(screen, DIM), screen->out);
    put_text(screen, part(condition, "message"), (size_t)2 * INDENT, LINES_MAX);
    fputs(paint(screen, PLAIN), screen->out);
}

/* Ready repeats the message of the condition that it fails for. */
static bool is_shown_elsewhere(yyjson_val *conditions, yyjson_val *condition)
{
    yyjson_val *other;
    size_t i, n;

    if (strcmp(part(condition, "type"), "Ready") != 0)
        return false;
    yyjson_arr_foreach(conditions, i, n, other)
    {
        if (other != condition && !strcmp(part(other, "reason"), part(condition, "reason")))
            return true;
    }
    return false;
}

static void put_changed(const struct ek_screen *screen, yyjson_val *old, yyjson_val *new)
{
    yyjson_val *condition;
    size_t i, n;

    yyjson_arr_foreach(new, i, n, condition)
    {
        yyjson_val *before = ek_cond_find(old, part(condition, "type"));
        if (strcmp(part(before, "status"), part(condition, "status")) != 0 ||
            strcmp(part(before, "reason"), part(condition, "reason")) != 0)
            put_condition(screen, condition, !is_shown_elsewhere(new, condition));
    }
}

void ek_screen_status(struct ek_screen *screen, const struct ek_obj *control_plane)
{
    char row[EK_SCREEN_ROW];

    if (!conditions_of(control_plane))
        return;
    format_row(control_plane, row);
    if (strcmp(row, screen->row) != 0)
        fprintf(screen->out, "%s\n", row);
    snprintf(screen->row, sizeof screen->row, "%s", row);
    put_changed(screen, conditions_of(screen->shown), conditions_of(control_plane));
    ek_obj_unref(screen->shown);
    screen->shown = ek_obj_ref(control_plane);
}

void ek_screen_summary(struct ek_screen *screen, const struct ek_obj *control_plane)
{
    yyjson_val *condition;
    size_t i, n;

    yyjson_arr_foreach(conditions_of(control_plane), i, n, condition)
    {
        put_condition(screen, condition, false);
    }
}

void ek_screen_say(struct ek_screen *screen, enum ek_screen_tone tone, const char *fmt, ...)
{
    va_list args;

    fputs(paint(screen, tone == EK_SCREEN_FAILURE ? RED : PLAIN), screen->out);
    va_start(args, fmt);
    vfprintf(screen->out, fmt, args);
    va_end(args);
    fprintf(screen->out, "%s\n", paint(screen, PLAIN));
}
