/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/plan_fix.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/base/mem.h"

#define OCTETS_MAX ((size_t)1 << 30)

void ek_plan_fixes_done(struct ek_plan_fixes *fixes)
{
    for (size_t i = 0; i < fixes->n; i++) {
        struct ek_plan_fixed_file *file = &fixes->list[i];
        if (file->temporary)
            unlink(file->temporary);
        ek_free(file->temporary);
        ek_free(file->path);
        ek_buf_done(&file->text);
    }
    ek_free(fixes->list);
    *fixes = (struct ek_plan_fixes){0};
}

/* ---- What may be replaced ---- */

static int refuse(const char *path, const char *why, struct ek_err *err)
{
    return ek_err_set(err, EK_E_INVAL, "%s: cannot be rewritten: %s", path, why);
}

/* True when a folder below the one that the user named is a symbolic link. */
static bool passes_link(const char *path, size_t named_len)
{
    EK_AUTOFREE char *part = ek_xstrdup(path);
    struct stat st;

    for (char *p = strchr(part + named_len, '/'); p; p = strchr(p + 1, '/')) {
        *p = '\0';
        if (p > part + named_len && lstat(part, &st) == 0 && S_ISLNK(st.st_mode))
            return true;
        *p = '/';
    }
    return false;
}

static int check_place(const char *path, size_t named_len, const struct stat *st,
                       struct ek_err *err)
{
    if (!S_ISREG(st->st_mode))
        return refuse(path, "no regular file", err);
    if (st->st_nlink > 1)
        return refuse(path, "the file has more than one hard link", err);
    if (passes_link(path, named_len))
        return refuse(path, "a symbolic link to a folder leads to the file", err);
    return 0;
}

int ek_plan_fixes_add(struct ek_plan_fixes *fixes, const char *path, size_t named_len,
                      const struct stat *st, struct ek_buf *text, struct ek_err *err)
{
    int rc = check_place(path, named_len, st, err);
    bool again = false;

    for (size_t i = 0; i < fixes->n; i++)
        again |= fixes->list[i].st.st_dev == st->st_dev && fixes->list[i].st.st_ino == st->st_ino;
    if (!rc && !again && text->len > OCTETS_MAX - fixes->octets)
        rc = ek_err_set(err, EK_E_LIMIT, "%s: too many files have to be rewritten", path);
    if (rc || again) {
        ek_buf_done(text);
        return rc;
    }
    fixes->octets += text->len;
    fixes->list = ek_xrealloc(fixes->list, fixes->n + 1, sizeof *fixes->list);
    fixes->list[fixes->n++] =
        (struct ek_plan_fixed_file){.path = ek_xstrdup(path), .text = *text, .st = *st};
    *text = (struct ek_buf){0};
    return 0;
}

/* ---- Writing ---- */

static int complain(const char *path, int number, struct ek_err *err)
{
    return ek_err_set(err, EK_E_IO, "%s: cannot be rewritten: %s", path, strerror(number));
}

static bool write_all(int fd, const char *p, size_t len)
{
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

/* The owner before the mode, because a change of the owner takes bits off the mode. */
static bool keep_owner_and_mode(int fd, const struct stat *st)
{
    struct stat now;

    return fstat(fd, &now) == 0 &&
           ((now.st_uid == st->st_uid && now.st_gid == st->st_gid) ||
            fchown(fd, st->st_uid, st->st_gid) == 0) &&
           fchmod(fd, st->st_mode & 07777) == 0;
}

static int write_temporary(struct ek_plan_fixed_file *file, struct ek_err *err)
{
    char *temporary = ek_xasprintf("%s.evenkeel-%ld", file->path, (long)getpid());
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0) {
        ek_free(temporary);
        return complain(file->path, errno, err);
    }
    file->temporary = temporary;
    bool good = write_all(fd, ek_buf_str(&file->text), file->text.len) &&
                keep_owner_and_mode(fd, &file->st) && fsync(fd) == 0;
    int number = errno;
    if (close(fd) != 0 && good) {
        number = errno;
        good = false;
    }
    return good ? 0 : complain(file->path, number, err);
}

static int check_unchanged(const struct ek_plan_fixed_file *file, struct ek_err *err)
{
    struct stat now;

    if (lstat(file->path, &now) == 0 && now.st_dev == file->st.st_dev &&
        now.st_ino == file->st.st_ino && now.st_size == file->st.st_size &&
        now.st_mtim.tv_sec == file->st.st_mtim.tv_sec &&
        now.st_mtim.tv_nsec == file->st.st_mtim.tv_nsec)
        return 0;
    return ek_err_set(err, EK_E_CONFLICT, "%s: the file changed while the manifests were read",
                      file->path);
}

/* Makes the rename of a file last; a file system that cannot do this is no error. */
static void sync_folder(const char *path)
{
    EK_AUTOFREE char *folder = ek_xstrdup(path);
    char *slash = strrchr(folder, '/');

    if (slash)
        slash[slash == folder] = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return;
    fsync(fd);
    close(fd);
}

static int replace(struct ek_plan_fixed_file *file, struct ek_err *err)
{
    int rc = check_unchanged(file, err);

    if (rc)
        return rc;
    if (rename(file->temporary, file->path) != 0)
        return complain(file->path, errno, err);
    ek_free(file->temporary);
    file->temporary = NULL;
    sync_folder(file->path);
    return 0;
}

int ek_plan_fixes_write(struct ek_plan_fixes *fixes, struct ek_err *err)
{
    int rc = 0;

    for (size_t i = 0; i < fixes->n && !rc; i++)
        rc = write_temporary(&fixes->list[i], err);
    for (size_t i = 0; i < fixes->n && !rc; i++)
        rc = check_unchanged(&fixes->list[i], err);
    for (size_t i = 0; i < fixes->n && !rc; i++)
        rc = replace(&fixes->list[i], err);
    return rc;
}
