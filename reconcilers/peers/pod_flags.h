/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The versions and feature gates that the command line of a control plane pod sets.
 *
 * kube-apiserver, kube-controller-manager and kube-scheduler take --emulated-version,
 * --min-compatibility-version and --feature-gates (component-base: compatibility/registry.go,
 * AddFlags, Kubernetes 1.36). A command line is read completely or not at all: a part that cannot
 * be read may have a flag that changes any of the three. A command line that the component would
 * refuse is not read either, because no process runs with it. The scheduler's --config file has no
 * field for versions or gates (kubescheduler.config.k8s.io/v1), so that such a file does not matter
 * here.
 *
 * The work is linear in the size of the pod. Pure; any thread. Strings live in the arena or are
 * borrowed from the pod.
 */
#ifndef RECONCILERS_PEERS_POD_FLAGS_H
#define RECONCILERS_PEERS_POD_FLAGS_H

#include "reconcilers/peers/pod.h"

/* A pod with more words in its command line, or more gates in its flags, is not read. */
#define EK_POD_WORDS_MAX 1024
#define EK_POD_GATES_MAX 512

/* A feature gate that the flags set. */
struct ek_pod_gate {
    const char *name; /* without the component's prefix */
    bool on;
};

/* The flags of a kube-apiserver about the APIs that it serves and uses; all zero: the defaults. */
struct ek_pod_api_flags {
    const char *runtime_config; /* all values, "a/v1=true,b/v1=false"; NULL without the flag */
    bool forward;               /* --emulation-forward-compatible */
    bool runtime_forward;       /* --runtime-config-emulation-forward-compatible */
    bool no_fairness;           /* --enable-priority-and-fairness=false */
    bool no_mutating_policies;  /* the admission plug-in MutatingAdmissionPolicy is disabled */
    bool authorizes_nodes;      /* --authorization-mode has Node */
};

struct ek_pod_flags {
    const char *unread; /* "" when the flags were read; otherwise why not, as a clause without
                           a subject's name: "its command is sh, not kube-scheduler". All other
                           members are empty then */
    struct ek_minor emulation;       /* unknown: not set, so that the binary's version holds */
    struct ek_minor min_compat;      /* unknown: not set, so that the default holds */
    const struct ek_pod_gate *gates; /* what is set, not all that there are; by name, one each */
    size_t n_gates;
    struct ek_pod_api_flags apis;
};

/*
 * Reads the flags of the container of component in pod. The flags are unread also when the pod may
 * not be that of the running process: the container does not run, its image may differ from that of
 * the spec (ek_pod_image_read), or the kubelet is replacing the static pod.
 */
void ek_pod_flags_read(const struct ek_obj *pod, const char *component, struct ek_arena *arena,
                       struct ek_pod_flags *ret_flags);

/*
 * Reads all n flags of a running kube-apiserver, "--name=value", as GET /flagz has them: a list is
 * in brackets, an empty value is that of a flag that was not set, and a gate without a component
 * begins with ":" (component-base/zpages/flagz and cli/flag:ColonSeparatedMultimapStringString at
 * 1.36). Gates are those that were set, whatever their defaults.
 */
void ek_pod_flagz_read(const char *const *flags, size_t n, struct ek_arena *arena,
                       struct ek_pod_flags *ret_flags);

/* Reads n arguments of a kube-apiserver from a manifest. Only apis and unread are set. Words that
 * are not flags are ignored. */
void ek_pod_api_flags_read(const char *const *args, size_t n, struct ek_arena *arena,
                           struct ek_pod_flags *ret_flags);

#endif
