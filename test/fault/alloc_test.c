/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory, everywhere: each operation is run again and again, and in the n-th run its n-th
 * fallible allocation fails, until a run needs fewer than n. A run that met a failure must say
 * EK_E_NOMEM and give nothing, or give exactly what an undisturbed run gives: half a result is
 * never passed on as a whole one. Leaks and wild accesses are for the sanitizers to see.
 */
#include <check.h>
#include <unistd.h>

#include "test/fault/alloc_rows.h"
#include "test/support/suite.h"

#define OUT_MAX  ((size_t)16 * 1024 * 1024)
#define RUNS_MAX 20000

/* Runs the row with its n-th allocation failing (0: none). True when the failure was met. */
static bool run(const struct alloc_row *row, long n, struct ek_buf *out, int *ret_rc,
                struct ek_err *err)
{
    EK_AUTO(alloc_result) result = {0};

    *err = (struct ek_err){0};
    ek_alloc_fail_after(n);
    *ret_rc = row->run(&result, err);
    bool met = !ek_alloc_unfailed();
    ek_alloc_fail_after(0);
    if (*ret_rc == 0)
        alloc_result_show(&result, out);
    return met;
}

static void check_failed_run(const struct alloc_row *row, long n, int rc, const struct ek_err *err,
                             const struct ek_buf *out, const struct ek_buf *expected)
{
    if (rc == 0) {
        ck_assert_msg(out->len == expected->len && !strcmp(ek_buf_str(out), ek_buf_str(expected)),
                      "%s: allocation %ld failed, and the result is another:\n%s\nnot\n%s",
                      row->name, n, ek_buf_str(out), ek_buf_str(expected));
        return;
    }
    ck_assert_msg(rc == EK_E_NOMEM, "%s: allocation %ld failed, and the error is %d (%s)",
                  row->name, n, rc, err->message);
    ck_assert_msg(!err->code || (err->code == rc && *err->message),
                  "%s: allocation %ld: the error says %d \"%s\"", row->name, n, err->code,
                  err->message);
}

START_TEST(survives_every_failure)
{
    const struct alloc_row *row = &alloc_rows[_i];
    EK_AUTO(ek_buf) expected;
    EK_AUTO(ek_buf) out;
    struct ek_err err;
    long n = 1;
    int rc;

    ek_buf_init(&expected, OUT_MAX);
    ek_buf_init(&out, OUT_MAX);
    ck_assert_msg(!run(row, 0, &expected, &rc, &err), "%s: met what was not asked for", row->name);
    ck_assert_msg(rc == 0 && expected.len > 0, "%s: %d (%s)", row->name, rc, err.message);
    while (run(row, n, &out, &rc, &err)) {
        check_failed_run(row, n, rc, &err, &out, &expected);
        ek_buf_reset(&out);
        n++;
        ck_assert_msg(n < RUNS_MAX, "%s: no end after %ld runs", row->name, n);
    }
    ck_assert_msg(rc == 0 && !strcmp(ek_buf_str(&out), ek_buf_str(&expected)),
                  "%s: run %ld met no failure but gave %d (%s)", row->name, n, rc, err.message);
    ck_assert_msg(n > row->at_least, "%s: only %ld allocations; is the hook reached?", row->name,
                  n - 1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("alloc");

    tcase_set_timeout(tc, 60);
    tcase_add_loop_test(tc, survives_every_failure, 0, (int)alloc_n_rows);
    return ek_test_run("alloc", tc);
}
