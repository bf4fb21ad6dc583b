/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of a proxy: whatever the page is, what is taken of it is few and known. */
#include <string.h>

#include "reconcilers/proxy/clients_seen.h"
#include "test/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ek_server servers[] = {
        {"a", EK_MINOR(1, 36), EK_MINOR(1, 36), EK_MINOR(1, 35)}};
    const struct ek_bounds bounds = ek_policy_bounds(servers, 1);
    struct ek_clients_seen seen = {0};

    ek_clients_seen_read(&seen, (struct ek_str){(const char *)data, size}, &bounds);
    fuzz_require(seen.n <= EK_CLIENTS_SEEN_MAX);
    for (size_t i = 0; i < seen.n; i++) {
        const struct ek_client_version *is = &seen.rows[i].is;
        struct ek_minor v = ek_minor_parse(is->version);
        fuzz_require(strspn(is->client, "abcdefghijklmnopqrstuvwxyz-") == strlen(is->client));
        fuzz_require(!*is->version || !strcmp(is->version, "other") ||
                     (v.known && v.major == 1 && v.minor >= 26 && v.minor <= 46));
        fuzz_require(seen.rows[i].requests >= 0);
    }
    return 0;
}
