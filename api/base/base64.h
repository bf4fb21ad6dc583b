/* SPDX-License-Identifier: Apache-2.0 */
/* Base64 (RFC 4648, section 4), as Kubernetes writes binary fields in JSON. Pure. */
#ifndef API_BASE_BASE64_H
#define API_BASE_BASE64_H

#include <stddef.h>

/*
 * Decodes text (line ends inside are skipped, as Go's decoder does) into *ret_data, owned and
 * NUL-terminated, of *ret_size bytes. Returns 0 or EK_E_PARSE.
 */
int ek_base64_decode(const char *text, char **ret_data, size_t *ret_size);

/* Writes size bytes, encoded with padding, as EK_BASE64_LEN(size) octets to out; no NUL. */
#define EK_BASE64_LEN(size) (((size) + 2) / 3 * 4)
void ek_base64_write(const void *data, size_t size, char *out);

/* Returns size bytes encoded with padding, owned. Aborts without memory. */
char *ek_base64_encode(const void *data, size_t size);

#endif
