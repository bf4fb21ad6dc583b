# shellcheck shell=bash disable=SC2034 # rbac.sh reads the table
# What goes wrong without each permission of deploy/rbac and its components: one row for each permission, below the
# round in which the permission is taken away. rbac.sh proves the rows.
#
#   round PART WAY      In a round rbac_PART_e2e takes away the permissions of the rows that follow, all at once. WAY is
#                       what runs meanwhile: check, run, objects (a plan reads objects), or failforward (the subject
#                       alone). none: there is no round.
#   row PERMISSION SYMPTOM
# A permission is ROLE VERB WHAT. A symptom is a place, and the text there that names the permission. Places: check
# (problems of `evenkeel check`), status (problems of the ControlPlane), log (of `evenkeel run`), scrape (the answer to
# a scraper), policy, gates and unread (the status of a policy, of gates, of a plan), ekff (any FailForwardStatus). old
# and rare are no places: the text is what needs the permission.
#
# In a round no permission hides the symptom of another: API servers are not asked where they are not found, what the
# leader writes needs the Lease, a status needs its object, and the status of a policy needs the policies. The subjects
# share a limit of ten errors in a minute of the log, so in a round one or two of them fail.
declare -A SYMPTOM=() ROUND_OF=()
ROUNDS=()
LIST="grant list and watch on"
ADMISSION=admissionregistration.k8s.io OWN="in namespace evenkeel-system" CREATE="grant create on"
MUTATING=mutatingwebhookconfigurations VALIDATING=validatingwebhookconfigurations

round() { ROUNDS+=("${#ROUNDS[@]} $1 $2"); }
row() {
  [ -z "${SYMPTOM[$1]:-}" ] || fail "two rows of: $1"
  SYMPTOM[$1]=$2 ROUND_OF[$1]=${ROUNDS[-1]}
}

round read check
row "evenkeel-reader get /version" "check:API servers deny /version: grant get"
row "evenkeel-reader get /readyz" "check:API servers deny /readyz: grant get"
row "evenkeel-reader get /apis" "check:API servers deny /api and /apis: grant get"
row "evenkeel-probe-token create serviceaccounts/token" "check:$CREATE serviceaccounts/token named evenkeel-probe $OWN"

round read check
row "evenkeel-reader get /api" "check:API servers deny /api and /apis: grant get"
row "evenkeel-reader get /openapi/v3/*" "check:API servers deny /openapi/v3/version: grant get"
row "evenkeel-reader get /metrics" "check:API servers deny /metrics: grant get"

round read check
row "evenkeel-reader list nodes" "check:Nodes could not be read (forbidden: grant list and watch on nodes)"
row "evenkeel-reader list leases" "check:$LIST leases.coordination.k8s.io in namespace kube-system"
row "evenkeel-reader list leasecandidates" "check:$LIST leasecandidates.coordination.k8s.io in namespace kube-system"
row "evenkeel-reader list pods" "check:$LIST pods in namespace kube-system"
row "evenkeel-reader list endpointslices" "check:$LIST endpointslices.discovery.k8s.io in namespace default"

round read run
row "evenkeel-control-planes list controlplanes" "log:controlplanes.evenkeel.dev $UNREAD"
row "evenkeel-plans list compatibilityplans" "log:compatibilityplans.evenkeel.dev $UNREAD"
row "evenkeel-webhook list secrets" "log:cannot list resource \\\"secrets\\\""

round read run
for w in mutatingadmissionpolic{ies,ybindings}; do
  row "evenkeel-policies list $w" "log:$w.evenkeel.dev $UNREAD"
  row "evenkeel-policies list $w.$ADMISSION" "log:$w.$ADMISSION $UNREAD"
done
row "evenkeel-policies list policystatuses" "log:policystatuses.evenkeel.dev $UNREAD"
row "evenkeel-policies list namespaces" "log:namespaces $UNREAD"
row "evenkeel-registration list $MUTATING" "log:$MUTATING.$ADMISSION $UNREAD"
row "evenkeel-registration list $VALIDATING" "log:$VALIDATING.$ADMISSION $UNREAD"

round read run
row "evenkeel-gates list customfeaturegates" "log:customfeaturegates.evenkeel.dev $UNREAD"
row "evenkeel-gates list customresourcedefinitions" "log:customresourcedefinitions.apiextensions.k8s.io $UNREAD"
row "evenkeel-gates list configmaps" "log:configmaps $UNREAD"

