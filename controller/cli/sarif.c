/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/cli/sarif.h"

#include <string.h>

#include "api/base/ascii.h"
#include "api/base/buf.h"
#include "api/base/map.h"
#include "api/base/mem.h"
#include "api/obj.h"

struct ek_sarif {
    yyjson_mut_doc *doc;
    yyjson_mut_val *run, *rules, *results;
    struct ek_map declared; /* ids of rules; the keys are in doc */
};

struct ek_sarif *ek_sarif_new(void)
{
    struct ek_sarif *sarif = ek_xalloc(sizeof *sarif);
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *top = yyjson_mut_obj(doc);

    yyjson_mut_doc_set_root(doc, top);
    yyjson_mut_obj_add_str(doc, top, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
    yyjson_mut_obj_add_str(doc, top, "version", "2.1.0");
    sarif->doc = doc;
    sarif->run = yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, top, "runs"));
    yyjson_mut_val *driver =
        yyjson_mut_obj_add_obj(doc, yyjson_mut_obj_add_obj(doc, sarif->run, "tool"), "driver");
    yyjson_mut_obj_add_str(doc, driver, "name", "evenkeel");
    yyjson_mut_obj_add_str(doc, driver, "version", EK_VERSION);
    sarif->rules = yyjson_mut_obj_add_arr(doc, driver, "rules");
    sarif->results = yyjson_mut_obj_add_arr(doc, sarif->run, "results");
    ek_map_init(&sarif->declared);
    return sarif;
}

static void add_message(yyjson_mut_doc *doc, yyjson_mut_val *at, const char *name, const char *text)
{
    yyjson_mut_obj_add_strcpy(doc, yyjson_mut_obj_add_obj(doc, at, name), "text", text);
}

void ek_sarif_rule(struct ek_sarif *sarif, const char *id, const char *text)
{
    yyjson_mut_val *rule;

    if (ek_map_get(&sarif->declared, id))
        return;
    rule = yyjson_mut_arr_add_obj(sarif->doc, sarif->rules);
    yyjson_mut_obj_add_strcpy(sarif->doc, rule, "id", id);
    if (text)
        add_message(sarif->doc, rule, "shortDescription", text);
    ek_map_put(&sarif->declared, yyjson_mut_get_str(yyjson_mut_obj_get(rule, "id")), rule);
}

/* What a path of a URI has as it is (RFC 3986, 2.3, and the slash). */
static bool is_plain(char c)
{
    return ek_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("/-._~", c));
}

/* A path as a reference of RFC 3986; owned. */
static char *uri_of(const char *path)
{
    struct ek_buf out;

    ek_buf_init(&out, EK_BUF_SMALL_MAX);
    if (*path == '/')
        ek_buf_puts(&out, "file://");
    for (; *path; path++)
        if (is_plain(*path))
            ek_buf_append(&out, path, 1);
        else
            ek_buf_printf(&out, "%%%02X", (unsigned char)*path);
    return ek_buf_steal(&out);
}

static void add_location(yyjson_mut_doc *doc, yyjson_mut_val *at,
                         const struct ek_sarif_result *result)
{
    EK_AUTOFREE char *uri = uri_of(result->source);
    EK_AUTOFREE char *name =
        ek_xasprintf("%s%s%s", result->object, *result->field ? " " : "", result->field);
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, at, "locations"));
    yyjson_mut_val *physical = yyjson_mut_obj_add_obj(doc, v, "physicalLocation");

    yyjson_mut_obj_add_strcpy(doc, yyjson_mut_obj_add_obj(doc, physical, "artifactLocation"), "uri",
                              uri);
    if (result->line)
        yyjson_mut_obj_add_uint(doc, yyjson_mut_obj_add_obj(doc, physical, "region"), "startLine",
                                result->line);
    yyjson_mut_val *logical =
        yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, v, "logicalLocations"));
    yyjson_mut_obj_add_strcpy(doc, logical, "fullyQualifiedName", name);
}

void ek_sarif_add(struct ek_sarif *sarif, const struct ek_sarif_result *result)
{
    yyjson_mut_doc *doc = sarif->doc;
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, sarif->results);

    ek_sarif_rule(sarif, result->rule, NULL);
    yyjson_mut_obj_add_strcpy(doc, v, "ruleId", result->rule);
    yyjson_mut_obj_add_strcpy(doc, v, "level", result->level);
    add_message(doc, v, "message", result->message);
    if (*result->source)
        add_location(doc, v, result);
    yyjson_mut_obj_add_strcpy(doc, yyjson_mut_obj_add_obj(doc, v, "properties"), "severity",
                              result->severity);
}

void ek_sarif_property(struct ek_sarif *sarif, const char *name, const char *text)
{
    yyjson_mut_val *properties = yyjson_mut_obj_get(sarif->run, "properties");

    if (!properties)
        properties = yyjson_mut_obj_add_obj(sarif->doc, sarif->run, "properties");
    yyjson_mut_obj_add_strcpy(sarif->doc, properties, name, text);
}

yyjson_doc *ek_sarif_end(struct ek_sarif *sarif)
{
    yyjson_doc *ret = yyjson_mut_doc_imut_copy(sarif->doc, NULL);

    ek_map_done(&sarif->declared);
    yyjson_mut_doc_free(sarif->doc);
    ek_free(sarif);
    return ret;
}
