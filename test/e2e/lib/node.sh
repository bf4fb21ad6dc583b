# shellcheck shell=bash
# A node for the e2e scripts: containerd, kubelet and kube-proxy beside the control plane of cluster.sh, which is
# sourced first. Pods are in 10.88.0.0/24, the node is 10.99.0.30. Usage, as the first lines of a script:
#   ISOLATE=--mount; source cluster.sh; source node.sh; need_node; guard_node; isolate "$@"; enter_node
#
# What such a node needs inside of namespaces: runc, because crun takes no hybrid cgroups; no adjustment of the OOM
# score, which a namespace may not lower; a bridge of the CNI plug-ins without promiscuous mode; kubelet without file
# system quotas, and with cgroups v1.

need_node() { # programs beyond those of the control plane and the node
  local tool
  for tool in containerd ctr runc iptables conntrack gcc jq strip dpkg-query "$@"; do
    command -v "$tool" >/dev/null || skip "no $tool"
  done
  [ -x /usr/lib/cni/bridge ] || skip "no CNI plug-ins (Debian's package containernetworking-plugins)"
  for tool in kubelet kube-proxy kube-controller-manager kube-scheduler; do
    [ -x "$BIN/$tool" ] || skip "no $tool in $BIN"
  done
  if ldd "$EVENKEEL" | grep -qE 'lib(asan|tsan|ubsan)'; then skip "a build with sanitizers is not shipped"; fi
}

# Before isolate: whatever ends this script, its folder and its cgroups are removed.
guard_node() {
  [ -z "${EK_E2E_ISOLATED:-}" ] || return 0
  TMPDIR=$(mktemp -d -t ek-node.XXXXXX)
  export TMPDIR
  (setsid "$TOP/test/e2e/lib/node_guard" $$ "$TMPDIR" </dev/null >/dev/null 2>&1 &)
}

