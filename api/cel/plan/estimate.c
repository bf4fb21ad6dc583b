/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "api/cel/check/check.h"
#include "api/cel/plan/estimate-internal.h"
#include "api/cel/syntax/parse.h"

#define MEMORY_BASE    ((size_t)8 << 20)
#define MEMORY_EACH    ((size_t)16 << 10)
#define TREE_DEPTH_MAX 1500u

#define SELECT_COST      1u
#define LIST_COST        10u
#define MAP_COST         30u
#define STRUCT_COST      40u
#define TRAVERSAL_FACTOR 0.1
#define REGEX_FACTOR     0.25

static const struct ek_cel_size unknown_size = {0, UINT64_MAX};

uint64_t ek_cel_sat_scale(uint64_t x, double factor)
{
    double product = ceil((double)x * factor);

    return product >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)product;
}

static struct ek_cel_size size_add(struct ek_cel_size a, struct ek_cel_size b)
{
    return (struct ek_cel_size){ek_cel_sat_add(a.min, b.min), ek_cel_sat_add(a.max, b.max)};
}

static struct ek_cel_size size_union(struct ek_cel_size a, struct ek_cel_size b)
{
    return (struct ek_cel_size){a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
}

/* ---- Facts ---- */

/* The facts of a node; the table has room for all nodes. */
static struct ek_cel_facts *facts_of(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    size_t at = ((uintptr_t)node >> 4) * 0x9e3779b97f4a7c15u >> 20;

    for (at &= e->cap - 1; e->facts[at].node && e->facts[at].node != node;)
        at = (at + 1) & (e->cap - 1);
    if (!e->facts[at].node)
        e->facts[at].node = node;
    return &e->facts[at];
}

static const struct ek_cel_estimate_local *local_of(const struct ek_cel_estimate *e,
                                                    const struct ek_cel_node *node)
{
    const struct ek_cel_estimate_local *local = e->locals;

    if (node->kind != EK_CEL_N_IDENT)
        return NULL;
    while (local && strcmp(local->name, node->ident) != 0)
        local = local->up;
    return local;
}

static struct ek_cel_way way_of(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    const struct ek_cel_estimate_local *local = local_of(e, node);

    return local ? local->way : facts_of(e, node)->way;
}

enum step { STEP_FIELD, STEP_ITEM, STEP_VALUE, STEP_KEY, STEP_INDEX };

/* One step further. The first step of a way that there is none of leads to the root: the reference
 * takes it for the variable. */
static struct ek_cel_way go_on(const struct ek_cel_estimate *e, struct ek_cel_way way,
                               enum step step, const char *field)
{
    const struct ek_cel_declared *node = way.node;

    if (!way.known)
        return (struct ek_cel_way){.known = true, .node = e->root};
    way.node = NULL;
    if (node && (step == STEP_ITEM || step == STEP_VALUE))
        way.node = node->element;
    else if (node && step == STEP_KEY)
        way.node = node->key;
    for (size_t i = 0; node && step == STEP_FIELD && i < node->n_fields; i++)
        if (!strcmp(node->fields[i].name, field))
            way.node = node->fields[i].type;
    return way;
}

static bool size_of_text(const struct ek_cel_node *node, struct ek_cel_size *ret)
{
    uint64_t n = 1;

    if (node->kind == EK_CEL_N_LIST) {
        n = node->list.n;
    } else if (node->kind == EK_CEL_N_MAP) {
        n = node->map.n;
    } else if (node->kind != EK_CEL_N_LITERAL) {
        return false;
    } else if (node->literal.kind == EK_CEL_STRING) {
        n = 0;
        for (uint32_t i = 0; i < node->literal.n; i++)
            n += ((unsigned char)node->literal.s[i] & 0xc0) != 0x80;
    } else if (node->literal.kind == EK_CEL_BYTES) {
        n = node->literal.n;
    }
    *ret = (struct ek_cel_size){n, n};
    return true;
}

static bool is_scalar(const struct ek_cel_type *type)
{
    if (!type)
        return false;
    switch (type->kind) {
    case EK_CEL_T_BOOL:
    case EK_CEL_T_DOUBLE:
    case EK_CEL_T_DURATION:
    case EK_CEL_T_INT:
    case EK_CEL_T_TIMESTAMP:
    case EK_CEL_T_UINT:
        return true;
    case EK_CEL_T_OPTIONAL:
        return type->n && is_scalar(type->params[0]);
    default:
        return false;
    }
}

/* The declared size at the end of a way. */
static bool declared_size(struct ek_cel_way way, struct ek_cel_size *ret)
{
    if (!way.known || !way.node)
        return false;
    *ret = (struct ek_cel_size){0, way.node->max_elements};
    return true;
}

static bool size_of(struct ek_cel_estimate *e, const struct ek_cel_node *node,
                    struct ek_cel_size *ret)
{
    const struct ek_cel_estimate_local *local;
    struct ek_cel_facts *facts = facts_of(e, node);