round read run
row "evenkeel-reader watch nodes" "status:Nodes could not be read (forbidden: grant list and watch on nodes)"
row "evenkeel-reader watch leases" "status:$LIST leases.coordination.k8s.io in namespace kube-system"
row "evenkeel-reader watch leasecandidates" "status:$LIST leasecandidates.coordination.k8s.io in namespace kube-system"
row "evenkeel-reader watch pods" "status:$LIST pods in namespace kube-system"
row "evenkeel-reader watch endpointslices" "status:$LIST endpointslices.discovery.k8s.io in namespace default"

round read run
row "evenkeel-control-planes watch controlplanes" "log:controlplanes.evenkeel.dev $UNREAD"
row "evenkeel-webhook watch secrets" "log:cannot watch resource \\\"secrets\\\""

round read run
for w in mutatingadmissionpolic{ies,ybindings}; do
  row "evenkeel-policies watch $w" "log:$w.evenkeel.dev $UNREAD"
  row "evenkeel-policies watch $w.$ADMISSION" "log:$w.$ADMISSION $UNREAD"
done
row "evenkeel-policies watch policystatuses" "log:policystatuses.evenkeel.dev $UNREAD"
row "evenkeel-policies watch namespaces" "log:namespaces $UNREAD"
row "evenkeel-registration watch $MUTATING" "log:$MUTATING.$ADMISSION $UNREAD"
row "evenkeel-registration watch $VALIDATING" "log:$VALIDATING.$ADMISSION $UNREAD"

round read run
row "evenkeel-gates watch customfeaturegates" "log:customfeaturegates.evenkeel.dev $UNREAD"
row "evenkeel-gates watch customresourcedefinitions" "log:customresourcedefinitions.apiextensions.k8s.io $UNREAD"
row "evenkeel-gates watch configmaps" "log:configmaps $UNREAD"
row "evenkeel-plans watch compatibilityplans" "log:compatibilityplans.evenkeel.dev $UNREAD"

round write run
row "evenkeel-policies create policystatuses" "log:cannot create resource \\\"policystatuses\\\""
row "evenkeel-gates create customfeaturegates" "gates:cannot create resource \\\"customfeaturegates\\\""

round write run
row "evenkeel-policies patch policystatuses" "log:cannot patch resource \\\"policystatuses\\\""
row "evenkeel-gates patch customfeaturegates/status" "log:cannot patch resource \\\"customfeaturegates/status\\\""

round write run
row "evenkeel-policies patch policystatuses/status" "log:cannot patch resource \\\"policystatuses/status\\\""
row "evenkeel-gates patch customfeaturegates" "log:cannot patch resource \\\"customfeaturegates\\\""

round write run
row "evenkeel-registration patch $MUTATING" "log:cannot patch resource \\\"$MUTATING\\\""
row "evenkeel-gates patch configmaps" "log:cannot patch resource \\\"configmaps\\\""

round write run
row "evenkeel-registration patch $VALIDATING" "log:cannot patch resource \\\"$VALIDATING\\\""
row "evenkeel-reader get /openapi/v3" "policy:/openapi/v3"

round write run
row "evenkeel-control-planes create controlplanes" "log:cannot create resource \\\"controlplanes\\\""

round write run
row "evenkeel-control-planes patch controlplanes/status" "log:cannot patch resource \\\"controlplanes/status\\\""

round manager run
row "evenkeel-events create events" "log:cannot create resource \\\"events\\\""
row "evenkeel-metrics-auth create tokenreviews" "scrape:500"

round manager run
row "evenkeel-events patch events" "log:cannot patch resource \\\"events\\\""
row "evenkeel-metrics-auth create subjectaccessreviews" "scrape:500"

round manager run
row "evenkeel-leader-election get leases" "log:cannot get resource \\\"leases\\\""

round manager run
row "evenkeel-leader-election update leases" "log:cannot update resource \\\"leases\\\""

round plans run
row "evenkeel-plans patch compatibilityplans/status" "log:cannot patch resource \\\"compatibilityplans/status\\\""

