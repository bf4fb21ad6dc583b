/* SPDX-License-Identifier: Apache-2.0 */
/* The script reader of view fixtures: one line, one object. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"
#include "api/base/time.h"
#include "reconcilers/peers/server_id.h"
#include "test/support/view_fixture-internal.h"

#define WORDS_MAX 40
#define UUID      "11111111-2222-3333-4444-555555555555"

struct line {
    struct ek_view_fixture *fx;
    char *words[WORDS_MAX]; /* the command, its arguments, then pairs */
    size_t n;
};

/* The n-th argument, NULL when there are fewer. */
static const char *arg(const struct line *line, size_t n)
{
    return n + 1 < line->n && !strchr(line->words[n + 1], '=') ? line->words[n + 1] : NULL;
}

static const char *opt(const struct line *line, const char *key, const char *otherwise)
{
    size_t len = strlen(key);

    for (size_t i = 1; i < line->n; i++)
        if (!strncmp(line->words[i], key, len) && line->words[i][len] == '=')
            return line->words[i] + len + 1;
    return otherwise;
}

static bool has(const struct line *line, const char *key, const char *value)
{
    return !strcmp(opt(line, key, ""), value);
}

static int64_t seconds(const struct line *line, const char *key, const char *otherwise)
{
    return strtol(opt(line, key, otherwise), NULL, 10);
}

/* The time that key says, seconds before now, as MicroTime. */
static const char *ago(const struct line *line, const char *key, const char *otherwise,
                       char buf[EK_TIME_SIZE])
{
    int64_t age = seconds(line, key, otherwise);
    return ek_time_format_micro(line->fx->view.now_ms - age * 1000, buf);
}

static void add(const struct line *line, struct ek_buf *json)
{
    ck_assert_int_eq(json->failed, 0);
    ek_view_fixture_add(line->fx, ek_buf_str(json));
    ek_buf_reset(json);
}

/* Writes a list as JSON: ["a","b"], each between before and after; separator divides the items. */
static void put_split(struct ek_buf *out, const char *list, const char *separator,
                      const char *before, const char *after)
{
    EK_AUTOFREE char *copy = ek_xstrdup(list);
    const char *gap = "";
    char *save = NULL;

    ek_buf_puts(out, "[");
    for (char *item = strtok_r(copy, separator, &save); item;
         item = strtok_r(NULL, separator, &save)) {
        ek_buf_printf(out, "%s%s\"%s\"%s", gap, before, item, after);
        gap = ",";
    }
    ek_buf_puts(out, "]");
}

static void put_list(struct ek_buf *out, const char *list, const char *before, const char *after)
{
    put_split(out, list, ",", before, after);
}

/* Words of a command line: "|" divides them, "~" is a blank. */
static void put_words(struct ek_buf *out, const char *words)
{
    EK_AUTOFREE char *copy = ek_xstrdup(words);

    for (char *c = copy; *c; c++)
        if (*c == '~')
            *c = ' ';
    put_split(out, copy, "|", "", "");
}

static void do_lease(const struct line *line, struct ek_buf *out)
{
    bool old = has(line, "form", "1.26");
    const char *host = arg(line, 0), *label = opt(line, "label", host);
    char id[EK_SERVER_ID_SIZE], renewed[EK_TIME_SIZE];
    const char *name = opt(
        line, "name", ek_server_id_format(old ? EK_SERVER_ID_1_26 : EK_SERVER_ID_1_27, host, id));

    ek_buf_printf(out,
                  "{'kind':'Lease','metadata':{'name':'%s','namespace':'%s','labels':{'%s':"
                  "'kube-apiserver'",
                  name, opt(line, "ns", "kube-system"),
                  old ? "k8s.io/component" : "apiserver.kubernetes.io/identity");
    if (strcmp(label, "none") != 0)
        ek_buf_printf(out, ",'kubernetes.io/hostname':'%s'", label);
    ek_buf_puts(out, "},'annotations':{");
    if (opt(line, "claim", NULL))
        ek_buf_printf(out, "'kubernetes.io/peer-advertise-address':'%s'", opt(line, "claim", ""));
    ek_buf_puts(out, "}},'spec':{'leaseDurationSeconds':3600");
    if (!has(line, "holder", "none"))
        ek_buf_printf(out, ",'holderIdentity':'%s_" UUID "'", name);
    if (!has(line, "renew", "none"))
        ek_buf_printf(out, ",'renewTime':'%s'", opt(line, "renew", ago(line, "age", "5", renewed)));
    ek_buf_puts(out, "}}");
    add(line, out);
}

