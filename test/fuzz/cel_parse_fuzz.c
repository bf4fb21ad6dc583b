/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CEL texts, with a first octet that chooses options. What parses has a tree that keeps its
 * promises, and parses the same again; what doesn't has issues whose places are in the text.
 */
#include <string.h>

#include "api/cel/syntax/macro.h"
#include "api/cel/syntax/parse.h"
#include "test/fuzz/fuzz.h"
#include "test/support/cel_tree.h"

#define ARENA_LIMIT ((size_t)16 * 1024 * 1024)
#define OUT_MAX     ((size_t)256 * 1024)
#define ISSUES_MAX  ((size_t)64 * 1024 * 1024)

static const struct ek_cel_macro *find_macro(void *arg, const char *name, bool member, uint32_t n)
{
    (void)arg;
    for (const struct ek_cel_macro *m = ek_cel_standard_macros; m->name; m++)
        if (m->member == member && (uint32_t)m->args == n && strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

static void check_issues(const struct ek_cel_issues *issues, const char *text, size_t len)
{
    struct ek_buf out;

    ek_buf_init(&out, ISSUES_MAX);
    fuzz_require(issues->len > 0 && issues->len <= EK_CEL_ISSUES_MAX);
    for (size_t i = 0; i < issues->len; i++) {
        const struct ek_cel_issue *issue = &issues->list[i];
        fuzz_require(issue->position == EK_CEL_NOWHERE || issue->position <= len);
        fuzz_require((issue->position == EK_CEL_NOWHERE) == (issue->line == 0));
        fuzz_require(*issue->message && !strpbrk(issue->message, "\r\n"));
    }
    fuzz_require(ek_cel_issues_format(issues, text, len, &out) == 0);
    ek_buf_done(&out);
}

/* Parses text; appends its tree to out and returns 0, or what parsing did. */
static int parse(const char *text, size_t len, const struct ek_cel_parse_options *options,
                 size_t limit, struct ek_buf *out)
{
    struct ek_arena *arena = ek_arena_new(limit);
    EK_AUTO(ek_cel_issues) issues = {0};
    struct ek_cel_ast ast = {0};

    int rc = ek_cel_parse(text, len, options, arena, &ast, &issues);
    fuzz_require(rc == 0 || rc == EK_E_PARSE || rc == EK_E_LIMIT || rc == EK_E_NOMEM);
    if (rc == 0) {
        fuzz_require(ast.root && ast.depth > 0 && issues.len == 0);
        test_cel_tree(ast.root, out);
    } else if (rc != EK_E_NOMEM) {
        check_issues(&issues, text, len);
    }
    ek_arena_free(arena);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_buf first, second;

    if (size == 0)
        return 0;
    const struct ek_cel_parse_options options = {
        .find_macro = *data & 1 ? NULL : find_macro,
        .optional_syntax = !(*data & 2),
        .backticks = !(*data & 4),
    };
    const char *text = (const char *)data + 1;
    ek_buf_init(&first, OUT_MAX);
    ek_buf_init(&second, OUT_MAX);
    int rc = parse(text, size - 1, &options, ARENA_LIMIT, &first);
    fuzz_require(parse(text, size - 1, &options, ARENA_LIMIT, &second) == rc);
    fuzz_require(strcmp(ek_buf_str(&first), ek_buf_str(&second)) == 0);
    /* Memory may end anywhere. */
    parse(text, size - 1, &options, (size_t)*data * 32, &second);
    ek_buf_done(&first);
    ek_buf_done(&second);
    return 0;
}
