/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/probe/session.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"

#define GROUPS(resource)                                                                           \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":[{"   \
    "\"metadata\":{\"name\":\"apps\"},\"versions\":[{\"version\":\"v1\",\"resources\":[{"          \
    "\"resource\":\"" resource "\",\"responseKind\":{}}]}]}]}"
#define CORE                                                                                       \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":[{"   \
    "\"metadata\":{},\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"pods\","     \
    "\"responseKind\":{}}]}]}]}"
#define VERSION(ev)                                                                                \
    "{\"major\":\"1\",\"minor\":\"36+\",\"gitVersion\":\"v1.36.2\",\"emulationMajor\":\"1\","      \
    "\"emulationMinor\":\"" ev "\"}"
#define DEPRECATED "apiserver_requested_deprecated_apis"
#define MANIFESTS  "apiserver_manifest_admission_config_controller_last_config_info"
#define METRICS                                                                                    \
    "version_info{binary=\"1.36.2\",component=\"kube\",emulation=\"1.34\",min_compat=\"1.33\"} "   \
    "1\n"                                                                                          \
    "version_info{binary=\"9.9.9\",component=\"wardle\",emulation=\"9.9\",min_compat=\"9.9\"} 1\n" \
    "kubernetes_feature_enabled{name=\"B\",stage=\"BETA\"} 1\n"                                    \
    "kubernetes_feature_enabled{name=\"A\",stage=\"\"} 0\n" DEPRECATED                             \
    "{group=\"networking.k8s.io\",version=\"v1beta1\",resource=\"servicecidrs\","                  \
    "subresource=\"status\",removed_release=\"1.37\"} 1\n" DEPRECATED                              \
    "{group=\"\",version=\"v1\",resource=\"endpoints\",subresource=\"\",removed_release=\"\"} 1"   \
    "\n" DEPRECATED "{group=\"apps\",version=\"v1beta1\",resource=\"off\"} 0\n" DEPRECATED         \
    "{group=\"a\\nb\",version=\"v1\",resource=\"lines\"} 1\n" DEPRECATED                           \
    "{group=\"apps\",version=\"v1\",resource=\"\"} 1\n" MANIFESTS                                  \
    "{plugin=\"V\",apiserver_id_hash=\"sha256:x\",hash=\"sha256:1\"} 1\n" MANIFESTS                \
    "{apiserver_id_hash=\"sha256:x\",hash=\"sha256:2\",plugin=\"M\"} 1\n" MANIFESTS                \
    "{plugin=\"Z\",hash=\"old\"} 0\n" MANIFESTS "{hash=\"nobody\"} 1\n"

/* One canned answer; status 0 means that the connection failed. */
struct canned {
    const char *path;
    int status;
    const char *body, *etag;
};

static const struct canned healthy[] = {
    {"/version", 200, VERSION("34"), ""},
    {"/readyz?verbose=1", 200, "[+]ping ok\n", ""},
    {"/api", 200, CORE, "\"C1\""},
    {"/apis", 200, GROUPS("deployments"), "\"G1\""},
    {"/openapi/v3/version", 200, "{\"info\":{\"version\":\"1.34\"}}", ""},
    {"/metrics", 200, METRICS, ""},
    {NULL, 0, NULL, NULL},
};

static const struct canned *find(const struct canned *table, const char *path)
{
    for (; table->path; table++)
        if (!strcmp(table->path, path))
            return table;
    return NULL;
}

static struct ek_buf asked; /* the paths of the last round, in order */
static bool asks_flagz;

/* Plays a round against a table of answers, in which a question with the answer's ETag gets a 304.
 */
