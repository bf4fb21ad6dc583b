/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands.h"

int main(int argc, char **argv)
{
    return ek_program_run(argc, argv);
}
