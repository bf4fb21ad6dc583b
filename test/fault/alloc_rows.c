/* SPDX-License-Identifier: Apache-2.0 */
#include "test/fault/alloc_rows.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "api/cel/cel.h"
#include "api/promtext.h"
#include "api/yaml.h"
#include "controller/cli/print.h"
#include "controller/election/lease.h"
#include "controller/skew/report.h"
#include "controller/telemetry/metrics.h"
#include "informers/cache/framer.h"
#include "informers/cache/recording.h"
#include "informers/client/exec_credential.h"
#include "informers/client/file.h"
#include "informers/probe/session.h"
#include "test/support/gates_case.h"
#include "test/support/json_text.h"
#include "test/support/list_text.h"
#include "test/support/mutation_world.h"

#define LARGE ((size_t)64 * 1024 * 1024) /* buffers that are allowed to fail */

#define LEASE(name)                                                                                \
    "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"kube-system\",\"resourceVersion\":"      \
    "\"7\",\"labels\":{\"a\":\"b\"},\"annotations\":{"                                             \
    "\"kubectl.kubernetes.io/last-applied-configuration\":\"{}\",\"x\":\"y\"},"                    \
    "\"managedFields\":[{\"manager\":\"m\"}]},\"spec\":{\"holderIdentity\":\"h\","                 \
    "\"leaseDurationSeconds\":15}}"
#define LIST                                                                                       \
    "{\"kind\":\"LeaseList\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"             \
    "\"resourceVersion\":\"8\",\"continue\":\"c\"},\"items\":[" LEASE("a") "," LEASE("b") "]}"
#define GROUPS                                                                                     \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":[{"   \
    "\"metadata\":{\"name\":\"apps\"},\"versions\":[{\"version\":\"v1\",\"resources\":[{"          \
    "\"resource\":\"deployments\",\"responseKind\":{},\"subresources\":[{\"subresource\":"         \
    "\"scale\"}]}]}]}]}"
#define METRICS                                                                                    \
    "version_info{binary=\"1.36.2\",component=\"kube\",emulation=\"1.34\"} 1\n"                    \
    "kubernetes_feature_enabled{name=\"B\",stage=\"BETA\"} 1\n"                                    \
    "kubernetes_feature_enabled{name=\"A\",stage=\"\"} 0\n"
#define YAML                                                                                       \
    "base: &base {a: 1, b: [x, 'y', 2.5, null]}\n"                                                 \
    "other:\n  <<: *base\n  c: *base\n  text: |\n    two\n    lines\n"                             \
    "list:\n- 1\n- {d: e}\n- [f, g]\n1: key\n"

static const struct ek_decode_type lease_type = {"coordination.k8s.io/v1", "Lease", false};

void alloc_result_done(struct alloc_result *r)
{
    ek_obj_unref(r->obj);
    yyjson_doc_free(r->doc);
    ek_discovery_free(r->discovery);
    ek_selector_free(r->selector);
    ek_list_page_done(&r->page);
    ek_probe_unref(r->probe);
    ek_client_config_free(r->config);
    ek_free(r->text);
    *r = (struct alloc_result){0};
}

static void show_json(yyjson_val *value, struct ek_buf *out)
{
    char *json = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, NULL);
    ck_assert_ptr_nonnull(json);
    ek_buf_printf(out, "%s\n", json);
    free(json);
}

static void show_discovery(const struct ek_discovery *set, struct ek_buf *out)
{
    size_t n = 0;
    const struct ek_discovery_entry *e = set ? ek_discovery_entries(set, &n) : NULL;

    for (size_t i = 0; i < n; i++)
        ek_buf_printf(out, "%s/%s/%s\n", e[i].group, e[i].version, e[i].resource);
}

