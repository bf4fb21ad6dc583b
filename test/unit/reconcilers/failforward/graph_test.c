/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "reconcilers/failforward/graph.h"
#include "test/support/suite.h"

#define LIMIT ((size_t)1 << 20)

/* A catalog is written as "channel name [<replaced] [-skipped] [~range_without_blanks] [@version]
 * [!];..." for package "p"; '_' in a range is a blank, '!' is the property olm.deprecated. */
static void add_entry(struct ek_ff_graph *graph, const char *text, size_t len)
{
    struct ek_str skips[8], *slots[2];
    struct ek_ff_entry entry = {.package = EK_STR("p"), .skips = skips};
    char range[128];
    size_t n_words = 0;

    slots[0] = &entry.channel;
    slots[1] = &entry.name;
    for (size_t i = 0; i < len;) {
        size_t n = strcspn(text + i, " ;");
        struct ek_str word = {text + i, n}, rest = {text + i + 1, n ? n - 1 : 0};
        i += n + 1;
        if (n == 0)
            continue;
        if (n_words < 2)
            *slots[n_words++] = ek_str_eq(word, EK_STR("''")) ? (struct ek_str){0} : word;
        else if (*word.p == '<')
            entry.replaces = rest;
        else if (*word.p == '-')
            skips[entry.n_skips++] = rest;
        else if (*word.p == '@')
            entry.version = rest;
        else if (*word.p == '!')
            entry.deprecated = true;
        else {
            snprintf(range, sizeof range, "%.*s", (int)rest.len, rest.p);
            for (char *c = range; (c = strchr(c, '_'));)
                *c = ' ';
            entry.skip_range = ek_str_from(range);
        }
    }
    ck_assert_int_eq(ek_ff_graph_entry(graph, &entry), 0);
}

static struct ek_ff_graph *graph_of(const char *text)
{
    struct ek_ff_graph *graph = ek_ff_graph_new(LIMIT);

    ck_assert_int_eq(ek_ff_graph_package(graph, EK_STR("p"), EK_STR("stable")), 0);
    while (*text) {
        size_t len = strcspn(text, ";");
        add_entry(graph, text, len);
        text += len + (text[len] == ';');
    }
    return graph;
}

static const char *const reaches[] = {"found", "none", "no package", "no channel", "broken"};
static const char *const kinds[] = {"", "replaces", "skips", "skipRange"};

static const struct {
    const char *name, *catalog;
    const char *channel, *from, *version, *except;
    const char *answer; /* reach, kind, next, edges, head, '*' where installed */
} rows[] = {
    {"replaces", "stable v1;stable v2 <v1", "stable", "v1", "1.0.0", "",
     "found replaces v2 1 head v2"},
    {"head", "stable v1;stable v2 <v1", "stable", "v2", "2.0.0", "", "none   0 head v2*"},
    {"two steps away", "stable v1;stable v2 <v1;stable v3 <v2", "stable", "v1", "1.0.0", "",
     "found replaces v2 1 head v3"},
    {"the failed one is the only edge", "stable v1;stable v2 <v1;stable v3 <v2", "stable", "v1",
     "1.0.0", "v2", "none   0 head v3"},
    {"skips reach past the failed one", "stable v1;stable v2 <v1;stable v3 <v1 -v2", "stable", "v2",
     "2.0.0", "", "found skips v3 1 head v3"},
    {"from before the failed one", "stable v1;stable v2 <v1;stable v3 <v1 -v2", "stable", "v1",
     "1.0.0", "v2", "found replaces v3 1 head v3"},
    {"an entry that is skipped is no edge", "stable v1;stable v2 <v1;stable v3 <v1 -v2", "stable",
     "v1", "1.0.0", "", "found replaces v3 1 head v3"},
    {"skipRange", "stable v1;stable v2 <v1;stable v3 <v2 ~>=1.0.0_<3.0.0", "stable", "v1", "1.0.0",
     "v2", "found skipRange v3 1 head v3"},
    {"the head is preferred", "stable v1;stable v2 <v1;stable v3 <v2 ~>=1.0.0_<3.0.0", "stable",
     "v1", "1.0.0", "", "found skipRange v3 2 head v3"},
    {"skipRange of an absent version", "stable v3 ~>=1.0.0_<3.0.0", "stable", "gone", "1.5.0", "",
     "found skipRange v3 1 head v3"},
    {"no version is 0.0.0", "stable v3 ~<3.0.0", "stable", "gone", "", "",
     "found skipRange v3 1 head v3"},
    {"a range that does not parse", "stable v3 ~>=1.0_<3", "stable", "gone", "1.5.0", "",
     "none   0 head v3"},
    {"a range without its own start", "stable v3 ~>1.5.0_<3.0.0", "stable", "gone", "1.5.0", "",
     "none   0 head v3"},
    {"a range that includes itself", "stable v3 ~<=3.0.0", "stable", "v3", "3.0.0", "",
     "none   0 head v3*"},
    {"deprecated", "stable v1;stable v2 <v1 !", "stable", "v1", "1.0.0", "", "none   0 head v2"},
    {"no package", "", "stable", "v1", "1.0.0", "", "none-of-it"},
    {"no channel", "stable v1", "fast", "v1", "1.0.0", "", "no channel   0 head "},
    {"no channel named: the default one first", "alpha v2 <v1;stable v3 <v1;stable v1", "", "v1",
     "1.0.0", "", "found replaces v3 2 head v3"},
    {"no channel named: by name", "beta v3 <v1;alpha v2 <v1;alpha v1", "", "v1", "1.0.0", "",
     "found replaces v2 2 head v2"},
    {"another channel's chain is not looked at", "alpha x;alpha y;stable v1;stable v2 <v1",
     "stable", "v1", "1.0.0", "", "found replaces v2 1 head v2"},
    {"one broken channel of all", "alpha x;alpha y;stable v1;stable v2 <v1", "", "v1", "1.0.0", "",
     "broken   0 head v2"},
    /* OLM v0.46, pkg/controller/registry/resolver/resolver_test.go:TestSortChannel */
    {"wrinkle-free", "stable b <c;stable c;stable a <b", "stable", "b", "", "",
     "found replaces a 1 head a"},
    {"no replacements: two chains", "stable a;stable b", "stable", "a", "", "", "broken   0 head "},
    {"a cycle", "stable a <b;stable b <c;stable c <b", "stable", "c", "", "", "broken   0 head "},
    {"no head", "stable a <b;stable b <a", "stable", "a", "", "", "broken   0 head "},
    {"replaced and skipped", "stable a <b -b;stable b", "stable", "b", "", "",
     "found replaces a 1 head a"},
    {"skipped in the middle", "stable a <b;stable b <c -c;stable c <d;stable d", "stable", "d", "",
     "", "none   0 head a"},
    {"a tail that replaces what is absent", "stable a <gone", "stable", "gone", "", "",
     "found replaces a 1 head a"},
    {"replaces itself", "stable a <a", "stable", "a", "", "", "broken   0 head "},
    {"a name twice", "stable a;stable a <b;stable b", "stable", "b", "", "", "broken   0 head "},
};

