/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/fsm_script.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define OUTPUT_MAX ((size_t)64 * 1024)

struct script {
    FILE *file;
    char *line; /* next line that is no comment, NULL at the end */
    size_t cap;
    int number;
};

static void read_line(struct script *s)
{
    while (getline(&s->line, &s->cap, s->file) >= 0) {
        s->number++;
        s->line[strcspn(s->line, "\n")] = '\0';
        if (getenv("EK_SCRIPT_PRINT") && *s->line != '>')
            puts(s->line);
        if (*s->line && *s->line != '#')
            return;
    }
    free(s->line);
    s->line = NULL;
}

static int differ(const char *path, int line, const char *got, const char *want, char *problem,
                  size_t size)
{
    snprintf(problem, size, "%s:%d: the machine says \"%s\", the script \"%s\"", path, line, got,
             want);
    return -1;
}

/* Compares the answer with the "> " lines that follow. */
static int expect(struct script *s, const char *path, char *answer, char *problem, size_t size)
{
    char *save = NULL;

    for (char *got = strtok_r(answer, "\n", &save); got; got = strtok_r(NULL, "\n", &save)) {
        bool marked = s->line && !strncmp(s->line, "> ", 2);
        if (!marked || strcmp(s->line + 2, got) != 0)
            return differ(path, s->number, got, marked ? s->line + 2 : "(nothing)", problem, size);
        read_line(s);
    }
    if (s->line && *s->line == '>')
        return differ(path, s->number, "(nothing)", s->line + 2, problem, size);
    return 0;
}

/* Shows the answer in the place of the lines that were expected. */
static void print_answer(struct script *s, char *answer)
{
    char *save = NULL;

    for (char *got = strtok_r(answer, "\n", &save); got; got = strtok_r(NULL, "\n", &save))
        printf("> %s\n", got);
    do
        read_line(s);
    while (s->line && *s->line == '>');
}

int ek_script_run(const char *path, ek_script_feed_fn feed, void *ctx, char *problem, size_t size)
{
    struct script s = {.file = fopen(path, "re")};
    int rc = 0;

    if (!s.file) {
        snprintf(problem, size, "%s: cannot be opened", path);
        return -1;
    }
    read_line(&s);
    while (s.line && rc == 0) {
        struct ek_buf out;
        ek_buf_init(&out, OUTPUT_MAX);
        int number = s.number;
        if (feed(ctx, s.line, &out)) {
            snprintf(problem, size, "%s:%d: not understood: %s", path, number, s.line);
            rc = -1;
        } else {
            EK_AUTOFREE char *answer = ek_buf_steal(&out);
            if (getenv("EK_SCRIPT_PRINT")) {
                print_answer(&s, answer);
            } else {
                read_line(&s);
                rc = expect(&s, path, answer, problem, size);
            }
        }
        ek_buf_done(&out);
    }
    free(s.line);
    fclose(s.file);
    return rc;
}

static int is_script(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return len > 7 && !strcmp(entry->d_name + len - 7, ".script");
}

size_t ek_script_each(const char *dir, void (*fn)(void *ctx, const char *path), void *ctx)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_script, alphasort);

    for (int i = 0; i < n; i++) {
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", dir, entries[i]->d_name);
        fn(ctx, path);
        free(entries[i]);
    }
    free(entries);
    return n < 0 ? 0 : (size_t)n;
}
