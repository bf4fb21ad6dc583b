/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The upgrade graph of packages in a catalog, and the edges from an installed version.
 *
 * A graph is filled from a file-based catalog (FBC: ek_ff_graph_read, the blobs olm.package,
 * olm.channel and olm.bundle of operator-registry alpha/declcfg) or entry by entry from the answers
 * of a registry (ek_ff_graph_package, ek_ff_graph_entry). It then answers as the resolver of OLM
 * v0.46 does for one subscription (pkg/controller/registry/resolver/resolver.go:
 * getSubscriptionVariables, sortChannel): an entry is an edge from an installed version where it
 * replaces or skips the name of that version, or where its skipRange includes that version, if the
 * channel is one chain and the entry is on the chain. Dependencies, other catalogs and other
 * subscriptions are not considered: only OLM solves those.
 *
 * Everything comes from outside and is bounded by the limit given at birth. A text that does not
 * fit is EK_E_LIMIT, after which the graph must not be queried. Pure; one thread.
 */
#ifndef RECONCILERS_FAILFORWARD_GRAPH_H
#define RECONCILERS_FAILFORWARD_GRAPH_H

#include <stdbool.h>

#include "api/base/buf.h"
#include "api/base/err.h"
#include "api/obj.h"
#include "reconcilers/failforward/edges.h"

struct ek_ff_graph;

/* One entry of a channel. Everything is borrowed. */
struct ek_ff_entry {
    struct ek_str package, channel, name; /* name: of the CSV */
    struct ek_str version;                /* semantic version; empty when not known */
    struct ek_str replaces, skip_range;   /* empty when absent */
    const struct ek_str *skips;           /* n_skips names */
    size_t n_skips;
    bool deprecated;  /* has the property olm.deprecated: OLM never installs the entry
                         (resolver/variable_types.go:NewBundleVariableFromOperator) */
    uint64_t content; /* digest of what the entry installs, for ek_ff_graph_digest; 0 if unknown */
};

/* Returns an owned, empty graph that holds at most limit bytes. */
struct ek_ff_graph *ek_ff_graph_new(size_t limit);

/* Releases the graph; NULL is fine. */
void ek_ff_graph_free(struct ek_ff_graph *graph);

/* Returns how many bytes the graph holds. */
size_t ek_ff_graph_bytes(const struct ek_ff_graph *graph);

/* Returns how many entries the package has in all channels. */
size_t ek_ff_graph_entries(const struct ek_ff_graph *graph, const char *package);

/* Adds a package with its default channel, which decides the order of channels. Names are copied.
 * Returns 0 or EK_E_LIMIT. */
int ek_ff_graph_package(struct ek_ff_graph *graph, struct ek_str name,
                        struct ek_str default_channel);

/* Adds an entry; everything is copied. Returns 0 or EK_E_LIMIT. */
int ek_ff_graph_entry(struct ek_ff_graph *graph, const struct ek_ff_entry *entry);

/*
 * Adds the blobs of a file-based catalog: JSON values one after another, or YAML documents. Blobs
 * of other schemas are ignored. EK_E_PARSE for text that is neither, and for a blob of the three
 * schemas without its name; EK_E_LIMIT; EK_E_NOMEM.
 */
int ek_ff_graph_read(struct ek_ff_graph *graph, const char *text, size_t len, struct ek_err *err);

enum ek_ff_reach {
    EK_FF_REACH_FOUND,      /* next is set */
    EK_FF_REACH_NONE,       /* the channel is read, and no entry is an edge from here */
    EK_FF_REACH_NO_PACKAGE, /* the catalog has no such package */
    EK_FF_REACH_NO_CHANNEL, /* the package has no such channel */
    EK_FF_REACH_BROKEN,     /* a channel is not one chain: OLM resolves nothing; why says which */
    EK_FF_REACH_MAX,
};

/* How an entry reaches back to the installed version. */
enum ek_ff_edge_kind {
    EK_FF_EDGE_NONE,
    EK_FF_EDGE_REPLACES,
    EK_FF_EDGE_SKIPS,
    EK_FF_EDGE_SKIP_RANGE,
    EK_FF_EDGE_KIND_MAX,
};

/* From where. Everything is borrowed. */
struct ek_ff_from {
    struct ek_str package; /* spec.name of the Subscription */
    struct ek_str channel; /* spec.channel; empty means all channels, the default one first */
    struct ek_str name;    /* of the installed CSV */
    struct ek_str version; /* spec.version of that CSV; empty is 0.0.0, as for OLM */
    struct ek_str except;  /* an entry that is not accepted as an edge (the one that failed); empty
                              for none */
};

/* Strings are borrowed from the graph, "" where there is nothing to say. */
struct ek_ff_answer {
    enum ek_ff_reach reach;
    enum ek_ff_edge_kind kind; /* of next */
    const char *next;          /* CSV that OLM prefers among the edges */
    const char *next_version;
    size_t n; /* edges in all */
    const char *head;
    const char *head_version;
    bool is_head; /* the installed version is the head of the first channel: nothing newer exists */
    char why[256]; /* one line for BROKEN */
};

/* A digest of everything that was added, the content of entries included, in the order in which it
 * was. Two graphs of one process have the same digest if a catalog did not change between its two
 * reads. */
uint64_t ek_ff_graph_digest(const struct ek_ff_graph *graph);

/* What a decision about a subscription asks of a catalog. CSVs may be NULL where there is none. */
struct ek_ff_edges_query {
    const char *package, *channel; /* of the subscription; channel "" for all */
    const struct ek_obj *failing;  /* the CSV that fails; NULL when it does not exist */
    const char *failing_name;      /* its name in any case; "" for none */
    const struct ek_obj *running;  /* the CSV that ran before; NULL when there is none */
};

/* Sets the two edges of *ret_edges, head, and known, which is false where the catalog does not have
 * the package or the channel, or the channel is not one chain. Strings are borrowed from the graph.
 * Without the CSV that fails, its version is that of the catalog. EK_E_NOMEM. */
int ek_ff_graph_fill(const struct ek_ff_graph *graph, const struct ek_ff_edges_query *query,
                     struct ek_ff_edges *ret_edges);

/* Answers. EK_E_NOMEM, and *ret_answer is untouched then. */
int ek_ff_graph_edges(const struct ek_ff_graph *graph, const struct ek_ff_from *from,
                      struct ek_ff_answer *ret_answer);

#endif
