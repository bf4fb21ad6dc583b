/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line of a component of the control plane in a manifest: that of the container of a
 * static Pod or of the Pod template of a workload, or the extraArgs of a ClusterConfiguration of
 * kubeadm. Pure; the texts live in the arena or are borrowed from the object.
 */
#ifndef RECONCILERS_PLAN_SERVER_ARGS_H
#define RECONCILERS_PLAN_SERVER_ARGS_H

#include <stdbool.h>
#include <yyjson.h>

#include "api/base/arena.h"
#include "reconcilers/skew/facts.h"

/* Arguments, each with its place in the object. Zero-initialise with arena. */
struct ek_server_args {
    struct ek_arena *arena;
    const char **text;  /* "--name=value", or words of the container with the values of its env;
                           "$(NAME)" is a variable whose value the manifest does not have */
    const char **place; /* "spec.containers[0].command[3]" */
    size_t n, max;
    const char *unread;       /* why the command of a container that runs, or may run, the component
                                 cannot be read, such as "its command is sh, not kube-apiserver";
                                 NULL: there is no such container */
    const char *unread_place; /* place of that command, or of the container */
};

/* Appends the command line that object has for the component, which is kube-apiserver,
 * kube-controller-manager or kube-scheduler; the first word of a container is the program itself,
 * without the go-runner or hyperkube that calls it. Returns false when object is no manifest of
 * the component, has no arguments, or has a command that is not read (args->unread). */
bool ek_server_args_read(yyjson_val *object, enum ek_component component,
                         struct ek_server_args *args);

#endif
