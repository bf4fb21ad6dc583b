/* SPDX-License-Identifier: Apache-2.0 */
/* Gates against CRDs: what is found and what is refused, by row. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "api/base/mem.h"
#include "api/obj.h"
#include "api/yaml.h"
#include "reconcilers/fieldgates/resolve.h"
#include "test/support/suite.h"

/* A CRD; its parts are YAML. */
struct crd_row {
    const char *spec;       /* the schema of .spec in v1, which is stored */
    const char *spec2;      /* in v2, which is served, too; NULL: there is no v2 */
    const char *strategy;   /* of conversion; NULL: None */
    const char *root;       /* further members of v1's schema; NULL for none */
    const char *sub, *sub2; /* subresources of v1 and v2; NULL for none */
    const char *more;       /* further lines of the CRD's spec; NULL for none */
};

#define REPLICAS "{type: object, properties: {replicas: {type: integer}, image: {type: string}}}"

static yyjson_doc *make_crd(const struct crd_row *row)
{
    EK_AUTO(ek_buf) text;
    struct ek_err err = {0};
    yyjson_doc *doc = NULL;

    ek_buf_init(&text, 1 << 20);
    ek_buf_printf(&text,
                  "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
                  "metadata: {name: crontabs.stable.example.com}\n"
                  "status: {conditions: [{type: NamesAccepted, status: 'True'}, "
                  "{type: Established, status: 'True'}]}\n"
                  "spec:\n  group: stable.example.com\n  scope: Namespaced\n"
                  "  names: {plural: crontabs, kind: CronTab}\n"
                  "  conversion: {strategy: %s}\n%s  versions:\n",
                  row->strategy ? row->strategy : "None", row->more ? row->more : "");
    if (row->spec2)
        ek_buf_printf(&text,
                      "  - {name: v2, served: true, storage: false, subresources: %s, "
                      "schema: {openAPIV3Schema: {type: object, properties: {spec: %s, "
                      "status: {type: object, properties: {phase: {type: string}}}}}}}\n",
                      row->sub2 ? row->sub2 : "{}", row->spec2);
    ek_buf_printf(&text,
                  "  - {name: v1, served: true, storage: true, subresources: %s, "
                  "schema: {openAPIV3Schema: {type: object, %s properties: {spec: %s, "
                  "status: {type: object, properties: {phase: {type: string}}}}}}}\n"
                  "  - {name: v0, served: false, storage: false}\n",
                  row->sub ? row->sub : "{}", row->root ? row->root : "", row->spec);
    ck_assert_msg(!ek_yaml_parse(ek_buf_str(&text), text.len, 1 << 20, &doc, &err), "%s\n%s",
                  err.message, ek_buf_str(&text));
    return doc;
}

/* A definition with one gate for path. */
static const struct ek_gates *make_gates(const char *stage, const char *path)
{
    yyjson_mut_doc *doc = ek_json_doc_new();
    yyjson_mut_val *root = yyjson_mut_obj(doc), *gate;

    yyjson_mut_obj_add_str(doc, root, "apiVersion", "evenkeel.dev/v1alpha1");
    yyjson_mut_obj_add_str(doc, root, "kind", "CustomFeatureGates");
    yyjson_mut_obj_add_str(doc, yyjson_mut_obj_add_obj(doc, root, "metadata"), "name",
                           "crontabs.stable.example.com");
    yyjson_mut_val *spec = yyjson_mut_obj_add_obj(doc, root, "spec");
    gate = yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, spec, "featureGates"));
    yyjson_mut_obj_add_str(doc, gate, "name", "G");
    yyjson_mut_obj_add_str(doc, gate, "preRelease", stage);
    yyjson_mut_arr_add_str(doc, yyjson_mut_obj_add_arr(doc, gate, "fieldPaths"), path);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_doc *copy = yyjson_mut_doc_imut_copy(doc, NULL);
    const struct ek_gates *gates = ek_gates_new(yyjson_doc_get_root(copy), NULL, 0);
    yyjson_doc_free(copy);
    yyjson_mut_doc_free(doc);
    return gates;
}

#define LISTS                                                                                      \
    "{type: object, properties: {ports: {type: array, x-kubernetes-list-type: map, "               \
    "x-kubernetes-list-map-keys: [name], items: {type: object, required: [name], properties: "     \
    "{name: {type: string}, port: {type: integer, default: 80}}}}, args: {type: array, items: "    \
    "{type: string}}}}"
