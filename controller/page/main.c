/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs while the program is built: makes C constants of the style and the script of pages.
 * usage: ek-page-files OUT.c STYLE SCRIPT
 */
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void die(const char *what, const char *why)
{
    fprintf(stderr, "ek-page-files: %s: %s\n", what, why);
    exit(1);
}

static void write_file(FILE *out, const char *path, const char *name)
{
    FILE *in = fopen(path, "rb");
    size_t n = 0;
    int c;

    if (!in)
        die(path, "cannot be opened");
    fprintf(out, "const char ek_page_%s[] = {", name);
    while ((c = fgetc(in)) != EOF) {
        if (c >= 0x80 || !c)
            die(path, "is not all ASCII");
        fprintf(out, "%s%d,", n++ % 32 ? "" : "\n", c);
    }
    fputs("\n0};\n\n", out);
    if (ferror(in) || !n)
        die(path, "cannot be read");
    fclose(in);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        die("usage", "ek-page-files OUT.c STYLE SCRIPT");
    FILE *out = fopen(argv[1], "w");
    if (!out)
        die(argv[1], "cannot be written");
    fputs("/* Made by ek-page-files of controller/page. */\n"
          "#include \"controller/page/page-internal.h\"\n\n",
          out);
    write_file(out, argv[2], "style");
    write_file(out, argv[3], "script");
    if (ferror(out) || fclose(out))
        die(argv[1], "cannot be written");
    return 0;
}
