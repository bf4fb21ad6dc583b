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

# The names of the permissions that a file of that form lists: ROLE VERB WHAT. Kinds of policies are in two groups.
names() { # file
  awk -F'\t' '{
    two_groups = $6 ~ /^mutatingadmissionpolic/ && $5 == "admissionregistration.k8s.io"
    print $1, $4, $6 (two_groups ? "." $5 : "")
  }' "$1"
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
    (if $w == "serviceaccounts/token" then "evenkeel-probe" elif $v == "create" or $role == "evenkeel-plans" then ""
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

# --- the controller: rbac_PART_e2e ------------------------------------------------------------

# Lists are not streamed, so that both list and watch are used. AUDIT: further flags.
AUDIT=()
start_api_server() {
  make_pki
  export KUBECONFIG=$RUN/admin.kubeconfig
  start_etcd
  start_peer cp-a 10.99.0.11 --feature-gates=CoordinatedLeaderElection=true,WatchList=false "${BETA_LEASES[@]}" \
    "${AUDIT[@]}"
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
}
# It listens at 10.99.0.11, so its metrics are requested.
start_scheduler() {
  start_component kube-scheduler sched-a 10.99.0.11 scheduler "${COORDINATED[@]}"
  post_node sched-a v1.36.0 10.99.0.11 # without it a controller manager would collect the pod
  post_static_pod kube-scheduler sched-a 10.99.0.11
}
install() {
  deploy_evenkeel controlplanes mutatingadmissionpolicies mutatingadmissionpolicybindings policystatuses \
    customfeaturegates compatibilityplans
}
# From here on the ServiceAccount has what the roles of deploy/ grant, and nothing else.
use_roles() {
  count_roles_only
  use_service_account --duration=2h
  make_scraper
  post_node worker v1.36.0
  read_roles
  eventually 10 "the old permissions are still there" may false get - /livez -
}
read_roles() {
  bound_roles >"$RUN/roles.json"
  permissions <"$RUN/roles.json" >"$RUN/permissions"
}

check() {
  "$EVENKEEL" check --kubeconfig="$RUN/evenkeel.kubeconfig" -o json >"$RUN/check.json" 2>"$RUN/check.err" || :
}
problems() { jq -r '.status.problems[]?' "$RUN/check.json"; }
check_says() { # of the paths that are denied a line names several
  local path=${1#API servers deny }
  check
  { problems; cat "$RUN/check.err"; } | case $1 in
  "API servers deny "*) grep -qE "API servers deny (/[^:]*, )?${path%%:*}(,| and|:)" ;;
  *) grep -qF -e "$1" ;;
  esac
}
check_is_content() { check; cat "$RUN/check.err"; problems; [ -s "$RUN/check.json" ] && [ -z "$(problems)" ]; }
policy_says() { kubectl get policystatus tint -o json | grep -qF -e "$1"; }
# A policy that changes, is bound and has something to check: two registrations and a PolicyStatus to write.
# Where no controller runs that could check the policy, the check is switched off first.
tint() {
  kill -0 "${PID:-none}" 2>/dev/null ||
    kubectl patch validatingwebhookconfiguration evenkeel --type=merge -p '{"webhooks": []}' >/dev/null || true
  eventually 20 "the policy cannot be written" write_tint "$1"
}
write_tint() {
  kubectl apply -f - >/dev/null <<P
apiVersion: evenkeel.dev/v1alpha1
kind: MutatingAdmissionPolicy
metadata: {name: tint}
spec:
  failurePolicy: $1
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [deployments]}]
  mutations:
  - {patchType: ApplyConfiguration, safety: {type: Exact},
     applyConfiguration: {expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}'}}
---
apiVersion: evenkeel.dev/v1alpha1
kind: MutatingAdmissionPolicyBinding
metadata: {name: tint}
spec: {policyName: tint}
P
}
is_tinted() {
  [ "$(kubectl get policystatus tint -o 'jsonpath={.status.policy.failurePolicy}')" = "$1" ] &&
    kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration evenkeel
}
# A kind whose gates come with it, as an annotation, and are turned on and off.
gated() {
  kubectl apply -f - >/dev/null <<C
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: widgets.e2e.example.com
  annotations:
    evenkeel.dev/custom-feature-gates: |
      featureGates:
      - {name: Size, preRelease: alpha, fieldPaths: [.spec.size]}
      - {name: Shape, preRelease: alpha, fieldPaths: [.spec.shape]}
spec:
  group: e2e.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {size: {type: integer}, shape: {type: string}}}}
