/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a control plane pod about its process: which component, on which host, with which
 * flags and from which image. Reads objects only; nothing is owned, everything is borrowed from
 * the objects unless an arena is given. Pure; any thread.
 */
#ifndef RECONCILERS_PEERS_POD_H
#define RECONCILERS_PEERS_POD_H

#include <stdbool.h>

#include "api/base/arena.h"
#include "reconcilers/peers/objs.h"

/*
 * True when pod runs component ("kube-apiserver"), is in kube-system and has not ended. Recognized
 * by the label component (kubeadm's static pods) or k8s-app (kube-proxy, cloud controllers), or by
 * tier=control-plane and a name that starts with the component's.
 */
bool ek_pod_is_component(const struct ek_obj *pod, const char *component);

/*
 * True for a static pod on the host's network: a kubelet's own file, not something that may be
 * created through the API, and its IP is the node's. Only such pods name addresses that may be
 * called.
 */
bool ek_pod_is_trusted(const struct ek_obj *pod);

/* True when node has the label node-role.kubernetes.io/control-plane (or master), which a kubelet
 * cannot give itself (plugin/pkg/admission/noderestriction: getModifiedLabels). */
bool ek_node_is_control_plane(const struct ek_obj *node);

/*
 * True when pod may prove which version runs. A mirror pod is an unproven statement of its node:
 * any kubelet may write one with any label, image and flags (plugin/pkg/admission/noderestriction:
 * admitPodCreate), so one counts only of a node of the control plane
 * (ek_node_is_control_plane). Pods that no kubelet wrote are made by those who may write to
 * kube-system. nodes are in key order.
 */
bool ek_pod_is_proven(const struct ek_obj *pod, const struct ek_objs *nodes);

/* True when the pod's phase is Running or not known. */
bool ek_pod_is_running(const struct ek_obj *pod);

/* The container of pod that is called like the component, else the first; NULL without any. */
yyjson_val *ek_pod_container(const struct ek_obj *pod, const char *component);

/* The status of that container, borrowed from pod; NULL when the pod's status has none of it. */
yyjson_val *ek_pod_container_status(const struct ek_obj *pod, const char *component);

/*
 * The value of a flag ("--secure-port") in the command or the arguments of component's container,
 * in either spelling ("--flag=value", "--flag value"); the last one counts; NULL when absent.
 */
const char *ek_pod_flag(const struct ek_obj *pod, const char *component, const char *flag);

/* The hostname that the process in pod sees: of its node for pods on the host's network, the
 * pod's own otherwise. Never NULL. */
const char *ek_pod_hostname(const struct ek_obj *pod, const struct ek_objs *nodes);

/* The named node, NULL when there is none. nodes are in key order, and the key of a Node is its
 * name. */
const struct ek_obj *ek_node_find(const struct ek_objs *nodes, const char *name);

/* The hostname of the named node: its label, else its name. nodes are in key order. */
const char *ek_node_hostname(const struct ek_objs *nodes, const char *name);

struct ek_pod_image {
    const char *version; /* of the tag, "_" put back to "+" ("v1.34.2+k3s1"); "" when there is no
                            tag (a bare digest), or none that is a Kubernetes version: vendors'
                            cloud controllers have versions of their own */
    const char *doubt;   /* "" unless the status names another image than the spec, or one that may
                            be another; then what to say of the spec: "is not what runs: image A,
                            running B" */
};

/*
 * Reads the image of component's container. What runs is what the status says
 * (core/v1/types.go:ContainerStatus): the spec of a mirror pod is a copy that its kubelet made, and
 * may have kept while the process became another one (rancher/rke2 pull request 4508). The spec's
 * tag is the version only where the status says nothing, has the same tag, or has no tag and the
 * digest that the spec names; of a pod that is no mirror pod also where it has another digest.
 * References are compared by their tags, because container runtimes spell the names of registries
 * in their own way ("docker.io" for "index.docker.io"). A status is the word of its kubelet, also
 * of a pod that the kubelet did not create. Strings live in the arena or are constants; never
 * fails.
 */
void ek_pod_image_read(const struct ek_obj *pod, const char *component, struct ek_arena *arena,
                       struct ek_pod_image *ret_image);

#endif
