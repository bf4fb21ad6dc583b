/* SPDX-License-Identifier: Apache-2.0 */
/* The User-Agent of a client: whatever it is, the labels that come of it are few. */
#include <string.h>

#include "reconcilers/proxy/client_version.h"
#include "test/fuzz/fuzz.h"

static bool is_few(const struct ek_client_version *v)
{
    if (!*v->version || !strcmp(v->version, "other"))
        return true;
    struct ek_minor minor = ek_minor_parse(v->version);
    return minor.known && minor.major == 1 && minor.minor >= 26 && minor.minor <= 46;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ek_server servers[] = {
        {"a", EK_MINOR(1, 36), EK_MINOR(1, 36), EK_MINOR(1, 35)}};
    const struct ek_bounds bounds = ek_policy_bounds(servers, 1);
    char *text = ek_xstrndup((const char *)data, size);
    struct ek_client_version v = ek_client_version_judge(text, &bounds);

    fuzz_require(is_few(&v));
    fuzz_require(strcmp(v.client, "other") != 0 || v.verdict == EK_VERDICT_NOT_JUDGED);
    fuzz_require(v.verdict != EK_VERDICT_SUPPORTED || !strncmp(v.version, "1.3", 3));
    ek_free(text);
    return 0;
}
