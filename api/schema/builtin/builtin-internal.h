/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations of the constants that the generator (main.c) writes and builtin.c reads: images and
 * resources.
 */
#ifndef API_SCHEMA_BUILTIN_INTERNAL_H
#define API_SCHEMA_BUILTIN_INTERNAL_H

#include "api/schema/builtin.h"

#define EK_BUILTIN_VERSIONS (EK_BUILTIN_MINOR_MAX - EK_BUILTIN_MINOR_MIN + 1)

struct ek_builtin_image {
    const uint64_t *image;
    size_t size; /* in octets */
};

/* One per version, from EK_BUILTIN_MINOR_MIN on. */
extern const struct ek_builtin_image ek_builtin_images[EK_BUILTIN_VERSIONS];
extern const struct ek_builtin_resource ek_builtin_resource_table[];
extern const size_t ek_builtin_resource_count;

#endif