static void do_slice(const struct line *line, struct ek_buf *out)
{
    ek_buf_printf(out,
                  "{'kind':'EndpointSlice','metadata':{'name':'%s','namespace':'%s',"
                  "'labels':{'kubernetes.io/service-name':'%s'}},'addressType':'%s','endpoints':[",
                  opt(line, "name", "kubernetes"), opt(line, "ns", "default"),
                  opt(line, "service", "kubernetes"), opt(line, "type", "IPv4"));
    for (size_t i = 0; arg(line, i); i++) {
        ek_buf_printf(out, "%s{'addresses':['%s'],'conditions':{", i ? "," : "", arg(line, i));
        if (!has(line, "ready", "nil"))
            ek_buf_printf(out, "'ready':%s", opt(line, "ready", "true"));
        ek_buf_puts(out, "}");
        if (opt(line, "node", NULL))
            ek_buf_printf(out, ",'nodeName':'%s'", opt(line, "node", ""));
        ek_buf_puts(out, "}");
    }
    ek_buf_printf(out, "],'ports':[{'name':'https','port':%s}]}", opt(line, "port", "6443"));
    add(line, out);
}

static void do_node(const struct line *line, struct ek_buf *out)
{
    ek_buf_printf(out,
                  "{'kind':'Node','metadata':{'name':'%s','labels':{'kubernetes.io/hostname':'%s'",
                  arg(line, 0), opt(line, "hostname", arg(line, 0)));
    if (opt(line, "role", NULL))
        ek_buf_printf(out, ",'node-role.kubernetes.io/%s':''", opt(line, "role", ""));
    ek_buf_printf(out, "}},'status':{'nodeInfo':{'kubeletVersion':'%s'},'addresses':",
                  opt(line, "kubelet", ""));
    put_list(out, opt(line, "ip", ""), "{\"type\":\"InternalIP\",\"address\":", "}");
    ek_buf_puts(out, "}}");
    add(line, out);
}

static void do_pod(const struct line *line, struct ek_buf *out)
{
    const char *component = arg(line, 0), *node = arg(line, 1);
    EK_AUTOFREE char *name = ek_xasprintf("%s-%s", component, node);
    EK_AUTOFREE char *image = ek_xasprintf("registry.k8s.io/%s:v1.36.2", component);
    bool is_proxy = !strcmp(component, "kube-proxy");
    const char *label = opt(line, "label", is_proxy ? "k8s-app" : "component");

    ek_buf_printf(out, "{'kind':'Pod','metadata':{'name':'%s','namespace':'kube-system','labels':{",
                  opt(line, "name", name));
    if (!strcmp(label, "none"))
        ek_buf_puts(out, "'tier':'control-plane'");
    else
        ek_buf_printf(out, "'%s':'%s'", label, component);
    ek_buf_puts(out, "}");
    if (has(line, "static", "owner"))
        ek_buf_puts(out, ",'ownerReferences':[{'kind':'Node','name':'n'}]");
    else if (!has(line, "static", "false"))
        ek_buf_printf(out,
                      ",'annotations':{'kubernetes.io/config.mirror':'x',"
                      "'kubernetes.io/config.hash':'%s'}",
                      opt(line, "hash", "x"));
    if (has(line, "deleted", "true"))
        ek_buf_puts(out, ",'deletionTimestamp':'2026-11-20T10:58:00Z'");
    ek_buf_printf(out,
                  "},'spec':{'nodeName':'%s','hostNetwork':%s,'containers':[{'name':'%s',"
                  "'image':'%s','command':",
                  node, opt(line, "hostnet", "true"), opt(line, "container", component),
                  opt(line, "image", image));
    if (opt(line, "cmd", NULL))
        put_words(out, opt(line, "cmd", ""));
    else
        put_list(out, opt(line, "args", ""), "", "");
    if (opt(line, "more", NULL)) {
        ek_buf_puts(out, ",'args':");
        put_words(out, opt(line, "more", ""));
    }
    ek_buf_printf(out, "}]},'status':{'phase':'%s'", opt(line, "phase", "Running"));
    if (opt(line, "state", NULL) || opt(line, "running", NULL))
        ek_buf_printf(out, ",'containerStatuses':[{'name':'%s','image':'%s','state':{'%s':{}}}]",
                      opt(line, "container", component), opt(line, "running", ""),
                      opt(line, "state", "running"));
    if (opt(line, "ip", NULL))
        ek_buf_printf(out, ",'podIP':'%s'", opt(line, "ip", ""));
    if (opt(line, "ips", NULL)) {
        ek_buf_puts(out, ",'podIPs':");
        put_list(out, opt(line, "ips", ""), "{\"ip\":", "}");
    }
    ek_buf_puts(out, "}}");
    add(line, out);
}

