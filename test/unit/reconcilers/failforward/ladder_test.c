/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/ladder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/ff_scene.h"
#include "test/support/suite.h"

#define ON  "og on; cat; "
#define OFF "og; cat; "
/* v1 runs, v2 failed with its plan. */
#define G1                                                                                         \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p1 v1 Complete; " \
    "plan p2 v2 Failed gen=2 ago=600 'C is invalid: x'; "
#define G1_DOWN                                                                                    \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Failed "    \
    "gen=2 ago=600 'failed calling webhook'; "
#define HOOKED                                                                                     \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Failed "    \
    "gen=2 ago=600 'failed calling webhook \\\"h.example.org\\\": x'; "
#define LOST                                                                                       \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 "           \
    "Installing gen=2 ago=600 retried=130; "
#define G1_HELD                                                                                    \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Failed/InstallComponentFailedNoRetry "             \
    "'" EK_FF_PIN_MESSAGE "'; plan p2 v2 Failed gen=2 ago=600 'C is invalid: x'; "
#define G2                                                                                         \
    "sub v2 v1; csv v1 Succeeded ran ago=900; plan p2 v2 Failed gen=2 ago=600 'v2 is invalid: "    \
    "x'; "
#define G3                                                                                         \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Failed/InstallComponentFailedNoRetry ran "         \
    "'is forbidden: exceeded quota'; plan p2 v2 Complete gen=2; "
#define G4                                                                                         \
    "sub v2 v2; csv v2<v1 Pending/NeedsReinstall ran fails=3/ComponentUnhealthy 'down'; plan p2 "  \
    "v2 Complete gen=2; "
#define CRD                                                                                        \
    "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Failed "    \
    "gen=2 ago=600 'error validating ns/old: updated validation is too restrictive: x'; "
#define V3 "csv v3<v2 Pending/RequirementsUnknown; plan p3 v3 Complete gen=3; "

#define NOMODE                                                                                     \
    "sub v3 v3; csv v1 Replacing ran; csv v2<v1 Failed/UnsupportedOperatorGroup ago=60; plan p2 "  \
    "v2 Complete gen=2; plan p3 v3 Complete gen=3; "

