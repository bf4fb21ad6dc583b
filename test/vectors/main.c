/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/mem.h"
#include "api/obj.h"
#include "test/vectors/vectors.h"

static const struct {
    const char *name;
    ek_vectors_fn fn;
} subjects[] = {
    {"versions", ek_vectors_versions},
};

static ek_vectors_fn find_subject(const char *name)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(subjects); i++)
        if (!strcmp(subjects[i].name, name))
            return subjects[i].fn;
    return NULL;
}

static const char *answer_case(ek_vectors_fn fn, yyjson_val *record)
{
    yyjson_val *id = yyjson_obj_get(record, "id");
    if (!yyjson_is_str(id))
        return "no member \"id\"";
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *answer = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, answer);
    yyjson_mut_obj_add_val(doc, answer, "id", yyjson_val_mut_copy(doc, id));
    const char *problem = NULL;
    if (fn(record, doc, answer)) {
        char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL);
        puts(text ? text : "null");
        free(text);
    } else {
        problem = "not a case of this subject";
    }
    yyjson_mut_doc_free(doc);
    return problem;
}

static int answer_file(ek_vectors_fn fn, const char *path, FILE *file)
{
    char *line = NULL;
    size_t cap = 0, number = 0;
    ssize_t len;
    int status = 0;

    while ((len = getline(&line, &cap, file)) >= 0) {
        struct ek_err err = {0};
        number++;
        yyjson_doc *doc = ek_json_parse(line, (size_t)len, &err);
        const char *problem = doc ? answer_case(fn, yyjson_doc_get_root(doc)) : err.message;
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

int main(int argc, char **argv)
{
    ek_vectors_fn fn = argc == 3 ? find_subject(argv[1]) : NULL;
    if (!fn) {
        fputs("usage: ek-vectors SUBJECT FILE, where SUBJECT is one of:", stderr);
        for (size_t i = 0; i < EK_ARRAY_SIZE(subjects); i++)
            fprintf(stderr, " %s", subjects[i].name);
        fputs("\n", stderr);
        return 1;
    }
    FILE *file = fopen(argv[2], "r");
    if (!file) {
        fprintf(stderr, "ek-vectors: %s: %s\n", argv[2], strerror(errno));
        return 1;
    }
    int status = answer_file(fn, argv[2], file);
    fclose(file);
    if (fflush(stdout) != 0) {
        fprintf(stderr, "ek-vectors: writing the answers: %s\n", strerror(errno));
        status = 1;
    }
    return status;
}