static void show_probe(const struct ek_probe *probe, struct ek_buf *out)
{
    char text[EK_MINOR_SIZE];

    ek_buf_printf(out, "%s %s %d %s\n", probe->git_version, ek_minor_format(probe->openapi, text),
                  probe->ready, probe->info_binary);
    for (size_t i = 0; i < probe->n_gates; i++)
        ek_buf_printf(out, "%s=%d\n", probe->gates[i].name, probe->gates[i].enabled);
    show_discovery(probe->discovery, out);
}

void alloc_result_show(const struct alloc_result *r, struct ek_buf *out)
{
    if (r->obj)
        show_json(ek_obj_root(r->obj), out);
    if (r->doc)
        show_json(yyjson_doc_get_root(r->doc), out);
    show_discovery(r->discovery, out);
    if (r->selector)
        ck_assert_int_eq(ek_selector_format(r->selector, out), 0);
    if (r->page.resource_version)
        ek_buf_printf(out, "%s %s\n", r->page.resource_version, r->page.next);
    for (size_t i = 0; i < r->page.n; i++)
        show_json(ek_obj_root(r->page.items[i]), out);
    if (r->probe)
        show_probe(r->probe, out);
    if (r->config)
        ek_buf_printf(out, "%s %s %s\n", r->config->server, r->config->context,
                      r->config->exec ? r->config->exec->cluster_config : "");
    ek_buf_puts(out, r->text ? r->text : "");
}

static int no_memory(struct ek_err *err)
{
    return ek_err_set(err, EK_E_NOMEM, "no memory");
}

static int parse_object(struct alloc_result *r, struct ek_err *err)
{
    return ek_obj_parse(LEASE("a"), sizeof LEASE("a") - 1, &r->obj, err);
}

static int slim_object(struct alloc_result *r, struct ek_err *err)
{
    yyjson_doc *doc = ek_json_parse(LEASE("a"), sizeof LEASE("a") - 1, err);

    if (!doc)
        return err->code;
    r->obj = ek_obj_from_item(yyjson_doc_get_root(doc), "coordination.k8s.io/v1", "Lease");
    yyjson_doc_free(doc);
    return r->obj ? 0 : no_memory(err);
}

static int write_object(struct alloc_result *r, struct ek_err *err)
{
    int rc = parse_object(r, err);
    size_t len;

    if (rc)
        return rc;
    r->text = test_json_text(r->obj, &len);
    return r->text ? 0 : no_memory(err);
}

static int parse_yaml(struct alloc_result *r, struct ek_err *err)
{
    return ek_yaml_parse(YAML, sizeof YAML - 1, LARGE, &r->doc, err);
}

static int parse_yaml_stream(struct alloc_result *r, struct ek_err *err)
{
    static const char text[] = YAML "---\n---\nsecond: [1]\n...\n";
    return ek_yaml_parse_all(text, sizeof text - 1, LARGE, &r->doc, err);
}

static int write_yaml(struct alloc_result *r, struct ek_err *err)
{
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, LARGE);
    int rc = parse_yaml(r, err);
    if (!rc)
        rc = ek_yaml_write(&out, yyjson_doc_get_root(r->doc), err);
    if (!rc)
        r->text = ek_buf_steal(&out);
    return rc;
}

static int decode_page(struct alloc_result *r, struct ek_err *err)
{
    return list_text_read(LIST, sizeof LIST - 1, &lease_type, &r->page, err);
}

/* A stream that is cut everywhere: frames are gathered, then decoded. */
static int decode_stream(struct alloc_result *r, struct ek_err *err)
{
    static const char stream[] = "{\"type\":\"ADDED\",\"object\":" LEASE(
        "a") "}\n"
             "{\"type\":\"BOOKMARK\",\"object\":" LEASE("b") "}\n";
    EK_AUTO(ek_framer) framer;
    struct ek_watch_frame frame;
    struct ek_str text;
    int rc = 0;

    ek_framer_init(&framer, LARGE);
    for (size_t at = 0; at < sizeof stream - 1 && rc >= 0; at++) {
        ek_framer_push(&framer, stream + at, 1);
        while ((rc = ek_framer_next(&framer, &text, err)) == 1) {
            rc = ek_decode_watch_frame(text.p, text.len, &lease_type, &frame, err);
            if (rc)
                return rc;
            ek_obj_unref(r->obj);
            r->obj = ek_obj_ref(frame.obj);
            ek_watch_frame_done(&frame);
        }
    }
    return rc;
}

