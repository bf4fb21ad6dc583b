/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Label selectors: "a=b,c!=d,e in (x,y),f notin (z),g,!h", and the LabelSelector object with
 * matchLabels and matchExpressions.
 *
 * Both forms give one list of requirements that must all hold; the grammar, its oddities (an empty
 * value, "in" as a key or value, "()" as the empty value) and the meaning of each operator are
 * those of apimachinery's pkg/labels and metav1.LabelSelectorAsSelector. Keys and values are
 * checked by the rules of labels; a selector that breaks one is an error, never an empty match.
 *
 * A selector is immutable and owns its strings: it may be shared between threads. Pure.
 */
#ifndef API_SELECTOR_H
#define API_SELECTOR_H

#include <stdbool.h>
#include <yyjson.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/base/mem.h"

/* Limits: EK_E_LIMIT beyond them. */
#define EK_SELECTOR_TEXT_MAX         65536
#define EK_SELECTOR_REQUIREMENTS_MAX 1000
#define EK_SELECTOR_VALUES_MAX       10000 /* of all requirements together */

struct ek_selector;

/*
 * Parses the string form into *ret_selector (owned; free with ek_selector_free). NULL, "" and
 * blanks select everything. Errors: EK_E_PARSE (the message quotes the selector and says what was
 * expected where), EK_E_INVAL (a key or value that no label can have), EK_E_LIMIT.
 */
int ek_selector_parse(const char *text, struct ek_selector **ret_selector, struct ek_err *err);

/*
 * Reads a LabelSelector object. An absent one (NULL or null) selects nothing, an empty one
 * everything. Errors: EK_E_INVAL for a wrong type, operator, key or value, naming the field;
 * EK_E_LIMIT.
 */
int ek_selector_from_json(yyjson_val *label_selector, struct ek_selector **ret_selector,
                          struct ek_err *err);

/* Releases a selector; NULL is fine. */
void ek_selector_free(struct ek_selector *selector);
EK_CLEANUP_PTR(ek_selector, ek_selector_free)

/* True when labels (an object of strings; NULL means none) fulfil every requirement. */
bool ek_selector_matches(const struct ek_selector *selector, yyjson_val *labels);

/* True when it selects everything. */
bool ek_selector_is_empty(const struct ek_selector *selector);

/* A requirement of a selector: labels have key with one of n values. n 0: another requirement. */
struct ek_selector_values {
    const char *key;
    char *const *values;
    size_t n;
};

/* The i-th requirement, borrowed; false when there are no more. One that selects nothing may have
 * none. */
bool ek_selector_values(const struct ek_selector *selector, size_t i,
                        struct ek_selector_values *ret);

/* Appends the string form, requirements by key and values in order, as apimachinery prints it
 * (nothing for one that selects nothing). Returns 0 or the error of out. */
int ek_selector_format(const struct ek_selector *selector, struct ek_buf *out);

/* The rules of names: [prefix/]name, the prefix a DNS subdomain of at most prefix_max characters,
 * the name at most name_max alphanumerics, '-', '_', '.', alphanumeric at both ends. */
bool ek_label_key_is_valid(struct ek_str key, size_t prefix_max, size_t name_max);

#define EK_LABEL_PREFIX_MAX 253
#define EK_LABEL_NAME_MAX   63

#endif