static const struct ek_ff_step_row rows[] = {
    /* the acceptance cases, by number */
    {"1 off: nothing", ON G1, {.from_failing = "v3", .off = true}, "none", NULL, 0},
    {"1 observe: what would be done",
     ON G1,
     {.from_failing = "v3", .observe = true},
     "S3a",
     NULL,
     0},
    {"2 transient: waits", ON G1_DOWN, {.grace = 900}, "S0", NULL, 0},
    {"2 transient: retries", ON G1_DOWN, {.grace = 300}, "S1", "p2", EK_FF_REOPEN},
    {"2 transient: waits between retries",
     ON G1_DOWN,
     {.done = EK_FF_REOPEN, .done_n = 1, .done_ago = 30},
     "S0",
     NULL,
     0},
    {"2 transient: retries again",
     ON G1_DOWN,
     {.done = EK_FF_REOPEN, .done_n = 1, .done_ago = 130},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"2 transient: leaves the version after the retries",
     ON G1_DOWN,
     {.from_failing = "v3", .done = EK_FF_REOPEN, .done_n = 3, .done_ago = 999},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"3 G1: holds", ON G1, {.from_failing = "v3", .grace = 300}, "S3a", "v2", EK_FF_PIN},
    {"3 G1: has OLM resolve",
     ON G1_HELD,
     {.from_failing = "v3", .pinned = "v2"},
     "S3a",
     "op",
     EK_FF_POKE},
    {"3 G1: waits for OLM",
     ON G1_HELD,
     {.from_failing = "v3", .pinned = "v2", .done = EK_FF_POKE, .done_n = 1, .done_ago = 60},
     "S0",
     NULL,
     0},
    {"3 G1: releases", ON G1_HELD V3, {.pinned = "v2"}, "S3b", "v2", EK_FF_RELEASE},
    {"3 G1: with the switch off the hold comes first",
     OFF G1,
     {.from_failing = "v3"},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"3 G1: then the switch",
     OFF G1_HELD,
     {.from_failing = "v3", .pinned = "v2"},
     "S2",
     "og0",
     EK_FF_SWITCH},
    {"3 G1: an edge that is not known",
     ON G1_HELD,
     {.unknown = true, .pinned = "v2"},
     "Blocked:NoEdge",
     NULL,
     0},
    {"4 G3: the switch", OFF G3, {.from_failing = "v3"}, "S2", "og0", EK_FF_SWITCH},
    {"4 G3: releases", ON G3 V3, {0}, "S3b", "v2", EK_FF_RELEASE},
    {"5 G4: waits", ON G4, {.from_failing = "v3", .grace = 300}, "S0", NULL, 0},
    {"5 G4: alone, OLM only has to resolve",
     ON G4,
     {.from_failing = "v3", .grace = 60},
     "S0",
     "op",
     EK_FF_POKE},
    {"5 G4: without a fix waits longer", ON G4, {.grace = 60}, "S0", NULL, 0},
    {"5 G4: without a fix holds", ON G4, {.grace = 20}, "S3a", "v2", EK_FF_PIN},
    {"6 G6: the inner one",
     ON G1 "csv v3<v2 Pending/NeedsCertRotation fails=5/InvalidWebhookDescription; ",
     {0},
     "S3b",
     "v2",
     EK_FF_RELEASE},
    {"7 G2: retries once", ON G2, {0}, "S1", "p2", EK_FF_REOPEN},
    {"7 G2: no edge",
     ON G2,
     {.done = EK_FF_REOPEN, .done_n = 1, .done_ago = 999},
     "Blocked:NoEdge",
     NULL,
     0},
    {"7 G2: Force has a stand-in",
     ON G2,
     {.from_failing = "v3", .mode = EK_FF_FORCE},
     "S3d",
     "v2",
     EK_FF_STAND_IN},
    {"7 G2: no stand-in without the manifest",
     ON "sub v2 v1; csv v1 Succeeded ran; plan p2 v2 Failed image gen=2 ago=600 'is invalid: x'",
     {.from_failing = "v3", .mode = EK_FF_FORCE},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"7 G2: an edge past it, switch off", OFF G2, {.from_running = "v3"}, "S5", "op", EK_FF_CLEAR},
    {"7 G2: an edge past it, OLM does it",
     ON G2 "; csv v3<v1 Pending; ",
     {.from_running = "v3"},
     "S0",
     NULL,
     0},
    {"7 G2: repaired in the catalog", OFF G2, {.changed_ago = 60}, "S5", "op", EK_FF_CLEAR},
    {"7 G2: not repaired since", OFF G2, {.changed_ago = 900}, "S1", "p2", EK_FF_REOPEN},
    {"8 Manual: waits",
     ON G1_HELD "plan p3 v3 RequiresApproval gen=3 ours",
     {.from_failing = "v3"},
     "Blocked:ManualApproval",
     NULL,
     0},
    {"9 a neighbor",
     ON G1 "neighbor",
     {.from_failing = "v3", .shared = true},
     "Blocked:NamespaceShared",
     NULL,
     0},
    {"10 Forbidden",
     ON
     "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending; plan p2 v2 Installing 'x is forbidden: User "
     "y cannot'",
     {.from_failing = "v3"},
     "Blocked:NeedsAdmin",
     NULL,
     0},
    {"10 Forbidden by a quota: no retry, no hold",
     ON "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 Installing "
        "ago=900 'x is forbidden: exceeded quota: few'",
     {.from_failing = "v3", .done = EK_FF_REOPEN, .done_n = 3, .done_ago = 999},
     "Blocked:NeedsAdmin",
     NULL,
     0},
    {"11 the CRD is too restrictive: blocked",
     ON CRD,
     {.grace = 900},
     "Blocked:IncompatibleCRD",
     NULL,
     0},
    {"11 finds out whether it was repaired", ON CRD, {.grace = 300}, "S1", "p2", EK_FF_REOPEN},
    {"11 blocked between the retries",
     ON CRD,
     {.done = EK_FF_REOPEN, .done_n = 1, .done_ago = 30},
     "Blocked:IncompatibleCRD",
     NULL,
     0},
    {"11 a version that may fit",
     ON CRD,
     {.from_failing = "v3", .grace = 300},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"12 stored versions",
     ON
     "sub v2 v2; csv v1 Replacing; csv v2<v1 Pending; plan p2 v2 Failed ago=600 'risk of data loss "
     "updating'",
     {0},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"14 v3 fails as v2 did",
     ON
     "sub v3 v3; csv v1 Replacing; csv v2<v1 Replacing; csv v3<v2 Pending/RequirementsNotMet; plan "
     "p3 v3 Failed gen=3 ago=60 'C is invalid: x'",
     {.from_failing = "v4", .hops = 1},
     "S3a",
     "v3",
     EK_FF_PIN},
    {"14 too many in a day",
     ON
     "sub v3 v3; csv v1 Replacing; csv v2<v1 Replacing; csv v3<v2 Pending/RequirementsNotMet; plan "
     "p3 v3 Failed gen=3 ago=60 'C is invalid: x'",
     {.from_failing = "v4", .hops = 5},
     "Blocked:BudgetExhausted",
     NULL,
     0},
    {"14 too many in a day, S5",
     OFF G2,
     {.from_running = "v3", .hops = 5},
     "Blocked:BudgetExhausted",
     NULL,
     0},
    {"14 the last of a day, S5 again",
     OFF G2,
     {.from_running = "v3", .hops = 5, .done = EK_FF_CLEAR, .done_n = 1, .done_ago = 200},
     "S5",
     "op",
     EK_FF_CLEAR},
    {"15 not upgradeable",
     ON
     "sub v2 v2; csv v1 Succeeded ran; csv v2<v1 Pending/OperatorConditionNotUpgradeable; cond v1 "
     "False; plan p2 v2 Complete",
     {.from_failing = "v3"},
     "Blocked:NotUpgradeable",
     NULL,
     0},
    {"15 not upgradeable by a detour",
     ON G1 "cond v1 False",
     {.from_failing = "v3"},
     "Blocked:NotUpgradeable",
     NULL,
     0},
    {"15 overridden",
     ON G1 "cond v1 False override",
     {.from_failing = "v3"},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"16 two groups", "og; og; cat; " G1, {.from_failing = "v3"}, "Blocked:NeedsAdmin", NULL, 0},
    {"17 a new leader after the hold", ON G1_HELD V3, {0}, "S3b", "v2", EK_FF_RELEASE},
    {"18 a person takes the hold back: again",
     ON G1,
     {.from_failing = "v3", .pinned = "v2", .done = EK_FF_PIN, .done_n = 2, .done_ago = 200},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"18 a hold without a fix is not repeated",
     ON G1,
     {.pinned = "v2", .done = EK_FF_PIN, .done_n = 1, .done_ago = 200},
     "Blocked:NoEdge",
     NULL,
     0},
    {"18 the fix comes after such a hold",
     ON G1,
     {.from_failing = "v3", .pinned = "v2", .done = EK_FF_PIN, .done_n = 1, .done_ago = 200},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"18 without the catalog a hold is repeated",
     ON G1,
     {.unknown = true, .pinned = "v2", .done = EK_FF_PIN, .done_n = 1, .done_ago = 200},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"18 the only try is left for the fix", ON G1, {.retries = 1}, "Blocked:NoEdge", NULL, 0},
    {"18 not more often than allowed",
     ON G1,
     {.from_failing = "v3", .pinned = "v2", .done = EK_FF_PIN, .done_n = 3, .done_ago = 200},
     "Blocked:BudgetExhausted",
     NULL,
     0},
    {"19 withdrawn: the hold",
     ON G1_HELD,
     {.from_failing = "v3", .off = true, .pinned = "v2", .switched = true},
     "Restore",
     "v2",
     EK_FF_UNPIN},
    {"19 withdrawn: then the switch",
     ON G1,
     {.from_failing = "v3", .observe = true, .switched = true},
     "Restore",
     "og0",
     EK_FF_UNSWITCH},
    {"19 a hold that is not ours stays",
     ON "sub v2 v2; csv v2 Failed/InstallComponentFailedNoRetry ran 'by hand'",
     {.off = true, .pinned = "v2"},
     "none",
     NULL,
     0},
    {"19 a switch that is not ours stays", ON G1, {.off = true}, "none", NULL, 0},
    {"20 copies",
     ON "sub v1 v1; csv v1 Failed/X ran ago=900 copied; plan p1 v1 Complete",
     {.from_failing = "v2"},
     "none",
     NULL,
     0},
    {"21 the catalog is away",
     "og on; cat TRANSIENT_FAILURE; " G1,
     {.from_failing = "v3"},
     "S0",
     NULL,
     0},
    {"21 no catalog", "og on; " G1, {.from_failing = "v3"}, "S0", NULL, 0},
    {"22 nothing is left", ON "sub - -; ", {.from_failing = "v3"}, "none", NULL, 0},
    /* others */
    {"healthy: restores the switch",
     ON "sub v3 v3; csv v3 Succeeded ran ago=900",
     {.switched = true},
     "Restore",
     "og0",
     EK_FF_UNSWITCH},
    {"healthy: not before the old versions are gone",
     ON "sub v3 v3; csv v2 Replacing; csv v3<v2 Succeeded ran ago=5",
     {.switched = true},
     "none",
     NULL,
     0},
    {"a step that the policy denies",
     ON G1,
     {.from_failing = "v3", .denied = 1U << EK_FF_S3A},
     "Blocked:ActionNotAllowed",
     NULL,
     0},
    {"OLM lost the plan: again",
     ON LOST,
     {.done = EK_FF_REOPEN, .done_n = 1, .done_ago = 130},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"OLM lost the plan: waits between retries",
     ON LOST,
     {.done = EK_FF_REOPEN, .done_n = 2, .done_ago = 130},
     "S0",
     NULL,
     0},
    {"OLM lost the plan: leaves the version after the retries",
     ON LOST,
     {.from_failing = "v3", .done = EK_FF_REOPEN, .done_n = 3, .done_ago = 999},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"OLM lost the plan: no CSV",
     ON "sub v2 v1; csv v1 Succeeded ran ago=900; plan p2 v2 Installing ago=600 retried=130",
     {.done = EK_FF_REOPEN, .done_n = 3, .done_ago = 999},
     "Blocked:BudgetExhausted",
     NULL,
     0},
    {"OLM lost the plan before a retry",
     ON "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Pending/RequirementsNotMet; plan p2 v2 "
        "Installing ago=600 'i/o timeout'",
     {.grace = 300},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"a webhook of the version before: retries",
     ON HOOKED "hook conf h.example.org v1",
     {.from_failing = "v3"},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"a webhook of the version before: the next version meets it, too",
     ON HOOKED "hook conf h.example.org v1",
     {.from_failing = "v3", .done = EK_FF_REOPEN, .done_n = 2, .done_ago = 999},
     "Blocked:NeedsAdmin",
     NULL,
     0},
    {"a webhook of the version before: the only retry",
     ON HOOKED "hook conf h.example.org v1",
     {.from_failing = "v3", .retries = 1},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"a webhook of the version before: after the only retry",
     ON HOOKED "hook conf h.example.org v1",
     {.from_failing = "v3", .retries = 1, .done = EK_FF_REOPEN, .done_n = 1, .done_ago = 999},
     "Blocked:NeedsAdmin",
     NULL,
     0},
    {"a webhook that a person removed: the last retry",
     ON HOOKED,
     {.from_failing = "v3", .done = EK_FF_REOPEN, .done_n = 2, .done_ago = 999},
     "S1",
     "p2",
     EK_FF_REOPEN},
    {"a webhook that OLM did not make",
     ON HOOKED "hook conf another.example.org v1",
     {.from_failing = "v3", .done = EK_FF_REOPEN, .done_n = 3, .done_ago = 999},
     "S3a",
     "v2",
     EK_FF_PIN},
    {"the lost account",
     ON "sub v1 v1; csv v1 Pending/RequirementsNotMet ran account; plan p1 v1 Complete",
     {0},
     "S1",
     "p1",
     EK_FF_REDO_LOST},
    {"lost rights",
     ON "sub v1 v1; csv v1 Pending/RequirementsNotMet ran rights; plan p1 v1 Complete",
     {.from_failing = "v2"},
     "S1",
     "p1",
     EK_FF_REDO_LOST},
    {"a lost definition",
     ON "sub v1 v1; csv v1 Pending/RequirementsNotMet ran definition=lost; plan p1 v1 Complete",
     {0},
     "S1",
     "p1",
     EK_FF_REDO_LOST},
    {"a definition that does not serve the version any more is not lost",
     ON "sub v1 v1; csv v1 Pending/RequirementsNotMet ran ago=60 definition=unserved; plan p1 v1 "
        "Complete",
     {.from_failing = "v2", .grace = 900},
     "S0",
     NULL,
     0},
    {"a definition of another operator is not made again",
     ON "sub v1 v1; csv v1 Pending/RequirementsNotMet ran ago=60 definition=required; plan p1 v1 "
        "Complete",
     {.from_failing = "v2", .grace = 900},
     "S0",
     NULL,
     0},
    {"lost rights: the version is left after the retries",
     ON "sub v1 v1; csv v1 Pending/RequirementsNotMet ran rights; plan p1 v1 Complete",
     {.from_failing = "v2", .done = EK_FF_REDO_LOST, .done_n = 3, .done_ago = 999},
     "S0",
     "op",
     EK_FF_POKE},
    {"the CSV of the plan was deleted",
     ON "sub v2 v2; csv v1 Replacing ran; plan p2 v2 Failed gen=2 ago=600 'failed calling webhook'",
     {0},
     "S1",
     "p2",
     EK_FF_REDO_CSV},
    {"the plan was deleted", ON "sub v2 v1 ref=p2; csv v1 Succeeded ran", {0}, "S0", NULL, 0},
    {"a version without the install mode: releases it to the one that waits",
     ON NOMODE "csv v3<v2 Pending/RequirementsNotMet ago=60",
     {0},
     "S3b",
     "v2",
     EK_FF_RELEASE},
    {"a version without the install mode: the operator group may change",
     ON NOMODE "csv v3<v2 Pending/RequirementsNotMet ago=60",
     {.grace = 300},
     "S0",
     NULL,
     0},
    {"a version without the install mode: the next one lacks it, too",
     ON NOMODE "csv v3<v2 Failed/UnsupportedOperatorGroup ago=60",
     {0},
     "Blocked:NeedsAdmin",
     NULL,
     0},
    {"a version without the install mode: none waits",
     ON "sub v2 v2; csv v1 Replacing ran; csv v2<v1 Failed/UnsupportedOperatorGroup ago=60",
     {0},
     "Blocked:NeedsAdmin",
     NULL,
     0},
    {"a version without the install mode: a rest once the next one runs",
     ON NOMODE "csv v3<v2 Succeeded ran ago=60",
     {0},
     "none",
     NULL,
     0},
    {"a version without the install mode: a rest while the next one installs",
     ON NOMODE "csv v3<v2 Installing ran ago=5",
     {0},
     "none",
     NULL,
     0},
    {"a version without the install mode: the rest is in the way of a resolution",
     ON "sub v3 v3 unresolved=30; csv v2 Failed/UnsupportedOperatorGroup; csv v3<v2 Succeeded ran "
        "ago=60",
     {0},
     "Blocked:NeedsAdmin",
     NULL,
     0},
    {"startingCSV",
     ON "sub v1 - start=v1; plan p1 v1 Failed ago=60 'v1 is invalid: x'",
     {.from_failing = "v2"},
     "Blocked:StartingCSV",
     NULL,
     0},
    {"first install: OLM only has to resolve",
     OFF "sub v1 v1; csv v1 Pending/RequirementsNotMet; plan p1 v1 Failed ago=60 'C is invalid: x'",
     {.from_failing = "v2"},
     "S0",
     "op",
     EK_FF_POKE},
    {"a finished upgrade that nobody resolves again",
     ON "sub v2 v2 unresolved=60; csv v2 Succeeded ran ago=50",
     {.from_failing = "v3"},
     "S0",
     "op",
     EK_FF_POKE},
    {"the wedge of an early release",
     ON "sub v2 v2; csv v1 Replacing; csv v2<v1 Replacing ago=60; plan p2 v2 Complete",
     {.from_failing = "v3"},
     "S3a",
     "v2",
     EK_FF_PIN},
};

