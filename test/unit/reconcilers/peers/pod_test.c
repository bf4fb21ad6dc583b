/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/pod.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/suite.h"

#define S    "kube-scheduler"
#define RKE2 "docker.io/rancher/hardened-kubernetes"

/* Images of the container in spec and status, "" for none; the version, what is said of the spec,
 * and the image's ID, NULL for none. */
static const struct {
    const char *name, *spec, *running, *version, *doubt, *id;
} images[] = {
    {"no status yet", "x/" S ":v1.30.4", "", "v1.30.4", "", NULL},
    {"no image at all", "", "", "", "", NULL},
    {"both agree", "x/" S ":v1.30.4", "x/" S ":v1.30.4", "v1.30.4", "", NULL},
    {"the spec is stale", RKE2 ":v1.25.11-rke2r1", RKE2 ":v1.27.4-rke2r1", "v1.27.4-rke2r1",
     "is not what runs: image " RKE2 ":v1.25.11-rke2r1, running " RKE2 ":v1.27.4-rke2r1", NULL},
    {"the spec is newer", "x/" S ":v1.36.2", "x/" S ":v1.33.1", "v1.33.1",
     "is not what runs: image x/" S ":v1.36.2, running x/" S ":v1.33.1", NULL},
    {"another patch", "x/" S ":v1.36.1", "x/" S ":v1.36.2", "v1.36.2",
     "is not what runs: image x/" S ":v1.36.1, running x/" S ":v1.36.2", NULL},
    {"another spelling of the registry", "index." RKE2 ":v1.30.4_rke2r1", RKE2 ":v1.30.4_rke2r1",
     "v1.30.4+rke2r1", "", NULL},
    {"a registry with a port", "x:5000/" S ":v1.30.4", "x:443/a/" S ":v1.30.4", "v1.30.4", "",
     NULL},
    {"a digest behind the tag", "x/" S ":v1.30.4@sha256:00ff", "x/" S ":v1.30.4", "v1.30.4", "",
     NULL},
    {"an image without a name runs", "x/" S ":v1.30.4", "sha256:00ff", "",
     "is not confirmed by the status: image x/" S ":v1.30.4, running sha256:00ff", NULL},
    {"a digest of a repository runs", "x/" S ":v1.30.4", "x:5000/" S "@sha256:00ff", "",
     "is not confirmed by the status: image x/" S ":v1.30.4, running x:5000/" S "@sha256:00ff",
     NULL},
    {"the digest of the spec runs", "x/" S ":v1.30.4@sha256:00ff", "x:5000/" S "@sha256:00ff",
     "v1.30.4", "", NULL},
    {"the image without a name has the digest of the spec", "x/" S ":v1.30.4@sha256:00ff",
     "sha256:11ee", "v1.30.4", "", "x/" S "@sha256:00ff"},
    {"another digest than the spec's runs", "x/" S ":v1.30.4@sha256:00ff", "sha256:11ee", "",
     "is not confirmed by the status: image x/" S ":v1.30.4@sha256:00ff, running sha256:11ee",
     "x/" S "@sha256:22dd"},
    {"the spec has a digest", "x/" S "@sha256:00ff", "x/" S ":v1.30.4", "v1.30.4", "", NULL},
    {"the digest alone is what runs", "x/" S "@sha256:00ff", "x/" S ":v1.30.4", "v1.30.4", "",
     "x/" S "@sha256:00ff"},
    {"the digest alone is not what runs", "x/" S "@sha256:00ff", "x/" S ":v1.30.4", "v1.30.4",
     "is not confirmed by the status: image x/" S "@sha256:00ff, running x/" S ":v1.30.4",
     "x/" S "@sha256:22dd"},
    {"a digest alone, another one runs", "x/" S "@sha256:00ff", "x/" S "@sha256:22dd", "",
     "is not confirmed by the status: image x/" S "@sha256:00ff, running x/" S "@sha256:22dd",
     "x/" S "@sha256:22dd"},
    {"a digest alone, an image without a name runs", "x/" S "@sha256:00ff", "sha256:11ee", "",
     "is not confirmed by the status: image x/" S "@sha256:00ff, running sha256:11ee",
     "docker://sha256:11ee"},
    {"neither a tag nor a digest in the spec", "x/" S, "x/" S ":v1.30.4", "v1.30.4", "",
     "x/" S "@sha256:22dd"},
    {"neither has a tag", "x/" S "@sha256:00ff", "sha256:00ff", "", "", NULL},
    {"one of two names shows that the tag is a version", "x/" S ":v1.30.4", "x/base:v1.30.4",
     "v1.30.4", "", NULL},
    {"a tag that is no version", "x/" S ":v1.30.4", "x/" S ":latest", "",
     "is not what runs: image x/" S ":v1.30.4, running x/" S ":latest", NULL},
    {"an image that is not known", "x/" S ":v1.30.4", "x/base:v1.31.0", "",
     "is not what runs: image x/" S ":v1.30.4, running x/base:v1.31.0", NULL},
    {"an image that was not known", "x/base:v1.31.0", "x/" S ":v1.30.4", "v1.30.4",
     "is not what runs: image x/base:v1.31.0, running x/" S ":v1.30.4", NULL},
};

START_TEST(image)
{
    struct ek_arena *arena = ek_arena_new(1 << 16);
    EK_AUTOFREE char *json = ek_xasprintf(
        "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"kubernetes.io/"
        "config.mirror\":\"h\"}},\"spec\":{\"containers\":[{\"name\":\"a\","
        "\"image\":\"x/a:v1\"},{\"name\":\"" S "\",\"image\":\"%s\"}]},\"status\":{"
        "\"containerStatuses\":[{\"name\":\"" S "\",\"image\":\"%s\",\"imageID\":\"%s\"},"
        "{\"name\":"
        "\"a\",\"image\":\"x/" S ":v1.2.3\"}]}}",
        images[_i].spec, images[_i].running, images[_i].id ? images[_i].id : "");
    struct ek_obj *pod = NULL;
    struct ek_pod_image got;

    ck_assert_int_eq(ek_obj_parse(json, strlen(json), &pod, NULL), 0);
    ek_pod_image_read(pod, S, arena, &got);
    ck_assert_msg(!strcmp(got.version, images[_i].version), "%s: version \"%s\"", images[_i].name,
                  got.version);
    ck_assert_msg(!strcmp(got.doubt, images[_i].doubt), "%s: doubt \"%s\"", images[_i].name,
                  got.doubt);
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
