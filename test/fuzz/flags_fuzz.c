/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command lines: the input's lines are the words after "evenkeel", for a command of one flag of
 * each type and for the program's own. What is refused is explained in one line.
 */
#include <string.h>

#include "controller/cli/flags.h"
#include "controller/run/options.h"
#include "test/fuzz/fuzz.h"

#define WORDS_MAX 64

struct options {
    const char *text, *choice;
    bool on;
    int64_t number, length;
    struct ek_flag_list list;
};

static const struct ek_flag flags[] = {
    {.name = "text", .letter = 't', .offset = offsetof(struct options, text), .help = "A `text`."},
    {.name = "choice",
     .offset = offsetof(struct options, choice),
     .initial = "a",
     .help = "One of two.",
     .choices = {"a", "b"}},
    {.name = "on", .letter = 'o', .type = EK_FLAG_BOOL, .offset = offsetof(struct options, on)},
    {.name = "number",
     .letter = 'n',
     .type = EK_FLAG_INT,
     .offset = offsetof(struct options, number)},
    {.name = "length", .type = EK_FLAG_DURATION, .offset = offsetof(struct options, length)},
    {.name = "list",
     .letter = 'l',
     .type = EK_FLAG_STRINGS,
     .offset = offsetof(struct options, list)},
};
static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};
static const struct ek_command commands[] = {
    {.name = "check", .usage = "[WORD...]", .groups = groups, .n_groups = 1, .max_args = 2},
    {.name = "run", .usage = ""},
};
static const struct ek_program program = {"evenkeel", "Test.", commands, EK_ARRAY_SIZE(commands)};

static void check_error(int rc, const struct ek_err *err)
{
    fuzz_require(rc == err->code && (rc == 0 || *err->message) && !strchr(err->message, '\n'));
}

static void parse(const struct ek_command *command, int argc, char **argv, void *options)
{
    struct ek_flags_result result;
    struct ek_err err = {0};

    int rc = ek_flags_parse(command, argc, argv, options, &result, &err);
    check_error(rc, &err);
    if (!rc && !result.help && command->max_args >= 0)
        fuzz_require(result.n_args <= command->max_args);
    ek_flags_done(command, options, &result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EK_AUTOFREE char *text = ek_xstrndup((const char *)data, size);
    char *words[WORDS_MAX + 2] = {text + size}, *save = NULL;
    struct ek_command run = {
        .name = "run", .usage = "", .groups = ek_run_flag_groups, .n_groups = EK_RUN_FLAG_GROUPS};
    struct ek_flags_result result;
    struct ek_run_options run_options;
    struct options options;
    struct ek_err err = {0};
    int n = 1;

    for (char *word = strtok_r(text, "\n", &save); word && n <= WORDS_MAX;
         word = strtok_r(NULL, "\n", &save))
        words[n++] = word;
    check_error(ek_flags_command(&program, n, words, &result, &err), &err);
    ek_flags_done(NULL, NULL, &result);
    parse(&commands[0], n - 1, words + 1, &options);
    parse(&run, n - 1, words + 1, &run_options);
    return 0;
}
