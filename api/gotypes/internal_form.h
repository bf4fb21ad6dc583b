/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the API server's internal form of an object changes of it. After all policies of a pass the
 * object goes through that form, and webhooks, the next pass and storage see what comes out: a
 * Secret's stringData in its data, both names of a Pod's service account, host ports of the host's
 * network. Not for those outside this folder. Source: Kubernetes 1.36, the conversion functions of
 * Kubernetes' core, apps and batch groups.
 */
#ifndef API_GOTYPES_INTERNAL_FORM_H
#define API_GOTYPES_INTERNAL_FORM_H

#include <yyjson.h>

#include "api/admission.h"
#include "api/base/work.h"

/* Changes object, a tree in doc, as its way through the internal form would; base is the object of
 * the request, which has been there. work may be NULL. 0 or
 * EK_E_NOMEM. */
int ek_internal_form(const struct ek_gvk *kind, yyjson_mut_doc *doc, yyjson_mut_val *object,
                     yyjson_val *base, struct ek_work *work);

#endif
