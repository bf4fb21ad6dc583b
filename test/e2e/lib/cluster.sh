# shellcheck shell=bash
# A real control plane for the e2e scripts: etcd, three kube-apiservers of one binary that emulate
# different versions, a controller manager and a scheduler, in a network namespace of their own.
#
# usage, as the first lines of a script:
#   source "$(dirname "$0")/lib/cluster.sh"; isolate "$@"
# isolate runs the script again inside fresh network and process namespaces: addresses are its own,
# and whatever it starts ends with it. Without root or the binaries the script is skipped (77).
#
# The scripts use the kubectl of BIN; they run with 1.32.4 and with 1.36.2. Input of "kubectl apply
# -f -" is block YAML or JSON, because kubectl 1.32 takes a document that begins with "{" for JSON.
#
# ISOLATE, to be set before isolate: further flags of unshare (--mount).
# FAMILY, to be set before isolate: 4 (the default), 6 (no IPv4 address but etcd's loopback) or 46
# (dual-stack; the API servers' own addresses are IPv4).
set -euo pipefail
export LC_ALL=C.UTF-8 # $'\u00A0' is a character of two bytes

# How many times the seconds that a script gives a wait really last. The seconds say what an idle
# machine needs at most; the factor is for a busy one. No result depends on either: a wait that ends
# by time is a hang, and a failure.
PATIENCE=${EK_E2E_PATIENCE:-6}
FAMILY=${FAMILY:-4}
BIN=${KUBEBUILDER_ASSETS:-/usr/local/kubebuilder/bin}
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)

skip() { echo "skipped: $1"; exit 77; }
say() { printf '\n-- %s\n' "$1"; }
fail() {
  printf 'FAILED: %s\n' "$1" >&2
  if [ -n "${RUN:-}" ]; then
    if declare -F explain >/dev/null; then explain || true; fi # of the library of a subject
    for f in "$RUN"/evenkeel*.log; do [ -f "$f" ] && { echo "== $f"; tail -n 30 "$f"; }; done
    for f in "$RUN"/cp-*.log; do [ -f "$f" ] && { echo "== $f"; tail -n 3 "$f" | cut -c1-400; }; done
    kubectl get controlplane cluster -o yaml 2>/dev/null | tail -n 150 || true
  fi >&2
  exit 1
}

isolate() {
  for b in kube-apiserver etcd kubectl; do
    [ -x "$BIN/$b" ] || skip "no $b in $BIN (set KUBEBUILDER_ASSETS)"
  done
  if [ -z "${EK_E2E_ISOLATED:-}" ]; then
    [ "$(id -u)" = 0 ] || skip "needs root for its network namespace"
    unshare --net true 2>/dev/null || skip "cannot make a network namespace"
    # shellcheck disable=SC2086 # a list of words
    EK_E2E_ISOLATED=1 exec unshare --net --uts --pid ${ISOLATE:-} --fork --kill-child --mount-proc -- "$0" "$@"
  fi
  RUN=$(mktemp -d) PKI=$RUN/pki
  export HOME=$RUN # where kubectl keeps what it has discovered: all runs have the same addresses
  trap 'rm -rf "$RUN"' EXIT
  mkdir -p "$PKI"
  ip link set lo up
  for i in 11 12 13 41; do
    [ "$FAMILY" = 6 ] || ip addr add 10.99.0.$i/32 dev lo
    [ "$FAMILY" = 4 ] || ip -6 addr add fd00:99::$i/128 dev lo nodad || skip "no IPv6 here"
  done
}

# The address of the machine of that number, first family first; the second family of dual-stack.
ip_of() { if [ "$FAMILY" = 6 ]; then echo "fd00:99::$1"; else echo "10.99.0.$1"; fi; }
second_ip_of() { if [ "$FAMILY" = 46 ]; then echo "fd00:99::$1"; fi; }
host_port() { case $1 in *:*) echo "[$1]:$2" ;; *) echo "$1:$2" ;; esac } # ip, port

# Retries a command every 0.2 s until it succeeds; fails with a message after so many seconds, times PATIENCE.
eventually() { # seconds, what, command...
  local deadline=$((SECONDS + $1 * PATIENCE)) what=$2; shift 2
  until "$@" >"$RUN/eventually.out" 2>&1; do
    [ $SECONDS -lt "$deadline" ] || { cat "$RUN/eventually.out" >&2; fail "$what"; }
    read -rt 0.2 <> <(:) || :
  done
}

