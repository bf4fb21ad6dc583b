/* SPDX-License-Identifier: Apache-2.0 */
/* Served resources and storage versions, against what an API server 1.36.2 listed and stored. */
#include "reconcilers/plan/apis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/obj.h"
#include "test/support/jsonlines.h"
#include "test/support/suite.h"

static struct ek_plan_data data;
static struct ek_arena *arena;
static yyjson_doc *recorded;

static void open_data(void)
{
    ck_assert_int_eq(ek_plan_data_open((struct ek_str){0}, &data, NULL), 0);
    arena = ek_arena_new((size_t)64 << 20);
    recorded = jsonlines_document(EK_SHARED_DATA "/versions/api_lifecycle.json");
}

static void close_data(void)
{
    yyjson_doc_free(recorded);
    ek_arena_free(arena);
    ek_plan_data_done(&data);
}

/* "apps/v1/deployments" lines of what is served, as a set in one sorted text. */
static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

#define LINES_MAX 512
struct lines {
    const char *list[LINES_MAX];
    size_t n;
};

static void add_line(struct lines *lines, const char *text)
{
    ck_assert_uint_lt(lines->n, LINES_MAX);
    lines->list[lines->n++] = text;
}

static const char *gv_of(const struct ek_api_row *row)
{
    return *row->group ? ek_arena_printf(arena, "%s/%s", row->group, row->version) : row->version;
}

static void list_served(const bool *served, struct lines *ret)
{
    *ret = (struct lines){.n = 0};
    for (size_t i = 0; i < data.n_resources; i++) {
        const struct ek_api_row *row = &data.resources[i];
        yyjson_val *sub;
        size_t k, n;
        if (!served[i])
            continue;
        add_line(ret, ek_arena_printf(arena, "%s/%s", gv_of(row), row->resource));
        yyjson_arr_foreach(row->subresources, k, n, sub)
        {
            add_line(ret, ek_arena_printf(arena, "%s/%s/%s", gv_of(row), row->resource,
                                          yyjson_get_str(sub)));
        }
    }
    qsort(ret->list, ret->n, sizeof(char *), by_text);
}

static void list_recorded(yyjson_val *groups, yyjson_val *adds, struct lines *ret)
{
    yyjson_val *gv, *names, *name;
    size_t i, n, k, m;

    *ret = (struct lines){.n = 0};
    ek_json_each_member(groups, i, n, gv, names)
    {
        yyjson_arr_foreach(names, k, m, name)
        {
            add_line(ret,
                     ek_arena_printf(arena, "%s/%s", yyjson_get_str(gv), yyjson_get_str(name)));
        }
    }
    yyjson_arr_foreach(adds, k, m, name)
    {
        add_line(ret, yyjson_get_str(name));
    }
    qsort(ret->list, ret->n, sizeof(char *), by_text);
}

static void compare_lines(const char *what, const struct lines *want, const struct lines *got)
{
    for (size_t i = 0; i < want->n || i < got->n; i++)
        ck_assert_msg(i < want->n && i < got->n && !strcmp(want->list[i], got->list[i]),
                      "%s: recorded %s, we say %s", what, i < want->n ? want->list[i] : "nothing",
                      i < got->n ? got->list[i] : "nothing");
}

/* The recorded sets, and the flags that they were recorded with. */
static const struct {
    const char *set, *adds, *runtime_config, *gates;
    bool forward, runtime_forward;
} sets[] = {
    {"default", NULL, "", "", false, false},
    {"default", NULL, "", "", true, false},
    {"default", NULL, " batch/v1 = 1 ,,apps/v1=T,v1=x,api/v1/pods= True,policy/v1", "", false,
     false},
    {"api_all", NULL, "api/all=true", "StorageVersionAPI=true", false, false},
    {"api_all", NULL, "api/all=true", "StorageVersionAPI=true", false, true},
    {"api_all_and_all_gates", NULL, "api/all=true",
     "AllAlpha=true,AllBeta=true,StorageVersionAPI=false", false, false},
    {"api_beta", NULL, "api/beta=true", "", false, false},
    {"api_beta", "api_beta_emulation_forward_compatible_adds", "api/beta=true", "", true, false},
};

