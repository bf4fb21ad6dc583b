/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "test/vectors/vectors.h"

static const struct ek_vectors_subject *const subjects[] = {
    &ek_vectors_versions,         &ek_vectors_cel,
    &ek_vectors_mutation,         &ek_vectors_policy_validation,
    &ek_vectors_validating,       &ek_vectors_definitions,
    &ek_vectors_discovery_merge,  &ek_vectors_discovery_order,
    &ek_vectors_discovery_ingest, &ek_vectors_peer_leases,
    &ek_vectors_failforward,      &ek_vectors_feature_gates,
    &ek_vectors_crd_decode,       &ek_vectors_decode};

static const struct ek_vectors_subject *find_subject(const char *name)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(subjects); i++)
        if (!strcmp(subjects[i]->name, name))
            return subjects[i];
    return NULL;
}

static const char *answer_case(const struct ek_vectors_subject *subject, void *state,
                               yyjson_val *record)
{
    if (subject->next)
        return subject->next(state, record);
    yyjson_val *id = yyjson_obj_get(record, "id");
    if (!yyjson_is_str(id) && !subject->some_without_id)
        return "no member \"id\"";
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *answer = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, answer);
    if (id)
        yyjson_mut_obj_add_val(doc, answer, "id", yyjson_val_mut_copy(doc, id));
    const char *problem = NULL;
    if (subject->answer(state, record, doc, answer)) {
        char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL);
        puts(text ? text : "null");
        free(text);
    } else {
        problem = "not a case of this subject";
    }
    yyjson_mut_doc_free(doc);
    return problem;
}

static int answer_file(const struct ek_vectors_subject *subject, void *state, const char *path,
                       FILE *file)
{
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t len;
    int status = 0;

    while ((len = getline(&line, &cap, file)) >= 0) {
        struct ek_err err = {0};
        number++;
        yyjson_doc *doc = ek_json_parse(line, (size_t)len, &err);
        const char *problem =
            doc ? answer_case(subject, state, yyjson_doc_get_root(doc)) : err.message;
        if (problem) {
            fprintf(stderr, "ek-vectors: %s line %zu: %s\n", path, number, problem);
            status = 1;
        }
        yyjson_doc_free(doc);
    }
    if (ferror(file)) {
        fprintf(stderr, "ek-vectors: %s: %s\n", path, strerror(errno));
        status = 1;
    }
    free(line);
    return status;
}

static int usage(void)
{
    fputs("usage: ek-vectors SUBJECT [OPTIONS] FILE, where SUBJECT is one of:\n", stderr);
    for (size_t i = 0; i < EK_ARRAY_SIZE(subjects); i++)
        fprintf(stderr, "  %s %s\n", subjects[i]->name, subjects[i]->options);
    return 1;
}

static int run(const struct ek_vectors_subject *subject, void *state, const char *path)
{
    FILE *file = strcmp(path, "-") ? fopen(path, "r") : stdin;

    if (!file) {
        fprintf(stderr, "ek-vectors: %s: %s\n", path, strerror(errno));
        return 1;
    }
    int status = answer_file(subject, state, path, file);
    fclose(file);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "ek-vectors: writing the answers: %s\n", strerror(errno));
        status = 1;
    }
    return status;
}

int main(int argc, char **argv)
{
    const struct ek_vectors_subject *subject = argc >= 3 ? find_subject(argv[1]) : NULL;
    void *state = NULL;

    if (!subject || (!subject->open && argc > 3))
        return usage();
    if (subject->open) {
        state = subject->open(argv + 2, argc - 3);
        if (!state)
            return 1;
    }
    int status = run(subject, state, argv[argc - 1]);
    if (subject->close)
        subject->close(state);
    return status;
}
