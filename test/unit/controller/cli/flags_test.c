/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: every way to write a flag, every mistake's message, and the help text. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/cli/flags.h"
#include "test/support/suite.h"

struct options {
    const char *output, *address, *level;
    bool verbose, quiet, secure;
    int64_t workers, interval_ms;
    struct ek_flag_list hosts, texts;
};

static int check_level(const char *value, struct ek_err *err)
{
    return strcmp(value, "loud") ? 0 : ek_err_set(err, EK_E_INVAL, "too loud");
}

static const struct ek_flag common_flags[] = {
    {.name = "output",
     .letter = 'o',
     .offset = offsetof(struct options, output),
     .initial = "table",
     .choices = {"table", "json", "yaml"},
     .help = "How to print the report"},
    {.name = "verbose",
     .letter = 'v',
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct options, verbose),
     .help = "Say more."},
    {.name = "quiet",
     .letter = 'q',
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct options, quiet),
     .help = "Say less."},
    {.name = "metrics-bind-address",
     .offset = offsetof(struct options, address),
     .initial = ":8080",
     .help = "Where metrics are served, as `host:port`; 0 switches them off. This sentence is "
             "long enough to be wrapped."},
    {.name = "metrics-secure",
     .type = EK_FLAG_BOOL,
     .offset = offsetof(struct options, secure),
     .initial = "true",
     .help = "Serve metrics over HTTPS."},
};
static const struct ek_flag more_flags[] = {
    {.name = "workers",
     .type = EK_FLAG_INT,
     .offset = offsetof(struct options, workers),
     .initial = "4",
     .help = "Workers."},
    {.name = "probe-interval",
     .type = EK_FLAG_DURATION,
     .offset = offsetof(struct options, interval_ms),
     .initial = "30s",
     .help = "Time between probes."},
    {.name = "host",
     .type = EK_FLAG_STRINGS,
     .offset = offsetof(struct options, hosts),
     .initial = NULL,
     .help = "Hosts."},
    {.name = "text",
     .type = EK_FLAG_ARRAY,
     .offset = offsetof(struct options, texts),
     .help = "Texts."},
    {.name = "zap-log-level",
     .offset = offsetof(struct options, level),
     .initial = "info",
     .check = check_level,
     .help = "Level.",
     .hidden = true},
};
static const struct ek_flag_group common = {"Flags", common_flags, EK_ARRAY_SIZE(common_flags)};
static const struct ek_flag_group more = {"More flags", more_flags, EK_ARRAY_SIZE(more_flags)};
static const struct ek_flag_group *const groups[] = {&common, &more};
static const struct ek_command commands[] = {
    {.name = "check",
     .usage = "[FILE...]",
     .summary = "Report once.",
     .groups = groups,
     .n_groups = 2,
     .max_args = 2},
    {.name = "version", .usage = "", .summary = "Print the version.", .max_args = 0},
};
static const struct ek_program program = {"evenkeel", "Keeps a control plane on an even keel.",
                                          commands, 2};

static int count(char *const *argv)
{
    int n = 0;
    while (argv[n])
        n++;
    return n;
}

/* One string with everything that was parsed. */
static const char *show(const struct options *o, const struct ek_flags_result *r, char buf[512])
{
    int n = snprintf(buf, 512, "%s %s %s %d%d%d %d %d h=", o->output, o->address, o->level,
                     o->verbose, o->quiet, o->secure, (int)o->workers, (int)o->interval_ms);
    for (size_t i = 0; i < o->hosts.n; i++)
        n += snprintf(buf + n, 512 - (size_t)n, "[%s]", o->hosts.items[i]);
    for (size_t i = 0; i < o->texts.n; i++)
        n += snprintf(buf + n, 512 - (size_t)n, "{%s}", o->texts.items[i]);
    for (int i = 0; i < r->n_args; i++)
        n += snprintf(buf + n, 512 - (size_t)n, " <%s>", r->args[i]);
    snprintf(buf + n, 512 - (size_t)n, "%s", r->help ? " help" : "");
    return buf;
}

