/* SPDX-License-Identifier: Apache-2.0 */
#include "reconcilers/peers/pod.h"

#include <string.h>

#include "reconcilers/peers/notes.h"

#define CLOUD_CONTROLLER_MANAGER "cloud-controller-manager"
#define VERSION_MAX              128
#define IMAGE_SHOWN              160 /* bytes of a reference that a clause shows */

static bool has(const char *value, const char *wanted)
{
    return value && !strcmp(value, wanted);
}

static const char *phase(const struct ek_obj *pod)
{
    const char *s = ek_json_str(ek_obj_root(pod), "status", "phase", NULL);
    return s ? s : "";
}

static bool is_labelled(const struct ek_obj *pod, const char *component)
{
    size_t len = strlen(component);

    if (has(ek_obj_label(pod, "component"), component) ||
        has(ek_obj_label(pod, "k8s-app"), component))
        return true;
    return !strncmp(ek_obj_name(pod), component, len) && ek_obj_name(pod)[len] == '-' &&
           has(ek_obj_label(pod, "tier"), "control-plane");
}

bool ek_pod_is_component(const struct ek_obj *pod, const char *component)
{
    if (strcmp(ek_obj_namespace(pod), "kube-system") != 0 || !is_labelled(pod, component))
        return false;
    const char *s = phase(pod);
    return strcmp(s, "Succeeded") != 0 && strcmp(s, "Failed") != 0;
}

