/* SPDX-License-Identifier: Apache-2.0 */
/* What walks over hostile objects cost, counted in steps, and that the time can end each of them.
 */
#include <check.h>
#include <stdlib.h>

#include "api/base/mem.h"
#include "test/support/suite.h"
#include "test/support/walks.h"

#define ARENA_LIMIT ((size_t)256 << 20)

/* Steps of the shortest of two objects, and of one that is so many times longer. An octet of the
 * long one may cost what one of the short does, and what a hash costs. The steps are the same under
 * sanitizers, which take longer for each: there the long ones are shorter. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define LONG    ((size_t)64 << 10)
#define LONGEST ((size_t)256 << 10) /* of walks that are cheap */
#else
#define LONG    ((size_t)512 << 10)
#define LONGEST ((size_t)3 << 20)
#endif
#define SHORT     ((size_t)8 << 10)
#define SHORTEST  ((size_t)1 << 10)
#define GROWTH    1.25
#define STEPS_MAX 3.0 /* for an octet of both objects */

struct pair {
    yyjson_doc *old, *new;
    struct test_walk_input in;
    size_t size;
};

static size_t size_of(yyjson_doc *doc)
{
    size_t len = 0;

    ek_free(yyjson_write(doc, 0, &len));
    return len;
}

static void open_pair(struct pair *p, enum test_grown_shape shape, size_t size)
{
    bool custom = shape == TEST_GROWN_FREE || shape == TEST_GROWN_WIDE;

    *p = (struct pair){.old = test_grown(shape, size, custom, false),
                       .new = test_grown(shape, size, custom, true)};
    p->in = (struct test_walk_input){.old = yyjson_doc_get_root(p->old),
                                     .new = yyjson_doc_get_root(p->new),
                                     .custom = custom,
                                     .arena = ek_arena_new(ARENA_LIMIT)};
    p->size = size_of(p->old) + size_of(p->new);
}

static void close_pair(struct pair *p)
{
    yyjson_doc_free(p->old);
    yyjson_doc_free(p->new);
    ek_arena_free(p->in.arena);
}

/* Steps for an octet. */
static double cost(const struct test_walk *walk, enum test_grown_shape shape, size_t size)
{
    struct pair p;

    open_pair(&p, shape, size);
    walk->run(&p.in);
    double steps = (double)p.in.work.steps / (double)p.size;
    close_pair(&p);
    return steps;
}

static void expect_flat(const struct test_walk *walk, enum test_grown_shape shape, size_t less,
                        size_t more)
{
    double few = cost(walk, shape, less), many = cost(walk, shape, more);

    if (getenv("EK_WALKS_SHOW"))
        printf("%-20s %-16s %8.4f %8.4f\n", walk->name, test_grown_name(shape), few, many);
    ck_assert_msg(few > 0, "%s, %s: no steps", walk->name, test_grown_name(shape));
    ck_assert_msg(few <= STEPS_MAX && many <= few * GROWTH + 0.05,
                  "%s, %s: %.3f steps for an octet of %zu, %.3f of %zu", walk->name,
                  test_grown_name(shape), few, less, many, more);
}

START_TEST(costs_grow_with_the_size_alone)
{
    const struct test_walk *walk = &test_walks[_i];

    test_walks_open();
    for (int i = 0; i < TEST_GROWN_MAX; i++) {
        enum test_grown_shape shape = (enum test_grown_shape)i;
        expect_flat(walk, shape, SHORT, walk->cheap ? LONGEST : LONG);
        double least = cost(walk, shape, SHORTEST); /* with what each walk does once */
        ck_assert_msg(least <= STEPS_MAX, "%s, %s: %.3f steps for an octet of %zu", walk->name,
                      test_grown_name(shape), least, SHORTEST);
    }
    test_walks_close();
}
END_TEST

/* ---- The end of the time ---- */

static bool at_once(void *arg)
{
    ++*(unsigned *)arg;
    return true;
}

/* Walks end by themselves at the first look after the limit: two strides are all they may do. */
START_TEST(the_time_ends_walks)
{
    const struct test_walk *walk = &test_walks[_i];

    test_walks_open();
    for (int i = 0; i < TEST_GROWN_MAX; i++) {
        enum test_grown_shape shape = (enum test_grown_shape)i;
        unsigned looks = 0;
        struct pair p;
        open_pair(&p, shape, LONG);
        p.in.work = (struct ek_work){.is_over = at_once, .arg = &looks};
        p.in.ends = true;
        walk->run(&p.in);
        ck_assert_msg(p.in.work.over && looks == 1, "%s, %s: %u looks", walk->name,
                      test_grown_name(shape), looks);
        ck_assert_msg(p.in.rc == EK_E_CANCELED || !walk->fails, "%s, %s: %d", walk->name,
                      test_grown_name(shape), p.in.rc);
        close_pair(&p);
    }
    test_walks_close();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("steps");
    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, costs_grow_with_the_size_alone, 0, (int)test_n_walks);
    tcase_add_loop_test(tc, the_time_ends_walks, 0, (int)test_n_walks);

    return ek_test_run("walks", tc);
}
