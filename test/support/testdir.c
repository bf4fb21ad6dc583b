/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/testdir.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/base/mem.h"

static void must(int ok, const char *what)
{
    if (!ok) {
        perror(what);
        abort();
    }
}

void testdir_make(char path[TESTDIR_SIZE])
{
    snprintf(path, TESTDIR_SIZE, "/tmp/ek-test-XXXXXX");
    must(mkdtemp(path) != NULL, path);
}

void testdir_put(const char *path, const char *name, const char *text, int mode)
{
    EK_AUTOFREE char *full = ek_xasprintf("%s/%s", path, name);
    EK_AUTOFREE char *temporary = ek_xasprintf("%s.new", full);

    for (char *p = full + strlen(path) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0700);
        *p = '/';
    }
    FILE *file = fopen(temporary, "w");
    must(file != NULL, temporary);
    fputs(text, file);
    must(fclose(file) == 0 && chmod(temporary, (mode_t)mode) == 0, temporary);
    must(rename(temporary, full) == 0, full);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void testdir_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
