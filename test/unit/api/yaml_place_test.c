/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of values in YAML and JSON texts. */
#include "api/yaml_place.h"

#include <string.h>

#include "api/base/buf.h"
#include "test/support/suite.h"

#define MANIFEST                                                                                   \
    "# comment\n"                                                                                  \
    "apiVersion: v1\n"                                                                             \
    "metadata:\n"                                                                                  \
    "  annotations:\n"                                                                             \
    "    a.b/c: x\n"                                                                               \
    "  labels: {d: e,\n"                                                                           \
    "    f: g}\n"                                                                                  \
    "spec:\n"                                                                                      \
    "  list:\n"                                                                                    \
    "  - name: one\n"                                                                              \
    "  - name: &two\n"                                                                             \
    "      two\n"                                                                                  \
    "    again: *two\n"                                                                            \
    "  ? {complex: key}\n"                                                                         \
    "  : value\n"                                                                                  \
    "  last: |\n"                                                                                  \
    "    text: of: many\n"                                                                         \
    "    lines\n"                                                                                  \
    "  end: 1\n"

static const struct {
    const char *name, *text, *path;
    size_t line;
} rows[] = {
    {"the document", MANIFEST, "", 2},
    {"a member", MANIFEST, "apiVersion", 2},
    {"within", MANIFEST, "metadata.annotations", 4},
    {"a name with dots", MANIFEST, "metadata.annotations[a.b/c]", 5},
    {"flow style", MANIFEST, "metadata.labels.f", 7},
    {"an item", MANIFEST, "spec.list[1]", 11},
    {"a member of an item", MANIFEST, "spec.list[0].name", 10},
    {"the line of the name, not of the value", MANIFEST, "spec.list[1].name", 11},
    {"an alias", MANIFEST, "spec.list[1].again", 13},
    {"beyond an alias", MANIFEST, "spec.list[1].again.more", 13},
    {"after a name that is a mapping", MANIFEST, "spec.last", 16},
    {"after a text of several lines", MANIFEST, "spec.end", 19},
    {"no such member: the last that is there", MANIFEST, "spec.list[1].none", 11},
    {"no such item", MANIFEST, "spec.list[2].name", 9},
    {"a number is no name", MANIFEST, "spec.list.name", 9},
    {"JSON", "{\"a\": [\n{\"b\": 1},\n{\"b\":\n2}]}", "a[1].b", 3},
    {"the first document", "a: 1\n---\nb: 2\n", "b", 1},
    {"no document", "", "a.b", 1},
    {"no YAML", "a: [\n", "a[0]", 1},
    {"before the mistake", "x: 1\na: 2\n}", "a", 2},
    {"a part that does not end", MANIFEST, "spec.list[1", 11},
    {"an empty part", MANIFEST, "spec..last", 8},
    {"lines that end with CR LF", "a: 1\r\nb: 2\r\n", "b", 2},
    {"lines that end with CR", "a: 1\rb: 2\r", "b", 2},
    {"NEL is no line of an editor", "a: x\xc2\x85\nb: 2\n", "b", 2},
    {"nor are LS and PS", "a: x\xe2\x80\xa8\xe2\x80\xa9\nb: 2\n", "b", 2},
};

START_TEST(lines)
{
    EK_AUTOPTR(ek_yaml_places, ek_yaml_places_free) *places =
        ek_yaml_places_new(rows[_i].text, strlen(rows[_i].text));
    size_t line = ek_yaml_line(places, rows[_i].path);

    ck_assert_msg(line == rows[_i].line, "%s: line %zu, expected %zu", rows[_i].name, line,
                  rows[_i].line);
}
END_TEST

/* ---- Octets ---- */

