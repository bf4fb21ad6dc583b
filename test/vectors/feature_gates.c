/* SPDX-License-Identifier: Apache-2.0 */
/* Feature gates: a registry in a folder, command lines, settings, and made-up registries. */
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "api/obj.h"
#include "informers/client/file.h"
#include "reconcilers/plan/start.h"
#include "test/vectors/vectors.h"

#define FILE_MAX  ((size_t)64 << 20)
#define ARENA_MAX ((size_t)64 << 20)
#define ARGS_MAX  64

struct state {
    struct ek_arena *arena;
    yyjson_doc *doc;
    struct ek_feature_registry registry;
    struct ek_minor binary;
};

/* The gates that the community release has. */
static yyjson_doc *community(yyjson_val *root)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_val *gate;
    size_t i, n;

    yyjson_mut_doc_set_root(doc, list);
    yyjson_arr_foreach(yyjson_obj_get(root, "gates"), i, n, gate)
    {
        if (!yyjson_get_bool(yyjson_obj_get(gate, "only_in_recorded_binary")))
            yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, gate));
    }
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

static void *open_folder(char **options, int n)
{
    char path[4096], *text = NULL;
    size_t len = 0;
    struct ek_err err = {0};

    if (n != 2 || strcmp(options[0], "--data") != 0) {
        fputs("ek-vectors: feature-gates takes --data DIR\n", stderr);
        return NULL;
    }
    snprintf(path, sizeof path, "%s/feature_gates.json", options[1]);
    yyjson_doc *doc =
        ek_file_read(path, FILE_MAX, &text, &len, &err) ? NULL : ek_json_parse(text, len, &err);
    ek_free(text);
    if (!doc) {
        fprintf(stderr, "ek-vectors: %s: %s\n", path, err.message);
        return NULL;
    }
    struct state *s = ek_xalloc(sizeof *s);
    s->arena = ek_arena_new(ARENA_MAX);
    s->doc = community(yyjson_doc_get_root(doc));
    s->binary = ek_minor_parse(ek_json_str(yyjson_doc_get_root(doc), "binary_version", NULL));
    yyjson_doc_free(doc);
    yyjson_val *gates = yyjson_doc_get_root(s->doc);
    if (ek_feature_registry_read(gates, s->arena, &s->registry, &err) ||
        ek_feature_registry_link(gates, s->arena, &s->registry, &err)) {
        fprintf(stderr, "ek-vectors: %s: %s\n", path, err.message);
        return NULL;
    }
    return s;
}

static void close_state(void *arg)
{
    struct state *s = arg;

    yyjson_doc_free(s->doc);
    ek_arena_free(s->arena);
    ek_free(s);
}

/* ---- Outcomes ---- */

static void add_errors(yyjson_mut_doc *doc, yyjson_mut_val *outcome, const char *stage,
                       const char *const *errors, size_t n)
{
    yyjson_mut_obj_add_str(doc, outcome, "stage", stage);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, outcome, "errors");
    for (size_t i = 0; i < n; i++)
        yyjson_mut_arr_add_strcpy(doc, list, errors[i]);
}

/* What the binary says of problems: it stops at the first unknown gate. */
static void add_problems(yyjson_mut_doc *doc, yyjson_mut_val *outcome,
                         const struct ek_feature_problems *problems)
{
    const char *texts[256];
    size_t n = 0;

    for (size_t i = 0; i < problems->n && n < EK_ARRAY_SIZE(texts); i++)
        texts[n++] = problems->list[i].text;
    for (size_t i = 0; i < problems->n; i++)
        if (problems->list[i].kind == EK_FEATURE_UNKNOWN) {
            texts[0] = problems->list[i].text;
            n = 1;
            break;
        }
    add_errors(doc, outcome, "set", texts, n);
}

static void add_sha256(yyjson_mut_doc *doc, yyjson_mut_val *outcome,
                       const struct ek_features *gates)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    char hex[2 * EVP_MAX_MD_SIZE + 1], line[512];
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();

    EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
    for (size_t i = 0; i < gates->registry->n; i++) {
        const struct ek_feature *gate = &gates->registry->gates[i];
        int len = snprintf(line, sizeof line, "%s=%s\n", gate->name,
                           ek_features_on(gates, gate) ? "true" : "false");
        EVP_DigestUpdate(ctx, line, (size_t)len);
    }
    EVP_DigestFinal_ex(ctx, digest, &size);
    EVP_MD_CTX_free(ctx);
    for (unsigned i = 0; i < size; i++)
        snprintf(hex + (size_t)2 * i, 3, "%02x", digest[i]);
    yyjson_mut_obj_add_strcpy(doc, outcome, "sha256", hex);
}

