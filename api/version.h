/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kubernetes version strings: parse, compare, print, as apimachinery's pkg/util/version does.
 *
 * Two forms exist. Generic: optional blanks and one "v", two or more numeric parts, anything after
 * them ignored. Semantic: exactly three parts without leading zeros, with pre-release and build.
 * EK_VERSION_ANY takes what is semantic as semantic and the rest as generic. Comparing follows
 * apimachinery/pkg/util/version/version.go: compareInternal: numeric parts with missing ones as 0,
 * pre-release only where both sides are semantic, build metadata never.
 *
 * A struct ek_version is a view of the text that it was parsed from: it borrows its parts, so the
 * text must live as long, and so neither the number of parts nor the length of a pre-release needs
 * a limit. Policy needs major and minor only: that is struct ek_minor, a plain value where "not
 * known" is one of the values. Everything here is pure and, the texts for people apart, allocates
 * nothing; any thread. LeaseCandidates follow other rules: see api/semver.h.
 */
#ifndef API_VERSION_H
#define API_VERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/base/buf.h"
#include "api/base/err.h"

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

/* v moved by n minors, never below minor 0 (apimachinery's OffsetMinor: upwards it wraps at 2^64);
 * unknown stays unknown. */
struct ek_minor ek_minor_offset(struct ek_minor v, int n);

/* "1.36", or "" for unknown; returns buf. */
const char *ek_minor_format(struct ek_minor v, char buf[EK_MINOR_SIZE]);

/* Which rules a text is read by. */
enum ek_version_form {
    EK_VERSION_GENERIC,  /* apimachinery's ParseGeneric */
    EK_VERSION_SEMANTIC, /* ParseSemantic */
    EK_VERSION_ANY,      /* Parse: semantic where possible, else generic */
    EK_VERSION_FORM_MAX,
};

struct ek_version {
    struct ek_str numbers;        /* "1.36.2": the parts as written, borrowed */
    size_t n_components;          /* how many there are, at least 2 */
    uint64_t major, minor, patch; /* the first three; patch is 0 where there are but two */
    bool semantic;                /* read by the semantic rules */
    struct ek_str pre_release;    /* "alpha.2", borrowed; empty where absent or not semantic */
    struct ek_str build;          /* "k3s1", borrowed; empty where absent or not semantic */
};

/*
 * Reads s (which may hold any bytes) by the rules of form into *ret_version. Returns 0 or
 * EK_E_PARSE; ek_version_explain then gives the reason. Every part must fit 64 bits without a sign.
 */
int ek_version_parse(struct ek_str s, enum ek_version_form form, struct ek_version *ret_version);

/*
 * Appends to out why s does not parse, in the words of apimachinery (the text quotes s, so it is
 * as unbounded as s); nothing when it does parse. Returns 0 or the error of out.
 */
int ek_version_explain(struct ek_str s, enum ek_version_form form, struct ek_buf *out);

/*
 * Takes the next numeric part off *rest, which starts as a copy of version->numbers; false when
 * none is left. Walks all parts of a version, however many there are.
 */
bool ek_version_next_component(struct ek_str *rest, uint64_t *ret_value);

/* -1, 0, 1 for a below, equal to, above b (apimachinery's comparison; AtLeast is >= 0). */
int ek_version_cmp(const struct ek_version *a, const struct ek_version *b);

/*
 * Compares a with a text that is read by the rules a was read by (apimachinery's Compare) into
 * *ret_sign. Returns 0 or EK_E_PARSE when b does not parse that way.
 */
int ek_version_cmp_text(const struct ek_version *a, struct ek_str b, int *ret_sign);

/* Appends the version as apimachinery prints it: without "v" and without what was ignored.
 * Returns 0 or the error of out. */
int ek_version_format(const struct ek_version *version, struct ek_buf *out);

/* Reads digits (one or more, nothing else) into *ret_value; false when they are none or exceed 64
 * bits. Any number of leading zeros is fine. */
bool ek_version_digits(struct ek_str digits, uint64_t *ret_value);

#endif
