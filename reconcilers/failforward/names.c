/* SPDX-License-Identifier: Apache-2.0 */
/* The names of the ladder, as reports have them. */
#include "reconcilers/failforward/ladder.h"

const char *ek_ff_step_name(enum ek_ff_step step)
{
    static const char *const names[EK_FF_STEP_MAX] = {"none", "S0",      "S1",     "S2", "S3a",
                                                      "S3b",  "S3c",     "S3d",    "S4", "S5",
                                                      "S6",   "Restore", "Blocked"};
    return names[step];
}

const char *ek_ff_blocked_name(enum ek_ff_blocked blocked)
{
    static const char *const names[EK_FF_BLOCKED_MAX] = {"",
                                                         "IncompatibleCRD",
                                                         "NeedsAdmin",
                                                         "NoEdge",
                                                         "NamespaceShared",
                                                         "ManualApproval",
                                                         "NotUpgradeable",
                                                         "BudgetExhausted",
                                                         "StartingCSV",
                                                         "ActionNotAllowed"};
    return names[blocked];
}
