/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/commands/failforward_publish.h"

#include <string.h>

#include "api/base/arena.h"
#include "controller/cli/output.h"

#define ARENA_MAX ((size_t)64 << 20)

void ek_ffp_find(struct ek_ffp_definition *d, const struct ek_ffp_finding *finding)
{
    if (*finding->refused_by)
        d->n_refused++;
    else
        d->n_warned++;
    if (d->n_findings == EK_FFP_FINDINGS_MAX)
        return;
    struct ek_ffp_finding *kept = &d->findings[d->n_findings++];
    *kept = *finding;
    kept->object = kept->object ? kept->object : "";
    kept->version = kept->version ? kept->version : "";
}

/* Adds the definitions of a bundle, each once. */
static void add_bundle(struct ek_ffp_definitions *all, const struct ek_ff_bundle *bundle)
{
    for (size_t i = 0; i < all->n; i++)
        if (all->items[i].bundle == bundle->name)
            return;
    for (size_t i = 0; i < bundle->n_definitions; i++) {
        const char *name = ek_json_str(bundle->definitions[i], "metadata", "name", NULL);
        if (all->n == all->cap) {
            all->cap = all->cap ? 2 * all->cap : 8;
            all->items = ek_xrealloc(all->items, all->cap, sizeof *all->items);
        }
        all->items[all->n++] = (struct ek_ffp_definition){
            .name = name ? name : "", .bundle = bundle->name, .definition = bundle->definitions[i]};
    }
}

static void definitions_done(struct ek_ffp_definitions *all)
{
    for (size_t i = 0; i < all->n; i++)
        yyjson_doc_free(all->items[i].current);
    ek_free(all->items);
    ek_arena_free(all->arena);
}

/* ---- Upgrades ---- */

/* One subscription whose package the catalog has. */
struct upgrade {
    const struct ek_obj *sub;
    const char *package, *channel, *installed, *version;
    struct ek_ff_route route;
    bool is_listed, is_unfinished;
};

static const char *installed_version(const struct ek_ffc_inputs *in, const struct ek_obj *sub,
                                     const char *name)
{
    const struct ek_ffc_list *csvs = &in->lists[EK_FFC_CSVS];

    for (size_t i = 0; i < csvs->n; i++)
        if (!strcmp(ek_obj_name(csvs->items[i]), name) &&
            !strcmp(ek_obj_namespace(csvs->items[i]), ek_obj_namespace(sub)))
            return ek_json_text(ek_json_get(ek_obj_root(csvs->items[i]), "spec", NULL), "version");
    return "";
}

static bool has_version(yyjson_val *names, const char *version)
{
    size_t i, n;
    yyjson_val *name;

    yyjson_arr_foreach(names, i, n, name)
    {
        if (yyjson_equals_str(name, version))
            return true;
    }
    return false;
}

/* Plans of the version exist, and none is complete: the version counts as installed for OLM once
 * its CSV exists, before its definitions are applied. */
static bool is_unfinished(const struct ek_ffc_inputs *in, const struct ek_obj *sub,
                          const char *version)
{
    const struct ek_ffc_list *plans = &in->lists[EK_FFC_PLANS];
    bool unfinished = false;

    for (size_t i = 0; i < plans->n; i++) {
        yyjson_val *root = ek_obj_root(plans->items[i]);
        if (strcmp(ek_obj_namespace(plans->items[i]), ek_obj_namespace(sub)) != 0 ||
            !has_version(ek_json_get(root, "spec", "clusterServiceVersionNames", NULL), version))
            continue;
        if (!strcmp(ek_json_text(ek_json_get(root, "status", NULL), "phase"), "Complete"))
            return false;
        unfinished = true;
    }
    return unfinished;
}

static struct upgrade upgrade_of(const struct ek_ffc_inputs *in, const struct ek_obj *sub)
{
    yyjson_val *spec = ek_json_get(ek_obj_root(sub), "spec", NULL);
    yyjson_val *status = ek_json_get(ek_obj_root(sub), "status", NULL);
    struct upgrade u = {.sub = sub,
                        .package = ek_json_text(spec, "name"),
                        .channel = ek_json_text(spec, "channel"),
                        .installed = ek_json_text(status, "installedCSV")};

