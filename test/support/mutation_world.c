/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/mutation_world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/schema/schema.h"

#define META                                                                                       \
    "'metadata':{'type':'object','properties':{'name':{'type':'string'},"                          \
    "'namespace':{'type':'string'},'labels':{'type':'object',"                                     \
    "'additionalProperties':{'type':'string'}},'annotations':{'type':'object',"                    \
    "'additionalProperties':{'type':'string'}}}},'apiVersion':{'type':'string'},"                  \
    "'kind':{'type':'string'}"
#define KIND(group, version, kind)                                                                 \
    "'x-kubernetes-group-version-kind':[{'group':'" group "','version':'" version                  \
    "','kind':'" kind "'}]"
#define CONTAINERS                                                                                 \
    "'containers':{'type':'array','x-kubernetes-list-type':'map',"                                 \
    "'x-kubernetes-list-map-keys':['name'],'items':{'type':'object','required':['name'],"          \
    "'properties':{'name':{'type':'string','default':''},'image':{'type':'string'},"               \
    "'args':{'type':'array','x-kubernetes-list-type':'atomic','items':{'type':'string'}}}}}"

static const char schemas[] =
    "{'components':{'schemas':{"
    "'io.k8s.api.core.v1.ConfigMap':{'type':'object','properties':{" META ","
    "'data':{'type':'object','additionalProperties':{'type':'string'}}}," KIND(
        "", "v1",
        "ConfigMap") "},"
                     "'io.k8s.api.core.v1.Pod':{'type':'object','properties':{" META ","
                     "'spec':{'type':'object','properties':{" CONTAINERS "}}}," KIND(
                         "", "v1",
                         "Pod") "},"
                                "'io.k8s.api.apps.v1.DeploymentSpec':{'type':'object','properties':"
                                "{"
                                "'replicas':{'type':'integer','format':'int32'},'paused':{'type':'"
                                "boolean'}}},"
                                "'io.k8s.api.apps.v1.Deployment':{'type':'object','properties':"
                                "{" META ","
                                "'spec':{'$ref':'#/components/schemas/"
                                "io.k8s.api.apps.v1.DeploymentSpec'}}," KIND(
                                    "apps", "v1",
                                    "Deployment") "},"
                                                  "'com.example.v1.Widget':{'type':'object','"
                                                  "properties':{" META ","
                                                  "'spec':{'type':'object','properties':{'size':{'"
                                                  "type':'integer','default':3},"
                                                  "'title':{'type':'string'}}}}," KIND(
                                                      "example.com", "v1",
                                                      "Widget") "},"
                                                                "'com.example.v2.Widget':{'type':'"
                                                                "object','properties':{" META ","
                                                                "'spec':{'type':'object','"
                                                                "properties':{'size':{'type':'"
                                                                "integer'},"
                                                                "'title':{'type':'string'}}}}"
                                                                "," KIND("example.com", "v2",
                                                                         "Widget") "}}}}";

static void die(const char *what)
{
    fprintf(stderr, "mutation world: %s\n", what);
    abort();
}

yyjson_doc *test_mutation_json(const char *json)
{
    char *copy = ek_xstrdup(json);

    for (char *c = copy; *c; c++)
        *c = (char)(*c == '\'' ? '"' : *c == '`' ? '\'' : *c);
    yyjson_doc *doc = yyjson_read(copy, strlen(copy), 0);
    if (!doc)
        die(copy);
    ek_free(copy);
    return doc;
}

/* ---- Answers ---- */

/* True once when the answer is to be that it is not known yet. */
static bool is_pending(struct test_mutation_world *w, bool *pending)
{
    bool was = *pending;

    w->asked++;
    *pending = false;
    return was;
}

static enum ek_world_answer find_namespace(void *arg, const char *name, yyjson_val **ret_object,
                                           struct ek_err *err)
{
    struct test_mutation_world *w = arg;

    if (is_pending(w, &w->pending_namespace))
        return EK_WORLD_PENDING;
    if (w->broken_namespace) {
        ek_err_set(err, EK_E_IO, "connection refused");
        return EK_WORLD_FAILED;
    }
    *ret_object = yyjson_obj_get(yyjson_doc_get_root(w->namespaces), name);
    return *ret_object ? EK_WORLD_FOUND : EK_WORLD_ABSENT;
}

static enum ek_world_answer param_scope(void *arg, const char *api_version, const char *kind,
                                        bool *ret_namespaced, struct ek_err *err)
{
    const struct test_mutation_world *w = arg;

    *ret_namespaced = !w->cluster_kind || strcmp(kind, w->cluster_kind) != 0;
    if (!w->unknown_kind || strcmp(kind, w->unknown_kind) != 0)
        return EK_WORLD_FOUND;
    ek_err_set(err, EK_E_NOENT, "paramKind kind `%s, Kind=%s` not known", api_version, kind);
    return EK_WORLD_FAILED;
}

