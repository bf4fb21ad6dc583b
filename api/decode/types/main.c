/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs while the program is built: makes C constants of the table of Go types. usage:
 * ek-go-types builtin_types.txt OUT.c
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINOR_MIN 33
#define MINOR_MAX 36

/* The words of a line; the last one may hold blanks. */
#define WORDS_MAX 6

static const char *const scalars[] = {"bool", "int32",     "int64",    "float64", "string", "bytes",
                                      "time", "microtime", "quantity", "intstr",  "raw"};

static const char *const forms[] = {"EK_GO_BOOL",    "EK_GO_INT32",     "EK_GO_INT64",
                                    "EK_GO_FLOAT64", "EK_GO_STRING",    "EK_GO_BYTES",
                                    "EK_GO_TIME",    "EK_GO_MICROTIME", "EK_GO_QUANTITY",
                                    "EK_GO_INTSTR",  "EK_GO_RAW"};

/* What stands before the name of another type. */
static const struct {
    const char *text, *form;
} prefixes[] = {{"*", "EK_GO_POINTER"},       {"[]", "EK_GO_SLICE"},
                {"map:", "EK_GO_MAP"},        {"boolor:", "EK_GO_BOOL_OR"},
                {"listor:", "EK_GO_LIST_OR"}, {"stringsor:", "EK_GO_STRINGS_OR"}};

#define N_SCALARS (sizeof scalars / sizeof scalars[0])

struct type {
    const char *text; /* "[]core/v1.Container" */
    const char *form;
    size_t of;
};

static const char **structs; /* names, sorted as in the file */
static size_t n_structs, n_types;
static struct type *types;

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "ek-go-types: %s: %s\n", what, why);
    exit(1);
}

static char *read_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    size_t len = 0, cap = 1 << 20;
    char *text = malloc(cap);

    if (!in || !text)
        die(path, "cannot be opened");
    for (size_t n; (n = fread(text + len, 1, cap - 1 - len, in)) > 0;) {
        len += n;
        if (len + 1 == cap) {
            cap *= 2;
            text = realloc(text, cap);
            if (!text)
                die(path, "no memory");
        }
    }
    fclose(in);
    text[len] = '\0';
    return text;
}

/* Splits a line at blanks into at most WORDS_MAX words, the first of which may be ""; returns how
 * many. */
static size_t split(char *line, char *words[WORDS_MAX])
{
    size_t n = 0;

    words[n++] = line;
    while (n < WORDS_MAX) {
        char *blank = strchr(line, ' ');
        if (!blank)
            break;
        *blank = '\0';
        line = blank + 1;
        words[n++] = line;
    }
    return n;
}

/* Reads "33,35-36" as bits. */
static unsigned minors(char *text)
{
    unsigned ret = 0;

    for (char *at = text; *at; at += *at == ',') {
        unsigned long first = strtoul(at, &at, 10),
                      last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
        if (first < MINOR_MIN || last > MINOR_MAX || last < first)
            die(text, "these are no versions of this program");
        for (unsigned long m = first; m <= last; m++)
            ret |= 1u << (m - MINOR_MIN);
    }
    return ret;
}

static size_t struct_index(const char *name)
{
    for (size_t i = 0; i < n_structs; i++)
        if (!strcmp(structs[i], name))
            return i;
    die(name, "no such type");
}

/* The index of a type, which is added when it is new. */
static size_t type_index(const char *text)
{
    struct type type = {text, "EK_GO_STRUCT", 0};

    for (size_t i = 0; i < n_types; i++)
        if (!strcmp(types[i].text, text))
            return i;
    for (size_t i = 0; i < N_SCALARS; i++)
        if (!strcmp(scalars[i], text))
            type.form = forms[i];
    for (size_t i = 0; i < sizeof prefixes / sizeof prefixes[0]; i++) {
        size_t len = strlen(prefixes[i].text);
        if (!strncmp(prefixes[i].text, text, len)) {
            type.form = prefixes[i].form;
            type.of = type_index(text + len);
        }
    }
    if (!strcmp(text, "resources")) {
        type.form = "EK_GO_RESOURCES";
        type.of = type_index("quantity");
    } else if (!strcmp(type.form, "EK_GO_STRUCT")) {
        type.of = struct_index(text);
    }
    types = realloc(types, (n_types + 1) * sizeof *types);
    if (!types)
        die(text, "no memory");
    types[n_types] = type;
    return n_types++;
}

