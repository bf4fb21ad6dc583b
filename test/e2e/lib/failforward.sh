# shellcheck shell=bash
# `evenkeel run` brings failed operators forward: the process, and what it reports and writes.
#
# usage, after lib/olm.sh: source "$(dirname "$0")/lib/failforward.sh"
SA=evenkeel-system:evenkeel
declare -A PIDS

start_replica() { # number
  "$EVENKEEL" run --kubeconfig="$RUN/evenkeel.kubeconfig" --leader-elect --leader-election-namespace=evenkeel-system \
    --metrics-secure=false --metrics-bind-address="127.0.0.1:844$1" --health-probe-bind-address="127.0.0.1:808$1" \
    --webhook-bind-address=0 --debug-socket="@evenkeel-e2e-$1" >>"$RUN/evenkeel-$1.log" 2>&1 &
  PIDS[$1]=$!
}
is_ready() { curl -sf "http://127.0.0.1:808$1/readyz"; }
leads() { curl -s "http://127.0.0.1:844$1/metrics" | grep '^leader_election_master_status.* 1$' >/dev/null; }
explains() { "$EVENKEEL" debug subjects --debug-socket=@evenkeel-e2e-1 -o json | grep "$1" >/dev/null; }

# The object that has the version of OLM.
make_packageserver() {
  kubectl create -f - >/dev/null <<P
{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
 "metadata": {"name": "packageserver", "namespace": "olm"},
 "spec": {"displayName": "Package Server", "version": "0.46.0",
  "installModes": [{"type": "AllNamespaces", "supported": true}],
  "install": {"strategy": "deployment", "spec": {"deployments": []}}}}
P
}

# A member of the report of a namespace, and whether it is like a pattern.
report() { kubectl get ekff widget -n "$1" -o jsonpath="{.status$2}" 2>/dev/null || true; }
report_is() { # namespace, path, pattern
  local is
  is=$(report "$1" "$2")
  echo "$1: $2: $is; $(kubectl get ekff widget -n "$1" -o jsonpath='{.status}' 2>/dev/null || true)"
  [[ $is == $3 ]]
}
# Whether Evenkeel reported that at any time: a condition of jq on the status that it wrote.
has_reported() { # namespace, condition
  jq -e -n --arg u "$SA" --arg n "$1" "first(inputs | select((.user.username | endswith(\$u)) and
    .objectRef.resource == \"failforwardstatuses\" and .objectRef.namespace == \$n and .responseStatus.code < 300) |
    .requestObject.status // {} | select($2)) | .class" "$RUN/audit.jsonl" || { report "$1" ''; return 1; }
}
consent() { # namespace, mode, subscription
  kubectl annotate subscription "${3:-widget}" -n "$1" --overwrite "failforward.evenkeel.dev/mode=$2" >/dev/null
}
# A FailForwardPolicy of a namespace in Assist.
policy() { # namespace, further members of the spec
  kubectl apply -f - >/dev/null <<P
{"apiVersion": "evenkeel.dev/v1alpha1", "kind": "FailForwardPolicy", "metadata": {"name": "$1"},
 "spec": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "$1"}}, "mode": "Assist"${2:+, $2}}}
P
}
runs() { # namespace, version: this version alone, and it works
  printf '%s: %s: %s: ' "$1" "$(csvs "$1")" "$(csv "$1" "$2")"
  echo "$(kubectl get ekff widget -n "$1" -o jsonpath='{.status}' 2>/dev/null || true)"
  csvs_are "$1" "widget.v$2" && csv_is "$1" "$2" 'Succeeded/*'
}
strategy() { kubectl get operatorgroup og -n "$1" -o jsonpath='{.spec.upgradeStrategy}'; }
strategy_is() { [ "$(strategy "$1")" = "$2" ]; }
# A write that met a conflict changed nothing, and came again.
writes_in() { writes_by "$SA" | grep " $1/" | grep -v '(409)$' || true; } # namespace
objects_written() { # namespace: all but reports and Events
  writes_in "$1" | grep -vE '^[a-z]+ (events|failforwardstatuses|failforwardstatuses/status) ' || true
}
resources_written() { writes_in "$1" | awk '{ print $2 }' | sort -u | paste -sd' '; } # namespace
happened() { # namespace, reason
  kubectl get events -n "$1" -o json | jq -e --arg r "$2" 'any(.items[]; .reason == $r)' >/dev/null
}
