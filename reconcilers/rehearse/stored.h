/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an API server stores objects in etcd, and what a key says of the object.
 *
 * The folders are those of pkg/kubeapiserver/default_storage_factory_builder.go
 * (SpecialDefaultResourcePrefixes) and of apiextensions-apiserver for custom resources, at 1.36.
 * Pure.
 */
#ifndef RECONCILERS_REHEARSE_STORED_H
#define RECONCILERS_REHEARSE_STORED_H

#include <stdbool.h>
#include <stddef.h>

#define EK_REHEARSE_FOLDER_SIZE 512

/* The folder of a resource below the root, "services/specs" or "pods", in out. custom: the
 * resource belongs to a CustomResourceDefinition. */
void ek_rehearse_folder_of(const char *group, const char *resource, bool custom,
                           char out[EK_REHEARSE_FOLDER_SIZE]);

/* The folder of a key below root ("/registry"), in out: "pods", "services/specs",
 * "example.com/widgets". False for a key that holds no object of an API, or lies elsewhere. */
bool ek_rehearse_folder_of_key(const char *root, const char *key,
                               char out[EK_REHEARSE_FOLDER_SIZE]);

/* The rest of a key behind root and folder: "shop/web", "node-1"; NULL where the key lies
 * elsewhere. Borrowed from key. */
const char *ek_rehearse_name_of_key(const char *root, const char *folder, const char *key);

#endif