START_TEST(good)
{
    static const struct {
        const char *argv[8];
        const char *expected;
    } rows[] = {
        {{NULL}, "table :8080 info 001 4 30000 h="},
        {{"--output=json"}, "json :8080 info 001 4 30000 h="},
        {{"--output", "json"}, "json :8080 info 001 4 30000 h="},
        {{"-o", "json"}, "json :8080 info 001 4 30000 h="},
        {{"-ojson"}, "json :8080 info 001 4 30000 h="},
        {{"-o=json"}, "json :8080 info 001 4 30000 h="},
        {{"-vqo", "yaml"}, "yaml :8080 info 111 4 30000 h="},
        {{"-v=false", "-q=true"}, "table :8080 info 011 4 30000 h="},
        {{"--metrics-secure=false"}, "table :8080 info 000 4 30000 h="},
        {{"--metrics-secure", "false"}, "table :8080 info 001 4 30000 h= <false>"},
        {{"--metrics-bind-address="}, "table  info 001 4 30000 h="},
        {{"--metrics-bind-address", "-"}, "table - info 001 4 30000 h="},
        {{"--workers", "-3"}, "table :8080 info 001 -3 30000 h="},
        {{"--probe-interval=1m30s"}, "table :8080 info 001 4 90000 h="},
        {{"--host=a,b", "--host", "c"}, "table :8080 info 001 4 30000 h=[a][b][c]"},
        {{"--text=a,b", "--text", ""}, "table :8080 info 001 4 30000 h={a,b}{}"},
        {{"a", "-v", "b"}, "table :8080 info 101 4 30000 h= <a> <b>"},
        {{"--", "-v", "--"}, "table :8080 info 001 4 30000 h= <-v> <-->"},
        {{"-"}, "table :8080 info 001 4 30000 h= <->"},
        {{"--workers=1", "--workers=2"}, "table :8080 info 001 2 30000 h="},
        {{"-v", "--help", "--nonsense"}, "table :8080 info 101 4 30000 h= help"},
        {{"-vh"}, "table :8080 info 101 4 30000 h= help"},
        {{"--zap-log-level=debug"}, "table :8080 debug 001 4 30000 h="},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct options options;
        struct ek_flags_result result;
        struct ek_err err = {0};
        char buf[512];
        char *const *argv = (char *const *)rows[i].argv;
        int rc = ek_flags_parse(&commands[0], count(argv), argv, &options, &result, &err);
        ck_assert_msg(rc == 0, "row %zu (%s): %s", i, rows[i].expected, err.message);
        ck_assert_msg(!strcmp(show(&options, &result, buf), rows[i].expected),
                      "row %zu: wanted %s, got %s", i, rows[i].expected, buf);
        ek_flags_done(&commands[0], &options, &result);
    }
}
END_TEST

