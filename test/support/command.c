/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/command.h"

#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/base/buf.h"
#include "controller/cli/commands.h"
#include "informers/client/file.h"

#define OUTPUT_MAX ((size_t)1 << 20)

/* An argument with the folder in place of "@", owned. */
static char *argument(const char *folder, const char *text)
{
    const char *at = strstr(text, "@/");
    size_t len = strlen(text);

    if (!at && len > 0 && text[len - 1] == '@')
        at = text + len - 1;
    return at ? ek_xasprintf("%.*s%s%s", (int)(at - text), text, folder, at + 1) : ek_xstrdup(text);
}

static int run(const char *folder, const char *command, const char *const *args)
{
    char *argv[COMMAND_ARGS_MAX + 3] = {ek_xstrdup("evenkeel"), ek_xstrdup(command)};
    int argc = 2;

    for (int i = 0; i < COMMAND_ARGS_MAX && args[i]; i++)
        argv[argc++] = argument(folder, args[i]);
    int code = ek_program_run(argc, argv);
    for (int i = 0; i < argc; i++)
        ek_free(argv[i]);
    return code;
}

/* Gives the stream its former file again. */
static void restore(FILE *stream, int fd, int saved)
{
    fflush(stream);
    dup2(saved, fd);
    close(saved);
}

int command_run(const char *folder, const char *command, const char *const *args)
{
    EK_AUTOFREE char *out = ek_xasprintf("%s/out", folder);
    EK_AUTOFREE char *err = ek_xasprintf("%s/err", folder);

    fflush(stdout);
    int saved_out = dup(STDOUT_FILENO), saved_err = dup(STDERR_FILENO);
    ck_assert_ptr_nonnull(freopen(out, "w", stdout));
    ck_assert_ptr_nonnull(freopen(err, "w", stderr));
    int code = run(folder, command, args);
    restore(stdout, STDOUT_FILENO, saved_out);
    restore(stderr, STDERR_FILENO, saved_err);
    return code;
}

void command_expect(const char *folder, const char *row, const char *stream, const char *wanted)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, stream);
    EK_AUTOFREE char *text = NULL;
    size_t len;

    ck_assert_int_eq(ek_file_read(path, OUTPUT_MAX, &text, &len, NULL), 0);
    bool good = !*wanted         ? !*text
                : *wanted == '=' ? !strcmp(text, wanted + 1)
                : *wanted == '!' ? !strstr(text, wanted + 1)
                                 : strstr(text, wanted) != NULL;
    ck_assert_msg(good, "%s: expected \"%s\" on std%s, got: %s", row, wanted, stream, text);
}

void command_expect_row(const char *folder, const char *command, const struct command_row *row)
{
    int code = command_run(folder, command, row->args);

    command_expect(folder, row->name, "out", row->out);
    command_expect(folder, row->name, "err", row->err);
    ck_assert_msg(code == row->code, "%s: exit code %d", row->name, code);
}

void command_expect_full_disk(const char *folder, const char *command, const char *const *args)
{
    int saved = dup(STDOUT_FILENO);

    ck_assert_ptr_nonnull(freopen("/dev/full", "w", stdout));
    int code = run(folder, command, args);
    restore(stdout, STDOUT_FILENO, saved);
    ck_assert_int_eq(code, 1);
}
