# shellcheck shell=bash
# The two operators of OLM v0 beside a real API server: no image, no package server, no node. A small
# loop plays the kubelet (lib/kubelet.py), and ek-registry serves catalogs (lib/olm_catalog.py) at an address.
#
# usage, after isolate:
#   source "$(dirname "$0")/lib/olm.sh"; require_olm; start_olm
#
# The operators are not part of this repository: `olm` and `catalog` of operator-lifecycle-manager are looked
# for in $OLM_ASSETS or /usr/local/olm/bin, OLM's CustomResourceDefinitions (crds.yaml.gz) in the same folder, in
# the folder above it, or in $EK_SHARED_DATA/failforward. Without them the script is skipped.
#
# OLM's clocks are flags: PLAN_TIMEOUT (a plan is retried for so long; 1m as shipped), OLM_INTERVAL (5m) and
# CATALOG_INTERVAL (15m: what OLM has overlooked, OLM looks at again then). On a busy machine OLM overlooks a catalog
# that came back, or a plan; with 15 minutes a script would wait for nothing else. EK_E2E_SHIPPED_CLOCKS=1 keeps all.
# BACK_OFF is the kubelet's: the seconds (10) after which a container that crashed is started again.
if [ -z "${EK_E2E_SHIPPED_CLOCKS:-}" ]; then
  PLAN_TIMEOUT=${PLAN_TIMEOUT:-10s}
  CATALOG_INTERVAL=${CATALOG_INTERVAL:-1m}
else
  unset PLAN_TIMEOUT CATALOG_INTERVAL BACK_OFF
fi
OLM=${OLM_ASSETS:-/usr/local/olm/bin}
OLM_LIB=$TOP/test/e2e/lib

require_olm() {
  local b folder
  for b in olm catalog; do [ -x "$OLM/$b" ] || skip "no $b in $OLM (set OLM_ASSETS)"; done
  OLM_CRDS=
  for folder in "$OLM" "$OLM/.." "${EK_SHARED_DATA:-/nowhere}/failforward"; do
    [ -f "$folder/crds.yaml.gz" ] && OLM_CRDS=$folder/crds.yaml.gz && break
  done
  [ -n "$OLM_CRDS" ] || skip "no crds.yaml.gz in $OLM or beside it"
  [ -x "${EK_E2E_PROGRAMS:-}/ek-registry" ] || skip "no ek-registry in EK_E2E_PROGRAMS (libnghttp2 is required)"
  [ -x "$BIN/kube-controller-manager" ] || skip "no kube-controller-manager in $BIN"
}

# Runs a command again when it ends, as a kubelet does, and says so.
RESTARTED='while :; do "$@" || :; echo "== $1 has ended, and is started again"; read -rt 1 <> <(:) || :; done'

# One API server with an audit log of writes, the controller manager, OLM, the registry and the kubelet.
start_olm() {
  ip addr add 10.99.0.21/32 dev lo
  ip route add 10.96.0.0/16 dev lo
  make_pki
  make_cert olm ca /O=system:masters/CN=olm clientAuth
  make_kubeconfig olm https://10.99.0.11:6443 "$(cert_user olm)"
  export KUBECONFIG=$RUN/admin.kubeconfig
  cat >"$RUN/audit.yaml" <<P
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [create, update, patch, delete, deletecollection]
- level: None
P
  start_etcd
  start_peer cp-a 10.99.0.11 --audit-policy-file="$RUN/audit.yaml" --audit-log-path="$RUN/audit.jsonl"
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
  start_as kcm-a kcm-a "$BIN/kube-controller-manager" --kubeconfig="$RUN/kcm.kubeconfig" \
    --bind-address=10.99.0.21 --leader-elect=false --use-service-account-credentials=true \
    --service-account-private-key-file="$PKI/sa.key" --root-ca-file="$PKI/ca.crt"
  zcat "$OLM_CRDS" | kubectl create -f - >/dev/null
  kubectl wait --for=condition=Established crd --all --timeout="$((30 * PATIENCE))s" >/dev/null
  kubectl create namespace olm >/dev/null
  mkdir -p "$RUN/catalogs"
  start_as registry registry "$EK_E2E_PROGRAMS/ek-registry" "$RUN/catalogs"
  start_as kubelet kubelet python3 "$OLM_LIB/kubelet.py" https://10.99.0.11:6443 "$PKI" "${BACK_OFF:-10}"
  OPERATOR_NAMESPACE=olm OPERATOR_NAME=olm-operator KUBECONFIG=$RUN/olm.kubeconfig \
    start_as olm olm bash -c "$RESTARTED" - "$OLM/olm" --namespace=olm --interval="${OLM_INTERVAL:-5m}"
  KUBECONFIG=$RUN/olm.kubeconfig start_as catalog catalog bash -c "$RESTARTED" - "$OLM/catalog" --namespace=olm \
    --kubeconfig="$RUN/olm.kubeconfig" --interval="${CATALOG_INTERVAL:-15m}" \
    --install-plan-retry-timeout="${PLAN_TIMEOUT:-1m}"
  eventually 30 "no default service account" kubectl get serviceaccount default # the controller manager has begun
}

