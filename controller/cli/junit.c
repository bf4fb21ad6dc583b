/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cli/junit.h"

#include <string.h>

#include "api/base/map.h"
#include "api/base/quote.h"

#define TEXT_MAX ((size_t)256 << 20)

struct suite {
    char *file; /* owned; the key in the map */
    size_t n, n_failures;
    struct ek_buf cases;
};

struct ek_junit {
    char *name;            /* owned */
    struct suite **suites; /* owned */
    size_t n;
    struct ek_map by_file;
};

struct ek_junit *ek_junit_new(const char *name)
{
    struct ek_junit *junit = ek_xalloc(sizeof *junit);

    junit->name = ek_xstrdup(name);
    ek_map_init(&junit->by_file);
    return junit;
}

void ek_junit_free(struct ek_junit *junit)
{
    if (!junit)
        return;
    for (size_t i = 0; i < junit->n; i++) {
        ek_free(junit->suites[i]->file);
        ek_buf_done(&junit->suites[i]->cases);
        ek_free(junit->suites[i]);
    }
    ek_free(junit->suites);
    ek_map_done(&junit->by_file);
    ek_free(junit->name);
    ek_free(junit);
}

static struct suite *suite_of(struct ek_junit *junit, const char *file)
{
    struct suite *suite = ek_map_get(&junit->by_file, file);

    if (suite)
        return suite;
    suite = ek_xalloc(sizeof *suite);
    suite->file = ek_xstrdup(file);
    ek_buf_init(&suite->cases, TEXT_MAX);
    junit->suites = ek_xrealloc(junit->suites, junit->n + 1, sizeof(struct suite *));
    junit->suites[junit->n++] = suite;
    ek_map_put(&junit->by_file, suite->file, suite);
    return suite;
}

/* Text of an element or an attribute. Line feeds of an attribute would become blanks (XML 1.0,
 * 3.3.3). */
static void put_text(struct ek_buf *out, const char *text)
{
    EK_AUTO(ek_buf) plain;

    ek_buf_init(&plain, TEXT_MAX);
    ek_quote_lines(&plain, ek_str_from(text), "");
    out->failed = out->failed ? out->failed : plain.failed;
    for (const char *p = ek_buf_str(&plain); *p; p++) {
        const char *reference = ek_quote_reference(*p);
        if (reference)
            ek_buf_puts(out, reference);
        else
            ek_buf_append(out, p, 1);
    }
}

static void put_attribute(struct ek_buf *out, const char *name, const char *value)
{
    ek_buf_printf(out, " %s=\"", name);
    put_text(out, value);
    ek_buf_puts(out, "\"");
}

static void put_failure(struct ek_buf *out, const struct ek_junit_case *test)
{
    EK_AUTOFREE char *first = ek_xstrndup(test->failure, strcspn(test->failure, "\n"));

    ek_buf_puts(out, "      <failure");
    put_attribute(out, "type", test->type);
    put_attribute(out, "message", first);
    ek_buf_puts(out, ">");
    put_text(out, test->failure);
    ek_buf_puts(out, "</failure>\n");
}

void ek_junit_add(struct ek_junit *junit, const struct ek_junit_case *test)
{
    struct suite *suite = suite_of(junit, test->file);
    struct ek_buf *out = &suite->cases;

    suite->n++;
    suite->n_failures += test->failure != NULL;
    ek_buf_puts(out, "    <testcase");
    put_attribute(out, "classname", *test->file ? test->file : junit->name);
    put_attribute(out, "name", test->name);
    if (*test->file)
        put_attribute(out, "file", test->file);
    if (test->line)
        ek_buf_printf(out, " line=\"%zu\"", test->line);
    if (!test->failure && !*test->output) {
        ek_buf_puts(out, "/>\n");
        return;
    }
    ek_buf_puts(out, ">\n");
    if (test->failure)
        put_failure(out, test);
    if (*test->output) {
        ek_buf_puts(out, "      <system-out>");
        put_text(out, test->output);
        ek_buf_puts(out, "</system-out>\n");
    }
    ek_buf_puts(out, "    </testcase>\n");
}

static void put_counts(struct ek_buf *out, const char *name, size_t n, size_t n_failures)
{
    put_attribute(out, "name", name);
    ek_buf_printf(out, " tests=\"%zu\" failures=\"%zu\" errors=\"0\"", n, n_failures);
}

int ek_junit_write(const struct ek_junit *junit, struct ek_buf *out)
{
    size_t n = 0, n_failures = 0;

    for (size_t i = 0; i < junit->n; i++) {
        n += junit->suites[i]->n;
        n_failures += junit->suites[i]->n_failures;
    }
    ek_buf_puts(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites");
    put_counts(out, junit->name, n, n_failures);
    ek_buf_puts(out, ">\n");
    for (size_t i = 0; i < junit->n; i++) {
        const struct suite *suite = junit->suites[i];
        ek_buf_puts(out, "  <testsuite");
        put_counts(out, *suite->file ? suite->file : junit->name, suite->n, suite->n_failures);
        ek_buf_puts(out, ">\n");
        if (suite->cases.failed)
            return suite->cases.failed;
        ek_buf_append(out, suite->cases.data, suite->cases.len);
        ek_buf_puts(out, "  </testsuite>\n");
    }
    return ek_buf_puts(out, "</testsuites>\n");
}
