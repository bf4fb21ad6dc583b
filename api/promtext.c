/* SPDX-License-Identifier: Apache-2.0 */
#include "api/promtext.h"

#include <stdlib.h>
#include <string.h>

#include "api/base/err.h"

void ek_promtext_init(struct ek_promtext *reader, const char *const *wanted, ek_prom_sample_fn fn,
                      void *ctx)
{
    *reader = (struct ek_promtext){.wanted = wanted, .fn = fn, .ctx = ctx};
    ek_buf_init(&reader->line, EK_PROMTEXT_LINE_MAX);
}

void ek_promtext_done(struct ek_promtext *reader)
{
    ek_buf_done(&reader->line);
}

const char *ek_prom_label(const struct ek_prom_sample *sample, const char *name)
{
    for (size_t i = 0; i < sample->n_labels; i++)
        if (!strcmp(sample->labels[i].name, name))
            return sample->labels[i].value;
    return "";
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static char *skip_blanks(char *s)
{
    while (is_blank(*s))
        s++;
    return s;
}

/* Length of a metric or label name at s (label names are the same without ':'). */
static size_t name_len(const char *s)
{
    size_t n = 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') || s[n] == '_' ||
           s[n] == ':' || (n > 0 && s[n] >= '0' && s[n] <= '9'))
        n++;
    return n;
}

/* Unescapes the quoted value at s in place; returns what follows the closing quote, or NULL. */
static char *take_value(char *s, const char **ret_value)
{
    if (*s++ != '"')
        return NULL;
    char *out = s;
    *ret_value = s;
    for (; *s && *s != '"'; s++) {
        if (*s == '\\' && s[1]) {
            s++;
            *out++ = (char)(*s == 'n' ? '\n' : *s);
        } else {
            *out++ = *s;
        }
    }
    if (*s != '"')
        return NULL;
    *out = '\0';
    return s + 1;
}

/* Reads "{a="x",b="y",}" at s into sample; returns what follows, or NULL. */
static char *take_labels(char *s, struct ek_prom_sample *sample)
{
    s = skip_blanks(s + 1);
    while (*s != '}') {
        size_t n = name_len(s);
        if (n == 0 || sample->n_labels == EK_PROMTEXT_LABELS_MAX)
            return NULL;
        struct ek_prom_label *label = &sample->labels[sample->n_labels++];
        label->name = s;
        char *end = s + n;
        s = skip_blanks(end);
        if (*s != '=')
            return NULL;
        s = skip_blanks(s + 1);
        *end = '\0';
        s = take_value(s, &label->value);
        if (!s)
            return NULL;
        s = skip_blanks(s);
        if (*s == ',')
            s = skip_blanks(s + 1);
        else if (*s != '}')
            return NULL;
    }
    return s + 1;
}

static bool is_wanted(const struct ek_promtext *reader, const char *name, size_t len)
{
    for (const char *const *w = reader->wanted; *w; w++)
        if (strlen(*w) == len && !memcmp(*w, name, len))
            return true;
    return false;
}

/* Parses one line, which it may overwrite; false when it is malformed. */
static bool take_line(struct ek_promtext *reader, char *s)
{
    struct ek_prom_sample sample = {.n_labels = 0};
    char *end;

    s = skip_blanks(s);
    if (*s == '\0' || *s == '#' || *s == '\r')
        return true;
    size_t n = name_len(s);
    if (n == 0)
        return false;
    if (!is_wanted(reader, s, n))
        return true;
    sample.name = s;
    char *name_end = s + n;
    s = skip_blanks(name_end);
    if (*s == '{')
        s = take_labels(s, &sample);
    else if (s == name_end)
        return false;
    if (!s)
        return false;
    s = skip_blanks(s);
    sample.value = strtod(s, &end);
    if (end == s || (*end && !is_blank(*end) && *end != '\r'))
        return false;
    *name_end = '\0';
    reader->fn(reader->ctx, &sample);
    return true;
}

static void end_line(struct ek_promtext *reader)
{
    reader->n_line++;
    if (reader->skipping || (reader->line.len && !take_line(reader, reader->line.data)))
        reader->n_bad++;
    reader->skipping = false;
    ek_buf_reset(&reader->line);
}

int ek_promtext_feed(struct ek_promtext *reader, const char *data, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(data, '\n', len);
        size_t n = newline ? (size_t)(newline - data) : len;
        int rc = reader->skipping ? 0 : ek_buf_append(&reader->line, data, n);
        if (rc == EK_E_NOMEM)
            return rc;
        if (rc)
            reader->skipping = true;
        if (newline) {
            end_line(reader);
            n++;
        }
        data += n;
        len -= n;
    }
    return 0;
}

int ek_promtext_finish(struct ek_promtext *reader)
{
    if (reader->line.len || reader->skipping)
        end_line(reader);
    return 0;
}