static int read_discovery(struct alloc_result *r, struct ek_err *err)
{
    static const char legacy[] = "{\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"pods\"}]}";
    yyjson_doc *doc = ek_json_parse(GROUPS, sizeof GROUPS - 1, err);

    if (!doc)
        return err->code;
    r->discovery = ek_discovery_new();
    int rc = ek_discovery_add_aggregated(r->discovery, yyjson_doc_get_root(doc), NULL, err);
    yyjson_doc_free(doc);
    doc = rc ? NULL : ek_json_parse(legacy, sizeof legacy - 1, err);
    if (!doc)
        return err->code;
    rc = ek_discovery_add_resource_list(r->discovery, yyjson_doc_get_root(doc), err);
    yyjson_doc_free(doc);
    ek_discovery_seal(r->discovery);
    return rc;
}

static int parse_selector(struct alloc_result *r, struct ek_err *err)
{
    return ek_selector_parse("a=b,c!=d,e in (x,y),f notin (z),g,!h", &r->selector, err);
}

static int read_selector(struct alloc_result *r, struct ek_err *err)
{
    static const char text[] =
        "{\"matchLabels\":{\"a\":\"b\"},\"matchExpressions\":[{\"key\":\"k\",\"operator\":\"In\","
        "\"values\":[\"x\",\"y\"]}]}";
    yyjson_doc *doc = ek_json_parse(text, sizeof text - 1, err);

    if (!doc)
        return err->code;
    int rc = ek_selector_from_json(yyjson_doc_get_root(doc), &r->selector, err);
    yyjson_doc_free(doc);
    return rc;
}

static int parse_kubeconfig(struct alloc_result *r, struct ek_err *err)
{
    static const char text[] =
        "clusters:\n- name: c\n  cluster:\n    server: https://a:6443\n    extensions:\n"
        "    - name: client.authentication.k8s.io/exec\n      extension: {audience: x}\n"
        "users:\n- name: u\n  user:\n    exec:\n      command: plugin\n"
        "      apiVersion: client.authentication.k8s.io/v1\n      interactiveMode: Never\n"
        "      provideClusterInfo: true\n"
        "contexts:\n- name: main\n  context: {cluster: c, user: u}\ncurrent-context: main\n";
    int rc = ek_kubeconfig_parse(text, sizeof text - 1, "/k/config", NULL, &r->config, err);

    if (!rc)
        r->text = ek_exec_info_format(r->config, NULL);
    return rc;
}

static int parse_credential(struct alloc_result *r, struct ek_err *err)
{
    static const char text[] = "{\"kind\":\"ExecCredential\",\"apiVersion\":\"v1\",\"status\":{"
                               "\"token\":\"t\",\"expirationTimestamp\":\"2026-11-20T10:00:00Z\"}}";
    struct ek_exec_credential credential = {.expires_ms = EK_TIME_UNSET};
    int rc = ek_exec_credential_parse(text, sizeof text - 1, "v1", &credential, err);

    if (!rc)
        r->text = ek_xasprintf("%s %lld", credential.token, (long long)credential.expires_ms);
    ek_exec_credential_done(&credential);
    return rc;
}

/* The probe's first answer that failed for lack of memory. */
static int probe_error(const struct ek_probe *probe, struct ek_err *err)
{
    const struct ek_probe_answer *const answers[] = {
        &probe->version_answer, &probe->ready_answer,     &probe->openapi_answer,
        &probe->metrics_answer, &probe->discovery_answer,
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(answers); i++) {
        if (answers[i]->error.code == EK_E_NOMEM) {
            *err = answers[i]->error;
            return err->code;
        }
    }
    return 0;
}

