/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading whole small files: kubeconfigs, tokens, certificates, recordings.
 *
 * Blocking, so it belongs into start-up, a worker thread or a one-shot command, never into a
 * callback of the loop. May be called from any thread.
 */
#ifndef INFORMERS_CLIENT_FILE_H
#define INFORMERS_CLIENT_FILE_H

#include <stddef.h>

#include "api/base/err.h"

/*
 * Reads path (a regular file or a pipe) into *ret_data, an owned, NUL-terminated string of
 * *ret_size bytes (ret_size may be NULL). Errors: EK_E_NOENT when there is no such file, EK_E_IO
 * with the system's reason, EK_E_LIMIT beyond max bytes; the message names the path.
 */
int ek_file_read(const char *path, size_t max, char **ret_data, size_t *ret_size,
                 struct ek_err *err);

#endif
