/* SPDX-License-Identifier: Apache-2.0 */
/* The temporary folder: who may read it, what is removed, and what is not. */
#include "controller/rehearse/folder.h"

#include <grp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/support/suite.h"
#include "test/support/testdir.h"

#define NOBODY 65534
#define OURS   "evenkeel-rehearse-0123456789abcdef"

static char top[TESTDIR_SIZE], parent[TESTDIR_SIZE + 8];

static void setup_all(void)
{
    testdir_make(top);
    ck_assert_int_eq(chmod(top, 0777), 0);
}

static void teardown_all(void)
{
    testdir_remove(top);
}

/* As a user whom modes concern. */
static void setup(void)
{
    if (geteuid() == 0) {
        ck_assert_int_eq(setgroups(0, NULL), 0);
        ck_assert_int_eq(setresgid(NOBODY, NOBODY, NOBODY), 0);
        ck_assert_int_eq(setresuid(NOBODY, NOBODY, NOBODY), 0);
        prctl(PR_SET_DUMPABLE, 1); /* for sanitizers */
    }
    snprintf(parent, sizeof parent, "%s/tmp", top);
    ck_assert_int_eq(mkdir(parent, 0700), 0);
}

static void teardown(void)
{
    testdir_remove(parent);
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static unsigned mode_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

static const struct {
    const char *name;
    mode_t mode;
    bool removed;
} rows[] = {
    {OURS, 0700, true},
    {OURS, 0750, false}, /* of somebody else, who made it look like ours */
    {OURS "0", 0700, false},
    {"evenkeel-rehearse-0123456789abcde", 0700, false},
    {"evenkeel-rehearse-0123456789abcdeg", 0700, false},
    {"evenkeel-rehearse", 0700, false},
};

START_TEST(dead_row)
{
    EK_AUTOFREE char *dead = ek_xasprintf("%s/%s", parent, rows[_i].name);
    EK_AUTOFREE char *closed = ek_xasprintf("%s/closed", dead);
    EK_AUTOFREE char *file = ek_xasprintf("%s/closed/file", rows[_i].name);
    struct ek_rehearse_folder folder;
    struct ek_err err = {0};

    testdir_put(parent, file, "x", 0000);
    ck_assert_int_eq(chmod(closed, 0000), 0);
    ck_assert_int_eq(chmod(dead, rows[_i].mode), 0);
    ck_assert_int_eq(ek_rehearse_folder_open(parent, &folder, &err), 0);
    ck_assert_msg(exists(dead) == !rows[_i].removed, "%s", rows[_i].name);
    ck_assert(ek_rehearse_folder_close(&folder));
    if (!rows[_i].removed)
        chmod(closed, 0700);
}
END_TEST

START_TEST(modes)
{
    struct ek_rehearse_folder folder, other;
    EK_AUTOFREE char *written = NULL;
    EK_AUTOFREE char *copied = NULL;
    struct ek_err err = {0};

    umask(0);
    ck_assert_int_eq(ek_rehearse_folder_open(parent, &folder, &err), 0);
    ck_assert_uint_eq(mode_of(folder.path), 0700);
    ck_assert_int_eq(ek_rehearse_folder_write(&folder, "a", "text", &written, &err), 0);
    ck_assert_uint_eq(mode_of(written), 0600);
    ck_assert_int_eq(ek_rehearse_folder_copy(&folder, written, "b", &copied, &err), 0);
    ck_assert_uint_eq(mode_of(copied), 0600);
    /* A file that is there is not written to: somebody else may have put a link there. */
    EK_AUTOFREE char *again = NULL;
    ck_assert_int_eq(ek_rehearse_folder_write(&folder, "a", "text", &again, &err), EK_E_IO);
    ck_assert_ptr_null(again);
    /* The folder of a rehearsal that lives stays. */
    ck_assert_int_eq(ek_rehearse_folder_open(parent, &other, &err), 0);
    ck_assert(exists(folder.path));
    ck_assert(ek_rehearse_folder_close(&other));
    EK_AUTOFREE char *path = ek_xstrdup(folder.path);
    ck_assert(ek_rehearse_folder_close(&folder));
    ck_assert(!exists(path));
    ck_assert(ek_rehearse_folder_close(&folder));
}
END_TEST

START_TEST(stays)
{
    struct ek_rehearse_folder folder;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_rehearse_folder_open(parent, &folder, &err), 0);
    ck_assert_int_eq(chmod(parent, 0500), 0);
    ck_assert(!ek_rehearse_folder_close(&folder));
    ck_assert_int_eq(chmod(parent, 0700), 0);
}
END_TEST

START_TEST(no_parent)
{
    struct ek_rehearse_folder folder;
    struct ek_err err = {0};

    ck_assert_int_eq(ek_rehearse_folder_open("/proc/self/none", &folder, &err), EK_E_IO);
    ck_assert(ek_rehearse_folder_close(&folder));
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("folder");

    tcase_add_unchecked_fixture(tcase, setup_all, teardown_all);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, dead_row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, modes);
    tcase_add_test(tcase, stays);
    tcase_add_test(tcase, no_parent);
    return ek_test_run("rehearse folder", tcase);
}
