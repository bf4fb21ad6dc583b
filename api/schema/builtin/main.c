/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs while the program is built: makes C constants of the built-in kinds, components.jsonl and
 * resources.txt. usage: ek-builtin FOLDER OUT.c
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/schema/builtin/builtin-internal.h"

#define PREFIX    "#/components/schemas/"
#define LINE_SIZE ((size_t)4 << 20)

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "ek-builtin: %s: %s\n", what, why);
    exit(1);
}

static FILE *open_in(const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "r");
    if (!f)
        die(path, "cannot be opened");
    return f;
}

/* "33-34,36" as bits. */
static unsigned read_minors(const char *text)
{
    unsigned bits = 0;

    while (*text) {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (end == text || first < 1 || last < first || last > 99 || (*end && *end != ','))
            die(text, "these are no versions");
        for (long m = first; m <= last; m++)
            if (m >= EK_BUILTIN_MINOR_MIN && m <= EK_BUILTIN_MINOR_MAX)
                bits |= 1u << (m - EK_BUILTIN_MINOR_MIN);
        text = *end ? end + 1 : end;
    }
    return bits;
}

/* Adds each component to the documents of the versions that have it. */
static void read_components(const char *folder, yyjson_mut_doc *doc,
                            yyjson_mut_val *schemas[EK_BUILTIN_VERSIONS])
{
    FILE *f = open_in(folder, "components.jsonl");
    EK_AUTOFREE char *line = ek_xalloc(LINE_SIZE);

    while (fgets(line, (int)LINE_SIZE, f)) {
        struct ek_err err;
        yyjson_doc *one = ek_json_parse(line, strlen(line), &err);
        if (!one)
            die("components.jsonl", err.message);
        yyjson_val *root = yyjson_doc_get_root(one);
        const char *minors = ek_json_str(root, "in", NULL), *name = ek_json_str(root, "name", NULL);
        if (!minors || !name)
            die("components.jsonl", "a line has no versions or no name");
        unsigned bits = read_minors(minors);
        for (size_t i = 0; i < EK_BUILTIN_VERSIONS; i++)
            if (bits >> i & 1u)
                yyjson_mut_obj_add(schemas[i], yyjson_mut_strcpy(doc, name),
                                   yyjson_val_mut_copy(doc, yyjson_obj_get(root, "schema")));
        yyjson_doc_free(one);
    }
    fclose(f);
}

static void write_image(FILE *out, yyjson_mut_val *schemas, size_t version)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    struct ek_schema *schema = NULL;
    struct ek_err err = {0};
    size_t size;

    yyjson_mut_obj_add_val(doc, yyjson_mut_obj_add_obj(doc, root, "components"), "schemas",
                           yyjson_mut_val_mut_copy(doc, schemas));
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *document = yyjson_mut_doc_imut_copy(doc, NULL);
    if (ek_schema_compile(yyjson_doc_get_root(document), &schema, &err))
        die("components.jsonl", err.message);
    const unsigned char *image = ek_schema_image(schema, &size);
    fprintf(out, "static const uint64_t image_%zu[] = {", version + EK_BUILTIN_MINOR_MIN);
    for (size_t i = 0; i < size; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, image + i, size - i < sizeof word ? size - i : sizeof word);
        fprintf(out, "%s0x%" PRIx64 "u,", i % 64 ? "" : "\n", word);
    }
    fprintf(out, "\n};\n#define SIZE_%zu %zuu\n\n", version + EK_BUILTIN_MINOR_MIN, size);
    ek_schema_unref(schema);
    yyjson_doc_free(document);
    yyjson_mut_doc_free(doc);
}

static void write_resources(FILE *out, const char *folder)
{
    FILE *f = open_in(folder, "resources.txt");
    char line[1024], w[8][128];
    size_t n = 0;

    fputs("const struct ek_builtin_resource ek_builtin_resource_table[] = {\n", out);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "%127s %127s %127s %127s %127s %127s %127s %127s", w[0], w[1], w[2], w[3],
                   w[4], w[5], w[6], w[7]) != 8)
            die("resources.txt", line);
        for (int i = 1; i < 7; i++)
            if (!strcmp(w[i], "-"))
                w[i][0] = '\0';
        fprintf(out, "    {%uu, \"%s\", \"%s\", \"%s\", \"%s\", \"%s\", \"%s\", %s},\n",
                read_minors(w[0]), w[1], w[2], w[3], w[4], w[5], w[6],
                strcmp(w[7], "Namespaced") ? "false" : "true");
        n++;
    }
    fprintf(out, "};\nconst size_t ek_builtin_resource_count = %zu;\n", n);
    fclose(f);
}

int main(int argc, char **argv)
{
    yyjson_mut_val *schemas[EK_BUILTIN_VERSIONS];

    if (argc != 3)
        die("usage", "ek-builtin FOLDER OUT.c");
    FILE *out = fopen(argv[2], "w");
    if (!out)
        die(argv[2], "cannot be written");
    yyjson_mut_doc *doc = ek_json_doc_new();
    for (size_t i = 0; i < EK_BUILTIN_VERSIONS; i++)
        schemas[i] = yyjson_mut_obj(doc);
    read_components(argv[1], doc, schemas);
    fputs("/* Made by ek-builtin of api/schema/builtin. */\n"
          "#include \"api/schema/builtin/builtin-internal.h\"\n\n",
          out);
    for (size_t i = 0; i < EK_BUILTIN_VERSIONS; i++)
        write_image(out, schemas[i], i);
    fputs("const struct ek_builtin_image ek_builtin_images[EK_BUILTIN_VERSIONS] = {\n", out);
    for (int m = EK_BUILTIN_MINOR_MIN; m <= EK_BUILTIN_MINOR_MAX; m++)
        fprintf(out, "    {image_%d, SIZE_%d},\n", m, m);
    fputs("};\n\n", out);
    write_resources(out, argv[1]);
    yyjson_mut_doc_free(doc);
    if (ferror(out) || fclose(out))
        die(argv[2], "cannot be written");
    return 0;
}
