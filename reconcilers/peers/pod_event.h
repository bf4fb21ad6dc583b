/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether an event of a pod means that an API server has started or ended, so that what it serves
 * is read again at once. API servers up to 1.34 keep the holder of their Lease over a restart in
 * place (component-helpers/apimachinery/lease/controller.go), so that Leases do not show it. Pure;
 * any thread.
 */
#ifndef RECONCILERS_PEERS_POD_EVENT_H
#define RECONCILERS_PEERS_POD_EVENT_H

#include <stdbool.h>

#include "api/obj.h"

/* old is NULL for a pod that came, obj for one that went. True for a pod of kube-apiserver that
 * came, went, is another one, or whose containers have restarted, run another image or changed
 * their readiness. */
bool ek_pod_event_matters(const struct ek_obj *old, const struct ek_obj *obj);

#endif
