/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of `evenkeel cel`. Text is for shells: a string stands alone without quotes, everything
 * that has a JSON form is compact JSON, the rest is CEL. JSON and YAML hold value, type and cost,
 * or an error with its place.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/cel/library.h"
#include "api/obj.h"
#include "controller/cli/commands.h"
#include "controller/cli/compat.h"
#include "controller/cli/print.h"
#include "controller/commands/cel-internal.h"

#define SHOWN_MAX ((size_t)64 << 20)

static const char *const kinds[] = {
    [EK_CEL_E_SYNTAX] = "syntax", [EK_CEL_E_TYPE] = "type",     [EK_CEL_E_EVAL] = "evaluation",
    [EK_CEL_E_COST] = "cost",     [EK_CEL_E_MEMORY] = "memory", [EK_CEL_E_CANCELED] = "canceled",
    [EK_CEL_E_LIMIT] = "limit",
};

/* Prints root as the options say, by text when they say text. Returns the exit code. */
static int print(const struct ek_cel_options *options, yyjson_mut_doc *doc,
                 int (*text)(void *ctx, yyjson_val *root, bool color, struct ek_buf *out),
                 void *ctx)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *answer = ek_obj_from_mut(yyjson_mut_doc_get_root(doc));
    struct ek_print_options print = {.output = options->output, .color = "never"};

    if (!answer) {
        fputs("evenkeel: the answer cannot be written: out of memory\n", stderr);
        return EK_EXIT_FAILED;
    }
    return ek_print(&print, ek_obj_root(answer), text, ctx);
}

static void add_issue(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct ek_cel_issue *issue)
{
    yyjson_mut_val *item = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_str(doc, item, "kind", kinds[issue->kind]);
    if (issue->line) { /* it has a place */
        yyjson_mut_obj_add_uint(doc, item, "line", issue->line);
        yyjson_mut_obj_add_uint(doc, item, "column", issue->column);
    }
    yyjson_mut_obj_add_strcpy(doc, item, "message", issue->message);
}

static int show_nothing(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    (void)ctx;
    (void)root;
    (void)color;
    (void)out;
    return 0;
}

/* The oldest compatibility version at which the text compiles when it is new; 0 for none. Below
 * the oldest known version, new and stored expressions were treated alike. */
static int oldest_compat(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs)
{
    for (int minor = EK_CEL_COMPAT_MIN; minor <= EK_CEL_COMPAT_MAX; minor++) {
        EK_AUTOPTR(ek_cel_env, ek_cel_env_unref) *env =
            ek_cel_inputs_env(options, inputs, minor, EK_CEL_NEW, NULL);
        EK_AUTOPTR(ek_cel_program, ek_cel_program_unref) *program =
            env ? ek_cel_compile(env, inputs->text, inputs->len,
                                 *options->type ? options->type : NULL, NULL)
                : NULL;
        if (program)
            return minor;
    }
    return 0;
}

/* The version that a text which does not compile is too new for, "1.33" in buf; NULL when it is
 * another mistake. */
static const char *wanted_compat(const struct ek_cel_options *options,
                                 const struct ek_cel_inputs *inputs, char *buf, size_t size)
{
    int asked = ek_compat_minor(options->compat);

    /* Without a version the newest was tried. */
    if (asked <= 0 || !strcmp(options->env, "standard"))
        return NULL;
    int oldest = oldest_compat(options, inputs);
    if (oldest <= asked)
        return NULL;
    snprintf(buf, size, "1.%d", oldest);
    return buf;
}

