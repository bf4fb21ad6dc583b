/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/failforward/source.h"

#include <stdio.h>

static const char *text(const char *s)
{
    return s ? s : "";
}

/* A text that does not fit is none: a part of an address would be another address. */
static void keep(int written, char out[EK_FF_SOURCE_TEXT_SIZE])
{
    if (written < 0 || written >= EK_FF_SOURCE_TEXT_SIZE)
        out[0] = '\0';
}

void ek_ff_source_address(const struct ek_obj *source, char address[EK_FF_SOURCE_TEXT_SIZE])
{
    yyjson_val *root = ek_obj_root(source);
    yyjson_val *service = ek_json_get(root, "status", "registryService", NULL);
    const char *given = ek_json_str(root, "spec", "address", NULL);
    const char *name = ek_json_str(service, "serviceName", NULL);
    const char *namespace = ek_json_str(service, "serviceNamespace", NULL);
    const char *port = ek_json_str(service, "port", NULL);

    address[0] = '\0';
    if (given && *given)
        keep(snprintf(address, EK_FF_SOURCE_TEXT_SIZE, "%s", given), address);
    else if (name && *name && namespace && *namespace && port && *port)
        keep(snprintf(address, EK_FF_SOURCE_TEXT_SIZE, "%s.%s.svc:%s", name, namespace, port),
             address);
}

void ek_ff_source_revision(const struct ek_obj *source, char revision[EK_FF_SOURCE_TEXT_SIZE])
{
    yyjson_val *state = ek_json_get(ek_obj_root(source), "status", "connectionState", NULL);

    keep(snprintf(revision, EK_FF_SOURCE_TEXT_SIZE, "%s %s %s", ek_obj_uid(source),
                  text(ek_json_str(state, "lastConnect", NULL)),
                  text(ek_json_str(state, "lastObservedState", NULL))),
         revision);
}