static struct ek_probe *play(const char *component, const struct ek_probe *previous, bool full,
                             int64_t now_ms, const struct canned *answers)
{
    struct ek_probe_session *session = ek_probe_session_new(component, previous, full, now_ms);
    struct ek_probe_question q;

    ek_buf_reset(&asked);
    if (asks_flagz)
        ek_probe_session_ask_flagz(session);
    while (ek_probe_session_next(session, &q)) {
        const struct canned *c = find(answers, q.path);
        ek_buf_printf(&asked, "%s ", q.path);
        struct ek_response resp = {.content_type = "", .etag = "", .warning = ""};
        struct ek_err err = {0};
        if (!c || c->status == 0) {
            ek_err_set(&err, EK_E_REFUSED, "connection refused");
        } else if (q.etag && !strcmp(q.etag, c->etag)) {
            resp.status = 304;
        } else {
            resp.status = c->status;
            resp.etag = c->etag;
            resp.body = ek_str_from(c->body);
            if (c->status >= 400)
                ek_err_set(&err, ek_err_from_status(c->status, NULL), "HTTP %d", c->status);
            else if (q.stream)
                ck_assert_int_eq(ek_probe_session_data(session, q.id, c->body, strlen(c->body)), 0);
        }
        ek_probe_session_answer(session, q.id, &resp, err.code ? &err : NULL);
    }
    ck_assert(ek_probe_session_is_over(session));
    struct ek_probe *probe = ek_probe_session_finish(session);
    ek_probe_session_free(session);
    return probe;
}

static struct canned table[EK_ARRAY_SIZE(healthy)]; /* healthy, and what a test sets */

static void set_up(void)
{
    ek_buf_init(&asked, 4096);
    asks_flagz = false;
    memcpy(table, healthy, sizeof healthy);
}

static void tear_down(void)
{
    ek_buf_done(&asked);
}

static void set(const char *path, int status, const char *body, const char *etag)
{
    for (struct canned *at = table; at->path; at++)
        if (!strcmp(at->path, path))
            *at = (struct canned){path, status, body, etag};
}

/* What was requested, without what has another value or is no name. */
static void expect_uses(const struct ek_probe *probe)
{
    ck_assert_uint_eq(probe->n_uses, 2);
    ck_assert_str_eq(probe->uses[0].group, "networking.k8s.io");
    ck_assert_str_eq(probe->uses[0].version, "v1beta1");
    ck_assert_str_eq(probe->uses[0].resource, "servicecidrs");
    ck_assert_uint_eq(probe->uses[0].removed.minor, 37);
    ck_assert_str_eq(probe->uses[1].resource, "endpoints");
    ck_assert(!probe->uses[1].removed.known);
}

/* By plug-in, without what is not loaded any more. */
static void expect_manifests(const struct ek_probe *probe)
{
    ck_assert_uint_eq(probe->n_manifests, 2);
    ck_assert_str_eq(probe->manifests[0].plugin, "M");
    ck_assert_str_eq(probe->manifests[0].hash, "sha256:2");
    ck_assert_str_eq(probe->manifests[1].plugin, "V");
    ck_assert_str_eq(probe->manifests[1].hash, "sha256:1");
}

START_TEST(reads_a_healthy_server)
{
    EK_AUTOPTR(ek_probe, ek_probe_unref) *p = play("kube-apiserver", NULL, true, 1000, healthy);

    ck_assert_str_eq(ek_buf_str(&asked),
                     "/version /readyz?verbose=1 /api /apis /openapi/v3/version /metrics ");
    ck_assert_str_eq(p->git_version, "v1.36.2");
    ck_assert_uint_eq(p->binary.minor, 36);
    ck_assert_uint_eq(p->emulation.minor, 34);
    ck_assert(!p->min_compat.known);
    ck_assert(p->ready);
    ck_assert_uint_eq(p->openapi.minor, 34);
    ck_assert_str_eq(p->info_binary, "1.36.2");
    ck_assert_uint_eq(p->info_min_compat.minor, 33);
    ck_assert_uint_eq(p->n_gates, 2);
    ck_assert_str_eq(p->gates[0].name, "A");
    ck_assert(!p->gates[0].enabled);
    ck_assert_str_eq(p->gates[1].stage, "BETA");
    expect_uses(p);
    expect_manifests(p);
    ck_assert(ek_discovery_has(p->discovery, "", "v1", "pods"));
    ck_assert(ek_discovery_has(p->discovery, "apps", "v1", "deployments"));
    ck_assert_int_eq(p->reach.good_at_ms, 1000);
}
END_TEST

