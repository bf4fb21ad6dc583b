/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of JSONPatch operations that end the connection of a kube-apiserver 1.36 instead of an
 * answer: the conversion of a list or map that holds an Object panics. A sum of two lists is
 * another type there, which can be converted; but the sum of a list and an empty list is the first
 * list (cel-go v0.26.0 common/types/list.go: baseList.Add, baseList.ConvertToNative,
 * concatList.Value).
 */
#include <string.h>

#include "api/base/words.h"
#include "reconcilers/policylint/typecheck-internal.h"

/* What a value may be, as far as its text shows. */
enum {
    IS_OBJECT = 1, /* Object{} */
    IS_LIST = 2,   /* a list or map that holds Objects, not a sum */
    IS_SUM = 4,    /* a sum of two lists, with Objects */
    IS_EMPTY = 8,  /* an empty list */
    HIDES_2 = 16,  /* a list or map of such lists or maps, which a sum does not help */
    HIDES_3 = 32,  /* of those */
    HIDES_MORE = 64,
};

#define HOLDS (IS_LIST | IS_SUM)
#define HIDES (HIDES_2 | HIDES_3 | HIDES_MORE)

/* What a list or map of such values is. */
static unsigned wrap(unsigned is)
{
    return (is & IS_OBJECT ? IS_LIST : 0) | (is & IS_LIST ? HIDES_2 : 0) |
           (is & HIDES_2 ? HIDES_3 : 0) | (is & (HIDES_3 | HIDES_MORE) ? HIDES_MORE : 0);
}

/* What is one level deeper in lists and maps of lists and maps. */
static unsigned deeper(unsigned is)
{
    return (is & HIDES_2 ? IS_LIST : 0) | (is & HIDES_3 ? HIDES_2 : 0) |
           (is & HIDES_MORE ? HIDES_3 | HIDES_MORE : 0);
}

/* What an item of a list, or a value of a map, is. */
static unsigned unwrap(unsigned is)
{
    return (is & HOLDS ? IS_OBJECT : 0) | deeper(is);
}

/* A name that a loop binds, or its accumulator. What cel.bind and optMap bind, as folds over an
 * empty list, is a name only: accu is false. */
struct scope {
    const char *name;
    unsigned is;
    bool accu;
    const struct scope *outer;
};

struct crash_walk {
    const struct ek_binding_scope *around; /* names that loops around the value bind */
    unsigned steps;                        /* nodes visited; shared ones are visited again */
    uint32_t position;                     /* of the first list that crashes; UINT32_MAX for none */
    uint32_t when_empty; /* of the first sum that crashes when a part is empty; UINT32_MAX */
};

#define STEPS_MAX 20000u

static unsigned look(struct crash_walk *w, const struct ek_cel_node *node,
                     const struct scope *scope);

static const struct scope *find(const struct scope *scope, const char *name)
{
    while (scope && strcmp(scope->name, name) != 0)
        scope = scope->outer;
    return scope;
}

static unsigned keep_first(uint32_t *first, uint32_t position, unsigned is)
{
    if (position < *first)
        *first = position;
    return is;
}

static unsigned look_list(struct crash_walk *w, const struct ek_cel_node *node,
                          const struct scope *scope)
{
    unsigned items = 0;

    for (uint32_t i = 0; i < node->list.n; i++)
        items |= look(w, node->list.items[i], scope);
    if (!node->list.n)
        return IS_EMPTY;
    unsigned is = wrap(items);
    return is ? keep_first(&w->position, node->position, is) : 0;
}

static unsigned look_map(struct crash_walk *w, const struct ek_cel_node *node,
                         const struct scope *scope)
{
    unsigned values = 0, is;

    for (uint32_t i = 0; i < node->map.n; i++)
        values |= look(w, node->map.entries[i].value, scope);
    is = wrap(values);
    return is ? keep_first(&w->position, node->position, is) : 0;
}

static bool is_accu(const struct ek_cel_node *node, const struct scope *scope)
{
    const struct scope *s = node->kind == EK_CEL_N_IDENT ? find(scope, node->ident) : NULL;
    return s && s->accu;
}

