# shellcheck shell=bash
# What the faults scripts share: the controller, what must hold in every phase of a script, and the checks at the end.
# In each phase the status becomes the truth again, and meanwhile the controller neither spins nor floods its log.
# Sourced after cluster.sh; EVENKEEL is the path of the program.

new_token() { kubectl create token evenkeel -n evenkeel-system >"$RUN/token.new" && mv "$RUN/token.new" "$RUN/token"; }

# Starts the controller, which sends its requests to the API server of that address.
start_controller() { # address
  deploy_evenkeel controlplanes
  new_token
  make_kubeconfig evenkeel "https://$1:6443" "{tokenFile: $RUN/token}"
  post_node worker-1 v1.33.1
  "$EVENKEEL" run --kubeconfig="$RUN/evenkeel.kubeconfig" --metrics-bind-address=127.0.0.1:8080 \
    --metrics-secure=false --health-probe-bind-address=127.0.0.1:8081 >"$RUN/evenkeel.log" 2>&1 &
  PID=$!
  eventually 60 "no ControlPlane appears" kubectl get controlplane cluster
  wait_condition PeersReachable=True 60
}

# One API server, for a fault that does not concern the others.
start_one_server() {
  say "an API server of 1.36"
  make_pki
  export KUBECONFIG=$RUN/admin.kubeconfig
  start_etcd
  start_again cp-a
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
  start_controller 10.99.0.11
}

# The controller sends its requests to cp-b, so that a fault of cp-a or of cp-c does not cut it off.
start_three_servers() {
  say "a control plane of 1.36, 1.34 (emulated) and 1.33 (emulated)"
  start_control_plane
  start_controller 10.99.0.12
}

# Starts an API server with the flags that start_control_plane gives it.
start_again() { # name
  local flags=("${COORDINATED[@]}" "${BETA_LEASES[@]}")
  case $1 in
  cp-a) start_peer cp-a 10.99.0.11 "${flags[@]}" ;;
  cp-b) start_peer cp-b 10.99.0.12 --emulated-version=1.34 "${flags[@]}" ;;
  cp-c) start_peer cp-c 10.99.0.13 --emulated-version=1.33 "${flags[@]}" ;;
  esac
}

# --- what must hold in every phase ---------------------------------------------------------------

TICKS=$(getconf CLK_TCK)
cpu_ms() {
  local stat
  read -ra stat < <(sed 's/.*) //' "/proc/$PID/stat")
  echo $(((stat[11] + stat[12]) * 1000 / TICKS))
}
requests() {
  local metrics
  metrics=$(curl -sf --max-time $((5 * PATIENCE)) http://127.0.0.1:8080/metrics) ||
    fail "$PHASE: the controller does not answer a request for its metrics"
  awk '/^rest_client_requests_total/ {n += $NF} END {print n + 0}' <<<"$metrics"
}
lines() { wc -l <"$RUN/evenkeel.log"; }
resident() { awk '/^VmRSS/ {print $2}' "/proc/$PID/status"; }

# Each value has a statement of its own: set -e considers only the last command substitution of a statement.
begin_phase() { # what happens
  say "$1"
  PHASE=$1 at=$SECONDS
  cpu=$(cpu_ms)
  req=$(requests)
  log=$(lines)
}
# Three seconds of CPU a minute, ten requests a second, a line a second: far above what is needed, far
# below what a loop without back-off does.
end_phase() {
  kill -0 "$PID" 2>/dev/null || fail "$PHASE: the controller has ended"
  local s=$((SECONDS - at + 5)) c r l
  c=$(($(cpu_ms) - cpu))
  r=$(($(requests) - req))
  l=$(($(lines) - log))
  printf 'ok: %s: %d s, %d ms of CPU, %d requests, %d log lines, %d kB resident\n' \
    "$PHASE" "$s" "$c" "$r" "$l" "$(resident)"
  [ $c -le $((s * 1000 / 20 + 500)) ] || fail "$PHASE: $c ms of CPU in $s s: a busy loop"
  [ $r -le $((s * 10 + 100)) ] || fail "$PHASE: $r requests in $s s"
  [ $l -le $((s + 20)) ] || fail "$PHASE: $l log lines in $s s"
}

pause() { read -rt "$1" <> <(:) || :; }
reachable() { kubectl get ekcp cluster -o "jsonpath={.status.peers[?(@.name==\"$1\")].reachable}" | grep -qx "$2"; }

# --- the end of each script ----------------------------------------------------------------------

# A check reads once. What a proxy can merge is judged by the controller, which reads all the time.
same() {
  "$EVENKEEL" check --kubeconfig="$RUN/evenkeel.kubeconfig" -o json >"$RUN/fresh.json" || true
  local now='[.status.conditions[] | select(.type != "DiscoveryMerged") | {type, status, reason, message}]'
  [ "$(jq -c "$now" "$RUN/fresh.json")" = "$(kubectl get ekcp cluster -o json | jq -c "$now")" ]
}
finish() {
  say "afterwards the published status is what a fresh look gives"
  eventually 90 "the published conditions are not those of a fresh check" same
  kill -TERM "$PID"
  local code=0
  wait "$PID" || code=$?
  expect "exit code of run" "$code" 0
  echo passed
}
