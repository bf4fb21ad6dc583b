/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions of one evaluation: those of constants belong to the program, others are
 * compiled on first use, and the few used last are kept until its end.
 */
#include <string.h>

#include "api/cel/eval/eval.h"
#include "api/cel/eval/flat.h"
#include "api/cel/values/value.h"

struct ek_cel_regex_kept {
    struct {
        struct ek_cel_regex *regex; /* owned */
        struct ek_cel_val pattern;
    } list[EK_CEL_EVAL_REGEXES];
    uint32_t next;
    size_t budget; /* octets that more may take */
};

static const struct ek_cel_regex *compile(struct ek_cel_eval *e, const struct ek_cel_val *pattern,
                                          struct ek_cel_val *ret_error)
{
    struct ek_cel_regex_kept *kept = ek_cel_frame_of(e)->regexes;
    struct ek_err err;
    struct ek_cel_regex *regex =
        ek_cel_regex_new_within(pattern->s, pattern->n, &kept->budget, &err);
    uint32_t at = kept->next++ % EK_CEL_EVAL_REGEXES;

    if (!regex) {
        if (err.code == EK_E_NOMEM || kept->budget == 0)
            *ret_error = ek_cel_no_memory(e);
        else
            *ret_error = ek_cel_fail(e, "%s", err.message);
        return NULL;
    }
    ek_cel_regex_free(kept->list[at].regex);
    kept->list[at].regex = regex;
    kept->list[at].pattern = *pattern;
    return regex;
}

const struct ek_cel_regex *ek_cel_regex_of(struct ek_cel_eval *e, const struct ek_cel_val *pattern,
                                           struct ek_cel_val *ret_error)
{
    if (ek_cel_frame_of(e)->call && ek_cel_frame_of(e)->call->regex &&
        ek_cel_frame_of(e)->call->regex_text == pattern->s)
        return ek_cel_frame_of(e)->call->regex;
    if (!ek_cel_frame_of(e)->regexes) {
        ek_cel_frame_of(e)->regexes = ek_cel_alloc(e, sizeof *ek_cel_frame_of(e)->regexes);
        if (!ek_cel_frame_of(e)->regexes) {
            *ret_error = ek_cel_no_memory(e);
            return NULL;
        }
        memset(ek_cel_frame_of(e)->regexes, 0, sizeof *ek_cel_frame_of(e)->regexes);
        ek_cel_frame_of(e)->regexes->budget = EK_CEL_REGEX_BUDGET;
    }
    for (uint32_t i = 0; i < EK_CEL_EVAL_REGEXES; i++)
        if (ek_cel_frame_of(e)->regexes->list[i].regex &&
            ek_cel_same_octets(&ek_cel_frame_of(e)->regexes->list[i].pattern, pattern))
            return ek_cel_frame_of(e)->regexes->list[i].regex;
    return compile(e, pattern, ret_error);
}

void ek_cel_eval_release(struct ek_cel_frame *frame)
{
    for (uint32_t i = 0; frame->regexes && i < EK_CEL_EVAL_REGEXES; i++)
        ek_cel_regex_free(frame->regexes->list[i].regex);
    frame->regexes = NULL;
}
