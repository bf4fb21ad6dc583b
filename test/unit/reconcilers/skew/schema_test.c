/* SPDX-License-Identifier: Apache-2.0 */
/* The status that is written against the schema that deploy/crd describes, both ways round. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/base/time.h"
#include "api/yaml.h"
#include "reconcilers/peers/view.h"
#include "test/support/skew_plans.h"
#include "test/support/skew_scripts.h"
#include "test/support/suite.h"

static yyjson_doc *crd;

static void load_crd(void)
{
    static char text[1 << 17];
    struct ek_err err = {0};
    FILE *file = fopen(EK_TEST_DATA "/../../deploy/crd/evenkeel.dev_controlplanes.yaml", "r");
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, sizeof(text), file);
    fclose(file);
    ck_assert_uint_lt(len, sizeof(text));
    ck_assert_msg(ek_yaml_parse(text, len, 1 << 20, &crd, &err) == 0, "%s", err.message);
}

static void free_crd(void)
{
    yyjson_doc_free(crd);
}

static yyjson_val *schema(void)
{
    yyjson_val *versions = ek_json_get(yyjson_doc_get_root(crd), "spec", "versions", NULL);
    return ek_json_get(yyjson_arr_get_first(versions), "schema", "openAPIV3Schema", NULL);
}

static bool is_type(yyjson_val *value, const char *type)
{
    if (strcmp(type, "object") == 0)
        return yyjson_is_obj(value);
    if (strcmp(type, "array") == 0)
        return yyjson_is_arr(value);
    if (strcmp(type, "string") == 0)
        return yyjson_is_str(value);
    return strcmp(type, "boolean") == 0 ? yyjson_is_bool(value) : yyjson_is_int(value);
}

static void check_value(yyjson_val *value, yyjson_val *s, const char *path);

static void check_object(yyjson_val *value, yyjson_val *s, const char *path)
{
    size_t i, max;
    yyjson_val *key, *member, *name;
    char at[512];
    ek_json_each_member(value, i, max, key, member)
    {
        const char *field = yyjson_get_str(key);
        snprintf(at, sizeof(at), "%s.%s", path, field ? field : "");
        yyjson_val *known = ek_json_get(s, "properties", field, NULL);
        if (!known)
            known = ek_json_get(s, "additionalProperties", NULL);
        ck_assert_msg(known != NULL, "%s is not in the schema", at);
        check_value(member, known, at);
    }
    yyjson_arr_foreach(ek_json_get(s, "required", NULL), i, max, name)
    {
        ck_assert_msg(yyjson_obj_get(value, yyjson_get_str(name)) != NULL, "%s lacks %s", path,
                      yyjson_get_str(name));
    }
}

static void check_array(yyjson_val *value, yyjson_val *s, const char *path)
{
    size_t i, max;
    yyjson_val *item;
    char at[512];
    yyjson_val *limit = ek_json_get(s, "maxItems", NULL);
    ck_assert_msg(limit && yyjson_arr_size(value) <= yyjson_get_uint(limit), "%s: %zu items", path,
                  yyjson_arr_size(value));
    ck_assert_msg(ek_json_str(s, "x-kubernetes-list-type", NULL) != NULL, "%s: no list type", path);
    yyjson_arr_foreach(value, i, max, item)
    {
        snprintf(at, sizeof(at), "%s[%zu]", path, i);
        check_value(item, ek_json_get(s, "items", NULL), at);
    }
}

static void check_value(yyjson_val *value, yyjson_val *s, const char *path)
{
    size_t i, max;
    yyjson_val *item, *allowed = ek_json_get(s, "enum", NULL);
    const char *type = ek_json_str(s, "type", NULL), *format = ek_json_str(s, "format", NULL);
    bool found = !allowed;
    ck_assert_msg(type && is_type(value, type), "%s: not of type %s", path, type ? type : "(none)");
    yyjson_arr_foreach(allowed, i, max, item)
    {
        found = found || ek_json_equal(item, value);
    }
    ck_assert_msg(found, "%s: %s is not in the enum", path, yyjson_get_str(value));
    if (format && strcmp(format, "date-time") == 0)
        ck_assert_msg(ek_time_parse(yyjson_get_str(value)) != EK_TIME_UNSET, "%s: no time", path);
    if (yyjson_is_obj(value))
        check_object(value, s, path);
    if (yyjson_is_arr(value))
        check_array(value, s, path);
}

static const struct {
    const char *name, *facts, *spec;
} schema_rows[] = {
    {"fine", FINE, NULL},
    {"nothing", "", NULL},
    {"everything", RICH, "{\"nextVersion\":\"1.38\"}"},
    {"controllers unseen", A, NULL},
    {"documents of long ago", FINE "forget cp-b discovery 61\n", NULL},
    {"no common range, alpha under emulation, gates of a component",
     "peer cp-a v1.36.2/1.36/1.36\npeer cp-b v1.36.2/1.34/1.33\ngates cp-b X=alpha\n"
     "inst kube-scheduler sched 1.36.2/1.34\nflags sched X=off\n",
     NULL},
    {"other verbs, and stale groups",
     "peer cp-a v1.36.2/1.36/1.36\npeer cp-b v1.36.2/1.36/1.35\n"
     "serves cp-a core/v1/pods:get m.io/v1!/ms\nserves cp-b core/v1/pods:list\n",
     NULL},
    {"static admission manifests",
     FINE "peer cp-c v1.36.2/1.36/1.35\nmanifests cp-a P=1\nmanifests cp-b P=2\nmanifests cp-c\n",
     NULL},
    {"unlisted", "unlisted forbidden\n", NULL},
};

START_TEST(schema_row)
{
    EK_AUTO(ek_test_plans) p;
    EK_AUTOPTR(ek_view, ek_view_unref) *documents = ek_test_documents("cp-a cp-b-");
    ek_test_plans_init(&p);
    p.documents = documents;
    ek_test_plans_step(&p, schema_rows[_i].facts, schema_rows[_i].spec);
    yyjson_val *object = ek_obj_root(p.object), *fields = ek_json_get(schema(), "properties", NULL);
    check_value(ek_json_get(object, "status", NULL), yyjson_obj_get(fields, "status"),
                schema_rows[_i].name);
    check_value(ek_json_get(object, "spec", NULL), yyjson_obj_get(fields, "spec"),
                schema_rows[_i].name);
    ck_assert(ek_json_get(ek_test_plans_status(&p), "observedGeneration", NULL) != NULL);
}
END_TEST

static void find_used(yyjson_val *value, yyjson_val *s, yyjson_mut_doc *doc, yyjson_mut_val *used)
{
    size_t i, max;
    yyjson_val *key, *member;
    ek_json_each_member(value, i, max, key, member)
    {
        char name[64];
        snprintf(name, sizeof(name), "%p",
                 (void *)ek_json_get(s, "properties", yyjson_get_str(key), NULL));
        if (!yyjson_mut_obj_get(used, name))
            yyjson_mut_obj_add(used, yyjson_mut_strcpy(doc, name), yyjson_mut_true(doc));
        find_used(member, ek_json_get(s, "properties", yyjson_get_str(key), NULL), doc, used);
    }
    yyjson_arr_foreach(value, i, max, member)
    {
        find_used(member, ek_json_get(s, "items", NULL), doc, used);
    }
}

static void check_used(yyjson_val *s, yyjson_mut_val *used, const char *path)
{
    size_t i, max;
    yyjson_val *key, *member;
    ek_json_each_member(ek_json_get(s, "properties", NULL), i, max, key, member)
    {
        char at[256], name[64];
        snprintf(at, sizeof(at), "%s.%s", path, yyjson_get_str(key));
        snprintf(name, sizeof(name), "%p", (void *)member);
        ck_assert_msg(yyjson_mut_obj_get(used, name) != NULL, "%s is described but never written",
                      at);
        check_used(member, used, at);
        check_used(ek_json_get(member, "items", NULL), used, at);
    }
}

/* The other way round: the schema describes nothing that is never written. */
START_TEST(the_schema_describes_what_is_written)
{
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *used = yyjson_mut_obj(doc);
    yyjson_val *status = ek_json_get(schema(), "properties", "status", NULL);
    for (size_t i = 0; i < EK_ARRAY_SIZE(schema_rows); i++) {
        EK_AUTO(ek_test_plans) p;
        EK_AUTOPTR(ek_view, ek_view_unref) *documents = ek_test_documents("cp-a cp-b-");
        ek_test_plans_init(&p);
        p.documents = documents;
        ek_test_plans_step(&p, schema_rows[i].facts, schema_rows[i].spec);
        find_used(ek_test_plans_status(&p), status, doc, used);
    }
    /* omitted appears with large clusters only: see the plan's tests. */
    char name[64];
    snprintf(name, sizeof(name), "%p", (void *)ek_json_get(status, "properties", "omitted", NULL));
    yyjson_mut_obj_add(used, yyjson_mut_strcpy(doc, name), yyjson_mut_true(doc));
    check_used(status, used, "status");
    yyjson_mut_doc_free(doc);
}
END_TEST

static void check_described(yyjson_val *s, const char *path)
{
    size_t i, max;
    yyjson_val *key, *member;
    ek_json_each_member(ek_json_get(s, "properties", NULL), i, max, key, member)
    {
        char at[256];
        snprintf(at, sizeof(at), "%s.%s", path, yyjson_get_str(key));
        bool standard = strcmp(at, ".apiVersion") == 0 || strcmp(at, ".kind") == 0 ||
                        strcmp(at, ".metadata") == 0;
        ck_assert_msg(standard || ek_json_str(member, "description", NULL), "%s: not described",
                      at);
        check_described(member, at);
        check_described(ek_json_get(member, "items", NULL), at);
    }
}

START_TEST(every_field_is_described)
{
    check_described(schema(), "");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("all");

    tcase_add_checked_fixture(tc, load_crd, free_crd);
    tcase_add_loop_test(tc, schema_row, 0, (int)EK_ARRAY_SIZE(schema_rows));
    tcase_add_test(tc, the_schema_describes_what_is_written);
    tcase_add_test(tc, every_field_is_described);
    return ek_test_run("skew_schema", tc);
}
