/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/policies.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/schema/schema.h"
#include "api/yaml.h"
#include "reconcilers/mutation/order.h"

#define ARENA_MAX ((size_t)64 << 20)

/* ---- The kind ---- */

static const char widget[] =
    "spec:\n"
    "  group: example.com\n"
    "  names: {kind: Widget}\n"
    "  versions:\n"
    "  - name: v1\n"
    "    schema:\n"
    "      openAPIV3Schema:\n"
    "        type: object\n"
    "        properties:\n"
    "          spec:\n"
    "            type: object\n"
    "            properties:\n"
    "              replicas: {type: integer, nullable: true}\n"
    "              size: {type: integer}\n"
    "              color: {type: string}\n"
    "              options: {type: object, additionalProperties: {type: string}}\n"
    "              nodeSelector:\n"
    "                type: object\n"
    "                x-kubernetes-map-type: atomic\n"
    "                additionalProperties: {type: string}\n"
    "              strategy:\n"
    "                type: object\n"
    "                x-kubernetes-map-type: atomic\n"
    "                properties: {type: {type: string}, max: {type: integer}}\n"
    "              tags:\n"
    "                type: array\n"
    "                x-kubernetes-list-type: set\n"
    "                items: {type: string}\n"
    "              tolerations:\n"
    "                type: array\n"
    "                x-kubernetes-list-type: atomic\n"
    "                items:\n"
    "                  type: object\n"
    "                  properties: {key: {type: string}, effect: {type: string}}\n"
    "              containers:\n"
    "                type: array\n"
    "                x-kubernetes-list-type: map\n"
    "                x-kubernetes-list-map-keys: [name]\n"
    "                items:\n"
    "                  type: object\n"
    "                  required: [name]\n"
    "                  properties:\n"
    "                    name: {type: string}\n"
    "                    image: {type: string}\n"
    "                    args: {type: array, items: {type: string}}\n"
    "                    env:\n"
    "                      type: array\n"
    "                      x-kubernetes-list-type: map\n"
    "                      x-kubernetes-list-map-keys: [name]\n"
    "                      items:\n"
    "                        type: object\n"
    "                        required: [name]\n"
    "                        properties: {name: {type: string}, value: {type: string}}\n"
    "              matrix:\n"
    "                type: object\n"
    "                additionalProperties:\n"
    "                  type: object\n"
    "                  additionalProperties: {type: array, items: {type: integer}}\n";

static struct ek_schema *schema;

static void load_schema(void)
{
    yyjson_doc *doc = NULL;
    struct ek_err err = {0};

    if (schema)
        return;
    ck_assert_msg(!ek_yaml_parse(widget, sizeof widget - 1, 1 << 20, &doc, &err), "%s",
                  err.message);
    ck_assert_msg(!ek_schema_compile_crd(yyjson_doc_get_root(doc), "v1", &schema, &err), "%s",
                  err.message);
    yyjson_doc_free(doc);
}

static enum ek_world_answer find_schema(void *arg, const struct ek_gvk *kind,
                                        const struct ek_schema **ret_schema, struct ek_err *err)
{
    (void)arg;
    (void)kind;
    (void)err;
    load_schema();
    *ret_schema = schema;
    return EK_WORLD_FOUND;
}

static enum ek_world_answer find_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                           struct ek_err *err)
{
    (void)arg;
    (void)name;
    (void)err;
    *ret_object = NULL;
    return EK_WORLD_ABSENT;
}

const struct ek_mutation_world *ek_policies_world(void)
{
    static const struct ek_mutation_world world = {.namespace = find_namespace,
                                                   .schema = find_schema};
    return &world;
}

/* ---- Policies ---- */

static void add_expression(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *name,
                           const char *expression)
{
    yyjson_mut_val *v = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_str(doc, v, "name", name);
    yyjson_mut_obj_add_str(doc, v, "expression", expression);
}

