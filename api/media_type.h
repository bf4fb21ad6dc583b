/* SPDX-License-Identifier: Apache-2.0 */
/* Content-Type fields. Pure; any thread. */
#ifndef API_MEDIA_TYPE_H
#define API_MEDIA_TYPE_H

#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Whether a Content-Type (NULL when absent) names the type, with or without parameters. Types are
 * compared without case (RFC 9110, section 8.3.1). */
static inline bool ek_media_type_is(const char *content_type, const char *type)
{
    size_t len = strlen(type);

    return content_type && !strncasecmp(content_type, type, len) &&
           strchr("; ", content_type[len]) != NULL;
}

#endif