static const char *body_of(const char *path)
{
    static const struct {
        const char *path, *body;
    } bodies[] = {
        {"/version", "{\"major\":\"1\",\"minor\":\"36\",\"gitVersion\":\"v1.36.2\"}"},
        {"/api", "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"},
        {"/api/v1", "{\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"pods\"}]}"},
        {"/apis", GROUPS},
        {"/openapi/v3/version", "{\"info\":{\"version\":\"1.36\"}}"},
        {"/metrics", METRICS},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(bodies); i++)
        if (!strcmp(bodies[i].path, path))
            return bodies[i].body;
    return "ok";
}

static int run_session(struct alloc_result *r, struct ek_err *err)
{
    struct ek_probe_session *session = ek_probe_session_new("kube-apiserver", NULL, true, 0);
    struct ek_probe_question q;

    while (ek_probe_session_next(session, &q)) {
        struct ek_response resp = {.status = 200,
                                   .body = ek_str_from(body_of(q.path)),
                                   .content_type = "",
                                   .etag = "",
                                   .warning = ""};
        struct ek_err why = {0};
        if (q.stream && ek_probe_session_data(session, q.id, resp.body.p, resp.body.len))
            ek_err_set(&why, EK_E_NOMEM, "no memory");
        ek_probe_session_answer(session, q.id, &resp, why.code ? &why : NULL);
    }
    r->probe = ek_probe_session_finish(session);
    ek_probe_session_free(session);
    return probe_error(r->probe, err);
}

static int read_recording(struct alloc_result *r, struct ek_err *err)
{
    static const struct ek_resource leases = {.group = "coordination.k8s.io",
                                              .version = "v1",
                                              .resource = "leases",
                                              .kind = "Lease",
                                              .label_selector = "a=b"};
    struct ek_recording *recording = NULL;
    const char *address;

    int rc = ek_recording_open(EK_TEST_DATA "/recording", &recording, err);
    if (rc)
        return rc;
    rc = ek_recording_list(recording, &leases, &r->page.items, &r->page.n, err);
    r->probe = ek_recording_probe(recording, 0, 0, &address);
    ek_recording_close(recording);
    return rc ? rc : probe_error(r->probe, err);
}

static int read_file(struct alloc_result *r, struct ek_err *err)
{
    size_t len;
    return ek_file_read(EK_TEST_DATA "/recording/leases.json", LARGE, &r->text, &len, err);
}

static int grow_buffer(struct alloc_result *r, struct ek_err *err)
{
    EK_AUTO(ek_buf) buf;

    ek_buf_init(&buf, LARGE);
    for (int i = 0; i < 1000; i++) {
        ek_buf_printf(&buf, "%d ", i);
        ek_buf_puts(&buf, "and ");
        ek_buf_append(&buf, "more\n", 5);
    }
    if (buf.failed)
        return ek_err_set(err, buf.failed, "no memory");
    r->text = ek_buf_steal(&buf);
    return 0;
}

/* A lease goes through the election's reader and writer. */
static int rewrite_lease(struct alloc_result *r, struct ek_err *err)
{
    static const char text[] = "{\"kind\":\"Lease\",\"metadata\":{\"name\":\"l\","
                               "\"resourceVersion\":\"7\"},\"spec\":{\"holderIdentity\":\"h\"}}";
    struct ek_election_record record;
    size_t len;

    int rc = ek_obj_parse(text, sizeof text - 1, &r->obj, err);
    if (!rc)
        rc = ek_election_lease_read(r->obj, &record, err);
    if (rc)
        return rc;
    r->text = ek_election_lease_write(r->obj, "kube-system", "l", &record, &len);
    return r->text ? 0 : no_memory(err);
}