void ek_cel_show_issues(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs,
                        const struct ek_cel_issues *issues)
{
    EK_AUTO(ek_buf) out;
    char version[32];
    const char *wanted = wanted_compat(options, inputs, version, sizeof version);

    ek_buf_init(&out, SHOWN_MAX);
    if (strcmp(options->output, "text") != 0) {
        yyjson_mut_doc *doc = ek_json_doc_new();
        yyjson_mut_val *root = yyjson_mut_obj(doc);
        yyjson_mut_doc_set_root(doc, root);
        yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "errors");
        for (size_t i = 0; i < issues->len; i++)
            add_issue(doc, list, &issues->list[i]);
        if (wanted)
            yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, root, "needs"), "oldestCompat",
                                   wanted);
        print(options, doc, show_nothing, NULL);
        yyjson_mut_doc_free(doc);
        return;
    }
    ek_cel_issues_format(issues, inputs->text, inputs->len, &out);
    EK_AUTO(ek_buf) shown;
    ek_buf_init(&shown, SHOWN_MAX);
    ek_quote_lines(&shown, ek_str_from(ek_buf_str(&out)), "");
    fprintf(stderr, "%s%s", ek_buf_str(&shown),
            out.len && out.data[out.len - 1] != '\n' ? "\n" : "");
    if (wanted)
        fprintf(stderr, "It needs at least %s, and --compat is %s.\n", wanted, options->compat);
}

/* The place of a failed evaluation, as an issue. */
static struct ek_cel_issue fault_issue(const struct ek_cel_inputs *inputs,
                                       const struct ek_cel_fault *fault)
{
    struct ek_cel_issue issue = {.kind = fault->kind,
                                 .position = fault->position,
                                 .line = 1,
                                 .column = 1,
                                 .message = fault->message};
    uint32_t left = fault->position;

    for (const char *p = inputs->text; p < inputs->text + inputs->len && left; left--) {
        issue.column++;
        if (*p == '\n') {
            issue.line++;
            issue.column = 1;
        }
        do
            p++;
        while (((unsigned char)*p & 0xc0) == 0x80);
    }
    return issue;
}

static bool has_json_form(const struct ek_cel_val *value)
{
    return value->kind != EK_CEL_OPTIONAL && value->kind != EK_CEL_TYPE &&
           value->kind != EK_CEL_OPAQUE;
}

/* The value as JSON; what has no such form as its text, or in CEL's syntax. */
static yyjson_mut_val *json_of(yyjson_mut_doc *doc, const struct ek_cel_val *value)
{
    EK_AUTO(ek_buf) text;
    yyjson_mut_val *json =
        has_json_form(value) ? ek_cel_to_json(value, EK_CEL_JSON_PLAIN, doc, NULL, NULL) : NULL;

    ek_buf_init(&text, SHOWN_MAX);
    if (json)
        return json;
    if ((value->kind != EK_CEL_OPAQUE || !value->opaque->kind->format ||
         value->opaque->kind->format(value->opaque, &text)) &&
        ek_cel_format(value, &text))
        return yyjson_mut_str(doc, "(too large to be shown)");
    return yyjson_mut_strncpy(doc, ek_buf_str(&text), text.len);
}

/* ctx is the answer's options; root has value, type and cost. */
static int write_value(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    yyjson_val *value = yyjson_obj_get(root, "value");

    (void)ctx;
    (void)color;
    if (yyjson_is_str(value)) {
        ek_buf_append(out, yyjson_get_str(value), yyjson_get_len(value));
    } else {
        size_t len = 0;
        char *json = yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, &ek_json_alc, &len, NULL);
        if (!json)
            return EK_E_NOMEM;
        ek_buf_append(out, json, len);
        ek_free(json);
    }
    return ek_buf_puts(out, "\n");
}

int ek_cel_show_result(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs,
                       const struct ek_cel_program *program, const struct ek_cel_result *result)
{
    int code = EK_EXIT_FAILED;

    if (options->cost && !strcmp(options->output, "text"))
        fprintf(stderr, "cost: %" PRIu64 "\n", result->cost);
    if (result->value.kind == EK_CEL_ERROR) {
        struct ek_cel_issue issue = fault_issue(inputs, result->value.fault);
        ek_cel_show_issues(options, inputs, &(struct ek_cel_issues){.list = &issue, .len = 1});
        return code;
    }
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_val(doc, root, "value", json_of(doc, &result->value));
    yyjson_mut_obj_add_str(doc, root, "type", ek_cel_program_type(program));
    yyjson_mut_obj_add_uint(doc, root, "cost", result->cost);
    code = print(options, doc, write_value, NULL);
    yyjson_mut_doc_free(doc);
    return code;
}

/* ---- check ---- */