START_TEST(served_sets_are_those_of_the_server)
{
    yyjson_val *version, *at;
    size_t i, n, compared = 0;

    ek_json_each_member(yyjson_obj_get(yyjson_doc_get_root(recorded), "served"), i, n, version, at)
    {
        struct ek_minor emulation = ek_minor_parse(yyjson_get_str(version));
        bool emulates = ek_minor_cmp(emulation, data.binary) < 0;
        yyjson_val *groups = yyjson_obj_get(at, sets[_i].set);
        if (!groups || (!emulates && (sets[_i].forward || sets[_i].runtime_forward)))
            continue;
        struct ek_features features;
        struct ek_feature_problems problems;
        ek_features_init(&features, &data.features, arena, emulation, EK_MINOR_UNKNOWN);
        ek_features_set(&features, ek_str_from(sets[_i].gates), &problems);
        ck_assert_uint_eq(problems.n, 0);
        struct ek_api_config config = {emulation,
                                       emulates,
                                       sets[_i].runtime_config,
                                       sets[_i].forward,
                                       sets[_i].runtime_forward,
                                       &features,
                                       .no_fairness = false};
        bool *served = ek_arena_alloc(arena, data.n_resources);
        struct lines want, got;
        ck_assert_ptr_null(ek_api_served(&data, &config, arena, served));
        list_served(served, &got);
        list_recorded(groups, sets[_i].adds ? yyjson_obj_get(at, sets[_i].adds) : NULL, &want);
        compare_lines(ek_arena_printf(arena, "%s at %s", sets[_i].set, yyjson_get_str(version)),
                      &want, &got);
        compared++;
    }
    ck_assert_uint_ge(compared, 2);
}
END_TEST

/* Flags that the recorded server refused. */
static const struct {
    const char *name, *emulation, *runtime_config;
    bool forward, runtime_forward;
    const char *want; /* NULL: starts */
} refusals[] = {
    {"not yet introduced", "1.33", "resource.k8s.io/v1=true", false, false,
     "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have "
     "been introduced after the current version 1.33. Consider setting "
     "--runtime-config-emulation-forward-compatible=true"},
    {"not yet introduced, forward", "1.33", "resource.k8s.io/v1=true", false, true, NULL},
    {"introduced", "1.34", "resource.k8s.io/v1=true", false, false, NULL},
    {"not yet introduced, behind a gate that is off", "1.34",
     "storagemigration.k8s.io/v1beta1=true", false, false, NULL},
    {"not yet introduced, 1", "1.33", "resource.k8s.io/v1=1", false, false,
     "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have "
     "been introduced after the current version 1.33. Consider setting "
     "--runtime-config-emulation-forward-compatible=true"},
    {"not yet introduced, True", "1.33", "resource.k8s.io/v1=True", false, false,
     "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have "
     "been introduced after the current version 1.33. Consider setting "
     "--runtime-config-emulation-forward-compatible=true"},
    {"not yet introduced, a blank", "1.33", "api/ga=true, resource.k8s.io/v1=true", false, false,
     "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have "
     "been introduced after the current version 1.33. Consider setting "
     "--runtime-config-emulation-forward-compatible=true"},
    {"not yet introduced, without a value", "1.33", "resource.k8s.io/v1", false, false,
     "cannot enable version resource.k8s.io/v1 in runtime-config because all the resources have "
     "been introduced after the current version 1.33. Consider setting "
     "--runtime-config-emulation-forward-compatible=true"},
    {"the last value counts", "1.33", "resource.k8s.io/v1=true,resource.k8s.io/v1=F", false, false,
     NULL},
    {"a version that went", "1.36", "autoscaling/v2beta2=false", false, false,
     "group version autoscaling/v2beta2 that has not been registered"},
    {"an unknown group", "1.36", "foo/v1=true", false, false, "unknown api groups foo/v1"},
    {"unknown groups, sorted", "1.36", "foo/v1=true,bar/v2/things=1,foo/v1", false, false,
     "unknown api groups bar/v2,foo/v1"},
    {"all APIs off", "1.36", "api/all=false", false, false,
     "--runtime-config=api/all=false conflicts with --enable-priority-and-fairness=true"},
    {"stable APIs off", "1.36", "api/ga=false,apps/v1=true", false, false,
     "--runtime-config=api/ga=false conflicts with --enable-priority-and-fairness=true"},
    {"all APIs off but for the stable ones", "1.36", "api/all=false,api/ga=true", false, false,
     NULL},
    {"no boolean for beta versions", "1.36", "api/beta=1", false, false,
     "invalid value api/beta=1"},
    {"no value for alpha versions", "1.36", "api/alpha", false, false, "invalid value api/alpha="},
    {"no boolean", "1.36", "batch/v1=yes", false, false,
     "invalid value of batch/v1: yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax"},
    {"no boolean for the core group", "1.36", "api/v1=yes", false, false,
     "invalid value of /v1: yes, err: strconv.ParseBool: parsing \"yes\": invalid syntax"},
    {"a resource in upper case", "1.36", "batch/v1/CronJobs=true", false, false,
     "invalid key batch/v1/CronJobs: group/version/resource and resource is always lowercase "
     "plural, not \"CronJobs\""},
    {"no version", "1.36", "nosuch=true", false, false, "runtime-config invalid key nosuch"},
    {"too many parts", "1.36", "apps/v1/deployments/scale=true", false, false,
     "runtime-config invalid key apps/v1/deployments/scale"},
    {"a resource that is none", "1.36", "batch/v1/nosuch=true", false, false, NULL},
    {"versions that are registered and not served", "1.36",
     "batch/v1beta1=true,policy/v1beta1=true,extensions/v1beta1/deployments=true", false, false,
     NULL},
    {"a key that is forgotten", "1.36", "api/legacy=x", false, false, NULL},
    {"forward without emulation", "1.36", "", true, false,
     "ServerRunOptions.EmulationForwardCompatible cannot be set to true if the emulation version "
     "is the same as the binary version"},
};

