/* SPDX-License-Identifier: Apache-2.0 */
#include "test/support/gates_registration.h"

#include <check.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/yaml.h"

yyjson_doc *test_registration_yaml(const char *text)
{
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ck_assert_msg(ek_yaml_parse(text, strlen(text), 1 << 20, &doc, &err) == 0, "%s: %s", text,
                  err.message);
    return doc;
}

const struct ek_gates *test_registration_gates(const char *name, const char *gates)
{
    EK_AUTOFREE char *text =
        ek_xasprintf("apiVersion: evenkeel.dev/v1alpha1\nkind: CustomFeatureGates\n"
                     "metadata: {name: %s}\nspec: {featureGates: [%s]}\n",
                     name, gates);
    yyjson_doc *doc = test_registration_yaml(text);
    const struct ek_gates *made = ek_gates_new(yyjson_doc_get_root(doc), NULL, 0);

    yyjson_doc_free(doc);
    ck_assert_msg(made->n_problems == 0 || strstr(name, "evenkeel.dev"), "%s: %s", gates,
                  made->n_problems ? *made->problems : "");
    return made;
}

static const struct ek_str replicas_names[] = {{"spec", 4}, {"replicas", 8}};
static const struct ek_field_path replicas = {replicas_names, 2, ".spec.replicas"};

void test_registration_make(const struct ek_gates_registered *kinds, size_t n, const char *bundle,
                            struct test_registration *m)
{
    const struct ek_webhooks_options options = {.service_namespace = "evenkeel-system",
                                                .service_name = "evenkeel-webhook",
                                                .own_namespace = "evenkeel-system",
                                                .own_namespace_uid = "u-1",
                                                .with_definitions = true,
                                                .ca_bundle = bundle};

    m->doc = ek_json_doc_new();
    ek_gates_registration_write(kinds, n, &options, m->doc, &m->mutating, &m->validating, &m->hash);
    m->contents[0] = ek_obj_from_mut(m->mutating);
    m->contents[1] = ek_obj_from_mut(m->validating);
}

struct ek_gates_crd test_registration_crontabs(void)
{
    return (struct ek_gates_crd){.group = "stable.example.com",
                                 .plural = "crontabs",
                                 .kind = "CronTab",
                                 .storage = "v1",
                                 .namespaced = true,
                                 .shape = {.has_status = true, .replicas = &replicas}};
}

void test_registration_done(struct test_registration *m)
{
    ek_obj_unref(m->contents[0]);
    ek_obj_unref(m->contents[1]);
    yyjson_mut_doc_free(m->doc);
}
