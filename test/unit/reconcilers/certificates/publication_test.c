/* SPDX-License-Identifier: Apache-2.0 */
/* An authority counts as published when all publishers have reported it, and not a moment before.
 */
#include <check.h>

#include "api/base/mem.h"
#include "api/base/time.h"
#include "reconcilers/certificates/publication.h"
#include "test/support/suite.h"

#define M EK_PUBLISHER_MUTATING
#define V EK_PUBLISHER_VALIDATING
#define G EK_PUBLISHER_GATES

enum what { END, EXPECT, RENEW, HAS, LACKS };

/* Step i happens at i + 1. */
static const struct {
    const char *name;
    struct {
        enum what what;
        enum ek_webhook_publisher who;
    } steps[6];
    int64_t since_ms;
} rows[] = {
    {"nobody", {{END, M}}, EK_TIME_UNSET},
    {"expected, not told", {{EXPECT, M}}, EK_TIME_UNSET},
    {"the only one", {{EXPECT, M}, {HAS, M}}, 2},
    {"one that was not expected", {{HAS, M}}, 1},
    {"told again", {{HAS, M}, {HAS, M}, {HAS, M}}, 1},
    {"one of two", {{EXPECT, M}, {EXPECT, V}, {HAS, M}}, EK_TIME_UNSET},
    {"both", {{EXPECT, M}, {EXPECT, V}, {HAS, M}, {HAS, V}}, 4},
    {"the other has not", {{EXPECT, M}, {EXPECT, V}, {HAS, M}, {LACKS, V}}, EK_TIME_UNSET},
    {"a third comes late", {{HAS, M}, {HAS, V}, {EXPECT, G}}, EK_TIME_UNSET},
    {"and tells", {{HAS, M}, {HAS, V}, {EXPECT, G}, {HAS, G}}, 4},
    {"one that has told is expected", {{HAS, M}, {EXPECT, M}}, 1},
    {"somebody changes it", {{HAS, M}, {HAS, V}, {LACKS, M}}, EK_TIME_UNSET},
    {"and it is put right", {{HAS, M}, {HAS, V}, {LACKS, M}, {HAS, M}}, 4},
    {"other authorities", {{HAS, M}, {HAS, V}, {RENEW, M}}, EK_TIME_UNSET},
    {"which one has", {{HAS, M}, {HAS, V}, {RENEW, M}, {HAS, V}}, EK_TIME_UNSET},
    {"which both have", {{HAS, M}, {HAS, V}, {RENEW, M}, {HAS, V}, {HAS, M}}, 5},
};

START_TEST(publication)
{
    struct ek_publication p;

    ek_publication_init(&p);
    for (int i = 0; i < 6 && rows[_i].steps[i].what != END; i++) {
        enum what what = rows[_i].steps[i].what;
        enum ek_webhook_publisher who = rows[_i].steps[i].who;
        int64_t before = p.since_ms;
        if (what == EXPECT)
            ek_publication_expect(&p, who);
        else if (what == RENEW)
            ek_publication_renew(&p);
        else
            ck_assert_msg(ek_publication_tell(&p, who, what == HAS, i + 1) ==
                              (p.since_ms != before),
                          "%s, step %d", rows[_i].name, i);
    }
    ck_assert_msg(p.since_ms == rows[_i].since_ms, "%s: %lld", rows[_i].name,
                  (long long)p.since_ms);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("webhook_publication");

    tcase_add_loop_test(tcase, publication, 0, EK_ARRAY_SIZE(rows));
    return ek_test_run("webhook_publication", tcase);
}
