/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cli/commands.h"
#include "controller/cli/print.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct ek_program program = {
    .name = "evenkeel",
    .summary = "Keeps a Kubernetes control plane on an even keel while its parts run different "
               "versions.",
};

static const struct ek_command completion_command, version_command;
static const struct ek_command *const commands[] = {
    &ek_cel_command,       &ek_check_command,       &completion_command, &ek_debug_command,
    &ek_discovery_command, &ek_failforward_command, &ek_gates_command,   &ek_lint_command,
    &ek_mutate_command,    &ek_plan_command,        &ek_proxy_command,   &ek_rehearse_command,
    &ek_run_command,       &version_command};

/* The table of commands, made once: commands live beside their code. */
static const struct ek_program *whole_program(void)
{
    static struct ek_command table[EK_ARRAY_SIZE(commands)];
    static struct ek_program whole;

    for (size_t i = 0; i < EK_ARRAY_SIZE(commands); i++)
        table[i] = *commands[i];
    whole = program;
    whole.commands = table;
    whole.n_commands = EK_ARRAY_SIZE(commands);
    return &whole;
}

const char *ek_user_agent(void)
{
    return "evenkeel/" EK_VERSION " (linux/"
#if defined(__x86_64__)
           "amd64"
#elif defined(__aarch64__)
           "arm64"
#else
           "unknown"
#endif
           ") kubernetes/evenkeel";
}

void ek_complain(const struct ek_err *err)
{
    ek_print_stderr("evenkeel: ", "%s", err->message);
}

static size_t help_width(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col < 100 ? size.ws_col : 100;
    return 80;
}

/* Prints the help of a command, or of the program without one, as text or as a manual page. */
static int print_help(const struct ek_command *command, bool man)
{
    EK_AUTO(ek_buf) out;
    int rc;

    ek_buf_init(&out, 1 << 20);
    if (man)
        rc = command ? ek_flags_man(whole_program(), EK_VERSION, command, &out)
                     : ek_flags_program_man(whole_program(), EK_VERSION, &out);
    else
        rc = command ? ek_flags_help(whole_program(), command, help_width(), &out)
                     : ek_flags_program_help(whole_program(), help_width(), &out);
    fputs(ek_buf_str(&out), stdout);
    return rc ? EK_EXIT_FAILED : EK_EXIT_OK;
}

int ek_command_run(const struct ek_command *command, int argc, char **argv, void *options,
                   int (*body)(void *options, char **args, int n_args))
{
    struct ek_flags_result result = {0};
    struct ek_err err = {0};
    int code = EK_EXIT_FAILED;

    if (ek_flags_parse(command, argc, argv, options, &result, &err)) {
        ek_complain(&err);
        code = command->usage_exit ? command->usage_exit : EK_EXIT_FAILED;
    } else if (result.help) {
        code = print_help(command, false);
    } else {
        code = body(options, result.args, result.n_args);
    }
    ek_flags_done(command, options, &result);
    return code;
}

int ek_program_run(int argc, char **argv)
{
    struct ek_flags_result result = {0};
    struct ek_err err = {0};

    if (argc > 1 && !strcmp(argv[1], "--version"))
        return version_command.run(NULL, argc - 2, argv + 2);
    if (ek_flags_command(whole_program(), argc, argv, &result, &err)) {
        ek_complain(&err);
        return EK_EXIT_FAILED;
    }
    if (!result.command || result.help) {
        int code = print_help(result.command, result.man);
        ek_flags_done(NULL, NULL, &result);
        return code;
    }
    const struct ek_command *command = result.command;
    ek_flags_done(NULL, NULL, &result);
    return command->run(NULL, argc - 2, argv + 2);
}

struct version_options {
    bool brief;
};

static const struct ek_flag version_flags[] = {
    {.name = "short",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct version_options, brief),
     .help = "Print the version alone"},
};
static const struct ek_flag_group version_group = {"Flags", version_flags,
                                                   EK_ARRAY_SIZE(version_flags)};
static const struct ek_flag_group *const version_groups[] = {&version_group};

static int print_version(void *options, char **args, int n_args)
{
    const struct version_options *o = options;

    (void)args;
    (void)n_args;
    puts(o->brief ? EK_VERSION : "evenkeel " EK_VERSION);
    return EK_EXIT_OK;
}

static int run_version(void *options, int argc, char **argv)
{
    struct version_options local = {0};
    (void)options;
    return ek_command_run(&version_command, argc, argv, &local, print_version);
}

static const struct ek_command version_command = {
    .name = "version",
    .usage = "",
    .summary = "Print the version of this program",
    .groups = version_groups,
    .n_groups = EK_ARRAY_SIZE(version_groups),
    .max_args = 0,
    .run = run_version,
};

static int print_completion(void *options, char **args, int n_args)
{
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) shells;

    (void)options;
    ek_buf_init(&out, 1 << 20);
    ek_buf_init(&shells, 256);
    if (n_args && !ek_flags_completion(whole_program(), args[0], &out)) {
        bool written = fputs(ek_buf_str(&out), stdout) >= 0 && !fflush(stdout);
        return written ? EK_EXIT_OK : EK_EXIT_FAILED;
    }
    for (size_t i = 0; ek_flags_shells[i]; i++)
        ek_buf_printf(&shells, "%s%s", i ? ", " : "", ek_flags_shells[i]);
    fprintf(stderr, "evenkeel: name the shell: one of %s\n", ek_buf_str(&shells));
    return EK_EXIT_FAILED;
}

static int run_completion(void *options, int argc, char **argv)
{
    char unused;
    (void)options;
    return ek_command_run(&completion_command, argc, argv, &unused, print_completion);
}

static const struct ek_command completion_command = {
    .name = "completion",
    .usage = "bash|zsh|fish",
    .summary = "Print the script that completes commands and flags in a shell",
    .text = "Prints a script for bash, zsh or fish, which completes the commands, their flags and "
            "the values that a flag allows.\n\n  source <(evenkeel completion bash)          # "
            "for this shell\n  evenkeel completion bash >/etc/bash_completion.d/evenkeel\n  "
            "evenkeel completion zsh >\"${fpath[1]}/_evenkeel\"\n  evenkeel completion fish "
            ">~/.config/fish/completions/evenkeel.fish",
    .words = {"bash", "zsh", "fish"},
    .max_args = 1,
    .run = run_completion,
};
