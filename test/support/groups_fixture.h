/* SPDX-License-Identifier: Apache-2.0 */
/* Discovery documents from the JSON of a test. A document that cannot be read fails the test. */
#ifndef TEST_SUPPORT_GROUPS_FIXTURE_H
#define TEST_SUPPORT_GROUPS_FIXTURE_H

#include "api/groups.h"

/* Reads an APIGroupDiscoveryList of apidiscovery.k8s.io/v2. Returns a reference of the caller. */
struct ek_api_groups *ek_test_groups(const char *json);

#endif