static void add_reads(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct ek_cel_env *env,
                      const struct ek_cel_program *program)
{
    yyjson_mut_val *variables = yyjson_mut_obj_add_arr(doc, root, "variables");
    yyjson_mut_val *paths = yyjson_mut_obj_add_arr(doc, root, "reads");
    const struct ek_cel_read *reads;
    size_t n = ek_cel_program_reads(program, &reads);

    for (size_t slot = 0; slot < ek_cel_env_slots(env); slot++)
        if (ek_cel_program_uses(program, slot))
            yyjson_mut_arr_add_strcpy(doc, variables, ek_cel_env_slot_name(env, slot));
    for (size_t i = 0; i < n; i++) {
        const char *path = reads[i].path;
        EK_AUTOFREE char *whole = ek_xasprintf("%s%s%s", ek_cel_env_slot_name(env, reads[i].slot),
                                               !*path || *path == '[' ? "" : ".", path);
        yyjson_mut_arr_add_strcpy(doc, paths, whole);
    }
}

static void put_list(struct ek_buf *out, const char *name, yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    if (!yyjson_arr_size(list))
        ek_buf_printf(out, "%-11s(none)\n", name);
    yyjson_arr_foreach(list, i, n, item)
    {
        ek_quote_printf(out, "%-11s%s\n", i ? "" : name,
                        yyjson_get_str(item) ? yyjson_get_str(item) : "");
    }
}

static int write_facts(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    yyjson_val *needs = yyjson_obj_get(root, "needs"), *cost = yyjson_obj_get(root, "cost");
    const char *oldest = yyjson_get_str(yyjson_obj_get(needs, "oldestCompat"));

    (void)ctx;
    (void)color;
    ek_quote_printf(out, "%-11s%s\n", "type:", ek_json_text(root, "type"));
    put_list(out, "variables:", yyjson_obj_get(root, "variables"));
    put_list(out, "reads:", yyjson_obj_get(root, "reads"));
    if (yyjson_obj_get(cost, "actual"))
        ek_buf_printf(out, "%-11s%" PRIu64 " with the variables given, of %" PRIu64 " allowed\n",
                      "cost:", yyjson_get_uint(yyjson_obj_get(cost, "actual")),
                      yyjson_get_uint(yyjson_obj_get(cost, "perCallLimit")));
    else
        ek_buf_printf(out, "%-11snot known without its variables, %" PRIu64 " allowed\n",
                      "cost:", yyjson_get_uint(yyjson_obj_get(cost, "perCallLimit")));
    if (yyjson_get_bool(yyjson_obj_get(needs, "any")))
        ek_buf_printf(out, "%-11sany version\n", "needs:");
    else if (oldest)
        ek_buf_printf(out, "%-11sat least %s\n", "needs:", oldest);
    else if (needs)
        ek_buf_printf(out, "%-11sno version takes it as a new expression\n", "needs:");
    return out->failed;
}

int ek_cel_show_facts(const struct ek_cel_options *options, const struct ek_cel_inputs *inputs,
                      const struct ek_cel_env *env, const struct ek_cel_program *program,
                      const struct ek_cel_result *result)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "type", ek_cel_program_type(program));
    add_reads(doc, root, env, program);
    yyjson_mut_val *cost = yyjson_mut_obj_add_obj(doc, root, "cost");
    if (result)
        yyjson_mut_obj_add_uint(doc, cost, "actual", result->cost);
    yyjson_mut_obj_add_uint(doc, cost, "perCallLimit", EK_CEL_PER_CALL_LIMIT);
    if (strcmp(options->env, "standard") != 0) {
        int oldest = oldest_compat(options, inputs);
        char text[32];
        yyjson_mut_val *needs = yyjson_mut_obj_add_obj(doc, root, "needs");
        yyjson_mut_obj_add_bool(doc, needs, "any", oldest == EK_CEL_COMPAT_MIN);
        snprintf(text, sizeof(text), "1.%d", oldest);
        if (oldest)
            yyjson_mut_obj_add_strcpy(doc, needs, "oldestCompat", text);
    }
    int code = print(options, doc, write_facts, NULL);
    yyjson_mut_doc_free(doc);
    return code;
}
