# shellcheck shell=bash
# What the abuse scripts share: a victim whose writes a policy must mutate, by a real API server and
# Evenkeel's webhook, and hostile clients beside the victim. To be sourced after cluster.sh and
# isolate, with EVENKEEL, BENCH (ek-bench), ABUSE (ek-abuse) and TIME (seconds of each attack) set. For another victim
# than that of start_victim, URL, MARK and HEALTH are set after that, and PID.
#
# Attacks come from 10.99.0.66, or from the API server's own source address as behind a NAT.
for i in 31 66; do ip addr add 10.99.0.$i/32 dev lo; done
ulimit -n "$(ulimit -Hn)"
W=tls:10.99.0.31:9443 H=10.99.0.31:8081 M=tls:10.99.0.31:8443 # the webhook, the health port, the metrics port

policy() { # name, failurePolicy, resource
  cat <<Y
---
apiVersion: evenkeel.dev/v1alpha1
kind: MutatingAdmissionPolicy
metadata:
  name: $1
spec:
  failurePolicy: $2
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
    - apiGroups: [""]
      apiVersions: [v1]
      operations: [CREATE]
      resources: [$3]
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: 'Object{metadata: Object.metadata{labels: {"$1": "yes"}}}'
---
apiVersion: evenkeel.dev/v1alpha1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: $1
spec:
  policyName: $1
Y
}

big_object() { # keys, ConfigMap or Secret
  jq -nc --argjson n "$1" --arg kind "$2" '{apiVersion: "v1", kind: $kind, metadata: {generateName: "big-",
    namespace: "default"}, data: ([range($n) | {key: "key-\(.)", value: "dg=="}] | from_entries)}'
}
review() { # a file with an object: the AdmissionReview of its creation
  jq -c '{apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview",
      request: {uid: "705ab4f5-6393-11e8-b7cc-42010a800002",
    kind: {group: "", version: "v1", kind: "ConfigMap"}, resource: {group: "", version: "v1", resource: "configmaps"},
    requestKind: {group: "", version: "v1", kind: "ConfigMap"}, requestResource: {group: "", version: "v1",
    resource: "configmaps"},
    name: "big", namespace: "default", operation: "CREATE", userInfo: {username: "mallory"}, object: ., oldObject: null,
    dryRun: false, options: null}}' "$1"
}

# A review whose object has a member "more", of the shape that awk prints: not by jq, which has limits of its own.
shaped_review() { # a program of awk without input
  local text
  text=$(jq -nc '{apiVersion: "v1", kind: "ConfigMap", metadata: {name: "big", namespace: "default"}, more: "@"}' |
    review /dev/stdin)
  printf '%s' "${text%%\"@\"*}"
  awk "BEGIN {$1}"
  printf '%s' "${text#*\"@\"}"
}

URL=https://10.99.0.11:6443/api/v1/namespaces/default/serviceaccounts?dryRun=All
MARK='"seen":"yes"' # of an answer that was decided
HEALTH=http://10.99.0.31:8081/healthz
victim() {
  echo '{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"generateName": "victim-",
    "namespace": "default"}}' >"$RUN/victim.json"
  "$BENCH" --victim "$PKI/ca.crt" "$PKI/admin.crt" "$PKI/admin.key" "$RUN/victim.json" "$URL" "$MARK" "$TIME"
}
field() { sed -nE "s/.*\b$1=([^ ]*).*/\1/p" <<<"$2"; }
high() { awk '/^VmHWM:/ {printf "%d", $2 / 1024}' "/proc/$PID/status"; }
unhealthy() { # for so many seconds: the probes of a kubelet that fail, of how many
  local end=$((SECONDS + $1)) bad=0 n=0
  while [ $SECONDS -lt $end ]; do
    n=$((n + 1))
    curl -sf -o /dev/null --max-time 1 "$HEALTH" || bad=$((bad + 1))
    read -rt 0.2 <> <(:) || :
  done
  echo "$bad/$n"
}