static bool text_is(yyjson_val *object, const char *a, const char *b, const char *want)
{
    const char *s = b ? ek_json_str(object, a, b, NULL) : ek_json_str(object, a, NULL);

    return !strcmp(s ? s : "", want);
}

static enum ek_world_answer list_params(void *arg, const char *api_version, const char *kind,
                                        const char *namespace, const char *name,
                                        const struct ek_selector *selector,
                                        void (*add)(void *add_arg, yyjson_val *param),
                                        void *add_arg, struct ek_err *err)
{
    struct test_mutation_world *w = arg;
    size_t i, n;
    yyjson_val *v;
    bool found = false;

    (void)err;
    if (is_pending(w, &w->pending_params))
        return EK_WORLD_PENDING;
    yyjson_arr_foreach(yyjson_doc_get_root(w->params), i, n, v)
    {
        bool wanted =
            *name ? text_is(v, "metadata", "name", name)
                  : ek_selector_matches(selector, ek_json_get(v, "metadata", "labels", NULL));
        if (!wanted || !text_is(v, "apiVersion", NULL, api_version) ||
            !text_is(v, "kind", NULL, kind) || !text_is(v, "metadata", "namespace", namespace))
            continue;
        add(add_arg, v);
        found = true;
    }
    return found ? EK_WORLD_FOUND : EK_WORLD_ABSENT;
}

static enum ek_world_answer find_schema(void *arg, const struct ek_gvk *kind,
                                        const struct ek_schema **ret_schema, struct ek_err *err)
{
    struct test_mutation_world *w = arg;

    (void)err;
    if (is_pending(w, &w->pending_schema))
        return EK_WORLD_PENDING;
    if (!strcmp(kind->kind, "Missing"))
        return EK_WORLD_ABSENT;
    *ret_schema = w->schema;
    return EK_WORLD_FOUND;
}

static enum ek_world_answer authorize(void *arg, const struct ek_cel_authz_attributes *what,
                                      struct ek_cel_authz_decision *ret)
{
    struct test_mutation_world *w = arg;

    (void)what;
    if (is_pending(w, &w->pending_authorize))
        return EK_WORLD_PENDING;
    ret->allowed = w->allow;
    ret->reason = EK_STR("");
    return EK_WORLD_FOUND;
}

/* Widgets have two versions. */
static void each_equivalent(void *arg, const struct ek_gvr *resource, const char *subresource,
                            bool (*fn)(void *, const struct ek_gvr *, const struct ek_gvk *),
                            void *fn_arg)
{
    bool first = !strcmp(resource->version, "v1");

    (void)arg;
    (void)subresource;
    if (strcmp(resource->resource, "widgets") != 0)
        return;
    fn(fn_arg, &(struct ek_gvr){"example.com", first ? "v2" : "v1", "widgets"},
       &(struct ek_gvk){"example.com", first ? "v2" : "v1", "Widget"});
}

static const struct ek_equivalents equivalents = {each_equivalent, NULL};

/* ---- The world ---- */

static void open_world(struct test_mutation_world *w, yyjson_doc *doc)
{
    struct ek_err err = {0};

    *w = (struct test_mutation_world){.world = {.namespace = find_namespace,
                                                .param_scope = param_scope,
                                                .params = list_params,
                                                .schema = find_schema,
                                                .authorize = authorize,
                                                .equivalents = &equivalents}};
    w->world.arg = w;
    w->set.bound = w->bound;
    if (ek_schema_compile(yyjson_doc_get_root(doc), &w->schema, &err))
        die(err.message);
    yyjson_doc_free(doc);
    test_mutation_set_namespaces(w, "{'shop':{'apiVersion':'v1','kind':'Namespace','metadata':"
                                    "{'name':'shop','labels':{'team':'a'}}}}");
    test_mutation_set_params(w, "[]");
}

void test_mutation_open(struct test_mutation_world *w)
{
    open_world(w, test_mutation_json(schemas));
}

bool test_mutation_open_file(struct test_mutation_world *w, const char *path)
{
    yyjson_doc *doc = yyjson_read_file(path, 0, NULL, NULL);

    if (doc)
        open_world(w, doc);
    return doc != NULL;
}