START_TEST(startup_errors_are_those_of_the_server)
{
    struct ek_minor emulation = ek_minor_parse(refusals[_i].emulation);
    struct ek_features features;
    bool *served = ek_arena_alloc(arena, data.n_resources);

    ek_features_init(&features, &data.features, arena, emulation, EK_MINOR_UNKNOWN);
    struct ek_api_config config = {emulation,
                                   ek_minor_cmp(emulation, data.binary) < 0,
                                   refusals[_i].runtime_config,
                                   refusals[_i].forward,
                                   refusals[_i].runtime_forward,
                                   &features,
                                   .no_fairness = false};
    const char *got = ek_api_served(&data, &config, arena, served);
    ck_assert_msg(refusals[_i].want ? got && !strcmp(got, refusals[_i].want) : !got, "%s: %s",
                  refusals[_i].name, got ? got : "starts");
}
END_TEST

START_TEST(recorded_startup_errors_have_rows)
{
    yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(recorded), "startup_errors"), *one;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, one)
    {
        bool found = false;
        for (size_t k = 0; k < EK_ARRAY_SIZE(refusals); k++)
            found |= refusals[k].want &&
                     yyjson_equals_str(yyjson_obj_get(one, "error"), refusals[k].want);
        ck_assert_msg(found, "%s", yyjson_get_str(yyjson_obj_get(one, "error")));
    }
    ck_assert_uint_gt(n, 0);
}
END_TEST

START_TEST(storage_versions_are_those_of_the_server)
{
    yyjson_val *versions, *table, *name, *stored;
    size_t i, n, k, m, compared = 0;

    ek_json_each_member(yyjson_obj_get(yyjson_doc_get_root(recorded), "storage_versions"), i, n,
                        versions, table)
    {
        struct ek_minor compat = ek_minor_parse(strchr(yyjson_get_str(versions), '/') + 1);
        ek_json_each_member(table, k, m, name, stored)
        {
            const char *text = yyjson_get_str(name), *slash = strchr(text, '/');
            const char *group = slash ? ek_arena_strndup(arena, text, (size_t)(slash - text)) : "";
            const char *got = ek_api_storage(&data, group, slash ? slash + 1 : text, compat, arena);
            ck_assert_msg(got && yyjson_equals_str(stored, got), "%s at %s: recorded %s, we say %s",
                          text, yyjson_get_str(versions), yyjson_get_str(stored),
                          got ? got : "unknown");
            compared++;
        }
    }
    ck_assert_uint_gt(compared, 500);
}
END_TEST

