# SPDX-License-Identifier: Apache-2.0
"""Asks the binaries of a Kubernetes version: their flags, and the resources that a server lists at each version."""
import contextlib
import json
import os
import re
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.request

COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
START_SECONDS = 120


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60, check=False)
    return done.stdout


def flags_of(folder, hidden):
    """Component -> its flags: those of --help, and those of `hidden` that the binary knows."""
    ret = {}
    for name in COMPONENTS:
        binary = os.path.join(folder, name)
        flags = set(re.findall(r"^\s+(?:-\w, )?--([\w-]+)", output(binary, "--help"), flags=re.M))
        for flag in hidden - flags:
            if f"unknown flag: --{flag}" not in output(binary, f"--{flag}=", "--help"):
                flags.add(flag)
        ret[name] = sorted(flags)
    return ret


def version_of(folder):
    """The version of kube-apiserver: 1.36.2."""
    text = output(os.path.join(folder, "kube-apiserver"), "--version")
    match = re.search(r"v(\d+\.\d+\.\d+)", text)
    if not match:
        raise SystemExit(f"record: {folder}/kube-apiserver --version: {text.strip()[:200]}")
    return match[1]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@contextlib.contextmanager
def process(log, *command):
    """A program that runs inside of the `with`."""
    with open(log, "w", encoding="utf-8") as out, \
            subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT) as child:
        try:
            yield child
        finally:
            child.kill()


def wait_for(child, log, what):
    """Waits until `what` returns and raises no OSError; the program ends if the child does, or takes too long."""
    end = time.monotonic() + START_SECONDS
    while True:
        try:
            return what()
        except OSError as err:
            if child.poll() is None and time.monotonic() < end:
                time.sleep(0.2)
                continue
            with open(log, encoding="utf-8") as text:
                raise SystemExit(f"record: a server does not start ({err}):\n{text.read()[-2000:]}") from err


def documents_at(folder, minor, run):
    """The lists of resources of a server that emulates version 1.`minor` and serves all APIs."""
    etcd, peer, port = free_port(), free_port(), free_port()
    log = f"{run}/kube-apiserver.log"
    with process(f"{run}/etcd.log", f"{folder}/etcd", f"--data-dir={run}/etcd", "--unsafe-no-fsync",
                 f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
                 f"--listen-peer-urls=http://127.0.0.1:{peer}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                 f"--initial-cluster=default=http://127.0.0.1:{peer}") as store:
        wait_for(store, f"{run}/etcd.log", lambda: socket.create_connection(("127.0.0.1", etcd), 1).close())
        with process(log, f"{folder}/kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}",
                     f"--cert-dir={run}", "--bind-address=127.0.0.1", f"--secure-port={port}",
                     f"--token-auth-file={run}/token", "--authorization-mode=RBAC", f"--emulated-version=1.{minor}",
                     "--runtime-config=api/all=true", "--service-account-issuer=https://127.0.0.1",
                     f"--service-account-signing-key-file={run}/key",
                     f"--service-account-key-file={run}/key") as server:

            def read(path):
                trust = ssl.create_default_context(cafile=f"{run}/apiserver.crt")
                request = urllib.request.Request(f"https://127.0.0.1:{port}{path}", headers={"Authorization": "Bearer t"})
                with urllib.request.urlopen(request, context=trust, timeout=20) as reply:
                    return reply.read()

            def get(path):
                return json.loads(read(path))

            wait_for(server, log, lambda: read("/readyz"))
            groups = get("/apis")["groups"]
            return [get("/api/v1")] + [get(f"/apis/{v['groupVersion']}") for g in groups for v in g["versions"]]


def documents_of(folder, minors):
    """The lists of resources of a server at each of the versions that it emulates."""
    ret = []
    for minor in minors:
        with tempfile.TemporaryDirectory() as run:
            subprocess.run(["openssl", "genrsa", "-out", f"{run}/key", "2048"], check=True, stderr=subprocess.DEVNULL)
            with open(f"{run}/token", "w", encoding="utf-8") as token:
                token.write("t,recorder,recorder,system:masters\n")
            ret += documents_at(folder, minor, run)
    return ret
