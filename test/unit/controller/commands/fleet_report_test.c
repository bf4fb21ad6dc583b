/* SPDX-License-Identifier: Apache-2.0 */
/* The report about several clusters: how exit codes are joined, and what each form shows. */
#include "controller/commands/fleet_report.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

static const struct {
    const char *name;
    int codes[4];
    size_t n;
    int worst;
} exits[] = {
    {"no cluster", {0}, 0, 0},
    {"all supported", {0, 0}, 2, 0},
    {"one unknown", {0, 3}, 2, 3},
    {"one not read", {1, 0}, 2, 1},
    {"one violation", {0, 2, 0}, 3, 2},
    {"not read is worse than unknown", {3, 1}, 2, 1},
    {"unknown is not worse than not read", {1, 3}, 2, 1},
    {"a violation is worse than not read", {1, 2, 3}, 3, 2},
    {"the order does not matter", {2, 3, 1, 0}, 4, 2},
    {"a code that is none is a failure", {0, 77}, 2, 1},
};

START_TEST(exit_codes)
{
    struct ek_fleet_cluster clusters[4];

    for (size_t i = 0; i < exits[_i].n; i++)
        clusters[i] = (struct ek_fleet_cluster){.exit_code = exits[_i].codes[i]};
    int got = ek_fleet_exit_code(clusters, exits[_i].n);
    ck_assert_msg(got == exits[_i].worst, "%s: %d", exits[_i].name, got);
}
END_TEST

static struct ek_obj *read_object(const char *json)
{
    struct ek_obj *obj = NULL;
    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &obj, NULL), 0);
    return obj;
}

#define STATUS(verdict, violations, unknown)                                                       \
    "\"summary\":{\"verdict\":\"" verdict "\",\"peers\":\"2/2\",\"versions\":\"1.36\","            \
    "\"violations\":" #violations ",\"unknown\":" #unknown "}"

/* Four clusters, one of each class, and names that an enemy may have chosen. */
static struct ek_obj *make_fleet(void)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *good =
        read_object("{\"status\":{" STATUS("Supported", 0, 0) "}}");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *bad = read_object("{\"status\":{" STATUS(
        "Unsupported", 1,
        0) ",\"violations\":[{\"rule\":"
           "\"KubeletRange\",\"instance\":\"n1\",\"message\":\"n1 is <b>new</b>\"}]}}");
    EK_AUTOPTR(ek_obj, ek_obj_unref) *unknown =
        read_object("{\"status\":{" STATUS("Unknown", 0, 1) ",\"problems\":[\"no pods\"]}}");
    const struct ek_fleet_cluster clusters[] = {
        {"east", 0, good, ""},
        {"west", 2, bad, ""},
        {"north", 3, unknown, ""},
        {"<script>\033", 1, NULL, "https://a: connection refused"},
    };

    return ek_fleet_object(clusters, 4);
}

START_TEST(the_object)
{
    EK_AUTOPTR(ek_obj, ek_obj_unref) *fleet = make_fleet();
    yyjson_val *root = ek_obj_root(fleet), *list = yyjson_obj_get(root, "clusters");

    ck_assert_int_eq(yyjson_get_int(yyjson_obj_get(root, "exitCode")), 2);
    ck_assert_uint_eq(yyjson_arr_size(list), 4);
    ck_assert_str_eq(ek_json_text(yyjson_arr_get(list, 0), "cluster"), "east");
    ck_assert_ptr_null(yyjson_obj_get(yyjson_arr_get(list, 0), "error"));
    ck_assert_ptr_nonnull(ek_json_get(yyjson_arr_get(list, 2), "controlPlane", "status", NULL));
    ck_assert_ptr_null(yyjson_obj_get(yyjson_arr_get(list, 3), "controlPlane"));
    ck_assert_str_eq(ek_json_text(yyjson_arr_get(list, 3), "error"),
                     "https://a: connection refused");
}
END_TEST

START_TEST(the_tables)
{
    static const char wanted[] =
        "Clusters: 1 with violations, 1 not read, 1 with unknown versions, 1 supported\n"
        "\n"
        "CLUSTER        VERDICT       PEERS   VERSIONS   VIOLATIONS   UNKNOWN   EXIT CODE   "
        "REASON\n"
        "east           Supported     2/2     1.36       0            0         0           -\n"
        "west           Unsupported   2/2     1.36       1            0         2           -\n"
        "north          Unknown       2/2     1.36       0            1         3           no "
        "pods\n"
        "<script>\\x1b   NotRead       -       -          -            -         1           "
        "https://a: connection refused\n"
        "\n"
        "VIOLATIONS\n"
        "CLUSTER   RULE           INSTANCE   MESSAGE\n"
        "west      KubeletRange   n1         n1 is <b>new</b>\n";
    EK_AUTOPTR(ek_obj, ek_obj_unref) *fleet = make_fleet();
    EK_AUTO(ek_buf) out;

    ek_buf_init(&out, 1 << 20);
    ck_assert_int_eq(ek_fleet_report(NULL, ek_obj_root(fleet), false, &out), 0);
    ck_assert_str_eq(ek_buf_str(&out), wanted);
}
END_TEST