static const struct {
    const char *name, *text, *path, *octets; /* NULL: none */
} spans[] = {
    {"plain", "# c\na: {b: cd }\n", "a.b", "cd"},
    {"before a comment", "a: b/c # d\n", "a", "b/c"},
    {"with quotes", "a: [x, \"y\"]\n", "a[1]", "\"y\""},
    {"with an anchor", "a: &b c\n", "a", "&b c"},
    {"with a tag", "a: !!str c\n", "a", "!!str c"},
    {"behind wide characters", "# \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\r\na: b", "a", "b"},
    {"behind a byte order mark",
     "\xef\xbb\xbf"
     "a: b",
     "a", "b"},
    {"behind all line breaks", "# \xc2\x85# \xe2\x80\xa8# \xe2\x80\xa9#\r\n\r\na: b\rc: d", "c",
     "d"},
    {"behind a text of several lines", "a: |\n  b\n\n  c\nd: \"e\n\n  f\"\ng: h\n", "g", "h"},
    {"no value", "a:\nb: c\n", "a", ""},
    {"the value after", "a:\nb: c\n", "b", "c"},
    {"JSON in a line", "{\"a\":[{\"b\":\"c\"},{\"b\":\"d\"}]}", "a[1].b", "\"d\""},
    {"a container", "a: [b]\n", "a", NULL},
    {"not there", "a: [b]\n", "a[1]", NULL},
    {"beyond a scalar", "a: b\n", "a.b", NULL},
    {"a name that stands twice", "a: b\na: b\n", "a", NULL},
    {"an item is no name", "[b, b]", "[1]", "b"},
    {"an alias of another value", "a: b\nc: &d e\nf: *d\n", "a", NULL},
    {"a document that does not end well", "a: b\nc: [\n", "a", NULL},
    {"another document with aliases", "a: b\n---\nc: &d e\nf: *d\n", "a", "b"},
};

static void expect_octets(const char *name, const char *text, size_t size, const char *path,
                          const char *octets)
{
    EK_AUTOPTR(ek_yaml_places, ek_yaml_places_free) *places = ek_yaml_places_new(text, size);
    size_t start = 0, len = 0;
    bool found = ek_yaml_octets(places, path, &start, &len);

    ck_assert_msg(found == (octets != NULL), "%s: %sfound", name, found ? "" : "not ");
    if (octets)
        ck_assert_msg(len == strlen(octets) && !memcmp(text + start, octets, len), "%s: \"%.*s\"",
                      name, (int)len, text + start);
}

START_TEST(octets)
{
    expect_octets(spans[_i].name, spans[_i].text, strlen(spans[_i].text), spans[_i].path,
                  spans[_i].octets);
}
END_TEST

START_TEST(no_octets_in_utf16)
{
    static const char text[] = "\xff\xfe"
                               "a\0:\0 \0b\0\n\0c\0:\0 \0d";
    EK_AUTOPTR(ek_yaml_places, ek_yaml_places_free) *places = ek_yaml_places_new(text, sizeof text);

    ck_assert_uint_eq(ek_yaml_line(places, "c"), 2);
    expect_octets("UTF-16", text, sizeof text, "c", NULL);
}
END_TEST

/* Each path again and in the opposite order: what is remembered changes no answer. */
START_TEST(paths_in_any_order)
{
    static const char *const paths[] = {"spec.end",  "spec.list[1].name",  "spec.list[0].name",
                                        "spec.list", "spec.list[1].again", "apiVersion"};
    static const size_t wanted[] = {19, 11, 10, 9, 13, 2};
    EK_AUTOPTR(ek_yaml_places, ek_yaml_places_free) *places =
        ek_yaml_places_new(MANIFEST, strlen(MANIFEST));

    for (size_t i = 0; i < 2 * EK_ARRAY_SIZE(paths); i++) {
        size_t at = i < EK_ARRAY_SIZE(paths) ? i : 2 * EK_ARRAY_SIZE(paths) - 1 - i;
        ck_assert_uint_eq(ek_yaml_line(places, paths[at]), wanted[at]);
        ck_assert_uint_eq(ek_yaml_line(places, "spec.none"), 8);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("yaml_place");

    tcase_add_loop_test(tcase, lines, 0, EK_ARRAY_SIZE(rows));
    tcase_add_loop_test(tcase, octets, 0, EK_ARRAY_SIZE(spans));
    tcase_add_test(tcase, no_octets_in_utf16);
    tcase_add_test(tcase, paths_in_any_order);
    return ek_test_run("yaml_place", tcase);
}
