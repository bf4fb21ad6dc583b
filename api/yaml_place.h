/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where in a YAML or JSON text a value stands, for messages about files. The reader (api/yaml.h)
 * keeps no places, because almost no value needs one. Pure; one thread for each index.
 */
#ifndef API_YAML_PLACE_H
#define API_YAML_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "api/base/mem.h"

struct ek_yaml_places;

/* Returns an owned index of the values in the first document of len octets of text, which is read
 * once. The index ends where the text is no YAML, and after 2 million values. */
struct ek_yaml_places *ek_yaml_places_new(const char *text, size_t len);
void ek_yaml_places_free(struct ek_yaml_places *places);
EK_CLEANUP_PTR(ek_yaml_places, ek_yaml_places_free)

/*
 * The line (from 1) of the value at a path: member names between dots, "[3]" for an item of a list,
 * "[name]" for a member whose name has dots. The line is that of the member's name, or of the item.
 * Where the path ends early (an alias, a merge), the line of the last part that is there; 1 where
 * nothing is. Lines end with LF, CR LF or CR, as editors show them (YAML 1.2, 5.4), in UTF-16 also
 * with the other line breaks of YAML 1.1. Paths in the order of the text take linear time together.
 */
size_t ek_yaml_line(struct ek_yaml_places *places, const char *path);

/*
 * Finds the octets of the scalar at a path, from *ret_start of the text, with quotes, tag and
 * anchor. False, with nothing returned, where the place is not that of one value alone: no scalar,
 * a name that stands twice, a document with aliases or not read to its end, a text in UTF-16.
 */
bool ek_yaml_octets(struct ek_yaml_places *places, const char *path, size_t *ret_start,
                    size_t *ret_len);

#endif