    if (facts->sized) {
        *ret = facts->size;
        return true;
    }
    if (size_of_text(node, ret))
        return true;
    if (declared_size(way_of(e, node), ret)) {
        facts->sized = true;
        facts->size = *ret;
        return true;
    }
    if (is_scalar(node->type)) {
        *ret = (struct ek_cel_size){1, 1};
        return true;
    }
    local = local_of(e, node);
    if (local && local->sized)
        *ret = local->size;
    return local && local->sized;
}

static struct ek_cel_size size_or_unknown(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    struct ek_cel_size size;

    return size_of(e, node, &size) ? size : unknown_size;
}

static void set_size(struct ek_cel_estimate *e, const struct ek_cel_node *node,
                     struct ek_cel_size size)
{
    struct ek_cel_facts *facts = facts_of(e, node);

    facts->sized = true;
    facts->size = size;
}

static struct ek_cel_entry_size entry_of(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    const struct ek_cel_facts *facts = facts_of(e, node);
    const struct ek_cel_estimate_local *local;

    if (facts->entry.known)
        return facts->entry;
    local = local_of(e, node);
    return local ? local->entry : (struct ek_cel_entry_size){.known = false};
}

static void set_entry(struct ek_cel_estimate *e, const struct ek_cel_node *node,
                      struct ek_cel_entry_size entry)
{
    if (entry.known)
        facts_of(e, node)->entry = entry;
}

static struct ek_cel_entry_size entry_union(struct ek_cel_entry_size a, struct ek_cel_entry_size b)
{
    if (!a.known || !b.known)
        return (struct ek_cel_entry_size){.known = false};
    a.key = size_union(a.key, b.key);
    a.value = size_union(a.value, b.value);
    return a;
}

/* ---- Costs ---- */

static uint64_t cost_of(struct ek_cel_estimate *e, const struct ek_cel_node *node);

static uint64_t cost_ident(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    const struct ek_cel_estimate_local *local = local_of(e, node);

    facts_of(e, node)->way = local ? local->way : go_on(e, (struct ek_cel_way){0}, STEP_FIELD, "");
    return SELECT_COST;
}

static uint64_t cost_select(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    const struct ek_cel_node *operand = node->select.operand;

    if (node->ref && node->ref->kind == EK_CEL_REF_VARIABLE)
        return cost_ident(e, node); /* a variable with a dotted name */
    uint64_t cost = cost_of(e, operand);
    if (node->select.test)
        return cost;
    if (operand->type &&
        (operand->type->kind == EK_CEL_T_MAP || operand->type->kind == EK_CEL_T_STRUCT ||
         operand->type->kind == EK_CEL_T_PARAM))
        cost = ek_cel_sat_add(cost, SELECT_COST);
    facts_of(e, node)->way = go_on(e, way_of(e, operand), STEP_FIELD, node->select.field);
    return cost;
}

/* ---- Calls of the core ---- */

struct ek_cel_size ek_cel_size_of_arg(const struct ek_cel_estimate_arg *arg)
{
    struct ek_cel_size size;

