/* SPDX-License-Identifier: Apache-2.0 */
#include "informers/client/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/base/buf.h"

static int read_all(int fd, const char *path, struct ek_buf *out, struct ek_err *err)
{
    char chunk[16384];

    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n == 0)
            return 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ek_err_set(err, EK_E_IO, "cannot read %s: %s", path, strerror(errno));
        int rc = ek_buf_append(out, chunk, (size_t)n);
        if (rc == EK_E_LIMIT)
            return ek_err_set(err, rc, "%s is larger than %zu bytes", path, out->max);
        if (rc)
            return ek_err_set(err, rc, "%s: out of memory", path);
    }
}

int ek_file_read(const char *path, size_t max, char **ret_data, size_t *ret_size,
                 struct ek_err *err)
{
    EK_AUTO(ek_buf) content;

    ek_buf_init(&content, max);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ek_err_set(err, errno == ENOENT ? EK_E_NOENT : EK_E_IO, "cannot open %s: %s", path,
                          strerror(errno));
    int rc = read_all(fd, path, &content, err);
    close(fd);
    if (rc)
        return rc;
    if (ret_size)
        *ret_size = content.len;
    *ret_data = ek_buf_steal(&content);
    return 0;
}