static void print_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        fprintf(out, *text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    fputc('"', out);
}

static void write_field(FILE *out, char *words[WORDS_MAX], size_t n)
{
    if (n < 4)
        die(words[0], "a field has versions, a name, a type and flags");
    fputs("    {", out);
    print_string(out, words[1]);
    fputs(", ", out);
    if (n > 4)
        print_string(out, words[4]);
    else
        fputs("NULL", out);
    fprintf(out, ", %zu, %u, %u},\n", type_index(words[2]), minors(words[0]),
            (strchr(words[3], 'o') ? 1u : 0u) | (strchr(words[3], 'z') ? 2u : 0u));
}

static void write_kind(FILE *out, char *words[WORDS_MAX], size_t n)
{
    char *slash = n == 5 ? strchr(words[2], '/') : NULL;

    if (!slash)
        die(words[0], "a kind has versions, a group and version, a name and a type");
    *slash = '\0';
    fprintf(out, "    {\"%s\", \"%s\", \"%s\", %zu, %u},\n", strcmp(words[2], "-") ? words[2] : "",
            slash + 1, words[3], struct_index(words[4]), minors(words[1]));
}

/* The lines of the file, without comments; sets *ret_n. */
static char **lines_of(char *text, size_t *ret_n)
{
    char **lines = NULL;
    size_t n = 0;

    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        if (*line == '#')
            continue;
        lines = realloc(lines, (n + 1) * sizeof *lines);
        if (!lines)
            die("the table", "no memory");
        lines[n++] = line;
    }
    *ret_n = n;
    return lines;
}

static void find_structs(char **lines, size_t n)
{
    const char *last = "";

    structs = calloc(n + 1, sizeof *structs);
    if (!structs)
        die("the table", "no memory");
    for (size_t i = 0; i < n; i++) {
        if (strncmp(lines[i], "type ", 5) != 0)
            continue;
        if (strcmp(last, lines[i] + 5) >= 0)
            die(lines[i] + 5, "the types are not sorted");
        structs[n_structs++] = lines[i] + 5;
        last = lines[i] + 5;
    }
}

static void write_all(FILE *out, char **lines, size_t n)
{
    size_t *first = calloc(n_structs + 1, sizeof *first);
    size_t n_fields = 0, at = 0, n_kinds = 0;
    char *words[WORDS_MAX];

    if (!first)
        die("the table", "no memory");
    fputs("/* Made by ek-go-types of api/decode. */\n#include \"api/decode/builtin-internal.h\"\n\n"
          "const struct ek_go_kind ek_go_kinds[] = {\n",
          out);
    for (size_t i = 0; i < n; i++)
        if (!strncmp(lines[i], "kind ", 5) && ++n_kinds)
            write_kind(out, words, split(lines[i], words));
    fputs("};\n\nconst struct ek_go_field ek_go_fields[] = {\n", out);
    for (size_t i = 0; i < n; i++) {
        if (!strncmp(lines[i], "type ", 5)) {
            first[at++] = n_fields;
        } else if (strncmp(lines[i], "kind", 4) != 0) {
            write_field(out, words, split(lines[i], words));
            n_fields++;
        }
    }
    first[at] = n_fields;
    fputs("};\n\nconst struct ek_go_struct ek_go_structs[] = {\n", out);
    for (size_t i = 0; i < n_structs; i++)
        fprintf(out, "    {\"%s\", %zu, %zu},\n", structs[i], first[i], first[i + 1] - first[i]);
    fputs("};\n\nconst struct ek_go_type ek_go_types[] = {\n", out);
    for (size_t i = 0; i < n_types; i++)
        fprintf(out, "    {%s, %zu},\n", types[i].form, types[i].of);
    fprintf(out, "};\n\nconst size_t ek_go_n_structs = %zu, ek_go_n_kinds = %zu;\n", n_structs,
            n_kinds);
    free(first);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        die("usage", "ek-go-types builtin_types.txt OUT.c");
    char *text = read_file(argv[1]);
    size_t n;
    char **lines = lines_of(text, &n);
    FILE *out = fopen(argv[2], "w");
    if (!out)
        die(argv[2], "cannot be written");
    find_structs(lines, n);
    write_all(out, lines, n);
    free(lines);
    free(structs);
    free(types);
    free(text);
    if (ferror(out) || fclose(out))
        die(argv[2], "cannot be written");
    return 0;
}
