# shellcheck shell=bash
# The permissions of a ServiceAccount, SA, that the API server 10.99.0.11 of cluster.sh grants by roles.

UNREAD="could not be read: forbidden: grant list and watch"

# Every role that is bound to the ServiceAccount, one JSON object per line.
bound_roles() {
  local kind ns name
  kubectl get clusterrolebindings,rolebindings -A -o json | jq -r --arg sa "${SA##*:}" '
    .items[] | select(any(.subjects[]?; .kind == "ServiceAccount" and .name == $sa and .namespace == "evenkeel-system"))
    | [.roleRef.kind, .metadata.namespace // "-", .roleRef.name] | @tsv' | sort -u |
  while read -r kind ns name; do
    if [ "$kind" = ClusterRole ]; then
      kubectl get clusterrole "$name" -o json
    else
      kubectl get role "$name" -n "$ns" -o json
    fi |
      jq -c 'del(.metadata.resourceVersion, .metadata.uid, .metadata.managedFields)'
  done
}

# The smallest permissions in roles: ROLE NAMESPACE RULE VERB GROUP WHAT, in tabs.
permissions() {
  jq -r '.metadata as $m | (.rules // []) | to_entries[] | .key as $i | .value |
    (.verbs[] as $v | .apiGroups[]? as $g | .resources[]? as $r | [$m.name, $m.namespace // "-", $i, $v, $g, $r]),
    (.verbs[] as $v | .nonResourceURLs[]? as $u | [$m.name, $m.namespace // "-", $i, $v, "-", $u])
    | map(if . == "" then "-" else . end) | @tsv'
}

# A role without those permissions of it that a file of the form above lists. Each resource of a rule becomes
# a rule, because a rule gives all its verbs to all its resources.
without() { # file
  jq -c --rawfile gone "$1" '
    .metadata as $m | [$gone | split("\n")[] | select(. != "") | split("\t")
      | select(.[0] == $m.name and .[1] == ($m.namespace // "-"))
      | {i: (.[2] | tonumber), v: .[3], w: .[5]}] as $gone
    | .rules |= [(. // []) | to_entries[] | .key as $i | .value
      | if .nonResourceURLs then .nonResourceURLs -= [$gone[] | select(.i == $i) | .w]
        else .resources[] as $w | .resources = [$w] | .verbs -= [$gone[] | select(.i == $i and .w == $w) | .v] end
      | select((.verbs | length) > 0 and ((.resources // []) + (.nonResourceURLs // []) | length) > 0)]'
}

# Whether the API server says true, or false, of all permissions that a file of that form lists.
all_may() { # true|false, file
  # shellcheck disable=SC2016 # jq's variables
  jq -cR --arg u "$SA" 'split("\t") as [$role, $ns, $rule, $v, $g, $w] |
    (if $w == "serviceaccounts/token" then "evenkeel-probe" elif $v == "create" then ""
      elif $ns == "evenkeel-system" and $w == "leases" then "evenkeel-leader"
      elif $role == "evenkeel-definitions" then "controlplanes.evenkeel.dev"
      else {"controlplanes/status": "cluster", "secrets": "evenkeel-webhook-cert", "configmaps": "evenkeel-imports",
        "mutatingwebhookconfigurations": "evenkeel",
        "validatingwebhookconfigurations": "evenkeel"}[$w] // "" end) as $n |
    {apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview", spec: ({user: $u,
      groups: ["system:serviceaccounts", "system:serviceaccounts:evenkeel-system", "system:authenticated"]} +
      if $w[:1] == "/" then {nonResourceAttributes: {verb: $v, path: $w}} else {resourceAttributes: {verb: $v,
        group: ($g | ltrimstr("-")), resource: ($w | split("/")[0]), subresource: ($w | split("/")[1] // ""),
        namespace: ($ns | ltrimstr("-")), name: $n}} end)}' "$2" >"$RUN/reviews.json"
  [ "$(kubectl create -f "$RUN/reviews.json" -o 'jsonpath={.status.allowed}{"\n"}' | sort | uniq -c |
    tr -s ' ')" = " $(wc -l <"$2") $1" ]
}
may() { # true|false, verb, group, what, namespace
  printf '%s\t' - "$5" 0 "$2" "${3:--}" >"$RUN/one"
  echo "$4" >>"$RUN/one"
  all_may "$1" "$RUN/one"
}

# What every authenticated user has is taken away, so that only the roles of deploy/ count. The other components keep
# this.
count_roles_only() {
  local b
  for b in system:discovery system:basic-user system:public-info-viewer; do
    kubectl patch clusterrolebinding $b --type=merge -p '{"subjects": [
      {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:kube-controller-manager"},
      {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "system:kube-scheduler"},
      {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": "system:serviceaccounts:kube-system"}]}' \
      >/dev/null
  done
}

# Whether a log says that text. Of the kinds that could not be read a line names several.
file_says() { # file, text
  case $2 in
  *"$UNREAD") awk -v kind="${2%% *}" -v text="$UNREAD" '
    index($0, text) && (" " $0) ~ ("[ \",]" kind "[ \",:]") { found = 1 } END { exit !found }' "$1" ;;
  *) grep -qF -e "$2" "$1" ;;
  esac
}

stop_evenkeel() { kill -TERM "$PID"; wait "$PID" || fail "evenkeel did not stop cleanly"; }
make_scraper() {
  kubectl create serviceaccount scraper -n default >/dev/null
  kubectl create clusterrolebinding scraper --clusterrole=evenkeel-metrics-reader --serviceaccount=default:scraper \
    >/dev/null
}
scrape() { # the status code of a scrape; each with a new token, because answers are remembered
  curl -sk -o "$RUN/metrics.txt" -w '%{http_code}' https://127.0.0.1:8443/metrics \
    -H "Authorization: Bearer $(kubectl create token scraper -n default --duration="$((600 + SECONDS))s")"
}
scrape_says() { [ "$(scrape)" = "$1" ]; }
