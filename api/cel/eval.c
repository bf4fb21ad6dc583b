/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/eval.h"
#include "api/cel/regex.h"

bool ek_cel_work(struct ek_cel_eval *eval, uint64_t steps)
{
    (void)eval, (void)steps;
    return true;
}

struct ek_cel_val ek_cel_stopped(struct ek_cel_eval *eval)
{
    return ek_cel_error(&eval->final);
}

const struct ek_cel_regex *ek_cel_regex_of(struct ek_cel_eval *eval,
                                           const struct ek_cel_val *pattern,
                                           struct ek_cel_val *ret_error)
{
    (void)pattern;
    *ret_error = ek_cel_error(&eval->final);
    return NULL;
}

bool ek_cel_eval(const struct ek_cel_program *program, const struct ek_cel_val *vars,
                 struct ek_arena *arena, const struct ek_cel_limits *limits,
                 struct ek_cel_result *ret)
{
    (void)program, (void)vars, (void)arena, (void)limits;
    *ret = (struct ek_cel_result){0};
    return false;
}
