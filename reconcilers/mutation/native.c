/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/mutation/native.h"

#include <string.h>

/* Best first. */
static const char *const versions[] = {"v1", "v1beta1", "v1alpha1"};

#define N_VERSIONS EK_ARRAY_SIZE(versions)

const char *ek_native_version(size_t i)
{
    return i < N_VERSIONS ? versions[i] : NULL;
}

/* The place of version among the versions; N_VERSIONS for NULL and others. */
static size_t rank(const char *version)
{
    size_t i = 0;

    while (i < N_VERSIONS && !(version && !strcmp(version, versions[i])))
        i++;
    return i;
}

static const char *better(const char *a, const char *b)
{
    return ek_native_version(rank(a) < rank(b) ? rank(a) : rank(b));
}

/* ---- The API servers ---- */

static bool serves(const struct ek_peer *peer, const char *version)
{
    const char *has = ek_plugin_version(peer->probe);

    return has && !strcmp(has, version) && peer->trusted;
}

static const char *server_of(const struct ek_peer_table *table, const char *version,
                             const char *current)
{
    const char *server = NULL;
    bool everywhere = true;

    for (size_t i = 0; version && i < table->n; i++) {
        const struct ek_peer *peer = &table->peers[i];
        if (!peer->live)
            continue;
        if (!serves(peer, version))
            everywhere = false;
        else if (current && !strcmp(peer->address, current))
            return peer->address;
        else if (!server)
            server = peer->address;
    }
    return everywhere ? NULL : server;
}

void ek_native_peers_read(const struct ek_peer_table *table, const char *current,
                          struct ek_native_peers *ret)
{
    struct ek_plugin_census census = {.complete = table->enumerated && table->probed};
    const char *version = NULL;

    for (size_t i = 0; i < table->n; i++) {
        const struct ek_peer *peer = &table->peers[i];
        if (!peer->live)
            continue;
        ek_plugin_census_add(&census, ek_plugin_of(peer->probe));
        version = better(version, ek_plugin_version(peer->probe));
    }
    *ret = (struct ek_native_peers){.census = census,
                                    .version = version,
                                    .all = census.complete && !census.unknown &&
                                           census.runs + census.absent > 0,
                                    .server = server_of(table, version, current)};
}

bool ek_plugin_census_is_same(const struct ek_plugin_census *a, const struct ek_plugin_census *b)
{
    return a->runs == b->runs && a->absent == b->absent && a->unknown == b->unknown &&
           a->complete == b->complete;
}

/* ---- Both sources ---- */

static bool lists_policies(yyjson_val *list)
{
    yyjson_val *item;
    size_t i, n;

    yyjson_arr_foreach(yyjson_obj_get(list, "resources"), i, n, item)
    {
        if (yyjson_equals_str(yyjson_obj_get(item, "name"), "mutatingadmissionpolicies"))
            return true;
    }
    return false;
}

bool ek_native_source_answer(struct ek_native_source *source, size_t i, yyjson_val *list)
{
    bool listed = lists_policies(list);

    if (listed)
        source->configured = better(source->configured, ek_native_version(i));
    if (!listed && i + 1 < N_VERSIONS)
        return false;
    source->answered = true;
    return true;
}

const char *ek_native_source_version(const struct ek_native_source *source)
{
    return source->all ? source->peers : better(source->configured, source->peers);
}

bool ek_native_source_is_known(const struct ek_native_source *source)
{
    return source->answered || source->all;
}