    if (arg->sized)
        return arg->size;
    return declared_size(arg->way, &size) ? size : unknown_size;
}

bool ek_cel_declared_item_size(const struct ek_cel_estimate *e,
                               const struct ek_cel_estimate_arg *list, struct ek_cel_size *ret)
{
    return list->way.known && declared_size(go_on(e, list->way, STEP_ITEM, NULL), ret);
}

static bool is(const struct ek_cel_estimate_call *call, const char *overload)
{
    return !strcmp(call->overload, overload);
}

static bool is_comparison(const struct ek_cel_estimate_call *call)
{
    static const char *const ids[] = {
        "less_string", "greater_string", "less_equals_string", "greater_equals_string",
        "less_bytes",  "greater_bytes",  "less_equals_bytes",  "greater_equals_bytes",
        "equals",      "not_equals"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(ids); i++)
        if (is(call, ids[i]))
            return true;
    return false;
}

/* Sizes that only the core looks at: the computed ones. */
static struct ek_cel_size computed(const struct ek_cel_estimate_arg *arg)
{
    return arg->sized ? arg->size : unknown_size;
}

static void cost_text(const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *ret)
{
    struct ek_cel_size size = call->n == 1 ? computed(&call->args[0]) : unknown_size;

    if (is(call, "string_format") && call->target) {
        ret->cost = ek_cel_sat_scale(computed(call->target).max, TRAVERSAL_FACTOR);
    } else if (call->n != 1) {
        return;
    } else if (is(call, "string_to_bytes")) {
        *ret = (struct ek_cel_call_cost){
            ek_cel_sat_scale(size.max, TRAVERSAL_FACTOR), true, {size.min, size.max * 4}};
    } else if (is(call, "bytes_to_string")) {
        *ret = (struct ek_cel_call_cost){
            ek_cel_sat_scale(size.max, TRAVERSAL_FACTOR), true, {size.min / 4, size.max}};
    } else if (is(call, "strings_quote")) {
        *ret = (struct ek_cel_call_cost){
            ek_cel_sat_scale(size.max, TRAVERSAL_FACTOR), true, {size.min + 2, size.max * 2 + 2}};
    } else if (is(call, "starts_with_string") || is(call, "ends_with_string")) {
        ret->cost = ek_cel_sat_scale(size.max, TRAVERSAL_FACTOR);
    } else if (is(call, "matches_string") && call->target) {
        uint64_t length = ek_cel_sat_add(computed(call->target).max, 1);
        ret->cost = ek_cel_sat_mul(ek_cel_sat_scale(length, TRAVERSAL_FACTOR),
                                   ek_cel_sat_scale(size.max, REGEX_FACTOR));
    } else if (is(call, "contains_string") && call->target) {
        ret->cost = ek_cel_sat_mul(ek_cel_sat_scale(computed(call->target).max, TRAVERSAL_FACTOR),
                                   ek_cel_sat_scale(size.max, TRAVERSAL_FACTOR));
    }
}

static void cost_sum(struct ek_cel_estimate *e, const struct ek_cel_node *node,
                     const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *ret)
{
    struct ek_cel_size size = size_add(computed(&call->args[0]), computed(&call->args[1]));

    set_entry(e, node,
              entry_union(entry_of(e, call->args[0].node), entry_of(e, call->args[1].node)));
    *ret = (struct ek_cel_call_cost){
        is(call, "add_list") ? 1 : ek_cel_sat_scale(size.max, TRAVERSAL_FACTOR), true, size};
}

/* cel-go 0.26, checker/cost.go: functionCost, the part behind the libraries. */
static void cost_core(struct ek_cel_estimate *e, const struct ek_cel_node *node,
                      const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *ret)
{
    *ret = (struct ek_cel_call_cost){.cost = 1};
    if (is(call, "in_list") && call->n == 2) {
        ret->cost = computed(&call->args[1]).max;
    } else if ((is(call, "add_string") || is(call, "add_bytes") || is(call, "add_list")) &&
               call->n == 2) {
        cost_sum(e, node, call, ret);
    } else if (is_comparison(call) && call->n == 2) {
        uint64_t a = computed(&call->args[0]).max, b = computed(&call->args[1]).max;
        ret->cost = ek_cel_sat_scale(a < b ? a : b, TRAVERSAL_FACTOR);
    } else {
        cost_text(call, ret);
    }
}

/* ---- Calls ---- */

static void estimate_arg(struct ek_cel_estimate *e, const struct ek_cel_node *node,
                         struct ek_cel_estimate_arg *ret)
{
    *ret = (struct ek_cel_estimate_arg){.node = node, .cost = cost_of(e, node)};
    ret->sized = size_of(e, node, &ret->size);
    ret->way = way_of(e, node);
}

static uint64_t sum_of(const struct ek_cel_estimate_call *call)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < call->n; i++)
        sum = ek_cel_sat_add(sum, call->args[i].cost);
    return sum;
}

