/* SPDX-License-Identifier: Apache-2.0 */
/* CEL: ten expressions as policies have them, compiled and evaluated, beside another engine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"
#include "api/cel/cel.h"
#include "api/obj.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"

#define ARENA_LIMIT ((size_t)16 << 20)
#define ROUND_MS    50.0 /* of one measurement: the best of several rounds counts */
#define CONTAINERS  "object.spec.template.spec.containers"
#define OBJECT_SPEC "Object.spec.template.spec"
#define ONE_TO_TEN  "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"

static const struct {
    const char *name, *text;
} expressions[] = {
    {"field", "object.spec.replicas <= 5"},
    {"label loop", "object.metadata.labels.exists(k, k == 'tier')"},
    {"presence", "has(object.metadata.annotations) && 'note' in object.metadata.annotations && "
                 "object.metadata.?annotations[?'owner'].orValue('nobody') == 'nobody'"},
    {"container loop", CONTAINERS ".all(c, c.image.startsWith('registry.local') || "
                                  "c.image.contains('mesh'))"},
    {"regex", CONTAINERS ".exists(c, c.image.matches('^registry[.]local(:[0-9]+)?/.*:v[0-9]+'))"},
    {"quantity", CONTAINERS ".all(c, !has(c.resources.limits) || "
                            "quantity(c.resources.limits.memory).isLessThan(quantity('2Gi')))"},
    {"strings", "('%s-%d'.format([object.metadata.name, object.spec.replicas]) + '-' + "
                "object.metadata.namespace).split('-').map(s, s.upperAscii()).join('.')"},
    {"json patch", "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a/b'), "
                   "value: object.metadata.name}]"},
    {"objects", "Object{spec: Object.spec{template: Object.spec.template{spec: " OBJECT_SPEC
                "{containers: " CONTAINERS ".map(c, " OBJECT_SPEC
                ".containers{name: c.name, image: c.image, imagePullPolicy: 'Always'})}}}}"},
    {"10x10 map", ONE_TO_TEN ".map(x, " ONE_TO_TEN ".map(y, x * y))"},
};

#define N EK_ARRAY_SIZE(expressions)

struct figures {
    double compile_ns, eval_ns, bytes;
    bool known;
};

/* ---- Ours ---- */

static struct ek_cel_env *new_env(void)
{
    static const char *const names[] = {"object", "oldObject", "params"};
    struct ek_err err = {0};
    struct ek_cel_env *env =
        ek_cel_env_new(&(struct ek_cel_env_options){.set = EK_CEL_ENV_MUTATION}, &err);

    for (size_t i = 0; env && i < EK_ARRAY_SIZE(names); i++)
        if (ek_cel_env_declare(env, names[i], "dyn", &err) < 0)
            bench_fail("%s", err.message);
    if (!env)
        bench_fail("%s", err.message);
    return env;
}

static double measure_compile(struct ek_cel_env *env, const char *text)
{
    unsigned n = 0;
    double start = bench_now_ms(), now;

    do {
        for (int i = 0; i < 100; i++, n++)
            ek_cel_program_unref(ek_cel_compile(env, text, strlen(text), NULL, NULL));
        now = bench_now_ms();
    } while (now - start < ROUND_MS);
    return (now - start) * 1e6 / n;
}

static double measure_eval(const struct ek_cel_program *program, const struct ek_cel_val *vars,
                           double *ret_bytes)
{
    static const struct ek_cel_limits limits = {.cost = EK_CEL_PER_CALL_LIMIT};
    struct ek_arena *arena = ek_arena_new(ARENA_LIMIT);
    struct ek_cel_result result;
    unsigned n = 0;
    double start = bench_now_ms(), now;

    do {
        for (int i = 0; i < 1000; i++, n++) {
            ek_arena_reset(arena);
            if (!ek_cel_eval(program, vars, arena, &limits, &result))
                bench_fail("%s: %s", ek_cel_program_text(program), result.value.fault->message);
        }
        now = bench_now_ms();
    } while (now - start < ROUND_MS);
    *ret_bytes = (double)ek_arena_used(arena);
    ek_arena_free(arena);
    return (now - start) * 1e6 / n;
}

static void keep_least(double *slot, double value)
{
    if (*slot == 0 || value < *slot)
        *slot = value;
}