START_TEST(bad)
{
    static const struct {
        const char *argv[4];
        const char *expected;
    } rows[] = {
        {{"--metrics-bind-adress=:1"},
         "unknown flag --metrics-bind-adress; did you mean --metrics-bind-address?"},
        {{"--metrics-bind"}, "unknown flag --metrics-bind; did you mean --metrics-bind-address?"},
        {{"--zzz"}, "unknown flag --zzz; see --help"},
        {{"--verbsoe"}, "unknown flag --verbsoe; did you mean --verbose?"},
        {{"-x"}, "unknown flag -x in \"-x\"; see --help"},
        {{"-vx"}, "unknown flag -x in \"-vx\"; see --help"},
        {{"--output"}, "flag --output needs a value"},
        {{"-o"}, "flag -o needs a value"},
        {{"-o", "xml"}, "invalid value \"xml\" for --output: use table, json, yaml"},
        {{"--verbose=yes"}, "invalid value \"yes\" for --verbose: use true or false"},
        {{"--workers=3x"}, "invalid value \"3x\" for --workers: use an integer"},
        {{"--workers="}, "invalid value \"\" for --workers: use an integer"},
        {{"--workers=99999999999999999999"},
         "invalid value \"99999999999999999999\" for --workers: use an integer"},
        {{"--probe-interval=30"},
         "invalid value \"30\" for --probe-interval: use a duration such as 30s or 1m30s"},
        {{"--zap-log-level", "loud"}, "--zap-log-level: too loud"},
        {{"a", "b", "c"}, "unexpected argument \"c\"; see --help"},
        {{"--=x"}, "unknown flag --; see --help"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct options options;
        struct ek_flags_result result;
        struct ek_err err = {0};
        char *const *argv = (char *const *)rows[i].argv;
        int rc = ek_flags_parse(&commands[0], count(argv), argv, &options, &result, &err);
        ck_assert_msg(rc == EK_E_INVAL && !strcmp(err.message, rows[i].expected),
                      "wanted: %s\ngot: %s", rows[i].expected, err.message);
        ek_flags_done(&commands[0], &options, &result);
    }
}
END_TEST

START_TEST(command_names)
{
    static const struct {
        const char *argv[4];
        const char *command; /* NULL: none */
        bool help;
        bool man;
        const char *error; /* NULL: none */
    } rows[] = {
        {{"evenkeel"}, NULL, true, false, NULL},
        {{"evenkeel", "--help"}, NULL, true, false, NULL},
        {{"evenkeel", "-h"}, NULL, true, false, NULL},
        {{"evenkeel", "help"}, NULL, true, false, NULL},
        {{"evenkeel", "help", "check"}, "check", true, false, NULL},
        {{"evenkeel", "help", "--man"}, NULL, true, true, NULL},
        {{"evenkeel", "help", "--man", "check"}, "check", true, true, NULL},
        {{"evenkeel", "help", "--man", "chekc"},
         NULL,
         true,
         true,
         "unknown command \"chekc\"; did you mean \"check\"?"},
        {{"evenkeel", "version"}, "version", false, false, NULL},
        {{"evenkeel", "chekc"},
         NULL,
         false,
         false,
         "unknown command \"chekc\"; did you mean \"check\"?"},
        {{"evenkeel", "frob"},
         NULL,
         false,
         false,
         "unknown command \"frob\"; see \"evenkeel --help\""},
        {{"evenkeel", "--workers=3", "check"},
         NULL,
         false,
         false,
         "a command must come before flags such as --workers=3; see \"evenkeel --help\""},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        struct ek_flags_result result;
        struct ek_err err = {0};
        char *const *argv = (char *const *)rows[i].argv;
        int rc = ek_flags_command(&program, count(argv), argv, &result, &err);
        const char *name = rc || !result.command ? "" : result.command->name;
        ck_assert_msg((rc != 0) == (rows[i].error != NULL), "row %zu: %s", i, err.message);
        ck_assert_str_eq(err.message, rows[i].error ? rows[i].error : "");
        ck_assert_str_eq(name, rows[i].command ? rows[i].command : "");
        if (!rc)
            ck_assert_int_eq(result.help, rows[i].help);
        ck_assert_int_eq(result.man, rows[i].man);
    }
}
END_TEST

START_TEST(distance)
{
    static const struct {
        const char *a, *b;
        size_t expected;
    } rows[] = {
        {"", "", 0},           {"a", "", 1},        {"", "abc", 3},      {"kitten", "sitting", 3},
        {"chekc", "check", 1}, {"abcd", "abdc", 1}, {"same", "same", 0}, {"ca", "abc", 3},
        {"a", "b", 1},         {"flaw", "lawn", 2},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++)
        ck_assert_msg(ek_flags_distance(rows[i].a, rows[i].b) == rows[i].expected, "%s %s: %zu",
                      rows[i].a, rows[i].b, ek_flags_distance(rows[i].a, rows[i].b));
}
END_TEST

START_TEST(help)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 10000);
    ck_assert_int_eq(ek_flags_help(&program, &commands[0], 80, &out), 0);
    ck_assert_str_eq(
        ek_buf_str(&out),
        "Report once.\n\nUsage:\n  evenkeel check [flags] [FILE...]\n\n"
        "Flags:\n"
        "  -o, --output string             How to print the report: one of table, json,\n"
        "                                  yaml (default \"table\")\n"
        "  -v, --verbose                   Say more.\n"
        "  -q, --quiet                     Say less.\n"
        "      --metrics-bind-address host:port\n"
        "                                  Where metrics are served, as host:port; 0\n"
        "                                  switches them off. This sentence is long\n"
        "                                  enough to be wrapped. (default \":8080\")\n"
        "      --metrics-secure            Serve metrics over HTTPS. (default true)\n\n"
        "More flags:\n"
        "      --workers int               Workers. (default 4)\n"
        "      --probe-interval duration   Time between probes. (default 30s)\n"
        "      --host strings              Hosts.\n"
        "      --text string               Texts.\n");
    ek_buf_reset(&out);
    ck_assert_int_eq(ek_flags_program_help(&program, 80, &out), 0);
    ck_assert_str_eq(ek_buf_str(&out),
                     "Keeps a control plane on an even keel.\n\nUsage:\n"
                     "  evenkeel COMMAND [flags]\n\nCommands:\n"
                     "  check     Report once.\n"
                     "  version   Print the version.\n\n"
                     "Use \"evenkeel COMMAND --help\" for the flags of a command.\n");
    for (const char *line = ek_buf_str(&out); line; line = strchr(line, '\n')) {
        line += *line == '\n';
        ck_assert_uint_le(strcspn(line, "\n"), 80);
        if (!*line)
            break;
    }
}
END_TEST

