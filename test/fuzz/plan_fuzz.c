/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manifest through the checks of a plan: whatever an object holds, findings have a rule, a
 * message and a place in the text, and an API version is rewritten or has a reason why not.
 */
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "api/schema/builtin.h"
#include "api/yaml.h"
#include "api/yaml_place.h"
#include "reconcilers/plan/objects.h"
#include "test/fuzz/fuzz.h"

#define ARENA_LIMIT ((size_t)64 << 20)
#define INPUT_MAX   ((size_t)32 << 10)

static const struct ek_plan_data *plan_data(void)
{
    static struct ek_plan_data data;

    if (!data.n_docs)
        fuzz_require(ek_plan_data_open((struct ek_str){0}, &data, NULL) == 0);
    return &data;
}

static const struct ek_schema *builtin(void)
{
    static struct ek_schema *schema;

    if (!schema)
        fuzz_require(ek_schema_builtin_open(EK_BUILTIN_MINOR_MAX, &schema, NULL) == 0);
    return schema;
}

static size_t line_of(void *ctx, const char *path)
{
    return ek_yaml_line(ctx, path);
}

/* What --fix would replace: octets of the text, and for a plain word the API version itself. */
static void check_octets(struct ek_yaml_places *places, yyjson_val *value, const char *text,
                         size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789./";
    const char *version = ek_json_str(value, "apiVersion", NULL);
    size_t start, len, n = 0;

    if (!ek_yaml_octets(places, "apiVersion", &start, &len))
        return;
    fuzz_require(start <= size && len <= size - start);
    while (n < len && memchr(plain, text[start + n], sizeof plain - 1))
        n++;
    if (version && n == len)
        fuzz_require(strlen(version) == len && !memcmp(version, text + start, len));
}

static void check(yyjson_val *value, struct ek_yaml_places *places, size_t lines,
                  struct ek_minor from, struct ek_minor to)
{
    const struct ek_plan_target target = {plan_data(), from, to};
    const struct ek_plan_object object = {
        .value = value, .source = "manifest", .line = line_of, .ctx = places};
    struct ek_plan_report report = {.arena = ek_arena_new(ARENA_LIMIT)};
    const char *why = NULL;

    ek_plan_check_object(&target, &object, &report);
    for (size_t i = 0; i < report.n; i++) {
        const struct ek_plan_finding *f = &report.list[i];
        fuzz_require(*f->rule && *f->message && *f->remedy && *f->object);
        fuzz_require(f->line >= 1 && f->line <= lines);
    }
    const char *other = ek_plan_rewrite(&target, builtin(), value, report.arena, &why);
    fuzz_require(!other == !!why);
    ek_arena_free(report.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    yyjson_doc *doc = NULL;
    size_t lines = 1;

    if (size > INPUT_MAX || ek_yaml_parse((const char *)data, size, INPUT_MAX, &doc, NULL))
        return 0;
    for (size_t i = 0; i < size; i++)
        lines += data[i] == '\n' || data[i] == '\r' || data[i] >= 0x80;
    struct ek_yaml_places *places = ek_yaml_places_new((const char *)data, size);
    check_octets(places, yyjson_doc_get_root(doc), (const char *)data, size);
    check(yyjson_doc_get_root(doc), places, lines, EK_MINOR(1, 33), EK_MINOR(1, 36));
    check(yyjson_doc_get_root(doc), places, lines, EK_MINOR_UNKNOWN, EK_MINOR(1, 34));
    check(yyjson_doc_get_root(doc), places, lines, EK_MINOR(1, 36), EK_MINOR(1, 37));
    ek_yaml_places_free(places);
    yyjson_doc_free(doc);
    return 0;
}
