/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the steps of a rehearsal. */
#include "reconcilers/rehearse/steps.h"

#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "test/support/suite.h"

/* Minors; 0 for unknown. A step is "change binary/emulation/min", with "o" for the old binary, "e"
 * and "m" for the flags of its versions. */
static const struct {
    const char *name;
    unsigned from, binary, old, min;
    const char *expected;
} rows[] = {
    {"one minor without the old binary", 35, 36, 0, 0,
     "binary 36/35/34e; emulation 36/36/34m; minimum compatibility 36/36/35; way back 36/35/34e"},
    {"one minor with the old binary", 35, 36, 35, 0,
     "before 35/35/34o; binary 36/35/34e; emulation 36/36/34m; minimum compatibility 36/36/35; "
     "way back 35/35/34o"},
    {"an old binary that emulates", 35, 36, 36, 0,
     "before 36/35/34oe; binary 36/35/34e; emulation 36/36/34m; minimum compatibility 36/36/35; "
     "way back 36/35/34oe"},
    {"several minors", 33, 36, 0, 0,
     "binary 36/33/33e; emulation 36/34/33e; emulation 36/35/33em; emulation 36/36/33m; minimum "
     "compatibility 36/36/35; way back 36/33/33e"},
    {"a minimum that was raised before", 35, 36, 0, 35,
     "binary 36/35/35em; emulation 36/36/35; way back 36/35/35em"},
    {"the same version", 36, 36, 0, 0, "binary 36/36/35; way back 36/36/35"},
    {"a newer cluster", 37, 36, 0, 0, "the cluster is newer than --kube-apiserver"},
    {"a cluster that is too old", 32, 36, 0, 0,
     "--kube-apiserver cannot emulate the version of the cluster: rehearse an older binary first"},
    {"an old binary that is too old", 35, 36, 34, 0,
     "--kube-apiserver-old cannot run the version of the cluster"},
};

static struct ek_minor minor(unsigned n)
{
    return n ? EK_MINOR(1, n) : EK_MINOR_UNKNOWN;
}

START_TEST(row)
{
    const struct ek_rehearse_route route = {minor(rows[_i].from), minor(rows[_i].binary),
                                            minor(rows[_i].old), minor(rows[_i].min)};
    struct ek_rehearse_step steps[EK_REHEARSE_STEPS_MAX];
    char got[1024] = "";
    size_t n, len = 0;
    const char *why = ek_rehearse_steps(&route, steps, &n);

    for (size_t i = 0; i < n; i++)
        len +=
            (size_t)snprintf(got + len, sizeof got - len, "%s%s %d/%d/%d%s%s%s", i ? "; " : "",
                             ek_rehearse_change_name(steps[i].change), (int)steps[i].binary.minor,
                             (int)steps[i].emulation.minor, (int)steps[i].min_compat.minor,
                             steps[i].old_binary ? "o" : "", steps[i].says_emulation ? "e" : "",
                             steps[i].says_min_compat ? "m" : "");
    ck_assert_msg(!strcmp(why ? why : got, rows[_i].expected), "%s: %s", rows[_i].name,
                  why ? why : got);
}
END_TEST

START_TEST(versions_of_binaries)
{
    ck_assert_uint_eq(ek_rehearse_version("Kubernetes v1.36.2").minor, 36);
    ck_assert_uint_eq(ek_rehearse_version("Kubernetes v1.37.0-rc.1+k").minor, 37);
    ck_assert(!ek_rehearse_version("etcd Version: 3.5.30").known);
    ck_assert(!ek_rehearse_version("Kubernetes").known);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("steps");

    tcase_add_loop_test(tcase, row, 0, EK_ARRAY_SIZE(rows));
    tcase_add_test(tcase, versions_of_binaries);
    return ek_test_run("rehearse steps", tcase);
}
