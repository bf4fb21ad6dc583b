/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of a live cluster as an API server stores them in etcd: under which key, and as which
 * JSON.
 *
 * An API server reads JSON from etcd as well as its own encoding (apiserver
 * pkg/server/storage/storage_codec.go:NewStorageCodec: the universal deserializer is a decoder of
 * the storage). What is written there keeps its uid, times, status and owner references, which a
 * creation by the API would replace. Pure.
 */
#ifndef RECONCILERS_REHEARSE_COPY_H
#define RECONCILERS_REHEARSE_COPY_H

#include "reconcilers/rehearse/view.h"

#define EK_REHEARSE_KEY_SIZE 2048

/*
 * The key of an object below root ("/registry") and folder ("pods"), in out. False for an object
 * without a name or with one that no path of the API can have (apimachinery
 * pkg/api/validation/path/name.go), with a control character in it, or that is too long.
 */
bool ek_rehearse_copy_key(const char *root, const char *folder, bool namespaced, yyjson_val *object,
                          char out[EK_REHEARSE_KEY_SIZE]);

/*
 * A copy of the object with the apiVersion and kind of type, which lists leave out, and without the
 * n members of metadata in without. Owned, to be freed with yyjson_mut_doc_free.
 */
yyjson_mut_doc *ek_rehearse_copy_object(const struct ek_rehearse_type *type, yyjson_val *object,
                                        const char *const *without, size_t n);

/*
 * The JSON of an object in etcd: one line, owned. Without secret_values, each value of a Secret is
 * replaced by zero octets of the same length (an empty document where API servers require JSON).
 * The annotations are removed, because tools keep whole objects in annotations; only the
 * annotations with the name and the uid of a ServiceAccount stay.
 */
char *ek_rehearse_copy_text(const struct ek_rehearse_type *type, yyjson_val *object,
                            bool secret_values);

/* Whether objects of the type say how the API server serves others: APIServices and
 * CustomResourceDefinitions, and no resource of another group that has such a name. */
bool ek_rehearse_copy_defines(const struct ek_rehearse_type *type);

/* Whether list, names separated by commas, has the resource: "pods" of any group, or
 * "deployments.apps" of that group. An empty list has each resource. */
bool ek_rehearse_copy_has(const char *list, const struct ek_rehearse_type *type);

/* The first name of the list that is no resource of the view that can be listed and created, in
 * arena; NULL without one. */
const char *ek_rehearse_copy_unknown(const char *list, const struct ek_rehearse_view *view,
                                     struct ek_arena *arena);

#endif
