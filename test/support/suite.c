/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/suite.h"

#include <stdlib.h>

int ek_test_run_cases(const char *name, TCase *const *cases)
{
    Suite *suite = suite_create(name);
    SRunner *runner = srunner_create(suite);

    for (; *cases; cases++)
        suite_add_tcase(suite, *cases);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