START_TEST(a_light_round_asks_little_and_keeps_the_rest)
{
    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, healthy);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, false, 2000, healthy);

    ck_assert_str_eq(ek_buf_str(&asked), "/version /readyz?verbose=1 /api /apis ");
    ck_assert_uint_eq(b->n_gates, 2);
    expect_uses(b);
    expect_manifests(b);
    ck_assert_int_eq(b->metrics_answer.good_at_ms, 1000);
    ck_assert_int_eq(b->discovery_answer.good_at_ms, 2000);
    ck_assert(ek_discovery_has(b->discovery, "apps", "v1", "deployments"));
    ck_assert_str_eq(b->apis_etag, "\"G1\"");
}
END_TEST

/* Without ETags every answer is 200; that alone is no change. */
/* What one row's question answers in the first round, and whether the next light one repeats it. */
static const struct {
    const char *name, *path;
    int status;
    const char *body;
    bool again;
} failed_rows[] = {
    {"openapi breaks", "/openapi/v3/version", 500, "", true},
    {"metrics break", "/metrics", 503, "", true},
    {"metrics are forbidden", "/metrics", 403, "", true},
    {"the connection is lost", "/metrics", 0, "", true},
    {"openapi is no JSON", "/openapi/v3/version", 200, "<html>", false},
    {"all is well", "/metrics", 200, METRICS, false},
};

START_TEST(what_failed_is_asked_again_in_a_light_round)
{
    const char *name = failed_rows[_i].name, *path = failed_rows[_i].path;
    set(path, failed_rows[_i].status, failed_rows[_i].body, "");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, table);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, false, 2000, healthy);
    ck_assert_msg((strstr(ek_buf_str(&asked), path) != NULL) == failed_rows[_i].again,
                  "%s: asked %s", name, ek_buf_str(&asked));
    EK_AUTOPTR(ek_probe, ek_probe_unref) *c = play("kube-apiserver", b, false, 3000, healthy);
    ck_assert_msg(strstr(ek_buf_str(&asked), path) == NULL, "%s: asked once too often", name);
    ck_assert_msg(c->metrics_answer.error.code == 0, "%s: metrics are not read", name);
}
END_TEST

START_TEST(who_was_away_is_asked_everything_when_it_is_back)
{
    static const struct canned nothing[] = {{NULL, 0, NULL, NULL}};
    EK_AUTOPTR(ek_probe, ek_probe_unref) *good = play("kube-apiserver", NULL, true, 1000, healthy);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *away = play("kube-apiserver", good, false, 2000, nothing);
    /* Four questions are enough to find that nobody answers. */
    ck_assert_str_eq(ek_buf_str(&asked), "/version /readyz?verbose=1 /api /apis ");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *back = play("kube-apiserver", away, false, 3000, healthy);
    ck_assert_str_eq(ek_buf_str(&asked),
                     "/version /readyz?verbose=1 /api /apis /openapi/v3/version /metrics ");
    ck_assert_int_eq(back->metrics_answer.good_at_ms, 3000);
}
END_TEST

START_TEST(a_server_without_tags_gets_light_rounds_too)
{
    set("/api", 200, CORE, "");
    set("/apis", 200, GROUPS("deployments"), "");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, table);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, false, 2000, table);
    ck_assert_str_eq(ek_buf_str(&asked), "/version /readyz?verbose=1 /api /apis ");
    ck_assert(ek_discovery_has(b->discovery, "apps", "v1", "deployments"));
}
END_TEST

