"""Plays the kubelet: gives each pod a status by its label `kubelet`.

usage: kubelet.py SERVER PKI BACK-OFF

ready (or no label): Running and Ready. notready: Running, never Ready. pull: the image cannot be pulled.
crash: Ready for two seconds and until OLM has seen so, then a back-off of BACK-OFF seconds and until OLM has seen
that, then twice as long, and so on: a busy machine changes how long a turn takes, and not how many turns OLM counts.
"""
import http.client
import json
import ssl
import sys
import threading
import time

server, pki, back_off = sys.argv[1].split("//")[1], sys.argv[2], int(sys.argv[3])
context = ssl.create_default_context(cafile=pki + "/ca.crt")
context.load_cert_chain(pki + "/admin.crt", pki + "/admin.key")
alive = {}


def connection():
    host, port = server.rsplit(":", 1)
    return http.client.HTTPSConnection(host, int(port), context=context, timeout=900)


def patch(pod, ready, state, restarts, phase="Running"):
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    truth = "True" if ready else "False"
    status = {
        "phase": phase, "startTime": now,
        "conditions": [{"type": kind, "status": value, "lastTransitionTime": now} for kind, value in (
            ("PodScheduled", "True"), ("Initialized", "True"), ("ContainersReady", truth), ("Ready", truth))],
        "containerStatuses": [{"name": c["name"], "image": c["image"], "imageID": "", "ready": ready,
                               "started": ready, "restartCount": restarts, "state": state}
                              for c in pod["spec"]["containers"]]}
    meta = pod["metadata"]
    link = connection()
    link.request("PATCH", f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status",
                 json.dumps({"status": status}), {"Content-Type": "application/strategic-merge-patch+json"})
    link.getresponse().read()
    link.close()


def installs(namespace):
    """Whether a ClusterServiceVersion of the namespace is not installed."""
    try:
        link = connection()
        link.request("GET", f"/apis/operators.coreos.com/v1alpha1/namespaces/{namespace}/clusterserviceversions")
        items = json.loads(link.getresponse().read()).get("items", [])
        link.close()
        return any(i.get("status", {}).get("phase", "") not in ("Succeeded", "Replacing", "Deleting") for i in items)
    except (OSError, ValueError, http.client.HTTPException):
        return None


def stay(pod, seconds, until):
    """Waits for so long, and then, for two minutes at most, until OLM installs (True) or has installed (False)."""
    uid, namespace = pod["metadata"]["uid"], pod["metadata"]["namespace"]
    end = time.time() + seconds
    while uid in alive and time.time() < end:
        time.sleep(min(1, seconds))
    end = time.time() + 120
    while uid in alive and time.time() < end and installs(namespace) is not until:
        time.sleep(0.5)


def run(pod):
    uid = pod["metadata"]["uid"]
    mode = pod["metadata"].get("labels", {}).get("kubelet", "ready")
    running = {"running": {"startedAt": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}}
    if mode == "pull":
        patch(pod, False, {"waiting": {"reason": "ImagePullBackOff"}}, 0, "Pending")
    elif mode in ("ready", "notready"):
        patch(pod, mode == "ready", running, 0)
    restarts, wait = 0, back_off
    while mode == "crash" and uid in alive:
        patch(pod, True, running, restarts)
        stay(pod, 2, False)
        restarts += 1
        if uid in alive:
            patch(pod, False, {"waiting": {"reason": "CrashLoopBackOff"}}, restarts)
        stay(pod, wait, True)
        wait = min(wait * 2, 300)


def seen(event, pod):
    uid = pod["metadata"]["uid"]
    if event == "DELETED" or pod["metadata"].get("deletionTimestamp"):
        alive.pop(uid, None)
    elif uid not in alive:
        alive[uid] = True
        threading.Thread(target=run, args=(pod,), daemon=True).start()


while True:
    try:
        link = connection()
        link.request("GET", "/api/v1/pods")
        listed = json.loads(link.getresponse().read())
        for item in listed["items"]:
            seen("ADDED", item)
        link.request("GET", "/api/v1/pods?watch=1&resourceVersion=" + listed["metadata"]["resourceVersion"])
        for line in link.getresponse():
            change = json.loads(line)
            if change["type"] == "ERROR":
                break
            seen(change["type"], change["object"])
    except (OSError, ValueError, KeyError, http.client.HTTPException):
        time.sleep(0.3)