    u.version = installed_version(in, sub, u.installed);
    const struct ek_ff_from from = {.package = ek_str_from(u.package),
                                    .channel = ek_str_from(u.channel),
                                    .name = ek_str_from(u.installed),
                                    .version = ek_str_from(u.version)};
    u.is_listed = *u.installed && !ek_ff_route_find(in->graph, &from, &u.route) &&
                  u.route.first.reach != EK_FF_REACH_NO_PACKAGE;
    u.is_unfinished =
        u.is_listed && !u.route.n && u.route.first.is_head && is_unfinished(in, sub, u.installed);
    if (u.is_unfinished)
        u.route.hops[u.route.n++] = u.installed;
    return u;
}

static const char *edge_name(enum ek_ff_edge_kind kind)
{
    static const char *const names[EK_FF_EDGE_KIND_MAX] = {
        [EK_FF_EDGE_NONE] = "none",
        [EK_FF_EDGE_REPLACES] = "replaces",
        [EK_FF_EDGE_SKIPS] = "skips",
        [EK_FF_EDGE_SKIP_RANGE] = "skipRange",
    };
    return names[kind];
}

/* The worst of the definitions of a bundle (NULL: none); *ret_definition is what to look at. */
static enum ek_ffp_verdict verdict_of(const struct ek_ffp_definitions *all,
                                      const struct ek_ff_bundle *bundle,
                                      const struct ek_ffp_definition **ret_definition)
{
    enum ek_ffp_verdict worst = EK_FFP_ACCEPTED;

    for (size_t i = 0; i < all->n; i++) {
        const struct ek_ffp_definition *d = &all->items[i];
        enum ek_ffp_verdict is = d->n_refused ? EK_FFP_REFUSED
                                 : d->unknown ? EK_FFP_UNKNOWN
                                              : EK_FFP_ACCEPTED;
        if (bundle && d->bundle == bundle->name && is > worst) {
            worst = is;
            *ret_definition = d;
        }
    }
    return worst;
}

struct judgement {
    enum ek_ffp_verdict verdict;
    const char *name;
    char message[512];
};

/* The definitions of all versions on the way. */
static void judge_route(const struct upgrade *u, const struct ek_ff_bundles *bundles,
                        const struct ek_ffp_definitions *all, struct judgement *j)
{
    for (size_t i = 0; i < u->route.n && j->verdict != EK_FFP_REFUSED; i++) {
        const struct ek_ff_bundle *b = ek_ff_bundles_find(bundles, u->package, u->route.hops[i]);
        const struct ek_ffp_definition *d = NULL;
        const char *unknown = !b ? "the catalog does not have the bundle" : b->unknown;
        enum ek_ffp_verdict is = verdict_of(all, b, &d);
        if (is < EK_FFP_UNKNOWN && unknown)
            is = EK_FFP_UNKNOWN;
        if (is <= j->verdict)
            continue;
        j->verdict = is;
        snprintf(j->message, sizeof j->message, "%s: %s%s%s", u->route.hops[i],
                 d ? d->name : unknown, d ? ": " : "",
                 !d                     ? ""
                 : is == EK_FFP_REFUSED ? "the definition refuses what exists"
                                        : d->unknown);
    }
    j->name = j->verdict == EK_FFP_REFUSED   ? "Refused"
              : j->verdict == EK_FFP_UNKNOWN ? "Unknown"
                                             : "Accepted";
}

static void judge(const struct upgrade *u, const struct ek_ff_bundles *bundles,
                  const struct ek_ffp_definitions *all, struct judgement *ret)
{
    const struct ek_ff_answer *first = &u->route.first;

    *ret = (struct judgement){.verdict = EK_FFP_ACCEPTED, .name = "Newest"};
    if (first->reach == EK_FF_REACH_FOUND || u->is_unfinished) {
        judge_route(u, bundles, all, ret);
    } else if (first->reach == EK_FF_REACH_BROKEN) {
        *ret = (struct judgement){.verdict = EK_FFP_REFUSED, .name = "BrokenChannel"};
        snprintf(ret->message, sizeof ret->message, "%s: OLM resolves nothing", first->why);
    } else if (first->reach == EK_FF_REACH_NO_CHANNEL) {
        *ret = (struct judgement){.verdict = EK_FFP_REFUSED, .name = "NoChannel"};
        snprintf(ret->message, sizeof ret->message, "the package has no channel \"%s\"",
                 u->channel);
    } else if (!first->is_head) {
        *ret = (struct judgement){.verdict = EK_FFP_REFUSED, .name = "NoEdge"};
        snprintf(ret->message, sizeof ret->message,
                 "no entry replaces or skips %s: the operator stays at this version", u->installed);
    }
    if (u->route.is_cut && ret->verdict == EK_FFP_ACCEPTED) {
        ret->verdict = EK_FFP_UNKNOWN;
        ret->name = "Unknown";
        snprintf(ret->message, sizeof ret->message, "more than %d versions are on the way",
                 EK_FF_HOPS_MAX);
    }
}