round plans objects
for w in "$MUTATING" "$VALIDATING" validatingadmissionpolic{ies,ybindings} apiservices horizontalpodautoscalers roles \
  clusterroles clustertrustbundles ipaddresses servicecidrs volumeattributesclasses deviceclasses resourceclaims \
  resourceclaimtemplates resourceslices leasecandidates; do
  row "evenkeel-plans list $w" "unread:$w."
done

round failforward failforward
for w in subscriptions installplans clusterserviceversions operatorgroups operatorconditions catalogsources; do
  row "evenkeel-failforward list $w" "log:$w.operators.coreos.com $UNREAD"
done
row "evenkeel-failforward list namespaces" "log:namespaces $UNREAD"
row "evenkeel-failforward list $VALIDATING" "log:$VALIDATING.$ADMISSION $UNREAD"
row "evenkeel-failforward list $MUTATING" "log:$MUTATING.$ADMISSION $UNREAD"
for w in failforwardpolicies failforwardstatuses; do
  row "evenkeel-failforward list $w" "log:$w.evenkeel.dev $UNREAD"
done

round failforward failforward
for w in subscriptions installplans clusterserviceversions operatorgroups operatorconditions catalogsources; do
  row "evenkeel-failforward watch $w" "log:$w.operators.coreos.com $UNREAD"
done
row "evenkeel-failforward watch namespaces" "log:namespaces $UNREAD"
row "evenkeel-failforward watch $VALIDATING" "log:$VALIDATING.$ADMISSION $UNREAD"
row "evenkeel-failforward watch $MUTATING" "log:$MUTATING.$ADMISSION $UNREAD"
for w in failforwardpolicies failforwardstatuses; do
  row "evenkeel-failforward watch $w" "log:$w.evenkeel.dev $UNREAD"
done

round failforward failforward
row "evenkeel-failforward create failforwardstatuses" "log:cannot create resource \\\"failforwardstatuses\\\""

round failforward failforward
row "evenkeel-failforward patch failforwardstatuses/status" \
  "log:cannot patch resource \\\"failforwardstatuses/status\\\""

round failforward failforward
row "evenkeel-failforward create events" "log:cannot create resource \\\"events\\\""

round failforward failforward
row "evenkeel-failforward patch events" "log:cannot patch resource \\\"events\\\""

# Each right is that of a step, and each step is due in a namespace of its own.
round failforward failforward
for w in subscriptions{,/status} installplans{,/status} clusterserviceversions/status operatorgroups; do
  row "evenkeel-failforward-assist patch $w" "ekff:cannot patch resource \"$w\""
done
row "evenkeel-failforward-force create clusterserviceversions" "ekff:cannot create resource \"clusterserviceversions\""
row "evenkeel-failforward-force delete clusterserviceversions" "ekff:cannot delete resource \"clusterserviceversions\""

# A CSV is deleted after its manifest was kept in a ConfigMap.
round failforward failforward
row "evenkeel-failforward-force patch configmaps" "ekff:cannot patch resource \"configmaps\""

# The API server asks for it where an apply makes the ConfigMap.
round failforward failforward
row "evenkeel-failforward-force create configmaps" "ekff:cannot create resource \"configmaps\""

round used none
row "evenkeel-reader get /api/*" "old:API servers without aggregated discovery"
row "evenkeel-reader get /apis/*" "old:API servers without aggregated discovery"
row "evenkeel-definitions list customresourcedefinitions" "rare:a definition that is installed again"
row "evenkeel-definitions watch customresourcedefinitions" "rare:a definition that is installed again"
row "evenkeel-policies get mutatingadmissionpolicies" "rare:the policy that a binding with params names"
row "evenkeel-policies get namespaces" "rare:a namespace that was made a moment ago"
row "evenkeel-gated-kinds list widgets" "rare:the number of stored objects, which the administrator grants"
row "evenkeel-webhook patch secrets" "rare:a certificate that is renewed"
for w in mutatingadmissionpolic{ies,ybindings}{".$ADMISSION",} customresourcedefinitions; do
  row "evenkeel-plans list $w" "rare:clusters without the roles evenkeel-policies and evenkeel-gates"
done
for w in devicetaintrules flowschemas prioritylevelconfigurations; do
  row "evenkeel-plans list $w" "rare:API versions that went in 1.32, or go in 1.39"
done

# What an apply needs besides patch when the object is not there yet: API servers ask their authorizer for it, but the
# audit log knows of one verb for one request.
IMPLIED=" evenkeel-policies create policystatuses,"