newkey() { openssl ecparam -name prime256v1 -genkey -noout -out "$1"; }

make_ca() { # name, common name
  newkey "$PKI/$1.key"
  openssl req -x509 -new -key "$PKI/$1.key" -sha256 -days 30 -subj "/CN=$2" -out "$PKI/$1.crt" \
    -addext keyUsage=critical,keyCertSign,cRLSign
}

make_cert() { # name, ca, subject, serverAuth|clientAuth, subject alternative names, days
  newkey "$PKI/$1.key"
  openssl req -new -key "$PKI/$1.key" -subj "$3" -out "$PKI/$1.csr"
  { echo "basicConstraints=CA:FALSE"; echo "keyUsage=critical,digitalSignature"
    echo "extendedKeyUsage=$4"; [ -z "${5:-}" ] || echo "subjectAltName=$5"; } >"$PKI/$1.ext"
  openssl x509 -req -in "$PKI/$1.csr" -CA "$PKI/$2.crt" -CAkey "$PKI/$2.key" -CAcreateserial \
    -sha256 -days "${6:-30}" -extfile "$PKI/$1.ext" -out "$PKI/$1.crt" 2>/dev/null
}

make_kubeconfig() { # name, server, user as YAML flow
  cat >"$RUN/$1.kubeconfig" <<K
apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: "$2", certificate-authority: $PKI/ca.crt}}]
users: [{name: u, user: $3}]
contexts: [{name: e2e, context: {cluster: e2e, user: u}}]
K
}

cert_user() { echo "{client-certificate: $PKI/$1.crt, client-key: $PKI/$1.key}"; }

peer_names() { # name, ip: what kubeadm puts into an API server's certificate
  echo "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:$1,IP:10.96.0.1,IP:fd00:96::1,IP:$2"
}

make_pki() {
  make_ca ca e2e-ca
  make_ca front-proxy-ca e2e-front-proxy-ca
  make_cert cp-a ca /CN=kube-apiserver serverAuth "$(peer_names cp-a "$(ip_of 11)")"
  make_cert cp-b ca /CN=kube-apiserver serverAuth "$(peer_names cp-b "$(ip_of 12)")"
  make_cert cp-c ca /CN=kube-apiserver serverAuth "$(peer_names cp-c "$(ip_of 13)")"
  # Beside cp-a, as on every control plane node: elsewhere nothing vouches for them.
  make_cert kcm-serving ca /CN=kube-controller-manager serverAuth DNS:kcm-a,IP:10.99.0.11,IP:fd00:99::11
  make_cert scheduler-serving ca /CN=kube-scheduler serverAuth DNS:sched-a,IP:10.99.0.11,IP:fd00:99::11
  make_cert admin ca /O=system:masters/CN=admin clientAuth
  make_cert kcm ca /CN=system:kube-controller-manager clientAuth
  make_cert scheduler ca /CN=system:kube-scheduler clientAuth
  make_cert front-proxy-client front-proxy-ca /CN=front-proxy-client clientAuth
  openssl genrsa -out "$PKI/sa.key" 2048 2>/dev/null
  openssl rsa -in "$PKI/sa.key" -pubout -out "$PKI/sa.pub" 2>/dev/null
  for u in admin kcm scheduler; do
    make_kubeconfig $u "https://$(host_port "$(ip_of 11)" 6443)" "$(cert_user $u)"
  done
}

# Starts a command under a hostname of its own, because identity Leases hash the hostname.
start_as() { # hostname, log name, command...
  local host=$1 log=$2; shift 2
  unshare --uts sh -c "hostname $host; exec \"\$@\"" - "$@" >>"$RUN/$log.log" 2>&1 &
  echo $! >"$RUN/$log.pid"
}

stop() { # log name, signal
  kill "-${2:-TERM}" "$(cat "$RUN/$1.pid")" 2>/dev/null || true
  while kill -0 "$(cat "$RUN/$1.pid")" 2>/dev/null; do read -rt 0.1 <> <(:) || :; done
}

is_healthy() {
  curl -sf --max-time 10 --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" \
    "https://$(host_port "$1" 6443)/readyz"
}

