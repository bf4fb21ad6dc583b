/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts for shells from the tables of controller/cli/flags.h. The scripts are static: a shell
 * completes without a run of the program. A command line is "PROGRAM COMMAND [WORD] ...", and the
 * scripts know a command by its name, or by "COMMAND WORD" for a command below it.
 */
#include <string.h>
#include <strings.h>

#include "controller/cli/flags.h"

const char *const ek_flags_shells[] = {"bash", "zsh", "fish", NULL};

#define NAME      "evenkeel" /* of the program */
#define HELP_FLAG "--help"

enum value_kind {
    VALUE_NONE,    /* a switch */
    VALUE_CHOICES, /* one of the choices */
    VALUE_PATH,    /* a file or a folder */
    VALUE_OTHER,
};

static enum value_kind kind_of(const struct ek_flag *flag)
{
    static const char *const paths[] = {"file", "folder", "dir"};
    EK_AUTO(ek_buf) word;

    ek_buf_init(&word, 256);
    if (flag->type == EK_FLAG_BOOL)
        return VALUE_NONE;
    if (flag->choices[0])
        return VALUE_CHOICES;
    ek_flags_value_word(flag, &word);
    for (size_t i = 0; i < EK_ARRAY_SIZE(paths); i++) {
        if (!strcasecmp(ek_buf_str(&word), paths[i]))
            return VALUE_PATH;
    }
    return VALUE_OTHER;
}

/* What a script is made of: a script adds the commands one by one. */
typedef void (*command_fn)(const struct ek_command *command, struct ek_buf *out);

static void each_command(const struct ek_program *program, command_fn fn, struct ek_buf *out)
{
    for (size_t i = 0; i < program->n_commands; i++) {
        fn(&program->commands[i], out);
        if (program->commands[i].sub)
            fn(program->commands[i].sub, out);
    }
}

typedef void (*flag_fn)(const struct ek_command *command, const struct ek_flag *flag,
                        struct ek_buf *out);

static void each_flag(const struct ek_command *command, flag_fn fn, struct ek_buf *out)
{
    for (size_t g = 0; g < command->n_groups; g++) {
        for (size_t i = 0; i < command->groups[g]->n_flags; i++) {
            if (!command->groups[g]->flags[i].hidden)
                fn(command, &command->groups[g]->flags[i], out);
        }
    }
}

/* The last word of a name: "kubeconfig" of "proxy kubeconfig". */
static const char *last_word(const char *name)
{
    const char *blank = strrchr(name, ' ');
    return blank ? blank + 1 : name;
}

/* The first arguments of a command, separated by blanks, and the name of the command below it. */
static void put_words(const struct ek_command *command, struct ek_buf *out)
{
    size_t n = 0;

    for (; n < EK_ARRAY_SIZE(command->words) && command->words[n]; n++)
        ek_buf_printf(out, "%s%s", n ? " " : "", command->words[n]);
    if (command->sub)
        ek_buf_printf(out, "%s%s", n ? " " : "", last_word(command->sub->name));
}

static void put_choices(const struct ek_flag *flag, struct ek_buf *out)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(flag->choices) && flag->choices[i]; i++)
        ek_buf_printf(out, "%s%s", i ? " " : "", flag->choices[i]);
}

/* The first clause of a text without its backquotes, in the single quotes of a shell, escaped where
 * special contains the character. A quote itself becomes quote. */
static void put_clause(const char *text, const char *special, const char *quote, struct ek_buf *out)
{
    for (const char *p = text; *p && *p != ';' && *p != '\n' && strncmp(p, ". ", 2) != 0; p++) {
        if (*p == '\'')
            ek_buf_puts(out, quote);
        else if (*p != '`')
            ek_buf_printf(out, "%s%c", strchr(special, *p) ? "\\" : "", *p);
    }
}

/* ---- bash ---- */

static void bash_flag_name(const struct ek_command *command, const struct ek_flag *flag,
                           struct ek_buf *out)
{
    (void)command;
    ek_buf_printf(out, "--%s ", flag->name);
}

static void bash_flags(const struct ek_command *command, struct ek_buf *out)
{
    ek_buf_printf(out, "  '%s') words='", command->name);
    put_words(command, out);
    ek_buf_puts(out, "' flags='");
    each_flag(command, bash_flag_name, out);
    ek_buf_puts(out, HELP_FLAG "' ;;\n");
}

/* "'check --output' | 'check -o') values='table json yaml' ;;" */
static void put_value(const struct ek_command *command, const struct ek_flag *flag,
                      struct ek_buf *out)
{
    enum value_kind kind = kind_of(flag);

    if (kind == VALUE_NONE)
        return;
    ek_buf_printf(out, "  '%s --%s'", command->name, flag->name);
    if (flag->letter)
        ek_buf_printf(out, " | '%s -%c'", command->name, flag->letter);
    ek_buf_printf(out, ") kind=%s values='",
                  kind == VALUE_CHOICES ? "choices"
                  : kind == VALUE_PATH  ? "path"
                                        : "other");
    put_choices(flag, out);
    ek_buf_puts(out, "' ;;\n");
}

