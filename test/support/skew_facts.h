/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skew facts from a short text, for tests of what is made of facts. One fact per line:
 *
 *   peer NAME BV/EV/MCV [down=REASON] [dead] [stale] [lease=ID] [address=A] [tied=HOW]
 *        [assumed|assumed=mcv] [reason=WHY] [notready=CHECKS] [age=SECONDS] [certificate=SECONDS]
 *   inst COMPONENT NAME BV/EV [stale=REASON] [leader] [source=image] [reason=WHY] [age=SECONDS]
 *        [assumed] [unproven]
 *   group COMPONENT VERSION COUNT [NAME,NAME,NAME]     (VERSION "-" for none)
 *   pair KUBELET KUBE-PROXY COUNT NAME
 *   gates PEER|INSTANCE GATE=on|off|alpha...           (alpha: on, of the stage ALPHA)
 *   manifests PEER PLUGIN=HASH...                      (static admission manifests, in name order)
 *   flags PEER|INSTANCE GATE=on|off...                 (what its pod's flags set, in name order)
 *   serves PEER GROUP/VERSION[!][@RANK]/RESOURCE[:VERB,...[:KIND:SCOPE:SHORT-NAME,...]]...
 *                                                      ("core" for the group ""; "!": Stale;
 *                                                      "@2": two versions are preferred to it)
 *   forget PEER gates|discovery|reach SECONDS          the last answer is that much older than the
 *                                                      last attempt
 *   asked PEER gates|discovery|reach SECONDS           the last attempt was that long ago, and good
 *   problem SENTENCE
 *   unlisted WHY                                       the API servers could not be enumerated
 *
 * "?" is an unknown version. What cannot be read fails the running test.
 */
#ifndef TEST_SUPPORT_SKEW_FACTS_H
#define TEST_SUPPORT_SKEW_FACTS_H

#include "reconcilers/skew/facts.h"

/* The now of all facts. */
#define EK_TEST_NOW 1763632689000

struct ek_test_facts {
    struct ek_skew_facts facts;
    struct ek_arena *arena;
    struct ek_probe *probes[128];          /* per peer */
    struct ek_probe *instance_probes[128]; /* per instance; NULL: not probed */
};

void ek_test_facts_init(struct ek_test_facts *t, const char *script);
void ek_test_facts_done(struct ek_test_facts *t);
EK_CLEANUP(ek_test_facts, ek_test_facts_done)

#endif
