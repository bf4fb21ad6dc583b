/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a Pod asks for, from what its containers ask for. Source: Kubernetes 1.36,
 * pkg/apis/core/v1/defaults.go: SetDefaults_Pod, and component-helpers/resource/helpers.go.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/ascii.h"
#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/decode/builtin-internal.h"
#include "api/members.h"

__extension__ typedef __int128 amount_t;

#define BILLION 1000000000

/* Billionths beyond which nothing is added up, so that sums of a million fit. */
#define LARGE ((amount_t)1000000000000000 * 1000000000000000)

enum suffix { DECIMAL, EXPONENT, BINARY };

/* A quantity in billionths. */
struct amount {
    amount_t nano;
    enum suffix suffix;
    yyjson_mut_val *text; /* as it was written; NULL for a sum */
};

struct sum {
    struct sum *next;
    const char *name;
    struct amount amount;
};

/* Amounts by the names of resources. */
struct sums {
    struct ek_go_reader *r;
    struct ek_map map;
    struct sum *first;
};

/* ---- Amounts ---- */

/* The value times base^n; LARGE where that is more. */
static amount_t power(amount_t value, int base, int n)
{
    for (; n > 0 && value < LARGE; n--)
        value *= base;
    return value < LARGE ? value : LARGE;
}

/* Reads a quantity; false for what is too large here. */
static bool read_amount(struct ek_go_reader *r, yyjson_mut_val *quantity, struct amount *ret)
{
    static const char decimals[] = "num kMGTPE", binaries[] = " KMGTPE";
    bool coarse;
    const char *text = ek_go_plain_quantity(r, quantity, &coarse);
    bool negative = *text == '-';
    amount_t value = 0;

    for (text += negative; ek_is_digit(*text) && value < LARGE; text++)
        value = value * 10 + (*text - '0');
    const char *decimal = strchr(decimals, *text ? *text : ' ');
    const char *binary = *text && text[1] == 'i' ? strchr(binaries, *text) : NULL;
    if (binary)
        *ret = (struct amount){power(power(value, 10, 9), 1024, (int)(binary - binaries)), BINARY,
                               quantity};
    else if (*text == 'e')
        *ret = (struct amount){power(value, 10, (int)strtol(text + 1, NULL, 10) + 9), EXPONENT,
                               quantity};
    else if (decimal)
        *ret = (struct amount){power(value, 1000, (int)(decimal - decimals)), DECIMAL, quantity};
    if ((!binary && *text != 'e' && !decimal) || ret->nano >= LARGE)
        return false;
    ret->nano = negative ? -ret->nano : ret->nano;
    return true;
}

