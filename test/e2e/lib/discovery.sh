# shellcheck shell=bash
# The discovery endpoint of `evenkeel run` beside API servers that merge themselves (--peer-ca-file, KEP-4020). Sourced
# after cluster.sh and proxy.sh.

V2='application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
declare -A ADDRESS=([cp-a]=10.99.0.11 [cp-b]=10.99.0.12 [cp-c]=10.99.0.13)

start_merging() { # peer, flags
  start_peer "$1" "${ADDRESS[$1]}" --peer-ca-file="$PKI/ca.crt" \
    --feature-gates=UnknownVersionInteroperabilityProxy=true "${@:2}"
  eventually 60 "$1 does not become ready" is_healthy "${ADDRESS[$1]}"
}

# The manifests, the kubeconfig of the ServiceAccount, and the certificate of the endpoint.
prepare_run() { # interval of probes
  deploy_evenkeel controlplanes
  use_service_account
  kubectl apply -f - >/dev/null <<Y
apiVersion: evenkeel.dev/v1alpha1
kind: ControlPlane
metadata: {name: cluster}
spec: {peers: {probeInterval: $1}}
Y
  make_cert discovery ca /CN=discovery serverAuth "DNS:discovery,IP:$PROXY"
}
grant_watches() { kubectl apply -f "$TOP/deploy/components/discovery/role.yaml" >/dev/null; }
begin_run() {
  "$EVENKEEL" run --kubeconfig="$RUN/evenkeel.kubeconfig" --subjects=skew --debug-socket=0 \
    --discovery-bind-address=$PROXY:6443 --metrics-cert-path="$PKI" --metrics-cert-name=discovery.crt \
    --metrics-cert-key=discovery.key --health-probe-bind-address=$PROXY:8081 2>>"$RUN/evenkeel-run.log" &
  RUN_PID=$!
}
start_run() {
  begin_run
  eventually 60 "evenkeel run does not become ready" curl -sf http://$PROXY:8081/readyz
}
stop_run() {
  kill -TERM "$RUN_PID"
  wait "$RUN_PID" || fail "evenkeel run did not end well"
}

account() { # name: a ServiceAccount that is nobody; its token is printed
  kubectl create serviceaccount "$1" -n default --dry-run=client -o json | kubectl apply -f - >/dev/null
  kubectl create token "$1" -n default
}
ask() { # path, flags: the code; the body and the headers are files
  : >"$RUN/ours" # curl does not touch the file when there is no body
  curl -s -o "$RUN/ours" -D "$RUN/ours.head" -w '%{http_code}' -A e2e --max-time $((60 * PATIENCE)) \
    --cacert "$PKI/ca.crt" "${@:2}" "https://$PROXY:6443$1"
}
as_reader() { ask "$1" -H "Authorization: Bearer $TOKEN" "${@:2}"; }
tag_of() { tr -d '\r' <"$RUN/$1.head" | awk 'tolower($1) == "etag:" {print $2}'; }
is_served() { [ "$(as_reader /apis -H "Accept: $V2")" = 200 ]; }

# Identity Leases give the server ids; a view merges as the routable server with the least one.
least() {
  kubectl get leases -n kube-system -l apiserver.kubernetes.io/identity=kube-apiserver -o json |
    jq -r '.items | sort_by(.metadata.name)[0].metadata.labels["kubernetes.io/hostname"]'
}
# The same path of that server, LEAST, and of evenkeel run.
both() { # path, flags
  code_of "https://${ADDRESS[$LEAST]}:6443$1" "${@:2}" -D "$RUN/theirs.head" >"$RUN/theirs.code"
  cp "$RUN/answer" "$RUN/theirs"
  as_reader "$@" >"$RUN/ours.code"
}
are_equal() { # path, flags
  both "$@"
  cmp "$RUN/theirs.code" "$RUN/ours.code" && cmp "$RUN/theirs" "$RUN/ours" && [ "$(tag_of theirs)" = "$(tag_of ours)" ]
}
