/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/pod.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

#define S    "kube-scheduler"
#define RKE2 "docker.io/rancher/hardened-kubernetes"

/* Images of the container in spec and status, "" for none; the version, and what is said of the
 * spec. */
static const struct {
    const char *name, *spec, *running, *version, *stale;
} images[] = {
    {"no status yet", "x/" S ":v1.30.4", "", "v1.30.4", ""},
    {"no image at all", "", "", "", ""},
    {"both agree", "x/" S ":v1.30.4", "x/" S ":v1.30.4", "v1.30.4", ""},
    {"the spec is stale", RKE2 ":v1.25.11-rke2r1", RKE2 ":v1.27.4-rke2r1", "v1.27.4-rke2r1",
     "is not what runs: image " RKE2 ":v1.25.11-rke2r1, running " RKE2 ":v1.27.4-rke2r1"},
    {"the spec is newer", "x/" S ":v1.36.2", "x/" S ":v1.33.1", "v1.33.1",
     "is not what runs: image x/" S ":v1.36.2, running x/" S ":v1.33.1"},
    {"another patch", "x/" S ":v1.36.1", "x/" S ":v1.36.2", "v1.36.2",
     "is not what runs: image x/" S ":v1.36.1, running x/" S ":v1.36.2"},
    {"another spelling of the registry", "index." RKE2 ":v1.30.4_rke2r1", RKE2 ":v1.30.4_rke2r1",
     "v1.30.4+rke2r1", ""},
    {"a registry with a port", "x:5000/" S ":v1.30.4", "x:443/a/" S ":v1.30.4", "v1.30.4", ""},
    {"a digest behind the tag", "x/" S ":v1.30.4@sha256:00ff", "x/" S ":v1.30.4", "v1.30.4", ""},
    {"an image without a name runs", "x/" S ":v1.30.4", "sha256:00ff", "v1.30.4", ""},
    {"a digest of a repository runs", "x/" S ":v1.30.4", "x:5000/" S "@sha256:00ff", "v1.30.4", ""},
    {"the spec has a digest", "x/" S "@sha256:00ff", "x/" S ":v1.30.4", "v1.30.4", ""},
    {"neither has a tag", "x/" S "@sha256:00ff", "sha256:00ff", "", ""},
    {"one of two names shows that the tag is a version", "x/" S ":v1.30.4", "x/base:v1.30.4",
     "v1.30.4", ""},
    {"a tag that is no version", "x/" S ":v1.30.4", "x/" S ":latest", "latest",
     "is not what runs: image x/" S ":v1.30.4, running x/" S ":latest"},
    {"an image that is not known", "x/" S ":v1.30.4", "x/base:v1.31.0", "",
     "is not what runs: image x/" S ":v1.30.4, running x/base:v1.31.0"},
    {"an image that was not known", "x/base:v1.31.0", "x/" S ":v1.30.4", "v1.30.4",
     "is not what runs: image x/base:v1.31.0, running x/" S ":v1.30.4"},
};

START_TEST(image)
{
    struct ek_arena *arena = ek_arena_new(1 << 16);
    EK_AUTOFREE char *json =
        ek_xasprintf("{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"a\","
                     "\"image\":\"x/a:v1\"},{\"name\":\"" S "\",\"image\":\"%s\"}]},\"status\":{"
                     "\"containerStatuses\":[{\"name\":\"" S "\",\"image\":\"%s\"},{\"name\":"
                     "\"a\",\"image\":\"x/" S ":v1.2.3\"}]}}",
                     images[_i].spec, images[_i].running);
    struct ek_obj *pod = NULL;
    struct ek_pod_image got;

    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &pod, NULL), 0);
    ek_pod_image_read(pod, S, arena, &got);
    ck_assert_msg(!strcmp(got.version, images[_i].version), "%s: version \"%s\"", images[_i].name,
                  got.version);
    ck_assert_msg(!strcmp(got.stale, images[_i].stale), "%s: stale \"%s\"", images[_i].name,
                  got.stale);
    ek_obj_unref(pod);
    ek_arena_free(arena);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pod");

    tcase_add_loop_test(tc, image, 0, (int)EK_ARRAY_SIZE(images));
    return ek_test_run("pod", tc);
}
