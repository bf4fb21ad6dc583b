/* SPDX-License-Identifier: Apache-2.0 */
/* What policies wrote, apart from the defaults that the API server adds to it. */
#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "reconcilers/mutation/authored.h"
#include "test/support/suite.h"

#define ARENA_MAX ((size_t)1 << 20)

/* authored NULL: no default was added so far. */
static const struct {
    const char *name, *authored, *before, *patched, *settled, *want;
} rows[] = {
    {"a member", NULL, "{'a':1}", "{'a':1,'b':2}", "{'a':1,'b':2}", "{'a':1,'b':2}"},
    {"a default of a new member", NULL, "{}", "{'o':{'a':1}}", "{'o':{'a':1,'d':0}}",
     "{'o':{'a':1}}"},
    {"a default that the policy wrote", NULL, "{}", "{'o':{'d':0}}", "{'o':{'d':0}}",
     "{'o':{'d':0}}"},
    {"a default beside what was there", NULL, "{'o':{'a':1}}", "{'o':{'a':2}}",
     "{'o':{'a':2,'d':0}}", "{'o':{'a':2}}"},
    {"a default that was there", NULL, "{'d':0}", "{'d':0,'a':1}", "{'d':0,'a':1}",
     "{'d':0,'a':1}"},
    {"a default that the policy removes", NULL, "{'d':0}", "{}", "{'d':0}", "{'d':0}"},
    {"a value that the policy removes", NULL, "{'d':5}", "{}", "{'d':0}", "{}"},
    {"another form of a value", NULL, "{}", "{'q':'0.5'}", "{'q':'500m'}", "{'q':'500m'}"},
    {"what goes with the defaults", NULL, "{}", "{'a':1,'l':[]}", "{'a':1}", "{'a':1}"},
    {"a default of an earlier mutation", "{'o':{'a':1}}", "{'o':{'a':1,'d':0}}",
     "{'o':{'a':1,'d':0},'b':2}", "{'o':{'a':1,'d':0},'b':2}", "{'o':{'a':1},'b':2}"},
    {"an earlier default, changed", "{'o':{'a':1}}", "{'o':{'a':1,'d':0}}", "{'o':{'a':1,'d':7}}",
     "{'o':{'a':1,'d':7}}", "{'o':{'a':1,'d':7}}"},
    {"an item", NULL, "[{'name':'a'}]", "[{'name':'a'},{'name':'b'}]",
     "[{'name':'a'},{'name':'b','d':0}]", "[{'name':'a'},{'name':'b'}]"},
    {"an item before another, which an earlier mutation added", "[{'name':'a'}]",
     "[{'name':'a','d':0}]", "[{'name':'b'},{'name':'a','d':0,'x':1}]",
     "[{'name':'b','d':0},{'name':'a','d':0,'x':1}]", "[{'name':'b'},{'name':'a','x':1}]"},
    {"an item in the place of another", "[{'name':'a'}]", "[{'name':'a','d':0}]", "[{'name':'b'}]",
     "[{'name':'b','d':0}]", "[{'name':'b'}]"},
    {"items without names", "[{'k':1}]", "[{'k':1,'d':0}]", "[{'k':2,'d':0}]", "[{'k':2,'d':0}]",
     "[{'k':2}]"},
    {"one item less", "[{'k':1},{'k':2}]", "[{'k':1,'d':0},{'k':2,'d':0}]", "[{'k':2,'d':0}]",
     "[{'k':2,'d':0}]", "[{'k':2}]"},
    {"a list in the place of an object", NULL, "{'a':{}}", "{'a':[1]}", "{'a':[1]}", "{'a':[1]}"},
    {"a list that the defaults make longer", NULL, "{}", "{'a':[]}", "{'a':[1]}", "{'a':[1]}"},
};

/* JSON with single quotes. */
static yyjson_doc *parse(const char *text)
{
    EK_AUTOFREE char *json = ek_xstrdup(text ? text : "null");

    for (char *p = json; *p; p++)
        if (*p == '\'')
            *p = '"';
    yyjson_doc *doc = yyjson_read(json, strlen(json), 0);
    ck_assert_ptr_nonnull(doc);
    return doc;
}

START_TEST(authored)
{
    const char *texts[] = {rows[_i].authored, rows[_i].before, rows[_i].patched, rows[_i].settled,
                           rows[_i].want};
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    yyjson_doc *docs[EK_ARRAY_SIZE(texts)];
    yyjson_val *roots[EK_ARRAY_SIZE(texts)];

    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++) {
        docs[i] = parse(texts[i]);
        roots[i] = yyjson_doc_get_root(docs[i]);
    }
    const struct ek_authored_step step = {roots[1], roots[2], roots[3]};
    yyjson_val *got = ek_authored(rows[_i].authored ? roots[0] : roots[1], &step, arena);
    EK_AUTOFREE char *shown = yyjson_val_write(got, 0, NULL);
    ck_assert_msg(ek_json_equal(got, roots[4]), "%s: %s", rows[_i].name, shown);
    for (size_t i = 0; i < EK_ARRAY_SIZE(texts); i++)
        yyjson_doc_free(docs[i]);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("rows");

    tcase_add_loop_test(t, authored, 0, (int)EK_ARRAY_SIZE(rows));
    return ek_test_run("authored", t);
}
