/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cli/flags.h"

#include <errno.h>
#include <stdlib.h>

#include "api/base/time.h"

/* Names further away than this are no suggestion. */
#define NEAR_ENOUGH 3
#define WORD_MAX    63

static size_t min3(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

size_t ek_flags_distance(const char *a, const char *b)
{
    size_t n = strnlen(a, WORD_MAX), m = strnlen(b, WORD_MAX);
    size_t rows[3][WORD_MAX + 1]; /* the last two rows and the present one, in turns */

    for (size_t j = 0; j <= m; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t *before = rows[(i + 1) % 3], *last = rows[(i - 1) % 3], *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            row[j] = min3(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

/* Keeps the nearer of *best and name; a name that starts with the word is near too. */
static void consider(const char *word, const char *name, const char **best, size_t *best_distance)
{
    size_t distance = ek_flags_distance(word, name);

    if (strlen(word) >= 3 && !strncmp(word, name, strlen(word)))
        distance = 1;
    if (distance < *best_distance && distance < strlen(name)) {
        *best = name;
        *best_distance = distance;
    }
}

static const struct ek_flag *flag_at(const struct ek_command *command, size_t *group, size_t *i)
{
    for (; *group < command->n_groups; (*group)++, *i = 0) {
        if (*i < command->groups[*group]->n_flags)
            return &command->groups[*group]->flags[(*i)++];
    }
    return NULL;
}

/* Declares flag and walks it over all flags of a command. */
#define EACH_FLAG(command)                                                                         \
    const struct ek_flag *flag;                                                                    \
    for (size_t group_ = 0, i_ = 0; (flag = flag_at((command), &group_, &i_)) != NULL;)

static const struct ek_flag *find_name(const struct ek_command *command, const char *name,
                                       size_t len)
{
    EACH_FLAG(command)
    {
        if (strlen(flag->name) == len && !memcmp(flag->name, name, len))
            return flag;
    }
    return NULL;
}

static const struct ek_flag *find_letter(const struct ek_command *command, char letter)
{
    EACH_FLAG(command)
    {
        if (flag->letter == letter)
            return flag;
    }
    return NULL;
}

static int unknown_flag(const struct ek_command *command, const char *name, size_t len,
                        struct ek_err *err)
{
    EK_AUTOFREE char *word = ek_xstrndup(name, len);
    const char *best = NULL;
    size_t distance = NEAR_ENOUGH + 1;

    EACH_FLAG(command)
    {
        if (!flag->hidden)
            consider(word, flag->name, &best, &distance);
    }
    if (best)
        return ek_err_set(err, EK_E_INVAL, "unknown flag --%s; did you mean --%s?", word, best);
    return ek_err_set(err, EK_E_INVAL, "unknown flag --%s; see --help", word);
}

static int bad_value(const struct ek_flag *flag, const char *value, const char *wanted,
                     struct ek_err *err)
{
    return ek_err_set(err, EK_E_INVAL, "invalid value \"%s\" for --%s: %s", value, flag->name,
                      wanted);
}

static int set_bool(const struct ek_flag *flag, const char *value, bool *slot, struct ek_err *err)
{
    static const char *const yes[] = {"true", "True", "TRUE", "t", "T", "1"};
    static const char *const no[] = {"false", "False", "FALSE", "f", "F", "0"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(yes); i++) {
        if (!strcmp(value, yes[i]) || !strcmp(value, no[i])) {
            *slot = !strcmp(value, yes[i]);
            return 0;
        }
    }
    return bad_value(flag, value, "use true or false", err);
}

static int set_int(const struct ek_flag *flag, const char *value, int64_t *slot, struct ek_err *err)
{
    char *end;

    errno = 0;
    long long n = strtoll(value, &end, 10);
    if (end == value || *end || errno || *value == ' ')
        return bad_value(flag, value, "use an integer", err);
    *slot = n;
    return 0;
}

static bool is_list(const struct ek_flag *flag)
{
    return flag->type == EK_FLAG_STRINGS || flag->type == EK_FLAG_ARRAY;
}

/* The flag's own text for the len bytes at value, NULL with an error where they are no choice. */
static const char *choose(const struct ek_flag *flag, const char *value, size_t len,
                          struct ek_err *err)
{
    EK_AUTO(ek_buf) wanted;

    ek_buf_init(&wanted, 1024);
    ek_buf_puts(&wanted, "use");
    for (size_t i = 0; i < EK_ARRAY_SIZE(flag->choices) && flag->choices[i]; i++) {
        if (strlen(flag->choices[i]) == len && !memcmp(value, flag->choices[i], len))
            return flag->choices[i];
        ek_buf_printf(&wanted, "%s %s", i ? "," : "", flag->choices[i]);
    }
    EK_AUTOFREE char *bad = ek_xstrndup(value, len);
    bad_value(flag, bad, ek_buf_str(&wanted), err);
    return NULL;
}

static int add_strings(const struct ek_flag *flag, const char *value, struct ek_flag_list *list,
                       struct ek_err *err)
{
    for (;;) {
        size_t len = strcspn(value, flag->type == EK_FLAG_STRINGS ? "," : "");
        if (flag->choices[0] && !choose(flag, value, len, err))
            return EK_E_INVAL;
        if (list->n == EK_FLAG_LIST_MAX)
            return ek_err_set(err, EK_E_INVAL, "too many values for --%s", flag->name);
        list->items = ek_xrealloc(list->items, list->n + 1, sizeof(char *));
        list->items[list->n++] = ek_xstrndup(value, len);
        if (!value[len])
            return 0;
        value += len + 1;
    }
}

static int set_string(const struct ek_flag *flag, const char *value, const char **slot,
                      struct ek_err *err)
{
    const char *text = flag->choices[0] ? choose(flag, value, strlen(value), err) : value;

    if (!text)
        return EK_E_INVAL;
    *slot = text;
    return 0;
}

static int set_value(const struct ek_flag *flag, const char *value, void *options,
                     struct ek_err *err)
{
    void *slot = (char *)options + flag->offset;

    switch (flag->type) {
    case EK_FLAG_BOOL:
        return set_bool(flag, value, slot, err);
    case EK_FLAG_INT:
        return set_int(flag, value, slot, err);
    case EK_FLAG_DURATION:
        if (ek_duration_parse(value, slot) != 0)
            return bad_value(flag, value, "use a duration such as 30s or 1m30s", err);
        return 0;
    case EK_FLAG_STRINGS:
    case EK_FLAG_ARRAY:
        return add_strings(flag, value, slot, err);
    case EK_FLAG_STRING:
    case EK_FLAG_TYPE_MAX:
        break;
    }
    return set_string(flag, value, slot, err);
}

static int set_flag(const struct ek_flag *flag, const char *value, void *options,
                    struct ek_err *err)
{
    int rc = flag->check ? flag->check(value, err) : 0;

    if (rc) {
        ek_err_prefix(err, "--%s", flag->name);
        return rc;
    }
    return set_value(flag, value, options, err);
}

static void set_defaults(const struct ek_command *command, void *options)
{
    static const char *const zero[EK_FLAG_TYPE_MAX] = {"", "false", "0", "0", NULL, NULL};

    EACH_FLAG(command)
    {
        const char *initial = flag->initial ? flag->initial : zero[flag->type];
        if (is_list(flag))
            *(struct ek_flag_list *)(void *)((char *)options + flag->offset) =
                (struct ek_flag_list){0};
        if (flag->type == EK_FLAG_STRING)
            *(const char **)(void *)((char *)options + flag->offset) = initial;
        else if (initial)
            set_value(flag, initial, options, NULL);
    }
}

/* Where the parser is; value takes the next argument. */
struct cursor {
    const struct ek_command *command;
    char *const *argv;
    int argc, i;
    void *options;
    struct ek_flags_result *result;
};

/* The argument after the present one; NULL, with err set, when there is none. */
static const char *next_value(struct cursor *c, const char *shown, struct ek_err *err)
{
    if (c->i + 1 < c->argc)
        return c->argv[++c->i];
    ek_err_set(err, EK_E_INVAL, "flag %s needs a value", shown);
    return NULL;
}

static int parse_long(struct cursor *c, const char *arg, struct ek_err *err)
{
    const char *name = arg + 2;
    size_t len = strcspn(name, "=");
    const char *value = name[len] ? name + len + 1 : NULL;
    const struct ek_flag *flag = find_name(c->command, name, len);

    if (!flag && len == 4 && !memcmp(name, "help", 4)) {
        c->result->help = true;
        return 0;
    }
    if (!flag)
        return unknown_flag(c->command, name, len, err);
    if (!value && flag->type == EK_FLAG_BOOL)
        value = "true";
    if (!value && (value = next_value(c, arg, err)) == NULL)
        return EK_E_INVAL;
    return set_flag(flag, value, c->options, err);
}

/* "-ojson", "-o=json", "-o json", and switches in a row. */
static int parse_short(struct cursor *c, const char *arg, struct ek_err *err)
{
    for (const char *p = arg + 1; *p; p++) {
        const struct ek_flag *flag = find_letter(c->command, *p);
        char shown[3] = {'-', *p, '\0'};
        const char *value = NULL;

        if (!flag && *p == 'h') {
            c->result->help = true;
            return 0;
        }
        if (!flag)
            return ek_err_set(err, EK_E_INVAL, "unknown flag %s in \"%s\"; see --help", shown, arg);
        if (flag->type == EK_FLAG_BOOL && p[1] != '=') {
            set_value(flag, "true", c->options, NULL);
            continue;
        }
        if (p[1])
            value = p[1] == '=' ? p + 2 : p + 1;
        if (!value && (value = next_value(c, shown, err)) == NULL)
            return EK_E_INVAL;
        return set_flag(flag, value, c->options, err);
    }
    return 0;
}

static int add_argument(struct cursor *c, char *arg, struct ek_err *err)
{
    struct ek_flags_result *result = c->result;

    if (c->command->max_args >= 0 && result->n_args >= c->command->max_args)
        return ek_err_set(err, EK_E_INVAL, "unexpected argument \"%s\"; see --help", arg);
    result->args = ek_xrealloc(result->args, (size_t)result->n_args + 1, sizeof(char *));
    result->args[result->n_args++] = arg;
    return 0;
}

int ek_flags_parse(const struct ek_command *command, int argc, char *const *argv, void *options,
                   struct ek_flags_result *ret_result, struct ek_err *err)
{
    struct cursor c = {command, argv, argc, 0, options, ret_result};
    bool only_arguments = false;
    int rc = 0;

    *ret_result = (struct ek_flags_result){.command = command};
    set_defaults(command, options);
    for (; c.i < argc && !rc && !ret_result->help; c.i++) {
        char *arg = argv[c.i];
        if (only_arguments || arg[0] != '-' || !arg[1])
            rc = add_argument(&c, arg, err);
        else if (!strcmp(arg, "--"))
            only_arguments = true;
        else if (arg[1] == '-')
            rc = parse_long(&c, arg, err);
        else
            rc = parse_short(&c, arg, err);
    }
    return rc;
}

void ek_flags_done(const struct ek_command *command, void *options, struct ek_flags_result *result)
{
    if (result) {
        ek_free(result->args);
        result->args = NULL;
        result->n_args = 0;
    }
    if (!command || !options)
        return;
    EACH_FLAG(command)
    {
        if (!is_list(flag))
            continue;
        struct ek_flag_list *list = (void *)((char *)options + flag->offset);
        for (size_t i = 0; i < list->n; i++)
            ek_free(list->items[i]);
        ek_free(list->items);
        *list = (struct ek_flag_list){0};
    }
}

static const struct ek_command *find_command(const struct ek_program *program, const char *name)
{
    for (size_t i = 0; i < program->n_commands; i++) {
        if (!strcmp(program->commands[i].name, name))
            return &program->commands[i];
    }
    return NULL;
}

int ek_flags_command(const struct ek_program *program, int argc, char *const *argv,
                     struct ek_flags_result *ret_result, struct ek_err *err)
{
    const char *name = argc > 1 ? argv[1] : "--help", *best = NULL;
    size_t distance = NEAR_ENOUGH + 1;
    bool help = !strcmp(name, "help") || !strcmp(name, "--help") || !strcmp(name, "-h");

    bool man = help && argc > 2 && !strcmp(argv[2], "--man");

    *ret_result = (struct ek_flags_result){.help = help, .man = man};
    if (help && argc <= 2 + man)
        return 0;
    if (help)
        name = argv[2 + man];
    ret_result->command = find_command(program, name);
    if (ret_result->command)
        return 0;
    if (name[0] == '-')
        return ek_err_set(err, EK_E_INVAL,
                          "a command must come before flags such as %s; see \"%s --help\"", name,
                          program->name);
    for (size_t i = 0; i < program->n_commands; i++)
        consider(name, program->commands[i].name, &best, &distance);
    if (best)
        return ek_err_set(err, EK_E_INVAL, "unknown command \"%s\"; did you mean \"%s\"?", name,
                          best);
    return ek_err_set(err, EK_E_INVAL, "unknown command \"%s\"; see \"%s --help\"", name,
                      program->name);
}