static unsigned look_sum(struct crash_walk *w, const struct ek_cel_node *node,
                         const struct scope *scope)
{
    uint32_t before = w->position;
    unsigned left = look(w, node->call.args[0], scope), right = look(w, node->call.args[1], scope);
    unsigned both = left | right;

    if (is_accu(node->call.args[0], scope)) /* map, filter: what grows is no sum */
        return (both & HOLDS ? IS_LIST : 0) | (both & HIDES) | IS_EMPTY;
    if (!(both & HOLDS))
        return (both & HIDES) | (left & right & IS_EMPTY);
    if (!(both & HIDES))
        w->position = before; /* the lists are fine as parts of a sum */
    bool alone = (left & IS_LIST && right & IS_EMPTY) || (right & IS_LIST && left & IS_EMPTY);
    return IS_SUM | (both & HIDES) |
           (alone ? keep_first(&w->when_empty, node->position, IS_LIST) : 0);
}

static unsigned look_fold(struct crash_walk *w, const struct ek_cel_node *node,
                          const struct scope *scope)
{
    uint32_t before = w->position;
    unsigned range = look(w, node->fold.range, scope);
    /* One variable over a map is a key. */
    bool keys = node->fold.range->kind == EK_CEL_N_MAP && !node->fold.var2;
    unsigned element = keys ? 0 : unwrap(range);

    w->position = before; /* what a loop reads is not what it makes */
    unsigned init = look(w, node->fold.init, scope);
    struct scope key = {node->fold.var, node->fold.var2 ? 0 : element, false, scope};
    struct scope value = {node->fold.var2 ? node->fold.var2 : node->fold.var, element, false, &key};
    bool loops = node->fold.range->kind != EK_CEL_N_LIST || node->fold.range->list.n;
    struct scope accu = {node->fold.accu, init, loops, &value};
    if (loops)
        accu.is |= look(w, node->fold.step, &accu);
    accu.outer = scope;
    unsigned is = look(w, node->fold.result, &accu);
    return is & (IS_LIST | HIDES) ? keep_first(&w->position, node->position, is) : is;
}

/* What is read of a list or map; what else is in there is not converted. */
static unsigned look_part(struct crash_walk *w, const struct ek_cel_node *node,
                          const struct ek_cel_node *whole, const struct scope *scope)
{
    uint32_t before = w->position;
    unsigned is = unwrap(look(w, whole, scope));

    w->position = before;
    return is & (IS_LIST | HIDES) ? keep_first(&w->position, node->position, is) : is;
}

/* Functions whose result is a list of their target's elements, and no sum. */
static unsigned look_member(struct crash_walk *w, const struct ek_cel_node *node,
                            const struct scope *scope)
{
    static const char *const lists[] = {
        "slice", "reverse", "sort", "distinct", "flatten", "@sortByAssociatedKeys", NULL};
    static const char *const elements[] = {"first", "last", NULL};
    static const char *const keep[] = {"value", "orValue", "or", NULL};
    const char *f = node->call.function;
    uint32_t before = w->position;
    unsigned target = look(w, node->call.target, scope), is = 0;

    if (ek_is_one_of(f, lists)) {
        is = (target & HOLDS ? IS_LIST : 0) | (target & (HIDES | IS_EMPTY));
        if (!strcmp(f, "flatten")) /* with a depth perhaps of deeper levels, too */
            is = (is & (IS_LIST | IS_EMPTY)) | deeper(is) | (node->call.n ? deeper(deeper(is)) : 0);
        return is & (IS_LIST | HIDES) ? keep_first(&w->position, node->position, is) : is;
    }
    if (ek_is_one_of(f, keep))
        return target | (node->call.n ? look(w, node->call.args[0], scope) : 0);
    w->position = before;
    is = ek_is_one_of(f, elements) ? unwrap(target) : 0;
    return is & (IS_LIST | HIDES) ? keep_first(&w->position, node->position, is) : is;
}

