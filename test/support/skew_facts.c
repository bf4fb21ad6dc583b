/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/skew_facts.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/buf.h"

#define WORDS_MAX 64
#define ITEMS_MAX 128

struct line {
    char *words[WORDS_MAX];
    size_t n;
};

static bool flag(const struct line *l, const char *name)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->words[i], name) == 0)
            return true;
    return false;
}

/* The value of "name=value", NULL where there is none. */
static const char *value(const struct line *l, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < l->n; i++)
        if (strncmp(l->words[i], name, len) == 0 && l->words[i][len] == '=')
            return l->words[i] + len + 1;
    return NULL;
}

static const char *or_empty(const char *s)
{
    return s ? s : "";
}

static int64_t seconds(const struct line *l, const char *name, int64_t fallback)
{
    const char *s = value(l, name);
    return s ? strtoll(s, NULL, 10) * 1000 : fallback;
}

static enum ek_component component(const char *s)
{
    for (int c = 0; c < EK_COMPONENT_MAX; c++)
        if (strcmp(ek_component_name((enum ek_component)c), s) == 0)
            return (enum ek_component)c;
    ck_abort_msg("no component %s", s);
}

/* "1.36.2/1.35/1.34" or shorter. */
static struct ek_versions versions(struct ek_test_facts *t, const char *s, enum ek_source source)
{
    char copy[128], *save = NULL;
    snprintf(copy, sizeof(copy), "%s", s);
    const char *bv = strtok_r(copy, "/", &save);
    const char *ev = strtok_r(NULL, "/", &save);
    const char *mcv = strtok_r(NULL, "/", &save);
    struct ek_versions v = {.unknown_reason = "",
                            .conflict = "",
                            .source = source,
                            .emulation_source = source,
                            .min_compat_source = source,
                            .unread = ""};
    bool none = !bv || strcmp(bv, "?") == 0 || strcmp(bv, "-") == 0;
    v.binary_string = none ? "" : ek_arena_strdup(t->arena, bv);
    v.binary = ek_minor_parse(bv);
    v.emulation = ek_minor_parse(ev);
    v.min_compat = ek_minor_parse(mcv);
    if (!v.binary.known)
        v.unknown_reason = none ? "Absent" : "Unparsable";
    return v;
}

static void good(struct ek_probe_answer *answer, int64_t at)
{
    answer->good_at_ms = answer->tried_at_ms = at;
}

static struct ek_probe *probe_of(struct ek_test_facts *t, const char *peer)
{
    for (size_t i = 0; i < t->facts.n_peers; i++)
        if (strcmp(t->facts.peers[i].name, peer) == 0)
            return t->probes[i];
    for (size_t i = 0; i < t->facts.n_instances; i++) {
        struct ek_instance_fact *fact = &t->facts.instances[i];
        if (strcmp(fact->name, peer) != 0)
            continue;
        if (!t->instance_probes[i])
            t->instance_probes[i] = ek_probe_new();
        good(&t->instance_probes[i]->reach, EK_TEST_NOW);
        fact->probe = t->instance_probes[i];
        return t->instance_probes[i];
    }
    ck_abort_msg("no peer %s", peer);
}

static enum ek_disputed disputed(const char *part)
{
    if (!part)
        return EK_DISPUTED_NONE;
    if (strcmp(part, "bv") == 0)
        return EK_DISPUTED_BINARY;
    return strcmp(part, "ev") == 0 ? EK_DISPUTED_EMULATION : EK_DISPUTED_MIN_COMPAT;
}

static void add_peer(struct ek_test_facts *t, const struct line *l)
{
    struct ek_skew_facts *f = &t->facts;
    struct ek_probe *probe = ek_probe_new();
    const char *down = value(l, "down"), *not_ready = value(l, "notready");
    int64_t at = EK_TEST_NOW - seconds(l, "age", 1000);
    ck_assert_uint_lt(f->n_peers, ITEMS_MAX);
    good(&probe->reach, at);
    good(&probe->ready_answer, at);
    probe->ready = !not_ready;
    snprintf(probe->not_ready, sizeof(probe->not_ready), "%s", or_empty(not_ready));
    if (value(l, "certificate"))
        probe->cert_not_after_ms = EK_TEST_NOW + seconds(l, "certificate", 0);
    t->probes[f->n_peers] = probe;
    f->peers[f->n_peers++] = (struct ek_peer_fact){
        .name = l->words[1],
        .server_id = or_empty(value(l, "lease")),
        .address = or_empty(value(l, "address")),
        .address_source = value(l, "address") ? "EndpointSlice" : "",
        .tied_by = or_empty(value(l, "tied")),
        .lease_age_ms = value(l, "lease") ? 5000 : -1,
        .lease_stale = flag(l, "stale"),
        .live = !flag(l, "dead"),
        .reachable = !down && !flag(l, "dead"),
        .unreachable_reason = or_empty(down),
        .unreachable_message = down ? "it does not answer" : "",
        .certificate_matches = true,
        .probe = probe,
        .versions = versions(t, l->words[2], EK_SOURCE_VERSION),
    };
    struct ek_versions *v = &f->peers[f->n_peers - 1].versions;
    v->disputed = disputed(value(l, "disputed"));
    v->assumed_emulation = v->assumed_min_compat = flag(l, "assumed");
    if (value(l, "assumed"))
        v->assumed_min_compat = strcmp(value(l, "assumed"), "mcv") == 0;
    v->assumed_min_compat |= v->disputed != EK_DISPUTED_NONE;
    v->assumed_emulation |= v->disputed >= EK_DISPUTED_EMULATION;
    if (value(l, "reason"))
        v->unknown_reason = value(l, "reason");
}

