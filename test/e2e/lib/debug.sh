# shellcheck shell=bash
# What the debug scripts share: an API server, a controller, and its answers to `evenkeel debug`. The controller runs as
# the pod's user; so does the client. Sourced after cluster.sh; EVENKEEL is the path of the program.

start_api_server() {
  make_pki
  export KUBECONFIG=$RUN/admin.kubeconfig
  start_etcd
  start_peer cp-a 10.99.0.11
  eventually 60 "cp-a does not become ready" is_healthy 10.99.0.11
  deploy_evenkeel controlplanes
  use_service_account
  # The user of the pod may read what a pod mounts, and nothing else of this folder.
  cp "$EVENKEEL" "$RUN/evenkeel"
  chmod 711 "$RUN" "$PKI"
  chmod 644 "$RUN/token" "$RUN/evenkeel.kubeconfig" "$PKI/ca.crt"
}
as() { # uid, command...
  local uid=$1; shift
  setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
}
# Lease times that let the leader outlive a restart of the only API server.
controller() { # health address, further flags
  local address=$1; shift
  exec setpriv --reuid=65532 --regid=65532 --clear-groups -- "$RUN/evenkeel" run \
    --kubeconfig="$RUN/evenkeel.kubeconfig" --health-probe-bind-address="$address" --leader-elect \
    --leader-election-namespace=evenkeel-system --leader-election-lease-duration=180s \
    --leader-election-renew-deadline=150s "$@"
}
start_controller() {
  say "a controller that is well"
  controller 127.0.0.1:8081 >"$RUN/evenkeel.log" 2>&1 &
  PID=$!
  shows 60 "Nothing is known to be wrong."
}
stop_controller() { kill -TERM "$PID"; wait "$PID" || fail "not a clean stop"; }

debug() { as 65532 "$RUN/evenkeel" debug "$@"; }
says() { # text, arguments of debug...
  local text=$1; shift
  debug "$@" >"$RUN/debug.out" 2>&1 && grep -qF -- "$text" "$RUN/debug.out"
}
reports() { # jq filter that must be true, topic
  debug "$2" -o json | tee "$RUN/debug.out" | jq -e "$1" >/dev/null
}
shows() { # seconds, text, arguments of debug...
  local seconds=$1; shift
  eventually "$seconds" "debug does not say '$1'" says "$@"
  printf 'ok: %s\n' "$(grep -F -m 1 -- "$1" "$RUN/debug.out" | cut -c1-150)"
}
explain() { cat "$RUN/debug.out"; } # what a failure prints: the last answer
