/* SPDX-License-Identifier: Apache-2.0 */
/* An authority counts as published when all publishers have reported it, and not a moment before.
 */
#include <check.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "reconcilers/certificates/publication.h"
#include "test/support/suite.h"

/* Handles, in the order in which they are expected. */
enum { A, B, C };

enum what { END, EXPECT, RENEW, HAS, LACKS };

/* Step i happens at i + 1. */
static const struct {
    const char *name;
    struct {
        enum what what;
        size_t who;
    } steps[8];
    int64_t since_ms;
} rows[] = {
    {"nobody", {{END, A}}, EK_TIME_UNSET},
    {"expected, without a report", {{EXPECT, A}}, EK_TIME_UNSET},
    {"the only one", {{EXPECT, A}, {HAS, A}}, 2},
    {"reported again", {{EXPECT, A}, {HAS, A}, {HAS, A}, {HAS, A}}, 2},
    {"one of two", {{EXPECT, A}, {EXPECT, B}, {HAS, A}}, EK_TIME_UNSET},
    {"both", {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}}, 4},
    {"both, the other way round", {{EXPECT, A}, {EXPECT, B}, {HAS, B}, {HAS, A}}, 4},
    {"the other has not", {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {LACKS, B}}, EK_TIME_UNSET},
    {"a third comes late",
     {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}, {EXPECT, C}},
     EK_TIME_UNSET},
    {"and reports", {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}, {EXPECT, C}, {HAS, C}}, 6},
    {"somebody changes it",
     {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}, {LACKS, A}},
     EK_TIME_UNSET},
    {"and it is put right",
     {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}, {LACKS, A}, {HAS, A}},
     6},
    {"other authorities",
     {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}, {RENEW, A}},
     EK_TIME_UNSET},
    {"which one has",
     {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}, {RENEW, A}, {HAS, B}},
     EK_TIME_UNSET},
    {"which both have",
     {{EXPECT, A}, {EXPECT, B}, {HAS, A}, {HAS, B}, {RENEW, A}, {HAS, B}, {HAS, A}},
     7},
    {"other authorities, and nobody", {{RENEW, A}}, EK_TIME_UNSET},
};

START_TEST(publication)
{
    struct ek_publication p;

    ek_publication_init(&p);
    for (int i = 0; i < 8 && rows[_i].steps[i].what != END; i++) {
        enum what what = rows[_i].steps[i].what;
        size_t who = rows[_i].steps[i].who;
        int64_t before = p.since_ms;
        if (what == EXPECT)
            ck_assert_uint_eq(ek_publication_expect(&p), who);
        else if (what == RENEW)
            ek_publication_renew(&p);
        else
            ck_assert_msg(ek_publication_report(&p, who, what == HAS, i + 1) ==
                              (p.since_ms != before),
                          "%s, step %d", rows[_i].name, i);
    }
    ck_assert_msg(p.since_ms == rows[_i].since_ms, "%s: %lld", rows[_i].name,
                  (long long)p.since_ms);
    ek_publication_done(&p);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_publication");

    tcase_add_loop_test(tcase, publication, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("webhook_publication", tcase);
}
