/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages from the tables of controller/cli/flags.h, in the man macros (groff_man(7)). */
#include <string.h>

#include "controller/cli/flags.h"

/*
 * Appends len bytes of text as characters of a text line: a hyphen stays a hyphen that can be
 * copied, a backslash is printed, and no line begins with a control character. Backquotes are left
 * out.
 */
static void put_text(struct ek_buf *out, const char *text, size_t len)
{
    if (len && (*text == '.' || *text == '\''))
        ek_buf_puts(out, "\\&");
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '-')
            ek_buf_puts(out, "\\-");
        else if (text[i] == '\\')
            ek_buf_puts(out, "\\e");
        else if (text[i] != '`')
            ek_buf_append(out, text + i, 1);
    }
}

static void put_string(struct ek_buf *out, const char *text)
{
    put_text(out, text, strlen(text));
}

static void put_upper(struct ek_buf *out, const char *text)
{
    for (; *text; text++) {
        char upper = *text >= 'a' && *text <= 'z' ? (char)(*text - 'a' + 'A') : *text;
        put_text(out, &upper, 1);
    }
}

/* Appends text: an empty line separates paragraphs, and lines that begin with blanks are examples,
 * which keep their line breaks. */
static void put_paragraphs(struct ek_buf *out, const char *text)
{
    bool example = false;

    while (*text) {
        size_t len = strcspn(text, "\n"), blanks = strspn(text, " ");
        if (example && !blanks) {
            ek_buf_puts(out, ".EE\n.RE\n");
            example = false;
        }
        if (!example && blanks) {
            ek_buf_puts(out, ".PP\n.RS 4\n.EX\n");
            example = true;
        }
        if (len) {
            put_text(out, text + blanks, len - blanks);
            ek_buf_puts(out, "\n");
        } else {
            ek_buf_puts(out, ".PP\n");
        }
        text += len + (text[len] != '\0');
        /* The macro of the paragraph or of the example says what the empty line means. */
        if (*text == '\n' && text[1] == ' ')
            text++;
    }
    if (example)
        ek_buf_puts(out, ".EE\n.RE\n");
}

static void put_flag(struct ek_buf *out, const struct ek_flag *flag)
{
    EK_AUTO(ek_buf) word;

    ek_buf_init(&word, 256);
    ek_flags_value_word(flag, &word);
    ek_buf_puts(out, ".TP\n");
    if (flag->letter)
        ek_buf_printf(out, "\\fB\\-%c\\fR, ", flag->letter);
    ek_buf_puts(out, "\\fB\\-\\-");
    put_string(out, flag->name);
    ek_buf_puts(out, "\\fR");
    if (word.len) {
        ek_buf_puts(out, " \\fI");
        put_string(out, ek_buf_str(&word));
        ek_buf_puts(out, "\\fR");
    }
    ek_buf_reset(&word);
    word.max = 4096;
    ek_flags_describe(flag, &word);
    ek_buf_puts(out, "\n");
    put_string(out, ek_buf_str(&word));
    ek_buf_puts(out, "\n");
}

/* The head of a page: its name "PROGRAM-COMMAND" or "PROGRAM", and its summary in
 * one line. */
static void put_head(struct ek_buf *out, const struct ek_program *program, const char *version,
                     const char *command, const char *summary)
{
    ek_buf_puts(out, ".TH ");
    put_upper(out, program->name);
    if (command) {
        ek_buf_puts(out, "\\-");
        put_upper(out, command);
    }
    ek_buf_printf(out, " 1 \"\" \"%s %s\" \"User Commands\"\n.nh\n.SH NAME\n", program->name,
                  version);
    put_string(out, program->name);
    if (command) {
        ek_buf_puts(out, "\\-");
        put_string(out, command);
    }
    ek_buf_puts(out, " \\- ");
    put_string(out, summary);
    ek_buf_puts(out, "\n.SH SYNOPSIS\n\\fB");
    put_string(out, program->name);
    ek_buf_puts(out, "\\fR ");
}

int ek_flags_man(const struct ek_program *program, const char *version,
                 const struct ek_command *command, struct ek_buf *out)
{
    put_head(out, program, version, command->name, command->summary);
    ek_buf_puts(out, "\\fB");
    put_string(out, command->name);
    ek_buf_puts(out, command->n_groups ? "\\fR [\\fIflags\\fR] " : "\\fR ");
    put_string(out, command->usage);
    ek_buf_puts(out, "\n.SH DESCRIPTION\n");
    put_paragraphs(out, command->text ? command->text : command->summary);
    for (size_t g = 0; g < command->n_groups; g++) {
        ek_buf_puts(out, ".SH ");
        put_upper(out, command->groups[g]->title);
        ek_buf_puts(out, "\n");
        for (size_t i = 0; i < command->groups[g]->n_flags; i++) {
            if (!command->groups[g]->flags[i].hidden)
                put_flag(out, &command->groups[g]->flags[i]);
        }
    }
    ek_buf_puts(out, ".SH SEE ALSO\n.BR ");
    put_string(out, program->name);
    ek_buf_puts(out, " (1)\n");
    return out->failed;
}

int ek_flags_program_man(const struct ek_program *program, const char *version, struct ek_buf *out)
{
    put_head(out, program, version, NULL, program->summary);
    ek_buf_puts(out, "\\fICOMMAND\\fR [\\fIflags\\fR]\n.SH COMMANDS\n");
    for (size_t i = 0; i < program->n_commands; i++) {
        ek_buf_puts(out, ".TP\n.BR ");
        put_string(out, program->name);
        ek_buf_puts(out, "\\-");
        put_string(out, program->commands[i].name);
        ek_buf_puts(out, " (1)\n");
        put_string(out, program->commands[i].summary);
        ek_buf_puts(out, "\n");
    }
    return out->failed;
}
