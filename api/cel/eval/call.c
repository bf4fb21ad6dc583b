/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls: finding the overload, calling it, charging for it.
 *
 * Source: cel-go 0.26, common/decls (Bindings), interpreter/runtimecost.go (costCall).
 */
#include <string.h>

#include "api/base/hash.h"
#include "api/cel/eval/eval.h"
#include "api/cel/eval/flat.h"
#include "api/cel/values/value.h"

static bool admits(const struct ek_cel_decl_overload *o, const struct ek_cel_val *args, uint32_t n)
{
    bool nonstrict = (o->def->flags & EK_CEL_NONSTRICT) != 0;

    if (o->n != n)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        if (args[i].kind == EK_CEL_ERROR) {
            if (!nonstrict)
                return false;
        } else if (!ek_cel_type_admits(o->args[i], &args[i])) {
            return false;
        }
    }
    return true;
}

static bool masked_admits(const struct ek_cel_call *call, const struct ek_cel_val *args, uint32_t n)
{
    if (call->only->n != n)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (!(call->masks[i] >> args[i].kind & 1))
            return args[i].kind == EK_CEL_ERROR && call->nonstrict;
    return true;
}

static struct ek_cel_val dispatch(struct ek_cel_eval *e, const struct ek_cel_call *call,
                                  const struct ek_cel_val *args, uint32_t n)
{
    for (uint32_t i = 0; i < call->function->n; i++) {
        const struct ek_cel_decl_overload *o = &call->function->overloads[i];
        if (o->def->fn && admits(o, args, n))
            return o->def->fn(e, args, n);
    }
    if (call->function->def->singleton)
        return call->function->def->singleton(e, args, n);
    return ek_cel_no_overload(e, call->name, args, n);
}

struct ek_cel_val ek_cel_call_apply(struct ek_cel_eval *e, const struct ek_cel_call *call,
                                    const struct ek_cel_val *args, uint32_t n)
{
    ek_cel_frame_of(e)->call = call;
    if (!call->fn)
        return dispatch(e, call, args, n);
    if (call->only && !(call->masked ? masked_admits(call, args, n) : admits(call->only, args, n)))
        return ek_cel_no_overload(e, call->regex ? NULL : call->name, args, n);
    return call->fn(e, args, n);
}

void ek_cel_call_charge(struct ek_cel_eval *e, const struct ek_cel_call *call,
                        const struct ek_cel_val *args, uint32_t n, const struct ek_cel_val *result)
{
    uint64_t cost = call->cost ? call->cost(args, n, result) : 1;

    if (__builtin_expect(cost == EK_CEL_COST_INVALID, 0)) {
        ek_cel_end(e, EK_CEL_E_EVAL, "internal error: cost of an argument of another type");
        return;
    }
    if (__builtin_add_overflow(e->cost, cost, &e->cost))
        e->cost = UINT64_MAX;
}

struct ek_cel_val ek_cel_call_charged(struct ek_cel_eval *e, const struct ek_cel_call *call,
                                      const struct ek_cel_val *args, uint32_t n)
{
    struct ek_cel_val result = ek_cel_call_apply(e, call, args, n);

    if (__builtin_expect(e->ended, 0))
        return ek_cel_error(&e->final);
    ek_cel_call_charge(e, call, args, n, &result);
    if (__builtin_expect(e->cost > e->cost_limit, 0))
        return ek_cel_cost_exceeded(e);
    return __builtin_expect(e->ended, 0) ? ek_cel_error(&e->final) : result;
}

/* ---- Sets ------------------------------------------------------------------------------------ */

bool ek_cel_set_same(const struct ek_cel_val *a, const struct ek_cel_val *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case EK_CEL_STRING:
        return ek_cel_same_octets(a, b);
    case EK_CEL_DOUBLE:
        return a->d == b->d;
    case EK_CEL_BOOL:
        return a->b == b->b;
    default:
        return a->u == b->u;
    }
}

uint32_t ek_cel_set_hash(const struct ek_cel_val *v)
{
    uint64_t bits;

    switch (v->kind) {
    case EK_CEL_STRING:
        return (uint32_t)ek_hash(v->s, v->n);
    case EK_CEL_BOOL:
        return v->b;
    case EK_CEL_DOUBLE:
        bits = v->d == 0 ? 0 : v->u; /* 0.0 and -0.0 are one */
        break;
    default:
        bits = v->u;
        break;
    }
    bits = (bits ^ v->kind) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(bits >> 32);
}
