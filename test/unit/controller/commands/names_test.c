/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are no names, in what plan, check, rehearse and debug print: they stay in their line,
 * and no terminal, reader of YAML or CI system takes them for more. */
#include <stdio.h>
#include <string.h>

#include "api/base/quote.h"
#include "api/obj.h"
#include "controller/commands/debug_report.h"
#include "controller/commands/rehearse-internal.h"
#include "informers/client/file.h"
#include "test/support/command.h"
#include "test/support/suite.h"
#include "test/support/testdir.h"

#define OUTPUT_MAX ((size_t)4 << 20)

/* In JSON. */
#define HOSTILE                                                                                    \
    "w\\n---\\nkind: Secret\\n#\\r\\u001b[31m\\u0085kind: "                                        \
    "Secret\\u2028\\n::error::n\\n##[error]n\\n##vso[x]n"
/* What one line of a terminal may have. */
#define COMMANDS "::error::x ##[error]n ##vso[x]n"
#define FILE_OF  "x\x1b[31m\nkind: Secret\n::error::##[error].json"

static char folder[TESTDIR_SIZE];

static const struct {
    const char *name, *text;
} files[] = {
    {"f/" FILE_OF,
     "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": ["
     "{\"apiVersion\": \"networking.k8s.io/v1beta1\", \"kind\": \"ServiceCIDR\", \"metadata\": "
     "{\"name\": \"" HOSTILE "\", \"namespace\": \"" HOSTILE "\"}},"
     "{\"apiVersion\": \"::error::" HOSTILE "\", \"kind\": \"::error::" HOSTILE "\"},"
     "{\"apiVersion\": \"apps/" HOSTILE "\", \"kind\": \"Deployment\"},"
     "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"" HOSTILE "\"}, "
     "\"spec\": {\"workloadRef\": {}, \"containers\": [{\"command\": [\"kube-apiserver\", "
     "\"--feature-gates=" HOSTILE "=true\", \"--runtime-config=" HOSTILE "=true\", \"--" HOSTILE
     "\"]}]}},"
     "{\"apiVersion\": \"admissionregistration.k8s.io/v1\", \"kind\": "
     "\"ValidatingAdmissionPolicy\", \"metadata\": {\"name\": \"" HOSTILE "\"}, \"spec\": "
     "{\"paramKind\": {\"apiVersion\": \"" HOSTILE "\", \"kind\": \"" HOSTILE
     "\"}, \"validations\": [{\"expression\": \"" HOSTILE "\"}]}}]}"},
    {"bad/" FILE_OF, "{\"" HOSTILE "\": ["},
    {"r/index.json",
     "[{\"path\":\"/api/v1/nodes\",\"status\":200,\"file\":\"nodes.json\"},{\"path\":"
     "\"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices\",\"status\":200,\"file\":"
     "\"slices.json\"}]"},
    {"r/peers.json",
     "{\"apiservers\":[{\"hostname\":\"##[error]cp\",\"address\":\"10.0.0.1:6443\"}]"
     ",\"components\":[]}"},
    {"r/slices.json",
     "{\"items\":[{\"metadata\":{\"name\":\"kubernetes\",\"namespace\":\"default\",\"labels\":{"
     "\"kubernetes.io/service-name\":\"kubernetes\"}},\"ports\":[{\"port\":6443}],\"endpoints\":["
     "{\"addresses\":[\"10.0.0.1\"]}]}]}"},
    {"r/nodes.json",
     "{\"items\":[{\"metadata\":{\"name\":\"##[error]n\"},\"status\":{\"nodeInfo\":{"
     "\"kubeletVersion\":\"v1.40.0\"}}},{\"metadata\":{\"name\":\"" HOSTILE
     "\"},\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"" HOSTILE "\"}}}]}"},
    {"r/peers/##[error]cp/index.json",
     "[{\"path\":\"/version\",\"status\":200,\"file\":\"version.json\"}]"},
    {"r/peers/##[error]cp/version.json",
     "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\",\"emulationMajor\":\"1\","
     "\"emulationMinor\":\"36\",\"minCompatibilityMajor\":\"1\",\"minCompatibilityMinor\":\"35\"}"},
};

static void set_up(void)
{
    testdir_make(folder);
    for (size_t i = 0; i < EK_ARRAY_SIZE(files); i++)
        testdir_put(folder, files[i].name, files[i].text, 0600);
}

static void tear_down(void)
{
    testdir_remove(folder);
}

/* data: JSON and YAML, in which characters of texts may stand for themselves. */
static void expect_plain(const char *name, const char *text, bool data)
{
    bool start = true; /* of a line, but for blanks */
    size_t taken = 1;

    for (const char *p = text; *p; p += taken) {
        struct ek_str rest = ek_str_from(p);
        char escaped[EK_QUOTE_ESCAPE_SIZE];
        taken = 1;
        if (*p == '\n') {
            start = true;
            ck_assert_msg(data || strncmp(p + 1, "kind:", 5) != 0, "%s: %.40s", name, p);
            continue;
        }
        bool prints = *p == '"' || *p == '\\' || !ek_quote_escape(rest, escaped, &taken);
        ck_assert_msg(prints || (data && (unsigned char)*p >= 0x80), "%s: octet %u at %.40s", name,
                      (unsigned char)*p, p);
        ck_assert_msg(data || !start || strncmp(p, "::", 2) != 0, "%s: %.40s", name, p);
        ck_assert_msg(data || strncmp(p, "##[", 3) != 0, "%s: %.40s", name, p);
        ck_assert_msg(data || strncmp(p, "##vso[", 6) != 0, "%s: %.40s", name, p);
        start = start && (*p == ' ');
    }
}

static const struct {
    const char *name, *command;
    const char *args[COMMAND_ARGS_MAX];
    int code;
    bool data, silent; /* the output is data; there is none */
} rows[] = {
    {"plan", "plan", {"--to=1.36", "--from=1.35", "-f", "@/f"}, 2, false, false},
    {"plan in Markdown",
     "plan",
     {"--to=1.36", "--from=1.35", "-f", "@/f", "-o", "markdown"},
     2,
     false,
     false},
    {"plan in YAML", "plan", {"--to=1.36", "-f", "@/f", "-o", "yaml"}, 2, true, false},
    {"plan in JSON", "plan", {"--to=1.36", "-f", "@/f", "-o", "json"}, 2, true, false},
    {"plan in SARIF", "plan", {"--to=1.36", "-f", "@/f", "-o", "sarif"}, 2, true, false},
    {"a plan of what cannot be read", "plan", {"--to=1.36", "-f", "@/bad"}, 1, false, true},
    {"a plan of a version", "plan", {"--to=" COMMANDS, "-f", "@/f"}, 1, false, true},
    {"a plan of a recording", "plan", {"--to=1.37", "--recording=@/r"}, 3, false, false},
    {"check", "check", {"--from=@/r"}, 2, false, false},
    {"check in YAML", "check", {"--from=@/r", "-o", "yaml"}, 2, true, false},
    {"a check of nothing", "check", {"--from=@/" COMMANDS}, 1, false, true},
    {"a rehearsal of a version", "rehearse", {"--from=" COMMANDS}, 1, false, true},
    {"a rehearsal of nothing",
     "rehearse",
     {"--snapshot=@/" COMMANDS, "--kube-apiserver=@/" COMMANDS},
     1,
     false,
     true},
    {"debug of nothing", "debug", {"--debug-socket=" COMMANDS}, 1, false, true},
};

START_TEST(commands)
{
    static const char *const streams[] = {"out", "err"};
    int code = command_run(folder, rows[_i].command, rows[_i].args);

    for (size_t i = 0; i < EK_ARRAY_SIZE(streams); i++) {
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, streams[i]);
        EK_AUTOFREE char *text = NULL;
        ck_assert_int_eq(ek_file_read(path, OUTPUT_MAX, &text, NULL, NULL), 0);
        ck_assert_msg(i || !*text == rows[_i].silent, "%s: %.200s", rows[_i].name, text);
        expect_plain(rows[_i].name, text, rows[_i].data && !i);
    }
    ck_assert_msg(code == rows[_i].code, "%s: exit code %d", rows[_i].name, code);
}
END_TEST

