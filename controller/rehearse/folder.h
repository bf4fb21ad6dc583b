/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The temporary folder of a rehearsal, 0700, which no end of the process leaves behind.
 *
 * The folder is locked (flock of the folder) while its rehearsal lives. A process of its own, the
 * keeper, waits until the rehearsal ends, also by SIGKILL, and then removes the folder. Where the
 * keeper was killed as well, the next rehearsal removes the folder, because nothing locks it.
 * Threading: one thread; to be opened before the process has another one, because it forks.
 */
#ifndef CONTROLLER_REHEARSE_FOLDER_H
#define CONTROLLER_REHEARSE_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

#include "api/base/err.h"
#include "api/base/mem.h"

struct ek_rehearse_folder {
    char path[PATH_MAX]; /* "" while none is open */
    int fd;              /* of the folder, with the lock */
    int keeper_end;      /* the keeper wakes up when all ends of this pipe are closed */
    pid_t keeper;        /* 0 where the keeper is a child of another process */
};

/* Removes what dead rehearsals of this user left in parent, and makes a folder there. Close the
 * folder after success. Errors: EK_E_IO with the reason of the system. */
int ek_rehearse_folder_open(const char *parent, struct ek_rehearse_folder *ret_folder,
                            struct ek_err *err);

/* Removes the folder; a zeroed struct is fine. False where the folder cannot be removed in some
 * seconds, and stays. */
bool ek_rehearse_folder_close(struct ek_rehearse_folder *folder);

/* Writes text (NUL-terminated) to a new file of the folder, 0600. The path is put into ret_path,
 * owned; NULL after an error, EK_E_IO. */
int ek_rehearse_folder_write(const struct ek_rehearse_folder *folder, const char *name,
                             const char *text, char **ret_path, struct ek_err *err);

/* Copies the file at path, which is opened for reading alone, into the folder under name. Errors
 * as of ek_rehearse_folder_write; the message names the path. */
int ek_rehearse_folder_copy(const struct ek_rehearse_folder *folder, const char *path,
                            const char *name, char **ret_path, struct ek_err *err);

#endif
