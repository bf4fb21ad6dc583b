/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/webhook/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* A thread's part: three quarters of it, which large bodies may have, hold the largest. */
#define CONNECTIONS_MIN (EK_WEBHOOK_BODY_MAX / 3 * 4 + ((size_t)1 << 20))
#define ARENA_MAX       ((size_t)64 << 20)
#define DEFAULT_MAX     ((size_t)1 << 30)

/* Bytes per value: yyjson's 16, and those of the copies that engines make. */
#define VALUE_SIZE ((size_t)64)

void ek_webhook_memory_plan(size_t total, unsigned threads, struct ek_webhook_memory *ret)
{
    size_t half = (total ? total : EK_WEBHOOK_MEMORY_DEFAULT) / 2;
    size_t fit = half / CONNECTIONS_MIN;

    *ret = (struct ek_webhook_memory){.threads = threads, .work = half};
    if (ret->threads > fit)
        ret->threads = (unsigned)fit;
    if (ret->threads == 0)
        ret->threads = 1;
    ret->connections = half / ret->threads;
    ret->arena = half < ARENA_MAX ? half : ARENA_MAX;
}

size_t ek_webhook_memory_of(struct ek_str body)
{
    size_t values = 1;

    for (size_t i = 0; i < body.len; i++) {
        char c = body.p[i];
        values += (c == ',') + (c == ':') + (c == '[') + (c == '{');
    }
    return 2 * body.len + values * VALUE_SIZE;
}

int ek_webhook_memory_parse(const char *text, size_t *ret_bytes, struct ek_err *err)
{
    static const struct {
        const char *suffix;
        unsigned shift;
    } units[] = {{"", 0}, {"Ki", 10}, {"Mi", 20}, {"Gi", 30}};
    uint64_t n = 0;
    size_t digits = strspn(text, "0123456789");

    for (size_t i = 0; i < digits && n < UINT64_C(1) << 33; i++)
        n = n * 10 + (uint64_t)(text[i] - '0');
    for (size_t i = 0; digits > 0 && i < EK_ARRAY_SIZE(units); i++) {
        if (strcmp(text + digits, units[i].suffix) != 0)
            continue;
        n = n < UINT64_C(1) << 33 ? n << units[i].shift : UINT64_MAX;
        if (n < EK_WEBHOOK_MEMORY_MIN || n > (uint64_t)SIZE_MAX / 4)
            break;
        *ret_bytes = (size_t)n;
        return 0;
    }
    return ek_err_set(
        err, EK_E_INVAL,
        "\"%s\" is not an amount of memory of at least 32Mi: use \"128Mi\" or \"1Gi\"", text);
}

/* The number in a file; 0 for "max", what is not there, and version 1's way to say that there is no
 * limit. */
static uint64_t read_limit(const char *root, const char *name)
{
    EK_AUTOFREE char *path = ek_xasprintf("%s/%s", root, name);
    char text[32] = "";
    FILE *file = fopen(path, "re");

    if (!file)
        return 0;
    if (!fgets(text, sizeof text, file))
        text[0] = '\0';
    fclose(file);
    uint64_t n = strtoull(text, NULL, 10);
    return n < UINT64_C(1) << 50 ? n : 0;
}

size_t ek_webhook_memory_default(const char *root)
{
    uint64_t limit = read_limit(root, "memory.max");

    if (!limit)
        limit = read_limit(root, "memory/memory.limit_in_bytes");
    if (!limit)
        return EK_WEBHOOK_MEMORY_DEFAULT;
    if (limit / 2 < EK_WEBHOOK_MEMORY_MIN)
        return EK_WEBHOOK_MEMORY_MIN;
    return limit / 2 < DEFAULT_MAX ? (size_t)(limit / 2) : DEFAULT_MAX;
}