static void put_values(const struct ek_command *command, struct ek_buf *out)
{
    each_flag(command, put_value, out);
}

/* Sets command to the name of a command below another, which is the first two words. */
static void put_subs(const struct ek_program *program, struct ek_buf *out)
{
    for (size_t i = 0; i < program->n_commands; i++) {
        const struct ek_command *sub = program->commands[i].sub;
        if (sub)
            ek_buf_printf(out, "  '%s') command='%s' ;;\n", sub->name, sub->name);
    }
    ek_buf_puts(out, "  '') ;;\n  esac\n");
}

static void put_names(const struct ek_program *program, struct ek_buf *out)
{
    for (size_t i = 0; i < program->n_commands; i++)
        ek_buf_printf(out, "%s%s", i ? " " : "", program->commands[i].name);
}

/* "--output=js" is the three words "--output", "=" and "js" where "=" is in COMP_WORDBREAKS. */
static const char bash_head[] =
    "# bash completion for " NAME "\n"
    "_" NAME "() {\n"
    "  local cur=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "  local command= flag= words= flags= kind= values=\n"
    "  COMPREPLY=()\n"
    "  if [[ $cur == = ]]; then\n"
    "    flag=$before cur=\n"
    "  elif [[ $before == = ]]; then\n"
    "    flag=${COMP_WORDS[COMP_CWORD-2]}\n"
    "  elif [[ $cur == --*=* ]]; then\n"
    "    flag=${cur%%=*} cur=${cur#*=}\n"
    "  elif [[ $before == -* ]]; then\n"
    "    flag=$before\n"
    "  fi\n"
    "  [ \"$COMP_CWORD\" -gt 1 ] && command=${COMP_WORDS[1]}\n"
    "  [ \"$COMP_CWORD\" -gt 2 ] && case \"$command ${COMP_WORDS[2]}\" in\n";

static const char bash_tail[] =
    "  esac\n"
    "  case $kind in\n"
    "  choices) mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$cur\") ;;\n"
    "  path)\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
    "    ;;\n"
    "  '')\n"
    "    if [[ $cur == -* ]]; then\n"
    "      mapfile -t COMPREPLY < <(compgen -W \"$flags\" -- \"$cur\")\n"
    "    elif [ \"$COMP_CWORD\" -le 2 ]; then\n"
    "      mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
    "    fi\n"
    "    ;;\n"
    "  esac\n"
    "}\n"
    "complete -F _" NAME " " NAME "\n";

static void put_bash(const struct ek_program *program, struct ek_buf *out)
{
    ek_buf_puts(out, bash_head);
    put_subs(program, out);
    ek_buf_puts(out, "  case $command in\n  '') words='help ");
    put_names(program, out);
    ek_buf_puts(out, "' flags='" HELP_FLAG " --version' ;;\n  help) words='");
    put_names(program, out);
    ek_buf_puts(out, "' flags=--man ;;\n");
    each_command(program, bash_flags, out);
    ek_buf_puts(out, "  esac\n  case \"$command $flag\" in\n");
    each_command(program, put_values, out);
    ek_buf_puts(out, bash_tail);
}

/* ---- zsh ---- */

static void zsh_flag(const struct ek_command *command, const struct ek_flag *flag,
                     struct ek_buf *out)
{
    (void)command;
    ek_buf_printf(out, "    '--%s:", flag->name);
    put_clause(flag->help, ":\\", "'\\''", out);
    ek_buf_puts(out, "'\n");
}

static void zsh_flags(const struct ek_command *command, struct ek_buf *out)
{
    ek_buf_printf(out, "  '%s') firsts=(", command->name);
    put_words(command, out);
    ek_buf_puts(out, ") flags=(\n");
    each_flag(command, zsh_flag, out);
    ek_buf_puts(out, "    '" HELP_FLAG ":Print the help') ;;\n");
}

static void zsh_command(const struct ek_command *command, struct ek_buf *out)
{
    ek_buf_printf(out, "    '%s:", command->name);
    put_clause(command->summary, ":\\", "'\\''", out);
    ek_buf_puts(out, "'\n");
}

static const char zsh_tail[] =
    "  esac\n"
    "  case $kind in\n"
    "  choices) compadd -- ${=values} ;;\n"
    "  path) _files ;;\n"
    "  '')\n"
    "    if [[ $PREFIX == -* ]]; then\n"
    "      _describe -o flag flags\n"
    "    elif (( CURRENT == 2 )) || [[ $command == help && CURRENT -eq 3 ]]; then\n"
    "      _describe command commands\n"
    "    elif (( CURRENT == 3 )); then\n"
    "      compadd -- $firsts\n"
    "    fi\n"
    "    ;;\n"
    "  esac\n"
    "}\n"
    "if [[ ${funcstack[1]} == _" NAME " ]]; then\n"
    "  _" NAME " \"$@\"\n"
    "else\n"
    "  compdef _" NAME " " NAME "\n"
    "fi\n";

