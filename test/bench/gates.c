/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions of field gates: ten gates on an object of 20 kB, beside the parsing of the review that
 * each of them has to be read from. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "reconcilers/fieldgates/decide.h"
#include "test/bench/bench.h"
#include "test/bench/measure.h"
#include "test/support/gates_case.h"

#define GATES       10
#define OBJECT_SIZE ((size_t)20 * 1024)
#define ROUND_MS    100.0 /* of one measurement: the best of several counts */
#define ARENA_MAX   ((size_t)1 << 20)

/* Half of the gates are of fields below a parent that is gated too, and on. */
static const struct ek_gates *make_gates(void)
{
    EK_AUTO(ek_buf) spec;

    ek_buf_init(&spec, 1 << 16);
    ek_buf_puts(&spec, "{featureGates: [{name: Tuning, preRelease: beta, fieldPaths: "
                       "[.spec.tuning]}");
    for (int i = 1; i < GATES; i++)
        ek_buf_printf(&spec, ", {name: Gate%d, preRelease: alpha, fieldPaths: [.spec.%sf%d]}", i,
                      i % 2 ? "" : "tuning.", i);
    ek_buf_puts(&spec, "]}");
    return test_gates_new(ek_buf_str(&spec));
}

static void add_fields(struct ek_buf *out, int first, int value)
{
    for (int i = first; i < GATES; i += 2)
        ek_buf_printf(out, "\"f%d\":{\"mode\":\"fast\",\"size\":%d,\"list\":[1,2,3]},", i, value);
}

/* A custom resource of 20 kB. value 0: without the gated fields. */
static void add_object(struct ek_buf *out, int value)
{
    size_t start = out->len;

    ek_buf_puts(out, "{\"apiVersion\":\"stable.example.com/v1\",\"kind\":\"CronTab\",\"metadata\":"
                     "{\"name\":\"a\",\"namespace\":\"b\",\"generation\":3},\"spec\":{");
    if (value)
        add_fields(out, 1, value);
    ek_buf_puts(out, "\"tuning\":{");
    if (value)
        add_fields(out, 2, value);
    ek_buf_puts(out, "\"level\":3},\"steps\":[");
    for (int i = 0; out->len - start < OBJECT_SIZE; i++)
        ek_buf_printf(
            out,
            "%s{\"name\":\"step-%d\",\"image\":\"registry.local/tools/step:1.%d\",\"args\":"
            "[\"--input\",\"/data/in\",\"--verbose\"],\"retries\":%d,\"env\":{\"A\":\"x\","
            "\"B\":\"y\"}}",
            i ? "," : "", i, i, i % 5);
    ek_buf_puts(out, "]}}");
}

static void add_review(struct ek_buf *out, int old, int new)
{
    ek_buf_printf(
        out,
        "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
        "\"uid\":\"u\",\"kind\":{\"group\":\"stable.example.com\",\"version\":\"v1\","
        "\"kind\":\"CronTab\"},\"resource\":{\"group\":\"stable.example.com\",\"version\":"
        "\"v1\",\"resource\":\"crontabs\"},\"name\":\"a\",\"namespace\":\"b\",\"operation\":"
        "\"%s\",\"userInfo\":{\"username\":\"x\"},\"object\":",
        old < 0 ? "CREATE" : "UPDATE");
    add_object(out, new);
    ek_buf_puts(out, ",\"oldObject\":");
    if (old < 0)
        ek_buf_puts(out, "null");
    else
        add_object(out, old);
    ek_buf_puts(out, "}}");
}

struct work {
    const struct ek_gates *gates;
    struct ek_buf body;
    struct ek_admission_review review;
    struct ek_arena *arena;
    size_t operations, warnings;
};

static void parse_once(struct work *w)
{
    struct ek_admission_review review;

    if (ek_admission_review_parse(w->body.data, w->body.len, &review, NULL))
        bench_fail("a review cannot be read");
    ek_admission_review_done(&review);
}

static void decide_once(struct work *w)
{
    static const struct ek_gates_shape shape = {.has_status = true};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(&ek_json_alc);
    struct ek_gates_outcome outcome;

    ek_arena_reset(w->arena);
    if (ek_gates_decide(w->gates, &shape, &w->review.request, w->arena, NULL, doc, &outcome,
                        NULL) ||
        !outcome.allowed)
        bench_fail("a decision failed");
    w->operations = yyjson_mut_arr_size(outcome.patch);
    w->warnings = outcome.n_warnings;
    yyjson_mut_doc_free(doc);
}

/* Microseconds of CPU of one call, the best of several rounds. */
static double measure(struct work *w, void (*once)(struct work *w), size_t repeats)
{
    double best = 0;

    for (size_t round = 0; round < repeats; round++) {
        double start = bench_cpu_ms(), now;
        unsigned n = 0;
        do {
            for (int i = 0; i < 50; i++, n++)
                once(w);
            now = bench_cpu_ms();
        } while (now - start < ROUND_MS);
        double each = (now - start) * 1e3 / n;
        best = best == 0 || each < best ? each : best;
    }
    return best;
}

int bench_gates(const struct bench_options *options)
{
    /* old: -1 for none; else the value of the gated fields in it, 0: it does not have them. */
    static const struct {
        const char *name;
        int old, new;
    } writes[] = {
        {"create, untouched", -1, 0},       {"create, suppressed", -1, 1},
        {"update, frozen, the same", 1, 1}, {"update, frozen, changed", 1, 2},
        {"update, frozen, removed", 1, 0},  {"update, suppressed", 0, 1},
    };
    struct work w = {.gates = make_gates(), .arena = ek_arena_new(ARENA_MAX)};

    printf("write                       patch  warnings  decide: us  decisions/s  parse: us  "
           "decide/parse\n");
    for (size_t i = 0; i < EK_ARRAY_SIZE(writes); i++) {
        ek_buf_init(&w.body, 1 << 20);
        add_review(&w.body, writes[i].old, writes[i].new);
        if (ek_admission_review_parse(w.body.data, w.body.len, &w.review, NULL))
            bench_fail("a review cannot be read");
        double parse = measure(&w, parse_once, options->repeats);
        double decide = measure(&w, decide_once, options->repeats);
        printf("%-26s %6zu %9zu %11.2f %12.0f %10.1f %13.3f\n", writes[i].name, w.operations,
               w.warnings, decide, 1e6 / decide, parse, decide / parse);
        ek_admission_review_done(&w.review);
        ek_buf_done(&w.body);
    }
    ek_arena_free(w.arena);
    ek_gates_unref(w.gates);
    return 0;
}