static void add_upgrade(yyjson_mut_doc *doc, yyjson_mut_val *list, const struct upgrade *u,
                        const struct judgement *j)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_strcpy(doc, v, "namespace", ek_obj_namespace(u->sub));
    yyjson_mut_obj_add_strcpy(doc, v, "name", ek_obj_name(u->sub));
    yyjson_mut_obj_add_strcpy(doc, v, "package", u->package);
    yyjson_mut_obj_add_strcpy(doc, v, "channel", u->channel);
    yyjson_mut_obj_add_strcpy(doc, v, "installed", u->installed);
    yyjson_mut_obj_add_str(doc, v, "edge", edge_name(u->route.first.kind));
    yyjson_mut_obj_add_strcpy(doc, v, "next", u->route.first.next);
    yyjson_mut_obj_add_strcpy(doc, v, "head", u->route.first.head);
    yyjson_mut_val *path = yyjson_mut_obj_add_arr(doc, v, "path");
    for (size_t i = 0; i < u->route.n; i++)
        yyjson_mut_arr_add_strcpy(doc, path, u->route.hops[i]);
    yyjson_mut_obj_add_str(doc, v, "verdict", j->name);
    yyjson_mut_obj_add_strcpy(doc, v, "message", j->message);
}

/* ---- Definitions ---- */

static void add_definition(yyjson_mut_doc *doc, yyjson_mut_val *list,
                           const struct ek_ffp_definition *d)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_strcpy(doc, v, "name", d->name);
    yyjson_mut_obj_add_strcpy(doc, v, "bundle", d->bundle);
    yyjson_mut_obj_add_str(doc, v, "verdict",
                           d->n_refused ? "Refused"
                           : d->unknown ? "Unknown"
                           : d->is_new  ? "New"
                                        : "Accepted");
    yyjson_mut_obj_add_uint(doc, v, "objects", d->n_objects);
    yyjson_mut_obj_add_uint(doc, v, "refused", d->n_refused);
    yyjson_mut_obj_add_uint(doc, v, "warnings", d->n_warned);
    if (d->unknown)
        yyjson_mut_obj_add_strcpy(doc, v, "unknown", d->unknown);
    yyjson_mut_val *findings = yyjson_mut_obj_add_arr(doc, v, "findings");
    for (size_t i = 0; i < d->n_findings; i++) {
        const struct ek_ffp_finding *f = &d->findings[i];
        yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, findings);
        yyjson_mut_obj_add_str(doc, one, "type", f->kind);
        yyjson_mut_obj_add_str(doc, one, "refusedBy", f->refused_by);
        yyjson_mut_obj_add_strcpy(doc, one, "object", f->object);
        yyjson_mut_obj_add_strcpy(doc, one, "version", f->version);
        yyjson_mut_obj_add_strcpy(doc, one, "message", f->message);
    }
}

static void gather(const struct upgrade *u, const struct ek_ff_bundles *bundles,
                   struct ek_ffp_definitions *all)
{
    for (size_t i = 0; i < u->route.n; i++) {
        const struct ek_ff_bundle *b = ek_ff_bundles_find(bundles, u->package, u->route.hops[i]);
        if (b)
            add_bundle(all, b);
    }
}

static bool is_chosen(const struct ek_ffc_options *o, const struct ek_obj *sub)
{
    return !*o->namespace || !strcmp(ek_obj_namespace(sub), o->namespace);
}

