/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files that `evenkeel plan --fix` changes. Their new texts are kept until all files were
 * checked, so that no file is changed when a file cannot be read. Blocking; one thread.
 */
#ifndef CONTROLLER_COMMANDS_PLAN_FIX_H
#define CONTROLLER_COMMANDS_PLAN_FIX_H

#include <stddef.h>
#include <sys/stat.h>

#include "api/base/buf.h"
#include "api/base/err.h"

struct ek_plan_fixed_file {
    char *path;
    struct ek_buf text; /* as the file will be */
    struct stat st;     /* as the file was when it was read */
    char *temporary;    /* a file with the new text; NULL before it is made and after the rename */
};

struct ek_plan_fixes {
    struct ek_plan_fixed_file *list;
    size_t n, octets;
};

void ek_plan_fixes_done(struct ek_plan_fixes *fixes);

/*
 * Keeps text, which is taken over also after an error, for the file path, whose state before it was
 * read is st (of lstat). The first named_len octets of path are what the user named. EK_E_INVAL for
 * a file that must not be replaced: no regular file, more than one hard link, a symbolic link to a
 * folder on the way from the folder that the user named. EK_E_LIMIT when all texts are too large. A
 * file that is there already, under any name, is not kept again.
 */
int ek_plan_fixes_add(struct ek_plan_fixes *fixes, const char *path, size_t named_len,
                      const struct stat *st, struct ek_buf *text, struct ek_err *err);

/*
 * Replaces the files: each as a whole, with its mode and its owner, and on the disk before the
 * return. The new texts of all files are written before the first file is replaced. EK_E_IO with
 * the reason of the system; EK_E_CONFLICT for a file that changed since it was read.
 */
int ek_plan_fixes_write(struct ek_plan_fixes *fixes, struct ek_err *err);

#endif
