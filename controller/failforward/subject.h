/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fail forward as a subject of the frame: operators of OLM v0 whose upgrade failed are found, and
 * with consent brought to the version that fixes them. The decisions are in
 * reconcilers/failforward/.
 *
 * Nothing of OLM is watched before discovery has its kinds and those of Evenkeel's own reports
 * (olm.h). Then the namespaces in which something changed are judged, on every replica; the leader
 * writes. A namespace in which this process has written is not judged before the watches have seen
 * the write.
 */
#ifndef CONTROLLER_FAILFORWARD_SUBJECT_H
#define CONTROLLER_FAILFORWARD_SUBJECT_H

#include "controller/manager/subject.h"

extern const struct ek_subject ek_failforward_subject;

#endif
