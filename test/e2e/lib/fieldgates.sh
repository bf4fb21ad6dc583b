# shellcheck shell=bash
# What the field gate scripts share: gated kinds, their gates, and writes of which object, words and
# warnings are looked at. To be sourced after cluster.sh.

# Retries a check, which fails by itself, until it holds: like eventually, without an own message.
settles() { # seconds, what, actual as a command, pattern
  local deadline=$((SECONDS + $1 * PATIENCE)) what=$2 got; shift 2
  while :; do
    got=$($1 2>&1) || :
    # shellcheck disable=SC2053 # a pattern on purpose
    if [[ $got == $2 ]]; then printf 'ok: %s: %s\n' "$what" "$got"; return; fi
    [ $SECONDS -lt "$deadline" ] || fail "$what: expected '$2', got '$got'"
    read -rt 0.1 <> <(:) || :
  done
}

fail() {
  printf 'FAILED: %s\n' "$1" >&2
  {
    for n in 1 2; do
      f=$RUN/evenkeel-$n.log
      [ -f "$f" ] || continue
      echo "== $f"
      tail -n 15 "$f" | cut -c1-400
      timeout 5 curl -s "http://127.0.0.1:808$n/metrics" | grep -v ' 0$' |
        grep -E '^(evenkeel_(webhook_undecided|http_conn|gate_)|controller_runtime_webhook_requests|workqueue_unfin)'
      timeout 5 "$EVENKEEL" debug informers --debug-socket "@evenkeel-debug-$n"
      timeout 5 "$EVENKEEL" debug queue --debug-socket "@evenkeel-debug-$n"
    done
    ss -tan '( sport = 9443 or dport = 9443 )'
    timeout 20 kubectl get customfeaturegates
  } >&2 || :
  exit 1
}

say() { printf '\n-- %s (after %d s)\n' "$1" "$SECONDS"; }

# The schema of most kinds here: what a CronTab's spec and status have.
SPEC='{"cronSpec": {"type": "string"}, "image": {"type": "string"}, "replicas": {"type": "integer"},
  "bar": {"type": "integer", "nullable": true}, "tags": {"type": "array", "items": {"type": "string"},
  "x-kubernetes-list-type": "set"},
  "foo": {"type": "object", "properties": {"baz": {"type": "integer"}, "qux": {"type": "integer"}}}}'
SCALED='{"subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
  "statusReplicasPath": ".status.ready"}}}'
STATUS='{"ready": {"type": "integer"}, "load": {"type": "integer"}}'

version() { # name, storage as JSON, properties of spec, members of the version
  jq -nc --arg name "$1" --argjson storage "$2" --argjson spec "$3" --argjson status "$STATUS" --argjson more \
    "${4:-{\}}" \
    '{name: $name, served: true, storage: $storage, subresources: {status: {}},
      schema: {openAPIV3Schema: {type: "object",
      properties: {spec: {type: "object", properties: $spec}, status: {type: "object", properties: $status}}}}} + $more'
}

# Kinds are all called CronTab, and distinguished by the first label of their group, off.example.com:
# that is what is called group below.

# A CustomResourceDefinition.
crd() { # group, versions as JSON, members of spec, metadata
  jq -nc --arg group "$1.example.com" --argjson versions "$2" --argjson more "${3:-{\}}" --argjson metadata \
    "${4:-{\}}" \
    '{apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition",
      metadata: ({name: "crontabs.\($group)"} + $metadata),
      spec: ({group: $group, scope: "Namespaced", versions: $versions,
        names: {kind: "CronTab", listKind: "CronTabList", plural: "crontabs", singular: "crontab"}} + $more)}'
}

# One of a single version, which has status and scale.
kind() { # group, properties, members of spec, metadata
  crd "$1" "[$(version v1 true "${2:-$SPEC}" "$SCALED")]" "${3:-{\}}" "${4:-{\}}"
}