START_TEST(another_version_makes_the_round_full)
{
    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, table);
    set("/version", 200, VERSION("35"), "");
    set("/openapi/v3/version", 200, "{\"info\":{\"version\":\"1.35\"}}", "");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, false, 2000, table);
    ck_assert_uint_eq(b->emulation.minor, 35);
    ck_assert_uint_eq(b->openapi.minor, 35);
    ck_assert_int_eq(b->metrics_answer.good_at_ms, 2000);
}
END_TEST

/* Two processes behind one address, or one that was restarted during a round. */
static const struct {
    const char *path, *body;
} misfits[] = {
    {"/openapi/v3/version", "{\"info\":{\"version\":\"1.35\"}}"},
    {"/metrics", "version_info{binary=\"1.36.2\",component=\"kube\",emulation=\"1.35\"} 1\n"},
};

START_TEST(what_does_not_fit_is_read_again)
{
    set(misfits[_i].path, 200, misfits[_i].body, "");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, table);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, false, 2000, healthy);
    ck_assert_int_eq(b->metrics_answer.good_at_ms, 2000);
    ck_assert_uint_eq(b->openapi.minor, 34);
    ck_assert_uint_eq(b->info_emulation.minor, 34);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *c = play("kube-apiserver", b, false, 3000, healthy);
    ck_assert_int_eq(c->metrics_answer.good_at_ms, 2000);
}
END_TEST

START_TEST(one_changed_document_keeps_the_other)
{
    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, table);
    set("/apis", 200, GROUPS("replicasets"), "\"G2\"");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, false, 2000, table);
    ck_assert(ek_discovery_has(b->discovery, "", "v1", "pods"));
    ck_assert(ek_discovery_has(b->discovery, "apps", "v1", "replicasets"));
    ck_assert(!ek_discovery_has(b->discovery, "apps", "v1", "deployments"));
    ck_assert_str_eq(b->apis_etag, "\"G2\"");
}
END_TEST

START_TEST(failures_keep_the_last_good_answers)
{
    static const struct canned dead[] = {{NULL, 0, NULL, NULL}};

    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, healthy);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, true, 2000, dead);
    ck_assert_int_eq(b->reach.error.code, EK_E_REFUSED);
    ck_assert_int_eq(b->reach.good_at_ms, 1000);
    ck_assert_int_eq(b->reach.tried_at_ms, 2000);
    ck_assert_str_eq(b->git_version, "v1.36.2");
    ck_assert_uint_eq(b->n_gates, 2);
    ck_assert_int_eq(b->discovery_answer.good_at_ms, 1000);
    ck_assert_int_eq(b->discovery_answer.error.code, EK_E_REFUSED);
    ck_assert(ek_discovery_has(b->discovery, "apps", "v1", "deployments"));
    ck_assert_str_eq(b->api_etag, "\"C1\"");
}
END_TEST

/* What is not answered anew when the server is back is of the process of before. */
START_TEST(failures_are_dated)
{
    static const struct canned dead[] = {{NULL, 0, NULL, NULL}};

    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, healthy);
    ck_assert_int_eq(a->metrics_answer.failing_at_ms, EK_TIME_UNSET);
    set("/metrics", 403, "", "");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, true, 2000, table);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *c = play("kube-apiserver", b, false, 3000, table);
    ck_assert_int_eq(c->metrics_answer.failing_at_ms, 2000);
    ck_assert_int_eq(c->openapi_answer.failing_at_ms, EK_TIME_UNSET);
    ck_assert(!c->metrics_answer.outdated);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *d = play("kube-apiserver", c, false, 4000, dead);
    ck_assert_int_eq(d->reach.failing_at_ms, 4000);
    ck_assert_int_eq(d->discovery_answer.failing_at_ms, 4000);
    ck_assert(!d->metrics_answer.outdated);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *e = play("kube-apiserver", d, false, 5000, table);
    ck_assert(e->metrics_answer.outdated);
    ck_assert(!e->version_answer.outdated && !e->openapi_answer.outdated);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *f = play("kube-apiserver", e, false, 6000, healthy);
    ck_assert(!f->metrics_answer.outdated);
    ck_assert_int_eq(f->metrics_answer.failing_at_ms, EK_TIME_UNSET);
}
END_TEST