static void measure(struct ek_cel_env *env, const struct ek_cel_val *vars, size_t rounds,
                    struct figures *ours)
{
    for (size_t i = 0; i < N; i++) {
        EK_AUTO(ek_cel_issues) issues = {0};
        struct ek_cel_program *program =
            ek_cel_compile(env, expressions[i].text, strlen(expressions[i].text), NULL, &issues);
        if (!program)
            bench_fail("%s: %s", expressions[i].name, issues.list[0].message);
        for (size_t round = 0; round < rounds; round++) {
            keep_least(&ours[i].eval_ns, measure_eval(program, vars, &ours[i].bytes));
            keep_least(&ours[i].compile_ns, measure_compile(env, expressions[i].text));
        }
        ek_cel_program_unref(program);
    }
}

/* ---- The other engine ---- */

static char *write_questions(void)
{
    char *path = ek_xstrdup("/tmp/ek-bench-cel-XXXXXX");
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");

    if (!file)
        bench_fail("cannot write %s", path);
    for (size_t i = 0; i < N; i++) {
        yyjson_mut_doc *doc = ek_json_doc_new();
        yyjson_mut_val *root = yyjson_mut_obj(doc);
        yyjson_mut_doc_set_root(doc, root);
        yyjson_mut_obj_add_str(doc, root, "name", expressions[i].name);
        yyjson_mut_obj_add_str(doc, root, "expr", expressions[i].text);
        yyjson_mut_write_fp(file, doc, YYJSON_WRITE_NOFLAG, NULL, NULL);
        fputc('\n', file);
        yyjson_mut_doc_free(doc);
    }
    fclose(file);
    return path;
}

static void take_answer(const char *line, struct figures *theirs)
{
    yyjson_doc *doc = ek_json_parse(line, strlen(line), NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *name = ek_json_str(root, "name", NULL);

    for (size_t i = 0; name && i < N; i++)
        if (!strcmp(name, expressions[i].name))
            theirs[i] = (struct figures){yyjson_get_num(yyjson_obj_get(root, "compile_ns")),
                                         yyjson_get_num(yyjson_obj_get(root, "eval_ns")),
                                         yyjson_get_num(yyjson_obj_get(root, "eval_bytes")), true};
    yyjson_doc_free(doc);
}

/* Runs `PROGRAM --bench FILE`, which answers one line of JSON per line of FILE. */
static void ask(const char *program, struct figures *theirs)
{
    char *questions = write_questions();
    int out;
    pid_t pid = bench_spawn((const char *const[]){program, "--bench", questions, NULL}, &out);
    FILE *answers = fdopen(out, "r");
    char *line = NULL;
    size_t cap = 0;

    while (answers && getline(&line, &cap, answers) > 0)
        take_answer(line, theirs);
    free(line);
    if (answers)
        fclose(answers);
    bench_stop(pid);
    unlink(questions);
    ek_free(questions);
}

/* ---- The table ---- */

static void print_ratio(double ours, double theirs, bool known)
{
    if (known)
        printf(" %9.0f %6.1fx", theirs, theirs / ours);
}

static void print_table(const struct figures *ours, const struct figures *theirs)
{
    bool beside = theirs[0].known;

    printf("%-15s %9s%s %9s%s %9s%s\n", "expression", "eval ns", beside ? "     other  ratio" : "",
           "octets", beside ? "     other  ratio" : "", "compile",
           beside ? "     other  ratio" : "");
    for (size_t i = 0; i < N; i++) {
        bool known = theirs[i].known;
        printf("%-15s %9.0f", expressions[i].name, ours[i].eval_ns);
        print_ratio(ours[i].eval_ns, theirs[i].eval_ns, known);
        printf(" %9.0f", ours[i].bytes);
        print_ratio(ours[i].bytes > 0 ? ours[i].bytes : 1, theirs[i].bytes, known);
        printf(" %9.0f", ours[i].compile_ns);
        print_ratio(ours[i].compile_ns, theirs[i].compile_ns, known);
        printf("\n");
    }
}

int bench_cel(const struct bench_options *options)
{
    struct figures ours[N] = {0}, theirs[N] = {0};
    yyjson_doc *doc =
        yyjson_read_file(EK_SHARED_DATA "/cel/vars.json", YYJSON_READ_NOFLAG, NULL, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const struct ek_cel_val vars[] = {ek_cel_from_json(yyjson_obj_get(root, "object")),
                                      ek_cel_from_json(yyjson_obj_get(root, "oldObject")),
                                      ek_cel_from_json(yyjson_obj_get(root, "params"))};

    if (!doc) {
        printf("cel: skipped, no " EK_SHARED_DATA "/cel/vars.json\n");
        return 77;
    }
    struct ek_cel_env *env = new_env();
    measure(env, vars, options->repeats, ours);
    if (options->engine)
        ask(options->engine, theirs);
    print_table(ours, theirs);
    ek_cel_env_unref(env);
    yyjson_doc_free(doc);
    return 0;
}
