/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What checking, merging and removing share: which form of a type a value takes, where in a tree
 * one stands, and the items of a list by key. For the files of this folder.
 */
#ifndef API_SCHEMA_MERGE_INTERNAL_H
#define API_SCHEMA_MERGE_INTERNAL_H

#include "api/schema/merge.h"
#include "api/schema/schema-internal.h"

/* What a value is, to the reference. */
enum ek_value_form {
    EK_FORM_NULL,
    EK_FORM_BOOL,
    EK_FORM_INT,
    EK_FORM_FLOAT, /* also integers beyond 64 signed bits */
    EK_FORM_STRING,
    EK_FORM_LIST,
    EK_FORM_MAP,
    EK_FORM_FOREIGN, /* see ek_merge_foreign */
};

enum ek_value_form ek_form_of(const yyjson_mut_val *value);

/* Which form of its type a value is taken by. */
enum ek_type_form { EK_AS_NOTHING, EK_AS_SCALAR, EK_AS_LIST, EK_AS_MAP };

/* The form of its kind, if the type has it; else the first that the type has of map, scalar, list,
 * which then finds fault with the value unless it is null. */
enum ek_type_form ek_type_form(const struct ek_schema_type *type, enum ek_value_form form);

/* The key of a list's item: the values of the key fields in the order of the list's type, or the
 * item itself in a set. Shallow copies; a part whose tag is 0 is absent. */
struct ek_item_key {
    yyjson_mut_val parts[EK_SCHEMA_KEYS_MAX];
};

/* Reads an item's key. EK_E_INVAL with the reference's words in why when it has none. */
int ek_item_key(const struct ek_schema *schema, const struct ek_schema_type *list,
                yyjson_mut_val *item, struct ek_item_key *ret_key, struct ek_buf *why);

/* A step of the path to where something was found; on the stack, from the deepest up. */
struct ek_trail {
    const struct ek_trail *up; /* NULL at the root */
    struct ek_str field;       /* a member's name, when list is NULL and index is SIZE_MAX */
    size_t index;              /* an item by its place, when list is NULL */
    const struct ek_schema_type *list;
    const yyjson_mut_val *parts; /* an item by its key in list */
};

#define EK_TRAIL_FIELD(up, name)  ((struct ek_trail){(up), (name), SIZE_MAX, NULL, NULL})
#define EK_TRAIL_INDEX(up, index) ((struct ek_trail){(up), {NULL, 0}, (index), NULL, NULL})
#define EK_TRAIL_ITEM(up, list, parts)                                                             \
    ((struct ek_trail){(up), {NULL, 0}, SIZE_MAX, (list), (parts)})

/* Appends the path as the reference writes it: `.spec.containers[name="a"].args[0]`. */
void ek_trail_print(struct ek_buf *out, const struct ek_schema *schema,
                    const struct ek_trail *trail);

/* Appends one step of it. */
void ek_trail_print_step(struct ek_buf *out, const struct ek_schema *schema,
                         const struct ek_trail *step);

/* The items of a list in order, and by key. */
struct ek_list_index {
    uint32_t n, n_parts;
    yyjson_mut_val **items;
    yyjson_mut_val *parts; /* n_parts for each item */
    uint32_t *order;       /* items sorted by key, then place; NULL for short lists */
    void *block;           /* owned: all of the above */
};

/*
 * Reads the items of a list (NULL is an empty one) of the given type, which is a set or has keys.
 * When an item has no key, *ret_index holds those before it, why says what is wrong, and the answer
 * is EK_E_INVAL. EK_E_NOMEM, EK_E_LIMIT.
 */
int ek_list_index(const struct ek_schema *schema, const struct ek_schema_type *type,
                  yyjson_mut_val *list, struct ek_list_index *ret_index, struct ek_buf *why);
void ek_list_index_done(struct ek_list_index *index);

/* The first item with a key, UINT32_MAX when there is none. *ret_twice (may be NULL): there are
 * more. */
uint32_t ek_list_find(const struct ek_list_index *index, const yyjson_mut_val *parts,
                      bool *ret_twice);

/* Orders parts of keys of any kinds: numbers by value, then strings, booleans, all else. */
int ek_part_compare(const yyjson_mut_val *a, const yyjson_mut_val *b);

/* Appends a value as Go's fmt does for the verbs T, v and #v, or as a part of a path. */
void ek_go_type(struct ek_buf *out, const yyjson_mut_val *value);
void ek_go_text(struct ek_buf *out, yyjson_mut_val *value);
void ek_go_syntax(struct ek_buf *out, yyjson_mut_val *value);
void ek_go_part(struct ek_buf *out, const yyjson_mut_val *value);

/*
 * The checks of merge.h without the rest of its messages: the text of an error is appended to out,
 * and the result is EK_E_INVAL.
 */
int ek_check_value(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *value,
                   unsigned flags, struct ek_work *work, struct ek_buf *out);
int ek_check_atomics(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *value,
                     struct ek_buf *out);

/* Turns a failure into text and err: prefix and what was found, or what the code stands for.
 * Returns rc. */
int ek_merge_say(int rc, const char *prefix, const struct ek_buf *found, struct ek_buf *text,
                 struct ek_err *err);

/* Checks that each removal names something that may be removed; carries them out. */
int ek_check_removals(const struct ek_schema *schema, uint32_t type,
                      const struct ek_merge_patch *patch, unsigned flags, struct ek_buf *out);
int ek_merge_remove(const struct ek_schema *schema, uint32_t type, yyjson_mut_val *live,
                    const struct ek_merge_patch *patch);

#endif
