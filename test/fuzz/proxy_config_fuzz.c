/* SPDX-License-Identifier: Apache-2.0 */
/* The file of `evenkeel proxy --config`: what is accepted is a command line without mistakes. */
#include "controller/run/proxy_config.h"
#include "controller/run/proxy_options.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_proxy_arguments all;
    struct ek_proxy_command_options options = {0};
    struct ek_flags_result result = {0};
    struct ek_err err = {0};

    if (ek_proxy_config_merge(&ek_proxy_command, "f", (const char *)data, size, 0, NULL, &all,
                              &err)) {
        fuzz_require(err.code && all.n == 0);
        return 0;
    }
    int rc = ek_flags_parse(&ek_proxy_command, all.n, all.items, &options, &result, &err);
    /* Each value was judged alone; only their number may be too much. */
    fuzz_require(!rc || all.n > EK_FLAG_LIST_MAX);
    ek_flags_done(&ek_proxy_command, &options, &result);
    ek_proxy_arguments_done(&all);
    return 0;
}
