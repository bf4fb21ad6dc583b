/* SPDX-License-Identifier: Apache-2.0 */
#include "api/gotypes/undeclared.h"

#include <string.h>

#include "api/base/mem.h"

#define FIELD(name, type)  "\"" name "\":{\"type\":\"" type "\"},"
#define LIST(name, item)   "\"" name "\":{\"type\":\"array\",\"items\":{" item "}},"
#define INT32              "\"type\":\"integer\",\"format\":\"int32\""
#define REFER(name, to)    "\"" name "\":{\"$ref\":\"#/components/schemas/" to "\"},"
#define IDENTITY           FIELD("kind", "string") "\"apiVersion\":{\"type\":\"string\"}"
#define PART(name, fields) "\"" name "\":{\"type\":\"object\",\"properties\":{" fields "}},"
#define KIND(name, group, kind, fields)                                                            \
    "\"" name kind "\":{\"type\":\"object\",\"properties\":{" fields IDENTITY                      \
    "},\"x-kubernetes-group-version-kind\":[{\"group\":\"" group                                   \
    "\",\"version\":\"v1\",\"kind\":\"" kind "\"}]}"
#define CORE        "io.k8s.api.core.v1."
#define AUTOSCALING "io.k8s.api.autoscaling.v1."
#define STREAMS                                                                                    \
    FIELD("stdin", "boolean")                                                                      \
    FIELD("stdout", "boolean")                                                                     \
    FIELD("stderr", "boolean") FIELD("tty", "boolean") FIELD("container", "string")

/* The fields are those of Kubernetes 1.36; which zeroes are written is in fields.c. */
static const char document[] =
    "{\"components\":{\"schemas\":{" PART(AUTOSCALING "ScaleSpec", "\"replicas\":{" INT32 "}") "\"" AUTOSCALING "ScaleStatus\":{\"type\":\"object\",\"properties\":{" FIELD(
        "selector",
        "string") "\"replicas\":{" INT32
                  ",\"default\":0}}}," KIND(AUTOSCALING, "autoscaling", "Scale", FIELD("metadata", "object") REFER("spec", AUTOSCALING "ScaleSpec") REFER("status", AUTOSCALING "ScaleStatus")) "," KIND(
                      CORE, "", "PodExecOptions",
                      STREAMS LIST(
                          "command",
                          "\"type\":\"string\"")) "," KIND(CORE, "", "PodAttachOptions",
                                                           STREAMS) "," KIND(CORE, "",
                                                                             "PodPortForwardOption"
                                                                             "s",
                                                                             LIST(
                                                                                 "ports",
                                                                                 INT32)) "," KIND(CORE,
                                                                                                  "",
                                                                                                  "PodProxyOptions",
                                                                                                  FIELD(
                                                                                                      "path",
                                                                                                      "string")) "," KIND(CORE,
                                                                                                                          "",
                                                                                                                          "ServiceProxyOptions",
                                                                                                                          FIELD(
                                                                                                                              "path",
                                                                                                                              "string")) "," KIND(CORE,
                                                                                                                                                  "",
                                                                                                                                                  "NodeProxyOptions",
                                                                                                                                                  FIELD(
                                                                                                                                                      "path",
                                                                                                                                                      "string")) "}}}";

static bool is_known(const char *kind)
{
    static const char *const kinds[] = {"NodeProxyOptions",   "PodAttachOptions",
                                        "PodExecOptions",     "PodPortForwardOptions",
                                        "PodProxyOptions",    "Scale",
                                        "ServiceProxyOptions"};

    for (size_t i = 0; i < EK_ARRAY_SIZE(kinds); i++)
        if (!strcmp(kinds[i], kind))
            return true;
    return false;
}

struct ek_schema *ek_undeclared_schema(const struct ek_gvk *kind, uint32_t *ret_type, int *ret_rc)
{
    struct ek_schema *schema = NULL;

    *ret_rc = 0;
    if (!is_known(kind->kind))
        return NULL;
    yyjson_doc *doc = yyjson_read(document, sizeof document - 1, 0);
    *ret_rc = doc ? ek_schema_compile(yyjson_doc_get_root(doc), &schema, NULL) : EK_E_NOMEM;
    yyjson_doc_free(doc);
    if (*ret_rc)
        return NULL;
    if (!ek_schema_find_kind(schema, kind->group, kind->version, kind->kind, ret_type, NULL))
        return schema;
    ek_schema_unref(schema); /* of that name in another group */
    return NULL;
}