static unsigned look_call(struct crash_walk *w, const struct ek_cel_node *node,
                          const struct scope *scope)
{
    const char *f = node->call.function;
    struct ek_cel_node **args = node->call.args;

    if (!strcmp(f, EK_CEL_OP_ADD) && node->call.n == 2)
        return look_sum(w, node, scope);
    if ((!strcmp(f, EK_CEL_OP_INDEX) || !strcmp(f, EK_CEL_OP_OPT_INDEX) ||
         !strcmp(f, EK_CEL_OP_OPT_SELECT)) &&
        node->call.n == 2)
        return look_part(w, node, args[0], scope);
    if (!strcmp(f, EK_CEL_OP_CONDITIONAL) && node->call.n == 3)
        return look(w, args[1], scope) | look(w, args[2], scope);
    if (node->call.n == 1 &&
        (ek_type_is_call(node, "optional", "of") ||
         (!node->call.target && (!strcmp(f, "dyn") || !strcmp(f, "optional.of")))))
        return look(w, args[0], scope);
    if (!strcmp(f, "cel.@mapInsert") && node->call.n > 1)
        return wrap(look(w, args[node->call.n - 1], scope));
    return node->call.target ? look_member(w, node, scope) : 0;
}

/* A name of a loop around the value, or of optMap: a fold over an empty list. */
static unsigned look_around(struct crash_walk *w, const struct ek_cel_node *node)
{
    const struct ek_binding_scope *around = w->around, *s = around;
    uint32_t before = w->position;
    unsigned is = 0;

    while (s && strcmp(s->name, node->ident) != 0)
        s = s->outer;
    if (!s || !s->fold)
        return 0;
    const struct ek_cel_node *range = s->fold->fold.range;
    w->around = s->outer;
    if (!strcmp(s->name, s->fold->fold.accu))
        is = range->kind == EK_CEL_N_LIST && !range->list.n ? look(w, s->fold->fold.init, NULL) : 0;
    else if (range->kind != EK_CEL_N_MAP || s->fold->fold.var2)
        is = unwrap(look(w, range, NULL));
    w->around = around;
    w->position = before;
    return is & (IS_LIST | HIDES) ? keep_first(&w->position, node->position, is) : is;
}

static unsigned look(struct crash_walk *w, const struct ek_cel_node *node,
                     const struct scope *scope)
{
    if (w->steps++ > STEPS_MAX)
        return 0;
    switch (node->kind) {
    case EK_CEL_N_STRUCT: /* its own fields are converted in another way */
        return strcmp(node->object.name, "JSONPatch") != 0 ? IS_OBJECT : 0;
    case EK_CEL_N_LIST:
        return look_list(w, node, scope);
    case EK_CEL_N_MAP:
        return look_map(w, node, scope);
    case EK_CEL_N_CALL:
        return look_call(w, node, scope);
    case EK_CEL_N_FOLD:
        return look_fold(w, node, scope);
    case EK_CEL_N_IDENT: {
        const struct scope *s = find(scope, node->ident);
        return s ? s->is : look_around(w, node);
    }
    case EK_CEL_N_SELECT:
        return node->select.test ? 0 : look_part(w, node, node->select.operand, scope);
    default:
        return 0;
    }
}

void ek_type_crash(struct ek_typewalk *w, const struct ek_cel_node *value)
{
    struct crash_walk walk = {.around = w->scope, .position = UINT32_MAX, .when_empty = UINT32_MAX};
    unsigned is = look(&walk, value, NULL);

    if (!(is & (IS_LIST | HIDES)))
        return;
    if (walk.position != UINT32_MAX)
        ek_type_report(
            w, EK_TYPE_CRASH, walk.position,
            "a list or map with an Object in it is the value of a JSONPatch: API servers "
            "end the connection instead of an answer; write maps instead of Objects, or "
            "add the Object with the path of one element");
    else if (walk.when_empty != UINT32_MAX)
        ek_type_report(
            w, EK_TYPE_CRASH, walk.when_empty,
            "if one of the two lists is empty, the sum is a list with an Object in it, "
            "and API servers end the connection instead of an answer; write maps instead "
            "of Objects");
}
