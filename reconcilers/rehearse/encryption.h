/* SPDX-License-Identifier: Apache-2.0 */
/* The EncryptionConfiguration of a cluster, without what asks another process. Pure. */
#ifndef RECONCILERS_REHEARSE_ENCRYPTION_H
#define RECONCILERS_REHEARSE_ENCRYPTION_H

#include <stddef.h>
#include <yyjson.h>

/*
 * The encryption configuration root (apiserver/pkg/apis/apiserver/v1/types_encryption.go) as JSON,
 * without the providers that use kms. A resource that has no other provider gets the provider
 * identity. *ret_removed is the number of removed providers. Returns an owned text, or NULL where
 * root is no mapping with a list of resources, or has a provider that is no mapping.
 */
char *ek_rehearse_encryption(yyjson_val *root, size_t *ret_removed);

#endif