static void do_candidate(const struct line *line, struct ek_buf *out)
{
    char created[EK_TIME_SIZE], renewed[EK_TIME_SIZE], pinged[EK_TIME_SIZE];

    ek_buf_printf(out,
                  "{'kind':'LeaseCandidate','metadata':{'name':'%s_%s','namespace':'kube-system',"
                  "'creationTimestamp':'%s'},'spec':{'leaseName':'%s','binaryVersion':'%s',"
                  "'emulationVersion':'%s','renewTime':'%s'",
                  arg(line, 0), opt(line, "uuid", UUID), ago(line, "created", "600", created),
                  opt(line, "of", ""), opt(line, "bv", "1.36.2"), opt(line, "ev", "1.36.0"),
                  ago(line, "renewed", "60", renewed));
    if (opt(line, "pinged", NULL))
        ek_buf_printf(out, ",'pingTime':'%s'", ago(line, "pinged", "0", pinged));
    ek_buf_puts(out, "}}");
    add(line, out);
}

static void do_election(const struct line *line, struct ek_buf *out)
{
    char renewed[EK_TIME_SIZE];

    ek_buf_printf(out,
                  "{'kind':'Lease','metadata':{'name':'%s','namespace':'kube-system'},'spec':{"
                  "'holderIdentity':'%s','leaseDurationSeconds':%s,'renewTime':'%s'}}",
                  arg(line, 0), opt(line, "holder", ""), opt(line, "duration", "15"),
                  ago(line, "age", "2", renewed));
    add(line, out);
}

static int error_code(const char *name)
{
    static const struct {
        const char *name;
        int code;
    } codes[] = {{"refused", EK_E_REFUSED},     {"timeout", EK_E_TIMEOUT}, {"tls", EK_E_TLS},
                 {"forbidden", EK_E_FORBIDDEN}, {"token", EK_E_FORBIDDEN}, {"", 0}};
    for (size_t i = 0; i < EK_ARRAY_SIZE(codes); i++)
        if (!strcmp(name, codes[i].name))
            return codes[i].code;
    ck_abort_msg("unknown error %s", name);
    return 0;
}

static void set_answer(const struct line *line, struct ek_probe_answer *answer,
                       const char *question, bool told)
{
    int code = error_code(opt(line, "error", ""));
    const char *failed = opt(line, "failed", "");

    answer->tried_at_ms = line->fx->view.now_ms - 1000;
    answer->good_at_ms =
        told ? line->fx->view.now_ms - seconds(line, "age", "1") * 1000 : EK_TIME_UNSET;
    if (!code || (*failed && !strstr(failed, question)))
        return;
    ek_err_set(&answer->error, code, "%s", ek_strerror(code));
    answer->failing_at_ms = answer->tried_at_ms - seconds(line, "failing", "0") * 1000;
    answer->outdated = has(line, "outdated", "true");
}

static void set_names(struct ek_probe *probe, const char *list)
{
    EK_AUTOFREE char *copy = ek_xstrdup(list);
    char *save = NULL;

    for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        probe->cert_names =
            ek_xrealloc(probe->cert_names, probe->n_cert_names + 1, sizeof *probe->cert_names);
        probe->cert_names[probe->n_cert_names++] = ek_xstrdup(name);
    }
}