static int report(const char *format, struct alloc_result *r, struct ek_err *err)
{
    static const char text[] =
        "{\"kind\":\"ControlPlane\",\"status\":{\"summary\":{\"verdict\":\"Supported\"},\"peers\":["
        "{\"name\":\"cp-a\",\"version\":\"v1.36.2\",\"reachable\":true}],\"nodes\":[{"
        "\"component\":\"kubelet\",\"version\":\"v1.36.1\",\"count\":2,\"names\":[\"a\",\"b\"]}],"
        "\"differences\":{\"featureGates\":[{\"name\":\"X\",\"enabledBy\":[\"cp-a\"]}]},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"R\"}]}}";
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, LARGE);
    int rc = ek_obj_parse(text, sizeof text - 1, &r->obj, err);
    if (rc)
        return rc;
    rc = ek_print_render(format, ek_obj_root(r->obj), false, ek_skew_report_tables, NULL, &out);
    if (!rc)
        r->text = ek_buf_steal(&out);
    return rc;
}

static int report_table(struct alloc_result *r, struct ek_err *err)
{
    return report("table", r, err);
}

static int report_json(struct alloc_result *r, struct ek_err *err)
{
    return report("json", r, err);
}

static int report_yaml(struct alloc_result *r, struct ek_err *err)
{
    return report("yaml", r, err);
}

static int expose_metrics(struct alloc_result *r, struct ek_err *err)
{
    static const double buckets[] = {0.1, 1, 10};
    EK_AUTOPTR(ek_metrics, ek_metrics_free) *metrics = ek_metrics_new();
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, LARGE);
    struct ek_metric_family *family =
        ek_metrics_register(metrics, &(struct ek_metric_desc){.name = "a_seconds",
                                                              .help = "A.",
                                                              .type = EK_METRIC_HISTOGRAM,
                                                              .labels = {"x"},
                                                              .buckets = buckets,
                                                              .n_buckets = 3});
    ek_metric_observe(ek_metric_with(family, "y\"\n", NULL), 2);
    int rc = ek_metrics_write(metrics, EK_METRICS_TEXT, &out);
    if (rc)
        return ek_err_set(err, rc, "no memory");
    r->text = ek_buf_steal(&out);
    return 0;
}

static int evaluate_cel(const struct ek_cel_program *program, struct alloc_result *r,
                        struct ek_err *err)
{
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    struct ek_cel_result result;
    struct ek_buf out;
    const struct ek_cel_val vars[] = {ek_cel_int(3)};

    ek_buf_init(&out, LARGE);
    bool ok = ek_cel_eval(program, vars, arena, &(struct ek_cel_limits){0}, &result);
    ck_assert(ok || result.value.fault->kind == EK_CEL_E_MEMORY);
    int rc = ok ? ek_cel_format(&result.value, &out) : EK_E_NOMEM;
    ek_arena_free(arena);
    r->text = ek_buf_steal(&out);
    return rc ? no_memory(err) : 0;
}

/* Compiled in an environment of its own, with a regular expression of the text and one made. */
static int run_cel(struct alloc_result *r, struct ek_err *err)
{
    static const char text[] = "[n, 2, 3].map(x, 'a' + string(x)).filter(s, s.matches('^a[0-9]$') "
                               "&& s.matches(s + '|b')).map(s, {s: s + s})";
    struct ek_cel_env *env = ek_cel_env_new(&(struct ek_cel_env_options){0}, NULL);
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_program *program = NULL;

    if (env && ek_cel_env_declare(env, "n", "int", NULL) >= 0)
        program = ek_cel_compile(env, text, sizeof text - 1, NULL, &issues);
    /* A compilation cannot tell the end of its memory from the end of its bound. */
    for (size_t i = 0; i < issues.len; i++)
        ck_assert_msg(issues.list[i].kind == EK_CEL_E_MEMORY ||
                          issues.list[i].kind == EK_CEL_E_LIMIT,
                      "%s", issues.list[i].message);
    int rc = program ? evaluate_cel(program, r, err) : no_memory(err);
    ek_cel_program_unref(program);
    ek_cel_env_unref(env);
    return rc;
}