/* One overload, with its arguments. */
static struct ek_cel_call_cost cost_overload(struct ek_cel_estimate *e,
                                             const struct ek_cel_node *node,
                                             const struct ek_cel_estimate_call *call)
{
    struct ek_cel_call_cost cost = {0};

    if (is(call, "logical_and") || is(call, "logical_or")) {
        cost.cost = sum_of(call);
    } else if (is(call, "conditional") && call->n == 3) {
        uint64_t yes = call->args[1].cost, no = call->args[2].cost;
        cost.sized = true;
        cost.size = size_union(computed(&call->args[1]), computed(&call->args[2]));
        set_entry(e, node,
                  entry_union(entry_of(e, call->args[1].node), entry_of(e, call->args[2].node)));
        cost.cost = ek_cel_sat_add(call->args[0].cost, yes > no ? yes : no);
    } else {
        if (!ek_cel_estimate_library(e, call, &cost))
            cost_core(e, node, call, &cost);
        cost.cost = ek_cel_sat_add(cost.cost, sum_of(call));
    }
    return cost;
}

/* Where an index leads, and what is known of the size of what is there. */
static void follow_index(struct ek_cel_estimate *e, const struct ek_cel_node *node,
                         const struct ek_cel_estimate_call *call, struct ek_cel_call_cost *all)
{
    bool list = is(call, "index_list");

    if ((!list && !is(call, "index_map")) || !call->n)
        return;
    struct ek_cel_entry_size entry = entry_of(e, call->args[0].node);
    all->sized = entry.known;
    all->size = entry.value;
    facts_of(e, node)->way =
        go_on(e, way_of(e, call->args[0].node), list ? STEP_ITEM : STEP_VALUE, NULL);
}

static uint64_t cost_call(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    const struct ek_cel_ref *ref = node->ref;
    uint32_t n = node->call.n;
    struct ek_cel_estimate_arg *args = ek_arena_try(e->arena, (n + 1) * sizeof *args), target;
    struct ek_cel_call_cost all = {0};
    uint64_t cost = 0;

    e->failed = e->failed || !args;
    if (!args || !ref || ref->kind != EK_CEL_REF_CALL)
        return 0;
    if (!strcmp(ref->function->def->name, "dyn") && n == 1) {
        cost = ek_cel_sat_add(1, cost_of(e, node->call.args[0]));
        struct ek_cel_size size;
        if (size_of(e, node->call.args[0], &size))
            set_size(e, node, size);
        set_entry(e, node, entry_of(e, node->call.args[0]));
        return cost;
    }
    for (uint32_t i = 0; i < n; i++)
        estimate_arg(e, node->call.args[i], &args[i]);
    bool member = node->call.target && !ref->namespaced;
    if (member) {
        estimate_arg(e, node->call.target, &target);
        cost = target.cost;
    }
    uint64_t most = 0;
    for (uint32_t i = 0; i < ref->n && !e->failed; i++) {
        const struct ek_cel_estimate_call call = {
            ref->function->def->name, ref->overloads[i]->def->id, member ? &target : NULL, args, n};
        struct ek_cel_call_cost one = cost_overload(e, node, &call);
        most = one.cost > most ? one.cost : most;
        if (one.sized) {
            all.size = all.sized ? size_union(all.size, one.size) : one.size;
            all.sized = true;
        }
        follow_index(e, node, &call, &all);
        if (!all.sized)
            all.sized = size_of(e, node, &all.size);
    }
    if (all.sized)
        set_size(e, node, all.size);
    return ek_cel_sat_add(cost, most);
}

/* ---- Containers ---- */

static uint64_t cost_list(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    struct ek_cel_size item = {node->list.n ? UINT64_MAX : 0, 0};
    uint64_t cost = 0;

    for (uint32_t i = 0; i < node->list.n; i++) {
        cost = ek_cel_sat_add(cost, cost_of(e, node->list.items[i]));
        item = size_union(item, size_or_unknown(e, node->list.items[i]));
    }
    set_entry(e, node, (struct ek_cel_entry_size){true, true, {1, 1}, item});
    return ek_cel_sat_add(cost, LIST_COST);
}