C
}
# A later release of the annotation.
release() {
  kubectl annotate --overwrite crd widgets.e2e.example.com evenkeel.dev/custom-feature-gates="component: $1
featureGates:
- {name: Size, preRelease: alpha, fieldPaths: [.spec.size]}
- {name: Shape, preRelease: alpha, fieldPaths: [.spec.shape]}" >/dev/null
}
is_released() { [ "$(kubectl get ekfg widgets.e2e.example.com -o 'jsonpath={.spec.component}')" = "$1" ]; }
is_enforced() {
  [ "$(kubectl get ekfg widgets.e2e.example.com -o 'jsonpath={.status.conditions[?(@.type=="Enforced")].reason}')" \
    = Enforced ]
}
turn() {
  kubectl patch ekfg widgets.e2e.example.com --type=json \
    -p "[{\"op\":\"add\",\"path\":\"/spec/featureGates/0/enabled\",\"value\":$1}]" >/dev/null
}
gates_says() { kubectl get ekfg -o json | grep -qF -e "$1"; }
# A plan whose status changes with each version.
planned() {
  kubectl apply -f - >/dev/null <<P
apiVersion: evenkeel.dev/v1alpha1
kind: CompatibilityPlan
metadata: {name: next}
spec: {targetVersion: "$1"}
P
}
unread() { kubectl get ekplan next -o 'jsonpath={.status.objects.unread}'; }
unread_says() { unread | grep -qF -e "\"$1"; }
is_read() { [ -n "$(kubectl get ekplan next -o 'jsonpath={.status.objects.readAt}')" ]; }
reads_all() { is_read && [ -z "$(unread)" ]; }
is_planned() { [ "$(kubectl get ekplan next -o 'jsonpath={.status.target}')" = "$1" ]; }
log_says() { file_says "$RUN/evenkeel.log" "$1"; }
start_evenkeel() {
  "$EVENKEEL" run --kubeconfig="$RUN/evenkeel.kubeconfig" --leader-elect \
    --leader-election-namespace=evenkeel-system --metrics-bind-address=127.0.0.1:8443 \
    --health-probe-bind-address=127.0.0.1:8081 --webhook-bind-address=127.0.0.1:9443 \
    --webhook-namespace=evenkeel-system --webhook-url=https://127.0.0.1:9443 >"$RUN/evenkeel.log" 2>&1 &
  PID=$!
}
has_violation() { [ "$(kubectl get ekcp cluster -o 'jsonpath={.status.summary.violations}')" = "$1" ]; }
# A verdict that changes for the worse and back, twice: Events, the second time a series of them.
make_event_series() {
  for _ in 1 2; do
    post_node old v1.20.0; eventually 20 "no violation is seen" has_violation 1
    kubectl delete node old >/dev/null; eventually 20 "the violation stays" has_violation 0
  done
}
event_series() {
  kubectl get events.events.k8s.io -n default -o json | jq -e 'any(.items[]; .regarding.kind == "ControlPlane"
      and .series.count > 1)'
}

# Objects of each subject. With all permissions everything works.
OBJECTS=
make_objects() {
  OBJECTS=made
  tint Fail
  gated
  planned 1.38
}
everything_works() {
  eventually 30 "no ControlPlane appears" kubectl get controlplane cluster
  publishes 20 "nothing is published"
  eventually 20 "no policy is judged" is_tinted Fail
  eventually 20 "no gate is enforced" is_enforced
  release first; eventually 20 "no later release is followed" is_released first
  eventually 40 "no plan has a verdict" is_planned 1.38
  eventually 40 "no objects are read" is_read
  expect "objects that a plan cannot read" "$(unread)" ""
}
# Plans have no right to the objects: what other roles allow as well is taken away with these alone.
plans_without_objects() {
  kubectl get clusterrole evenkeel-plans -o json | jq 'del(.metadata.resourceVersion, .metadata.uid) |
    .rules |= map(select(.apiGroups == ["evenkeel.dev"]))' | kubectl replace -f - >/dev/null
  read_roles
  eventually 10 "the objects can be read still" may false list rbac.authorization.k8s.io roles -
}

# --- the rows of rbac_rows.sh -------------------------------------------------------------------

tints=0 plans=0
another_plan() { plans=$((plans + 1)); planned "1.3$((8 - plans % 2))"; }
another_tint() { tints=$((tints + 1)); tint "$([ $((tints % 2)) = 1 ] && echo Ignore || echo Fail)"; }
before_the_run() { # permission: what makes its symptom show
  case $1 in
    "evenkeel-control-planes create controlplanes") kubectl delete ekcp cluster >/dev/null ;;
    "evenkeel-policies create policystatuses" | "evenkeel-policies patch policystatuses")
      kubectl delete policystatus tint >/dev/null ;;
    "evenkeel-gates patch customfeaturegates/status") turn true ;;
    "evenkeel-gates patch customfeaturegates") release second ;;
    "evenkeel-plans patch compatibilityplans/status") another_plan ;;
    "evenkeel-gates patch configmaps") kubectl annotate crd widgets.e2e.example.com evenkeel.dev/custom-feature-gates- \
      >/dev/null ;;
    "evenkeel-registration patch "* | "evenkeel-policies patch policystatuses/status")
      another_tint ;;
  esac
}
still_not() { ! "$@"; }
# What was wrong, and is remembered for a while, does not count: a request for the Lease that failed before this replica
# became the leader, and an event loop that waited for a busy machine.
nothing_is_wrong() {
  "$EVENKEEL" debug >"$RUN/debug.txt" && grep -qxE 'Nothing is known to be wrong\.|WHAT IS WRONG' "$RUN/debug.txt" &&
    ! sed -n '/^WHAT IS WRONG$/,/^$/p' "$RUN/debug.txt" |
      grep -vE '^- (process: the event loop was busy|leader: a request for the lease failed) .* ago' | grep '^-'
}