start_etcd() {
  start_as etcd etcd "$BIN/etcd" --name=e --data-dir="$RUN/etcd" --unsafe-no-fsync \
    --listen-client-urls=http://127.0.0.1:2379 --advertise-client-urls=http://127.0.0.1:2379 \
    --listen-peer-urls=http://127.0.0.1:2380 --initial-advertise-peer-urls=http://127.0.0.1:2380 \
    --initial-cluster=e=http://127.0.0.1:2380
  eventually 30 "etcd does not start" curl -sf http://127.0.0.1:2379/health
}

service_range() {
  case $FAMILY in
  4) echo 10.96.0.0/16 ;;
  6) echo fd00:96::/112 ;;
  46) echo 10.96.0.0/16,fd00:96::/112 ;;
  esac
}

start_peer() { # hostname, address, further flags
  local name=$1 ip=$2; shift 2
  start_as "$name" "$name" "$BIN/kube-apiserver" \
    --etcd-servers=http://127.0.0.1:2379 --cert-dir="$RUN/$name" \
    --bind-address="$ip" --advertise-address="$ip" --secure-port=6443 \
    --tls-cert-file="$PKI/$name.crt" --tls-private-key-file="$PKI/$name.key" \
    --client-ca-file="$PKI/ca.crt" --authorization-mode=RBAC --allow-privileged=true \
    --service-cluster-ip-range="$(service_range)" \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$PKI/sa.pub" --service-account-signing-key-file="$PKI/sa.key" \
    --requestheader-client-ca-file="$PKI/front-proxy-ca.crt" \
    --requestheader-allowed-names=front-proxy-client \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --proxy-client-cert-file="$PKI/front-proxy-client.crt" \
    --proxy-client-key-file="$PKI/front-proxy-client.key" \
    --shutdown-watch-termination-grace-period=2s "$@"
}

# The log has the hostname's name unless LOG says another, for hosts that run several.
start_component() { # kube-controller-manager|kube-scheduler, hostname, address, user, flags
  local component=$1 host=$2 ip=$3 user=$4; shift 4
  [ -x "$BIN/$component" ] || { echo "no $component in $BIN: going on without it"; return 0; }
  start_as "$host" "${LOG:-$host}" "$BIN/$component" --kubeconfig="$RUN/$user.kubeconfig" \
    --authentication-kubeconfig="$RUN/$user.kubeconfig" \
    --authorization-kubeconfig="$RUN/$user.kubeconfig" --bind-address="$ip" \
    --tls-cert-file="$PKI/$user-serving.crt" --tls-private-key-file="$PKI/$user-serving.key" \
    --leader-elect=true --leader-elect-lease-duration=60s --leader-elect-renew-deadline=40s "$@"
}

COORDINATED=(--feature-gates=CoordinatedLeaderElection=true)
BETA_LEASES=(--runtime-config=coordination.k8s.io/v1beta1=true)

# etcd and cp-a (1.36), cp-b (emulating 1.34), cp-c (emulating 1.33), one of each controller.
start_control_plane() {
  make_pki
  export KUBECONFIG=$RUN/admin.kubeconfig
  start_etcd
  start_peer cp-a 10.99.0.11 "${COORDINATED[@]}" "${BETA_LEASES[@]}"
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
  start_peer cp-b 10.99.0.12 --emulated-version=1.34 "${COORDINATED[@]}" "${BETA_LEASES[@]}"
  start_peer cp-c 10.99.0.13 --emulated-version=1.33 "${COORDINATED[@]}" "${BETA_LEASES[@]}"
  eventually 60 "cp-b does not become ready" is_healthy 10.99.0.12
  eventually 60 "cp-c does not become ready" is_healthy 10.99.0.13
  start_component kube-controller-manager kcm-a 10.99.0.11 kcm "${COORDINATED[@]}" \
    --service-account-private-key-file="$PKI/sa.key" --root-ca-file="$PKI/ca.crt" \
    --use-service-account-credentials=true
  start_component kube-scheduler sched-a 10.99.0.11 scheduler "${COORDINATED[@]}"
  eventually 30 "the default service account does not appear" kubectl get serviceaccount default
}

kubectl() { "$BIN/kubectl" "$@"; }