static uint64_t cost_map(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    struct ek_cel_size key = {node->map.n ? UINT64_MAX : 0, 0}, value = key;
    uint64_t cost = 0;

    for (uint32_t i = 0; i < node->map.n; i++) {
        const struct ek_cel_map_entry *entry = &node->map.entries[i];
        cost = ek_cel_sat_add(cost, cost_of(e, entry->key));
        cost = ek_cel_sat_add(cost, cost_of(e, entry->value));
        key = size_union(key, size_or_unknown(e, entry->key));
        value = size_union(value, size_or_unknown(e, entry->value));
    }
    set_entry(e, node, (struct ek_cel_entry_size){true, false, key, value});
    return ek_cel_sat_add(cost, MAP_COST);
}

static uint64_t cost_struct(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    uint64_t cost = STRUCT_COST;

    for (uint32_t i = 0; i < node->object.n; i++)
        cost = ek_cel_sat_add(cost, cost_of(e, node->object.fields[i].value));
    return cost;
}

/* ---- Folds ---- */

static bool ranges_over_list(struct ek_cel_entry_size entry, const struct ek_cel_node *range)
{
    return entry.known ? entry.is_list : range->type && range->type->kind == EK_CEL_T_LIST;
}

static void open_local(struct ek_cel_estimate *e, struct ek_cel_estimate_local *local,
                       const char *name, struct ek_cel_way way, const struct ek_cel_size *size)
{
    *local = (struct ek_cel_estimate_local){
        .name = name, .way = way, .sized = size != NULL, .up = e->locals};
    if (size)
        local->size = *size;
    e->locals = local;
}

static void open_accumulator(struct ek_cel_estimate *e, struct ek_cel_estimate_local *local,
                             const struct ek_cel_node *fold)
{
    const struct ek_cel_node *init = fold->fold.init;
    struct ek_cel_size size;
    bool sized = size_of(e, init, &size);

    open_local(e, local, fold->fold.accu, way_of(e, init), sized ? &size : NULL);
    local->entry = entry_of(e, init);
}

/* The variables of the loop: items, or keys of a map; with two, keys and values. */
static void open_variables(struct ek_cel_estimate *e, struct ek_cel_estimate_local locals[2],
                           const struct ek_cel_node *fold)
{
    const struct ek_cel_node *range = fold->fold.range;
    struct ek_cel_entry_size entry = entry_of(e, range);
    struct ek_cel_way way = way_of(e, range);
    bool list = ranges_over_list(entry, range);
    struct ek_cel_way key = go_on(e, way, list ? STEP_INDEX : STEP_KEY, NULL);
    struct ek_cel_way value = go_on(e, way, list ? STEP_ITEM : STEP_VALUE, NULL);

    if (fold->fold.var2) {
        open_local(e, &locals[0], fold->fold.var, key, entry.known ? &entry.key : NULL);
        open_local(e, &locals[1], fold->fold.var2, value, entry.known ? &entry.value : NULL);
    } else {
        const struct ek_cel_size *size = list ? &entry.value : &entry.key;
        open_local(e, &locals[0], fold->fold.var, list ? value : key, entry.known ? size : NULL);
    }
}

/* cel.bind, optMap: a loop over nothing, which only names a value. */
static bool is_bind(const struct ek_cel_node *node)
{
    const struct ek_cel_node *range = node->fold.range, *condition = node->fold.condition;

    return range->kind == EK_CEL_N_LIST && !range->list.n && condition->kind == EK_CEL_N_LITERAL &&
           condition->literal.kind == EK_CEL_BOOL && !condition->literal.b;
}

static uint64_t cost_bind(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    struct ek_cel_estimate_local accu;
    struct ek_cel_size size;
    uint64_t cost = cost_of(e, node->fold.range);

    cost = ek_cel_sat_add(cost, cost_of(e, node->fold.init));
    open_accumulator(e, &accu, node);
    cost = ek_cel_sat_add(cost, cost_of(e, node->fold.result));
    if (size_of(e, node->fold.result, &size))
        set_size(e, node, size);
    set_entry(e, node, entry_of(e, node->fold.result));
    e->locals = accu.up;
    return cost;
}

