/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The controllers of `evenkeel run`, one row each: what controller/registry.h is to know of them.
 * Not how they are made or stopped, which is the command's. Threading: the loop thread.
 */
#ifndef CONTROLLER_CONTROLLERS_H
#define CONTROLLER_CONTROLLERS_H

#include "controller/registry.h"

/* The rows; beside each what ek_registry_set is to be given. */
enum ek_controller {
    EK_CONTROLLER_SKEW,         /* struct ek_skew_controller */
    EK_CONTROLLER_MUTATION,     /* struct ek_mutation_controller */
    EK_CONTROLLER_GATES,        /* struct ek_gates_controller */
    EK_CONTROLLER_CERTIFICATES, /* struct ek_webhook_certs */
    EK_CONTROLLERS,
};

extern const struct ek_controller_row ek_controller_rows[EK_CONTROLLERS];

#endif
