/* SPDX-License-Identifier: Apache-2.0 */
/* `evenkeel plan` of a large cluster and of many manifests, and `mutate` of these: CPU time, time
 * and memory of the whole command, beside a program that reads the same lists or files and drops
 * them. */
#include <curl/curl.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/yaml.h"
#include "informers/client/file.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/bench/world.h"

#define NODES      5000
#define CRDS       500
#define OBJECTS    100000
#define MANIFESTS  10000
#define FILE_LIMIT ((size_t)1 << 20)

#define DEFINITIONS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
/* A kind of which 1.37 drops v1beta1 (networking.k8s.io); the built-in server has it as a custom
 * resource. */
#define ADDRESSES "/apis/networking.k8s.io/v1/ipaddresses"

/* ---- A command to its end ---- */

struct run {
    double wall_ms, cpu_ms, peak_kb, bytes;
    int code;
};

/* False before the exec: until then the memory is that of this process, which wait4 counts, too. */
static bool is_started(pid_t pid)
{
    char path[64], name[32] = "";

    snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "r");
    if (f && !fgets(name, sizeof name, f))
        *name = '\0';
    if (f)
        fclose(f);
    return *name && strncmp(name, "ek-bench", 8) != 0;
}

/* Runs a program to its end; world (NULL: none) answers it meanwhile. */
static struct run run_program(struct bench_world *world, const char *const *argv)
{
    static char piece[1 << 16];
    struct run ret = {.wall_ms = bench_now_ms()};
    struct rusage usage;
    int out, status;
    ssize_t n;

    pid_t pid = bench_spawn(argv, &out);
    if (world)
        fcntl(out, F_SETFL, O_NONBLOCK);
    while ((n = read(out, piece, sizeof piece)) != 0) {
        double kb = is_started(pid) ? bench_proc_kb(pid, "status", "VmHWM") : 0;
        ret.peak_kb = kb > ret.peak_kb ? kb : ret.peak_kb;
        if (n > 0)
            ret.bytes += (double)n;
        else if (world)
            uv_run(&world->loop, UV_RUN_ONCE);
        else
            bench_fail("a program cannot be read");
    }
    close(out);
    wait4(pid, &status, 0, &usage);
    ret.wall_ms = bench_now_ms() - ret.wall_ms;
    ret.cpu_ms = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3;
    ret.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (ret.code != 0 && ret.code != 2 && ret.code != 3)
        bench_fail("%s: exit code %d", argv[1], ret.code);
    return ret;
}

/* Runs both sides in turn and prints the best of each. */
static void compare(const struct bench_options *options, struct bench_world *world,
                    const char *what, const char *const *ours, const char *const *floor)
{
    double cpu[2][BENCH_REPEATS_MAX], wall[2][BENCH_REPEATS_MAX], ratio[BENCH_REPEATS_MAX];
    double peak = 0;
    struct run a, b;

    for (size_t i = 0; i < options->repeats; i++) {
        b = run_program(world, floor);
        a = run_program(world, ours);
        cpu[0][i] = a.cpu_ms;
        cpu[1][i] = b.cpu_ms;
        wall[0][i] = a.wall_ms;
        wall[1][i] = b.wall_ms;
        ratio[i] = a.cpu_ms / b.cpu_ms;
        peak = a.peak_kb > peak ? a.peak_kb : peak;
    }
    size_t n = options->repeats;
    double median = bench_median(ratio, n);
    printf("%s: CPU %.0f / %.0f ms = %.2f (median of pairs %.2f); wall %.0f / %.0f ms; peak %.1f "
           "MiB; exit code %d, %.1f kB printed\n",
           what, bench_percentile(cpu[0], n, 0), bench_percentile(cpu[1], n, 0),
           bench_percentile(cpu[0], n, 0) / bench_percentile(cpu[1], n, 0), median,
           bench_percentile(wall[0], n, 0), bench_percentile(wall[1], n, 0), peak / 1024, a.code,
           a.bytes / 1000);
    fflush(stdout);
}

/* ---- The cluster ---- */

static const char *const lists[] = {"/api/v1/nodes", DEFINITIONS, ADDRESSES};

static size_t on_data(char *data, size_t size, size_t n, void *ctx)
{
    ek_buf_append(ctx, data, size * n);
    return size * n;
}

