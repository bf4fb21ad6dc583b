/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/run/proxy_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "api/yaml.h"

struct reading {
    const struct ek_command *command;
    const char *path, *text;
    size_t len;
    int argc;
    char *const *argv;
    struct ek_proxy_arguments *out;
    struct ek_err *err;
};

void ek_proxy_arguments_done(struct ek_proxy_arguments *arguments)
{
    for (int i = 0; i < arguments->n; i++)
        ek_free(arguments->items[i]);
    ek_free(arguments->items);
    *arguments = (struct ek_proxy_arguments){0};
}

static void add(struct ek_proxy_arguments *arguments, char *item)
{
    arguments->items = ek_xrealloc(arguments->items, (size_t)arguments->n + 2, sizeof(char *));
    arguments->items[arguments->n++] = item;
    arguments->items[arguments->n] = NULL;
}

/* ---- Where a member is ---- */

/* True when a member of the outermost mapping begins at p: its name, maybe in quotes or behind the
 * braces and commas of JSON, and a colon. */
static bool begins_with(const char *p, const char *end, const char *name)
{
    size_t len = strlen(name);

    while (p < end && strchr(" \t{,", *p))
        p++;
    bool quoted = p < end && (*p == '"' || *p == '\'');
    p += quoted;
    if ((size_t)(end - p) <= len || memcmp(p, name, len) != 0)
        return false;
    p += len + quoted;
    while (p < end && *p == ' ')
        p++;
    return p < end && *p == ':';
}

/* The line of a member, from 1; 1 where none begins with it. */
static int line_of(const struct reading *r, const char *name)
{
    const char *p = r->text, *end = r->text + r->len;

    for (int line = 1; p < end; line++) {
        const char *feed = memchr(p, '\n', (size_t)(end - p));
        if (begins_with(p, feed ? feed : end, name))
            return line;
        p = feed ? feed + 1 : end;
    }
    return 1;
}

__attribute__((format(printf, 3, 4))) static int refuse(const struct reading *r, const char *name,
                                                        const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return ek_err_set(r->err, EK_E_INVAL, "%s line %d: \"%.64s\" %s", r->path, line_of(r, name),
                      name, text);
}

/* ---- Members ---- */

static const struct ek_flag *find_flag(const struct ek_command *command, const char *name)
{
    for (size_t g = 0; g < command->n_groups; g++)
        for (size_t i = 0; i < command->groups[g]->n_flags; i++)
            if (!strcmp(command->groups[g]->flags[i].name, name))
                return &command->groups[g]->flags[i];
    return NULL;
}

static bool is_list(const struct ek_flag *flag)
{
    return flag->type == EK_FLAG_STRINGS || flag->type == EK_FLAG_ARRAY;
}

/* True when the command line has the flag. */
static bool is_given(const struct reading *r, const struct ek_flag *flag)
{
    size_t len = strlen(flag->name);

    for (int i = 0; i < r->argc; i++) {
        const char *arg = r->argv[i];
        if (!strncmp(arg, "--", 2) && !strncmp(arg + 2, flag->name, len) &&
            (!arg[len + 2] || arg[len + 2] == '='))
            return true;
    }
    return false;
}

/* One value as the text of a flag, owned; NULL for what is none. */
static char *text_of(yyjson_val *value)
{
    if (yyjson_is_str(value))
        return strlen(yyjson_get_str(value)) == yyjson_get_len(value)
                   ? ek_xstrdup(yyjson_get_str(value))
                   : NULL;
    if (yyjson_is_bool(value))
        return ek_xstrdup(yyjson_get_bool(value) ? "true" : "false");
    if (yyjson_is_uint(value))
        return ek_xasprintf("%llu", (unsigned long long)yyjson_get_uint(value));
    if (yyjson_is_sint(value))
        return ek_xasprintf("%lld", (long long)yyjson_get_sint(value));
    return NULL;
}

/* Has the parser of flags judge one value, into a value that is thrown away. */
static int judge(const struct reading *r, const struct ek_flag *flag, char *argument)
{
    union {
        struct ek_flag_list list;
        const char *text;
        int64_t number;
        bool is_set;
    } value = {.number = 0};
    struct ek_flag alone = *flag;
    const struct ek_flag_group group = {"", &alone, 1};
    const struct ek_flag_group *const groups[] = {&group};
    const struct ek_command command = {.name = r->command->name, .groups = groups, .n_groups = 1};
    struct ek_flags_result result = {0};
    struct ek_err why = {0};
    char *const argv[] = {argument};

    alone.offset = 0;
    int rc = ek_flags_parse(&command, 1, argv, &value, &result, &why);
    ek_flags_done(&command, &value, &result);
    return rc ? refuse(r, flag->name, "is not usable: %s", why.message) : 0;
}

static int take_value(const struct reading *r, const struct ek_flag *flag, yyjson_val *value)
{
    EK_AUTOFREE char *text = text_of(value);

    if (!text)
        return refuse(r, flag->name, "needs %s", is_list(flag) ? "a list of texts" : "one value");
    char *argument = ek_xasprintf("--%s=%s", flag->name, text);
    add(r->out, argument);
    return judge(r, flag, argument);
}

static int take_member(const struct reading *r, const char *name, yyjson_val *value)
{
    const struct ek_flag *flag = find_flag(r->command, name);
    size_t i, n;
    yyjson_val *item;
    int rc = 0;

    if (!flag || !strcmp(name, "config"))
        return refuse(r, name, "is unknown: members have the names of flags, see --help");
    if (is_list(flag) && is_given(r, flag))
        return 0;
    if (!is_list(flag) || !yyjson_is_arr(value))
        return take_value(r, flag, value);
    yyjson_arr_foreach(value, i, n, item) rc = rc ? rc : take_value(r, flag, item);
    return rc;
}

static int take_members(const struct reading *r, yyjson_val *root)
{
    size_t i, n;
    yyjson_val *key, *value;

    if (yyjson_is_null(root)) /* a file of comments */
        return 0;
    if (!yyjson_is_obj(root))
        return ek_err_set(r->err, EK_E_INVAL, "%s line 1: not a mapping of flags to values",
                          r->path);
    ek_json_each_member(root, i, n, key, value)
    {
        int rc = take_member(r, yyjson_get_str(key), value);
        if (rc)
            return rc;
    }
    return 0;
}

int ek_proxy_config_merge(const struct ek_command *command, const char *path, const char *text,
                          size_t len, int argc, char *const *argv,
                          struct ek_proxy_arguments *ret_arguments, struct ek_err *err)
{
    struct reading r = {command, path, text, len, argc, argv, ret_arguments, err};
    yyjson_doc *doc = NULL;

    *ret_arguments = (struct ek_proxy_arguments){0};
    int rc = ek_yaml_parse(text, len, EK_PROXY_CONFIG_MAX, &doc, err);
    if (rc)
        return ek_err_prefix(err, "%s", path);
    rc = take_members(&r, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    for (int i = 0; i < argc && !rc; i++)
        add(ret_arguments, ek_xstrdup(argv[i]));
    if (rc)
        ek_proxy_arguments_done(ret_arguments);
    return rc;
}