static void print(const struct ek_ff_answer *answer, char *out, size_t size)
{
    snprintf(out, size, "%s %s %s %zu head %s%s", reaches[answer->reach], kinds[answer->kind],
             answer->next, answer->n, answer->head, answer->is_head ? "*" : "");
}

START_TEST(edges_are_those_of_the_resolver)
{
    struct ek_ff_graph *graph = graph_of(rows[_i].catalog);
    struct ek_ff_from from = {EK_STR("p"), ek_str_from(rows[_i].channel),
                              ek_str_from(rows[_i].from), ek_str_from(rows[_i].version),
                              ek_str_from(rows[_i].except)};
    struct ek_ff_answer answer;
    char got[512];
    const char *want = rows[_i].answer;

    if (!*rows[_i].catalog) {
        from.package = EK_STR("q");
        want = "no package   0 head ";
    }
    ck_assert_int_eq(ek_ff_graph_edges(graph, &from, &answer), 0);
    print(&answer, got, sizeof got);
    ck_assert_msg(!strcmp(got, want), "%s: \"%s\", not \"%s\"", rows[_i].name, got, want);
    ck_assert_msg((answer.reach == EK_FF_REACH_BROKEN) == (answer.why[0] != '\0'), "%s: \"%s\"",
                  rows[_i].name, answer.why);
    ek_ff_graph_free(graph);
}
END_TEST

#define CHANNEL(entries)                                                                           \
    "{\"schema\":\"olm.channel\",\"package\":\"p\",\"name\":\"stable\",\"entries\":[" entries "]}"
#define BUNDLE(name, version)                                                                      \
    "{\"schema\":\"olm.bundle\",\"package\":\"p\",\"name\":\"" name                                \
    "\",\"properties\":[{\"type\":\"olm.package\",\"value\":{\"packageName\":\"p\","               \
    "\"version\":\"" version "\"}},{\"type\":\"other\",\"value\":[1]}]}"

