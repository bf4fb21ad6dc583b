/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plain YAML scalar means, shared by the reader (which value is it) and the writer (must
 * this string be quoted). The rules are those of go-yaml v2's resolver, see api/yaml.h.
 */
#ifndef API_YAML_INTERNAL_H
#define API_YAML_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"

enum ek_yaml_kind {
    EK_YAML_STR,
    EK_YAML_NULL,
    EK_YAML_BOOL,
    EK_YAML_INT,  /* in integer */
    EK_YAML_UINT, /* above INT64_MAX, in natural */
    EK_YAML_REAL, /* may be infinite or no number */
    EK_YAML_TIME, /* a date: read as a string, but quoted when written */
    EK_YAML_KIND_MAX,
};

struct ek_yaml_scalar {
    enum ek_yaml_kind kind;
    bool boolean;
    int64_t integer;
    uint64_t natural;
    double real;
};

/* Numbers of more characters than this are taken for strings. */
#define EK_YAML_NUMBER_MAX 512

/* Resolves plain text. */
struct ek_yaml_scalar ek_yaml_resolve__(struct ek_str text);

/* True for the base 60 numbers of YAML 1.1 ("1:30"): strings to us, but not to every reader. */
bool ek_yaml_is_base60__(struct ek_str text);

#define EK_YAML_REAL_SIZE 32

/* Writes a finite real in the shortest form that reads back as the same number, as Go's 'g' with
 * precision -1 does; returns buf. */
const char *ek_yaml_format_real__(double value, char buf[EK_YAML_REAL_SIZE]);

#endif