static void put_zsh(const struct ek_program *program, struct ek_buf *out)
{
    ek_buf_puts(out, "#compdef " NAME "\n_" NAME "() {\n"
                     "  local command= flag= kind= values=\n"
                     "  local -a commands flags firsts\n"
                     "  commands=(\n");
    for (size_t i = 0; i < program->n_commands; i++)
        zsh_command(&program->commands[i], out);
    ek_buf_puts(out, "    'help:Print the help of a command')\n"
                     "  (( CURRENT > 2 )) && command=${words[2]}\n"
                     "  (( CURRENT > 3 )) && case \"$command ${words[3]}\" in\n");
    put_subs(program, out);
    ek_buf_puts(out,
                "  if [[ $PREFIX == --*=* ]]; then\n"
                "    flag=${PREFIX%%=*}\n"
                "    compset -P '*='\n"
                "  elif [[ ${words[CURRENT-1]} == -* ]]; then\n"
                "    flag=${words[CURRENT-1]}\n"
                "  fi\n"
                "  case $command in\n"
                "  '') flags=('" HELP_FLAG ":Print the help' '--version:Print the version') ;;\n"
                "  help) flags=('--man:Print a manual page') ;;\n");
    each_command(program, zsh_flags, out);
    ek_buf_puts(out, "  esac\n  case \"$command $flag\" in\n");
    each_command(program, put_values, out);
    ek_buf_puts(out, zsh_tail);
}

/* ---- fish ---- */

static void fish_flag(const struct ek_command *command, const struct ek_flag *flag,
                      struct ek_buf *out)
{
    enum value_kind kind = kind_of(flag);

    ek_buf_printf(out, "complete -c " NAME " -n '__" NAME "_is \"%s\"' -l %s", command->name,
                  flag->name);
    if (flag->letter)
        ek_buf_printf(out, " -s %c", flag->letter);
    if (kind == VALUE_CHOICES) {
        ek_buf_puts(out, " -x -a '");
        put_choices(flag, out);
        ek_buf_puts(out, "'");
    } else {
        ek_buf_puts(out, kind == VALUE_PATH ? " -r -F" : kind == VALUE_OTHER ? " -x" : "");
    }
    ek_buf_puts(out, " -d '");
    put_clause(flag->help, "\\", "\\'", out);
    ek_buf_puts(out, "'\n");
}

static void fish_command(const struct ek_command *command, struct ek_buf *out)
{
    bool is_sub = strchr(command->name, ' ') != NULL;
    EK_AUTO(ek_buf) words;

    ek_buf_init(&words, 1024);
    put_words(command, &words);
    if (!is_sub) {
        ek_buf_printf(out, "complete -c " NAME " -n '__" NAME "_is \"\"' -a %s -d '",
                      command->name);
        put_clause(command->summary, "\\", "\\'", out);
        ek_buf_puts(out, "'\n");
    }
    if (words.len)
        ek_buf_printf(out, "complete -c " NAME " -n '__" NAME "_first \"%s\"' -a '%s'\n",
                      command->name, ek_buf_str(&words));
    ek_buf_printf(out,
                  "complete -c " NAME " -n '__" NAME "_is \"%s\"' -l help -d 'Print the help'\n",
                  command->name);
    each_flag(command, fish_flag, out);
}

static void put_fish(const struct ek_program *program, struct ek_buf *out)
{
    ek_buf_puts(out, "# fish completion for " NAME "\n"
                     "function __" NAME "_is\n"
                     "  set -l words (commandline -opc)\n"
                     "  set -l command \"$words[2]\"\n"
                     "  switch \"$command $words[3]\"\n");
    for (size_t i = 0; i < program->n_commands; i++) {
        const struct ek_command *sub = program->commands[i].sub;
        if (sub)
            ek_buf_printf(out, "    case '%s'\n      set command '%s'\n", sub->name, sub->name);
    }
    ek_buf_puts(out, "  end\n  test \"$command\" = \"$argv[1]\"\nend\n"
                     "function __" NAME "_first\n"
                     "  test (count (commandline -opc)) -eq 2; and __" NAME "_is $argv[1]\n"
                     "end\n"
                     "complete -c " NAME " -f\n"
                     "complete -c " NAME " -n '__" NAME "_is \"\"' -a help "
                     "-d 'Print the help of a command'\n"
                     "complete -c " NAME " -n '__" NAME "_is \"\"' -l help -d 'Print the help'\n"
                     "complete -c " NAME " -n '__" NAME "_is \"\"' -l version "
                     "-d 'Print the version'\n"
                     "complete -c " NAME " -n '__" NAME "_is \"help\"' -l man "
                     "-d 'Print a manual page'\n"
                     "complete -c " NAME " -n '__" NAME "_first \"help\"' -a '");
    put_names(program, out);
    ek_buf_puts(out, "'\n");
    each_command(program, fish_command, out);
}

int ek_flags_completion(const struct ek_program *program, const char *shell, struct ek_buf *out)
{
    static void (*const scripts[])(const struct ek_program *, struct ek_buf *) = {put_bash, put_zsh,
                                                                                  put_fish};

    for (size_t i = 0; i < EK_ARRAY_SIZE(scripts); i++) {
        if (!strcmp(shell, ek_flags_shells[i])) {
            scripts[i](program, out);
            return out->failed;
        }
    }
    return EK_E_INVAL;
}
