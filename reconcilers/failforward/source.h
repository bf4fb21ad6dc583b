/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the registry of a CatalogSource listens, and when its content may have changed
 * (github.com/operator-framework/api at 3048ccd, pkg/operators/v1alpha1/catalogsource_types.go:
 * Address, RegistryServiceStatus.Address, GRPCConnectionState). Pure; any thread.
 */
#ifndef RECONCILERS_FAILFORWARD_SOURCE_H
#define RECONCILERS_FAILFORWARD_SOURCE_H

#include "api/obj.h"

#define EK_FF_SOURCE_TEXT_SIZE 320

/* Writes "host:port": spec.address, or the Service of status.registryService; "" when the source
 * has neither. Whoever may write the object has chosen the text: check the address before use. */
void ek_ff_source_address(const struct ek_obj *source, char address[EK_FF_SOURCE_TEXT_SIZE]);

/* Writes a text that changes when OLM connects to the registry again, when the state of the
 * connection changes, or when the source is created again. The content may have changed then. */
void ek_ff_source_revision(const struct ek_obj *source, char revision[EK_FF_SOURCE_TEXT_SIZE]);

#endif
