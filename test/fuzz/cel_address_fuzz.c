/* SPDX-License-Identifier: Apache-2.0 */
/*
 * IP addresses and prefixes: what parses prints as something that parses to the same, and what
 * does not is explained.
 */
#include <string.h>

#include "api/cel/text/address.h"
#include "test/fuzz/fuzz.h"

static void check_address(struct ek_str text)
{
    struct ek_cel_address a, again;
    struct ek_cel_address_fault fault = {0};
    char printed[EK_CEL_ADDRESS_TEXT_MAX];
    struct ek_buf why;

    ek_buf_init(&why, EK_BUF_SMALL_MAX);
    if (ek_cel_address_parse(text, &a, &fault)) {
        size_t len = ek_cel_address_text(&a, printed);
        fuzz_require(len == strlen(printed));
        fuzz_require(ek_cel_address_parse((struct ek_str){printed, len}, &again, &fault));
        fuzz_require(ek_cel_address_equal(&a, &again));
        fuzz_require(ek_cel_address_hash(&a) == ek_cel_address_hash(&again));
    } else {
        ek_cel_address_explain(text, &fault, &why);
        fuzz_require(why.len > 0 || why.failed);
    }
    ek_buf_done(&why);
}

static void check_prefix(struct ek_str text)
{
    struct ek_cel_prefix p, again;
    struct ek_cel_address_fault fault = {0};
    char printed[EK_CEL_ADDRESS_TEXT_MAX];
    struct ek_buf why;

    ek_buf_init(&why, EK_BUF_SMALL_MAX);
    if (ek_cel_prefix_parse(text, &p, &fault)) {
        struct ek_cel_prefix masked = ek_cel_prefix_masked(&p);
        size_t len = ek_cel_prefix_text(&p, printed);
        fuzz_require(len == strlen(printed));
        fuzz_require(ek_cel_prefix_parse((struct ek_str){printed, len}, &again, &fault));
        fuzz_require(again.length == p.length && ek_cel_address_equal(&p.address, &again.address));
        fuzz_require(ek_cel_address_agrees(&p.address, &masked.address, p.length));
        again = ek_cel_prefix_masked(&masked);
        fuzz_require(ek_cel_address_equal(&again.address, &masked.address));
    } else {
        ek_cel_prefix_explain(text, &fault, &why);
        fuzz_require(why.len > 0 || why.failed);
    }
    ek_buf_done(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_str text = {(const char *)data, size};

    check_address(text);
    check_prefix(text);
    return 0;
}
