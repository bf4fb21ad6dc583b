/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/log.h"

#include <string.h>

#include "api/base/line.h"

static void end_line(struct ek_rehearse_log *log)
{
    char *line = log->lines[log->n % EK_REHEARSE_LINES];
    char sentence[EK_REHEARSE_LINE_MAX];

    ek_line_copy(log->part, log->part_len, line, EK_REHEARSE_LINE_MAX);
    log->part_len = 0;
    if (!*line)
        return;
    log->n++;
    if (ek_rehearse_refusal(line, sentence, sizeof sentence))
        memcpy(log->refusal, sentence, sizeof sentence);
}

void ek_rehearse_log_feed(struct ek_rehearse_log *log, const char *data, size_t len)
{
    log->octets += len;
    for (size_t i = 0; i < len; i++) {
        if (data[i] == '\n')
            end_line(log);
        else if (log->part_len < sizeof log->part)
            log->part[log->part_len++] = data[i];
    }
}

void ek_rehearse_log_end(struct ek_rehearse_log *log)
{
    if (log->part_len)
        end_line(log);
}

const char *ek_rehearse_log_line(const struct ek_rehearse_log *log, size_t i)
{
    size_t kept = log->n < EK_REHEARSE_LINES ? log->n : EK_REHEARSE_LINES;

    return i < kept ? log->lines[(log->n - kept + i) % EK_REHEARSE_LINES] : NULL;
}

/* Copies a string that Go quoted, p behind its first quote, without the escapes of quotes. */
static void unquote(const char *p, char *out, size_t size)
{
    size_t n = 0;

    for (; *p && *p != '"' && n + 1 < size; p++) {
        if (*p == '\\' && p[1])
            p++;
        out[n++] = *p == 'n' && p[-1] == '\\' ? ' ' : *p;
    }
    out[n] = '\0';
}

/* Behind the header of a line of klog, "E1123 17:43:15.599082       4 run.go:72] "; NULL for
 * another line or another letter. */
static const char *klog_text(const char *line, char letter)
{
    const char *bracket = strstr(line, "] ");

    return *line == letter && strspn(line + 1, "0123456789") == 4 && line[5] == ' ' && bracket
               ? bracket + 2
               : NULL;
}

bool ek_rehearse_refusal(const char *line, char *out, size_t size)
{
    const char *text = klog_text(line, 'E');
    const char *failed = text ? strstr(text, "\"command failed\" err=\"") : NULL;

    if (failed) {
        unquote(strchr(failed, '=') + 2, out, size);
        return true;
    }
    text = !strncmp(line, "Error: ", 7)          ? line + 7
           : !strncmp(line, "panic: ", 7)        ? line
           : !strncmp(line, "fatal error: ", 13) ? line
                                                 : klog_text(line, 'F');
    if (text)
        ek_line_copy(text, strlen(text), out, size);
    return text != NULL;
}