# A Node as a kubelet of some version would have written it.
post_node() { # name, kubelet version, internal address
  kubectl apply -f - >/dev/null <<N
{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "$1", "labels": {"kubernetes.io/hostname": "$1"}}}
N
  kubectl patch node "$1" --subresource=status --type=merge -p "{\"status\": {
    \"addresses\": [{\"type\": \"InternalIP\", \"address\": \"${3:-10.99.1.1}\"},
      {\"type\": \"Hostname\", \"address\": \"$1\"}],
    \"nodeInfo\": {\"kubeletVersion\": \"$2\", \"kubeProxyVersion\": \"\", \"machineID\": \"\", \"systemUUID\": \"\",
      \"bootID\": \"\", \"kernelVersion\": \"\", \"osImage\": \"\", \"containerRuntimeVersion\": \"\",
      \"operatingSystem\": \"linux\", \"architecture\": \"amd64\"}}}" >/dev/null
}

# A static pod of the control plane, as a kubelet mirrors it; replaces the one of before. Without words
# its command is not printed.
post_static_pod() { # component, host, addresses (IP,..), words of its command
  local component=$1 host=$2 ips=$3 command; shift 3
  command=$(jq -cn '$ARGS.positional' --args -- "$@")
  set -- "$component" "$host" "${ips%%,*}"
  ips=$(jq -Rc 'split(",") | map({ip: .})' <<<"$ips")
  kubectl delete pod "$1-$2" -n kube-system --grace-period=0 --force --ignore-not-found >/dev/null 2>&1
  kubectl apply -f - >/dev/null <<P
{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1-$2", "namespace": "kube-system",
  "labels": {"component": "$1", "tier": "control-plane"},
  "annotations": {"kubernetes.io/config.mirror": "e2e", "kubernetes.io/config.source": "file"}},
 "spec": {"nodeName": "$2", "hostNetwork": true, "automountServiceAccountToken": false, "enableServiceLinks": false,
  "containers": [{"name": "$1", "image": "registry.k8s.io/$1:v1.36.2", "command": $command}]}}
P
  kubectl patch pod "$1-$2" -n kube-system --subresource=status --type=merge -p \
    "{\"status\": {\"phase\": \"Running\", \"hostIP\": \"$3\", \"podIP\": \"$3\", \"podIPs\": $ips}}" >/dev/null
}

# Applies deploy/ and waits until the custom resources named (plurals of evenkeel.dev) are served.
deploy_evenkeel() {
  kubectl apply -k "$TOP/deploy" >/dev/null
  local crds=("${@/#/crd/}")
  kubectl wait "${crds[@]/%/.evenkeel.dev}" --for=condition=Established --timeout="$((30 * PATIENCE))s" >/dev/null
}

# Makes evenkeel.kubeconfig of Evenkeel's ServiceAccount at cp-a, its token in $RUN/token.
use_service_account() { # flags of kubectl create token
  kubectl create token evenkeel -n evenkeel-system "$@" >"$RUN/token"
  make_kubeconfig evenkeel "https://$(host_port "$(ip_of 11)" 6443)" "{tokenFile: $RUN/token}"
}

# The webhooks that Evenkeel has registered.
hooks() { kubectl get "${1}webhookconfiguration" evenkeel -o 'jsonpath={.webhooks[*].name}' 2>/dev/null || true; }
hooks_are() { [ "$(hooks "$1")" = "$2" ]; } # mutating|validating, names

# Whether the status of the ControlPlane has a node of version v1.36.N, and whether a problem has that text.
# A change that only a working controller publishes: a kubelet of another version.
changes=0
change_node() { changes=$((changes + 1)); post_node changed "v1.36.$changes"; }
is_published() { kubectl get ekcp cluster -o "jsonpath={.status.nodes[*].version}" | grep -q "v1\.36\.$changes\b"; }
publishes() { change_node; eventually "$1" "$2" is_published; } # seconds, message of a failure
status_says() { kubectl get ekcp cluster -o jsonpath='{.status.problems}' | grep -qF -e "$1"; }

condition() { # type, jsonpath field
  kubectl get controlplane cluster -o "jsonpath={.status.conditions[?(@.type==\"$1\")].$2}"
}

wait_condition() { # type=status, seconds
  kubectl wait controlplane/cluster --for=condition="$1" --timeout="$((${2:-30} * PATIENCE))s" >/dev/null ||
    fail "condition $1 was not reached; it is: $(condition "${1%%=*}" status) $(condition "${1%%=*}" message)"
}

expect() { # what, actual, pattern of the shell
  # shellcheck disable=SC2053 # a pattern on purpose
  [[ $2 == $3 ]] || fail "$1: expected '$3', got '$2'"
  printf 'ok: %s: %s\n' "$1" "$2"
}