#define ITEMS(members)                                                                             \
    "{type: object, properties: {args: {type: array, items: {type: object, required: [must], "     \
    "properties: {must: {type: string}" members "}}}}}"
#define ANY_ITEMS                                                                                  \
    "{type: object, properties: {any: {type: object, x-kubernetes-preserve-unknown-fields: "       \
    "true}}}"
#define MAPS                                                                                       \
    "{type: object, properties: {limits: {type: object, additionalProperties: {type: object, "     \
    "properties: {cpu: {type: integer, default: 1}, mem: {type: integer}}}}, "                     \
    "labels: {type: object, additionalProperties: {type: string}}, "                               \
    "any: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {a: {type: "      \
    "object, properties: {b: {type: string}}}}}}}"
#define EMBEDDED                                                                                   \
    "{type: object, properties: {pod: {type: object, x-kubernetes-embedded-resource: true, "       \
    "properties: {spec: {type: object}}}}}"
#define SCALE(path)                                                                                \
    "{scale: {specReplicasPath: " path ", statusReplicasPath: .status.replicas}, status: {}}"

/* Findings are written "Kind version", those that refuse with a "!". */
static const struct row {
    const char *name, *stage, *path;
    struct crd_row crd;
    const char *findings, *message; /* message: within the first one */
} rows[] = {
    {"a plain field", "alpha", ".spec.replicas", {.spec = REPLICAS}, "", ""},
    {"V13: no such field",
     "alpha",
     ".spec.replcas",
     {.spec = REPLICAS},
     "Unresolved v1",
     ".spec.replcas is no field of version v1, which is stored: \"spec\" has no field "
     "\"replcas\"; did you mean \"replicas\"?"},
    {"V13: below a scalar",
     "alpha",
     ".spec.replicas.max",
     {.spec = REPLICAS},
     "Unresolved v1",
     ".spec.replicas.max is no field"},
    {"V13: a name with dots",
     "alpha",
     ".spec['a.b'].c",
     {.spec = REPLICAS},
     "Unresolved v1",
     ".spec has no such member"},
    {"V14: required",
     "alpha",
     ".spec.replicas",
     {.spec =
          "{type: object, required: [image, replicas], properties: {replicas: {type: integer}}}"},
     "Required v1!",
     "version v1 requires .spec.replicas: once it is dropped, every create fails"},
    {"V14: a sibling is required",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, required: [image], properties: {replicas: {type: integer}}}"},
     "",
     ""},
    {"V14: required at the root",
     "alpha",
     ".spec",
     {.spec = REPLICAS, .root = "required: [spec],"},
     "Required v1!",
     "requires .spec"},
    {"V14: the parent is required",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .root = "required: [spec],"},
     "",
     ""},
    {"V14: required by allOf",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, allOf: [{required: [replicas]}], properties: {replicas: {type: "
              "integer}}}"},
     "Required v1!",
     "requires"},
    {"V14: required by allOf from above",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .root = "allOf: [{properties: {spec: {required: [replicas]}}}],"},
     "Required v1!",
     "requires"},
    {"V14: required by an alternative",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, oneOf: [{required: [replicas]}, {required: [image]}], properties: "
              "{replicas: {type: integer}}}"},
     "Required v1",
     "an alternative of version v1"},
    {"V14: required by all alternatives",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, anyOf: [{required: [replicas]}, {required: [image, replicas]}], "
              "properties: "
              "{replicas: {type: integer}}}"},
     "Required v1!",
     "requires"},
    {"V14: stable gates are open",
     "stable",
     ".spec.replicas",
     {.spec = "{type: object, required: [replicas], properties: {replicas: {type: integer, "
              "default: 1}}}"},
     "",
     ""},
    {"V15: a default",
     "beta",
     ".spec.replicas",
     {.spec = "{type: object, properties: {replicas: {type: integer, default: 1}}}"},
     "Defaulted v1!",
     ".spec.replicas has a default in version v1, which puts it back"},
    {"V15: a default of null",
     "alpha",
     ".spec.replicas",
     {.spec =
          "{type: object, properties: {replicas: {type: integer, nullable: true, default: null}}}"},
     "Defaulted v1!",
     "has a default"},
    {"V15: above",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, default: {replicas: 1}, properties: {replicas: {type: integer}}}"},
     "Defaulted v1!",
     ".spec, above .spec.replicas, has a default"},
    {"V15: above, without the field",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, default: {a: 1}, properties: {replicas: {type: integer}, a: {type: "
              "integer}}}"},
     "",
     ""},
    {"V15: below",
     "alpha",
     ".spec.scale",
     {.spec = "{type: object, properties: {scale: {type: object, properties: {m: {type: object, "
              "properties: {max: {type: integer, default: 3}}}}}}}"},
     "",
     ""},
    {"V15: above, in the items of a default",
     "alpha",
     ".spec.l[*].m",
     {.spec = "{type: object, properties: {l: {type: array, default: [{}, {m: 1}], items: {type: "
              "object, properties: {m: {type: integer}}}}}}"},
     "Defaulted v1!",
     ".spec.l, above .spec.l[*].m, has a default"},
    {"V15: above, in no item of a default",
     "alpha",
     ".spec.l[*].m",
     {.spec = "{type: object, properties: {l: {type: array, default: [{}], items: {type: object, "
              "properties: {m: {type: integer}}}}}}"},
     "",
     ""},
    {"V15: of a sibling",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, properties: {replicas: {type: integer}, image: {type: string, "
              "default: a}}}"},
     "",
     ""},
    {"V15: in the items of a list", "alpha", ".spec.ports", {.spec = LISTS}, "", ""},
    {"V15: in the values of a map", "alpha", ".spec.limits", {.spec = MAPS}, "", ""},
    {"V15: of the values of a map",
     "alpha",
     ".spec.limits[*].cpu",
     {.spec = MAPS},
     "Defaulted v1!",
     ".spec.limits[*].cpu has a default in version v1"},
    {"the values of a map", "alpha", ".spec.limits[*].mem", {.spec = MAPS}, "", ""},
    {"V13: no such member of the values of a map",
     "alpha",
     ".spec.limits[*].men",
     {.spec = MAPS},
     "Unresolved v1",
     ".spec.limits[*] has no such member"},
    {"V13: neither a list nor a map",
     "alpha",
     ".spec[*].replicas",
     {.spec = REPLICAS},
     "Unresolved v1",
     ".spec is neither a list nor a map"},
    {"the items of a list",
     "alpha",
     ".spec.args[*].a",
     {.spec = ITEMS(", a: {type: string}")},
     "",
     ""},
    {"V14: in the items of a list",
     "alpha",
     ".spec.args[*].must",
     {.spec = ITEMS("")},
     "Required v1!",
     "version v1 requires .spec.args[*].must"},
    {"V16: a key of the items of a list",
     "alpha",
     ".spec.ports[*].name",
     {.spec = LISTS},
     "Key v1!",
     ".spec.ports[*].name distinguishes the items of .spec.ports"},
    {"V17: items below what is not declared",
     "alpha",
     ".spec.any.list[*].a",
     {.spec = MAPS},
     "Unverified v1!",
     "whether [*] of .spec.any.list[*].a is of a list or of a map is not known"},
    {"V17: items of what is not declared",
     "alpha",
     ".spec.any[*].a",
     {.spec = ANY_ITEMS},
     "Unverified v1!",
     "is not known"},
    {"V17: below items, what is not declared",
     "alpha",
     ".spec.args[*].free.a",
     {.spec = ITEMS(", free: {type: object, x-kubernetes-preserve-unknown-fields: true}")},
     "Unverified v1",
     "keeps fields that are not declared"},
    {"V14 and V15",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, required: [replicas], properties: {replicas: {type: integer, "
              "default: 1}}}"},
     "Required v1! Defaulted v1!",
     ""},
    {"V16: a key of a list",
     "alpha",
     ".spec.ports.name",
     {.spec = LISTS},
     "Key v1!",
     ".spec.ports.name distinguishes the items of .spec.ports"},
    {"into a list",
     "alpha",
     ".spec.ports.port",
     {.spec = LISTS},
     "InList v1!",
     ".spec.ports is a list: write .spec.ports[*] for all of its items, or gate .spec.ports as a "
     "whole"},
    {"into a list of scalars", "alpha", ".spec.args.x", {.spec = LISTS}, "InList v1!", ""},
    {"a whole list", "alpha", ".spec.args", {.spec = LISTS}, "", ""},
    {"V17: unknown fields are kept",
     "alpha",
     ".spec.any.x.y",
     {.spec = MAPS},
     "Unverified v1",
     "whether .spec.any.x.y is a field of version v1 is not known: .spec.any keeps"},
    {"V17: declared among unknown", "alpha", ".spec.any.a.b", {.spec = MAPS}, "", ""},
    {"V17: below declared among unknown",
     "alpha",
     ".spec.any.a.c",
     {.spec = MAPS},
     "Unresolved v1",
     ""},
    {"V17: a key of a map",
     "alpha",
     ".spec.labels['k8s.io/tier']",
     {.spec = MAPS},
     "MapKey v1",
     ".spec.labels['k8s.io/tier'] names one key of a map"},
    {"V17: through a map", "alpha", ".spec.limits['a'].mem", {.spec = MAPS}, "MapKey v1", ""},
    {"V17: a default through a map",
     "alpha",
     ".spec.limits['a'].cpu",
     {.spec = MAPS},
     "Defaulted v1! MapKey v1",
     ""},
    {"V17: nothing is pruned",
     "alpha",
     ".spec.x.y",
     {.spec = REPLICAS, .more = "  preserveUnknownFields: true\n"},
     "Unverified v1",
     ""},
    {"embedded: kind", "alpha", ".spec.pod.kind", {.spec = EMBEDDED}, "Required v1!", ""},
    {"embedded: metadata", "alpha", ".spec.pod.metadata", {.spec = EMBEDDED}, "", ""},
    {"embedded: below metadata",
     "alpha",
     ".spec.pod.metadata.labels",
     {.spec = EMBEDDED},
     "Unverified v1",
     ""},
    {"two versions have it",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = REPLICAS},
     "",
     ""},
    {"None, and v2 lacks it",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object, properties: {image: {type: string}}}"},
     "NotInVersion v2~",
     "version v2 is served without .spec.replicas: a write through it erases what is stored"},
    {"None, v2 lacks it, and the gate is on",
     "beta",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object, properties: {image: {type: string}}}"},
     "NotInVersion v2",
     "erases what is stored there; add the field to v2"},
    {"None, v2 lacks it, and has a /status that the stored version lacks",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object}", .sub2 = "{status: {}}"},
     "NotInVersion v2~",
     "so that updates through it are denied while the gate is off"},
    {"None, v2 lacks it, and has a /scale that the stored version lacks",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object}", .sub2 = SCALE(".spec.size")},
     "NotInVersion v2~",
     ""},
    {"None, v2 lacks it, and has a /scale of it",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object}", .sub2 = SCALE(".spec.replicas")},
     "NotInVersion v2~",
     ""},
    {"None, v2 lacks it, and requires it",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object, required: [replicas]}"},
     "NotInVersion v2~",
     ""},
    {"None, v2 lacks it, and has a default above that has it",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object, default: {replicas: 1}}"},
     "NotInVersion v2~",
     ""},
    {"None, v2 lacks it, converted, and has a /scale of it that the stored version lacks",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS,
      .spec2 = "{type: object}",
      .strategy = "Webhook",
      .sub2 = SCALE(".spec.replicas")},
     "ScaleByVersion v2! NotInVersion v2",
     ""},
    {"None, v2 lacks it, and the stored version has a default",
     "alpha",
     ".spec.replicas",
     {.spec = "{type: object, properties: {replicas: {type: integer, default: 1}}}",
      .spec2 = "{type: object}"},
     "Defaulted v1! NotInVersion v2",
     "has a default"},
    {"None, and v2 keeps unknown fields",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object, x-kubernetes-preserve-unknown-fields: true}"},
     "",
     ""},
    {"None, and v2 has a list there",
     "alpha",
     ".spec.any.a",
     {.spec = MAPS,
      .spec2 = "{type: object, properties: {any: {type: array, items: {type: string}}}}"},
     "NotInVersion v2~",
     ""},
    {"Webhook, and v2 lacks it",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object}", .strategy = "Webhook"},
     "NotInVersion v2",
     "the conversion webhook must keep the field in writes through this version"},
    {"stable, and v2 lacks it",
     "stable",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = "{type: object}"},
     "",
     ""},
    {"v2 has a default",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS,
      .spec2 = "{type: object, properties: {replicas: {type: integer, default: 2}}}"},
     "Defaulted v2!",
     "in version v2"},
    {"v2 requires it",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS,
      .spec2 = "{type: object, required: [replicas], properties: {replicas: {type: integer}}}"},
     "Required v2!",
     "version v2 requires"},
    {"only v2 has it",
     "alpha",
     ".spec.size",
     {.spec = REPLICAS, .spec2 = "{type: object, properties: {size: {type: integer}}}"},
     "Unresolved v1",
     ""},
    {"one /scale",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS,
      .spec2 = REPLICAS,
      .sub = SCALE(".spec.replicas"),
      .sub2 = SCALE(".spec.replicas")},
     "",
     ""},
    {"two of /scale",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS,
      .spec2 = REPLICAS,
      .sub = SCALE(".spec.replicas"),
      .sub2 = SCALE(".spec.size")},
     "ScaleByVersion v2!",
     "/scale of version v2 sets .spec.size, that of others .spec.replicas"},
    {"two of /scale, above both",
     "alpha",
     ".spec",
     {.spec = REPLICAS,
      .spec2 = REPLICAS,
      .sub = SCALE(".spec.replicas"),
      .sub2 = SCALE(".spec.size")},
     "ScaleByVersion v2!",
     ""},
    {"two of /scale, converted",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS,
      .spec2 = REPLICAS,
      .strategy = "Webhook",
      .sub = SCALE(".spec.replicas"),
      .sub2 = SCALE(".spec.size")},
     "ScaleByVersion v2",
     "conversion webhook"},
    {"two of /scale, another field",
     "alpha",
     ".spec.image",
     {.spec = REPLICAS,
      .spec2 = REPLICAS,
      .sub = SCALE(".spec.replicas"),
      .sub2 = SCALE(".spec.size")},
     "",
     ""},
    {"/scale of v2 alone",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = REPLICAS, .sub = "{status: {}}", .sub2 = SCALE(".spec.replicas")},
     "ScaleByVersion v2!",
     "version v2 has the subresource scale, which sets .spec.replicas, and the stored version has "
     "none"},
    {"/scale of v2 alone, converted",
     "alpha",
     ".spec",
     {.spec = REPLICAS,
      .spec2 = REPLICAS,
      .strategy = "Webhook",
      .sub = "{status: {}}",
      .sub2 = SCALE(".spec.replicas")},
     "ScaleByVersion v2!",
     ""},
    {"/scale of v2 alone, another field",
     "alpha",
     ".spec.image",
     {.spec = REPLICAS, .spec2 = REPLICAS, .sub = "{status: {}}", .sub2 = SCALE(".spec.replicas")},
     "",
     ""},
    {"/scale of v1 alone",
     "alpha",
     ".spec.replicas",
     {.spec = REPLICAS, .spec2 = REPLICAS, .sub = SCALE(".spec.replicas"), .sub2 = "{status: {}}"},
     "",
     ""},
    {"status",
     "alpha",
     ".status.phase",
     {.spec = REPLICAS, .spec2 = REPLICAS, .sub = "{status: {}}", .sub2 = "{status: {}}"},
     "",
     ""},
    {"one with /status, one without",
     "alpha",
     ".status.phase",
     {.spec = REPLICAS, .spec2 = REPLICAS, .sub = "{status: {}}"},
     "StatusByVersion v2!",
     "version v2 has no"},
    {"one with /status, spec",
     "alpha",
     ".spec.image",
     {.spec = REPLICAS, .spec2 = REPLICAS, .sub = "{status: {}}"},
     "",
     ""},
};

