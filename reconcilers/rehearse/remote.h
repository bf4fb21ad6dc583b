/* SPDX-License-Identifier: Apache-2.0 */
/* Which APIs of a cluster other servers answer: aggregated API servers and conversion webhooks. A
 * rehearsal asks for none of them. Pure. */
#ifndef RECONCILERS_REHEARSE_REMOTE_H
#define RECONCILERS_REHEARSE_REMOTE_H

#include <stdbool.h>
#include <yyjson.h>

#define EK_REHEARSE_REMOTE_SIZE 600

/*
 * The API of a stored APIService or CustomResourceDefinition that another server answers, in out:
 * "apis/metrics.k8s.io/v1beta1" of an APIService with a service (kube-aggregator
 * pkg/apis/apiregistration/v1/types.go), "example.com/widgets" of a definition whose objects a
 * webhook converts (apiextensions-apiserver pkg/apis/apiextensions/v1/types.go). False for another.
 */
bool ek_rehearse_remote_of(yyjson_val *definition, char out[EK_REHEARSE_REMOTE_SIZE]);

#endif
