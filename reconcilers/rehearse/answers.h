/* SPDX-License-Identifier: Apache-2.0 */
/* The meaning of an answer of the rehearsed server for an object or a kind. Pure. */
#ifndef RECONCILERS_REHEARSE_ANSWERS_H
#define RECONCILERS_REHEARSE_ANSWERS_H

#include "api/base/err.h"
#include "reconcilers/rehearse/report.h"

/* The request. */
enum ek_rehearse_request {
    EK_REHEARSE_READ,   /* a list, or one object */
    EK_REHEARSE_UPDATE, /* the unchanged object, as a dry run or not */
    EK_REHEARSE_CREATE, /* the object under another name, as a dry run */
};

enum ek_rehearse_answer {
    EK_REHEARSE_FINE,        /* success, or the object was deleted: no finding */
    EK_REHEARSE_CHANGED,     /* a conflict: read the object and repeat the request */
    EK_REHEARSE_ENCRYPTED,   /* the server has no key for what is stored */
    EK_REHEARSE_WEBHOOK,     /* a conversion webhook would be called, and cannot be */
    EK_REHEARSE_UNDECODABLE, /* what is stored cannot be decoded or converted */
    EK_REHEARSE_REFUSED,     /* the update is refused */
    EK_REHEARSE_DENIED,      /* an admission policy denies the update */
    EK_REHEARSE_NOT_MADE,    /* the object is refused when it is created again */
    EK_REHEARSE_SILENT,      /* no answer, an overload, or another error */
    EK_REHEARSE_ANSWER_MAX,
};

/* err is NULL, or has code 0, for a success. */
enum ek_rehearse_answer ek_rehearse_answer_of(enum ek_rehearse_request request,
                                              const struct ek_err *err);

/* The limit with which a page of a list is requested again after err, where limit was the limit
 * before: a lower one if the answer was too large or too late. 0: do not request the page again. */
unsigned ek_rehearse_page_limit(unsigned limit, const struct ek_err *err);

/* The rule of findings ("undecodable") and their severity; "" for FINE and CHANGED. */
const char *ek_rehearse_answer_rule(enum ek_rehearse_answer answer);
enum ek_rehearse_severity ek_rehearse_answer_severity(enum ek_rehearse_answer answer);

#endif
