/* SPDX-License-Identifier: Apache-2.0 */
/* The storage of the test API server: revisions, order, the past and its end. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/apiserver/mvcc.h"
#include "test/support/suite.h"

static struct ek_mvcc *store;
static int resource;

static void setup(void)
{
    store = ek_mvcc_new(4);
    resource = ek_mvcc_add_resource(store);
}

static void teardown(void)
{
    ek_mvcc_free(store);
}

static struct ek_mvcc_value *value(const char *text)
{
    return ek_mvcc_value_new(text, strlen(text), ek_mvcc_rv(store) + 1);
}

static void put(const char *key, const char *text)
{
    ek_mvcc_put(store, resource, key, value(text));
}

/* "key=text key=text", as the resource was at rv. */
static const char *state(uint64_t rv, char buf[256])
{
    struct ek_mvcc_iter iter;
    struct ek_mvcc_value *v;
    const char *key;

    buf[0] = '\0';
    ek_mvcc_seek(store, resource, "", rv, &iter);
    while ((v = ek_mvcc_next(&iter, &key)) != NULL) {
        size_t len = strlen(buf);
        snprintf(buf + len, 256 - len, "%s%s=%s", len ? " " : "", key, v->json);
    }
    return buf;
}

START_TEST(lists_are_in_key_order_at_any_revision_that_is_kept)
{
    char buf[256];

    put("b", "1");
    put("a", "2");
    put("b", "3");
    ck_assert(ek_mvcc_delete(store, resource, "a", value("4")));
    ck_assert_str_eq(state(1, buf), "b=1");
    ck_assert_str_eq(state(2, buf), "a=2 b=1");
    ck_assert_str_eq(state(3, buf), "a=2 b=3");
    ck_assert_str_eq(state(4, buf), "b=3");
    ck_assert_uint_eq(ek_mvcc_count(store, resource), 1);
    ck_assert_uint_eq(ek_mvcc_compacted(store, resource), 0);
}
END_TEST

START_TEST(the_window_forgets_the_oldest_change)
{
    char buf[256];

    for (int i = 0; i < 6; i++)
        put("a", (const char *[]){"1", "2", "3", "4", "5", "6"}[i]);
    ck_assert_uint_eq(ek_mvcc_compacted(store, resource), 2);
    ck_assert_uint_eq(ek_mvcc_log_end(store, resource) - ek_mvcc_log_first(store, resource), 4);
    ck_assert_str_eq(state(2, buf), "a=2");
    ck_assert_str_eq(state(6, buf), "a=6");
}
END_TEST

START_TEST(a_deleted_key_goes_with_its_last_event_and_may_return)
{
    char buf[256];

    put("a", "1");
    ck_assert(ek_mvcc_delete(store, resource, "a", value("2")));
    ck_assert(!ek_mvcc_delete(store, resource, "a", value("3")));
    put("a", "3");
    ck_assert_str_eq(state(2, buf), "");
    ck_assert_str_eq(state(3, buf), "a=3");
    ck_assert(ek_mvcc_delete(store, resource, "a", value("4")));
    ek_mvcc_compact(store, resource, 4);
    ck_assert_str_eq(state(4, buf), "");
    ck_assert_uint_eq(ek_mvcc_count(store, resource), 0);
    ck_assert_uint_eq(ek_mvcc_compacted(store, resource), 4);
    put("a", "5");
    ck_assert_str_eq(state(5, buf), "a=5");
}
END_TEST

START_TEST(events_have_the_type_and_the_object_before)
{
    put("a", "1");
    put("a", "2");
    ek_mvcc_delete(store, resource, "a", value("3"));
    uint64_t at = ek_mvcc_log_after(store, resource, 1);
    const struct ek_mvcc_event *event = ek_mvcc_log_at(store, resource, at);
    ck_assert_int_eq(event->type, EK_MVCC_MODIFIED);
    ck_assert_str_eq(event->prev->json, "1");
    event = ek_mvcc_log_at(store, resource, at + 1);
    ck_assert_int_eq(event->type, EK_MVCC_DELETED);
    ck_assert_str_eq(event->key, "a");
    ck_assert_str_eq(event->prev->json, "2");
    ck_assert_uint_eq(ek_mvcc_log_after(store, resource, 99), ek_mvcc_log_end(store, resource));
}
END_TEST

START_TEST(resources_share_the_counter_but_not_the_past)
{
    int other = ek_mvcc_add_resource(store);

    put("a", "1");
    ek_mvcc_put(store, other, "a", value("2"));
    ck_assert_uint_eq(ek_mvcc_rv(store), 2);
    ek_mvcc_compact(store, other, 2);
    ck_assert_uint_eq(ek_mvcc_compacted(store, resource), 0);
    ck_assert_uint_eq(ek_mvcc_compacted(store, other), 2);
}
END_TEST

/* Random writes against a plain array of states. */
START_TEST(random_histories_read_back)
{
    char past[65][256], buf[256];
    unsigned random = (unsigned)_i * 7919 + 1;

    for (int i = 1; i <= 64; i++) {
        char key[2] = {(char)('a' + (random >> 8) % 6), '\0'}, text[12];
        random = random * 1103515245 + 12345;
        snprintf(text, sizeof(text), "%d", i);
        if ((random >> 16) % 3 > 0 || !ek_mvcc_get(store, resource, key))
            put(key, text);
        else
            ek_mvcc_delete(store, resource, key, value(text));
        snprintf(past[i], sizeof(past[i]), "%s", state((uint64_t)i, buf));
        for (uint64_t rv = ek_mvcc_compacted(store, resource); rv > 0 && rv <= (uint64_t)i; rv++)
            ck_assert_msg(strcmp(state(rv, buf), past[rv]) == 0,
                          "seed %d: at %d the state of %d was \"%s\" and reads \"%s\"", _i, i,
                          (int)rv, past[rv], buf);
    }
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("store");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, lists_are_in_key_order_at_any_revision_that_is_kept);
    tcase_add_test(tcase, the_window_forgets_the_oldest_change);
    tcase_add_test(tcase, a_deleted_key_goes_with_its_last_event_and_may_return);
    tcase_add_test(tcase, events_have_the_type_and_the_object_before);
    tcase_add_test(tcase, resources_share_the_counter_but_not_the_past);
    tcase_add_loop_test(tcase, random_histories_read_back, 0, 20);
    return ek_test_run("apiserver_store", tcase);
}