# Attackers have processors of their own; on one machine they get what the others leave.
hostile() { # mode, from, to, path, connections, size or file: arguments of ek-abuse
  exec nice -n 19 "$ABUSE" "$1" "$2" "$3" "$4" "$5" $((TIME + 4)) "$6"
}
# Objects of 60,000 keys, one after the other, each checked for the mark. No policy matches secrets: what those cost
# the victim is the API server's own work.
writer() { # configmaps or secrets
  local end=$((SECONDS + TIME + 4)) code
  while [ $SECONDS -lt $end ]; do
    code=$(curl -s -o "$RUN/answer" -w '%{http_code}' --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" \
      --key "$PKI/admin.key" \
      -H 'Content-Type: application/json' -H Expect: --data-binary @"$RUN/big.$1.json" \
      "https://10.99.0.11:6443/api/v1/namespaces/default/$1?dryRun=All")
    if grep -q '"marked": *"yes"' "$RUN/answer"; then echo "$code marked"; else echo "$code unmarked"; fi
  done
}

# Runs the victim for TIME seconds beside an attack (none without a command), which must end by
# itself. Sets WRITES LOST UNDECIDED P50 P99 MAX (milliseconds), PROBES (failed/all) and HIGH (MiB);
# what the attack printed is in $RUN/attack.out.
under() { # the attack as a command
  local line probes attack=
  echo 5 >"/proc/$PID/clear_refs" # the high-water mark begins again
  if [ $# -gt 0 ]; then
    "$@" >"$RUN/attack.out" 2>&1 &
    attack=$!
    read -rt 2 <> <(:) || : # the attack builds up
  fi
  unhealthy "$TIME" >"$RUN/probes" &
  probes=$!
  line=$(victim)
  wait $probes
  [ -z "$attack" ] || wait $attack || fail "the attack did not end by itself: $(cat "$RUN/attack.out")"
  kill -0 $PID || fail "evenkeel has ended"
  WRITES=$(field writes "$line") LOST=$(field lost "$line") UNDECIDED=$(field undecided "$line")
  P50=$(field p50_ms "$line") P99=$(field p99_ms "$line") MAX=$(field max_ms "$line")
  PROBES=$(cat "$RUN/probes") HIGH=$(high)
}

withstand() { # name, the attack as a command; LIMIT: of memory, in MiB
  local name=$1; shift
  under "$@"
  cat "$RUN/attack.out"
  expect "$name: writes lost and undecided of $WRITES" "$LOST $UNDECIDED" "0 0"
  expect "$name: liveness probes that failed" "$PROBES" "0/*"
  [ "$HIGH" -lt "$LIMIT" ] || fail "$name: $HIGH MiB of memory, the limit is $LIMIT"
  echo "ok: $name: $HIGH MiB of at most $LIMIT"
}

start_victim() {
  say "an API server, Evenkeel, and policies with failurePolicy Fail and Ignore"
  make_pki
  export KUBECONFIG=$RUN/admin.kubeconfig
  start_etcd
  start_peer cp-a 10.99.0.11
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
  deploy_evenkeel mutatingadmissionpolicies policystatuses
  "$EVENKEEL" run --kubeconfig="$KUBECONFIG" --debug-socket=0 --metrics-bind-address=10.99.0.31:8443 \
    --health-probe-bind-address=10.99.0.31:8081 \
    --webhook-bind-address=10.99.0.31:9443 --webhook-url=https://10.99.0.31:9443 \
    --webhook-namespace=evenkeel-system >"$RUN/evenkeel.log" 2>&1 &
  PID=$!
  eventually 60 "evenkeel does not become ready" curl -sf http://10.99.0.31:8081/readyz
  { policy seen Fail serviceaccounts; policy marked Ignore configmaps; } | kubectl apply -f - >/dev/null
  is_enforced() { kubectl create "$1" probe $2 --dry-run=server -o json | jq -e ".metadata.labels.$3" >/dev/null; }
  eventually 30 "the policy Fail is not enforced" is_enforced serviceaccount '' seen
  eventually 30 "the policy Ignore is not enforced" is_enforced configmap --from-literal=a=b marked
  big_object 60000 ConfigMap >"$RUN/big.configmaps.json"
  big_object 60000 Secret >"$RUN/big.secrets.json"
  review "$RUN/big.configmaps.json" >"$RUN/big-review.json"
  big_object 1 ConfigMap | review /dev/stdin >"$RUN/small-review.json"
  shaped_review 'for (i = 0; i < 9990; i++) printf "{\"k\":"; printf "1"; for (i = 0; i < 9990; i++) printf "}"' \
    >"$RUN/deep-review.json"
  shaped_review 'printf "[1"; for (i = 0; i < 1500000; i++) printf ",1"; printf "]"' >"$RUN/dense-review.json"
}