static void add_mutation(yyjson_mut_doc *doc, yyjson_mut_val *spec, const struct ek_policy_row *row)
{
    bool patch = row->expression[0] == '[';
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, spec, "mutations");
    yyjson_mut_val *m = yyjson_mut_arr_add_obj(doc, list);

    yyjson_mut_obj_add_str(doc, m, "patchType", patch ? "JSONPatch" : "ApplyConfiguration");
    yyjson_mut_val *v = yyjson_mut_obj_add_obj(doc, m, patch ? "jsonPatch" : "applyConfiguration");
    yyjson_mut_obj_add_str(doc, v, "expression", row->expression);
    if (row->replace)
        yyjson_mut_obj_add_str(doc, m, "atomics", "Replace");
    if (!row->safety)
        return;
    v = yyjson_mut_obj_add_obj(doc, m, "safety");
    bool named = !strcmp(row->safety, "Exact") || !strcmp(row->safety, "Overwritable");
    yyjson_mut_obj_add_str(doc, v, "type", named ? row->safety : "Condition");
    if (!named)
        yyjson_mut_obj_add_str(doc, v, "expression", row->safety);
}

static void add_more(yyjson_mut_doc *doc, yyjson_mut_val *spec, const char *more)
{
    char text[4096];
    struct ek_err err = {0};
    yyjson_val *key, *value;
    size_t i, n;

    int len = snprintf(text, sizeof text, "{%s}", more ? more : "");
    yyjson_doc *members = ek_json_parse(text, (size_t)len, &err);
    ck_assert_msg(members != NULL, "%s: %s", text, err.message);
    ek_json_each_member(yyjson_doc_get_root(members), i, n, key, value)
        yyjson_mut_obj_put(spec, yyjson_val_mut_copy(doc, key), yyjson_val_mut_copy(doc, value));
    yyjson_doc_free(members);
}

static const char constraints[] =
    "\"matchConstraints\":{\"resourceRules\":[{\"operations\":[\"CREATE\",\"UPDATE\"],"
    "\"apiGroups\":[\"example.com\"],\"apiVersions\":[\"v1\"],\"resources\":[\"widgets\"]}]}";

struct ek_obj *ek_policy_row_obj(const struct ek_policy_row *row)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *list;

    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_add_str(doc, root, "apiVersion", "evenkeel.dev/v1alpha1");
    yyjson_mut_obj_add_str(doc, root, "kind", "MutatingAdmissionPolicy");
    yyjson_mut_val *metadata = yyjson_mut_obj_add_obj(doc, root, "metadata");
    yyjson_mut_obj_add_str(doc, metadata, "name", row->name);
    yyjson_mut_obj_add_int(doc, metadata, "generation", 3);
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    yyjson_mut_obj_add_str(doc, spec, "behaviour", row->in_tree ? "InTree" : "Extended");
    yyjson_mut_obj_add_str(doc, spec, "reinvocationPolicy", row->once ? "Never" : "IfNeeded");
    yyjson_mut_obj_add_str(doc, spec, "failurePolicy", row->ignore ? "Ignore" : "Fail");
    add_mutation(doc, spec, row);
    list = yyjson_mut_obj_add_arr(doc, spec, "matchConditions");
    if (row->condition)
        add_expression(doc, list, "c", row->condition);
    list = yyjson_mut_obj_add_arr(doc, spec, "variables");
    if (row->variable)
        add_expression(doc, list, "v", row->variable);
    add_more(doc, spec, constraints);
    add_more(doc, spec, row->spec);
    struct ek_obj *obj = ek_obj_from_mut(root);
    yyjson_mut_doc_free(doc);
    return obj;
}

static const struct ek_binding *binding_of(const char *name)
{
    char text[512];
    struct ek_err err = {0};

    int len = snprintf(text, sizeof text,
                       "{\"apiVersion\":\"evenkeel.dev/v1alpha1\",\"kind\":"
                       "\"MutatingAdmissionPolicyBinding\",\"metadata\":{\"name\":\"%s\"},"
                       "\"spec\":{\"policyName\":\"%s\"}}",
                       name, name);
    struct ek_obj *obj = NULL;
    ck_assert_msg(!ek_obj_parse(text, (size_t)len, &obj, &err), "%s", err.message);
    const struct ek_binding *binding = ek_binding_new(obj);
    ek_obj_unref(obj);
    return binding;
}