enum ek_ffp_verdict ek_ffp_report(const struct ek_ffc_inputs *in, const struct ek_ffc_options *o,
                                  const struct ek_ff_bundles *bundles, yyjson_mut_doc *doc,
                                  yyjson_mut_val *root)
{
    const struct ek_ffc_list *subs = &in->lists[EK_FFC_SUBSCRIPTIONS];
    struct ek_ffp_definitions all = {.arena = ek_arena_new(ARENA_MAX)};
    struct upgrade *upgrades = ek_xalloc((subs->n + 1) * sizeof *upgrades);
    enum ek_ffp_verdict worst = EK_FFP_ACCEPTED;

    for (size_t i = 0; i < subs->n; i++) {
        if (is_chosen(o, subs->items[i]))
            upgrades[i] = upgrade_of(in, subs->items[i]);
        if (upgrades[i].is_listed)
            gather(&upgrades[i], bundles, &all);
    }
    if (!*o->from)
        ek_ffp_check_cluster(&all, o);
    for (size_t i = 0; i < all.n && *o->from; i++)
        all.items[i].unknown = "a recording has no custom resources";
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "upgrades");
    for (size_t i = 0; i < subs->n; i++) {
        struct judgement j;
        if (!upgrades[i].is_listed)
            continue;
        judge(&upgrades[i], bundles, &all, &j);
        worst = j.verdict > worst ? j.verdict : worst;
        add_upgrade(doc, list, &upgrades[i], &j);
    }
    list = yyjson_mut_obj_add_arr(doc, root, "definitions");
    for (size_t i = 0; i < all.n; i++)
        add_definition(doc, list, &all.items[i]);
    definitions_done(&all);
    ek_free(upgrades);
    return worst;
}

/* ---- Tables ---- */

static int write_upgrades(yyjson_val *list, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"namespace", "subscription", "installed", "edge",
                                          "next",      "verdict",      "message"};
    static const char *const names[] = {"namespace", "name",    "installed", "edge",
                                        "next",      "verdict", "message"};
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table =
        ek_text_table_new(headers, EK_ARRAY_SIZE(headers));
    size_t i, n;
    yyjson_val *v;

    yyjson_arr_foreach(list, i, n, v)
    {
        const char *cells[EK_ARRAY_SIZE(names)], *verdict = ek_json_text(v, "verdict");
        bool good = !strcmp(verdict, "Accepted") || !strcmp(verdict, "Newest");
        for (size_t k = 0; k < EK_ARRAY_SIZE(names); k++)
            cells[k] = ek_json_text(v, names[k]);
        ek_text_table_row(table, cells);
        ek_text_table_style(table, 5, good ? EK_CELL_GOOD : EK_CELL_BAD);
    }
    return ek_text_table_write(table, color, out);
}

static int write_findings(yyjson_val *list, bool color, struct ek_buf *out)
{
    static const char *const headers[] = {"definition", "bundle",  "finding", "refused by",
                                          "object",     "version", "message"};
    EK_AUTOPTR(ek_text_table, ek_text_table_free) *table =
        ek_text_table_new(headers, EK_ARRAY_SIZE(headers));
    size_t i, n, k, m;
    yyjson_val *d, *f;

    yyjson_arr_foreach(list, i, n, d)
    {
        const char *unknown = ek_json_text(d, "unknown");
        const char *name = ek_json_text(d, "name"), *bundle = ek_json_text(d, "bundle");
        yyjson_arr_foreach(yyjson_obj_get(d, "findings"), k, m, f)
        {
            const char *by = ek_json_text(f, "refusedBy");
            const char *cells[] = {name,
                                   bundle,
                                   ek_json_text(f, "type"),
                                   by,
                                   ek_json_text(f, "object"),
                                   ek_json_text(f, "version"),
                                   ek_json_text(f, "message")};
            ek_text_table_row(table, cells);
            ek_text_table_style(table, 2, *by ? EK_CELL_BAD : EK_CELL_GOOD);
        }
        const char *cells[] = {name, bundle, "Unknown", "", "", "", unknown};
        if (*unknown)
            ek_text_table_row(table, cells);
    }
    return ek_text_table_write(table, color, out);
}

static bool has_rows(yyjson_val *definitions)
{
    size_t i, n;
    yyjson_val *d;

    yyjson_arr_foreach(definitions, i, n, d)
    {
        if (*ek_json_text(d, "unknown") || yyjson_arr_size(yyjson_obj_get(d, "findings")))
            return true;
    }
    return false;
}

int ek_ffp_table(yyjson_val *root, bool color, struct ek_buf *out)
{
    yyjson_val *upgrades = yyjson_obj_get(root, "upgrades");
    yyjson_val *definitions = yyjson_obj_get(root, "definitions");

    if (!upgrades)
        return 0;
    ek_buf_puts(out, "\n");
    int rc = write_upgrades(upgrades, color, out);
    if (rc || !has_rows(definitions))
        return rc;
    ek_buf_puts(out, "\n");
    return write_findings(definitions, color, out);
}
