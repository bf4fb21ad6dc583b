/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of `evenkeel check` for people: tables made of a ControlPlane object.
 *
 * They are made from the same object that JSON and YAML show and that the controller publishes, so
 * that no form can say something the others do not. Pure.
 */
#ifndef CONTROLLER_CHECK_REPORT_H
#define CONTROLLER_CHECK_REPORT_H

#include "api/buf.h"
#include "api/obj.h"

/* Appends the status of root (a ControlPlane) as tables to out, with colours when color is true;
 * ctx is not used. Returns 0 or the buffer's error. An ek_print_table_fn. */
int ek_check_report(void *ctx, yyjson_val *root, bool color, struct ek_buf *out);

#endif