/* What is not ready, or not known to be, is not called supported, though its skew is. */
static const struct {
    const char *status, *rows, *title;
} readiness[] = {
    {"False",
     "Clusters: 1 supported (1 not ready)\n"
     "\n"
     "CLUSTER   VERDICT                       PEERS   VERSIONS   VIOLATIONS   UNKNOWN   EXIT "
     "CODE   REASON\n"
     "east      Not ready (PeerUnreachable)   2/2     1.36       0            0         0     "
     "      cp-2 is down\n",
     "<title>Not ready: version skew of clusters</title>"},
    {"Unknown",
     "Clusters: 1 supported\n"
     "\n"
     "CLUSTER   VERDICT                               PEERS   VERSIONS   VIOLATIONS   UNKNOWN   "
     "EXIT CODE   REASON\n"
     "east      Readiness unknown (PeerUnreachable)   2/2     1.36       0            0         "
     "0           cp-2 is down\n",
     "<title>Readiness unknown: version skew of clusters</title>"},
};

START_TEST(not_ready)
{
    EK_AUTOFREE char *status =
        ek_xasprintf("{\"status\":{" STATUS(
                         "Supported", 0, 0) ",\"conditions\":[{\"type\":\"Ready\","
                                            "\"status\":\"%s\",\"reason\":"
                                            "\"PeerUnreachable\",\"message\":\"cp-2 is down\"}]}}",
                     readiness[_i].status);
    EK_AUTOPTR(ek_obj, ek_obj_unref) *down = read_object(status);
    const struct ek_fleet_cluster clusters[] = {{"east", 0, down, ""}};
    EK_AUTOPTR(ek_obj, ek_obj_unref) *fleet = ek_fleet_object(clusters, 1);
    EK_AUTO(ek_buf) out;
    EK_AUTO(ek_buf) page;
    int64_t at_ms = 1000;

    ek_buf_init(&out, 1 << 20);
    ek_buf_init(&page, 1 << 20);
    ck_assert_int_eq(ek_fleet_report(NULL, ek_obj_root(fleet), false, &out), 0);
    ck_assert_str_eq(ek_buf_str(&out), readiness[_i].rows);
    ck_assert_int_eq(ek_fleet_html(&at_ms, ek_obj_root(fleet), false, &page), 0);
    ck_assert_ptr_nonnull(strstr(ek_buf_str(&page), readiness[_i].title));
}
END_TEST

START_TEST(the_page)
{
    static const char *const wanted[] = {
        "<title>Unsupported: version skew of clusters</title>",
        "1 with violations, 1 not read, 1 with unknown versions, 1 supported",
        "&lt;script&gt;",
        "https://a: connection refused",
        "n1 is &lt;b&gt;new&lt;/b&gt;",
        "1970-01-01T00:00:01Z"};
    EK_AUTOPTR(ek_obj, ek_obj_unref) *fleet = make_fleet();
    EK_AUTO(ek_buf) out;
    int64_t at_ms = 1000;

    ek_buf_init(&out, 1 << 20);
    ck_assert_int_eq(ek_fleet_html(&at_ms, ek_obj_root(fleet), false, &out), 0);
    for (size_t i = 0; i < EK_ARRAY_SIZE(wanted); i++)
        ck_assert_msg(strstr(ek_buf_str(&out), wanted[i]) != NULL, "no \"%s\" in %s", wanted[i],
                      ek_buf_str(&out));
    ck_assert_ptr_null(strstr(ek_buf_str(&out), "<b>new"));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("fleet_report");
    tcase_add_loop_test(tc, exit_codes, 0, EK_ARRAY_SIZE(exits));
    tcase_add_test(tc, the_object);
    tcase_add_test(tc, the_tables);
    tcase_add_loop_test(tc, not_ready, 0, (int)EK_ARRAY_SIZE(readiness));
    tcase_add_test(tc, the_page);
    return ek_test_run("fleet_report", tc);
}