static void add_values(yyjson_mut_doc *doc, yyjson_mut_val *outcome,
                       const struct ek_features *gates)
{
    char text[EK_MINOR_SIZE];

    yyjson_mut_obj_add_str(doc, outcome, "stage", "ok");
    yyjson_mut_obj_add_strcpy(doc, outcome, "emulation", ek_minor_format(gates->emulation, text));
    yyjson_mut_obj_add_strcpy(doc, outcome, "minCompatibility",
                              ek_minor_format(gates->min_compat, text));
    yyjson_mut_obj_add_uint(doc, outcome, "gates", gates->registry->n);
    yyjson_mut_val *changed = yyjson_mut_obj_add_obj(doc, outcome, "changed");
    for (size_t i = 0; i < gates->registry->n; i++) {
        const struct ek_feature *gate = &gates->registry->gates[i];
        bool on = ek_features_on(gates, gate);
        if (on != ek_feature_spec_at(gate, gates->emulation, gates->min_compat)->on)
            yyjson_mut_obj_add_bool(doc, changed, gate->name, on);
    }
    add_sha256(doc, outcome, gates);
}

/* ---- Kinds of cases ---- */

/* The recorded command has three flags and no other. */
static const char *other_flag(const char *const *args, size_t n)
{
    static const char *const known[] = {"--emulated-version", "--min-compatibility-version",
                                        "--feature-gates"};

    for (size_t i = 0; i < n; i++) {
        bool ours = strncmp(args[i], "--", 2) != 0;
        for (size_t k = 0; k < EK_ARRAY_SIZE(known) && !ours; k++) {
            size_t len = strlen(known[k]);
            ours = !strncmp(args[i], known[k], len) && (!args[i][len] || args[i][len] == '=');
        }
        if (!ours)
            return args[i];
    }
    return NULL;
}

static size_t read_list(yyjson_val *list, const char *ret[ARGS_MAX])
{
    yyjson_val *item;
    size_t i, n, count = 0;

    yyjson_arr_foreach(list, i, n, item)
    {
        if (count < ARGS_MAX && yyjson_is_str(item))
            ret[count++] = yyjson_get_str(item);
    }
    return count;
}

static void answer_flags(const struct state *s, struct ek_arena *arena, yyjson_val *record,
                         yyjson_mut_doc *doc, yyjson_mut_val *outcome)
{
    const char *args[ARGS_MAX];
    size_t n = read_list(yyjson_obj_get(record, "args"), args);
    const char *other = other_flag(args, n);
    struct ek_start start;

    if (other) {
        const char *text =
            ek_arena_printf(arena, "unknown flag: %.*s", (int)strcspn(other, "="), other);
        add_errors(doc, outcome, "parse", &text, 1);
        return;
    }
    ek_start_read(&s->registry, s->binary, args, n, EK_MINOR_UNKNOWN, EK_MINOR_UNKNOWN, arena,
                  &start);
    if (start.stage == EK_START_OK)
        add_values(doc, outcome, &start.gates);
    else if (start.problems.n)
        add_problems(doc, outcome, &start.problems);
    else
        add_errors(doc, outcome,
                   start.stage == EK_START_PARSE ? "parse"
                   : start.stage == EK_START_SET ? "set"
                                                 : "validate",
                   start.errors, start.n_errors);
}

/* Sets each text of the record; false, with the outcome, when one is refused. */
static bool set_all(yyjson_val *record, struct ek_features *gates, yyjson_mut_doc *doc,
                    yyjson_mut_val *outcome)
{
    const char *texts[ARGS_MAX];
    size_t n = read_list(yyjson_obj_get(record, "set"), texts);

    for (size_t i = 0; i < n; i++) {
        struct ek_feature_problems problems;
        ek_features_set(gates, ek_str_from(texts[i]), &problems);
        if (problems.n) {
            add_problems(doc, outcome, &problems);
            return false;
        }
    }
    return true;
}

/* {"Name": [specs]} and {"Name": [names]} as the array that the registry reads. */
static yyjson_doc *as_list(yyjson_val *gates, yyjson_val *dependencies)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *list = yyjson_mut_arr(doc);
    yyjson_val *key, *value;
    size_t i, n;

    yyjson_mut_doc_set_root(doc, list);
    ek_json_each_member(gates, i, n, key, value)
    {
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_val(doc, one, "name", yyjson_val_mut_copy(doc, key));
        yyjson_mut_obj_add_val(doc, one, "specs", yyjson_val_mut_copy(doc, value));
    }
    ek_json_each_member(dependencies, i, n, key, value)
    {
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, list);
        yyjson_mut_obj_add_val(doc, one, "name", yyjson_val_mut_copy(doc, key));
        yyjson_mut_obj_add_val(doc, one, "dependencies", yyjson_val_mut_copy(doc, value));
    }
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(doc, NULL);
    yyjson_mut_doc_free(doc);
    return ret;
}

