/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that Kubernetes allows, and its messages about other names (apimachinery,
 * pkg/api/validate/content and pkg/util/validation). Users know the texts from kubectl and search
 * for them. Pure; any thread.
 */
#ifndef API_NAMES_H
#define API_NAMES_H

#include <stddef.h>

#include "api/base/buf.h"

enum ek_name_format {
    EK_NAME_DNS1123_LABEL,     /* "web-1": most names in a namespace */
    EK_NAME_DNS1123_SUBDOMAIN, /* "example.com": most names of cluster-scoped objects */
    EK_NAME_DNS1035_LABEL,     /* as a label, but starting with a letter: Services */
    EK_NAME_LABEL_KEY,         /* "example.com/My.Name", also called qualified name */
    EK_NAME_LABEL_VALUE,       /* "", "My_Value" */
    EK_NAME_PATH_SEGMENT,      /* anything that can stand between two slashes of a URL */
    EK_NAME_FORMAT_MAX,
};

#define EK_NAME_ERRORS_MAX 4

/* Checks s; fills ret with what is wrong (constant texts, "must be no more than 63 bytes") and
 * returns how many, 0 for a good name. */
size_t ek_name_check(enum ek_name_format format, struct ek_str s,
                     const char *ret[EK_NAME_ERRORS_MAX]);

#endif