void test_mutation_close(struct test_mutation_world *w)
{
    for (size_t i = 0; i < w->set.n; i++) {
        ek_policy_unref(w->policies[i]);
        ek_binding_unref(w->bindings[i]);
    }
    ek_schema_unref(w->schema);
    yyjson_doc_free(w->namespaces);
    yyjson_doc_free(w->params);
}

void test_mutation_set_namespaces(struct test_mutation_world *w, const char *json)
{
    yyjson_doc_free(w->namespaces);
    w->namespaces = test_mutation_json(json);
}

void test_mutation_set_params(struct test_mutation_world *w, const char *json)
{
    yyjson_doc_free(w->params);
    w->params = test_mutation_json(json);
}

static bool has(const char *json, const char *name)
{
    return strstr(json, name) != NULL;
}

struct ek_bound *test_mutation_add(struct test_mutation_world *w, const char *name,
                                   const char *spec, const char *binding_spec)
{
    char *text = ek_xasprintf(
        "{'apiVersion':'admissionregistration.k8s.io/v1','kind':'MutatingAdmissionPolicy',"
        "'metadata':{'name':'%s','uid':'u-%s'},'spec':{%s%s%s}}",
        name, name,
        has(spec, "'matchConstraints'")
            ? ""
            : "'matchConstraints':{'resourceRules':[{'operations':['*'],'apiGroups':['*'],"
              "'apiVersions':['*'],'resources':['*']}]},",
        has(spec, "'reinvocationPolicy'") ? "" : "'reinvocationPolicy':'Never',", spec);
    char *bind = ek_xasprintf(
        "{'apiVersion':'admissionregistration.k8s.io/v1','kind':'MutatingAdmissionPolicyBinding',"
        "'metadata':{'name':'%s'},'spec':{'policyName':'%s'%s%s}}",
        name, name, *binding_spec ? "," : "", binding_spec);
    yyjson_doc *policy_doc = test_mutation_json(text), *binding_doc = test_mutation_json(bind);
    struct ek_obj *policy = ek_obj_from_val(yyjson_doc_get_root(policy_doc));
    struct ek_obj *binding = ek_obj_from_val(yyjson_doc_get_root(binding_doc));
    size_t i = w->set.n++;

    if (i >= TEST_MUTATION_MAX)
        die("too many policies");
    w->policies[i] = ek_policy_new(policy, 0);
    w->bindings[i] = ek_binding_new(binding);
    w->bound[i] =
        (struct ek_bound){.policy = w->policies[i], .binding = w->bindings[i], .apply = true};
    ek_obj_unref(policy);
    ek_obj_unref(binding);
    yyjson_doc_free(policy_doc);
    yyjson_doc_free(binding_doc);
    ek_free(text);
    ek_free(bind);
    return &w->bound[i];
}

struct ek_bound *test_mutation_apply(struct test_mutation_world *w, const char *name,
                                     const char *expression)
{
    char *spec = ek_xasprintf("'mutations':[{'patchType':'ApplyConfiguration',"
                              "'applyConfiguration':{'expression':'%s'}}]",
                              expression);
    struct ek_bound *bound = test_mutation_add(w, name, spec, "");

    ek_free(spec);
    return bound;
}

/* ---- Requests ---- */

yyjson_doc *test_mutation_request(const char *members, struct ek_admission_request *ret_request)
{
    static const char defaults[] =
        "{'uid':'1','kind':{'group':'','version':'v1','kind':'ConfigMap'},"
        "'resource':{'group':'','version':'v1','resource':'configmaps'},"
        "'requestKind':{'group':'','version':'v1','kind':'ConfigMap'},"
        "'requestResource':{'group':'','version':'v1','resource':'configmaps'},'name':'m',"
        "'namespace':'shop','operation':'CREATE','userInfo':{'username':'u'},"
        "'object':{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'m',"
        "'namespace':'shop'},'data':{'n':'1'}},'oldObject':null}";
    char *text = ek_xasprintf("{%s}", members);
    yyjson_doc *base = test_mutation_json(defaults), *more = test_mutation_json(text);
    yyjson_mut_doc *doc = yyjson_doc_mut_copy(base, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    struct ek_err err = {0};
    size_t i, n;
    yyjson_val *key, *value;

    ek_json_each_member(yyjson_doc_get_root(more), i, n, key, value)
    {
        yyjson_mut_obj_put(root, yyjson_val_mut_copy(doc, key), yyjson_val_mut_copy(doc, value));
    }
    yyjson_doc *whole = yyjson_mut_doc_imut_copy(doc, NULL);
    if (ek_admission_request_read(yyjson_doc_get_root(whole), ret_request, &err))
        die(err.message);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(base);
    yyjson_doc_free(more);
    ek_free(text);
    return whole;
}
