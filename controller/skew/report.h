/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of a ControlPlane for people: the tables and the page of `evenkeel check`, and the
 * page of `evenkeel run`.
 *
 * They are made from the same object that JSON and YAML show and that the controller publishes, so
 * that no form can say something the others do not. Everything in the object is escaped. Pure.
 */
#ifndef CONTROLLER_SKEW_REPORT_H
#define CONTROLLER_SKEW_REPORT_H

#include "api/base/buf.h"
#include "api/obj.h"
#include "controller/cli/output.h"

/*
 * What a report says first of a status: the verdict on the skew, "Supported"; or, where Ready is
 * not True for a reason that is not the skew's, Ready: "Not ready (PeerUnreachable)", and
 * "Readiness unknown (NotTrusted)" where it is Unknown.
 */
struct ek_skew_headline {
    char *words; /* owned */
    enum ek_cell_style style;
    const char
        *why; /* the message of Ready, borrowed from the status; "" where words are a verdict */
};

/* Makes the headline of a status (NULL: "Unknown"); free it by ek_skew_headline_done. */
struct ek_skew_headline ek_skew_headline(yyjson_val *status);
void ek_skew_headline_done(struct ek_skew_headline *headline);
EK_CLEANUP(ek_skew_headline, ek_skew_headline_done)

/* Appends the status of root (a ControlPlane) as tables to out, with colours when color is true;
 * ctx is not used. Returns 0 or the buffer's error. An ek_print_table_fn. */
int ek_skew_report_tables(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* The same as an HTML page (controller/page); ctx is the time for the footer, an int64_t in
 * milliseconds since the epoch. An ek_print_table_fn. */
int ek_skew_report_html(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

/* The same page with further parts: more(ctx, out) is called before the footer; NULL: there are
 * none. root may be NULL or without a status: the page says so. at_ms is the time for the footer.
 * Returns 0 or the buffer's error. */
int ek_skew_report_page(yyjson_val *root, int64_t at_ms,
                        void (*more)(void *ctx, struct ek_buf *out), void *ctx, struct ek_buf *out);

#endif
