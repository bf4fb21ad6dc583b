/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Semantic versions as coordinated leader election reads them out of LeaseCandidates, and as CEL
 * expressions do.
 *
 * spec.binaryVersion and spec.emulationVersion of a LeaseCandidate go through the parser of
 * blang/semver v4, not through apimachinery's (Kubernetes 1.36,
 * pkg/apis/coordination/validation/validation.go: ValidateLeaseCandidateSpec), and the two
 * disagree: here "v1.36.2" is an error in the strict form, "1.36" is one too, and the tolerant form
 * takes blanks, a "v", leading zeros and missing parts. CEL's semver() reads the strict form, and a
 * tolerant one of its own. It is not a general version type: use api/version.h for everything else.
 *
 * A struct ek_semver borrows from the text it was parsed from. Pure; any thread.
 */
#ifndef API_SEMVER_H
#define API_SEMVER_H

#include <stdbool.h>
#include <stdint.h>

#include "api/base/buf.h"

enum ek_semver_form {
    EK_SEMVER_STRICT,   /* Parse: the API server's validation */
    EK_SEMVER_TOLERANT, /* ParseTolerant */
    EK_SEMVER_NORMAL,   /* CEL's semver(text, true): tolerant, but of no blanks */
    EK_SEMVER_FORM_MAX,
};

struct ek_semver {
    uint64_t major, minor, patch;
    struct ek_str pre_release; /* "alpha.1", borrowed; empty where absent */
    struct ek_str build;       /* borrowed; empty where absent */
};

/* Reads s into *ret_version. Returns 0 or EK_E_PARSE; ek_semver_explain then gives the reason. */
int ek_semver_parse(struct ek_str s, enum ek_semver_form form, struct ek_semver *ret_version);

/* Appends to out why s does not parse, in the words of that parser; nothing when it does. Returns
 * 0 or the error of out. */
int ek_semver_explain(struct ek_str s, enum ek_semver_form form, struct ek_buf *out);

/* -1, 0 or 1 by precedence, which the build does not count for (semver.org, section 11). */
int ek_semver_compare(const struct ek_semver *a, const struct ek_semver *b);

/*
 * Whether version is within range, "<1.2.0 || >=2.0.0 !2.1.x", as blang/semver v4 reads ranges
 * (range.go:ParseRange): the skipRange of operator catalogs. *ret_within is untouched on error.
 * EK_E_PARSE where the range does not parse, and for what the parser of Go takes by accident: a
 * part of more than EK_SEMVER_RANGE_PART_MAX octets or with octets that are no ASCII, and nothing
 * between two "||".
 */
#define EK_SEMVER_RANGE_PART_MAX 255
int ek_semver_within(struct ek_str range, const struct ek_semver *version, bool *ret_within);

/* Appends the canonical form, "1.36.0-alpha.1+abc". Returns 0 or the error of out. */
int ek_semver_format(const struct ek_semver *version, struct ek_buf *out);

#endif
