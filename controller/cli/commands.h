/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The commands of the program. Each owns its flags and its exit codes; main only looks up and
 * calls. A command prints its result on stdout and one line per failure on stderr.
 */
#ifndef CONTROLLER_CLI_COMMANDS_H
#define CONTROLLER_CLI_COMMANDS_H

#include "controller/cli/flags.h"

/* Exit codes of all commands; those of `check` and `cel` are documented in their help. */
enum ek_exit {
    EK_EXIT_OK = 0,
    EK_EXIT_FAILED = 1,
    EK_EXIT_VIOLATIONS = 2,
    EK_EXIT_UNKNOWN = 3,
};

extern const struct ek_command ek_cel_command;
extern const struct ek_command ek_check_command;
extern const struct ek_command ek_debug_command;
extern const struct ek_command ek_discovery_command;
extern const struct ek_command ek_failforward_command;
extern const struct ek_command ek_gates_command;
extern const struct ek_command ek_lint_command;
extern const struct ek_command ek_mutate_command;
extern const struct ek_command ek_plan_command;
extern const struct ek_command ek_proxy_command;
extern const struct ek_command ek_rehearse_command;
extern const struct ek_command ek_run_command;

/* The User-Agent of every request, "evenkeel/<version> (<os>/<arch>) kubernetes/evenkeel"
 * (k8s.io/client-go/rest/config.go:DefaultKubernetesUserAgent at 1.36); constant. */
const char *ek_user_agent(void);

/* The flags that say which cluster, shared by all commands that talk to one. */
struct ek_cluster_options {
    const char *kubeconfig;
    const char *context;
};
/* NOLINTBEGIN(bugprone-macro-parentheses): a type and a member take none. */
#define EK_CLUSTER_FLAGS(holder, member)                                                           \
    {.name = "kubeconfig",                                                                         \
     .type = EK_FLAG_STRING,                                                                       \
     .offset = offsetof(holder, member.kubeconfig),                                                \
     .help =                                                                                       \
         "Path of a kubeconfig `file`; by default $KUBECONFIG, the service account of the pod "    \
         "and ~/.kube/config are tried in this order"},                                            \
    {                                                                                              \
        .name = "context", .type = EK_FLAG_STRING, .offset = offsetof(holder, member.context),     \
        .help = "Name of the kubeconfig `context` to use"                                          \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/* Parses a command's flags into options and calls body, or prints help or the error. */
int ek_command_run(const struct ek_command *command, int argc, char **argv, void *options,
                   int (*body)(void *options, char **args, int n_args));

/* Finds the command in argv and runs it; returns the process's exit code. */
int ek_program_run(int argc, char **argv);

/* Prints "evenkeel: <message>" on stderr. */
void ek_complain(const struct ek_err *err);

#endif
