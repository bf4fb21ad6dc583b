/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs while the program is built: makes C constants of the files of this folder, without their
 * line feeds. usage: ek-plan-data OUT.c FILE...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "ek-plan-data: %s: %s\n", what, why);
    exit(1);
}

static size_t write_file(FILE *out, const char *path, int number)
{
    FILE *in = fopen(path, "rb");
    size_t n = 0;
    int c;

    if (!in)
        die(path, "cannot be opened");
    fprintf(out, "static const unsigned char file_%d[] = {", number);
    while ((c = fgetc(in)) != EOF)
        if (c != '\n')
            fprintf(out, "%s%d,", n++ % 32 ? "" : "\n", c);
    fputs("\n};\n\n", out);
    if (ferror(in) || !n)
        die(path, "cannot be read");
    fclose(in);
    return n;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        die("usage", "ek-plan-data OUT.c FILE...");
    FILE *out = fopen(argv[1], "w");
    if (!out)
        die(argv[1], "cannot be written");
    fputs("/* Made by ek-plan-data of reconcilers/plan/data. */\n"
          "#include \"reconcilers/plan/data-internal.h\"\n\n",
          out);
    size_t *sizes = calloc((size_t)argc, sizeof *sizes);
    if (!sizes)
        die(argv[1], "no memory");
    for (int i = 2; i < argc; i++)
        sizes[i] = write_file(out, argv[i], i);
    fputs("const struct ek_plan_file ek_plan_embedded[] = {\n", out);
    for (int i = 2; i < argc; i++)
        fprintf(out, "    {(const char *)file_%d, %zuu},\n", i, sizes[i]);
    fprintf(out, "};\nconst size_t ek_plan_n_embedded = %d;\n", argc - 2);
    free(sizes);
    if (ferror(out) || fclose(out))
        die(argv[1], "cannot be written");
    return 0;
}