# What a failure of a script leaves to be read, the shortest first, because a log may be cut: what ended, what each
# report and object of OLM says, every write of an install plan, and what the programs logged last.
explain() {
  local p
  for p in etcd cp-a kcm-a registry kubelet; do
    kill -0 "$(cat "$RUN/$p.pid")" 2>/dev/null || echo "== $p has ended"
  done
  for p in catalog olm; do # how often and why it ended
    grep '^== .* is started again' "$RUN/$p.log" | sort | uniq -c || true
    grep -m 2 -E -A 12 '^(panic|fatal error|runtime): ?|level=fatal' "$RUN/$p.log" | cut -c1-400 || true
  done
  cat "$RUN/lost" 2>/dev/null || true
  echo "== reports"
  kubectl get ekff -A -o json 2>/dev/null | jq -c '.items[] | [.metadata.namespace, .status.class, .status.cause,
    .status.next, .status.episode]' | cut -c1-500
  echo "== objects of OLM"
  kubectl get subscriptions.operators.coreos.com,installplans,csv -A -o json | jq -r '.items[] |
    "\(.kind) \(.metadata.namespace)/\(.metadata.name) \(.metadata.resourceVersion): " + ({generation: .spec.generation,
      csvs: .spec.clusterServiceVersionNames, replaces: .spec.replaces, current: .status.currentCSV,
      installed: .status.installedCSV, state: .status.state, plan: .status.installPlanRef.name, phase: .status.phase,
      reason: .status.reason, message: .status.message, started: .status.startTime, since: .status.lastTransitionTime,
      steps: (.status.plan | if . then map("\(.resource.kind) \(.status)") else null end)} |
      with_entries(select(.value != null)) | tojson)' | cut -c1-700
  echo "== writes of install plans"
  jq -r 'select(.objectRef.resource == "installplans") | "\(.requestReceivedTimestamp) \(.user.username) \(.verb) " +
    "\(.objectRef.namespace)/\(.objectRef.name) \(.objectRef.subresource) (\(.responseStatus.code)) " +
    "\(.requestObject.status.phase) \(.requestObject.status.message)"' "$RUN/audit.jsonl" | tail -n 80 | cut -c1-300
  for p in catalog olm registry kubelet; do echo "== $p.log"; tail -n 40 "$RUN/$p.log" | cut -c1-400; done
}

# Publishes versions of package `widget` of a namespace: "1.0.0" "2.0.0 replaces=1.0.0 defect=crd" ..., and of
# others: package=gadget "1.0.0" ...; lib/olm_catalog.py describes the words.
publish() { # namespace, versions...
  python3 "$OLM_LIB/olm_catalog.py" "$RUN/catalogs/$(port_of "$1").json" "$1.example.org" "${@:2}"
}

# Closes the port of the catalog of a namespace, until the next `publish`.
withdraw() { rm "$RUN/catalogs/$(port_of "$1").json"; } # namespace

# Whether OLM sees the catalog of a namespace in a state, or with "!" in another one.
catalog_is() { # namespace, state
  local is
  is=$(kubectl get catalogsource cat -n "$1" -o jsonpath='{.status.connectionState.lastObservedState}')
  echo "$1: the catalog is $is"
  if [[ $2 == !* ]]; then [ "$is" != "${2#!}" ]; else [ "$is" = "$2" ]; fi
}

# Each namespace has a catalog of its own, at the port that it was given first.
port_of() { # namespace
  local port
  port=$(awk -v n="$1" '$1 == n { print $2 }' "$RUN/ports" 2>/dev/null || true)
  if [ -z "$port" ]; then
    port=$((20001 + $(cat "$RUN/ports" 2>/dev/null | wc -l)))
    echo "$1 $port" >>"$RUN/ports"
  fi
  echo "$port"
}

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; } # port

