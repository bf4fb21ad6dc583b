/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel debug`: prints the debug report of a running controller. */
#include <stdio.h>
#include <string.h>

#include "controller/cli/commands.h"
#include "controller/cli/print.h"
#include "controller/commands/debug_client.h"
#include "controller/commands/debug_report.h"
#include "controller/debug/socket.h"

#define REPORT_MAX ((size_t)64 << 20)

struct options {
    struct ek_print_options print;
    const char *socket;
    int64_t timeout_ms;
};

/* What the tables are to show. */
struct shown {
    const char *only; /* one of a list by its name; NULL: all */
    bool overview;
};

static int write_tables(void *ctx, yyjson_val *root, bool color, struct ek_buf *out)
{
    const struct shown *shown = ctx;
    EK_AUTO(ek_buf) findings, tables;

    ek_buf_init(&findings, REPORT_MAX);
    ek_buf_init(&tables, REPORT_MAX);
    size_t n = ek_debug_findings(root, &findings);
    ek_debug_report(root, shown->only, shown->overview, color, &tables);
    /* A request for one topic prints that topic; otherwise findings come first. */
    if (!shown->only && n > 0)
        ek_buf_printf(out, "WHAT IS WRONG\n%s\n", ek_buf_str(&findings));
    else if (shown->overview)
        ek_buf_puts(out, "Nothing is known to be wrong.\n\n");
    ek_buf_append(out, ek_buf_str(&tables), tables.len);
    return findings.failed ? findings.failed : tables.failed ? tables.failed : out->failed;
}

/* True when the answer has something under that name; a mistyped one must not look like silence. */
static bool has(yyjson_val *root, const char *list, const char *member, const char *value)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(root, list), i, n, item)
    {
        const char *s = ek_json_str(item, member, NULL);
        if (s && !strcmp(s, value))
            return true;
    }
    return false;
}

static int ask(const struct options *options, const char *topic, const char *argument)
{
    bool sets_level = argument && !strcmp(topic, "log-level");
    EK_AUTOFREE char *request =
        sets_level ? ek_xasprintf("%s %s", topic, argument) : ek_xstrdup(topic);
    const char *only = sets_level ? NULL : argument;
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    if (ek_debug_ask(options->socket, request, options->timeout_ms, &doc, &err)) {
        ek_complain(&err);
        return EK_EXIT_FAILED;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    int code = EK_EXIT_FAILED;
    if (only && !has(root, "informers", "resource", only) && !has(root, "peers", "address", only) &&
        !has(root, "peers", "name", only))
        ek_print_stderr("evenkeel: ", "nothing under that name among the %s", topic);
    else
        code = ek_print(&options->print, root, write_tables,
                        &(struct shown){only, !strcmp(topic, "all")});
    yyjson_doc_free(doc);
    return code;
}

static int debug(void *options, char **args, int n_args)
{
    const char *topic = n_args > 0 ? args[0] : "all";
    const char *argument = n_args > 1 ? args[1] : NULL;
    struct ek_err err = {0};

    if (argument && strcmp(topic, "informers") != 0 && strcmp(topic, "peers") != 0 &&
        strcmp(topic, "log-level") != 0) {
        ek_err_set(&err, EK_E_INVAL, "only informers, peers and log-level take an argument");
        ek_complain(&err);
        return EK_EXIT_FAILED;
    }
    return ask(options, topic, argument);
}

static const struct ek_flag flags[] = {
    EK_PRINT_FLAGS(struct options, print),
    {.name = "debug-socket",
     .type = EK_FLAG_STRING,
     .offset = offsetof(struct options, socket),
     .initial = EK_DEBUG_SOCKET_DEFAULT,
     .help = "Abstract `socket` on which the controller or the proxy listens"},
    {.name = "timeout",
     .type = EK_FLAG_DURATION,
     .offset = offsetof(struct options, timeout_ms),
     .initial = "5s",
     .help = "How long to wait for the response"},
};
static const struct ek_flag_group group = {"Flags", flags, EK_ARRAY_SIZE(flags)};
static const struct ek_flag_group *const groups[] = {&group};

static int run_debug(void *unused, int argc, char **argv)
{
    struct options options = {0};
    (void)unused;
    return ek_command_run(&ek_debug_command, argc, argv, &options, debug);
}

const struct ek_command ek_debug_command = {
    .name = "debug",
    .usage = "[all|process|manager|leader|informers [RESOURCE]|queue|subjects|peers [API-SERVER]|"
             "webhook|log-level [LEVEL]]",
    .words = {"all", "process", "manager", "leader", "informers", "queue", "subjects", "peers",
              "webhook", "log-level"},
    .summary = "Show the state of a running controller and what keeps it from working",
    .text = "Without an argument, prints the problems that are known and an overview of all parts "
            "of the controller. In a cluster, run `kubectl exec deploy/evenkeel -- evenkeel "
            "debug`. The controller must be in the same network namespace; only its own user and "
            "root get a response. For \"evenkeel "
            "proxy\", add --debug-socket=@evenkeel-proxy-debug.\n\nlog-level LEVEL (debug, info, "
            "error, panic or a number above "
            "0) changes the log level of the controller until it restarts.",
    .groups = groups,
    .n_groups = EK_ARRAY_SIZE(groups),
    .max_args = 2,
    .run = run_debug,
};