/* Reads a list page by page, parses and drops it. */
static double read_list(CURL *easy, struct ek_buf *body, const char *server, const char *path)
{
    char next[1024] = "";
    double items = 0;

    do {
        EK_AUTOFREE char *url =
            ek_xasprintf("%s%s?limit=500%s%s", server, path, *next ? "&continue=" : "", next);
        ek_buf_reset(body);
        curl_easy_setopt(easy, CURLOPT_URL, url);
        if (curl_easy_perform(easy))
            bench_fail("%s: no response", url);
        yyjson_doc *doc = yyjson_read(body->data, body->len, 0);
        yyjson_val *root = yyjson_doc_get_root(doc);
        const char *token = yyjson_get_str(yyjson_ptr_get(root, "/metadata/continue"));
        if (!yyjson_is_arr(yyjson_obj_get(root, "items")))
            bench_fail("%s: no list: %.300s", url, ek_buf_str(body));
        items += (double)yyjson_arr_size(yyjson_obj_get(root, "items"));
        snprintf(next, sizeof next, "%s", token ? token : "");
        yyjson_doc_free(doc);
    } while (*next);
    return items;
}

int bench_plan_lists_main(const char *const *args)
{
    EK_AUTOFREE char *bearer = ek_xasprintf("Authorization: Bearer %s", args[1]);
    char accept[] = "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    struct curl_slist whole = {.data = bearer}, partial = {.data = accept, .next = &whole};
    struct ek_buf body;
    double items = 0;

    ek_buf_init(&body, (size_t)256 << 20);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    CURL *easy = curl_easy_init();
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_data);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    for (size_t i = 0; i < EK_ARRAY_SIZE(lists); i++) {
        bool metadata = !strcmp(lists[i], ADDRESSES);
        curl_easy_setopt(easy, CURLOPT_HTTPHEADER, metadata ? &partial : &whole);
        items += read_list(easy, &body, args[0], lists[i]);
    }
    printf("%.0f\n", items);
    curl_easy_cleanup(easy);
    return items == NODES + CRDS + OBJECTS + 2 ? 0 : 1; /* and ControlPlane, ipaddresses */
}

/* A definition with as much schema as those of operators have, and a rule. */
static void create_definition(struct bench_world *world, const char *group, const char *plural,
                              const char *kind, const char *versions)
{
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
        "\"metadata\":{\"name\":\"%s.%s\",\"annotations\":{\"api-approved.kubernetes.io\":"
        "\"unapproved, bench\"}},\"spec\":{\"group\":\"%s\",\"scope\":\"Cluster\",\"names\":{"
        "\"plural\":\"%s\",\"kind\":\"%s\"},\"versions\":[%s]}}",
        plural, group, group, plural, kind, versions);

    bench_world_send(world, "POST", DEFINITIONS, "application/json", json, 201);
}

static void create_definitions(struct bench_world *world)
{
    EK_AUTO(ek_buf) fields;

    ek_buf_init(&fields, FILE_LIMIT);
    for (size_t i = 0; i < 150; i++)
        ek_buf_printf(
            &fields,
            "%s\"field%zu\":{\"type\":\"string\",\"description\":\"What the field is for, "
            "in one sentence of some length.\",\"x-kubernetes-validations\":[{\"rule\":"
            "\"self.size() < %zu\"}]}",
            i ? "," : "", i, 100 + i);
    for (size_t i = 0; i < CRDS; i++) {
        EK_AUTOFREE char *group = ek_xasprintf("g%zu.example.com", i);
        EK_AUTOFREE char *version = ek_xasprintf(
            "{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
            "\"type\":\"object\",\"properties\":{\"spec\":{\"type\":\"object\",\"properties\":{%s}"
            "}}}}}",
            ek_buf_str(&fields));
        create_definition(world, group, "things", "Thing", version);
    }
    create_definition(
        world, "networking.k8s.io", "ipaddresses", "IPAddress",
        "{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
        "\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}},{\"name\":"
        "\"v1beta1\","
        "\"served\":true,\"storage\":false,\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
        "\"x-kubernetes-preserve-unknown-fields\":true}}}");
}

