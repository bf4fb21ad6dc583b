/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/table.h"

#include "api/base/mem.h"

static void copy_peer(struct ek_peer *to, const struct ek_peer *from)
{
    *to = *from;
    to->name = ek_xstrdup(from->name);
    to->server_id = ek_xstrdup(from->server_id);
    to->address = ek_xstrdup(from->address);
    to->address_source = ek_xstrdup(from->address_source);
    to->probe = ek_probe_ref(from->probe);
}

static void free_peer(const struct ek_peer *peer)
{
    ek_free((char *)(uintptr_t)peer->name);
    ek_free((char *)(uintptr_t)peer->server_id);
    ek_free((char *)(uintptr_t)peer->address);
    ek_free((char *)(uintptr_t)peer->address_source);
    ek_probe_unref((struct ek_probe *)(uintptr_t)peer->probe);
}

struct ek_peer_table *ek_peer_table_new(const struct ek_peer *peers, size_t n, bool enumerated,
                                        bool probed)
{
    struct ek_peer_table *table = ek_xalloc(sizeof *table);
    struct ek_peer *copies = ek_xalloc((n + 1) * sizeof *copies);

    for (size_t i = 0; i < n; i++)
        copy_peer(&copies[i], &peers[i]);
    *table =
        (struct ek_peer_table){.peers = copies, .n = n, .enumerated = enumerated, .probed = probed};
    return table;
}

void ek_peer_table_free(struct ek_peer_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->n; i++)
        free_peer(&table->peers[i]);
    ek_free((struct ek_peer *)(uintptr_t)table->peers);
    ek_free(table);
}
