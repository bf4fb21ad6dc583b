/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the program as their users meet them: arguments and files in, an exit code and two
 * streams out.
 */
#ifndef TEST_SUPPORT_COMMAND_H
#define TEST_SUPPORT_COMMAND_H

#include <stddef.h>

#define COMMAND_ARGS_MAX 8

/*
 * Runs `evenkeel COMMAND ARGS...` in this process; args ends with NULL or after COMMAND_ARGS_MAX.
 * "@" stands for folder where an argument ends with it or "/" follows it. What is written goes to
 * the files "out" and "err" of folder. Returns the exit code.
 */
int command_run(const char *folder, const char *command, const char *const *args);

/*
 * Fails the test unless the stream ("out" or "err") of the last run is as wanted: text that it
 * contains; "" for nothing at all; after "=" the whole; after "!" what it must not contain. row is
 * the name in the message.
 */
void command_expect(const char *folder, const char *row, const char *stream, const char *wanted);

struct command_row {
    const char *name;
    const char *args[COMMAND_ARGS_MAX];
    int code;
    const char *out, *err; /* as command_expect takes them */
};

/* Runs the command with the arguments of the row. Fails the test unless both streams and the exit
 * code are the row's. */
void command_expect_row(const char *folder, const char *command, const struct command_row *row);

/* Fails the test unless the command exits with 1 where stdout is a full disk. */
void command_expect_full_disk(const char *folder, const char *command, const char *const *args);

#endif
