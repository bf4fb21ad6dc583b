/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/answers.h"

#include <string.h>

/* Statuses are HTTP's; texts are those of apiserver at 1.36: storage/value/transformer.go, and
 * value/encrypt/{identity,aes,envelope}; apiextensions-apiserver
 * pkg/apiserver/conversion/webhook_converter.go ("conversion webhook for");
 * admission/plugin/policy/validating/dispatcher.go ("ValidatingAdmissionPolicy '... denied"). */
static enum ek_rehearse_answer of_text(const char *text)
{
    static const char *const without_a_key[] = {"identity transformer tried to read encrypted data",
                                                "no matching prefix found",
                                                "no matching key was found for the provided",
                                                "failed to decrypt DEK", "unable to transform key"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(without_a_key); i++)
        if (strstr(text, without_a_key[i]))
            return EK_REHEARSE_ENCRYPTED;
    return strstr(text, "conversion webhook for") ? EK_REHEARSE_WEBHOOK : EK_REHEARSE_FINE;
}

/* A namespace that is being deleted refuses what is created in it, whatever the object is. */
static bool is_terminating(const struct ek_err *err)
{
    return strstr(err->message, "because it is being terminated") != NULL;
}

static enum ek_rehearse_answer of_write(enum ek_rehearse_request request, const struct ek_err *err)
{
    bool denied = strstr(err->message, "AdmissionPolicy '") && strstr(err->message, "denied");

    if (err->http_status == 404 || is_terminating(err))
        return EK_REHEARSE_FINE;
    if (err->http_status == 409)
        return request == EK_REHEARSE_UPDATE ? EK_REHEARSE_CHANGED : EK_REHEARSE_FINE;
    if (err->http_status == 429 || err->http_status < 400 || err->http_status > 500)
        return EK_REHEARSE_SILENT;
    if (denied)
        return EK_REHEARSE_DENIED;
    return request == EK_REHEARSE_CREATE ? EK_REHEARSE_NOT_MADE : EK_REHEARSE_REFUSED;
}

enum ek_rehearse_answer ek_rehearse_answer_of(enum ek_rehearse_request request,
                                              const struct ek_err *err)
{
    if (!err || !err->code)
        return EK_REHEARSE_FINE;
    enum ek_rehearse_answer by_text = of_text(err->message);
    if (by_text != EK_REHEARSE_FINE)
        return by_text;
    if (request != EK_REHEARSE_READ)
        return of_write(request, err);
    if (err->http_status == 404)
        return EK_REHEARSE_FINE;
    return err->http_status == 500 ? EK_REHEARSE_UNDECODABLE : EK_REHEARSE_SILENT;
}

unsigned ek_rehearse_page_limit(unsigned limit, const struct ek_err *err)
{
    return err->code == EK_E_LIMIT     ? limit / 2
           : err->code == EK_E_TIMEOUT ? limit / 8 /* each costs the time of a request */
                                       : 0;
}

static const struct {
    const char *rule;
    enum ek_rehearse_severity severity;
} rows[] = {
    [EK_REHEARSE_FINE] = {"", EK_REHEARSE_UNKNOWN},
    [EK_REHEARSE_CHANGED] = {"", EK_REHEARSE_UNKNOWN},
    [EK_REHEARSE_ENCRYPTED] = {"encrypted", EK_REHEARSE_UNKNOWN},
    [EK_REHEARSE_WEBHOOK] = {"conversion-webhook", EK_REHEARSE_UNKNOWN},
    [EK_REHEARSE_UNDECODABLE] = {"undecodable", EK_REHEARSE_ERROR},
    [EK_REHEARSE_REFUSED] = {"update-refused", EK_REHEARSE_ERROR},
    [EK_REHEARSE_DENIED] = {"policy-denied", EK_REHEARSE_ERROR},
    [EK_REHEARSE_NOT_MADE] = {"create-refused", EK_REHEARSE_ERROR},
    [EK_REHEARSE_SILENT] = {"not-answered", EK_REHEARSE_UNKNOWN},
};

const char *ek_rehearse_answer_rule(enum ek_rehearse_answer answer)
{
    return answer < EK_REHEARSE_ANSWER_MAX ? rows[answer].rule : "";
}

enum ek_rehearse_severity ek_rehearse_answer_severity(enum ek_rehearse_answer answer)
{
    return answer < EK_REHEARSE_ANSWER_MAX ? rows[answer].severity : EK_REHEARSE_UNKNOWN;
}