/* Each item of a list is one of the choices, where there are any. */
START_TEST(choices_of_lists)
{
    static const struct ek_flag these[] = {{.name = "kind",
                                            .type = EK_FLAG_STRINGS,
                                            .offset = offsetof(struct options, hosts),
                                            .help = "Kinds",
                                            .choices = {"one", "two"}}};
    static const struct ek_flag_group group = {"Flags", these, EK_ARRAY_SIZE(these)};
    static const struct ek_flag_group *const all[] = {&group};
    static const struct ek_command command = {.name = "do", .groups = all, .n_groups = 1};
    static const struct {
        const char *value, *error;
        size_t n;
    } rows[] = {
        {"--kind=one", "", 1},
        {"--kind=two,one", "", 2},
        {"--kind=one,three", "invalid value \"three\" for --kind: use one, two", 1},
        {"--kind=on", "invalid value \"on\" for --kind: use one, two", 0},
        {"--kind=", "invalid value \"\" for --kind: use one, two", 0},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        char *argv[] = {(char *)(uintptr_t)rows[i].value};
        struct ek_flags_result result = {0};
        struct options options = {0};
        struct ek_err err = {0};
        int rc = ek_flags_parse(&command, 1, argv, &options, &result, &err);
        ck_assert_msg(!rc == !*rows[i].error && !strcmp(err.message, rows[i].error), "%s: %s",
                      rows[i].value, err.message);
        ck_assert_uint_eq(options.hosts.n, rows[i].n);
        ek_flags_done(&command, &options, &result);
    }
}
END_TEST

START_TEST(man)
{
    static const struct ek_flag these[] = {
        {.name = "old-name",
         .letter = 'n',
         .type = EK_FLAG_STRING,
         .help = "`file-name` of \\e",
         .choices = {"a", "b"}},
        {.name = "secret", .type = EK_FLAG_BOOL, .help = "Not shown.", .hidden = true},
    };
    static const struct ek_flag_group group = {"Input flags", these, EK_ARRAY_SIZE(these)};
    static const struct ek_flag_group *const all[] = {&group};
    static const struct ek_command command = {.name = "do-it",
                                              .usage = "[FILE...]",
                                              .summary = "Do it.",
                                              .text = "First.\n\n  one 'x'\n  .two\n\n.Last.",
                                              .groups = all,
                                              .n_groups = 1};
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 10000);
    ck_assert_int_eq(ek_flags_man(&program, "1.2", &command, &out), 0);
    ck_assert_str_eq(ek_buf_str(&out),
                     ".TH EVENKEEL\\-DO\\-IT 1 \"\" \"evenkeel 1.2\" \"User Commands\"\n.nh\n"
                     ".SH NAME\nevenkeel\\-do\\-it \\- Do it.\n"
                     ".SH SYNOPSIS\n\\fBevenkeel\\fR \\fBdo\\-it\\fR [\\fIflags\\fR] [FILE...]\n"
                     ".SH DESCRIPTION\nFirst.\n.PP\n.RS 4\n.EX\none 'x'\n\\&.two\n.EE\n.RE\n"
                     ".PP\n\\&.Last.\n"
                     ".SH INPUT FLAGS\n.TP\n\\fB\\-n\\fR, \\fB\\-\\-old\\-name\\fR "
                     "\\fIfile\\-name\\fR\nfile\\-name of \\ee: one of a, b\n"
                     ".SH SEE ALSO\n.BR evenkeel (1)\n");
    ek_buf_reset(&out);
    ck_assert_int_eq(ek_flags_program_man(&program, "1.2", &out), 0);
    ck_assert_str_eq(
        ek_buf_str(&out),
        ".TH EVENKEEL 1 \"\" \"evenkeel 1.2\" \"User Commands\"\n.nh\n"
        ".SH NAME\nevenkeel \\- Keeps a control plane on an even keel.\n"
        ".SH SYNOPSIS\n\\fBevenkeel\\fR \\fICOMMAND\\fR [\\fIflags\\fR]\n.SH COMMANDS\n"
        ".TP\n.BR evenkeel\\-check (1)\nReport once.\n"
        ".TP\n.BR evenkeel\\-version (1)\nPrint the version.\n");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("flags");

    tcase_add_test(tc, good);
    tcase_add_test(tc, bad);
    tcase_add_test(tc, command_names);
    tcase_add_test(tc, choices_of_lists);
    tcase_add_test(tc, distance);
    tcase_add_test(tc, help);
    tcase_add_test(tc, man);
    return ek_test_run("flags", tc);
}
