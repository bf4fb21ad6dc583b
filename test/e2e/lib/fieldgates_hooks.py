# SPDX-License-Identifier: Apache-2.0
# What the field gate scripts need besides Evenkeel, by HTTPS: a converter of CronTabs between v1
# (.spec.replicas) and v2 (.spec.size), and a mutator that always puts .spec.replicas: 9 into an object.
# usage: fieldgates_hooks.py ADDRESS PORT CERTIFICATE KEY
import base64
import http.server
import json
import ssl
import sys


def convert(request):
    def one(obj):
        version = request["desiredAPIVersion"]
        if obj["apiVersion"] != version:
            spec = obj.get("spec") or {}
            names = ("size", "replicas") if version.endswith("/v1") else ("replicas", "size")
            if names[0] in spec:
                spec[names[1]] = spec.pop(names[0])
        return dict(obj, apiVersion=version)

    return {"uid": request["uid"], "result": {"status": "Success"},
            "convertedObjects": [one(o) for o in request["objects"]]}


def put_back(request):
    patch = [{"op": "add", "path": "/spec/replicas", "value": 9}]
    return {"uid": request["uid"], "allowed": True, "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = convert if self.path.startswith("/convert") else put_back
        review["response"] = answer(review.pop("request"))
        body = json.dumps(review).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


address, port, certificate, key = sys.argv[1:]
server = http.server.ThreadingHTTPServer((address, int(port)), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(certificate, key)
server.socket = context.wrap_socket(server.socket, server_side=True)
server.serve_forever()
