/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inside of a selector, shared by the reader of its string form and the rest.
 */
#ifndef API_SELECTOR_INTERNAL_H
#define API_SELECTOR_INTERNAL_H

#include "api/selector.h"

enum ek_selector_op {
    EK_SELECTOR_IN, /* the order is that of the operators' names in selector.c */
    EK_SELECTOR_NOT_IN,
    EK_SELECTOR_EQUALS,
    EK_SELECTOR_DOUBLE_EQUALS,
    EK_SELECTOR_NOT_EQUALS,
    EK_SELECTOR_EXISTS,
    EK_SELECTOR_NOT_EXISTS,
    EK_SELECTOR_GREATER,
    EK_SELECTOR_LESS,
    EK_SELECTOR_OP_MAX,
};

struct ek_requirement {
    char *key; /* owned */
    enum ek_selector_op op;
    char **values; /* owned; sorted, each once */
    size_t n_values;
};

struct ek_selector {
    bool nothing; /* selects nothing, whatever the requirements */
    struct ek_requirement *requirements;
    size_t n_requirements;
    size_t n_values; /* of all requirements */
};

/* Adds an empty requirement for key; its values follow by ek_selector_add_value__. NULL with err
 * set (EK_E_INVAL, EK_E_LIMIT) when the key is no label key or there are too many. The result is
 * valid until the next is added. */
struct ek_requirement *ek_selector_add__(struct ek_selector *selector, struct ek_str key,
                                         enum ek_selector_op op, struct ek_err *err);
int ek_selector_add_value__(struct ek_selector *selector, struct ek_requirement *requirement,
                            struct ek_str value, struct ek_err *err);

/* Sorts the requirements by key and checks what can only be checked at the end. */
int ek_selector_seal__(struct ek_selector *selector, struct ek_err *err);

#endif
