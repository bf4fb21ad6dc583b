/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Discovery documents, aggregated and legacy: a set is sorted and holds nothing twice, finds all it
 * holds, and is the sum of its core half and the rest.
 */
#include <string.h>

#include "api/discovery.h"
#include "test/fuzz/fuzz.h"

static int compare(const struct ek_discovery_entry *a, const struct ek_discovery_entry *b)
{
    int sign = strcmp(a->group, b->group);

    sign = sign ? sign : strcmp(a->version, b->version);
    return sign ? sign : strcmp(a->resource, b->resource);
}

static void check_set(const struct ek_discovery *set)
{
    size_t n;
    const struct ek_discovery_entry *entries = ek_discovery_entries(set, &n);

    for (size_t i = 0; i < n; i++) {
        const struct ek_discovery_entry *e = &entries[i];
        fuzz_require(i == 0 || compare(&entries[i - 1], e) < 0);
        fuzz_require(ek_discovery_has(set, e->group, e->version, e->resource));
    }
    fuzz_require(!ek_discovery_has(set, "no.such.group", "v1", "things"));
}

static void check_halves(const struct ek_discovery *set)
{
    EK_AUTOPTR(ek_discovery, ek_discovery_free) *sum = ek_discovery_new();
    size_t n, n_sum;

    fuzz_require(ek_discovery_add_from(sum, set, false, NULL) == 0);
    fuzz_require(ek_discovery_add_from(sum, set, true, NULL) == 0);
    ek_discovery_seal(sum);
    const struct ek_discovery_entry *a = ek_discovery_entries(set, &n);
    const struct ek_discovery_entry *b = ek_discovery_entries(sum, &n_sum);
    fuzz_require(n == n_sum);
    for (size_t i = 0; i < n; i++)
        fuzz_require(compare(&a[i], &b[i]) == 0 && a[i].stale == b[i].stale);
}

static void on_path(void *ctx, const char *path)
{
    (void)ctx;
    fuzz_require((!strncmp(path, "/api/", 5) || !strncmp(path, "/apis/", 6)) && strlen(path) < 600);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    EK_AUTOPTR(ek_discovery, ek_discovery_free) *set = ek_discovery_new();
    enum ek_discovery_form form = EK_DISCOVERY_FORM_MAX;
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse((const char *)data, size, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);

    if (!doc)
        return 0;
    int rc = ek_discovery_add_aggregated(set, root, &form, &err);
    fuzz_require(rc == err.code && (rc == 0) == (form != EK_DISCOVERY_FORM_MAX));
    ek_discovery_add_resource_list(set, root, NULL);
    ek_discovery_legacy_paths(root, on_path, NULL, NULL);
    yyjson_doc_free(doc);
    ek_discovery_seal(set);
    check_set(set);
    check_halves(set);
    return 0;
}