/* A request through two policies of a small world, which is made beforehand. */
static int mutate_object(struct alloc_result *r, struct ek_err *err)
{
    static struct test_mutation_world world;
    static struct ek_admission_request request;
    struct ek_mutation_outcome outcome;
    struct ek_arena *arena = ek_arena_new((size_t)1 << 22);

    if (!world.set.n) { /* aborts without memory, as compiling policies does */
        test_mutation_open(&world);
        test_mutation_apply(&world, "label",
                            "Object{metadata: Object.metadata{labels: {`a`: object.data.n}}}");
        test_mutation_add(&world, "patch",
                          "'variables':[{'name':'n','expression':'object.data.n + `x`'}],"
                          "'mutations':[{'patchType':'JSONPatch','jsonPatch':{'expression':"
                          "'[JSONPatch{op: `add`, path: `/data/m`, value: variables.n}]'}}]",
                          "");
        test_mutation_request("", &request);
    }
    int rc = ek_engine_run(&world.set, &request, &world.world, &(struct ek_engine_options){0},
                           arena, &outcome);
    ek_arena_free(arena);
    if (rc) /* an arena does not tell the end of memory from that of its bound */
        return no_memory(err);
    r->doc = outcome.result;
    outcome.result = NULL;
    ek_mutation_outcome_done(&outcome);
    return 0;
}

/* A write whose fields are dropped, frozen and put back, decided anew. */
static int decide_gates(struct alloc_result *r, struct ek_err *err)
{
    static struct test_gates_write world;
    struct ek_gates_outcome outcome;
    struct ek_arena *arena = ek_arena_new((size_t)1 << 20);
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);

    if (!world.gates) /* reading definitions aborts without memory */
        test_gates_open(&world, &(struct test_gates_case){
                                    .spec = "{featureGates: [{name: A, preRelease: alpha, "
                                            "fieldPaths: [.spec.a, .spec.b, .spec.c.d]}]}",
                                    .old = "{spec: {a: 1, b: [1, 2, 3, 4, 5], c: {d: {e: [6]}}}}",
                                    .new = "{spec: {a: 2, f: 5}}"});
    int rc = doc ? ek_gates_decide(world.gates, &world.shape, &world.request, arena, NULL, doc,
                                   &outcome, err)
                 : no_memory(err);
    if (!rc && !(r->doc = yyjson_mut_val_imut_copy(outcome.patch, &ek_json_alc)))
        rc = no_memory(err);
    yyjson_mut_doc_free(doc);
    ek_arena_free(arena);
    return rc;
}

const struct alloc_row alloc_rows[] = {
    {"parse an object", parse_object, 3},
    {"slim an object", slim_object, 3},
    {"write an object", write_object, 4},
    {"parse YAML", parse_yaml, 8},
    {"parse several YAML documents", parse_yaml_stream, 8},
    {"write YAML", write_yaml, 9},
    {"decode a list page", decode_page, 5},
    {"decode a watch stream", decode_stream, 10},
    {"read discovery", read_discovery, 4},
    {"parse a selector", parse_selector, 0},
    {"read a selector object", read_selector, 2},
    {"parse a kubeconfig", parse_kubeconfig, 8},
    {"parse a plugin's credential", parse_credential, 2},
    {"run a probe session", run_session, 10},
    {"read a recording", read_recording, 19},
    {"read a file", read_file, 1},
    {"grow a buffer", grow_buffer, 5},
    {"read and write a lease", rewrite_lease, 3},
    {"report as a table", report_table, 4},
    {"report as JSON", report_json, 4},
    {"report as YAML", report_yaml, 4},
    {"expose metrics", expose_metrics, 1},
    {"compile and evaluate CEL", run_cel, 8},
    {"mutate an object", mutate_object, 8},
    {"decide a gated write", decide_gates, 4},
};
const size_t alloc_n_rows = EK_ARRAY_SIZE(alloc_rows);
