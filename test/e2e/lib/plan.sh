# shellcheck shell=bash
# `evenkeel plan` beside one API server, cp-a, which is started again and again. Sourced after cluster.sh.

CP=10.99.0.11

# One plan; the exit code is in $code, the document in plan.json.
plan() {
  code=0
  "$EVENKEEL" plan "$@" -o json >"$RUN/plan.json" || code=$?
}

verdict() { jq -r .verdict "$RUN/plan.json"; }
findings() { jq -r "[.findings[] | select(.severity == \"$1\") | .rule] | unique | join(\" \")" "$RUN/plan.json"; }

has_ended() { ! kill -0 "$(cat "$RUN/cp-a.pid")"; }