START_TEST(a_rehearsal)
{
    static struct ek_rehearse_refused refused = {COMMANDS "\x1b[2J", COMMANDS, true};
    static const char *log[] = {COMMANDS, "\x1b[2J" COMMANDS, "  " COMMANDS};
    struct ek_rehearse_result result = {.arena = ek_arena_new((size_t)1 << 24),
                                        .binary = COMMANDS,
                                        .old_binary = "",
                                        .not_isolated = COMMANDS,
                                        .left = "",
                                        .n_steps = 1};
    struct ek_buf out;

    result.report.arena = result.arena;
    result.steps[0] = (struct ek_rehearse_outcome){
        .failure = COMMANDS, .refused = &refused, .n_refused = 1, .log = log, .n_log = 3};
    snprintf(result.copied.server, sizeof result.copied.server, COMMANDS);
    ek_rehearse_report_add(&result.report, 0, EK_REHEARSE_ERROR, "undecodable",
                           "v1 pods w\nkind: Secret\n" COMMANDS, "a\x1b[31m\n" COMMANDS);
    yyjson_doc *doc = ek_rehearse_document(&result);
    ek_buf_init(&out, OUTPUT_MAX);
    ck_assert_int_eq(ek_rehearse_table(NULL, yyjson_doc_get_root(doc), false, &out), 0);
    expect_plain("rehearse", ek_buf_str(&out), false);
    ek_buf_done(&out);
    yyjson_doc_free(doc);
    ek_rehearse_result_done(&result);
}
END_TEST

#define NAMED "\"name\":\"" HOSTILE "\""

START_TEST(a_report_of_debug)
{
    static const char answer[] =
        "{\"time\":\"2026-11-20T10:00:00Z\",\"manager\":{\"phase\":\"" HOSTILE
        "\",\"parts\":[{" NAMED ",\"state\":\"not "
        "ready\"}]},\"leader\":{\"election\":true,\"leads\":false,\"holder\":\"" HOSTILE
        "\",\"failures\":3,\"lastFailure\":{\"message\":\"" HOSTILE
        "\"},\"lastFailureTime\":\"2026-11-20T09:59:55Z\"},\"subjects\":{\"" HOSTILE
        "\":{\"" HOSTILE "\":\"" HOSTILE "\"}}}";
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(answer, sizeof answer - 1, &err);
    struct ek_buf out;

    ck_assert_msg(doc != NULL, "%s", err.message);
    ek_buf_init(&out, OUTPUT_MAX);
    ck_assert_uint_gt(ek_debug_findings(yyjson_doc_get_root(doc), &out), 0);
    ck_assert_int_eq(ek_debug_report(yyjson_doc_get_root(doc), NULL, true, false, &out), 0);
    expect_plain("debug", ek_buf_str(&out), false);
    ek_buf_done(&out);
    yyjson_doc_free(doc);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("names");

    tcase_add_checked_fixture(tcase, set_up, tear_down);
    tcase_add_loop_test(tcase, commands, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, a_rehearsal);
    tcase_add_test(tcase, a_report_of_debug);
    return ek_test_run("names", tcase);
}