const struct ek_obj *ek_node_find(const struct ek_objs *nodes, const char *name)
{
    size_t low = 0, high = nodes->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = strcmp(ek_obj_key(nodes->items[mid]), name);
        if (order == 0)
            return nodes->items[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

static bool is_mirror(const struct ek_obj *pod)
{
    yyjson_val *owner;
    size_t i, n;

    if (ek_obj_annotation(pod, "kubernetes.io/config.mirror"))
        return true;
    yyjson_arr_foreach(ek_json_get(ek_obj_root(pod), "metadata", "ownerReferences", NULL), i, n,
                       owner)
    {
        if (has(ek_json_str(owner, "kind", NULL), "Node"))
            return true;
    }
    return false;
}

bool ek_pod_is_trusted(const struct ek_obj *pod)
{
    return yyjson_get_bool(ek_json_get(ek_obj_root(pod), "spec", "hostNetwork", NULL)) &&
           is_mirror(pod);
}

bool ek_node_is_control_plane(const struct ek_obj *node)
{
    return ek_obj_label(node, "node-role.kubernetes.io/control-plane") ||
           ek_obj_label(node, "node-role.kubernetes.io/master");
}

bool ek_pod_is_proven(const struct ek_obj *pod, const struct ek_objs *nodes)
{
    const char *name = ek_json_str(ek_obj_root(pod), "spec", "nodeName", NULL);
    const struct ek_obj *node = name ? ek_node_find(nodes, name) : NULL;

    if (!is_mirror(pod))
        return true;
    return node && ek_node_is_control_plane(node);
}

bool ek_pod_is_running(const struct ek_obj *pod)
{
    const char *s = phase(pod);
    return !*s || has(s, "Running") || has(s, "Unknown");
}

yyjson_val *ek_pod_container(const struct ek_obj *pod, const char *component)
{
    yyjson_val *list = ek_json_get(ek_obj_root(pod), "spec", "containers", NULL);
    yyjson_val *container;
    size_t i, n;

    yyjson_arr_foreach(list, i, n, container)
    {
        if (has(ek_json_str(container, "name", NULL), component))
            return container;
    }
    return yyjson_arr_get_first(list);
}

yyjson_val *ek_pod_container_status(const struct ek_obj *pod, const char *component)
{
    const char *name = ek_json_str(ek_pod_container(pod, component), "name", NULL);
    yyjson_val *status;
    size_t i, n;

    yyjson_arr_foreach(ek_json_get(ek_obj_root(pod), "status", "containerStatuses", NULL), i, n,
                       status)
    {
        if (has(ek_json_str(status, "name", NULL), name ? name : component))
            return status;
    }
    return NULL;
}

static const char *flag_in(yyjson_val *args, const char *flag)
{
    const char *value = NULL;
    size_t len = strlen(flag), i, n;
    yyjson_val *item;

    yyjson_arr_foreach(args, i, n, item)
    {
        const char *arg = yyjson_get_str(item);
        if (!arg || strncmp(arg, flag, len) != 0)
            continue;
        if (arg[len] == '=')
            value = arg + len + 1;
        else if (!arg[len])
            value = yyjson_get_str(yyjson_arr_get(args, i + 1));
    }
    return value;
}

const char *ek_pod_flag(const struct ek_obj *pod, const char *component, const char *flag)
{
    yyjson_val *container = ek_pod_container(pod, component);
    const char *value = flag_in(yyjson_obj_get(container, "args"), flag);
    return value ? value : flag_in(yyjson_obj_get(container, "command"), flag);
}

const char *ek_node_hostname(const struct ek_objs *nodes, const char *name)
{
    const struct ek_obj *node = ek_node_find(nodes, name);
    const char *label = node ? ek_obj_label(node, "kubernetes.io/hostname") : NULL;
    return label && *label ? label : name;
}

const char *ek_pod_hostname(const struct ek_obj *pod, const struct ek_objs *nodes)
{
    yyjson_val *spec = ek_json_get(ek_obj_root(pod), "spec", NULL);
    const char *node = ek_json_str(spec, "nodeName", NULL);
    const char *own = ek_json_str(spec, "hostname", NULL);

    if (yyjson_get_bool(yyjson_obj_get(spec, "hostNetwork")) && node && *node)
        return ek_node_hostname(nodes, node);
    return own && *own ? own : ek_obj_name(pod);
}

/* The len bytes at name are wanted, or wanted and an architecture: Kubernetes' archives of images
 * have such names (kubernetes: build/lib/release.sh, create_docker_images_for_server). */
static bool is_image_of(const char *name, size_t len, const char *wanted)
{
    static const char *const ends[] = {"", "-amd64", "-arm", "-arm64", "-ppc64le", "-s390x"};
    size_t stem = strlen(wanted);

    if (len < stem || memcmp(name, wanted, stem) != 0)
        return false;
    for (size_t i = 0; i < EK_ARRAY_SIZE(ends); i++)
        if (len - stem == strlen(ends[i]) && !memcmp(name + stem, ends[i], len - stem))
            return true;
    return false;
}

/* True when the last part of an image's path, before ":" and a tag, shows that the tag is a
 * Kubernetes version: it is the component's own name, or that of an image of all components
 * (hyperkube; hardened-kubernetes of RKE2), and the tag begins as v1 does. Every other image may
 * have its vendor's numbers, and so may another tag. */
static bool has_kubernetes_tag(const char *name, size_t len, const char *component)
{
    const char *tag = name + len + 1;

    if (tag[0] != 'v' || tag[1] < '0' || tag[1] > '9')
        return false;
    if (is_image_of(name, len, component))
        return true;
    return strcmp(component, CLOUD_CONTROLLER_MANAGER) != 0 &&
           (is_image_of(name, len, "hyperkube") || is_image_of(name, len, "hardened-kubernetes"));
}

/* Where the tag of a reference begins; NULL without one. */
static const char *tag_of(const char *image)
{
    size_t len = strcspn(image, "@"); /* a digest may follow the tag */
    const char *slash = memrchr(image, '/', len);
    const char *name = slash ? slash + 1 : image;
    const char *colon = memchr(name, ':', len - (size_t)(name - image));

    /* "sha256:..." is the ID of an image that has no name. */
    return colon && strncmp(image, "sha256:", 7) != 0 ? colon + 1 : NULL;
}

static const char *version_of(const char *image, const char *component, struct ek_arena *arena)
{
    const char *at = tag_of(image);
    if (!at)
        return "";
    const char *slash = memrchr(image, '/', (size_t)(at - image));
    const char *name = slash ? slash + 1 : image;
    size_t len = strcspn(at, "@");
    if (len > VERSION_MAX || !has_kubernetes_tag(name, (size_t)(at - 1 - name), component))
        return "";
    char *tag = ek_arena_strndup(arena, at, len);
    for (char *c = tag; *c; c++)
        if (*c == '_')
            *c = '+';
    return tag;
}

static bool has_tag_of(const char *image, const char *other)
{
    const char *x = tag_of(image), *y = tag_of(other);

    return x && y &&
           ek_str_eq((struct ek_str){x, strcspn(x, "@")}, (struct ek_str){y, strcspn(y, "@")});
}

/* "sha256:..." of a reference, "" without. */
static const char *digest_of(const char *image)
{
    const char *at = strchr(image, '@');

    return at ? at + 1 : strncmp(image, "sha256:", 7) == 0 ? image : "";
}

/* How what a spec says of the image misfits what the status says; "" where it fits, and where one
 * of them says nothing. The spec of a mirror pod is a copy, so its tag or digest needs the status.
 */
static const char *misfit_of(const char *spec, const char *running, const char *id, bool is_copy)
{
    const char *digest = digest_of(spec), *runs = digest_of(running);

    if (!*spec || !*running || has_tag_of(spec, running))
        return "";
    if (tag_of(spec) && tag_of(running))
        return "is not what runs";
    if (*digest && (!strcmp(digest, runs) || !strcmp(digest, digest_of(id))))
        return "";
    bool is_said = tag_of(spec) || (*digest && (*runs || *id));
    return is_copy && is_said ? "is not confirmed by the status" : "";
}

void ek_pod_image_read(const struct ek_obj *pod, const char *component, struct ek_arena *arena,
                       struct ek_pod_image *ret_image)
{
    yyjson_val *status = ek_pod_container_status(pod, component);
    const char *spec = ek_json_text(ek_pod_container(pod, component), "image");
    const char *running = ek_json_text(status, "image");
    const char *misfit = misfit_of(spec, running, ek_json_text(status, "imageID"), is_mirror(pod));

    ret_image->doubt = "";
    if (*misfit)
        ret_image->doubt = ek_arena_printf(arena, "%s: image %s, running %s", misfit,
                                           ek_notes_cut(arena, spec, IMAGE_SHOWN),
                                           ek_notes_cut(arena, running, IMAGE_SHOWN));
    ret_image->version = version_of(running, component, arena);
    if (!*ret_image->version && !*ret_image->doubt)
        ret_image->version = version_of(spec, component, arena);
}