/* What a server stores at a minimum compatibility version, and a binary of that version does not
 * know: resources that came later in all versions, and those whose version is overridden. */
static const struct {
    const char *compat, *resource;
    size_t tables; /* recorded tables with the minimum compatibility version */
} not_decoded[] = {
    {"1.33", "admissionregistration.k8s.io/mutatingadmissionpolicies", 4},
    {"1.33", "admissionregistration.k8s.io/mutatingadmissionpolicybindings", 4},
    {"1.33", "resource.k8s.io/resourcepoolstatusrequests", 1},
    {"1.34", "resource.k8s.io/resourcepoolstatusrequests", 1},
    {"1.35", "resource.k8s.io/resourcepoolstatusrequests", 1},
};

static size_t tables_not_decoded(const char *compat, const char *resource)
{
    for (size_t i = 0; i < EK_ARRAY_SIZE(not_decoded); i++)
        if (!strcmp(not_decoded[i].compat, compat) && !strcmp(not_decoded[i].resource, resource))
            return not_decoded[i].tables;
    return 0;
}

/* True when the binary of a version has the kind of a resource in the version that is stored. */
static bool is_decoded(const char *resource, const char *stored, struct ek_minor by)
{
    const char *slash = strchr(stored, '/');
    const char *group = slash ? ek_arena_strndup(arena, stored, (size_t)(slash - stored)) : "";
    const char *name = strchr(resource, '/') ? strchr(resource, '/') + 1 : resource;

    for (size_t i = 0; i < data.n_resources; i++)
        if (!strcmp(data.resources[i].group, group) && !strcmp(data.resources[i].resource, name)) {
            const struct ek_api_lifecycle *kind =
                ek_plan_find_kind(&data, group, slash ? slash + 1 : stored, data.resources[i].kind);
            return kind && ek_api_state_at(kind, by) != EK_API_ABSENT;
        }
    return false;
}

START_TEST(a_binary_decodes_what_is_stored_at_its_version)
{
    yyjson_val *versions, *table, *name, *stored;
    size_t i, n, k, m, left = 0;

    ek_json_each_member(yyjson_obj_get(yyjson_doc_get_root(recorded), "storage_versions"), i, n,
                        versions, table)
    {
        const char *compat = strchr(yyjson_get_str(versions), '/') + 1;
        ek_json_each_member(table, k, m, name, stored)
        {
            if (is_decoded(yyjson_get_str(name), yyjson_get_str(stored), ek_minor_parse(compat)))
                continue;
            ck_assert_msg(tables_not_decoded(compat, yyjson_get_str(name)) > 0,
                          "%s of %s at %s is not known to that version", yyjson_get_str(stored),
                          yyjson_get_str(name), yyjson_get_str(versions));
            left++;
        }
    }
    for (i = 0; i < EK_ARRAY_SIZE(not_decoded); i++)
        left -= not_decoded[i].tables;
    ck_assert_uint_eq(left, 0);
}
END_TEST

/* Resources behind gates, which the recorded servers did not store
 * (default_storage_factory_builder.go at 1.36). */
static const struct {
    const char *group, *resource, *want;
} gated[] = {
    {"certificates.k8s.io", "clustertrustbundles", "certificates.k8s.io/v1beta1"},
    {"certificates.k8s.io", "podcertificaterequests", "certificates.k8s.io/v1beta1"},
    {"scheduling.k8s.io", "podgroups", "scheduling.k8s.io/v1alpha2"},
    {"scheduling.k8s.io", "workloads", "scheduling.k8s.io/v1alpha2"},
    {"storagemigration.k8s.io", "storageversionmigrations", "storagemigration.k8s.io/v1beta1"},
};