/* One in ten was written in the version that goes. */
static void create_objects(struct bench_world *world)
{
    struct ek_err err;

    for (size_t i = 0; i < OBJECTS; i++) {
        EK_AUTOFREE char *json = ek_xasprintf(
            "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"IPAddress\",\"metadata\":{"
            "\"name\":\"10.%zu.%zu.%zu\",\"uid\":\"00000000-0000-4000-8000-%012zu\","
            "\"creationTimestamp\":\"2026-01-01T00:00:00Z\",\"labels\":{"
            "\"ipaddress.kubernetes.io/ip-family\":\"IPv4\",\"ipaddress.kubernetes.io/managed-by\":"
            "\"ipallocator.k8s.io\"},\"managedFields\":[{\"manager\":\"kube-apiserver\","
            "\"operation\":\"Update\",\"apiVersion\":\"networking.k8s.io/%s\",\"time\":"
            "\"2026-01-01T00:00:00Z\",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":{\"f:metadata\":{"
            "\"f:labels\":{\".\":{},\"f:ipaddress.kubernetes.io/ip-family\":{},"
            "\"f:ipaddress.kubernetes.io/managed-by\":{}}},\"f:spec\":{\"f:parentRef\":{\".\":{},"
            "\"f:name\":{},\"f:namespace\":{},\"f:resource\":{}}}}}]},\"spec\":{\"parentRef\":{"
            "\"resource\":\"services\",\"namespace\":\"default\",\"name\":\"s%zu\"}}}",
            i >> 16, i >> 8 & 255, i & 255, i, i % 10 ? "v1" : "v1beta1", i);
        if (ek_apiserver_seed(world->server, "networking.k8s.io", "v1", "ipaddresses", json,
                              strlen(json), &err))
            bench_fail("%s", err.message);
    }
}

/* All at 1.36, and the controllers are not there: the plan has steps. */
static void open_cluster(struct bench_world *world)
{
    struct ek_err err;

    bench_world_open(world, NODES);
    for (size_t i = 0; i < WORLD_PEERS; i++)
        if (ek_apiserver_peer_change(
                world->peers[i],
                &(struct ek_apiserver_peer_config){.binary = "1.36.2",
                                                   .emulation = EK_MINOR(1, 36),
                                                   .min_compat = EK_MINOR(1, 35)},
                &err))
            bench_fail("%s", err.message);
    for (size_t i = 0; i < NODES; i++)
        bench_world_touch(world, i, i % 3 ? "v1.36.1" : "v1.35.4");
    bench_world_send(world, "PATCH", "/apis/evenkeel.dev/v1alpha1/controlplanes/cluster",
                     "application/merge-patch+json",
                     "{\"spec\":{\"skewPolicy\":{\"ignoredComponents\":["
                     "\"kube-controller-manager\",\"kube-scheduler\"]}}}",
                     200);
    create_definitions(world);
    create_objects(world);
}

int bench_plan(const struct bench_options *options)
{
    static struct bench_world world;

    open_cluster(&world);
    EK_AUTOFREE char *server = ek_apishell_url(world.peers[0]);
    const char *ours[] = {options->evenkeel, "plan", "--kubeconfig", world.kubeconfig,
                          "--to=1.37",       "-o",   "json",         NULL};
    const char *floor[] = {NULL, "--plan-lists", server, BENCH_WORLD_TOKEN, NULL};
    compare(options, &world, "plan of 5,000 nodes, 500 CRDs and 100,000 objects", ours, floor);
    bench_world_close(&world);
    return 0;
}

/* ---- Manifests ---- */

/* Eight kinds in turn; the last three have findings between 1.34 and 1.37. */
static const char *const manifests[] = {
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: d%zu\n  namespace: shop\n  "
    "labels:\n "
    "   app: web\nspec:\n  replicas: 3\n  selector:\n    matchLabels:\n      app: web\n  "
    "template:\n"
    "    metadata:\n      labels:\n        app: web\n    spec:\n      containers:\n      - name: "
    "web\n        image: registry.example.com/web:1.2.3\n        ports:\n        - containerPort: "
    "8080\n        env:\n        - name: A\n          value: b\n        resources:\n          "
    "limits:\n            memory: 128Mi\n",
    "apiVersion: v1\nkind: Service\nmetadata:\n  name: s%zu\nspec:\n  selector:\n    app: web\n  "
    "ports:\n  - port: 80\n    targetPort: 8080\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%zu\ndata:\n  a: b\n  c: |\n    some\n   "
    " "
    "lines\n",
    "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: i%zu\nspec:\n  rules:\n  "
    "- "
    "host: a.example.com\n    http:\n      paths:\n      - path: /\n        pathType: Prefix\n     "
    " "
    "  backend:\n          service:\n            name: web\n            port:\n              "
    "number: "
    "80\n",
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata:\n  name: r%zu\nrules:\n- "
    "apiGroups: [\"\"]\n  resources: [pods]\n  verbs: [get, list]\n",
    "apiVersion: networking.k8s.io/v1beta1\nkind: ServiceCIDR\nmetadata:\n  name: n%zu\nspec:\n  "
    "cidrs: [10.0.0.0/24]\n",
    "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata:\n  "
    "name: p%zu\nspec:\n  matchConstraints:\n    resourceRules:\n    - apiGroups: [apps]\n      "
    "apiVersions: [v1]\n      operations: [CREATE]\n      resources: [deployments]\n  "
    "validations:\n"
    "  - expression: object.spec.replicas <= 5 && object.metadata.labels.all(k, k.size() < 40)\n  "
    "- "
    "expression: \"quantity('1Gi').isGreaterThan(quantity('1Mi'))\"\n",
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: q%zu\nspec:\n  schedulingGroup:\n    "
    "podGroupName: a\n  containers:\n  - name: a\n    image: b\n",
};

/* The first n_kinds in turn. */
static void write_manifests(const char *folder, size_t n_kinds)
{
    for (size_t i = 0; i < MANIFESTS; i++) {
        EK_AUTOFREE char *path = ek_xasprintf("%s/m%05zu.yaml", folder, i);
        FILE *out = fopen(path, "w");
        if (!out)
            bench_fail("%s cannot be written", path);
        const char *text = manifests[i % n_kinds], *number = strstr(text, "%zu");
        fprintf(out, "%.*s%zu%s", (int)(number - text), text, i, number + 3);
        fclose(out);
    }
}

/* The files of a folder: read, parsed, and dropped; or removed. */
static void each_file(const char *folder, bool removes)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, entry->d_name);
        EK_AUTOFREE char *text = NULL;
        yyjson_doc *doc = NULL;
        struct ek_err err;
        size_t len;
        if (entry->d_name[0] == '.')
            continue;
        if (removes)
            unlink(path);
        else if (ek_file_read(path, FILE_LIMIT, &text, &len, &err) ||
                 ek_yaml_parse(text, len, FILE_LIMIT, &doc, &err))
            bench_fail("%s", err.message);
        yyjson_doc_free(doc);
    }
    if (dir)
        closedir(dir);
}

