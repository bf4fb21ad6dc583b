/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views for tests of the skew reconciler, made from short texts or from a recorded cluster.
 *
 * A script has one object per line: a word, arguments, then key=value pairs (a comma separates
 * several values; times are seconds before now). Lines that are empty or start with "#" are
 * skipped. Namespaces, labels and such are those that the real writers use.
 *
 *   lease HOST [claim=IP:PORT] [age=5] [form=1.26] [label=HOST|none] [name=NAME] [ns=NS]
 *         [holder=none] [renew=TEXT]
 *   slice IP.. [port=6443] [ready=false|nil] [node=NODE] [type=IPv6] [ns=NS] [service=NAME]
 *         [name=NAME]
 *   node NAME [ip=IP,..] [hostname=HOST] [kubelet=VERSION] [role=control-plane]
 *   pod COMPONENT NODE [ip=IP] [ips=IP,..] [image=IMAGE] [args=A,..]
 *         [static=false|owner] [hostnet=false]
 *         [phase=PHASE] [name=NAME] [label=component|k8s-app|none] [cmd=WORD|WORD~TEXT|..]
 *         [more=WORD|..] [deleted=true] [state=running|waiting|terminated] [hash=HASH]
 *         [container=NAME]       (cmd and args are the container's command, more its args)
 *   candidate HOST of=COMPONENT [uuid=U] [bv=1.36.2] [ev=1.36.0] [created=600] [renewed=60]
 *         [pinged=SECONDS]
 *   election COMPONENT holder=IDENTITY [age=2] [duration=15]
 *   probe ADDRESS [version=v1.36.2] [ev=1.36] [mcv=1.35] [openapi=1.36] [info=1.36.2]
 *         [info_ev=1.36] [info_mcv=1.35] [cert=NAME,..] [error=refused|timeout|tls|forbidden|token]
 *         [failed=version|metrics|openapi,..] [age=1] [proven=true]
 *   controlplane [mode=Static] [endpoints=IP:PORT,..] [ignored=COMPONENT,..]
 *   configured ADDRESS
 *   deny leases|candidates|endpoint_slices|nodes|pods|controlplane WHY..
 *
 * Whatever cannot be made fails the running test. A fixture owns all that its view shows.
 */
#ifndef TEST_SUPPORT_VIEW_FIXTURE_H
#define TEST_SUPPORT_VIEW_FIXTURE_H

#include "reconcilers/skew/view.h"

struct ek_view_fixture;

/* Makes an empty fixture (all lists available) whose now is the RFC 3339 time now; NULL stands for
 * one second after the recorded cluster's leases were read. */
struct ek_view_fixture *ek_view_fixture_new(const char *now);
void ek_view_fixture_free(struct ek_view_fixture *fx);
EK_CLEANUP_PTR(ek_view_fixture, ek_view_fixture_free)

/* Adds what a script says. */
void ek_view_fixture_script(struct ek_view_fixture *fx, const char *script);

/* Adds one object, by its kind, from JSON in which ' may stand for ". */
void ek_view_fixture_add(struct ek_view_fixture *fx, const char *json);

/* Adds the objects of a recorded list, a file below the recorded cluster's folder. */
void ek_view_fixture_add_file(struct ek_view_fixture *fx, const char *path);

/* Adds the recorded cluster: lists and probes of all API servers and components. */
void ek_view_fixture_add_recording(struct ek_view_fixture *fx);

/* True when there are recorded cases; tests that need them return 77 otherwise. */
bool ek_view_fixture_has_recording(void);

/* Adds an empty probe of address; the caller fills it. */
struct ek_probe *ek_view_fixture_add_probe(struct ek_view_fixture *fx, const char *address);

/* Turns the order of all lists and probes around, against the promise that objects come by key:
 * for tests that order does not matter. Only for views without nodes. */
void ek_view_fixture_reverse(struct ek_view_fixture *fx);

/* The view, in key order (but see above); borrowed until the next call that changes it. */
const struct ek_skew_view *ek_view_fixture_view(struct ek_view_fixture *fx);

#endif