static yyjson_mut_val *write_amount(struct ek_go_reader *r, struct amount amount)
{
    static const char *const units[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    amount_t value = amount.nano < 0 ? -amount.nano : amount.nano;
    const char *unit = amount.suffix == EXPONENT ? "e-9" : "n";
    char digits[48], text[64];
    size_t at = sizeof digits;

    if (amount.text)
        return ek_go_copy(r, amount.text);
    if (amount.suffix == BINARY && value % BILLION == 0 && value / BILLION >= 1024) {
        size_t u = 0;
        for (value /= BILLION; value % 1024 == 0 && u + 1 < EK_ARRAY_SIZE(units); u++)
            value /= 1024;
        unit = units[u];
    }
    digits[--at] = '\0';
    do {
        digits[--at] = (char)('0' + (int)(value % 10));
        value /= 10;
    } while (value > 0);
    snprintf(text, sizeof text, "%s%s%s", amount.nano < 0 ? "-" : "", digits + at, unit);
    ek_arena_reset(r->scratch);
    return ek_go_quantity(r, text);
}

/* ---- Sums ---- */

static struct sum *find_sum(struct sums *sums, const char *name, bool add)
{
    struct sum *sum = ek_map_get(&sums->map, name);

    if (sum || !add)
        return sum;
    sum = ek_arena_try(sums->r->arena, sizeof *sum);
    if (!sum) {
        ek_go_made(sums->r, NULL);
        return NULL;
    }
    *sum = (struct sum){sums->first, name, {0, DECIMAL, NULL}};
    sums->first = sum;
    ek_map_put(&sums->map, name, sum);
    return sum;
}

static struct amount sum_of(struct amount a, struct amount b)
{
    return (struct amount){a.nano + b.nano, a.nano ? a.suffix : b.suffix, NULL};
}

static void add_amount(struct sums *sums, const char *name, struct amount amount)
{
    struct sum *sum = find_sum(sums, name, false);

    if (!sum) {
        sum = find_sum(sums, name, true);
        if (sum)
            sum->amount = amount;
        return;
    }
    sum->amount = sum_of(sum->amount, amount);
}

static void raise_amount(struct sums *sums, const char *name, struct amount amount)
{
    bool known = find_sum(sums, name, false);
    struct sum *sum = find_sum(sums, name, true);

    if (sum && (!known || amount.nano > sum->amount.nano))
        sum->amount = amount;
}

static yyjson_mut_val *resources_of(yyjson_mut_val *container, const char *which)
{
    return ek_go_get(ek_go_get(container, "resources"), which);
}

static void add_list(struct sums *sums, yyjson_mut_val *list)
{
    yyjson_mut_val *key, *value;
    struct amount amount;
    size_t i, n;

    yyjson_mut_obj_foreach(list, i, n, key, value)
    {
        ek_work_do(sums->r->work, 4);
        if (read_amount(sums->r, value, &amount))
            add_amount(sums, yyjson_mut_get_str(key), amount);
    }
}

/* An init container runs beside the sidecars that were started before it, and alone otherwise. */
static void add_init(struct sums *all, struct sums *init, struct sums *sidecars,
                     yyjson_mut_val *container, const char *which)
{
    yyjson_mut_val *list = resources_of(container, which), *key, *value;
    bool sidecar = !strcmp(ek_go_text_of(container, "restartPolicy"), "Always");
    struct amount amount;
    size_t i, n;

    if (sidecar) {
        add_list(all, list);
        add_list(sidecars, list);
    }
    yyjson_mut_obj_foreach(list, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        struct sum *beside = find_sum(sidecars, name, false);
        if (!read_amount(all->r, value, &amount))
            continue;
        if (beside && sidecar)
            amount = beside->amount;
        else if (beside)
            amount = sum_of(amount, beside->amount);
        raise_amount(init, name, amount);
    }
}

/* What the containers of a Pod ask for together; all is empty before. */
static void add_all(struct sums *all, yyjson_mut_val *spec, const char *which)
{
    struct sums init = {.r = all->r}, sidecars = {.r = all->r};
    yyjson_mut_val *container;
    size_t i, n;

    yyjson_mut_arr_foreach(ek_go_get(spec, "containers"), i, n, container)
    {
        add_list(all, resources_of(container, which));
    }
    yyjson_mut_arr_foreach(ek_go_get(spec, "initContainers"), i, n, container)
    {
        add_init(all, &init, &sidecars, container, which);
    }
    for (struct sum *sum = sidecars.first; sum; sum = sum->next)
        raise_amount(&init, sum->name, sum->amount);
    for (struct sum *sum = init.first; sum; sum = sum->next)
        raise_amount(all, sum->name, sum->amount);
    ek_map_done(&init.map);
    ek_map_done(&sidecars.map);
}

/* ---- Defaults ---- */

static bool is_huge(const char *name)
{
    return !strncmp(name, "hugepages-", strlen("hugepages-"));
}

static bool is_cpu_or_memory(const char *name)
{
    return !strcmp(name, "cpu") || !strcmp(name, "memory");
}

/* The sums that belong to a Pod, of resources for which wanted is true, as a list. */
static yyjson_mut_val *list_of(struct ek_go_reader *r, yyjson_mut_val *spec, const char *which,
                               bool (*wanted)(const char *name))
{
    struct sums sums = {.r = r};
    yyjson_mut_val *list = ek_go_made(r, yyjson_mut_obj(r->doc));

    add_all(&sums, spec, which);
    for (struct sum *sum = sums.first; list && sum && !r->rc; sum = sum->next)
        if (wanted(sum->name))
            yyjson_mut_obj_add(list, ek_go_made(r, yyjson_mut_str(r->doc, sum->name)),
                               write_amount(r, sum->amount));
    ek_map_done(&sums.map);
    return r->rc ? NULL : list;
}

/* The members of list of which other has none, that a Pod may have. */
static yyjson_mut_val *without(struct ek_go_reader *r, yyjson_mut_val *list, yyjson_mut_val *other)
{
    yyjson_mut_val *ret = ek_go_made(r, yyjson_mut_obj(r->doc)), *key, *value;
    struct ek_members members;
    size_t i, n;

    ek_members_init_mut(&members, other, r->work);
    yyjson_mut_obj_foreach(list, i, n, key, value)
    {
        const char *name = yyjson_mut_get_str(key);
        if ((is_huge(name) || is_cpu_or_memory(name)) &&
            !ek_members_find_mut(&members, ek_str_from(name)))
            yyjson_mut_obj_add(ret, ek_go_copy(r, key), ek_go_copy(r, value));
    }
    ek_members_done(&members);
    return ret;
}

static void default_pod_resources(struct ek_go_reader *r, yyjson_mut_val *spec)
{
    yyjson_mut_val *resources = ek_go_get(spec, "resources");
    yyjson_mut_val *limits = ek_go_get(resources, "limits");
    yyjson_mut_val *requests = ek_go_get(resources, "requests"), *more;

    if (yyjson_mut_obj_size(limits) == 0 && yyjson_mut_obj_size(requests) == 0)
        return;
    more = list_of(r, spec, "limits", is_huge);
    more = more ? without(r, more, requests) : NULL;
    if (more && yyjson_mut_obj_size(more) > 0)
        ek_go_fill(r, ek_go_open(r, resources, "limits"), more);
    limits = ek_go_get(resources, "limits");
    if (r->rc || yyjson_mut_obj_size(limits) == 0)
        return;
    more = list_of(r, spec, "requests", is_cpu_or_memory);
    if (!more)
        return;
    ek_go_fill(r, more, without(r, limits, more));
    if (yyjson_mut_obj_size(more) > 0)
        ek_go_fill(r, ek_go_open(r, resources, "requests"), more);
}

static void default_host_ports(struct ek_go_reader *r, yyjson_mut_val *container)
{
    yyjson_mut_val *port;
    size_t i, n;

    yyjson_mut_arr_foreach(ek_go_get(container, "ports"), i, n, port)
    {
        yyjson_mut_val *number = ek_go_get(port, "containerPort");
        if (number && !ek_go_get(port, "hostPort"))
            ek_go_put(r, port, "hostPort", ek_go_copy(r, number));
    }
}

static void default_containers(struct ek_go_reader *r, yyjson_mut_val *spec, const char *which)
{
    yyjson_mut_val *container;
    size_t i, n;

    yyjson_mut_arr_foreach(ek_go_get(spec, which), i, n, container)
    {
        yyjson_mut_val *limits = resources_of(container, "limits");
        if (limits)
            ek_go_fill(r, ek_go_open(r, ek_go_get(container, "resources"), "requests"), limits);
        if (ek_go_get(spec, "hostNetwork"))
            default_host_ports(r, container);
    }
}

void ek_go_default_pod(struct ek_go_reader *r, yyjson_mut_val *pod)
{
    yyjson_mut_val *spec = ek_go_open(r, pod, "spec");

    if (!spec)
        return;
    default_containers(r, spec, "containers");
    default_containers(r, spec, "initContainers");
    if (r->minor >= EK_GO_FROM(34) && !r->rc)
        default_pod_resources(r, spec);
    if (!ek_go_get(spec, "enableServiceLinks"))
        ek_go_put(r, spec, "enableServiceLinks", yyjson_mut_bool(r->doc, true));
}