gate() { # name, path or paths as JSON, members of the gate
  local paths=$2
  [[ $paths == '['* ]] || paths=$(jq -nc --arg p "$paths" '[$p]')
  jq -nc --arg name "$1" --argjson paths "$paths" --argjson more "${3:-{\}}" \
    '{name: $name, preRelease: "alpha", fieldPaths: $paths} + $more'
}
gates() { # group, gates (JSON, one after the other), members of spec
  jq -sc --arg name "crontabs.$1.example.com" --argjson more "${3:-{\}}" \
    '{apiVersion: "evenkeel.dev/v1alpha1", kind: "CustomFeatureGates", metadata: {name: $name},
      spec: ({featureGates: .} + $more)}' <<<"$2"
}
apply() { # manager, flags; the object comes in
  local manager=$1; shift
  kubectl apply --server-side --field-manager="$manager" "$@" -f - 2>&1
}
gates_condition() { # group, type, field
  kubectl get customfeaturegates "crontabs.$1.example.com" -o "jsonpath={.status.conditions[?(@.type==\"$2\")].$3}"
}
gates_status() { kubectl get customfeaturegates "crontabs.$1.example.com" -o json | jq -c "$2"; } # group, filter
wait_gates() { # group, type=status, seconds: of the present generation
  kubectl wait customfeaturegates "crontabs.$1.example.com" --for=condition="$2" --timeout="$((${3:-20} * PATIENCE))s" \
    >/dev/null ||
    fail "$1: $2 was not reached; it is: $(gates_status "$1" '[.metadata.generation, .status.conditions]')"
}

object() { # group, name, spec, members of metadata, version
  jq -nc --arg group "$1.example.com" --arg name "$2" --argjson spec "$3" --argjson more "${4:-{\}}" --arg v \
    "${5:-v1}" \
    '{apiVersion: "\($group)/\($v)", kind: "CronTab", metadata: ({name: $name, namespace: "default"} + $more),
      spec: $spec}'
}
list() { jq -sc '{apiVersion: "v1", kind: "List", items: .}'; } # of objects that come in

# Runs kubectl: what it answers is in ANSWER, its warnings in WARNED, a line each, other complaints
# in SAID. Never fails by itself: RC has the exit code.
call() {
  RC=0
  kubectl "$@" >"$RUN/answer" 2>"$RUN/said" || RC=$?
  ANSWER=$(<"$RUN/answer")
  WARNED=$(sed -n 's/^Warning: //p' "$RUN/said")
  SAID=$(sed '/^Warning: /d' "$RUN/said")
}
show() { jq -cS "${1:-.spec}" <<<"$ANSWER" 2>/dev/null || echo "$ANSWER"; }
try() { # group, spec: what a new object would be
  call create --dry-run=server -o json -f - <<<"$(object "$1" try "$2")"
  if [ "$RC" = 0 ]; then show '.spec // {}'; else echo "$SAID"; fi
}