START_TEST(resources_behind_gates_are_stored)
{
    const char *got =
        ek_api_storage(&data, gated[_i].group, gated[_i].resource, ek_minor_parse("1.36"), arena);

    ck_assert_pstr_eq(got, gated[_i].want);
}
END_TEST

/* Lifecycles; the same kinds are in api_lifecycle.json. */
static const struct {
    const char *group, *version, *kind, *at;
    enum ek_api_state want;
} states[] = {
    {"resource.k8s.io", "v1", "ResourceClaim", "1.33", EK_API_ABSENT},
    {"resource.k8s.io", "v1", "ResourceClaim", "1.34", EK_API_SERVED},
    {"admissionregistration.k8s.io", "v1beta1", "ValidatingAdmissionPolicy", "1.33",
     EK_API_DEPRECATED},
    {"admissionregistration.k8s.io", "v1beta1", "ValidatingAdmissionPolicy", "1.34",
     EK_API_REMOVED},
    {"extensions", "v1beta1", "Ingress", "1.36", EK_API_REMOVED},
    {"", "v1", "Pod", "1.36", EK_API_SERVED},
    {"", "v1", "ComponentStatus", "1.36", EK_API_DEPRECATED},
    {"", "v1", "NoSuchKind", "1.36", EK_API_UNKNOWN},
};

START_TEST(states_follow_the_lifecycle)
{
    const struct ek_api_lifecycle *kind =
        ek_plan_find_kind(&data, states[_i].group, states[_i].version, states[_i].kind);
    ck_assert_int_eq(ek_api_state_at(kind, ek_minor_parse(states[_i].at)), states[_i].want);
}
END_TEST

START_TEST(every_recorded_lifecycle_is_read)
{
    yyjson_val *list = yyjson_obj_get(yyjson_doc_get_root(recorded), "kinds"), *one;
    size_t i, n;
    static const char *const members[] = {"introduced", "deprecated", "removed"};

    yyjson_arr_foreach(list, i, n, one)
    {
        const struct ek_api_lifecycle *kind =
            ek_plan_find_kind(&data, ek_json_str(one, "group", NULL),
                              ek_json_str(one, "version", NULL), ek_json_str(one, "kind", NULL));
        ck_assert_ptr_nonnull(kind);
        if (!yyjson_obj_get(one, "introduced") && kind->introduced.known)
            continue; /* of retired.c */
        const struct ek_minor values[] = {kind->introduced, kind->deprecated, kind->removed};
        for (size_t k = 0; k < EK_ARRAY_SIZE(members); k++) {
            const char *text = ek_json_str(one, members[k], NULL);
            char got[EK_MINOR_SIZE];
            ck_assert_str_eq(ek_minor_format(values[k], got), text ? text : "");
        }
        const char *to = ek_json_str(one, "replacement", "version", NULL);
        ck_assert_int_eq(kind->new_version != NULL, to != NULL);
        if (to)
            ck_assert_str_eq(kind->new_version, to);
    }
    ck_assert_uint_gt(data.n_kinds, n);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("apis");

    tcase_add_unchecked_fixture(tcase, open_data, close_data);
    tcase_add_loop_test(tcase, served_sets_are_those_of_the_server, 0, EK_ARRAY_SIZE(sets));
    tcase_add_loop_test(tcase, startup_errors_are_those_of_the_server, 0, EK_ARRAY_SIZE(refusals));
    tcase_add_test(tcase, recorded_startup_errors_have_rows);
    tcase_add_test(tcase, storage_versions_are_those_of_the_server);
    tcase_add_test(tcase, a_binary_decodes_what_is_stored_at_its_version);
    tcase_add_loop_test(tcase, resources_behind_gates_are_stored, 0, EK_ARRAY_SIZE(gated));
    tcase_add_loop_test(tcase, states_follow_the_lifecycle, 0, EK_ARRAY_SIZE(states));
    tcase_add_test(tcase, every_recorded_lifecycle_is_read);
    return ek_test_run("apis", tcase);
}