static void add_instance(struct ek_test_facts *t, const struct line *l)
{
    struct ek_skew_facts *f = &t->facts;
    const char *source = value(l, "source");
    ck_assert_uint_lt(f->n_instances, ITEMS_MAX);
    struct ek_instance_fact *fact = &f->instances[f->n_instances++];
    *fact = (struct ek_instance_fact){
        .component = component(l->words[1]),
        .name = l->words[2],
        .leader = flag(l, "leader"),
        .stale = value(l, "stale") != NULL,
        .stale_reason = or_empty(value(l, "stale")),
        .age_ms = seconds(l, "age", -1),
        .versions =
            versions(t, l->words[3], source ? EK_SOURCE_POD_IMAGE : EK_SOURCE_LEASE_CANDIDATE),
    };
    fact->versions.assumed_emulation = fact->versions.assumed_min_compat = flag(l, "assumed");
    fact->versions.unproven = flag(l, "unproven");
    if (value(l, "reason"))
        fact->versions.unknown_reason = value(l, "reason");
}

static void add_group(struct ek_test_facts *t, const struct line *l)
{
    struct ek_skew_facts *f = &t->facts;
    ck_assert_uint_lt(f->n_groups, ITEMS_MAX);
    struct ek_node_group *group = &f->groups[f->n_groups++];
    *group = (struct ek_node_group){
        .component = component(l->words[1]),
        .version = strcmp(l->words[2], "-") != 0 ? l->words[2] : "",
        .versions = versions(t, l->words[2], EK_SOURCE_NODE),
        .count = strtoul(l->words[3], NULL, 10),
        .names = ek_arena_alloc(t->arena, 3 * sizeof(char *)),
    };
    char *save = NULL;
    for (char *s = l->n > 4 ? strtok_r(l->words[4], ",", &save) : NULL; s && group->n_names < 3;
         s = strtok_r(NULL, ",", &save))
        group->names[group->n_names++] = s;
    if (group->component == EK_KUBELET)
        f->n_nodes += group->count;
}

static void add_pair(struct ek_test_facts *t, const struct line *l)
{
    struct ek_node_pair *pair = &t->facts.pairs[t->facts.n_pairs++];
    *pair = (struct ek_node_pair){ek_minor_parse(l->words[1]), ek_minor_parse(l->words[2]),
                                  strtoul(l->words[3], NULL, 10),
                                  ek_arena_alloc(t->arena, sizeof(char *)), 1};
    pair->names[0] = l->words[4];
}

static int by_gate(const void *a, const void *b)
{
    return strcmp(((const struct ek_feature_gate *)a)->name,
                  ((const struct ek_feature_gate *)b)->name);
}

static void add_gates(struct ek_test_facts *t, const struct line *l)
{
    struct ek_probe *probe = probe_of(t, l->words[1]);
    probe->gates = ek_xrealloc(NULL, l->n, sizeof(*probe->gates));
    for (size_t i = 2; i < l->n; i++) {
        char *eq = strchr(l->words[i], '=');
        *eq = '\0';
        probe->gates[probe->n_gates++] = (struct ek_feature_gate){
            ek_xstrdup(l->words[i]), ek_xstrdup(strcmp(eq + 1, "alpha") == 0 ? "ALPHA" : "BETA"),
            strcmp(eq + 1, "off") != 0};
    }
    qsort(probe->gates, probe->n_gates, sizeof(*probe->gates), by_gate);
    good(&probe->metrics_answer, EK_TEST_NOW);
}

