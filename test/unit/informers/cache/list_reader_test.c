/* SPDX-License-Identifier: Apache-2.0 */
/* Lists as they come: whatever the pieces, the objects and the errors are the same. */
#include "informers/cache/list_reader.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/list_text.h"
#include "test/support/suite.h"

static const struct ek_decode_type lease = {"coordination.k8s.io/v1", "Lease", false};

#define A "{\"metadata\":{\"name\":\"a\"}}"
#define B "{\"metadata\":{\"name\":\"b\",\"labels\":{\"x\":\"},{\\\"metadata\\\":]\"}}}"
#define C "{\"spec\":{},\"metadata\":{\"name\":\"c\"}}"
#define D "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"list\":[{},{\"metadata\":1}]}}"
/* As long as D up to what looks like its end, and as A and what begins G up to its own. */
#define E "{\"metadata\":{\"name\":\"e\"},\"spec\":{\"x\":\"12\"}}"
#define F "{\"metadata\":{\"name\":\"f\"},\"sp1\":{}}"
#define G "{\"a\":[{},{\"metadata\":1}],\"metadata\":{\"name\":\"g\"}}"
#define HEAD                                                                                       \
    "{\"kind\":\"LeaseList\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"             \
    "\"resourceVersion\":\"7\",\"continue\":\"next\"}"

static const struct {
    const char *name, *json;
    const char *keys; /* of the objects, in turn; NULL: code is the outcome */
    int code;
} lists[] = {
    {"as API servers write it", HEAD ",\"items\":[" A "," B "," C "," D "]}\n", "a b c d ", 0},
    {"none", HEAD ",\"items\":[]}", "", 0},
    {"null", HEAD ",\"items\":null}", "", 0},
    {"blanks", HEAD " , \"items\"\n:\t[ " A " ,\n " B " ] }", "a b ", 0},
    {"before the rest",
     "{\"items\":[" A "," B "],\"kind\":\"LeaseList\",\"metadata\":{"
     "\"resourceVersion\":\"7\",\"continue\":\"next\"}}",
     "a b ", 0},
    {"what looks like the end of an item", HEAD ",\"items\":[" D "," D "," A "]}", "d d a ", 0},
    {"items of one size", HEAD ",\"items\":[" A "," A "," A "," C "," C "]}", "a a a c c ", 0},
    {"what looks like the end where the last item had its end",
     HEAD ",\"items\":[" E "," D "," E "]}", "e d e ", 0},
    {"what looks like an end there, in the next item", HEAD ",\"items\":[" F "," A "," G "," F "]}",
     "f a g f ", 0},
    {"no two items begin alike",
     HEAD ",\"items\":[" A "," C "," A "," C "," A "," C "," A "," C "," A "," C "," A "," C "," A
          "," C "," A "," C "," A "," C "," A "," C "," A "," C "]}",
     "a c a c a c a c a c a c a c a c a c a c a c ", 0},
    {"twice: the last counts", HEAD ",\"items\":[" A "," B "],\"items\":[" C "]}", "c ", 0},
    {"a name with escapes", HEAD ",\"it\\u0065ms\":[" A "," B "]}", "a b ", 0},
    {"items elsewhere",
     "{\"kind\":\"LeaseList\",\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"next\","
     "\"items\":[1,2]},\"x\\\"items\":[3],\"y\":\"items\",\"items\":[" A "]}",
     "a ", 0},
    {"two commas", HEAD ",\"items\":[" A ",," B "]}", NULL, EK_E_PARSE},
    {"no comma", HEAD ",\"items\":[" A " " B "]}", NULL, EK_E_PARSE},
    {"a comma in front", HEAD ",\"items\":[," A "]}", NULL, EK_E_PARSE},
    {"a comma behind", HEAD ",\"items\":[" A ",]}", NULL, EK_E_PARSE},
    {"an item that is no object", HEAD ",\"items\":[" A ",7]}", NULL, EK_E_PARSE},
    {"an item that is no JSON", HEAD ",\"items\":[" A ",{\"metadata\":{\"name\":b}}]}", NULL,
     EK_E_PARSE},
    {"cut within an item", HEAD ",\"items\":[" A ",{\"metadata\":{", NULL, EK_E_PARSE},
    {"cut between items", HEAD ",\"items\":[" A ",", NULL, EK_E_PARSE},
    {"cut behind the items", HEAD ",\"items\":[" A "]", NULL, EK_E_PARSE},
    {"more behind the list", HEAD ",\"items\":[" A "]}}", NULL, EK_E_PARSE},
    {"another bracket", HEAD ",\"items\":[" A "}}", NULL, EK_E_PARSE},
    {"one of another kind", HEAD ",\"items\":[" A ",{\"kind\":\"Pod\",\"metadata\":{}}," A "]}",
     NULL, EK_E_UNSUPPORTED},
    {"a table", "{\"kind\":\"Table\",\"rows\":[{\"items\":[1]}]}", NULL, EK_E_UNSUPPORTED},
    {"nothing", "", NULL, EK_E_PARSE},
};