/* The first resource of a document that is kept whole; "" without one. */
static const char *first_of(const struct ek_api_groups *document)
{
    const struct ek_api_list *list = &document->list;

    return list->n && list->groups[0].n && list->groups[0].versions[0].n
               ? list->groups[0].versions[0].resources[0].name
               : "";
}

/* A light round after a good one: which documents are those of before, and what /apis has. */
static const struct {
    const char *name, *path;
    int status;
    const char *body, *etag;
    bool same_core, same_groups;
    const char *groups;
} whole_rows[] = {
    {"nothing changed", "/readyz?verbose=1", 200, "ok", "", true, true, "deployments"},
    {"/apis changed", "/apis", 200, GROUPS("replicasets"), "\"G2\"", true, false, "replicasets"},
    {"/api changed", "/api", 200, CORE, "\"C2\"", false, true, "deployments"},
    {"/apis fails", "/apis", 503, "", "", true, true, "deployments"},
    {"/api fails", "/api", 0, "", "", true, true, "deployments"},
    {"/apis is of another type", "/apis", 200, "{\"kind\":\"Table\"}", "", true, true,
     "deployments"},
    {"/apis has a freshness that is no string", "/apis", 200,
     "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":[{"
     "\"metadata\":{\"name\":\"apps\"},\"versions\":[{\"version\":\"v1\",\"freshness\":1}]}]}",
     "\"G3\"", true, true, "deployments"},
};

START_TEST(keeps_documents_whole)
{
    const char *name = whole_rows[_i].name;
    EK_AUTOPTR(ek_probe, ek_probe_unref) *a = play("kube-apiserver", NULL, true, 1000, healthy);

    ck_assert_str_eq(first_of(a->core), "pods");
    ck_assert_str_eq(first_of(a->groups), "deployments");
    ck_assert_int_eq(a->groups->form, EK_DISCOVERY_V2);
    set(whole_rows[_i].path, whole_rows[_i].status, whole_rows[_i].body, whole_rows[_i].etag);
    EK_AUTOPTR(ek_probe, ek_probe_unref) *b = play("kube-apiserver", a, false, 2000, table);
    ck_assert_msg((b->core == a->core) == whole_rows[_i].same_core, "%s: /api", name);
    ck_assert_msg((b->groups == a->groups) == whole_rows[_i].same_groups, "%s: /apis", name);
    ck_assert_msg(!strcmp(first_of(b->groups), whole_rows[_i].groups), "%s: %s", name,
                  first_of(b->groups));
    ck_assert_str_eq(first_of(b->core), "pods");
}
END_TEST

/* A document that came only by half must not look like resources that vanished. */
START_TEST(half_a_document_is_no_document)
{
    set("/apis", 200, "{\"kind\":\"Table\"}", "");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *first = play("kube-apiserver", NULL, true, 1000, table);
    ck_assert_ptr_null(first->discovery);
    ck_assert(!first->core && !first->groups);
    ck_assert_int_eq(first->discovery_answer.error.code, EK_E_PARSE);
    ck_assert_int_eq(first->discovery_answer.good_at_ms, EK_TIME_UNSET);
}
END_TEST

START_TEST(legacy_servers_are_asked_list_by_list)
{
    static const struct canned old[] = {
        {"/version", 200, "{\"major\":\"1\",\"minor\":\"22+\",\"gitVersion\":\"v1.22.9-eks-1\"}",
         ""},
        {"/readyz?verbose=1", 500, "[+]ping ok\n[-]etcd failed: reason withheld\n[-]x failed\n",
         ""},
        {"/api", 200, "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}", ""},
        {"/apis", 200,
         "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"apps\",\"versions\":[{"
         "\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}]},{\"name\":\"gone\",\"versions\":[{"
         "\"groupVersion\":\"gone/v1\",\"version\":\"v1\"}]}]}",
         ""},
        {"/api/v1", 200, "{\"groupVersion\":\"v1\",\"resources\":[{\"name\":\"pods\"}]}", ""},
        {"/apis/apps/v1", 200,
         "{\"groupVersion\":\"apps/v1\",\"resources\":[{\"name\":\"deployments\"}]}", ""},
        {"/apis/gone/v1", 404, "404 page not found\n", ""},
        {NULL, 0, NULL, NULL},
    };

    EK_AUTOPTR(ek_probe, ek_probe_unref) *p = play("kube-apiserver", NULL, true, 1000, old);
    ck_assert_uint_eq(p->binary.minor, 22);
    ck_assert(!p->emulation.known);
    ck_assert(!p->ready);
    ck_assert_str_eq(p->not_ready, "etcd, x");
    ck_assert_int_eq(p->ready_answer.error.code, 0);
    ck_assert_int_eq(p->discovery_form, EK_DISCOVERY_LEGACY);
    ck_assert(ek_discovery_has(p->discovery, "apps", "v1", "deployments"));
    ck_assert(ek_discovery_has(p->discovery, "", "v1", "pods"));
    ck_assert_int_eq(p->discovery_answer.error.code, 0);
    ck_assert_int_eq(p->metrics_answer.error.code, EK_E_REFUSED);
    ck_assert_ptr_null(p->gates);
    /* A request per group version is too much for a light round: the set is kept. What the table
     * does not answer is asked again. */
    EK_AUTOPTR(ek_probe, ek_probe_unref) *light = play("kube-apiserver", p, false, 2000, old);
    ck_assert_str_eq(ek_buf_str(&asked),
                     "/version /readyz?verbose=1 /openapi/v3/version /metrics ");
    ck_assert(ek_discovery_has(light->discovery, "apps", "v1", "deployments"));
    /* The documents are made of the lists; a group version without a list is not in them. */
    ck_assert_str_eq(first_of(p->core), "pods");
    ck_assert_str_eq(first_of(p->groups), "deployments");
    ck_assert_uint_eq(p->groups->list.n, 1);
    ck_assert(light->core == p->core && light->groups == p->groups);
    ck_assert_int_eq(light->discovery_answer.good_at_ms, 1000);
}
END_TEST

START_TEST(other_components_are_asked_for_metrics_alone)
{
    EK_AUTOPTR(ek_probe, ek_probe_unref) *p = play("kube-scheduler", NULL, true, 1000, healthy);
    ck_assert_str_eq(ek_buf_str(&asked), "/metrics ");
    ck_assert_str_eq(p->info_binary, "1.36.2");
    ck_assert_ptr_null(p->discovery);
}
END_TEST

static const struct {
    const char *name, *path, *body;
} garbage[] = {
    {"version", "/version", "<html>"},         {"version is a list", "/version", "[]"},
    {"version is empty", "/version", ""},      {"openapi", "/openapi/v3/version", "nonsense"},
    {"metrics", "/metrics", "\xff\xfe{{{{\n"}, {"api", "/api", "{\"items\":{}}"},
};

START_TEST(garbage_is_an_error_of_one_question)
{
    set(garbage[_i].path, 200, garbage[_i].body, "");
    EK_AUTOPTR(ek_probe, ek_probe_unref) *p = play("kube-apiserver", NULL, true, 1000, table);
    ck_assert_msg(p->reach.error.code == 0, "%s", garbage[_i].name);
    int n_errors = (p->version_answer.error.code != 0) + (p->openapi_answer.error.code != 0) +
                   (p->discovery_answer.error.code != 0) + (p->metrics_answer.error.code != 0);
    ck_assert_msg(n_errors == (strcmp(garbage[_i].name, "metrics") != 0), "%s: %d errors",
                  garbage[_i].name, n_errors);
}
END_TEST

/* Flags of /flagz; want NULL: none, and an error of the code. */
static const struct {
    const char *name;
    int status;
    const char *body, *want;
    int code;
} flagz[] = {
    {"flags", 200, "{\"kind\":\"Flagz\",\"flags\":{\"a\":\"[1.35]\",\"b\":\"\",\"c\":1}}",
     "--a=[1.35] --b= ", 0},
    {"no map of flags", 200, "{\"kind\":\"Flagz\"}", NULL, EK_E_PARSE},
    {"text", 200, "a: 1", NULL, EK_E_PARSE},
    {"below 1.36", 404, "", NULL, EK_E_NOENT},
    {"forbidden", 403, "", NULL, EK_E_FORBIDDEN},
};

START_TEST(reads_flags_where_that_is_asked)
{
    struct canned answers[EK_ARRAY_SIZE(healthy) + 1] = {
        {"/flagz", flagz[_i].status, flagz[_i].body, ""}};
    EK_AUTO(ek_buf) got;

    memcpy(answers + 1, healthy, sizeof healthy);
    asks_flagz = true;
    struct ek_probe *first = play("kube-apiserver", NULL, true, 1000, answers);
    ek_buf_init(&got, 4096);
    for (size_t i = 0; i < first->n_flagz; i++)
        ek_buf_printf(&got, "%s ", first->flagz[i]);
    ck_assert_str_eq(ek_buf_str(&got), flagz[_i].want ? flagz[_i].want : "");
    ck_assert_int_eq(first->flagz != NULL, flagz[_i].want != NULL);
    ck_assert_int_eq(first->flagz_answer.error.code, flagz[_i].code);
    ck_assert_int_eq(first->reach.error.code, 0);
    struct ek_probe *other = play("kube-scheduler", NULL, true, 1000, answers);
    ck_assert_str_eq(ek_buf_str(&asked), "/metrics ");
    asks_flagz = false;
    struct ek_probe *next = play("kube-apiserver", first, true, 2000, answers);
    ck_assert_ptr_null(strstr(ek_buf_str(&asked), "/flagz"));
    ck_assert_ptr_null(next->flagz);
    ek_probe_unref(first);
    ek_probe_unref(other);
    ek_probe_unref(next);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("probe_session");

    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_loop_test(tc, reads_flags_where_that_is_asked, 0, (int)EK_ARRAY_SIZE(flagz));
    tcase_add_test(tc, reads_a_healthy_server);
    tcase_add_test(tc, a_light_round_asks_little_and_keeps_the_rest);
    tcase_add_loop_test(tc, what_failed_is_asked_again_in_a_light_round, 0,
                        EK_ARRAY_SIZE(failed_rows));
    tcase_add_test(tc, who_was_away_is_asked_everything_when_it_is_back);
    tcase_add_test(tc, a_server_without_tags_gets_light_rounds_too);
    tcase_add_test(tc, another_version_makes_the_round_full);
    tcase_add_loop_test(tc, what_does_not_fit_is_read_again, 0, (int)EK_ARRAY_SIZE(misfits));
    tcase_add_test(tc, one_changed_document_keeps_the_other);
    tcase_add_test(tc, failures_keep_the_last_good_answers);
    tcase_add_test(tc, failures_are_dated);
    tcase_add_loop_test(tc, keeps_documents_whole, 0, EK_ARRAY_SIZE(whole_rows));
    tcase_add_test(tc, half_a_document_is_no_document);
    tcase_add_test(tc, legacy_servers_are_asked_list_by_list);
    tcase_add_test(tc, other_components_are_asked_for_metrics_alone);
    tcase_add_loop_test(tc, garbage_is_an_error_of_one_question, 0, EK_ARRAY_SIZE(garbage));
    return ek_test_run("probe_session", tc);
}