static void list_findings(const struct ek_gates_resolution *r, struct ek_buf *out)
{
    for (size_t i = 0; i < r->n_findings; i++) {
        const struct ek_gate_finding *f = &r->findings[i];
        ek_buf_printf(out, "%s%s %s%s", i ? " " : "", ek_gate_finding_name(f->kind), f->version,
                      f->refused   ? "!"
                      : f->guarded ? "~"
                                   : "");
    }
}

START_TEST(resolve_row)
{
    const struct row *row = &rows[_i];
    yyjson_doc *crd = make_crd(&row->crd);
    const struct ek_gates *gates = make_gates(row->stage, row->path);
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_gates_resolution r;
    struct ek_err err = {0};
    EK_AUTO(ek_buf) got;

    ek_buf_init(&got, 1 << 16);
    ck_assert_msg(gates->n_problems == 0, "%s: %s", row->name,
                  gates->n_problems ? gates->problems[0] : "");
    int rc = ek_gates_resolve(gates, yyjson_doc_get_root(crd), arena, &r, &err);
    ck_assert_msg(!rc, "%s: %s", row->name, err.message);
    list_findings(&r, &got);
    ck_assert_msg(!strcmp(ek_buf_str(&got), row->findings), "%s: '%s', not '%s'", row->name,
                  ek_buf_str(&got), row->findings);
    ck_assert_msg(!*row->message || strstr(r.findings[0].message, row->message), "%s: %s",
                  row->name, r.n_findings ? r.findings[0].message : "");
    ck_assert_msg((r.crd.shape.n_lacks == 1) == (strchr(row->findings, '~') != NULL),
                  "%s: %zu guarded", row->name, r.crd.shape.n_lacks);
    ck_assert_msg((r.n_refused == 1) == (strchr(row->findings, '!') != NULL), "%s: %zu refused",
                  row->name, r.n_refused);
    ek_arena_free(arena);
    ek_gates_unref(gates);
    yyjson_doc_free(crd);
}
END_TEST

