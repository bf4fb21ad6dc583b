/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Custom resources as an API server decodes them, before admission sees them: metadata is read into
 * its struct, fields that the schema does not declare are pruned, nulls that may not be go,
 * embedded resources have a kind, and then come the defaults. What a server makes of the object
 * afterwards, its own writes and the validation, is api/validation.
 *
 * Source: Kubernetes 1.36, apiextensions-apiserver, pkg/apiserver/customresource_handler.go:
 * unstructuredSchemaCoercer.apply and unstructuredDefaulter.Default, with pkg/apiserver/schema/
 * {pruning,defaulting,objectmeta}; their error texts are kept. The schema is read as the definition
 * has it, a structural one of apiextensions.k8s.io/v1.
 *
 * Pure. One thread at a time for one document.
 */
#ifndef API_DECODE_CUSTOM_H
#define API_DECODE_CUSTOM_H

#include "api/decode/metadata.h"

/* A version of a CustomResourceDefinition; all borrowed from it. */
struct ek_custom_version {
    const char *group, *version, *kind;
    yyjson_val *schema; /* openAPIV3Schema; NULL: there is none */
    yyjson_val *scale;  /* the subresource of that name; NULL: there is none */
    bool has_status;    /* there is a subresource of that name */
    bool namespaced;
};

/* Reads the version of that name; false when crd has none. */
bool ek_custom_version_of(yyjson_val *crd, const char *version, struct ek_custom_version *ret);

struct ek_custom_options {
    bool from_storage;      /* metadata of the wrong type is left out, and no error */
    bool defaults;          /* add the defaults */
    struct ek_arena *arena; /* for texts */
    struct ek_work *work;   /* may be NULL */
};

struct ek_custom_decoding {
    /* Why a server answers 400, without the words about kind and version before it; NULL: object is
     * decoded. */
    const char *error;
    /* Fields that were pruned, in the order in which a server reports them
     * (fieldValidation=Strict). Nulls and fields of the wrong type that go are not among them. */
    struct ek_paths unknown;
};

/*
 * Decodes object, a tree in doc, in place. An object of another group or kind keeps all but what
 * metadata does not know; the schema does not count for it. Returns 0, with object undefined where
 * there is an error; EK_E_NOMEM; EK_E_CANCELED when the work is over.
 */
int ek_custom_decode(const struct ek_custom_version *version, yyjson_mut_doc *doc,
                     yyjson_mut_val *object, const struct ek_custom_options *options,
                     struct ek_custom_decoding *ret);

#endif
