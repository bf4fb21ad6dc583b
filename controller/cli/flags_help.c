/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts from the tables of controller/cli/flags.h. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/flags.h"

/* Help texts start here at the latest; longer flags get a line of their own. */
#define COLUMN_MAX 36

/*
 * Appends text in lines of at most width columns, each but the first indented by indent blanks; at
 * is the column where the first begins. A new line in text starts a paragraph. Backquotes are
 * left out.
 */
static void put_wrapped(struct ek_buf *out, const char *text, size_t at, size_t indent,
                        size_t width)
{
    bool start = true;

    while (*text) {
        if (*text == '\n') {
            ek_buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
            start = true;
            text++;
            continue;
        }
        size_t len = strcspn(text, " \n");
        if (!start && at + 1 + len > width) {
            ek_buf_printf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!start) {
            ek_buf_puts(out, " ");
            at++;
        }
        for (size_t i = 0; i < len; i++) {
            if (text[i] != '`')
                ek_buf_append(out, text + i, 1);
        }
        at += len;
        start = false;
        text += len;
        text += *text == ' ';
    }
}

void ek_flags_value_word(const struct ek_flag *flag, struct ek_buf *out)
{
    static const char *const types[EK_FLAG_TYPE_MAX] = {"string",   "",        "int",
                                                        "duration", "strings", "string"};
    const char *open = strchr(flag->help, '`');
    const char *close = open ? strchr(open + 1, '`') : NULL;

    if (close)
        ek_buf_append(out, open + 1, (size_t)(close - open - 1));
    else
        ek_buf_puts(out, types[flag->type]);
}

static void put_head(struct ek_buf *out, const struct ek_flag *flag)
{
    EK_AUTO(ek_buf) word;

    ek_buf_init(&word, 256);
    ek_flags_value_word(flag, &word);
    if (flag->letter)
        ek_buf_printf(out, "  -%c, --%s", flag->letter, flag->name);
    else
        ek_buf_printf(out, "      --%s", flag->name);
    if (word.len)
        ek_buf_printf(out, " %s", ek_buf_str(&word));
}

static size_t head_width(const struct ek_flag *flag)
{
    EK_AUTO(ek_buf) head;

    ek_buf_init(&head, 256);
    put_head(&head, flag);
    return head.len;
}

void ek_flags_describe(const struct ek_flag *flag, struct ek_buf *text)
{
    ek_buf_puts(text, flag->help);
    for (size_t i = 0; i < EK_ARRAY_SIZE(flag->choices) && flag->choices[i]; i++)
        ek_buf_printf(text, "%s%s", i ? ", " : ": one of ", flag->choices[i]);
    if (!flag->initial || !*flag->initial || !strcmp(flag->initial, "false"))
        return;
    bool quoted = flag->type == EK_FLAG_STRING;
    ek_buf_printf(text, quoted ? " (default \"%s\")" : " (default %s)", flag->initial);
}

static void put_flag(struct ek_buf *out, const struct ek_flag *flag, size_t column, size_t width)
{
    EK_AUTO(ek_buf) text;
    size_t head = head_width(flag);

    ek_buf_init(&text, 4096);
    ek_flags_describe(flag, &text);
    put_head(out, flag);
    if (head + 2 > column)
        ek_buf_printf(out, "\n%*s", (int)column, "");
    else
        ek_buf_printf(out, "%*s", (int)(column - head), "");
    put_wrapped(out, ek_buf_str(&text), column, column, width);
    ek_buf_puts(out, "\n");
}

static void put_group(struct ek_buf *out, const struct ek_flag_group *group, size_t column,
                      size_t width)
{
    ek_buf_printf(out, "\n%s:\n", group->title);
    for (size_t i = 0; i < group->n_flags; i++) {
        if (!group->flags[i].hidden)
            put_flag(out, &group->flags[i], column, width);
    }
}

static size_t column_of(const struct ek_command *command)
{
    size_t column = 0;

    for (size_t g = 0; g < command->n_groups; g++) {
        for (size_t i = 0; i < command->groups[g]->n_flags; i++) {
            size_t head = head_width(&command->groups[g]->flags[i]) + 3;
            if (head > column && head <= COLUMN_MAX)
                column = head;
        }
    }
    return column ? column : COLUMN_MAX;
}

int ek_flags_help(const struct ek_program *program, const struct ek_command *command, size_t width,
                  struct ek_buf *out)
{
    size_t column = column_of(command);

    put_wrapped(out, command->text ? command->text : command->summary, 0, 0, width);
    ek_buf_printf(out, "\n\nUsage:\n  %s %s%s%s%s\n", program->name, command->name,
                  command->n_groups ? " [flags]" : "", *command->usage ? " " : "", command->usage);
    for (size_t g = 0; g < command->n_groups; g++)
        put_group(out, command->groups[g], column, width);
    return out->failed;
}

int ek_flags_program_help(const struct ek_program *program, size_t width, struct ek_buf *out)
{
    size_t column = 0;

    for (size_t i = 0; i < program->n_commands; i++) {
        size_t len = strlen(program->commands[i].name);
        column = len > column ? len : column;
    }
    put_wrapped(out, program->summary, 0, 0, width);
    ek_buf_printf(out, "\n\nUsage:\n  %s COMMAND [flags]\n\nCommands:\n", program->name);
    for (size_t i = 0; i < program->n_commands; i++) {
        ek_buf_printf(out, "  %-*s   ", (int)column, program->commands[i].name);
        put_wrapped(out, program->commands[i].summary, column + 5, column + 5, width);
        ek_buf_puts(out, "\n");
    }
    ek_buf_printf(out, "\nUse \"%s COMMAND --help\" for the flags of a command.\n", program->name);
    return out->failed;
}