static void do_probe(const struct line *line, struct ek_buf *out)
{
    struct ek_probe *probe = ek_view_fixture_add_probe(line->fx, arg(line, 0));
    const char *version = opt(line, "version", NULL), *info = opt(line, "info", NULL);
    const char *openapi = opt(line, "openapi", NULL);

    (void)out;
    set_answer(line, &probe->reach, "reach", version || info || openapi || opt(line, "cert", NULL));
    set_answer(line, &probe->version_answer, "version", version != NULL);
    set_answer(line, &probe->metrics_answer, "metrics", info != NULL);
    set_answer(line, &probe->openapi_answer, "openapi", openapi != NULL);
    snprintf(probe->git_version, sizeof probe->git_version, "%s", version ? version : "");
    snprintf(probe->info_binary, sizeof probe->info_binary, "%s", info ? info : "");
    probe->binary = ek_minor_parse(probe->git_version);
    probe->emulation = ek_minor_parse(opt(line, "ev", ""));
    probe->min_compat = ek_minor_parse(opt(line, "mcv", ""));
    probe->openapi = ek_minor_parse(openapi ? openapi : "");
    probe->info_emulation = ek_minor_parse(opt(line, "info_ev", ""));
    probe->info_min_compat = ek_minor_parse(opt(line, "info_mcv", ""));
    set_names(probe, opt(line, "cert", ""));
    probe->proven = has(line, "proven", "true");
    probe->no_token = has(line, "error", "token");
}

static void do_controlplane(const struct line *line, struct ek_buf *out)
{
    ek_buf_printf(out,
                  "{'kind':'ControlPlane','metadata':{'name':'cluster'},'spec':{'peers':{"
                  "'discovery':'%s','endpoints':",
                  opt(line, "mode", "Auto"));
    put_list(out, opt(line, "endpoints", ""), "", "");
    ek_buf_puts(out, "},'skewPolicy':{'ignoredComponents':");
    put_list(out, opt(line, "ignored", ""), "", "");
    ek_buf_puts(out, "}}}");
    add(line, out);
}

static void do_configured(const struct line *line, struct ek_buf *out)
{
    (void)out;
    snprintf(line->fx->configured, sizeof line->fx->configured, "%s", arg(line, 0));
    line->fx->view.configured = line->fx->configured;
}

static void do_deny(const struct line *line, struct ek_buf *out)
{
    static const char *const names[FIXTURE_LISTS] = {"leases", "candidates", "endpoint_slices",
                                                     "nodes",  "pods",       "controlplane"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(names); i++) {
        if (strcmp(line->words[1], names[i]) != 0)
            continue;
        for (size_t k = 2; k < line->n; k++)
            ek_buf_printf(out, "%s%s", k > 2 ? " " : "", line->words[k]);
        ek_free(line->fx->why[i]);
        line->fx->why[i] = ek_buf_steal(out);
        return;
    }
    ck_abort_msg("unknown list %s", line->words[1]);
}

static const struct {
    const char *name;
    void (*run)(const struct line *line, struct ek_buf *out);
} commands[] = {
    {"lease", do_lease},
    {"slice", do_slice},
    {"node", do_node},
    {"pod", do_pod},
    {"candidate", do_candidate},
    {"election", do_election},
    {"configured", do_configured},
    {"probe", do_probe},
    {"controlplane", do_controlplane},
    {"deny", do_deny},
};

static void run_line(const struct line *line)
{
    EK_AUTO(ek_buf) out;
    ek_buf_init(&out, (size_t)1024 * 1024);
    for (size_t i = 0; i < EK_ARRAY_SIZE(commands); i++) {
        if (strcmp(line->words[0], commands[i].name) != 0)
            continue;
        commands[i].run(line, &out);
        return;
    }
    ck_abort_msg("unknown command %s", line->words[0]);
}

void ek_view_fixture_script(struct ek_view_fixture *fx, const char *script)
{
    EK_AUTOFREE char *copy = ek_xstrdup(script);
    char *save = NULL;

    for (char *text = strtok_r(copy, "\n", &save); text; text = strtok_r(NULL, "\n", &save)) {
        struct line line = {.fx = fx};
        char *inner = NULL;
        if (*text == '#')
            continue;
        for (char *w = strtok_r(text, " ", &inner); w; w = strtok_r(NULL, " ", &inner)) {
            ck_assert_uint_lt(line.n, WORDS_MAX);
            line.words[line.n++] = w;
        }
        if (line.n)
            run_line(&line);
    }
}
