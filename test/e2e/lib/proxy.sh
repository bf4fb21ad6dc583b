# shellcheck shell=bash
# `evenkeel proxy` in front of API servers, for the scripts that need more than one of it. Sourced after cluster.sh.

PROXY=10.99.0.41
BALANCER=10.96.0.1 # an address that the certificate of each API server has

# Starts the proxy at PROXY; its kubeconfig names the API server of that address.
start_proxy() { # address of an API server, further flags
  make_cert proxy ca /CN=proxy serverAuth "DNS:proxy,IP:$PROXY"
  make_kubeconfig proxy "https://$1:6443" "$(cert_user admin)"
  make_kubeconfig through "https://$PROXY:6443" "$(cert_user admin)"
  "$EVENKEEL" proxy --kubeconfig="$RUN/proxy.kubeconfig" --bind-address=$PROXY:6443 \
    --tls-cert-file="$PKI/proxy.crt" --tls-private-key-file="$PKI/proxy.key" --client-ca-file="$PKI/ca.crt" \
    --proxy-client-cert-file="$PKI/front-proxy-client.crt" --proxy-client-key-file="$PKI/front-proxy-client.key" \
    --health-probe-bind-address=$PROXY:8082 --metrics-bind-address=$PROXY:8080 --metrics-secure=false \
    "${@:2}" 2>"$RUN/evenkeel-proxy.log" &
  PROXY_PID=$!
  eventually 60 "the proxy does not become ready" curl -sf http://$PROXY:8082/readyz
  eventually 30 "the proxy does not serve" through get --raw /version
}

stop_proxy() {
  kill -TERM "$PROXY_PID"
  wait "$PROXY_PID" || fail "the proxy did not end well"
}

through() { kubectl --kubeconfig "$RUN/through.kubeconfig" "$@"; }

# Probes every second instead of every 15, so that a script need not wait for a round.
probe_often() {
  kubectl apply -f "$TOP/deploy/crd/evenkeel.dev_controlplanes.yaml" >/dev/null
  kubectl wait crd/controlplanes.evenkeel.dev --for=condition=Established --timeout="$((30 * PATIENCE))s" >/dev/null
  kubectl apply -f - >/dev/null <<Y
apiVersion: evenkeel.dev/v1alpha1
kind: ControlPlane
metadata: {name: cluster}
spec: {peers: {probeInterval: 1s, probeTimeout: 1s}}
Y
}

routable() { # peer, 0|1
  curl -sf http://$PROXY:8080/metrics | grep -q "^evenkeel_proxy_peer_routable{peer=\"$1\"} $2"
}

# The access log as JSON lines that satisfy an expression of jq. The proxy may be writing the last line.
requests() { # expression
  { grep '"msg":"Request"' "$RUN/evenkeel-proxy.log" || true; } | jq -cR "fromjson? | select($1)"
}
count_requests() { requests "$1" | wc -l; }

# One request by curl as admin on a connection of its own. Its code is printed; flags are those of curl.
code_of() { # URL, flags
  local url=$1; shift
  : >"$RUN/answer" # curl does not touch the file when there is no body
  curl -s -o "$RUN/answer" -w '%{http_code}' -A e2e --max-time $((60 * PATIENCE)) --cacert "$PKI/ca.crt" \
    --cert "$PKI/admin.crt" --key "$PKI/admin.key" "$@" "$url"
}