int bench_plan_files_main(const char *const *args)
{
    each_file(args[0], false);
    return 0;
}

int bench_manifests(const struct bench_options *options)
{
    char folder[] = "/tmp/ek-bench.XXXXXX";

    if (!mkdtemp(folder))
        bench_fail("no folder at %s", folder);
    write_manifests(folder, EK_ARRAY_SIZE(manifests));
    const char *floor[] = {NULL, "--plan-files", folder, NULL};
    const char *const forms[] = {"table", "json", "sarif", "html"};
    for (size_t i = 0; i < EK_ARRAY_SIZE(forms); i++) {
        EK_AUTOFREE char *what = ek_xasprintf("plan of 10,000 manifests, %s", forms[i]);
        const char *ours[] = {
            options->evenkeel, "plan", "--from=1.34", "--to=1.37", "-f", folder, "-o",
            forms[i],          NULL};
        compare(options, NULL, what, ours, floor);
    }
    each_file(folder, true);
    rmdir(folder);
    return 0;
}

/* Eleven expressions, on what is written and on defaults. */
static const char policy[] =
    "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: "
    "seen}\nspec:\n  matchConstraints:\n    resourceRules:\n    - {apiGroups: [apps], apiVersions: "
    "[v1], operations: [CREATE, UPDATE], resources: [deployments]}\n  failurePolicy: Fail\n  "
    "reinvocationPolicy: Never\n  mutations:\n  - patchType: ApplyConfiguration\n    "
    "applyConfiguration:\n      expression: |\n        Object{metadata: Object.metadata{labels: {\n"
    "          'a': string(object.spec.replicas), 'b': string(object.spec.strategy.type),\n"
    "          'c': string(has(object.metadata.annotations)), 'd': "
    "string(has(object.spec.paused)),\n"
    "          'e': string(has(object.spec.template.spec.nodeSelector)),\n"
    "          'f': string(has(object.spec.template.spec.volumes)),\n"
    "          'g': string(has(object.spec.template.spec.hostNetwork)),\n"
    "          'h': string(object.spec.template.spec.containers[0].imagePullPolicy),\n"
    "          'i': string(object.spec.template.spec.containers[0].resources.limits.memory),\n"
    "          'j': string(object.spec.template.spec.containers.all(c, c.image != '')),\n"
    "          'k': string(object.spec.template.spec.containers.size())}}}\n";

int bench_mutate(const struct bench_options *options)
{
    char folder[] = "/tmp/ek-bench.XXXXXX";

    if (!mkdtemp(folder))
        bench_fail("no folder at %s", folder);
    EK_AUTOFREE char *path = ek_xasprintf("%s.yaml", folder);
    FILE *out = fopen(path, "w");
    if (!out || fputs(policy, out) < 0 || fclose(out))
        bench_fail("%s cannot be written", path);
    write_manifests(folder, 1);
    const char *floor[] = {NULL, "--plan-files", folder, NULL};
    const char *const forms[] = {"yaml", "diff"};
    for (size_t i = 0; i < EK_ARRAY_SIZE(forms); i++) {
        EK_AUTOFREE char *what = ek_xasprintf("mutate of 10,000 manifests, %s", forms[i]);
        const char *ours[] = {options->evenkeel, "mutate", "-f", path, "-f", folder, "-o",
                              forms[i],          NULL};
        compare(options, NULL, what, ours, floor);
    }
    each_file(folder, true);
    rmdir(folder);
    unlink(path);
    return 0;
}