static void check_page(const char *name, size_t size, const struct ek_list_page *page,
                       const char *keys)
{
    EK_AUTO(ek_buf) seen;

    ek_buf_init(&seen, 4096);
    for (size_t i = 0; i < page->n; i++)
        ek_buf_printf(&seen, "%s ", ek_obj_key(page->items[i]));
    ck_assert_msg(!strcmp(ek_buf_str(&seen), keys), "%s in pieces of %zu: %s", name, size,
                  ek_buf_str(&seen));
    ck_assert_str_eq(page->resource_version, "7");
    ck_assert_str_eq(page->next, "next");
}

START_TEST(pieces_change_nothing)
{
    const char *json = lists[_i].json;
    size_t len = strlen(json);

    for (size_t size = 1; size <= len + 1; size++) {
        struct ek_list_page page;
        struct ek_err err = {0};
        /* Copies of its own, so that the sanitizers see a look beyond a piece. */
        char *copy = malloc(len + 1);
        memcpy(copy, json, len);
        int rc = list_text_read_pieces(copy, len, size, &lease, &page, &err);
        free(copy);
        ck_assert_msg(rc == lists[_i].code && err.code == rc, "%s in pieces of %zu: %d %s",
                      lists[_i].name, size, rc, err.message);
        if (rc)
            continue;
        check_page(lists[_i].name, size, &page, lists[_i].keys);
        ek_list_page_done(&page);
    }
}
END_TEST

START_TEST(a_list_is_bounded)
{
    static const char json[] = HEAD ",\"items\":[" A "]}";
    EK_AUTO(ek_list_reader) reader = {0};
    struct ek_list_page page;
    struct ek_err err = {0};

    ek_list_reader_begin(&reader, &lease, sizeof json - 1);
    ck_assert_int_eq(ek_list_reader_push(&reader, json, sizeof json - 1, &err), 0);
    ck_assert_int_eq(ek_list_reader_push(&reader, " ", 1, &err), EK_E_LIMIT);
    ek_list_reader_begin(&reader, &lease, sizeof json - 1);
    ck_assert_int_eq(ek_list_reader_push(&reader, json, sizeof json - 1, &err), 0);
    ck_assert_int_eq(ek_list_reader_end(&reader, &page, &err), 0);
    ck_assert_uint_eq(page.n, 1);
    ek_list_page_done(&page);
}
END_TEST

/* The text of a list is never held: what is held beside the objects is small, whatever the list. */
START_TEST(no_text_is_kept)
{
    EK_AUTO(ek_list_reader) reader = {0};
    struct ek_list_page page;
    struct ek_err err = {0};

    ek_list_reader_begin(&reader, &lease, (size_t)64 << 20);
    ck_assert_int_eq(
        ek_list_reader_push(&reader, HEAD ",\"items\":[" A, strlen(HEAD ",\"items\":[" A), &err),
        0);
    for (size_t i = 0; i < 10000; i++)
        ck_assert_int_eq(ek_list_reader_push(&reader, "," B, strlen("," B), &err), 0);
    ck_assert_uint_lt(reader.envelope.len + reader.framer.gathered.len, 1000);
    ck_assert_uint_eq(reader.page.n, 10001);
    ck_assert_int_eq(ek_list_reader_push(&reader, "]}", 2, &err), 0);
    ck_assert_int_eq(ek_list_reader_end(&reader, &page, &err), 0);
    ck_assert_uint_eq(page.n, 10001);
    ek_list_page_done(&page);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("list_reader");

    tcase_add_loop_test(tcase, pieces_change_nothing, 0, (int)EK_ARRAY_SIZE(lists));
    tcase_add_test(tcase, a_list_is_bounded);
    tcase_add_test(tcase, no_text_is_kept);
    return ek_test_run("list_reader", tcase);
}
