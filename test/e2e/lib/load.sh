# shellcheck shell=bash
# Clients that create objects without a pause, and the policies that label the objects. The script has sourced
# cluster.sh, PROGRAMS is the folder of ek-load, and namespaces load-1, load-2, ... exist, one for each start.
loads=0

start_load() { # connections
  loads=$((loads + 1))
  : >"$RUN/load.out" # read before the program runs
  "$PROGRAMS/ek-load" https://10.99.0.11:6443 "$PKI/ca.crt" "$PKI/admin.crt" "$PKI/admin.key" \
    "load-$loads" seen "$1" >"$RUN/load.out" 2>&1 &
  LOAD=$!
}
created() { sed -n 's/^at //p' "$RUN/load.out" | tail -n 1; }
beyond() { [ "$(created)" -gt "$1" ] 2>/dev/null; }
more() { # creations from now on
  local n; n=$(created)
  eventually 60 "the clients stand still" beyond $((${n:-0} + $1))
}
end_load() { # what is expected of the summary
  kill -TERM "$LOAD"
  wait "$LOAD" || { tail -n 5 "$RUN/load.out"; fail "requests are lost"; }
  sed -n '/^created/,$p' "$RUN/load.out" >"$RUN/summary"
  tail -n +2 "$RUN/summary"
  expect "the clients" "$(head -n 1 "$RUN/summary")" "created=* unmutated=0 failed=$1 lost=0 *"
  expect "objects that are stored without the label" \
    "$(kubectl get configmaps -n "load-$loads" -l '!seen' -o name | grep '^configmap/load-')" ""
}

policy() { # name, resource, value, further spec, further binding spec
  cat <<Y
apiVersion: evenkeel.dev/v1alpha1
kind: MutatingAdmissionPolicy
metadata: {name: $1}
spec:
  failurePolicy: Fail
  reinvocationPolicy: ${RERUN:-Never}
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [$2]}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{metadata: Object.metadata{labels: {"$1": $3}}}
  ${4:-}
---
apiVersion: evenkeel.dev/v1alpha1
kind: MutatingAdmissionPolicyBinding
metadata: {name: $1}
spec: {policyName: $1${5:-}}
Y
}
