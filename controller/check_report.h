/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report of `evenkeel check`: a ControlPlane object written for people or for programs.
 *
 * The table is made from the same object that JSON and YAML show and that the controller
 * publishes, so that no form can say something the others do not. Pure.
 */
#ifndef CONTROLLER_CHECK_REPORT_H
#define CONTROLLER_CHECK_REPORT_H

#include "api/buf.h"
#include "api/obj.h"

enum ek_report_format {
    EK_REPORT_TABLE,
    EK_REPORT_JSON,
    EK_REPORT_YAML,
    EK_REPORT_FORMAT_MAX,
};

/* Appends object (a ControlPlane with its status) to out in the format. color: escape sequences
 * in the table. Returns 0, EK_E_LIMIT or EK_E_NOMEM. */
int ek_check_report(const struct ek_obj *object, enum ek_report_format format, bool color,
                    struct ek_buf *out);

#endif