START_TEST(steps)
{
    ek_ff_scene_check(&rows[_i]);
}
END_TEST

/* An episode begins with a failure, keeps its counts through the failure, and ends with health. */
START_TEST(episodes)
{
    struct ek_ff_scene failing, healthy, other;
    struct ek_ff_memory memory = {0};
    struct ek_ff_state state;
    struct ek_ff_finding finding;
    struct ek_ff_scene *const order[] = {&failing, &failing, &other, &healthy};
    static const unsigned kept[] = {0, 1, 0, 0};

    ek_ff_scene_init(&failing, ON G1);
    ek_ff_scene_init(&other, ON "sub v3 v3; csv v3 Pending; plan p3 v3 Failed 'C is invalid: x'");
    ek_ff_scene_init(&healthy, ON "sub v3 v3; csv v3 Succeeded ran ago=900");
    for (size_t i = 0; i < EK_ARRAY_SIZE(order); i++) {
        ek_ff_observe(&order[i]->world, ek_ff_scene_sub(order[i], "op"), EK_FF_NOW, &state);
        ek_ff_classify(&state, EK_FF_NOW, &finding);
        ek_ff_remember(&state, &finding, EK_FF_NOW, &memory);
        ck_assert_uint_eq(memory.acts[EK_FF_PIN].n, kept[i]);
        ck_assert_str_eq(memory.failing, finding.failing);
        ck_assert(memory.recovered == (i == 3));
        const struct ek_ff_next pin = {
            .step = EK_FF_S3A, .act = EK_FF_PIN, .target = finding.failing};
        ek_ff_note(&pin, EK_FF_NOW, &memory);
    }
    ek_ff_scene_done(&failing);
    ek_ff_scene_done(&other);
    ek_ff_scene_done(&healthy);
}
END_TEST