each_row() { # function
  local permission at text
  while read -r permission <&4; do
    at=${SYMPTOM[$permission]%%:*} text=${SYMPTOM[$permission]#*:}
    "$1" "$permission" "$at" "$text"
  done 4<"$RUN/round"
}
shows() { # permission, where, text
  [ "$2" != scrape ] || eventually 20 "$1: /metrics is not served" curl -sk -o "$RUN/none" \
    https://127.0.0.1:8443/metrics
  eventually 40 "without '$1' nothing says: $3" "$2_says" "$3"
  printf 'ok: %s: %s:%s\n' "$1" "$2" "$3"
}
goes() { # permission, where, text
  case $2 in
    status) eventually 90 "$1: the problem stays" still_not status_says "$3" ;;
    scrape) eventually 20 "$1: scrapes are still refused" scrape_says 200 ;;
  esac
  if [[ $1 = evenkeel-events* ]]; then
    make_event_series
    eventually 20 "$1 came back, but no series" event_series
  fi
}

check_round() {
  each_row shows
  give_back
  eventually 20 "the permissions came back, but check still has problems" check_is_content
}
# The controller runs without the permissions of a round, then with them again.
run_round() {
  each_row before_the_run
  start_evenkeel
  if grep -q '^evenkeel-events ' "$RUN/round"; then make_event_series; else change_node; fi
  each_row shows
  give_back
  each_row goes
  # A change ends the pause after a failure.
  change_node
  if [ -n "$OBJECTS" ]; then
    another_tint
    another_plan
    kubectl annotate --overwrite --all ekfg "e2e=$changes" >/dev/null
  fi
  eventually 90 "the permissions came back, but nothing is published" is_published
  eventually 90 "the permissions came back, but something is wrong" nothing_is_wrong
  stop_evenkeel
}
# A plan names each resource that it cannot read. Plans of earlier versions do not read all of them.
objects_round() {
  planned 1.38
  start_evenkeel
  each_row shows
  give_back
  planned 1.37; eventually 40 "the plan is not evaluated" is_planned 1.37
  planned 1.38; eventually 40 "the plan is not evaluated" is_planned 1.38
  eventually 90 "the permissions came back, but objects are not read" reads_all
  stop_evenkeel
}
give_back() {
  kubectl replace -f "$RUN/whole.json" >/dev/null
  eventually 10 "the permissions do not come back" all_may true "$RUN/gone"
}

# Proves the rows of a part, round by round.
sweep() { # part
  local round part way
  for round in "${ROUNDS[@]}"; do
    read -r _ part way <<<"$round"
    [ "$part" = "$1" ] || continue
    rows_of "$round" >"$RUN/round"
    names "$RUN/permissions" | paste -d '\n' - "$RUN/permissions" |
      awk 'NR == FNR { row[$0]; next } FNR % 2 { of = $0 in row; next } of' "$RUN/round" - >"$RUN/gone"
    printf -- '- round %s, at %s s: %s permissions\n' "$round" $SECONDS "$(wc -l <"$RUN/gone")"
    expect "rows without a permission" "$(names "$RUN/gone" | sort | comm -13 - "$RUN/round")" ""
    jq -c --rawfile gone "$RUN/gone" '. as $role | select(any($gone | split("\n")[] | split("\t");
      .[0] == $role.metadata.name and .[1] == ($role.metadata.namespace // "-")))' "$RUN/roles.json" >"$RUN/whole.json"
    without "$RUN/gone" <"$RUN/whole.json" | kubectl replace -f - >/dev/null
    eventually 10 "the permissions cannot be taken away" all_may false "$RUN/gone"
    "${way}_round"
  done
}
rows_of() { # round
  local permission
  for permission in "${!ROUND_OF[@]}"; do
    [ "${ROUND_OF[$permission]}" != "$1" ] || echo "$permission"
  done | sort
}

# Over all parts: each permission has a row, each row a permission, and each row a script that takes it away.
expect_every_row() { # of roles whose names grep finds with these arguments
  local round part way
  names "$RUN/permissions" | grep "$@" | sort >"$RUN/granted"
  printf '%s\n' "${!SYMPTOM[@]}" | grep "$@" | sort >"$RUN/rows"
  expect "permissions granted twice" "$(uniq -d "$RUN/granted")" ""
  expect "permissions without a row" "$(comm -23 "$RUN/granted" "$RUN/rows")" ""
  expect "rows without a permission" "$(comm -13 "$RUN/granted" "$RUN/rows")" ""
  for round in "${ROUNDS[@]}"; do
    read -r _ part way <<<"$round"
    [ "$way" = none ] || grep -qx "sweep $part" "$TOP/test/e2e/rbac_${part}_e2e" ||
      fail "nothing takes away: $(rows_of "$round")"
  done
}