START_TEST(the_definition)
{
    const struct crd_row row = {
        .spec = REPLICAS, .spec2 = REPLICAS, .strategy = "Webhook", .sub = SCALE(".spec.replicas")};
    yyjson_doc *crd = make_crd(&row);
    const struct ek_gates *gates = make_gates("alpha", ".spec.image");
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_gates_resolution r;

    ck_assert_int_eq(ek_gates_resolve(gates, yyjson_doc_get_root(crd), arena, &r, NULL), 0);
    ck_assert_str_eq(r.crd.group, "stable.example.com");
    ck_assert_str_eq(r.crd.plural, "crontabs");
    ck_assert_str_eq(r.crd.kind, "CronTab");
    ck_assert_str_eq(r.crd.storage, "v1");
    ck_assert(r.crd.namespaced && r.crd.established && r.crd.converts && r.crd.shape.has_status);
    ck_assert_str_eq(r.crd.shape.replicas->text, ".spec.replicas");
    ck_assert_uint_eq(r.crd.n_served, 2);
    ck_assert_str_eq(r.crd.served[0], "v2");
    ek_arena_free(arena);
    ek_gates_unref(gates);
    yyjson_doc_free(crd);
}
END_TEST

static const struct bad_row {
    const char *name, *crd;
    int code;
    const char *message;
} bad_rows[] = {
    {"a Pod", "{apiVersion: v1, kind: Pod}", EK_E_PARSE,
     "no CustomResourceDefinition of apiextensions.k8s.io/v1, but v1, Kind=Pod"},
    {"v1beta1", "{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition}",
     EK_E_PARSE, "but apiextensions.k8s.io/v1beta1, Kind="},
    {"nothing", "{}", EK_E_PARSE, "but something else"},
    {"no versions", "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}",
     EK_E_PARSE, "no storage version"},
    {"versions of another kind",
     "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {versions: [1, "
     "{name: 2, schema: []}, {storage: 1}]}}",
     EK_E_PARSE, "no storage version"},
};

START_TEST(bad_row)
{
    const struct bad_row *row = &bad_rows[_i];
    const struct ek_gates *gates = make_gates("alpha", ".spec.image");
    struct ek_arena *arena = ek_arena_new(1 << 20);
    struct ek_gates_resolution r;
    struct ek_err err = {0};
    yyjson_doc *crd = NULL;

    ck_assert_int_eq(ek_yaml_parse(row->crd, strlen(row->crd), 1 << 20, &crd, NULL), 0);
    int rc = ek_gates_resolve(gates, yyjson_doc_get_root(crd), arena, &r, &err);
    ck_assert_msg(rc == row->code && strstr(err.message, row->message), "%s: %d, %s", row->name, rc,
                  err.message);
    ek_arena_free(arena);
    ek_gates_unref(gates);
    yyjson_doc_free(crd);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("resolve");

    tcase_add_loop_test(tc, resolve_row, 0, (int)EK_ARRAY_SIZE(rows));
    tcase_add_test(tc, the_definition);
    tcase_add_loop_test(tc, bad_row, 0, (int)EK_ARRAY_SIZE(bad_rows));
    return ek_test_run("gates_resolve", tc);
}