# A Subscription of a namespace as JSON, with further members of its spec and of its annotations.
subscription() { # namespace, package, members of the spec, of the annotations
  echo '{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "Subscription",
  "metadata": {"name": "'"$2"'", "namespace": "'"$1"'", "annotations": {'"${4:-}"'}},
  "spec": {"name": "'"$2"'", "channel": "stable", "source": "cat", "sourceNamespace": "'"$1"'"'"${3:+, $3}"'}}'
}

# Makes a namespace with an OperatorGroup, its catalog and the subscription `widget`; versions must be
# published before: OLM tries a catalog that is not there a few times only.
subscribe() { # namespace, members of the Subscription's spec, of its annotations
  local port
  port=$(port_of "$1")
  eventually 10 "the catalog of $1 is not served" listens "$port"
  kubectl create namespace "$1" >/dev/null
  kubectl apply -f - >/dev/null <<S
{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "operators.coreos.com/v1", "kind": "OperatorGroup", "metadata": {"name": "og", "namespace": "$1"},
  "spec": {"targetNamespaces": ["$1"]}},
 {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "CatalogSource",
  "metadata": {"name": "cat", "namespace": "$1"},
  "spec": {"sourceType": "grpc", "address": "127.0.0.1:$port", "displayName": "cat", "publisher": "e2e"}},
 $(subscription "$1" widget "${@:2}")]}
S
}

# The phase and the reason of a CSV of `widget`: "Succeeded/InstallSucceeded"; empty without the CSV.
csv() { # namespace, version
  kubectl get csv "widget.v$2" -n "$1" -o jsonpath='{.status.phase}/{.status.reason}' 2>/dev/null || true
}
csv_is() { local is; is=$(csv "$1" "$2"); [[ $is == $3 ]]; } # namespace, version, pattern

# The names of all CSVs of a namespace, in order.
csvs() { kubectl get csv -n "$1" -o jsonpath='{.items[*].metadata.name}'; }
csvs_are() { [ "$(csvs "$1")" = "$2" ]; } # namespace, names

# The phase of the newest install plan of a version.
plan() { # namespace, version
  kubectl get installplan -n "$1" -o json | jq -r --arg v "widget.v$2" '[.items[] |
    select(.spec.clusterServiceVersionNames | index($v))] | sort_by(.spec.generation) | last | .status.phase // empty'
}
plan_is() { [ "$(plan "$1" "$2")" = "$3" ]; } # namespace, version, phase

# Whether a plan of a version failed at any time: the audit log remembers what a retry has replaced since. A plan that
# is Installing three minutes after its start, OLM has lost before its resync; a change of the plan wakes OLM.
plan_has_failed() { # namespace, version
  jq -e -n --arg n "$1" --arg v "widget.v$2" 'first(inputs | select(.objectRef.resource == "installplans" and
    .objectRef.subresource == "status" and .objectRef.namespace == $n and .responseStatus.code == 200 and
    (.requestObject.spec.clusterServiceVersionNames // [] | index($v)) and .requestObject.status.phase == "Failed")) |
    .requestReceivedTimestamp' "$RUN/audit.jsonl" && return 0
  echo "$1: $(plan "$1" "$2")"
  kubectl get installplan -n "$1" -o json | jq -r '.items[] | select(.status.phase == "Installing" and
    (.status.startTime // "9999-01-01T00:00:00Z" | fromdate) < now - 180) | .metadata.name' |
    while read -r lost; do
      echo "$1: OLM had lost $lost" >>"$RUN/lost"
      kubectl annotate installplan "$lost" -n "$1" --overwrite "e2e.example.org/woken=$SECONDS" >/dev/null
    done
  return 1
}

# Writes of users whose name has that text, in the audit log: "verb resource namespace/name (code)".
writes_by() { # text
  jq -r --arg u "$1" 'select(.user.username | contains($u)) | "\(.verb) \(.objectRef.resource)" +
    (if .objectRef.subresource then "/" + .objectRef.subresource else "" end) +
    " \(.objectRef.namespace // "")/\(.objectRef.name // "") (\(.responseStatus.code))"' "$RUN/audit.jsonl"
}
