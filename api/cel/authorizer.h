/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Authorization checks from expressions: what the host provides for `authorizer`.
 *
 * The host fills in a callback and gives expressions a value made of it:
 *
 *     struct ek_cel_authorizer authorizer = {.check = ask, .arg = &my_cache};
 *     vars[slot] = ek_cel_authorizer_val(&authorizer, arena);
 *
 * where the variable was declared as "kubernetes.authorization.Authorizer". What an expression
 * builds from it (path, group, resource, ...) are values that never change; check is called once
 * per call of .check(verb), which costs 350,000, so that a program can afford two. Answers to equal
 * questions are the host's to keep, for as long as it thinks them good.
 *
 * It does no authorization itself and knows no identity but service accounts that an expression
 * names. The callback runs on the evaluating thread. Source: Kubernetes 1.36,
 * apiserver/pkg/cel/library/{authz,cost}.go.
 */
#ifndef API_CEL_AUTHORIZER_H
#define API_CEL_AUTHORIZER_H

#include "api/cel/cel.h"

/* A requirement of a field selector: key=value, or key!=value. */
struct ek_cel_field_requirement {
    struct ek_str key, value;
    bool unequal;
};

/* Whether one identity may do one thing. Strings that were not set are empty, with p NULL or not;
 * all live until check returns. */
struct ek_cel_authz_attributes {
    /* The service account that serviceAccount(namespace, name) switched to (its user is
     * "system:serviceaccount:NAMESPACE:NAME", its groups "system:serviceaccounts" and
     * "system:serviceaccounts:NAMESPACE"), or empty for the one the authorizer was made for. */
    struct ek_str account_namespace, account_name;
    struct ek_str verb;
    struct ek_str path; /* of a check of a path; the rest is then empty */
    bool is_resource;   /* a check of a resource; its API version is "*" */
    struct ek_str group, resource, subresource, namespace_, name;
    /* As written; fit for rawSelector of a SubjectAccessReview. One that cannot be parsed has an
     * error instead of requirements, and is the authorizer's to judge. */
    struct ek_str field_selector, label_selector;
    const char *field_selector_error, *label_selector_error; /* NULL is none */
    const struct ek_cel_field_requirement *fields;
    size_t n_fields;
};

struct ek_cel_authz_decision {
    bool allowed;
    struct ek_str reason; /* why, may be empty */
    struct ek_str error;  /* p NULL: none. "Not allowed" is no error */
};

struct ek_cel_authorizer {
    /* Fills *ret, which is zero, and whose strings are valid UTF-8 and live until the next call. */
    void (*check)(void *arg, const struct ek_cel_authz_attributes *attributes,
                  struct ek_cel_authz_decision *ret);
    void *arg;
};

/* The value of a variable of type kubernetes.authorization.Authorizer. authorizer is borrowed; the
 * value lives in arena. */
struct ek_cel_val ek_cel_authorizer_val(const struct ek_cel_authorizer *authorizer,
                                        struct ek_arena *arena);

/* The value of `authorizer.requestResource`, a kubernetes.authorization.ResourceCheck: group,
 * resource, subresource, namespace and name are taken from request. Strings are borrowed. */
struct ek_cel_val ek_cel_authorizer_request_val(const struct ek_cel_authorizer *authorizer,
                                                const struct ek_cel_authz_attributes *request,
                                                struct ek_arena *arena);

/*
 * Reads a field selector ("spec.nodeName=a,metadata.name!=b", values with backslashes before
 * commas, equal signs and backslashes) into arena. Returns the requirements in *ret (sorted by
 * their text) and their number in *ret_n, or EK_E_PARSE with err filled, or EK_E_NOMEM at the
 * arena's limit. Source: apimachinery, pkg/fields.
 */
int ek_cel_field_selector_parse(struct ek_str text, struct ek_arena *arena,
                                const struct ek_cel_field_requirement **ret, size_t *ret_n,
                                struct ek_err *err);

#endif
