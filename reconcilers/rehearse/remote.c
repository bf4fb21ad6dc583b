/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/rehearse/remote.h"

#include <stdio.h>
#include <string.h>

#include "api/obj.h"

static bool put(char *out, const char *first, const char *a, const char *b)
{
    int n = snprintf(out, EK_REHEARSE_REMOTE_SIZE, "%s%s/%s", first, a, b);

    return *a && *b && n > 0 && n < EK_REHEARSE_REMOTE_SIZE;
}

bool ek_rehearse_remote_of(yyjson_val *definition, char out[EK_REHEARSE_REMOTE_SIZE])
{
    const char *kind = ek_json_text(definition, "kind");
    yyjson_val *spec = yyjson_obj_get(definition, "spec");
    const char *group = ek_json_text(spec, "group");

    if (!strcmp(kind, "APIService") && yyjson_is_obj(yyjson_obj_get(spec, "service")))
        return put(out, "apis/", group, ek_json_text(spec, "version"));
    if (!strcmp(kind, "CustomResourceDefinition") &&
        !strcmp(ek_json_text(yyjson_obj_get(spec, "conversion"), "strategy"), "Webhook"))
        return put(out, "", group, ek_json_text(yyjson_obj_get(spec, "names"), "plural"));
    return false;
}
