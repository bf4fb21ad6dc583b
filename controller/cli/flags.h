/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line: tables of commands and flags, parsed the way Go programs of this field do
 * (spf13/pflag): --name=value, --name value, --switch, --switch=false, -o json, -ojson, -o=json,
 * -vq for switches; flags and arguments in any order; "--" ends the flags. The same tables make
 * the help text, so that it cannot be wrong about what is accepted.
 *
 * A flag's value is stored in the caller's options struct at an offset, which lets tables be
 * constant. Values are borrowed from argv or from the table; only lists own their array. Pure: no
 * output, no exit; the caller prints and decides. Threading: none.
 */
#ifndef CONTROLLER_CLI_FLAGS_H
#define CONTROLLER_CLI_FLAGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"

enum ek_flag_type {
    EK_FLAG_STRING,   /* const char * */
    EK_FLAG_BOOL,     /* bool */
    EK_FLAG_INT,      /* int64_t */
    EK_FLAG_DURATION, /* int64_t, milliseconds; Go's form ("1m30s") */
    EK_FLAG_STRINGS,  /* struct ek_flag_list; may be given again, each value split at commas */
    EK_FLAG_ARRAY,    /* struct ek_flag_list; may be given again, each value taken whole */
    EK_FLAG_TYPE_MAX,
};

/* The most values that a list flag takes. */
#define EK_FLAG_LIST_MAX 1000

struct ek_flag_list {
    char **items; /* owned, with its strings; freed by ek_flags_done */
    size_t n;
};

struct ek_flag {
    const char *name; /* without dashes */
    char letter;      /* short form, 0 for none */
    enum ek_flag_type type;
    size_t offset;          /* of the value in the options struct */
    const char *initial;    /* default as text; NULL means "", false, 0 or no items */
    const char *help;       /* one sentence; a word in `backquotes` names the value */
    const char *choices[8]; /* allowed values of a string or of each in a list, ends at the first
                               NULL; none: any */
    int (*check)(const char *value, struct ek_err *err); /* further check, may be NULL */
    bool hidden;                                         /* not in the help */
};

/* A titled run of flags ("Logging flags"); groups are shared between commands. */
struct ek_flag_group {
    const char *title;
    const struct ek_flag *flags;
    size_t n_flags;
};

struct ek_command {
    const char *name;    /* "check" */
    const char *usage;   /* arguments after the flags, "[FILE...]"; "" for none */
    const char *summary; /* one line in the list of commands */
    const char *text;    /* paragraphs for its own help, NULL for none */
    const struct ek_flag_group *const *groups;
    size_t n_groups;
    const char *words[12];        /* first arguments that shells complete, ends at the first NULL */
    const struct ek_command *sub; /* "NAME WORD", a command with flags of its own; NULL: none */
    int max_args;                 /* arguments allowed; -1 for any number */
    int usage_exit; /* exit code of a mistake in flags or arguments; 0: EK_EXIT_FAILED */
    int (*run)(void *options, int argc, char **argv); /* for the caller; not used here */
};

struct ek_program {
    const char *name; /* "evenkeel" */
    const char *summary;
    const struct ek_command *commands;
    size_t n_commands;
};

/* The parsed request. args is owned (its strings are argv's); release by ek_flags_done. */
struct ek_flags_result {
    const struct ek_command *command; /* NULL when the request is help for the program */
    bool help;
    bool man; /* as a manual page; only with help */
    char **args;
    int n_args;
};

/*
 * Finds the command that argv[1] names. No argument, "help", "-h" or "--help" mean help for the
 * program ("help NAME": for that command; "help --man [NAME]": as a manual page). Options cannot be
 * parsed before the command is known, because each command may have a struct of its own. Errors:
 * EK_E_INVAL, one line that names the unknown command and the nearest known one.
 */
int ek_flags_command(const struct ek_program *program, int argc, char *const *argv,
                     struct ek_flags_result *ret_result, struct ek_err *err);

/*
 * Parses what follows the command (argv points behind its name) into options, which it first sets
 * to the defaults. -h and --help set ret_result->help and end the parsing. Errors: EK_E_INVAL
 * with one line: an unknown flag (and the nearest name), a missing, malformed or forbidden value,
 * a surplus argument. After any outcome both must be released by ek_flags_done.
 */
int ek_flags_parse(const struct ek_command *command, int argc, char *const *argv, void *options,
                   struct ek_flags_result *ret_result, struct ek_err *err);

/* Releases the lists in options and the arguments of result; either may be NULL. */
void ek_flags_done(const struct ek_command *command, void *options, struct ek_flags_result *result);

/* Appends the help of a program (its commands) or of one command, wrapped at width columns. */
int ek_flags_program_help(const struct ek_program *program, size_t width, struct ek_buf *out);
int ek_flags_help(const struct ek_program *program, const struct ek_command *command, size_t width,
                  struct ek_buf *out);

/* Appends the manual page of a program or of one command, section 1, in the man macros
 * (groff_man(7)); version is the program's. Return 0 or the buffer's error. */
int ek_flags_program_man(const struct ek_program *program, const char *version, struct ek_buf *out);
int ek_flags_man(const struct ek_program *program, const char *version,
                 const struct ek_command *command, struct ek_buf *out);

/* The shells that ek_flags_completion knows, as the choices of an argument; ends at NULL. */
extern const char *const ek_flags_shells[];

/* Appends the script that completes the command line of the program evenkeel in a shell (of
 * ek_flags_shells): commands, their first arguments, flags that are not hidden, the choices of a
 * flag, and paths for values whose word is a file or a folder. Returns 0, EK_E_INVAL for another
 * shell, or the buffer's error. */
int ek_flags_completion(const struct ek_program *program, const char *shell, struct ek_buf *out);

/* Appends the word for a flag's value, which is the backquoted word of the help or the type, "" for
 * a switch; and the help with the choices and the default. */
void ek_flags_value_word(const struct ek_flag *flag, struct ek_buf *out);
void ek_flags_describe(const struct ek_flag *flag, struct ek_buf *out);

/* Changes (insertions, deletions, replacements, swaps) between two words; for nearest names. */
size_t ek_flags_distance(const char *a, const char *b);

#endif