void ek_policies_init(struct ek_policies *p, const struct ek_policy_row *rows, size_t n)
{
    *p = (struct ek_policies){.policies = ek_xalloc((n + 1) * sizeof *p->policies),
                              .bindings = ek_xalloc((n + 1) * sizeof *p->bindings),
                              .bound = ek_xalloc((n + 1) * sizeof *p->bound)};
    for (size_t i = 0; i < n && rows[i].name; i++, p->n++) {
        struct ek_obj *obj = ek_policy_row_obj(&rows[i]);
        p->policies[i] = ek_policy_new(obj, 0);
        p->bindings[i] = binding_of(rows[i].name);
        p->bound[i] =
            (struct ek_bound){.policy = p->policies[i], .binding = p->bindings[i], .apply = true};
        ck_assert_msg(p->policies[i]->n_problems == 0, "%s: %s", rows[i].name,
                      p->policies[i]->n_problems ? p->policies[i]->problems[0] : "");
        ek_obj_unref(obj);
    }
    ek_order_sort(p->bound, p->n);
    p->set = (struct ek_policy_set){p->bound, p->n};
}

void ek_policies_done(struct ek_policies *p)
{
    for (size_t i = 0; i < p->n; i++) {
        ek_policy_unref(p->policies[i]);
        ek_binding_unref(p->bindings[i]);
    }
    ek_free(p->policies);
    ek_free(p->bindings);
    ek_free(p->bound);
    ek_schema_unref(schema);
    schema = NULL;
}

/* ---- Requests ---- */

void ek_policies_run(const struct ek_policies *p, const char *object, bool trace,
                     struct ek_policies_run *ret)
{
    static const char head[] =
        "{\"uid\":\"1\",\"kind\":{\"group\":\"example.com\",\"version\":\"v1\",\"kind\":\"Widget\"}"
        ","
        "\"resource\":{\"group\":\"example.com\",\"version\":\"v1\",\"resource\":\"widgets\"},"
        "\"name\":\"w\",\"operation\":\"CREATE\",\"userInfo\":{\"username\":\"u\"},\"object\":";
    struct ek_err err = {0};
    size_t size = strlen(head) + strlen(object) + 2;
    EK_AUTOFREE char *text = ek_xalloc(size);

    snprintf(text, size, "%s%s}", head, object);
    *ret = (struct ek_policies_run){.doc = ek_json_parse(text, strlen(text), &err),
                                    .arena = ek_arena_new(ARENA_MAX)};
    ck_assert_msg(ret->doc != NULL, "%s: %s", object, err.message);
    ck_assert_msg(!ek_admission_request_read(yyjson_doc_get_root(ret->doc), &ret->request, &err),
                  "%s", err.message);
    ck_assert_int_eq(ek_engine_run(&p->set, &ret->request, ek_policies_world(),
                                   &(struct ek_engine_options){.trace = trace}, ret->arena,
                                   &ret->outcome),
                     0);
}

void ek_policies_run_done(struct ek_policies_run *run)
{
    ek_mutation_outcome_done(&run->outcome);
    ek_arena_free(run->arena);
    yyjson_doc_free(run->doc);
}

char *ek_policies_text(const struct ek_policies_run *run)
{
    static const char *const constant[] = {"apiVersion", "kind"};
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = run->outcome.allowed
                               ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(run->outcome.result))
                               : yyjson_mut_strcpy(doc, run->outcome.message);

    for (size_t i = 0; run->outcome.allowed && i < EK_ARRAY_SIZE(constant); i++)
        yyjson_mut_obj_remove_key(root, constant[i]);
    char *text = yyjson_mut_val_write_opts(root, 0, &ek_json_alc, NULL, NULL);
    yyjson_mut_doc_free(doc);
    return text;
}