static void add_manifests(struct ek_test_facts *t, const struct line *l)
{
    struct ek_probe *probe = probe_of(t, l->words[1]);
    probe->manifests = ek_xrealloc(NULL, l->n, sizeof(*probe->manifests));
    for (size_t i = 2; i < l->n; i++) {
        char *eq = strchr(l->words[i], '=');
        *eq = '\0';
        probe->manifests[probe->n_manifests++] =
            (struct ek_probe_manifests){ek_xstrdup(l->words[i]), ek_xstrdup(eq + 1)};
    }
    good(&probe->metrics_answer, EK_TEST_NOW);
}

/* What the flags of a peer's pod set. */
static void add_flags(struct ek_test_facts *t, const struct line *l)
{
    struct ek_pod_gate *gates = ek_arena_alloc(t->arena, l->n * sizeof(*gates));
    size_t n = 0;
    for (size_t i = 2; i < l->n; i++) {
        char *eq = strchr(l->words[i], '=');
        *eq = '\0';
        gates[n++] = (struct ek_pod_gate){l->words[i], strcmp(eq + 1, "on") == 0};
    }
    for (size_t i = 0; i < t->facts.n_peers; i++)
        if (strcmp(t->facts.peers[i].name, l->words[1]) == 0) {
            t->facts.peers[i].flag_gates = gates;
            t->facts.peers[i].n_flag_gates = n;
            return;
        }
    for (size_t i = 0; i < t->facts.n_instances; i++)
        if (strcmp(t->facts.instances[i].name, l->words[1]) == 0) {
            t->facts.instances[i].flag_gates = gates;
            t->facts.instances[i].n_flag_gates = n;
            return;
        }
    ck_abort_msg("no peer or instance %s", l->words[1]);
}

/* The JSON of a list of names separated by commas. */
static void put_names(struct ek_buf *out, char *names)
{
    char *save = NULL;
    size_t n = 0;
    ek_buf_puts(out, "[");
    for (char *s = strtok_r(names, ",", &save); s; s = strtok_r(NULL, ",", &save))
        ek_buf_printf(out, "%s\"%s\"", n++ ? "," : "", s);
    ek_buf_puts(out, "]");
}

static void add_document(struct ek_discovery *set, const struct ek_buf *json)
{
    struct ek_err err = {0};
    yyjson_doc *doc = ek_json_parse(ek_buf_str(json), json->len, &err);

    ck_assert_msg(doc != NULL, "%s: %s", err.message, ek_buf_str(json));
    ck_assert_msg(ek_discovery_add_aggregated(set, yyjson_doc_get_root(doc), NULL, &err) == 0, "%s",
                  err.message);
    yyjson_doc_free(doc);
}

/* Adds one resource, or one subresource, or a group version that was never read ("x.io/v1!"), as
 * the aggregated form has it; "x.io/v1@2" is behind two other versions of its group. */
static void add_resource(struct ek_discovery *set, char *gvr)
{
    EK_AUTO(ek_buf) json;
    char *rest = gvr, *group = strsep(&rest, "/"), *version = strsep(&rest, "/");
    char *resource = strsep(&rest, ":"), none[] = "", kind[] = "X", scope[] = "Namespaced";
    char *parts[4] = {none, kind, scope, none}; /* verbs, kind, scope, short names */
    char *sub = resource ? strchr(resource, '/') : NULL, *stale = strchr(version, '!');
    char *rank = strchr(version, '@');
    for (size_t i = 0; i < 4 && rest; i++)
        parts[i] = strsep(&rest, ":");
    if (stale)
        *stale = '\0';
    if (rank)
        *rank++ = '\0';
    if (sub)
        *sub++ = '\0';
    ek_buf_init(&json, 4096);
    ek_buf_printf(&json, "{\"items\":[{\"metadata\":{\"name\":\"%s\"},\"versions\":[",
                  strcmp(group, "core") ? group : "");
    for (long i = rank ? strtol(rank, NULL, 10) : 0; i > 0; i--)
        ek_buf_puts(&json, "{\"version\":\"before\",\"resources\":[]},");
    ek_buf_printf(&json, "{\"version\":\"%s\",\"freshness\":\"%s\"", version,
                  stale ? "Stale" : "Current");
    if (!resource) {
        ek_buf_puts(&json, "}]}]}");
        add_document(set, &json);
        return;
    }
    ek_buf_printf(&json, ",\"resources\":[{\"resource\":\"%s\",", resource);
    if (sub)
        ek_buf_printf(&json, "\"subresources\":[{\"subresource\":\"%s\",", sub);
    ek_buf_printf(&json, "\"responseKind\":{\"kind\":\"%s\"},\"scope\":\"%s\",\"verbs\":", parts[1],
                  parts[2]);
    put_names(&json, parts[0]);
    ek_buf_puts(&json, ",\"shortNames\":");
    put_names(&json, parts[3]);
    ek_buf_puts(&json, sub ? "}]}]}]}]}" : "}]}]}]}");
    add_document(set, &json);
}

