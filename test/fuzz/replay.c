/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds every file of a corpus to a fuzz entry point, so that it is an ordinary test without
 * libFuzzer. usage: <parser>_fuzz CORPUS; exit 1 when there is no corpus or it is empty.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/mem.h"
#include "api/base/stack.h"
#include "test/fuzz/fuzz.h"

#define FILE_MAX ((size_t)16 * 1024 * 1024)

static int complain(const char *path, const char *what)
{
    fprintf(stderr, "replay: %s: %s\n", path, what);
    return -1;
}

static int replay_file(const char *path)
{
    struct stat st;
    FILE *file = fopen(path, "rb");

    if (!file || fstat(fileno(file), &st) != 0) {
        if (file)
            fclose(file);
        return complain(path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode) || (size_t)st.st_size > FILE_MAX) {
        fclose(file);
        return complain(path, "no file of a size for a corpus");
    }
    /* Exactly as long as the content, so that a sanitizer sees each byte that is read too far. */
    size_t size = (size_t)st.st_size;
    uint8_t *data = ek_xalloc(size);
    size_t got = fread(data, 1, size, file);
    fclose(file);
    if (got == size)
        LLVMFuzzerTestOneInput(data, size);
    ek_free(data);
    return got == size ? 0 : complain(path, "cut short");
}

/* argument: of argv. On the stack of the program's threads, which deep inputs take. */
static int replay(void *argument)
{
    const char *folder = argument;
    DIR *dir = opendir(folder);
    struct dirent *entry;
    size_t n = 0;
    int status = 0;

    if (!dir) {
        fprintf(stderr, "usage: <parser>_fuzz CORPUS: cannot read \"%s\": %s\n", folder,
                strerror(errno));
        return 1;
    }
    while ((entry = readdir(dir)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", folder, entry->d_name);
        if (replay_file(path))
            status = 1;
        n++;
    }
    closedir(dir);
    if (n == 0)
        status = complain(folder, "no files in the corpus") ? 1 : 0;
    printf("replayed %zu files\n", n);
    return status;
}

int main(int argc, char **argv)
{
    static char none[] = "";
    int status = 1;

    if (ek_stack_run(replay, argc == 2 ? argv[1] : none, &status))
        complain("stack", strerror(ENOMEM));
    return status;
}
