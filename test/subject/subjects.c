/* SPDX-License-Identifier: Apache-2.0 */
#include "test/subject/subjects.h"

#include "test/subject/controller/census/subject.h"

const struct ek_subject *const test_subjects[] = {&census_subject, NULL};