# After isolate: what the programs of a node write outside of their folders ends with the mount namespace.
enter_node() {
  local folder
  trap - EXIT # the guard removes the folder; before, pods have their mounts there
  CGROUP=/$(basename "$TMPDIR")
  for folder in "$RUN" /run /opt /var/log; do mount -t tmpfs tmpfs "$folder"; done
  mkdir -p "$PKI"
  export TMPDIR=$RUN
  if [ -d /sys/fs/cgroup/memory ]; then
    for folder in /sys/fs/cgroup/*/; do mkdir "$folder$CGROUP"; done
  else
    mkdir "/sys/fs/cgroup$CGROUP"
  fi
}

# The image of a program, as .ci/release makes the image.
make_image() { # program, name with a tag, archive
  local folder=$RUN/image
  mkdir "$folder"
  strip -o "$folder.program" "$1"
  "$TOP/deploy/image/collect" "$folder.program" "$folder"
  "$TOP/deploy/image/pack" "$folder" "$2" "$("$1" version --short)" e2e "$3"
  rm -rf "$folder" "$folder.program"
}

ctr_() { ctr -a "$RUN/containerd/sock" -n k8s.io "$@"; }

# The sandbox of each pod: a program that waits.
make_pause() {
  mkdir "$RUN/pause"
  gcc -static -Os -x c -o "$RUN/pause/pause" - <<<'#include <unistd.h>
int main(void) { for (;;) pause(); }'
  "$TOP/deploy/image/oci" "$RUN/pause" '{"Entrypoint": ["/pause"]}' pause:1 "$RUN/pause.tar" >/dev/null
}

start_containerd() {
  mkdir -p "$RUN/containerd" "$RUN/cni"
  cat >"$RUN/cni/10-pods.conflist" <<C
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$RUN/cni/addresses", "subnet": "10.88.0.0/24",
     "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "loopback"}]}
C
  cat >"$RUN/containerd/config.toml" <<C
version = 2
root = "$RUN/containerd/root"
state = "$RUN/containerd/state"
[grpc]
  address = "$RUN/containerd/sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "docker.io/library/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "$(command -v runc)"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$RUN/cni"
C
  start_as node-1 containerd containerd --config "$RUN/containerd/config.toml"
  eventually 20 "containerd does not start" ctr_ version
}

start_kubelet() {
  mkdir -p "$RUN/kubelet"
  cat >"$RUN/kubelet.yaml" <<C
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: $PKI/ca.crt}}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
failCgroupV1: false
failSwapOn: false
containerRuntimeEndpoint: unix://$RUN/containerd/sock
cgroupRoot: $CGROUP
syncFrequency: 10s
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
resolvConf: ""
evictionHard: {memory.available: "50Mi", nodefs.available: "1%", imagefs.available: "1%"}
localStorageCapacityIsolation: false
C
  start_as node-1 kubelet "$BIN/kubelet" --config="$RUN/kubelet.yaml" --kubeconfig="$RUN/kubelet.kubeconfig" \
    --root-dir="$RUN/kubelet" --cert-dir="$RUN/kubelet/pki" --hostname-override=node-1 --node-ip=10.99.0.30
}

# The node, after the API servers: returns when it is Ready. Arguments: archives of images.
start_node() {
  local image
  ip link add node0 type bridge
  ip link set node0 up
  ip addr add 10.99.0.30/24 dev node0
  ip route add default dev node0
  sysctl -qw net.ipv4.ip_forward=1
  make_cert kubelet ca /O=system:nodes/CN=system:node:node-1 clientAuth
  make_cert kube-proxy ca /CN=system:kube-proxy clientAuth
  make_kubeconfig kubelet https://10.99.0.11:6443 "$(cert_user kubelet)"
  make_kubeconfig kube-proxy https://10.99.0.11:6443 "$(cert_user kube-proxy)"
  start_containerd
  make_pause
  for image in "$RUN/pause.tar" "$@"; do ctr_ images import "$image" >/dev/null; done
  kubectl create clusterrolebinding kube-proxy --clusterrole=system:node-proxier --user=system:kube-proxy >/dev/null
  start_kubelet
  start_as node-1 kube-proxy "$BIN/kube-proxy" --kubeconfig="$RUN/kube-proxy.kubeconfig" --hostname-override=node-1 \
    --proxy-mode=iptables --conntrack-max-per-core=0 --cluster-cidr=10.88.0.0/24
  eventually 60 "the node does not register" kubectl get node node-1
  kubectl wait node/node-1 --for=condition=Ready --timeout="$((60 * PATIENCE))s" >/dev/null
}

# Two API servers, their controllers, and the node with these images. cp-b has other flags after a restart.
peer_flags=("${COORDINATED[@]}" "${BETA_LEASES[@]}" --authorization-mode=Node --enable-admission-plugins=NodeRestriction
  --kubelet-preferred-address-types=InternalIP)
start_cp_b() { # further flags
  start_peer cp-b 10.99.0.12 "${peer_flags[@]}" --audit-log-path="$RUN/audit-cp-b.log" "$@"
}
start_cluster() { # archives of images
  make_pki
  export KUBECONFIG=$RUN/admin.kubeconfig
  peer_flags+=(--kubelet-client-certificate="$PKI/admin.crt" --kubelet-client-key="$PKI/admin.key")
  peer_flags+=(--audit-policy-file="$RUN/audit-policy.yaml")
  cat >"$RUN/audit-policy.yaml" <<P
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - {level: Metadata, users: ["system:serviceaccount:evenkeel-system:evenkeel"]}
  - {level: None}
P
  start_etcd
  start_peer cp-a 10.99.0.11 "${peer_flags[@]}" --audit-log-path="$RUN/audit-cp-a.log"
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
  start_cp_b
  start_component kube-controller-manager kcm-a 10.99.0.11 kcm "${COORDINATED[@]}" \
    --service-account-private-key-file="$PKI/sa.key" --root-ca-file="$PKI/ca.crt" --use-service-account-credentials=true
  start_component kube-scheduler sched-a 10.99.0.11 scheduler "${COORDINATED[@]}"
  start_node "$@"
  eventually 60 "cp-b does not become ready" is_healthy 10.99.0.12
  eventually 30 "the default service account does not appear" kubectl get serviceaccount default
}