# That there are so many warnings as patterns, each of which matches one; "-" for none.
expect_warnings() { # what, patterns, each after a semicolon
  local -a patterns=() lines=()
  local p l found
  [ "$2" = - ] || IFS=';' read -ra patterns <<<"$2"
  [ -z "$WARNED" ] || mapfile -t lines <<<"$WARNED"
  [ ${#patterns[@]} = ${#lines[@]} ] || fail "$1: expected ${#patterns[@]} warnings ($2), got ${#lines[@]}: $WARNED"
  for p in "${patterns[@]}"; do
    found=
    # shellcheck disable=SC2053
    for l in "${lines[@]}"; do [[ $l == *$p* ]] && found=1; done
    [ -n "$found" ] || fail "$1: no warning like '*$p*' in: $WARNED"
  done
}

# A request without kubectl: the status code and the headers count.
ask() { # address, method, path, content type, flags of curl; prints the answer, headers in $RUN/headers
  local ip=$1 method=$2 path=$3 type=$4; shift 4
  curl -s --max-time 60 --cacert "$PKI/ca.crt" --cert "$PKI/admin.crt" --key "$PKI/admin.key" -D "$RUN/headers" \
    -X "$method" -H "Content-Type: $type" "https://$ip:6443$path" "$@"
}

# Rows of writes, a line each, columns apart by bars:
#   name | group | what is done | old spec (-: none) | request |
#     spec that is stored, or ! and the refusal | generation | warnings
# Done is create, replace, merge (a patch of the spec), json (a JSON Patch), meta or status (a patch of the
# object, by its status subresource). Old objects are made before the gates are, and so hold what gates close.
ROWS=()
read_rows() { # prefix of the objects' names; rows come in
  local line n=0
  while IFS= read -r line; do
    [[ $line == *'|'* ]] || continue
    n=$((n + 1))
    ROWS+=("$(sed "s/ *| */\x1f/g; s/^ */$1-$n\x1f/; s/ *\$//" <<<"$line")")
  done
}
columns() { IFS=$'\x1f' read -r ID NAME GROUP DO OLD REQUEST STORED GENERATION WARNINGS <<<"$1"; }
row_objects() { # the old objects of the rows
  local r
  for r in "${ROWS[@]}"; do
    columns "$r"
    [ "$OLD" = - ] || object "$GROUP" "$ID" "$OLD"
  done
}
write() { # of the present columns, at an address
  local it=("crontabs.$GROUP.example.com/$ID") patch=(patch --type=merge -o json)
  case $DO in
    create | replace) call "$DO" --server="https://$1:6443" --validate=false -o json \
      -f - <<<"$(object "$GROUP" "$ID" "$REQUEST")" ;;
    merge) call "${patch[@]}" --server="https://$1:6443" "${it[@]}" -p "{\"spec\": $REQUEST}" ;;
    json) call patch --type=json -o json --server="https://$1:6443" "${it[@]}" -p "$REQUEST" ;;
    meta) call "${patch[@]}" --server="https://$1:6443" "${it[@]}" -p "$REQUEST" ;;
    status) call "${patch[@]}" --server="https://$1:6443" --subresource=status "${it[@]}" -p "$REQUEST" ;;
    *) fail "$NAME: what is $DO?" ;;
  esac
}
# What `evenkeel gates` makes of the present columns, without a server, from $RUN/gates.json and
# $RUN/kinds.json: it must say the same. Nulls of fields
# that have none are taken out before, as the server does.
run_offline() { # got
  local said
  local -a flags=(--new "$RUN/new.json")
  object "$GROUP" "$ID" "${OLD/#-/{\}}" '{"generation": 1}' >"$RUN/stored.json"
  case $DO in
    create) object "$GROUP" "$ID" "$REQUEST" | jq -c 'del(.spec.foo | nulls)' >"$RUN/new.json" ;;
    replace) jq -c --argjson spec "$REQUEST" '.spec = $spec | del(.spec.foo | nulls)' "$RUN/stored.json" \
      >"$RUN/new.json" ;;
    merge) jq -c --argjson spec "$REQUEST" '.spec *= $spec | .spec |= with_entries(select(.value != null))' \
      "$RUN/stored.json" >"$RUN/new.json" ;;
    *) jq -c --argjson patch "$REQUEST" '. * $patch' "$RUN/stored.json" >"$RUN/new.json" ;;
  esac
  [ "$DO" = create ] || flags+=(--old "$RUN/stored.json")
  [ "$DO" != status ] || flags+=(--subresource status)
  said=$("$EVENKEEL" gates -f "$RUN/gates.json" --crd "$RUN/kinds.json" -o json "${flags[@]}" 2>"$RUN/said") ||
    [ $? = 1 ] ||
    fail "$NAME: evenkeel gates: $(<"$RUN/said")"
  if [[ $1 == refused:* ]]; then
    said=$(jq -r .message <<<"$said")
    [[ $1 == *"$said"* ]] || fail "$NAME: evenkeel gates says '$said', the server $1"
    return
  fi
  said=$(jq -S '.stored.spec // {}' <<<"$said" | jq -cr --argjson r "$said" '([., $r.generation.new] | tojson),
      $r.warnings[]' | sort)
  [ "$said" = "$(printf '%s%s' "$(jq -c --argjson g "$(show .metadata.generation)" '[., $g]' <<<"$1")" \
    "${WARNED:+$'\n'$WARNED}" | sort)" ] ||
    fail "$NAME: evenkeel gates says '$said', the server $1, $(show .metadata.generation), $WARNED"
}
run_row() { # row, address
  local got
  columns "$1"
  write "${2:-10.99.0.11}"
  if [[ $STORED == !* ]]; then
    [ $RC != 0 ] || fail "$NAME: expected a refusal, got $ANSWER"
    # shellcheck disable=SC2053
    [[ $SAID == *${STORED#!}* ]] || fail "$NAME: expected a refusal like '${STORED#!}', got '$SAID'"
    got="refused: $SAID"
  else
    [ $RC = 0 ] || fail "$NAME: $SAID"
    got=$(jq -cS '.spec // {}' <<<"$ANSWER")
    [ "$got" = "$(jq -cS . <<<"$STORED")" ] || fail "$NAME: expected $STORED to be stored, got $got ($WARNED)"
    [ "$GENERATION" = - ] || [ "$GENERATION" = "$(show .metadata.generation)" ] ||
      fail "$NAME: expected generation $GENERATION, got $(show .metadata.generation)"
  fi
  expect_warnings "$NAME" "$WARNINGS"
  [[ $DO == json || ($got == refused:* && $got != *'denied the request'*) ]] || run_offline "$got"
  printf 'ok: %s: %s%s\n' "$NAME" "$got" "${WARNED:+; ${WARNED//$'\n'/; }}"
}

# One or two API servers (the other one may emulate a version), and what Evenkeel needs of the cluster.
first_api_server() { # flags
  make_pki
  ip addr add 10.99.0.31/32 dev lo
  ip addr add 10.99.0.32/32 dev lo
  export KUBECONFIG=$RUN/admin.kubeconfig
  start_etcd
  start_peer cp-a 10.99.0.11 "$@"
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
}
install_evenkeel() { # address of the API server of replica 2
  kubectl apply -k "$TOP/deploy" >/dev/null
  kubectl wait crd --all --for=condition=Established --timeout=180s >/dev/null
  kubectl create token evenkeel -n evenkeel-system >"$RUN/token"
  make_kubeconfig evenkeel-1 https://10.99.0.11:6443 "{tokenFile: $RUN/token}"
  make_kubeconfig evenkeel-2 "https://$1:6443" "{tokenFile: $RUN/token}"
}
start_api_server() { # flags
  first_api_server "$@"
  install_evenkeel 10.99.0.11
}
start_api_servers() { # --emulated-version=V for the other one, or "", flags of both
  local emulated=$1; shift
  first_api_server "$@"
  start_peer cp-c 10.99.0.13 ${emulated:+"$emulated"} "$@"
  install_evenkeel 10.99.0.13
  eventually 60 "cp-c does not become ready" is_healthy 10.99.0.13
}
start_hooks() { # the converter and the mutator of fieldgates_hooks.py
  make_cert hooks ca /CN=hooks serverAuth IP:10.99.0.41
  python3 "$TOP/test/e2e/lib/fieldgates_hooks.py" 10.99.0.41 9443 "$PKI/hooks.crt" "$PKI/hooks.key" >"$RUN/hooks.log" \
    2>&1 &
  eventually 30 "the hooks do not listen" bash -c 'exec 3<>/dev/tcp/10.99.0.41/9443'
}

declare -A PIDS
start_evenkeel() { # replica's number, flags; the second one talks to the other API server, if there is one
  local n=$1; shift
  "$EVENKEEL" run --kubeconfig="$RUN/evenkeel-$n.kubeconfig" \
    --leader-elect --leader-election-namespace=evenkeel-system \
    --metrics-bind-address=127.0.0.1:808$n --metrics-secure=false --health-probe-bind-address=127.0.0.1:809$n \
    --webhook-bind-address="10.99.0.3$n:9443" --webhook-namespace=evenkeel-system \
    --debug-socket="@evenkeel-debug-$n" "$@" >>"$RUN/evenkeel-$n.log" 2>&1 &
  PIDS[$n]=$!
}
stop_evenkeel() { # number, signal; the exit code is in CODE
  CODE=0
  kill "-${2:-TERM}" "${PIDS[$1]}"
  wait "${PIDS[$1]}" 2>/dev/null || CODE=$?
}

# ---- One replica, reached by URL; gates are there before the replica runs ----

# Applies the kinds that the script's function kinds prints, and objects from before there were gates, which its
# function old_objects prints. What its function definitions prints is kept for start_gated and run_offline.
install_kinds() {
  kinds | list >"$RUN/kinds.json"
  definitions | list >"$RUN/gates.json"
  kubectl apply --server-side -f "$RUN/kinds.json" >/dev/null
  kubectl wait crd --all --for=condition=Established --timeout=180s >/dev/null
  old_objects >"$RUN/old.json"
  [ ! -s "$RUN/old.json" ] ||
    eventually 30 "old objects cannot be made" kubectl apply --server-side --field-manager=before -f "$RUN/old.json"
}
start_gated() { # groups that become enforced, each as GROUP or GROUP=REASON
  local g reason
  start_evenkeel 1 --webhook-url=https://10.99.0.31:9443
  eventually 60 "evenkeel does not become ready" curl -sf http://127.0.0.1:8091/readyz
  apply author <"$RUN/gates.json" >/dev/null
  for g in "$@"; do
    reason=Enforced
    [[ $g != *=* ]] || reason=${g#*=}
    wait_gates "${g%=*}" Enforced=True 40
    expect "${g%=*} is enforced" "$(gates_condition "${g%=*}" Enforced reason)" "$reason"
  done
}
has_no_errors() { # replicas' numbers
  local n
  for n in "$@"; do
    expect "nothing has gone wrong in replica $n" "$(grep '"level":"error"' "$RUN/evenkeel-$n.log" || :)" ''
  done
}
stops_cleanly() { # replicas' numbers
  local n
  for n in "$@"; do stop_evenkeel "$n"; expect "exit code of replica $n" "$CODE" 0; done
}

# ---- Two replicas behind the Service, which API servers reach by its endpoints ----

off() { # group, members of the gate, of spec
  gates "$1" "$(gate Replicas .spec.replicas "${2:-{\}}")" "${3:-{\}}"
}
enable() { # group, as JSON
  kubectl patch customfeaturegates "crontabs.$1.example.com" --type=json \
    -p '[{"op": "add", "path": "/spec/featureGates/0/enabled", "value": '"$2"'}]' >/dev/null
}
spec_of() { kubectl get "crontabs.$1.example.com" "$2" -o json | jq -cS '[.spec, .metadata.generation]'; }
version_of() { kubectl get "crontabs.$1.example.com" "$2" -o 'jsonpath={.metadata.resourceVersion}'; }
patch() { call patch "crontabs.$1.example.com" "$2" --type=merge -o json -p "$3"; } # group, name, patch
endpoints() { # numbers of the replicas that take requests, as the kubelet's probes would report
  local n list=
  for n in "$@"; do list+="${list:+, }{addresses: [10.99.0.3$n], conditions: {ready: true}}"; done
  kubectl apply -f - >/dev/null <<Y
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: evenkeel-webhook, namespace: evenkeel-system, labels: {kubernetes.io/service-name: evenkeel-webhook}}
addressType: IPv4
ports: [{name: webhook, port: 9443, protocol: TCP}]
endpoints: [$list]
Y
}
start_replicas() { # numbers
  local n
  for n in "$@"; do
    start_evenkeel "$n"
    eventually 60 "replica $n does not become ready" curl -sf "http://127.0.0.1:809$n/readyz"
  done
}
registered() { # group: the versions of its webhooks
  kubectl get mutatingwebhookconfigurations,validatingwebhookconfigurations -o json |
    jq -c --arg g ".crontabs.$1." '[.items[].webhooks[]? | select(.name | contains($g)) | .rules[0].apiVersions[0]] |
    join(" ")'
}
events() { # group: reasons of the Events of its gates
  kubectl get events.events.k8s.io -A -o json | jq -r --arg n "crontabs.$1.example.com" \
    '[.items[] | select(.regarding.name == $n) | .reason] | unique | join(" ")'
}
metric() { # name{labels: of both replicas together
  local n
  for n in 1 2; do
    curl -sf "http://127.0.0.1:808$n/metrics" || :
  done | awk -v m="$1" 'index($0, m) == 1 {s += $NF} END {print s + 0}'
}
