/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of registration.h; not for others. */
#ifndef RECONCILERS_MUTATION_REGISTRATION_INTERNAL_H
#define RECONCILERS_MUTATION_REGISTRATION_INTERNAL_H

#include "reconcilers/mutation/registration.h"

/* The rules that bound the traffic of a bound policy: its own, or its binding's. NULL when they
 * cannot be read. */
const struct ek_rules *ek_registration_rules(const struct ek_bound *bound);

#endif
