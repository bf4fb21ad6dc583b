/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AdmissionReview v1, as an API server sends it to a webhook and wants it back.
 *
 * Reading checks the shape and keeps the document: all strings and values of a review are borrowed
 * from it. Writing makes the answer's JSON. Pure; any thread. Source: admission.k8s.io/v1 (the
 * response must carry the request's uid; patch is base64 of a JSON Patch, patchType JSONPatch).
 */
#ifndef API_ADMISSION_H
#define API_ADMISSION_H

#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/err.h"

struct ek_gvk {
    const char *group, *version, *kind; /* group "" is core */
};

struct ek_gvr {
    const char *group, *version, *resource;
};

/* The request of an AdmissionReview. Absent strings are "". */
struct ek_admission_request {
    const char *uid;
    struct ek_gvk kind;              /* of object, as it was converted for the webhook */
    struct ek_gvr resource;          /* likewise */
    const char *subresource;         /* "" for the object itself */
    struct ek_gvk request_kind;      /* as the client sent it */
    struct ek_gvr request_resource;  /* likewise */
    const char *request_subresource; /* likewise */
    const char *name;                /* "" with generateName */
    const char *namespace;           /* "" for cluster-scoped objects but Namespaces */
    const char *operation;           /* CREATE, UPDATE, DELETE, CONNECT */
    bool dry_run;
    yyjson_val *user_info;           /* {username, uid, groups, extra} */
    yyjson_val *object, *old_object; /* NULL when null or absent */
    yyjson_val *root;                /* the whole .request */
    bool unproven;                   /* the sender is not proven to be an API server, so that the
                                        review is not counted. Set by the webhook alone */
};

struct ek_admission_review {
    yyjson_doc *doc; /* owned */
    struct ek_admission_request request;
};

/*
 * Reads len bytes of body. Returns 0; EK_E_PARSE for what is no AdmissionReview of
 * admission.k8s.io/v1 with a request that has uid, kind, resource and operation; EK_E_LIMIT or
 * EK_E_NOMEM as ek_json_parse. On failure nothing is to be released.
 */
int ek_admission_review_parse(const char *body, size_t len, struct ek_admission_review *ret_review,
                              struct ek_err *err);
void ek_admission_review_done(struct ek_admission_review *review);

#define EK_ADMISSION_UID_SIZE 128

/*
 * Finds request.uid in a body that ek_admission_review_parse refuses, or in the beginning of a body
 * that is too long, so that the request can be denied. An API server ignores a response without the
 * uid of its request, and without a response it lets the request through where failurePolicy is
 * Ignore. Reads only brackets and strings, as far as the uid, which API servers write first; skips
 * all other values. Returns false when there is no uid, or when it has characters that no uid has.
 */
bool ek_admission_uid_find(const char *body, size_t len, char ret_uid[EK_ADMISSION_UID_SIZE]);

/* Reads a request that stands alone (the `.request` of a review, or one made by a tool). root is
 * borrowed. Returns 0 or EK_E_PARSE. */
int ek_admission_request_read(yyjson_val *root, struct ek_admission_request *ret_request,
                              struct ek_err *err);

#define EK_ADMISSION_WARNINGS_MAX 64

/* The answer; everything is borrowed. */
struct ek_admission_response {
    const char *uid;
    bool allowed;
    int code;              /* of a denial: HTTP status, 403 where the webhook has no better one */
    const char *reason;    /* of a denial, "Invalid"; may be NULL */
    const char *message;   /* of a denial; may be NULL */
    yyjson_mut_val *patch; /* array of JSON Patch operations; NULL for none */
    const char *const *warnings;
    size_t n_warnings;
    const char *const *audit_annotations; /* key, value, key, value, ... */
    size_t n_audit_annotations;           /* pairs */
};

/* Bytes of memory that writing takes for the patch, which alone may be large, and for its copies in
 * base64: an upper bound, also of what out has then. 0 without a patch. Recursive
 * (api/base/stack.h). */
size_t ek_admission_response_memory(const struct ek_admission_response *response);

/* Appends the AdmissionReview with that response to out. Returns 0, or out's error. */
int ek_admission_response_write(const struct ek_admission_response *response, struct ek_buf *out);

EK_CLEANUP(ek_admission_review, ek_admission_review_done)

#endif
