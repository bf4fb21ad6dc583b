/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a rehearsal reads of servers that it does not trust. The input is lines: each is a flag of a
 * manifest and a line of a log; the whole is a key of etcd, a document of discovery and an object
 * with conditions.
 */
#include <string.h>

#include "api/obj.h"
#include "reconcilers/rehearse/conditions.h"
#include "reconcilers/rehearse/copy.h"
#include "reconcilers/rehearse/encryption.h"
#include "reconcilers/rehearse/flags.h"
#include "reconcilers/rehearse/log.h"
#include "reconcilers/rehearse/remote.h"
#include "reconcilers/rehearse/report.h"
#include "reconcilers/rehearse/stored.h"
#include "reconcilers/rehearse/view.h"
#include "test/fuzz/fuzz.h"

#define ARENA_MAX ((size_t)256 << 20)
#define ARGS_MAX  2000

/* What is kept of a log is printable, and bounded. */
static void check_log(const char *text, size_t size)
{
    static struct ek_rehearse_log log;

    memset(&log, 0, sizeof log);
    ek_rehearse_log_feed(&log, text, size);
    ek_rehearse_log_end(&log);
    for (size_t i = 0; ek_rehearse_log_line(&log, i); i++)
        for (const char *p = ek_rehearse_log_line(&log, i); *p; p++)
            fuzz_require((unsigned char)*p >= ' ');
    fuzz_require(strlen(log.refusal) < sizeof log.refusal);
}

/* Dropping ends, and takes something away each time. */
static void check_flags(char *text, struct ek_arena *arena)
{
    const char *args[ARGS_MAX];
    struct ek_rehearse_flags flags;
    size_t n = 0;
    char *save = NULL;

    for (char *p = strtok_r(text, "\n", &save); p && n < ARGS_MAX; p = strtok_r(NULL, "\n", &save))
        args[n++] = p;
    ek_rehearse_flags_make(args, n, arena, &flags);
    fuzz_require(flags.n <= n);
    for (size_t i = 0; i < n && i < 50; i++)
        ek_rehearse_flags_drop(&flags, args[i]);
    ek_rehearse_flags_strip(&flags);
    fuzz_require(!ek_rehearse_flags_strip(&flags));
}

/* A key stays below its folder, and a copy is one line. */
static void check_copy(yyjson_val *root)
{
    static const struct ek_rehearse_type type = {
        .group = "", .version = "v1", .resource = "secrets", .kind = "Secret", .namespaced = true};
    char key[EK_REHEARSE_KEY_SIZE];
    size_t slashes = 0;

    if (ek_rehearse_copy_key("/registry", "secrets", true, root, key)) {
        for (const char *p = key; *p; p++)
            slashes += *p == '/';
        fuzz_require(slashes == 4 && !strchr(key, '\n'));
    }
    EK_AUTOFREE char *text = root ? ek_rehearse_copy_text(&type, root, false) : NULL;
    fuzz_require(!text || !strchr(text, '\n'));
}

static void check_document(const char *text, size_t size, struct ek_arena *arena)
{
    yyjson_doc *doc = ek_json_parse(text, size, NULL);
    yyjson_val *root = yyjson_doc_get_root(doc);
    struct ek_rehearse_view view = {.arena = arena}, again = {.arena = arena};
    struct ek_rehearse_differences differences;
    enum ek_rehearse_severity severity;

    fuzz_require(ek_rehearse_view_add(&view, root) == ek_rehearse_view_add(&again, root));
    ek_rehearse_view_sort(&view);
    ek_rehearse_view_sort(&again);
    ek_rehearse_view_compare(&view, &again, NULL, arena, &differences);
    fuzz_require(differences.n == 0);
    size_t removed;
    EK_AUTOFREE char *encryption = ek_rehearse_encryption(root, &removed);
    fuzz_require(encryption != NULL || !root || !yyjson_is_arr(yyjson_obj_get(root, "resources")) ||
                 yyjson_arr_size(yyjson_obj_get(root, "resources")));
    check_copy(root);
    char remote[EK_REHEARSE_REMOTE_SIZE];
    if (ek_rehearse_remote_of(root, remote))
        fuzz_require(strchr(remote, '/') != NULL);
    const char *conditions = ek_rehearse_conditions(root, arena);
    ek_rehearse_conditions_changed(text, conditions, arena, &severity);
    ek_rehearse_conditions_changed(conditions, text, arena, &severity);
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ek_arena *arena = ek_arena_new(ARENA_MAX);
    struct ek_rehearse_report report = {.arena = arena};
    EK_AUTOFREE char *text = ek_xstrndup((const char *)data, size);
    char folder[EK_REHEARSE_FOLDER_SIZE];

    check_log(text, strlen(text));
    if (ek_rehearse_folder_of_key("/registry", text, folder))
        fuzz_require(ek_rehearse_name_of_key("/registry", folder, text) != NULL ||
                     text[strlen(text) - 1] == '/');
    ek_rehearse_report_add(&report, 0, EK_REHEARSE_ERROR, "rule", text, text);
    fuzz_require(!strchr(report.list[0].message, '\n'));
    ek_rehearse_report_done(&report);
    check_document(text, strlen(text), arena);
    check_flags(text, arena);
    ek_arena_free(arena);
    return 0;
}
