/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/cause.h"

#include <string.h>

#include "api/base/mem.h"

/* The first text that a message contains decides: a wrapped error names its cause, and texts that
 * are more specific come first. */
static const struct {
    const char *text;
    enum ek_ff_cause cause;
} texts[] = {
    {"updated validation is too restrictive", EK_FF_REPAIRABLE},
    {"risk of data loss updating", EK_FF_REPAIRABLE},
    {"exceeded quota", EK_FF_SLOW},
    {"failed calling webhook", EK_FF_TRANSIENT},
    {"error generating ownerrefs", EK_FF_TRANSIENT},
    {"conversion webhook for", EK_FF_TRANSIENT},
    {"is forbidden: User ", EK_FF_ADMIN},
    {"attempting to grant RBAC permissions not currently held", EK_FF_ADMIN},
    {"no operator group found", EK_FF_ADMIN},
    {"more than one operator group(s)", EK_FF_ADMIN},
    {"please make sure the service account exists", EK_FF_ADMIN},
    {"attenuated service account query failed", EK_FF_ADMIN},
    {"object is being deleted", EK_FF_TRANSIENT},
    {"the object has been modified", EK_FF_TRANSIENT},
    {"request is too large", EK_FF_PERMANENT}, /* etcd's, with its prefix */
    {"Request entity too large", EK_FF_PERMANENT},
    {"etcdserver: ", EK_FF_TRANSIENT},
    {"connection refused", EK_FF_TRANSIENT},
    {"connection reset", EK_FF_TRANSIENT},
    {"i/o timeout", EK_FF_TRANSIENT},
    {"context deadline exceeded", EK_FF_TRANSIENT},
    {"TLS handshake timeout", EK_FF_TRANSIENT},
    {"Too Many Requests", EK_FF_TRANSIENT},
    {"the server has received too many requests", EK_FF_TRANSIENT},
    {"the server is currently unable to handle the request", EK_FF_TRANSIENT},
    {"Service Unavailable", EK_FF_TRANSIENT},
    {"ImagePullBackOff", EK_FF_SLOW},
    {"ErrImagePull", EK_FF_SLOW},
    {"nodes are available", EK_FF_SLOW},
    {"does not have minimum availability", EK_FF_SLOW},
    {"exceeded its progress deadline", EK_FF_SLOW},
    {"waiting for deployment", EK_FF_SLOW},
    {"install timeout", EK_FF_SLOW},
    {"minKubeVersion", EK_FF_PERMANENT},
    {"CSV version requirement not met", EK_FF_PERMANENT},
    {" is invalid: ", EK_FF_PERMANENT},
    {"\" is invalid", EK_FF_PERMANENT},
    {"the InstallPlan contains invalid data", EK_FF_PERMANENT},
    {"not found on the cluster", EK_FF_PERMANENT},
    {"no matches for kind", EK_FF_PERMANENT},
    {"is registered for version", EK_FF_PERMANENT},
    {"could not find the requested resource", EK_FF_PERMANENT},
    {"unable to parse", EK_FF_PERMANENT},
    {"unable to decode", EK_FF_PERMANENT},
    {"error decoding", EK_FF_PERMANENT},
    {"strict decoding error", EK_FF_PERMANENT},
    {"cannot unmarshal", EK_FF_PERMANENT},
    {"couldn't get version/kind; json parse error", EK_FF_PERMANENT},
    {"unsupported kind", EK_FF_PERMANENT},
    {"CSV contains repeated WebhookDescription name", EK_FF_PERMANENT},
};

enum ek_ff_cause ek_ff_cause_of(const char *message)
{
    for (size_t i = 0; message && i < EK_ARRAY_SIZE(texts); i++)
        if (strstr(message, texts[i].text))
            return texts[i].cause;
    return EK_FF_UNKNOWN;
}

const char *ek_ff_cause_name(enum ek_ff_cause cause)
{
    static const char *const names[EK_FF_CAUSE_MAX] = {
        [EK_FF_UNKNOWN] = "unknown",
        [EK_FF_TRANSIENT] = "transient",
        [EK_FF_SLOW] = "slow transient",
        [EK_FF_PERMANENT] = "permanent",
        [EK_FF_REPAIRABLE] = "permanent until repaired",
        [EK_FF_ADMIN] = "needs admin",
    };
    return names[cause];
}
