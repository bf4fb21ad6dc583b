/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that several tests of the skew status start from. */
#ifndef TEST_SUPPORT_SKEW_SCRIPTS_H
#define TEST_SUPPORT_SKEW_SCRIPTS_H

#define CONTROLLERS                                                                                \
    "inst kube-controller-manager kcm-a 1.36.2/1.36/1.35 leader\n"                                 \
    "inst kube-scheduler sched-a 1.36.2/1.36 leader\n"
#define SAME(name) "gates " name " X=on\nserves " name " core/v1/pods\n"
#define A          "peer cp-a v1.36.2/1.36/1.35 lease=id-a address=10.0.0.1:6443\n" SAME("cp-a")
#define B          "peer cp-b v1.36.2/1.36/1.35 lease=id-b address=10.0.0.2:6443\n" SAME("cp-b")
#define OLD_B                                                                                      \
    "peer cp-b v1.34.2/1.34/1.33 lease=id-b address=10.0.0.2:6443\n"                               \
    "gates cp-b X=off\nserves cp-b core/v1/pods core/v1/old\n"
#define DOWN_B                                                                                     \
    "peer cp-b v1.36.2/1.36/1.35 lease=id-b address=10.0.0.2:6443 down=Refused age=300\n" SAME(    \
        "cp-b")
#define FINE A B CONTROLLERS "group kubelet v1.36.1 2 n1,n2\n"

/* Everything at once: each list and each optional field is written. */
#define RICH                                                                                       \
    "peer cp-a v1.36.2/1.36/1.35 lease=id-a address=10.0.0.1:6443 certificate=900 "                \
    "tied=Annotation\n"                                                                            \
    "peer cp-b v1.34.2/1.34/1.33 lease=id-b address=10.0.0.2:6443 down=Refused notready=etcd\n"    \
    "peer cp-c v1.30.0/1.30/1.29 dead stale assumed lease=id-c down=LeaseStale\n"                  \
    "peer cp-d v1.33.0/1.33/1.32 notready=etcd\n"                                                  \
    "gates cp-a X=on Y=on\nflags cp-b X=off Z=on\ngates cp-d Z=on\nserves cp-a core/v1/pods "      \
    "x.io/v1/as\n"                                                                                 \
    "serves cp-b core/v1/pods core/v1/x\n" CONTROLLERS                                             \
    "inst kube-scheduler sched-b 1.30.0/1.30/1.29 stale=Expired assumed\n"                         \
    "inst cloud-controller-manager ccm v1.2.0/? source=image\n"                                    \
    "group kubelet v1.36.1 2 n1,n2\ngroup kubelet v1.32.1 9 n3,n4,n5\ngroup kubelet - 1 n6\n"      \
    "group kube-proxy v1.32.1 1 n1\npair 1.36 1.32 1 n1\nproblem pods cannot be listed\n"

#endif