static void add_served(struct ek_test_facts *t, const struct line *l)
{
    struct ek_probe *probe = probe_of(t, l->words[1]);
    probe->discovery = ek_discovery_new();
    for (size_t i = 2; i < l->n; i++)
        add_resource(probe->discovery, l->words[i]);
    ek_discovery_seal(probe->discovery);
    good(&probe->discovery_answer, EK_TEST_NOW);
}

static struct ek_probe_answer *answer_of(struct ek_test_facts *t, const struct line *l)
{
    struct ek_probe *probe = probe_of(t, l->words[1]);
    if (strcmp(l->words[2], "reach") == 0)
        return &probe->reach;
    return strcmp(l->words[2], "gates") != 0 ? &probe->discovery_answer : &probe->metrics_answer;
}

static void set_asked(struct ek_test_facts *t, const struct line *l)
{
    good(answer_of(t, l), EK_TEST_NOW - strtoll(l->words[3], NULL, 10) * 1000);
}

static void forget(struct ek_test_facts *t, const struct line *l)
{
    struct ek_probe_answer *answer = answer_of(t, l);
    answer->good_at_ms = EK_TEST_NOW - strtoll(l->words[3], NULL, 10) * 1000;
    answer->tried_at_ms = EK_TEST_NOW;
    answer->error.code = EK_E_TIMEOUT;
}

static void add_line(struct ek_test_facts *t, char *text)
{
    static const struct {
        const char *word;
        size_t min;
        void (*fn)(struct ek_test_facts *t, const struct line *l);
    } kinds[] = {{"peer", 3, add_peer},          {"inst", 4, add_instance}, {"group", 4, add_group},
                 {"pair", 5, add_pair},          {"gates", 2, add_gates},   {"flags", 3, add_flags},
                 {"serves", 2, add_served},      {"forget", 4, forget},     {"asked", 4, set_asked},
                 {"manifests", 2, add_manifests}};
    struct line l = {{NULL}, 0};
    char *rest = strchr(text, ' '), *save = NULL;
    if (strncmp(text, "problem ", 8) == 0) {
        t->facts.problems[t->facts.n_problems++] = rest + 1;
        return;
    }
    if (strncmp(text, "unlisted ", 9) == 0) {
        t->facts.enumerated = false;
        t->facts.not_enumerated = rest + 1;
        return;
    }
    for (char *s = strtok_r(text, " ", &save); s && l.n < WORDS_MAX; s = strtok_r(NULL, " ", &save))
        l.words[l.n++] = s;
    for (size_t i = 0; l.n > 0 && i < EK_ARRAY_SIZE(kinds); i++)
        if (strcmp(kinds[i].word, l.words[0]) == 0) {
            ck_assert_uint_ge(l.n, kinds[i].min);
            kinds[i].fn(t, &l);
            return;
        }
    ck_assert_msg(l.n == 0, "unknown fact: %s", l.words[0]);
}

void ek_test_facts_init(struct ek_test_facts *t, const char *script)
{
    *t = (struct ek_test_facts){0};
    t->arena = ek_arena_new(64 << 20);
    struct ek_skew_facts *f = &t->facts;
    f->peers = ek_arena_alloc(t->arena, ITEMS_MAX * sizeof(*f->peers));
    f->instances = ek_arena_alloc(t->arena, ITEMS_MAX * sizeof(*f->instances));
    f->groups = ek_arena_alloc(t->arena, ITEMS_MAX * sizeof(*f->groups));
    f->pairs = ek_arena_alloc(t->arena, ITEMS_MAX * sizeof(*f->pairs));
    f->problems = ek_arena_alloc(t->arena, ITEMS_MAX * sizeof(*f->problems));
    f->enumerated = true;
    f->not_enumerated = "";
    char *copy = ek_arena_strdup(t->arena, script), *save = NULL;
    for (char *s = strtok_r(copy, "\n", &save); s; s = strtok_r(NULL, "\n", &save))
        add_line(t, s);
}

void ek_test_facts_done(struct ek_test_facts *t)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(t->probes); i++)
        ek_probe_unref(t->probes[i]);
    for (size_t i = 0; i < EK_ARRAY_SIZE(t->instance_probes); i++)
        ek_probe_unref(t->instance_probes[i]);
    ek_arena_free(t->arena);
}
