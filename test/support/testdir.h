/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of one test: made under the system's temporary folder, filled, and removed with all that
 * is in it. */
#ifndef TEST_SUPPORT_TESTDIR_H
#define TEST_SUPPORT_TESTDIR_H

#define TESTDIR_SIZE 64

/* Makes an empty folder and writes its path; aborts when that fails. */
void testdir_make(char path[TESTDIR_SIZE]);

/* Writes text to a file of the folder, making the folders on the way (name may hold '/'). The file
 * appears complete or not at all, as when Kubernetes rotates it. */
void testdir_put(const char *path, const char *name, const char *text, int mode);

void testdir_remove(const char *path);

#endif
