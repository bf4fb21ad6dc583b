# shellcheck shell=bash
# Evenkeel as a Deployment on the node of node.sh: installation, replicas, their Lease and containers.
ns=evenkeel-system

# A kustomization of deploy/ with a name for the image, as deploy/README.md says.
kustomization() { # folder, tag of the image, folder of the manifests, of today without
  mkdir -p "$1"
  printf 'resources: [%s]\nimages: [{name: evenkeel, newTag: "%s"}]\n' \
    "$(realpath --relative-to="$1" "${3:-$TOP/deploy}")" "$2" >"$1/kustomization.yaml"
}

at() { printf 'at %s s: ' $SECONDS; }

# Every object of the kinds that are served before the installation, but those that come and go by themselves.
everything() {
  kinds=${kinds:-$(kubectl api-resources --verbs=list -o name | grep -v '^events' | paste -sd,)}
  kubectl get "$kinds" -A -o 'jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}' |
    grep -v '^ConfigMap load-\|^Lease kube-node-lease\|^Pod\(Metrics\)\? ' | sort
}
remember_everything() { everything >"$RUN/before"; }
nothing_is_left() { everything | diff "$RUN/before" -; }
no_task_runs() { [ -z "$(ctr_ tasks list -q)" ]; }

replicas() { kubectl -n $ns get pods -l app.kubernetes.io/name=evenkeel "$@"; }
replica_names() { replicas -o 'jsonpath={.items[*].metadata.name}'; }
restarts() { replicas -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}'; }
of_replica() { kubectl -n $ns get pod "$1" -o "jsonpath={.status.containerStatuses[0].$2}"; } # name, field
is() { [ "$("${@:2}")" = "$1" ]; } # text, command that prints it
two_are_ready() { # and none is about to end
  replicas -o json | jq -e '.items | length == 2 and
    all(.metadata.deletionTimestamp == null and .status.containerStatuses[0].ready)'
}

rolled_out() {
  kubectl -n $ns rollout status deployment/evenkeel --timeout="$((60 * PATIENCE))s" >/dev/null || {
    kubectl -n $ns describe pods
    tail -n 20 "$RUN/kubelet.log"
    fail "the Deployment is not rolled out"
  }
  eventually 60 "there are not two replicas, both ready" two_are_ready
}

# From the scheduling of each replica to its readiness: printed, not judged.
tell_times() {
  replicas -o json | jq -r '.items[] | .metadata.name + ": Ready " +
    ([.status.conditions[] | {(.type): (.lastTransitionTime | fromdate)}] | add | (.Ready - .PodScheduled) |
    tostring) + " s after it was scheduled, restarts: " + (.status.containerStatuses[0].restartCount | tostring)'
}

leader() { # the replica that holds the Lease
  local holder; holder=$(kubectl -n $ns get lease evenkeel-leader -o 'jsonpath={.spec.holderIdentity}')
  echo "${holder%%_*}"
}
other() { # the replica that is not this one
  local name
  for name in $(replica_names); do [ "$name" = "$1" ] || echo "$name"; done
}

# The process of a replica's container.
process_of() {
  local id; id=$(of_replica "$1" containerID)
  ctr_ tasks ls | awk -v id="${id#containerd://}" '$1 == id {print $2}'
}

# Whether a policy for label LABEL is enforced, through the Service. Nothing is stored.
labels() { kubectl create configmap probe -n default --dry-run=server -o "jsonpath={.metadata.labels.$1}"; }
use_policy() { # the objects of load.sh get the label seen=yes
  local i
  for i in "$@"; do kubectl create namespace "$i" >/dev/null; done
  eventually 30 "policies are not served" kubectl get mutatingadmissionpolicies.evenkeel.dev
  policy seen configmaps '"yes"' | kubectl apply -f - >/dev/null
  eventually 30 "the policy is not enforced" is yes labels seen
}

# The token of an account that may scrape, in $RUN/scraper.
make_scraper() {
  kubectl create serviceaccount scraper -n default >/dev/null
  kubectl create clusterrolebinding scraper --clusterrole=evenkeel-metrics-reader \
    --serviceaccount=default:scraper >/dev/null
  kubectl create token scraper -n default >"$RUN/scraper"
}
scrape() { # host:port
  curl -sfk --max-time 10 -H "Authorization: Bearer $(cat "$RUN/scraper")" "https://$1/metrics"
}
