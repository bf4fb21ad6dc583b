/* SPDX-License-Identifier: Apache-2.0 */
/* The table of subjects of the test program, as controller/run/subjects.h is that of Evenkeel's. */
#ifndef TEST_SUBJECT_SUBJECTS_H
#define TEST_SUBJECT_SUBJECTS_H

#include "controller/manager/subject.h"

extern const struct ek_subject *const test_subjects[]; /* up to the first NULL */

#endif
