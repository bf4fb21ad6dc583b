/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes version strings: parse, compare, print, as apimachinery's pkg/util/version does.
 *
 * Two forms exist. Generic: optional blanks and one "v", two or more numeric parts, anything after
 * them ignored. Semantic: exactly three parts without leading zeros, with pre-release and build.
 * ek_version_parse takes what is semantic as semantic and the rest as generic. Comparing follows
 * the skew sheet, section 3.4: numeric parts with missing ones as 0, pre-release only where both
 * sides are semantic, build metadata never.
 *
 * Policy needs major and minor only: that is struct ek_minor, where "not known" is a value.
 * Everything here is pure and allocates nothing.
 */
#ifndef API_VERSION_H
#define API_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/err.h"

/* A major.minor pair; unknown compares as nothing and prints as "". */
struct ek_minor {
    bool known;
    uint64_t major, minor;
};

#define EK_MINOR_UNKNOWN   ((struct ek_minor){false, 0, 0})
#define EK_MINOR(maj, min) ((struct ek_minor){true, (maj), (min)})
#define EK_MINOR_SIZE      48 /* holds any printed ek_minor */

/*
 * Reads major.minor out of any version string a server, kubelet or vendor sends ("v1.36.2-gke.1",
 * "1.35", "v1.34.2+k3s1"), by the generic rule; unknown when it does not parse ("", "unknown").
 */
struct ek_minor ek_minor_parse(const char *s);

/* Reads the separate major and minor strings of /version, taking leading digits only, because
 * older servers and vendors send "22+"; unknown when either has none. */
struct ek_minor ek_minor_from_fields(const char *major, const char *minor);

/* <0, 0, >0 for a below, equal to, above b; both must be known. */
int ek_minor_cmp(struct ek_minor a, struct ek_minor b);

/* v moved by n minors, never below minor 0 (apimachinery's OffsetMinor); unknown stays unknown. */
struct ek_minor ek_minor_offset(struct ek_minor v, int n);

/* "1.36", or "" for unknown; returns buf. */
const char *ek_minor_format(struct ek_minor v, char buf[EK_MINOR_SIZE]);

#endif
