/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `evenkeel cel`: what comes in (the expression's text, variables from files and
 * flags), and how answers and mistakes are shown. One thread; prints to stdout and stderr.
 */
#ifndef CONTROLLER_COMMANDS_CEL_INTERNAL_H
#define CONTROLLER_COMMANDS_CEL_INTERNAL_H

#include <yyjson.h>

#include "api/cel/cel.h"
#include "controller/cli/flags.h"

/* Exit code of `evenkeel cel` for flags, arguments and files that are no good. */
#define EK_CEL_EXIT_USAGE 2

/* Variables that have a flag of their own. */
enum ek_cel_flag_var {
    EK_CEL_FLAG_OBJECT,
    EK_CEL_FLAG_OLD_OBJECT,
    EK_CEL_FLAG_PARAMS,
    EK_CEL_FLAG_REQUEST,
    EK_CEL_FLAG_NAMESPACE_OBJECT,
    EK_CEL_FLAG_MAX,
};

struct ek_cel_options {
    const char *output;           /* "text", "json", "yaml" */
    const char *file;             /* of the expression; "" for none */
    struct ek_flag_list policies; /* files and folders */
    const char *paths[EK_CEL_FLAG_MAX];
    struct ek_flag_list vars; /* name=FILE */
    struct ek_flag_list sets; /* name=value */
    const char *env, *mode, *compat;
    const char *type; /* that the result must have; "" for any */
    int64_t cost_limit;
    bool cost; /* show it */
};

/* A variable that was given. */
struct ek_cel_given {
    char *name; /* owned */
    yyjson_doc *doc;
};

/* The inputs of an evaluation. Zero-initialise before use. */
struct ek_cel_inputs {
    char *text; /* the expression, owned */
    size_t len;
    const char *stdin_for; /* what has read the standard input already */
    struct ek_cel_given *given;
    size_t n_given;
};

/* Reads the expression (argument, or NULL) and all variables. Returns 0, or an error with err
 * filled; ek_cel_inputs_done after either. */
int ek_cel_inputs_read(const struct ek_cel_options *options, const char *argument,
                       struct ek_cel_inputs *inputs, struct ek_err *err);
void ek_cel_inputs_done(struct ek_cel_inputs *inputs);
EK_CLEANUP(ek_cel_inputs, ek_cel_inputs_done)

/* The variable of that name, or NULL. */
const struct ek_cel_given *ek_cel_inputs_find(const struct ek_cel_inputs *inputs, const char *name);

/* The flag that gives the variable of that name ("--object FILE"), for messages. */
const char *ek_cel_flag_for(const char *name);

/* An environment with the variables of admission (not for "standard") and those given. NULL with
 * err filled. compat_minor is 0 for the newest. */
struct ek_cel_env *ek_cel_inputs_env(const struct ek_cel_options *options,
                                     const struct ek_cel_inputs *inputs, int compat_minor,
                                     enum ek_cel_env_mode mode, struct ek_err *err);

/* Shows why a text does not compile: as people read it on stderr, or as data on stdout. */
void ek_cel_show_issues(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs,
                        const struct ek_cel_issues *issues);

/* Shows a result or the error it is, likewise. Returns the exit code. */
int ek_cel_show_result(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs,
                       const struct ek_cel_program *program, const struct ek_cel_result *result);

/* Prints the report of `evenkeel cel check` on a program. Returns the exit code. */
int ek_cel_show_facts(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs,
                      const struct ek_cel_env *env, const struct ek_cel_program *program,
                      const struct ek_cel_result *result);

/* `evenkeel cel check --policy`: prints the report on the policies of the files. argument: an
 * expression, NULL for none. Returns the exit code; -1 with err filled for invalid input. */
int ek_cel_check_policies(const struct ek_cel_options *options, const char *argument,
                          struct ek_err *err);

#endif