/* Two versions of a chain fail in turn, because a person takes the release of one back: each has
 * the tries of one version. */
START_TEST(turns)
{
#define CHAIN(v2)                                                                                  \
    ON "sub v3 v3; csv v1 Replacing ran; csv v2<v1 " v2 "; csv v3<v2 "                             \
       "Pending/RequirementsNotMet; plan p2 v2 Failed gen=2 ago=700 'C is invalid: x'; "           \
       "plan p3 v3 Failed gen=3 ago=600 'C is invalid: x'"
    static const char *const scenes[] = {CHAIN("Pending/RequirementsNotMet"), CHAIN("Replacing")};
    struct ek_ff_memory memory = {0};
    unsigned releases = 0, holds = 0;

    for (int i = 0; i < 60; i++) {
        struct ek_ff_scene scene;
        struct ek_ff_judged j;
        const struct ek_ff_given given = {0};
        int64_t now_ms = EK_FF_NOW + i * INT64_C(150000);
        ek_ff_scene_init(&scene, scenes[i % 2]);
        ek_ff_scene_judge(&scene, &given, &j);
        j.consent.max_hops = 100;
        ek_ff_remember(&j.state, &j.finding, now_ms, &memory);
        ek_ff_decide(&j.state, &j.finding, &j.edges, &j.consent, &memory, now_ms, &j.next);
        releases += j.next.act == EK_FF_RELEASE;
        holds += j.next.act == EK_FF_PIN;
        ek_ff_note(&j.next, now_ms, &memory);
        ek_ff_scene_done(&scene);
    }
    ck_assert_uint_eq(releases, 3);
    ck_assert_uint_eq(holds, 1);
    ck_assert_uint_eq(memory.hops, 1);
}
END_TEST

