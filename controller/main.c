/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "api/base/stack.h"
#include "controller/cli/commands.h"

struct arguments {
    int argc;
    char **argv;
};

static int run(void *arg)
{
    const struct arguments *arguments = arg;

    return ek_program_run(arguments->argc, arguments->argv);
}

/* On a stack of a known size: api/base/stack.h says why. */
int main(int argc, char **argv)
{
    struct arguments arguments = {argc, argv};
    int code = EK_EXIT_FAILED;

    if (ek_stack_run(run, &arguments, &code))
        fprintf(stderr, "evenkeel: no memory for a thread with a stack of %zu bytes\n",
                EK_STACK_SIZE);
    return code;
}
