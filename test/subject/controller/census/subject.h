/* SPDX-License-Identifier: Apache-2.0 */
/* The made-up subject "census", as its row in the table of subjects. */
#ifndef TEST_SUBJECT_CONTROLLER_CENSUS_SUBJECT_H
#define TEST_SUBJECT_CONTROLLER_CENSUS_SUBJECT_H

#include "controller/manager/subject.h"

extern const struct ek_subject census_subject;

#endif