/* The tries of a version are forgotten once the operator is healthy. */
START_TEST(turns_end)
{
    static const char *const scenes[] = {ON G1, CHAIN("Replacing"),
                                         ON "sub v3 v3; csv v3 Succeeded ran ago=900", ON G1};
    static const unsigned kept[] = {0, 0, 0, 0};
    struct ek_ff_memory memory = {0};

    for (size_t i = 0; i < EK_ARRAY_SIZE(scenes); i++) {
        struct ek_ff_scene scene;
        struct ek_ff_judged j;
        const struct ek_ff_given given = {0};
        ek_ff_scene_init(&scene, scenes[i]);
        ek_ff_scene_judge(&scene, &given, &j);
        ek_ff_remember(&j.state, &j.finding, EK_FF_NOW, &memory);
        ck_assert_uint_eq(memory.acts[EK_FF_PIN].n, kept[i]);
        const struct ek_ff_next pin = {.act = EK_FF_PIN, .target = "v2"};
        ek_ff_note(&pin, EK_FF_NOW, &memory);
        ek_ff_scene_done(&scene);
    }
}
END_TEST

/* A version that is left behind counts once for the day. */
START_TEST(hops)
{
    static const struct {
        enum ek_ff_act acts[4];
        unsigned hops;
    } cases[] = {
        {{EK_FF_POKE, EK_FF_REOPEN, EK_FF_SWITCH, EK_FF_PIN}, 0},
        {{EK_FF_PIN, EK_FF_RELEASE, EK_FF_RELEASE}, 1},
        {{EK_FF_STAND_IN, EK_FF_PIN, EK_FF_RELEASE}, 1},
        {{EK_FF_CLEAR, EK_FF_CLEAR}, 1},                   /* S5 */
        {{EK_FF_DELETE, EK_FF_REINSTATE, EK_FF_CLEAR}, 1}, /* S6 */
        {{EK_FF_DELETE, EK_FF_CLEAR}, 1},                  /* S4 */
    };
    for (size_t i = 0; i < EK_ARRAY_SIZE(cases); i++) {
        struct ek_ff_memory memory = {0};
        for (size_t j = 0; j < 4 && cases[i].acts[j]; j++) {
            const struct ek_ff_next next = {.act = cases[i].acts[j], .target = "v2"};
            ek_ff_note(&next, EK_FF_NOW, &memory);
        }
        ck_assert_msg(memory.hops == cases[i].hops, "case %zu: %u", i, memory.hops);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_loop_test(tc, steps, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, episodes);
    tcase_add_test(tc, turns);
    tcase_add_test(tc, turns_end);
    tcase_add_test(tc, hops);
    return ek_test_run("ladder", tc);
}