static uint64_t cost_fold(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    struct ek_cel_estimate_local accu, variables[2];
    const struct ek_cel_node *init = node->fold.init;
    uint64_t cost, loop;
    struct ek_cel_size range, size;

    cost = ek_cel_sat_add(cost_of(e, node->fold.range), cost_of(e, init));
    open_accumulator(e, &accu, node);
    open_variables(e, variables, node);
    loop = cost_of(e, node->fold.condition);
    loop = ek_cel_sat_add(cost_of(e, node->fold.step), loop);
    e->locals = &accu;
    cost = ek_cel_sat_add(cost, cost_of(e, node->fold.result));
    e->locals = accu.up;
    range = size_or_unknown(e, node->fold.range);
    cost = ek_cel_sat_add(cost, ek_cel_sat_mul(range.max, loop));
    if (init->kind == EK_CEL_N_LITERAL && size_of(e, init, &size)) {
        set_size(e, node, size);
    } else if (init->kind == EK_CEL_N_LIST || init->kind == EK_CEL_N_MAP) {
        set_size(e, node, range);
        set_entry(e, node, entry_of(e, node->fold.step));
    }
    return cost;
}

static uint64_t cost_of(struct ek_cel_estimate *e, const struct ek_cel_node *node)
{
    if (!node || e->failed)
        return 0;
    switch (node->kind) {
    case EK_CEL_N_IDENT:
        return cost_ident(e, node);
    case EK_CEL_N_SELECT:
        return cost_select(e, node);
    case EK_CEL_N_CALL:
        return cost_call(e, node);
    case EK_CEL_N_LIST:
        return cost_list(e, node);
    case EK_CEL_N_MAP:
        return cost_map(e, node);
    case EK_CEL_N_STRUCT:
        return cost_struct(e, node);
    case EK_CEL_N_FOLD:
        return is_bind(node) ? cost_bind(e, node) : cost_fold(e, node);
    default:
        return 0;
    }
}

/* ---- All ---- */

static const struct ek_cel_macro *find_macro(void *arg, const char *name, bool member, uint32_t n)
{
    return ek_cel_env_macro(arg, name, member, n);
}

static int estimate(const struct ek_cel_ast *ast, const struct ek_cel_declared *root,
                    struct ek_arena *arena, uint64_t *ret_cost)
{
    struct ek_cel_estimate e = {.root = root, .arena = arena, .cap = 64};

    while (e.cap < (size_t)ast->nodes * 2 + 2)
        e.cap *= 2;
    e.facts = ek_arena_try(arena, e.cap * sizeof *e.facts);
    if (!e.facts)
        return EK_E_LIMIT;
    memset(e.facts, 0, e.cap * sizeof *e.facts);
    *ret_cost = cost_of(&e, ast->root);
    return e.failed ? EK_E_LIMIT : 0;
}

int ek_cel_estimate(struct ek_cel_env *env, const char *text, size_t len,
                    const struct ek_cel_declared *root, uint64_t *ret_cost)
{
    const struct ek_cel_env_rules *rules = ek_cel_env_rules(env);
    const struct ek_cel_parse_options options = {.find_macro = find_macro,
                                                 .find_macro_arg = env,
                                                 .optional_syntax = rules->optional_syntax,
                                                 .backticks = rules->backticks};
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast;
    int rc;

    *ret_cost = UINT64_MAX;
    if (len > EK_CEL_TEXT_MAX * (size_t)4)
        return EK_E_LIMIT;
    ek_cel_env_freeze(env);
    struct ek_arena *arena = ek_arena_new(MEMORY_BASE + len * MEMORY_EACH);
    rc = ek_cel_parse(text, len, &options, arena, &ast, &issues);
    if (!rc && ast.depth > TREE_DEPTH_MAX)
        rc = EK_E_LIMIT;
    if (!rc)
        rc = ek_cel_check(env, &ast, arena, &issues);
    if (!rc)
        rc = estimate(&ast, root, arena, ret_cost);
    ek_arena_free(arena);
    return rc;
}