static void answer_synthetic(yyjson_val *record, struct ek_arena *arena, yyjson_mut_doc *doc,
                             yyjson_mut_val *outcome)
{
    yyjson_val *members = yyjson_obj_get(record, "gates"), *key, *value;
    yyjson_doc *gates_doc = as_list(members, NULL);
    yyjson_doc *links_doc = as_list(NULL, yyjson_obj_get(record, "dependencies"));
    struct ek_feature_registry registry;
    struct ek_features gates;
    struct ek_err err = {0};
    const char *text = err.message;
    size_t i, n;

    if (ek_feature_registry_read(yyjson_doc_get_root(gates_doc), arena, &registry, &err)) {
        add_errors(doc, outcome, "add", &text, 1);
    } else if (ek_feature_registry_link(yyjson_doc_get_root(links_doc), arena, &registry, &err)) {
        add_errors(doc, outcome, "dependencies", &text, 1);
    } else {
        ek_features_init(&gates, &registry, arena,
                         ek_minor_parse(ek_json_str(record, "emulation", NULL)),
                         ek_minor_parse(ek_json_str(record, "minCompatibility", NULL)));
        if (set_all(record, &gates, doc, outcome)) {
            yyjson_mut_obj_add_str(doc, outcome, "stage", "ok");
            yyjson_mut_val *enabled = yyjson_mut_obj_add_obj(doc, outcome, "enabled");
            yyjson_mut_val *stages = yyjson_mut_obj_add_obj(doc, outcome, "preRelease");
            ek_json_each_member(members, i, n, key, value)
            {
                const struct ek_feature *gate =
                    ek_feature_find(&registry, ek_str_from(yyjson_get_str(key)));
                const struct ek_feature_spec *spec =
                    ek_feature_spec_at(gate, gates.emulation, gates.min_compat);
                yyjson_mut_obj_add_bool(doc, enabled, gate->name, ek_features_on(&gates, gate));
                yyjson_mut_obj_add_str(doc, stages, gate->name, ek_feature_stage_name(spec->stage));
            }
        }
    }
    yyjson_doc *copy = yyjson_mut_val_imut_copy(outcome, NULL); /* names are the arena's */
    yyjson_mut_obj_clear(outcome);
    ek_json_each_member(yyjson_doc_get_root(copy), i, n, key, value)
    {
        yyjson_mut_obj_add(outcome, yyjson_val_mut_copy(doc, key), yyjson_val_mut_copy(doc, value));
    }
    yyjson_doc_free(copy);
    yyjson_doc_free(gates_doc);
    yyjson_doc_free(links_doc);
}

/* The row of a gate at a version, the same for each of its minimum compatibility versions. */
static bool answer_default(const struct state *s, yyjson_val *record, yyjson_mut_doc *doc,
                           yyjson_mut_val *answer)
{
    struct ek_minor emulation = ek_minor_parse(ek_json_str(record, "emulation", NULL));
    const struct ek_feature *gate =
        ek_feature_find(&s->registry, ek_str_from(ek_json_str(record, "gate", NULL)));
    const char *compat[ARGS_MAX];
    size_t n = read_list(yyjson_obj_get(record, "minCompatibility"), compat);
    const struct ek_feature_spec *spec = NULL;

    for (size_t i = 0; i < n && gate; i++) {
        const struct ek_feature_spec *other =
            ek_feature_spec_at(gate, emulation, ek_minor_parse(compat[i]));
        if (spec && spec != other)
            return false;
        spec = other;
    }
    if (!spec)
        return false;
    yyjson_mut_obj_add_bool(doc, answer, "known", spec->stage != EK_FEATURE_PRE_ALPHA);
    yyjson_mut_obj_add_bool(doc, answer, "enabled", spec->on);
    yyjson_mut_obj_add_bool(doc, answer, "locked", spec->locked);
    yyjson_mut_obj_add_str(doc, answer, "preRelease", ek_feature_stage_name(spec->stage));
    return true;
}

static bool answer_case(void *state, yyjson_val *record, yyjson_mut_doc *doc,
                        yyjson_mut_val *answer)
{
    const struct state *s = state;
    yyjson_val *kind = yyjson_obj_get(record, "kind");
    struct ek_features gates;

    if (yyjson_equals_str(kind, "default"))
        return answer_default(s, record, doc, answer);
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    yyjson_mut_val *outcome = yyjson_mut_obj_add_obj(doc, answer, "outcome");
    bool known = true;
    if (yyjson_equals_str(kind, "flags")) {
        answer_flags(s, arena, record, doc, outcome);
    } else if (yyjson_equals_str(kind, "set")) {
        ek_features_init(&gates, &s->registry, arena,
                         ek_minor_parse(ek_json_str(record, "emulation", NULL)),
                         ek_minor_parse(ek_json_str(record, "minCompatibility", NULL)));
        if (set_all(record, &gates, doc, outcome))
            add_values(doc, outcome, &gates);
    } else if (yyjson_equals_str(kind, "synthetic")) {
        answer_synthetic(record, arena, doc, outcome);
    } else {
        known = false;
    }
    ek_arena_free(arena);
    return known;
}

const struct ek_vectors_subject ek_vectors_feature_gates = {
    .name = "feature-gates",
    .options = "--data DIR",
    .some_without_id = true,
    .open = open_folder,
    .close = close_state,
    .answer = answer_case,
};
