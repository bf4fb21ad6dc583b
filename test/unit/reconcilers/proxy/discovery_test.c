/* SPDX-License-Identifier: Apache-2.0 */
/* The reply with a document of a view. Which documents there are is tested by
 * unit/reconcilers/peers/view, and how replies are chosen by unit/reconcilers/proxy/negotiate. */
#include "reconcilers/proxy/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "reconcilers/peers/view_build.h"
#include "test/support/groups_fixture.h"
#include "test/support/suite.h"

#define GROUP(name)                                                                                \
    "{\"items\":[{\"metadata\":{\"name\":\"" name "\"},\"versions\":[{\"version\":\"v1\","         \
    "\"resources\":[],\"freshness\":\"Current\"}]}]}"
#define V2 "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static struct ek_view *view;
static struct ek_discovery_remade discovery;

/* "a" serves the group apps, "b" batch. */
static void setup(void)
{
    struct ek_api_groups *core = ek_test_groups(GROUP(""));
    struct ek_api_groups *groups[] = {ek_test_groups(GROUP("apps")),
                                      ek_test_groups(GROUP("batch"))};
    struct ek_view_input_peer peers[2] = {0};

    for (size_t i = 0; i < 2; i++)
        peers[i] = (struct ek_view_input_peer){.peer = {.name = i ? "b" : "a",
                                                        .server_id = "",
                                                        .address = "10.0.0.1:6443",
                                                        .routable = true},
                                               .core = core,
                                               .groups = groups[i]};
    view = ek_view_build(&(struct ek_view_input){.peers = peers, .n = 2});
    ek_api_groups_unref(core);
    ek_api_groups_unref(groups[0]);
    ek_api_groups_unref(groups[1]);
}

static void teardown(void)
{
    ek_view_unref(view);
    ek_discovery_remade_done(&discovery);
}

static const struct {
    const char *name;
    struct ek_negotiate_choice choice;
    size_t own;
    const char *has, *has_not; /* has NULL: there is no document */
} finds[] = {
    {"merged", {.kind = EK_NEGOTIATE_ROOT}, SIZE_MAX, "apps", NULL},
    {"merged: the other one", {.kind = EK_NEGOTIATE_ROOT}, 0, "batch", NULL},
    {"core", {.kind = EK_NEGOTIATE_ROOT, .core = true}, SIZE_MAX, "\"v1\"", "apps"},
    {"of one", {.kind = EK_NEGOTIATE_ROOT, .own = true}, 1, "batch", "apps"},
    {"of none", {.kind = EK_NEGOTIATE_ROOT, .own = true}, SIZE_MAX, NULL, NULL},
    {"v2beta1", {.kind = EK_NEGOTIATE_ROOT, .form = EK_NEGOTIATE_V2BETA1}, 0, "v2beta1", NULL},
    {"plain", {.kind = EK_NEGOTIATE_ROOT, .form = EK_NEGOTIATE_PLAIN}, 0, "APIGroupList", NULL},
    {"a group", {.kind = EK_NEGOTIATE_GROUP, .group = "batch"}, 0, "batch/v1", "apps"},
    {"no group", {.kind = EK_NEGOTIATE_GROUP, .group = "none"}, 0, NULL, NULL},
    {"resources",
     {.kind = EK_NEGOTIATE_RESOURCES, .group = "apps", .version = "v1"},
     0,
     "APIResourceList",
     NULL},
    {"no version",
     {.kind = EK_NEGOTIATE_RESOURCES, .group = "apps", .version = "v2"},
     0,
     NULL,
     NULL},
    {"no discovery", {.kind = EK_NEGOTIATE_FORWARD}, 0, NULL, NULL},
};

START_TEST(finds_the_document)
{
    const struct ek_view_document *found =
        ek_discovery_find(view, &finds[_i].choice, finds[_i].own);

    ck_assert_msg((found != NULL) == (finds[_i].has != NULL), "%s", finds[_i].name);
    if (!found)
        return;
    EK_AUTOFREE char *body = ek_xstrndup(found->body.p, found->body.len);
    ck_assert_msg(strstr(body, finds[_i].has) &&
                      (!finds[_i].has_not || !strstr(body, finds[_i].has_not)),
                  "%s: %s", finds[_i].name, body);
}
END_TEST

static struct ek_negotiate_reply reply_to(const struct ek_negotiate_choice *choice)
{
    static const struct ek_negotiate_headers headers = {"", "", "", ""};
    struct ek_negotiate_reply reply;

    ck_assert(ek_discovery_reply(&discovery, ek_discovery_find(view, choice, 1), choice, &headers,
                                 &reply));
    return reply;
}

/* What is not as it is in the view is made once for all who want the same. */
START_TEST(remakes_once)
{
    static const struct ek_negotiate_choice merged = {.kind = EK_NEGOTIATE_ROOT};
    static const struct ek_negotiate_choice pretty = {.kind = EK_NEGOTIATE_ROOT, .pretty = true};
    static const struct ek_negotiate_choice yaml = {.kind = EK_NEGOTIATE_ROOT, .yaml = true};
    static const struct ek_negotiate_choice own = {
        .kind = EK_NEGOTIATE_ROOT, .own = true, .pretty = true};

    ck_assert_ptr_eq(reply_to(&merged).body.p,
                     ek_view_merged(view, EK_VIEW_APIS, EK_VIEW_V2)->body.p);
    const struct ek_negotiate_reply first = reply_to(&pretty);
    ck_assert(first.body.len > 2 && !strncmp(first.body.p, "{\n  ", 4));
    ck_assert_ptr_eq(reply_to(&pretty).body.p, first.body.p);
    ck_assert_str_eq(reply_to(&yaml).content_type,
                     "application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
    ck_assert(!strncmp(reply_to(&yaml).body.p, "apiVersion: ", 12));
    const struct ek_negotiate_reply other = reply_to(&own);
    EK_AUTOFREE char *body = ek_xstrndup(other.body.p, other.body.len);
    ck_assert_msg(strstr(body, "batch") && !strstr(body, "apps"), "%s", body);
}
END_TEST

static void put(void *ctx, const char *name, const char *value)
{
    ek_buf_printf(ctx, "%s=%s|", name, value);
}

START_TEST(names_fields_in_order)
{
    static const struct {
        struct ek_negotiate_reply reply;
        const char *fields;
    } rows[] = {
        {{.content_type = V2,
          .etag = "\"A\"",
          .cache_control = "public",
          .vary = {"Accept", "Accept-Encoding"},
          .content_encoding = "gzip"},
         "Content-Type=" V2 "|ETag=\"A\"|Cache-Control=public|Vary=Accept|Vary=Accept-Encoding|"
         "Content-Encoding=gzip|"},
        {{.etag = "\"A\"", .cache_control = "public", .vary = {"Accept"}},
         "ETag=\"A\"|Cache-Control=public|Vary=Accept|"},
        {{.content_type = "application/json", .cache_control = "no-cache, private"},
         "Content-Type=application/json|Cache-Control=no-cache, private|"},
    };

    for (size_t i = 0; i < EK_ARRAY_SIZE(rows); i++) {
        EK_AUTO(ek_buf) fields;
        ek_buf_init(&fields, 4096);
        ek_discovery_each_field(&rows[i].reply, put, &fields);
        ck_assert_str_eq(ek_buf_str(&fields), rows[i].fields);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("discovery");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, finds_the_document, 0, (int)EK_ARRAY_SIZE(finds));
    tcase_add_test(tc, remakes_once);
    tcase_add_test(tc, names_fields_in_order);
    return ek_test_run("discovery", tc);
}