static const struct {
    const char *name, *text;
    int rc;
    const char *answer; /* from "v1" of 1.0.0 in channel stable; then the version of next */
} texts[] = {
    {"JSON values one after another",
     "{\"schema\":\"olm.package\",\"name\":\"p\",\"defaultChannel\":\"stable\"}\n" CHANNEL(
         "{\"name\":\"v1\"},{\"name\":\"v2\",\"replaces\":\"v1\"}") BUNDLE("v2", "2.0.0"),
     0, "found replaces v2 1 head v2 2.0.0"},
    {"a brace in a string", CHANNEL("{\"name\":\"v1\",\"x\":\"}\\\"}{\"}") CHANNEL(""), 0,
     "none   0 head v1* "},
    {"YAML",
     "---\nschema: olm.channel\npackage: p\nname: stable\nentries:\n- name: v1\n- name: v3\n"
     "  replaces: v1\n  skips: [v2]\n  skipRange: '>=1.0.0 <3.0.0'\n---\nschema: olm.bundle\n"
     "package: p\nname: v3\nproperties:\n- type: olm.deprecated\n  value: {}\n",
     0, "none   0 head v3 "},
    {"skips and skipRange",
     CHANNEL("{\"name\":\"v3\",\"skips\":[\"v2\",1,\"v1\"],\"skipRange\":\"<1.0.0\"}"), 0,
     "found skips v3 1 head v3 "},
    {"another schema", "{\"schema\":\"olm.deprecations\",\"package\":\"p\"}", 0,
     "no package   0 head  "},
    {"a ConfigMap",
     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\"},\"data\":{"
     "\"a.json\":\"{\\\"schema\\\":\\\"olm.channel\\\",\\\"package\\\":\\\"p\\\",\\\"name\\\":"
     "\\\"stable\\\",\\\"entries\\\":[{\\\"name\\\":\\\"v1\\\"},{\\\"name\\\":\\\"v2\\\","
     "\\\"replaces\\\":\\\"v1\\\"}]}\",\"b.yaml\":\"schema: olm.package\\nname: p\\n\",\"n\":1}}",
     0, "found replaces v2 1 head v2 "},
    {"a ConfigMap as YAML",
     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m}\ndata:\n  catalog: |\n    schema: "
     "olm.channel\n    package: p\n    name: stable\n    entries: [{name: v1}, {name: v2, "
     "replaces: v1}]\n",
     0, "found replaces v2 1 head v2 "},
    {"a ConfigMap in a ConfigMap",
     "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    apiVersion: v1\n    kind: ConfigMap\n"
     "    data: {b: '{\"schema\":\"olm.package\",\"name\":\"p\"}'}\n",
     0, "no package   0 head  "},
    {"a ConfigMap without data", "apiVersion: v1\nkind: ConfigMap\n", 0, "no package   0 head  "},
    {"a ConfigMap of another kind of text", "apiVersion: v1\nkind: ConfigMap\ndata: {a: '{} 1'}\n",
     EK_E_PARSE, NULL},
    {"nothing", " \n", 0, "no package   0 head  "},
    {"no catalog at all", "[]", 0, "no package   0 head  "},
    {"cut off", "{\"schema\":\"olm.channel\",", EK_E_PARSE, NULL},
    {"a second value that is no object", "{} 1", EK_E_PARSE, NULL},
    {"a channel without a name", "{\"schema\":\"olm.channel\",\"package\":\"p\"}", EK_E_PARSE,
     NULL},
    {"an entry without a name", CHANNEL("{\"replaces\":\"v1\"}"), EK_E_PARSE, NULL},
    {"a bundle without a package", "{\"schema\":\"olm.bundle\",\"name\":\"v1\"}", EK_E_PARSE, NULL},
    {"a package without a name", "{\"schema\":\"olm.package\"}", EK_E_PARSE, NULL},
};

START_TEST(catalogs_are_read_as_text)
{
    struct ek_ff_graph *graph = ek_ff_graph_new(LIMIT);
    struct ek_ff_from from = {EK_STR("p"), EK_STR("stable"), EK_STR("v1"), EK_STR("1.0.0"), {0}};
    struct ek_ff_answer answer;
    struct ek_err err = {0};
    char got[600], line[700];

    int rc = ek_ff_graph_read(graph, texts[_i].text, strlen(texts[_i].text), &err);
    ck_assert_msg(rc == texts[_i].rc && rc == err.code, "%s: %d, %s", texts[_i].name, rc,
                  err.message);
    if (!rc) {
        ck_assert_int_eq(ek_ff_graph_edges(graph, &from, &answer), 0);
        print(&answer, got, sizeof got);
        snprintf(line, sizeof line, "%s %s", got, answer.next_version);
        ck_assert_msg(!strcmp(line, texts[_i].answer), "%s: \"%s\", not \"%s\"", texts[_i].name,
                      line, texts[_i].answer);
    }
    ek_ff_graph_free(graph);
}
END_TEST

START_TEST(a_graph_keeps_its_limit)
{
    struct ek_ff_graph *graph = ek_ff_graph_new(4096);
    struct ek_ff_entry entry = {
        .package = EK_STR("p"), .channel = EK_STR("c"), .name = EK_STR("n")};
    int rc = 0;

    for (int i = 0; i < 4096 && !rc; i++)
        rc = ek_ff_graph_entry(graph, &entry);
    ck_assert_int_eq(rc, EK_E_LIMIT);
    ek_ff_graph_free(graph);
    graph = ek_ff_graph_new(4096);
    for (int i = 0; i < 4096 && !rc; i++)
        rc = ek_ff_graph_package(graph, EK_STR("p"), EK_STR("c"));
    ck_assert_int_eq(rc, EK_E_LIMIT);
    static char big[5000];
    memset(big, ' ', sizeof big);
    ck_assert_int_eq(ek_ff_graph_read(graph, big, sizeof big, NULL), EK_E_LIMIT);
    ek_ff_graph_free(graph);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("graph");

    tcase_add_loop_test(tcase, edges_are_those_of_the_resolver, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, catalogs_are_read_as_text, 0, EK_ARRAY_SIZE(texts));
    tcase_add_test(tcase, a_graph_keeps_its_limit);
    return ek_test_run("graph", tcase);
}
