/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/rehearse/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX     "evenkeel-rehearse-"
#define DIGITS     16
#define OPEN_FILES 16
#define TRIES      100
#define PAUSE_MS   20

static int io_error(struct ek_err *err, const char *path)
{
    return ek_err_set(err, EK_E_IO, "%s: %s", path, strerror(errno));
}

/* ---- Removal ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    bool folder = type == FTW_D || type == FTW_DP || type == FTW_DNR;

    (void)st;
    (void)ftw;
    /* What is left makes the folder stay, and the caller tries again: one that may be entered. */
    if (remove(path) != 0 && folder)
        chmod(path, S_IRWXU);
    return 0;
}

/* Servers that are being killed may write for a moment. */
static void remove_tree(const char *path)
{
    struct stat st;

    for (int i = 0; i < TRIES && lstat(path, &st) == 0; i++) {
        if (i)
            poll(NULL, 0, PAUSE_MS);
        nftw(path, remove_one, OPEN_FILES, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    }
}

/* A lock on a folder of ours; -1 when another process has it, or the folder is not ours. */
static int lock_folder(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && (fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
                    (st.st_mode & ALLPERMS) != S_IRWXU || flock(fd, LOCK_EX | LOCK_NB) != 0)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* The name that make_folder makes. */
static bool is_ours(const char *name)
{
    return !strncmp(name, PREFIX, sizeof PREFIX - 1) &&
           strlen(name) == sizeof PREFIX - 1 + DIGITS &&
           strspn(name + sizeof PREFIX - 1, "0123456789abcdef") == DIGITS;
}

static void remove_dead(const char *parent)
{
    DIR *dir = opendir(parent);
    struct dirent *entry;

    while (dir && (entry = readdir(dir))) {
        if (!is_ours(entry->d_name))
            continue;
        EK_AUTOFREE char *path = ek_xasprintf("%s/%s", parent, entry->d_name);
        int fd = lock_folder(path);
        if (fd < 0)
            continue;
        remove_tree(path);
        close(fd);
    }
    if (dir)
        closedir(dir);
}

/* ---- The keeper ---- */

/* Ends when the rehearsal has ended, however it ended. */
__attribute__((noreturn)) static void keep(const char *path, int end)
{
    char octet;
    int null = open("/dev/null", O_RDWR);

    setsid();
    prctl(PR_SET_NAME, "ek-keeper");
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    while (read(end, &octet, 1) < 0 && errno == EINTR)
        ;
    remove_tree(path);
    _exit(0);
}

static int start_keeper(struct ek_rehearse_folder *folder, struct ek_err *err)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return io_error(err, "a pipe");
    fflush(NULL);
    folder->keeper = fork();
    if (folder->keeper == 0) {
        close(ends[1]);
        keep(folder->path, ends[0]);
    }
    close(ends[0]);
    folder->keeper_end = ends[1];
    if (folder->keeper > 0)
        return 0;
    io_error(err, "fork");
    close(ends[1]);
    return EK_E_IO;
}

/* ---- The folder ---- */

/* Makes a folder that no other rehearsal can take for a dead one: locked, and still there. */
static bool make_folder(const char *parent, struct ek_rehearse_folder *folder)
{
    struct stat by_fd, by_path;
    unsigned char random[8];

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    int n = snprintf(folder->path, sizeof folder->path,
                     "%s/" PREFIX "%02x%02x%02x%02x%02x%02x%02x%02x", parent, random[0], random[1],
                     random[2], random[3], random[4], random[5], random[6], random[7]);
    if (n < 0 || (size_t)n >= sizeof folder->path || mkdir(folder->path, S_IRWXU) != 0)
        return false;
    folder->fd = lock_folder(folder->path);
    bool made = folder->fd >= 0 && fstat(folder->fd, &by_fd) == 0 &&
                lstat(folder->path, &by_path) == 0 && by_fd.st_ino == by_path.st_ino;
    if (!made && folder->fd >= 0)
        close(folder->fd);
    return made;
}

int ek_rehearse_folder_open(const char *parent, struct ek_rehearse_folder *ret_folder,
                            struct ek_err *err)
{
    struct ek_rehearse_folder folder = {.fd = -1, .keeper_end = -1};
    bool made = false;

    *ret_folder = (struct ek_rehearse_folder){0};
    remove_dead(parent);
    for (int i = 0; i < TRIES && !made; i++)
        made = make_folder(parent, &folder);
    if (!made)
        return io_error(err, parent);
    int rc = start_keeper(&folder, err);
    if (rc) {
        remove_tree(folder.path);
        close(folder.fd);
        return rc;
    }
    *ret_folder = folder;
    return 0;
}

bool ek_rehearse_folder_close(struct ek_rehearse_folder *folder)
{
    struct stat st;

    if (!*folder->path)
        return true;
    remove_tree(folder->path);
    close(folder->keeper_end);
    while (folder->keeper > 0 && waitpid(folder->keeper, NULL, 0) < 0 && errno == EINTR)
        ;
    bool gone = lstat(folder->path, &st) != 0;
    close(folder->fd);
    *folder = (struct ek_rehearse_folder){0};
    return gone;
}

/* ---- Files ---- */

static int make_file(const struct ek_rehearse_folder *folder, const char *name, char **ret_path,
                     struct ek_err *err)
{
    char *path = ek_xasprintf("%s/%s", folder->path, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);

    *ret_path = NULL;
    if (fd >= 0) {
        *ret_path = path;
        return fd;
    }
    io_error(err, path);
    ek_free(path);
    return -1;
}

static bool write_all(int fd, const char *data, size_t len)
{
    while (len) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return false;
        data += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static int end_file(int fd, bool written, char **path, struct ek_err *err)
{
    int rc = written ? 0 : io_error(err, *path);

    close(fd);
    if (rc) {
        ek_free(*path);
        *path = NULL;
    }
    return rc;
}

int ek_rehearse_folder_write(const struct ek_rehearse_folder *folder, const char *name,
                             const char *text, char **ret_path, struct ek_err *err)
{
    int fd = make_file(folder, name, ret_path, err);

    return fd < 0 ? EK_E_IO : end_file(fd, write_all(fd, text, strlen(text)), ret_path, err);
}

int ek_rehearse_folder_copy(const struct ek_rehearse_folder *folder, const char *path,
                            const char *name, char **ret_path, struct ek_err *err)
{
    static const size_t size = (size_t)1 << 20;
    EK_AUTOFREE char *piece = ek_xalloc(size);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;
    bool good = true;

    *ret_path = NULL;
    if (from < 0)
        return io_error(err, path);
    int fd = make_file(folder, name, ret_path, err);
    while (fd >= 0 && good && (n = read(from, piece, size)) != 0)
        good = n > 0 ? write_all(fd, piece, (size_t)n) : errno == EINTR;
    int rc = fd < 0 ? EK_E_IO : n < 0 ? io_error(err, path) : 0;
    close(from);
    if (fd < 0 || !rc)
        return fd < 0 ? rc : end_file(fd, good, ret_path, err);
    end_file(fd, false, ret_path, NULL);
    return rc;
}
