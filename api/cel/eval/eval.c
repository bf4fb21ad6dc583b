/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The evaluator: one function over the ops of a flat program.
 *
 * Native recursion follows the depth of the expression, which compiling bounds. What an op costs
 * is added as it is done; the limit is looked at where work can repeat (loops) or be large (calls),
 * and at the end: costs only grow, so the answer is the same as when it is looked at each time.
 */
#include "api/cel/eval/eval.h"

#include <string.h>

#include "api/cel/eval/flat.h"
#include "api/cel/values/value.h"

#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define NOINLINE    __attribute__((noinline))

/* The error "no such overload" of an operator. */
static NOINLINE struct ek_cel_val no_overload(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    e->position = op->position;
    return ek_cel_no_overload(e, NULL, NULL, 0);
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static inline struct ek_cel_val read_json(yyjson_val *json)
{
    switch (unsafe_yyjson_get_tag(json)) {
    case YYJSON_TYPE_STR | YYJSON_SUBTYPE_NONE:
        return ek_cel_string(unsafe_yyjson_get_str(json), unsafe_yyjson_get_len(json));
    case YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_TRUE:
        return ek_cel_bool(true);
    case YYJSON_TYPE_BOOL | YYJSON_SUBTYPE_FALSE:
        return ek_cel_bool(false);
    case YYJSON_TYPE_NUM | YYJSON_SUBTYPE_SINT:
        return ek_cel_int(json->uni.i64);
    default:
        return ek_cel_from_json(json);
    }
}

/* Plain fields in a row, from JSON objects as long as it goes. */
static inline struct ek_cel_val walk(struct ek_cel_eval *e, struct ek_cel_val v,
                                     const struct ek_cel_op *op)
{
    uint32_t first = op->first;

    for (const struct ek_cel_qual *q; first; first = q->next) {
        q = &ek_cel_frame_of(e)->program->quals[first - 1];
        if (UNLIKELY(v.kind != EK_CEL_MAP || v.form != EK_CEL_JSON || v.n > EK_CEL_JSON_LINEAR_MAX))
            return ek_cel_qualify(e, v, first);
        yyjson_val *found = ek_cel_json_find(v.json, q->key.s, q->key.n);
        e->cost++;
        if (UNLIKELY(!found))
            return ek_cel_error(&q->missing);
        v = read_json(found);
    }
    return v;
}

/* Reading an optional gives its value another form (see ek_cel_qualify). */
static inline struct ek_cel_val plain(struct ek_cel_eval *e, struct ek_cel_val v)
{
    return UNLIKELY(v.kind == EK_CEL_OPTIONAL) ? ek_cel_qualify(e, v, 0) : v;
}

static NOINLINE struct ek_cel_val resolve_cond(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val test = ek_cel_run(e, op->a);

    if (test.kind != EK_CEL_BOOL)
        return test.kind == EK_CEL_ERROR ? test : no_overload(e, op);
    return ek_cel_resolve(e, &ek_cel_frame_of(e)->ops[test.b ? op->b : op->c]);
}

struct ek_cel_val ek_cel_resolve(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    switch (op->code) {
    case EK_CEL_I_VAR:
        return plain(e, ek_cel_frame_of(e)->vars[op->a]);
    case EK_CEL_I_LOCAL:
        return plain(e, ek_cel_frame_of(e)->locals[op->a]);
    case EK_CEL_I_ACCU:
        return plain(e, ek_cel_run_accu(e, op->a, op->b));
    case EK_CEL_I_VAR_PATH:
        return walk(e, ek_cel_frame_of(e)->vars[op->a], op);
    case EK_CEL_I_LOCAL_PATH:
        return walk(e, ek_cel_frame_of(e)->locals[op->a], op);
    case EK_CEL_I_VAR_ATTR:
        return ek_cel_qualify(e, ek_cel_frame_of(e)->vars[op->a], op->first);
    case EK_CEL_I_LOCAL_ATTR:
        return ek_cel_qualify(e, ek_cel_frame_of(e)->locals[op->a], op->first);
    case EK_CEL_I_ACCU_ATTR:
        return ek_cel_qualify(e, ek_cel_run_accu(e, op->a, op->b), op->first);
    case EK_CEL_I_VALUE_ATTR:
        return ek_cel_qualify(e, ek_cel_run(e, op->a), op->first);
    case EK_CEL_I_COND:
        return resolve_cond(e, op);
    case EK_CEL_I_HAS: /* has() is what evaluating adds to an attribute */
        return ek_cel_resolve(e, &ek_cel_frame_of(e)->ops[op->a]);
    default:
        return ek_cel_stopped(e); /* the planner makes no other */
    }
}

static NOINLINE struct ek_cel_val run_has(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val v = ek_cel_resolve(e, &ek_cel_frame_of(e)->ops[op->a]);

    if (op->flags & EK_CEL_OPF_COND) { /* the reference takes off what it never added */
        if (!(op->flags & EK_CEL_OPF_COSTS) && e->cost-- == 0)
            return ek_cel_cost_exceeded(e);
    } else if (op->flags & EK_CEL_OPF_COSTS) {
        e->cost++;
    }
    return v.kind == EK_CEL_OPTIONAL ? ek_cel_bool(v.some != NULL) : v;
}

/* ---- Logic ----------------------------------------------------------------------------------- */

/* && and ||: decided by the first operand that is `decisive`, whatever errors there are. */
static struct ek_cel_val run_logic(struct ek_cel_eval *e, const struct ek_cel_op *op, bool decisive)
{
    const uint32_t *kids = ek_cel_frame_of(e)->program->kids + op->a;
    struct ek_cel_val error = {.kind = EK_CEL_NULL};

    for (uint32_t i = 0; i < op->n; i++) {
        struct ek_cel_val v = ek_cel_run(e, kids[i]);
        if (v.kind == EK_CEL_BOOL) {
            if (v.b == decisive)
                return v;
            continue;
        }
        if (e->ended)
            return ek_cel_error(&e->final);
        if (error.kind != EK_CEL_ERROR)
            error = v.kind == EK_CEL_ERROR ? v : no_overload(e, op);
    }
    return error.kind == EK_CEL_ERROR ? error : ek_cel_bool(!decisive);
}

static NOINLINE struct ek_cel_val run_not(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val v = ek_cel_run(e, op->a);

    e->cost++;
    if (v.kind == EK_CEL_BOOL)
        return ek_cel_bool(!v.b);
    return v.kind == EK_CEL_ERROR ? v : no_overload(e, op);
}

static NOINLINE struct ek_cel_val run_not_false(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val v = ek_cel_run(e, op->a);

    if (UNLIKELY(e->ended))
        return ek_cel_error(&e->final);
    e->cost++;
    return v.kind == EK_CEL_BOOL ? v : ek_cel_bool(true);
}

static NOINLINE struct ek_cel_val run_optional(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val v = ek_cel_run(e, op->a);

    if (v.kind != EK_CEL_OPTIONAL)
        return v;
    if (!v.some)
        return ek_cel_run(e, op->b);
    return op->code == EK_CEL_I_OPT_OR ? v : *v.some;
}

static NOINLINE struct ek_cel_val run_in_set(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val v = ek_cel_run(e, op->a);
    const struct ek_cel_set *set = &ek_cel_frame_of(e)->program->sets[op->b];

    switch (v.kind) {
    case EK_CEL_ERROR:
        return v;
    case EK_CEL_BYTES:
        e->position = op->position;
        return ek_cel_fail(e, "internal error: hash of unhashable type bytes");
    case EK_CEL_BOOL:
    case EK_CEL_INT:
    case EK_CEL_UINT:
    case EK_CEL_DOUBLE:
    case EK_CEL_STRING:
        break;
    default:
        return ek_cel_bool(false);
    }
    for (uint32_t at = ek_cel_set_hash(&v) & set->mask; set->slots[at].kind != EK_CEL_ERROR;
         at = (at + 1) & set->mask)
        if (ek_cel_set_same(&set->slots[at], &v))
            return ek_cel_bool(true);
    return ek_cel_bool(false);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static NOINLINE struct ek_cel_val call_one(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const struct ek_cel_call *call = &ek_cel_frame_of(e)->program->calls[op->c];
    struct ek_cel_val arg = ek_cel_run(e, op->a);

    e->position = op->position;
    if (UNLIKELY(arg.kind == EK_CEL_ERROR)) {
        if (e->ended)
            return arg;
        if (!call->nonstrict) {
            ek_cel_call_charge(e, call, &arg, 1, &arg);
            return e->ended ? ek_cel_error(&e->final) : arg;
        }
    }
    return ek_cel_call_charged(e, call, &arg, 1);
}

static NOINLINE struct ek_cel_val call_two(struct ek_cel_eval *e, const struct ek_cel_op *op,
                                           struct ek_cel_val a, struct ek_cel_val b)
{
    const struct ek_cel_call *call = &ek_cel_frame_of(e)->program->calls[op->c];
    struct ek_cel_val args[2] = {a, b};

    if (UNLIKELY(e->ended))
        return ek_cel_error(&e->final);
    e->position = op->position;
    if (UNLIKELY(a.kind == EK_CEL_ERROR || b.kind == EK_CEL_ERROR) && !call->nonstrict) {
        const struct ek_cel_val *error = a.kind == EK_CEL_ERROR ? &args[0] : &args[1];
        ek_cel_call_charge(e, call, args, 2, error);
        return e->ended ? ek_cel_error(&e->final) : *error;
    }
    return ek_cel_call_charged(e, call, args, 2);
}

static NOINLINE struct ek_cel_val call_many(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const struct ek_cel_call *call = &ek_cel_frame_of(e)->program->calls[op->c];
    const uint32_t *kids = ek_cel_frame_of(e)->program->kids + op->a;
    struct ek_cel_val args[EK_CEL_ARGS_MAX];

    for (uint32_t i = 0; i < op->n; i++) {
        args[i] = ek_cel_run(e, kids[i]);
        if (args[i].kind != EK_CEL_ERROR || (call->nonstrict && !e->ended))
            continue;
        if (i + 1 == op->n && !e->ended)
            ek_cel_call_charge(e, call, args, op->n, &args[i]);
        return args[i];
    }
    e->position = op->position;
    return ek_cel_call_charged(e, call, args, op->n);
}

/* A function without a declaration, or with more arguments than any declaration has. */
static NOINLINE struct ek_cel_val call_unknown(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    const uint32_t *kids = ek_cel_frame_of(e)->program->kids + op->a;

    for (uint32_t i = 0; i < op->n; i++) {
        struct ek_cel_val v = ek_cel_run(e, kids[i]);
        if (v.kind == EK_CEL_ERROR)
            return v;
    }
    e->position = op->position;
    e->cost++;
    return ek_cel_fail(e, "no such overload: %s", ek_cel_frame_of(e)->program->calls[op->c].name);
}

/* ---- Operators ------------------------------------------------------------------------------- */

static inline bool ordered(uint8_t code, int64_t a, int64_t b)
{
    switch (code) {
    case EK_CEL_I_LT:
        return a < b;
    case EK_CEL_I_LE:
        return a <= b;
    case EK_CEL_I_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static struct ek_cel_val run_order(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val a = ek_cel_run(e, op->a), b = ek_cel_run(e, op->b);

    if (a.kind != EK_CEL_INT || b.kind != EK_CEL_INT)
        return call_two(e, op, a, b);
    e->cost++;
    return ek_cel_bool(ordered(op->code, a.i, b.i));
}

/* A tenth of the shorter one's code points, without counting them where the octets suffice. */
static inline uint64_t strings_cost(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    uint32_t least = a->n < b->n ? a->n : b->n, most = a->n < b->n ? b->n : a->n;
    size_t m, n;

    if (!least || most <= 10)
        return least != 0;
    m = ek_cel_runes(a->s, a->n);
    n = ek_cel_runes(b->s, b->n);
    return ek_cel_cost_tenths(m < n ? m : n, 1);
}

static struct ek_cel_val run_equal(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val a = ek_cel_run(e, op->a), b = ek_cel_run(e, op->b);
    bool want = op->code == EK_CEL_I_EQ;

    if (UNLIKELY(a.kind != b.kind))
        return call_two(e, op, a, b);
    switch (a.kind) {
    case EK_CEL_INT:
        e->cost++;
        return ek_cel_bool((a.i == b.i) == want);
    case EK_CEL_BOOL:
        e->cost++;
        return ek_cel_bool((a.b == b.b) == want);
    case EK_CEL_STRING:
        e->cost += strings_cost(&a, &b);
        return ek_cel_bool(ek_cel_same_octets(&a, &b) == want);
    default:
        return call_two(e, op, a, b);
    }
}

static struct ek_cel_val run_arithmetic(struct ek_cel_eval *e, const struct ek_cel_op *op)
{
    struct ek_cel_val a = ek_cel_run(e, op->a), b = ek_cel_run(e, op->b);
    int64_t i = 0;
    bool overflow;

    if (a.kind != EK_CEL_INT || b.kind != EK_CEL_INT)
        return call_two(e, op, a, b);
    if (op->code == EK_CEL_I_ADD)
        overflow = __builtin_add_overflow(a.i, b.i, &i);
    else if (op->code == EK_CEL_I_SUB)
        overflow = __builtin_sub_overflow(a.i, b.i, &i);
    else
        overflow = __builtin_mul_overflow(a.i, b.i, &i);
    if (UNLIKELY(overflow))
        return call_two(e, op, a, b);
    e->cost++;
    return ek_cel_int(i);
}

/* ---- All ops --------------------------------------------------------------------------------- */

struct ek_cel_val ek_cel_run(struct ek_cel_eval *e, uint32_t index)
{
    const struct ek_cel_op *op = &ek_cel_frame_of(e)->ops[index];

    switch ((enum ek_cel_code)op->code) {
    case EK_CEL_I_CONST:
        return op->value;
    case EK_CEL_I_VAR:
        e->cost++;
        return plain(e, ek_cel_frame_of(e)->vars[op->a]);
    case EK_CEL_I_LOCAL:
        e->cost++;
        return plain(e, ek_cel_frame_of(e)->locals[op->a]);
    case EK_CEL_I_VAR_PATH:
        e->cost++;
        return walk(e, ek_cel_frame_of(e)->vars[op->a], op);
    case EK_CEL_I_LOCAL_PATH:
        e->cost++;
        return walk(e, ek_cel_frame_of(e)->locals[op->a], op);
    case EK_CEL_I_ACCU:
    case EK_CEL_I_VAR_ATTR:
    case EK_CEL_I_LOCAL_ATTR:
    case EK_CEL_I_ACCU_ATTR:
    case EK_CEL_I_VALUE_ATTR:
        e->cost++;
        return ek_cel_resolve(e, op);
    case EK_CEL_I_COND:
        return resolve_cond(e, op);
    case EK_CEL_I_HAS:
        return run_has(e, op);
    case EK_CEL_I_AND:
        return run_logic(e, op, false);
    case EK_CEL_I_OR:
        return run_logic(e, op, true);
    case EK_CEL_I_NOT:
        return run_not(e, op);
    case EK_CEL_I_NOT_FALSE:
        return run_not_false(e, op);
    case EK_CEL_I_EQ:
    case EK_CEL_I_NE:
        return run_equal(e, op);
    case EK_CEL_I_LT:
    case EK_CEL_I_LE:
    case EK_CEL_I_GT:
    case EK_CEL_I_GE:
        return run_order(e, op);
    case EK_CEL_I_ADD:
    case EK_CEL_I_SUB:
    case EK_CEL_I_MUL:
        return run_arithmetic(e, op);
    case EK_CEL_I_CALL1:
        return call_one(e, op);
    case EK_CEL_I_CALL2: {
        struct ek_cel_val a = ek_cel_run(e, op->a);
        return call_two(e, op, a, ek_cel_run(e, op->b));
    }
    case EK_CEL_I_CALLN:
        return call_many(e, op);
    case EK_CEL_I_UNKNOWN:
        return call_unknown(e, op);
    case EK_CEL_I_IN_SET:
        return run_in_set(e, op);
    case EK_CEL_I_OPT_OR:
    case EK_CEL_I_OPT_OR_VALUE:
        return run_optional(e, op);
    case EK_CEL_I_LIST:
        return ek_cel_run_list(e, op);
    case EK_CEL_I_APPEND:
        return ek_cel_run_append(e, op);
    case EK_CEL_I_MAP:
        return ek_cel_run_map(e, op);
    case EK_CEL_I_STRUCT:
        return ek_cel_run_struct(e, op);
    case EK_CEL_I_FOLD:
        return ek_cel_run_fold(e, op);
    case EK_CEL_I_BIND:
        return ek_cel_run_bind(e, op);
    }
    return ek_cel_stopped(e); /* the planner makes no other */
}
