/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cel/cel.h"
#include "api/cel/check.h"
#include "api/cel/parse.h"

struct ek_cel_program *ek_cel_compile(struct ek_cel_env *env, const char *text, size_t len,
                                      const char *want, struct ek_cel_issues *issues)
{
    (void)env, (void)text, (void)len, (void)want, (void)issues;
    return NULL;
}

struct ek_cel_program *ek_cel_program_ref(struct ek_cel_program *program)
{
    return program;
}

void ek_cel_program_unref(struct ek_cel_program *program)
{
    (void)program;
}

const char *ek_cel_program_type(const struct ek_cel_program *program)
{
    (void)program;
    return "dyn";
}

const char *ek_cel_program_text(const struct ek_cel_program *program)
{
    (void)program;
    return "";
}

bool ek_cel_program_uses(const struct ek_cel_program *program, size_t slot)
{
    (void)program, (void)slot;
    return false;
}

size_t ek_cel_program_reads(const struct ek_cel_program *program, const struct ek_cel_read **ret)
{
    (void)program;
    *ret = NULL;
    return 0;
}

size_t ek_cel_program_size(const struct ek_cel_program *program)
{
    (void)program;
    return 0;
}
