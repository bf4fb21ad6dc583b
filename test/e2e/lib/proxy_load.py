"""A load on API servers by way of a proxy, which judges each answer: what exists is found, no write is lost or done
twice, and no watch misses an event.

usage: proxy_load.py SERVER PKI NAMESPACE ETCD REPORT

For each resource there is a reader, a writer and a watcher. A file REPORT.stop ends the load. Then the objects and the
history of the objects in etcd are compared with what was seen, and REPORT is written as JSON: counts, and "faults",
which must be empty. Requests carry the user agent "proxy-load". Readers and writers rest for PROXY_LOAD_PACE seconds
(0.1) between two turns.

A file REPORT.faults has the faults as lines "PEER BEGIN END" (seconds since the epoch) behind lines "serves RESOURCE
PEER...". "served" in the report are the requests for which at least one API server that serves the resource was up all
the time, by resource; "failed" those of them that were answered by 5xx, or whose answer was cut, by reason.

Writers know what they have written: an object is created under a generated name and a label that is used once; a
counter is raised by PUT, whose resourceVersion a second PUT would violate, and by JSON Patch, whose test a second patch
would violate; an object is deleted once. An answer of 503 and a lost connection leave open whether the write was
carried out: the writer reads the object, and goes on from there.
"""
import base64
import collections
import http.client
import json
import os
import ssl
import sys
import threading
import time

server, pki, namespace, etcd, report_path = sys.argv[1:]
context = ssl.create_default_context(cafile=pki + "/ca.crt")
context.load_cert_chain(pki + "/admin.crt", pki + "/admin.key")
TIMEOUT = 600  # of a hang of the proxy; nothing is judged by time
REQUESTS_PER_CONNECTION = 25
PACE = float(os.environ.get("PROXY_LOAD_PACE", "0.1"))

RESOURCES = {
    "configmaps": ("/api/v1", {"data": {"a": "b"}}),
    "jobs": ("/apis/batch/v1", {"spec": {"suspend": True, "template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}}}),
    "horizontalpodautoscalers": ("/apis/autoscaling/v2", {"spec": {"maxReplicas": 2, "scaleTargetRef": {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}}),
    "poddisruptionbudgets": ("/apis/policy/v1", {"spec": {"minAvailable": 1, "selector": {
        "matchLabels": {"a": "b"}}}}),
}

lock = threading.Lock()
answers = []  # begin, end, resource, why it failed ("" when it did not)
counts = collections.Counter()
unavailable = collections.Counter()  # the messages of 503
faults = []


def stopped():
    return os.path.exists(report_path + ".stop")


def count(what, n=1):
    with lock:
        counts[what] += n


def fault(text):
    with lock:
        if len(faults) < 50:
            faults.append(text)
        counts["faults"] += 1


class Lost(Exception):
    """The connection ended before the answer, or within the answer."""


class Client:
    """One connection, made anew after a failure and after so many requests. Not thread safe."""

    def __init__(self):
        self.link, self.used = None, 0

    def close(self):
        if self.link:
            self.link.close()
        self.link, self.used = None, 0

    def send(self, method, path, body=None, kind="application/json"):
        if self.used >= REQUESTS_PER_CONNECTION:
            self.close()
        headers = {"Accept": "application/json", "User-Agent": "proxy-load"}
        if body is not None:
            headers["Content-Type"] = kind
        try:
            if not self.link:
                host, port = server.rsplit(":", 1)
                self.link = http.client.HTTPSConnection(host, int(port), context=context, timeout=TIMEOUT)
                self.link.connect()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            fault(f"the proxy cannot be reached: {error!r}")
            raise Lost(repr(error)) from error
        try:
            self.used += 1
            self.link.request(method, path, None if body is None else json.dumps(body), headers)
            return self.link.getresponse()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            fault(f"{method} {path} is not answered: {error!r}")
            raise Lost(repr(error)) from error

    def call(self, method, path, body=None, kind="application/json"):
        """The code and the decoded body."""
        begin = time.time()
        answer = self.send(method, path, body, kind)
        try:
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            count("lost within the answer")
            note(begin, path, "lost within the answer")
            raise Lost(repr(error)) from error
        if answer.will_close:
            self.close()
        decoded = decode(answer, text)
        note(begin, path, decoded.get("message", str(answer.status)) if answer.status >= 500 else "")
        return answer.status, decoded


def note(begin, path, failure):
    """Records an answer for the promise of KEP-4020 (judge_promise)."""
    resource = next((r for r, (group, _) in RESOURCES.items() if path.startswith(group)), "")
    with lock:
        answers.append((begin, time.time(), resource, failure))


def judge_promise():
    """The requests that an API server could serve all the time, by resource, and those that failed, by reason."""
    serves, away = {}, []
    with open(report_path + ".faults", encoding="utf-8") as lines:
        for first, *words in map(str.split, lines):
            if first == "serves":
                serves[words[0]] = words[1:]
            else:
                away.append((first, float(words[0]), float(words[1])))

    def is_up(peer, begin, end):
        return all(end < a or b < begin for p, a, b in away if p == peer)

    served, failed = collections.Counter(), collections.Counter()
    for begin, end, resource, failure in answers:
        if any(is_up(peer, begin, end) for peer in serves[resource]):
            served[resource] += 1
            failed.update([f"{resource}: {failure}"] if failure else [])
    return {"served": dict(served), "failed": dict(failed)}


def decode(answer, text):
    """The body, as JSON where it is; the answer is counted."""
    try:
        decoded = json.loads(text)
    except ValueError:
        decoded = {"message": text.decode(errors="replace")[:200]}
    count(f"{answer.status}")
    if answer.status == 503:
        with lock:
            unavailable[decoded.get("message", "")] += 1
        if decoded.get("kind") != "Status" or decoded.get("reason") != "ServiceUnavailable":
            fault(f"503 without a Status: {decoded}")
    return decoded


def url(resource, name="", query=""):
    return f"{RESOURCES[resource][0]}/namespaces/{namespace}/{resource}" + (f"/{name}" if name else "") + query


def is_later(status, decoded):
    """The answer says that the request may be repeated: 503, and 429 of a server that starts."""
    return status == 503 or (status == 429 and "initializ" in decoded.get("message", ""))


def patiently(client, method, path):
    """Repeats a read until it is answered."""
    while True:
        try:
            status, decoded = client.call(method, path)
            if not is_later(status, decoded):
                return status, decoded
        except Lost:
            pass
        time.sleep(0.1)


# ---- Readers -----------------------------------------------------------------------------------------------------


def read(resource):
    client, turn = Client(), 0
    while not stopped():
        turn += 1
        time.sleep(PACE)
        try:
            if turn % 3 == 0:
                status, decoded = client.call("GET", url(resource))
                names = {item["metadata"]["name"] for item in decoded.get("items", [])}
                if status == 200 and "seed" not in names:
                    fault(f"a list of {resource} lacks what exists")
            elif turn % 10 == 1:
                status, decoded = client.call("GET", RESOURCES[resource][0])
                if status == 200 and resource not in {r["name"] for r in decoded["resources"]}:
                    fault(f"discovery lacks {resource}")
            else:
                status, decoded = client.call("GET", url(resource, "seed"))
        except Lost:
            continue
        if status != 200 and not is_later(status, decoded):
            fault(f"a read of {resource} is answered by {status}: {decoded.get('message')}")


# ---- Writers -----------------------------------------------------------------------------------------------------


class Writer:
    def __init__(self, resource):
        self.resource, self.client = resource, Client()
        self.created, self.unsure = {}, set()  # names by operation; operations that may have been carried out
        self.deleted = set()  # operations: a generated name may come again
        self.counter, self.value = None, 0

    def write(self, method, path, body=None, kind="application/json"):
        """The code and the body; a code of 0 when it is open whether the write was carried out."""
        try:
            status, decoded = self.client.call(method, path, body, kind)
            return (0 if status == 503 else status), decoded
        except Lost:
            return 0, {}

    def create(self, operation):
        body = dict(RESOURCES[self.resource][1], metadata={"generateName": "w-", "labels": {"operation": operation}})
        status, decoded = self.write("POST", url(self.resource), body)
        if status == 201:
            self.created[operation] = decoded["metadata"]["name"]
        elif status == 0:
            self.unsure.add(operation)
        else:
            fault(f"creation of {self.resource} is answered by {status}: {decoded.get('message')}")

    def begin(self):
        body = dict(RESOURCES[self.resource][1], metadata={"name": "counter", "annotations": {"n": "0"}})
        status, self.counter = self.write("POST", url(self.resource), body)
        if status != 201:
            fault(f"the counter of {self.resource} is not created: {status}")

    def raise_by_put(self):
        self.counter["metadata"]["annotations"]["n"] = str(self.value + 1)
        return self.write("PUT", url(self.resource, "counter"), self.counter)

    def raise_by_patch(self):
        return self.write("PATCH", url(self.resource, "counter"), [
            {"op": "test", "path": "/metadata/annotations/n", "value": str(self.value)},
            {"op": "replace", "path": "/metadata/annotations/n", "value": str(self.value + 1)},
        ], "application/json-patch+json")

    def look(self):
        """Takes the counter as it is: lower is a lost write, higher by more than one is a write done twice."""
        status, decoded = patiently(self.client, "GET", url(self.resource, "counter"))
        if status != 200:
            fault(f"the counter of {self.resource} is answered by {status}")
            return
        value = int(decoded["metadata"]["annotations"]["n"])
        if value not in (self.value, self.value + 1):
            fault(f"the counter of {self.resource} is {value}, not {self.value} or one more")
        self.counter, self.value = decoded, value

    def step(self, turn):
        status, decoded = self.raise_by_put() if turn % 2 else self.raise_by_patch()
        if status == 200:
            self.counter, self.value = decoded, self.value + 1
            return
        if status:  # 409 and 422 say that somebody else has written: there is nobody else
            fault(f"a counter of {self.resource} is answered by {status}: {decoded.get('message')}")
        count("writes that are looked after")
        time.sleep(0.5)  # what a killed API server has sent to etcd is carried out
        self.look()

    def delete(self):
        operation, name = next(((o, n) for o, n in self.created.items() if o not in self.deleted), (None, None))
        if not operation:
            return
        status, decoded = self.write("DELETE", url(self.resource, name, "?propagationPolicy=Background"))
        if status == 200:
            self.deleted.add(operation)
        elif status:
            fault(f"deletion of {self.resource} is answered by {status}: {decoded.get('message')}")
        elif patiently(self.client, "GET", url(self.resource, name))[0] == 404:
            self.deleted.add(operation)

    def run(self):
        turn = 0
        while not stopped():
            turn += 1
            time.sleep(PACE)
            self.create(f"{self.resource}-{turn}")
            self.step(turn)
            if turn % 2 == 0:
                self.delete()
        self.look()

    def judge(self, items):
        """items: all objects of the resource at the end."""
        seen = collections.defaultdict(list)
        for item in items:
            if "operation" in item["metadata"].get("labels", {}):
                seen[item["metadata"]["labels"]["operation"]].append(item["metadata"]["name"])
        for operation, names in seen.items():
            if len(names) > 1:
                fault(f"{operation} was carried out {len(names)} times")
            if operation not in self.created and operation not in self.unsure:
                fault(f"{operation} was carried out, and refused")
        for operation, name in self.created.items():
            if (seen[operation] == [name]) == (operation in self.deleted):
                done = "deleted" if operation in self.deleted else "created"
                fault(f"{operation}: {name} was {done}; now {seen[operation]}")
        count("objects created", len(self.created))
        count("objects deleted", len(self.deleted))
        count("counters", self.value)


# ---- Watchers ----------------------------------------------------------------------------------------------------


class Watcher:
    """Follows a resource as an informer does: a list, then watches from the last event on, a list after 410."""

    def __init__(self, resource):
        self.resource, self.client = resource, Client()
        self.last = 0
        self.segments = []  # of each list: its revision, its objects with their revisions, and the events after it

    def list(self):
        status, decoded = patiently(self.client, "GET", url(self.resource))
        if status != 200:
            fault(f"a list of {self.resource} is answered by {status}: {decoded.get('message')}")
            return
        self.last = int(decoded["metadata"]["resourceVersion"])
        objects = {i["metadata"]["name"]: int(i["metadata"]["resourceVersion"]) for i in decoded["items"]}
        self.segments.append((self.last, objects, []))
        count("lists of watchers")

    def take(self, line):
        """False when a list is required."""
        event = json.loads(line)
        kind, meta = event["type"], event["object"].get("metadata", {})
        if kind == "ERROR":
            if event["object"].get("code") != 410:
                fault(f"a watch of {self.resource} fails: {event['object'].get('message')}")
            count("watches that are too old")
            return False
        self.last = int(meta["resourceVersion"])
        if kind != "BOOKMARK":
            self.segments[-1][2].append((self.last, kind, meta["name"]))
        return True

    def watch(self):
        """Follows one watch to its end; false when a list is required."""
        query = f"?watch=1&allowWatchBookmarks=true&resourceVersion={self.last}&timeoutSeconds=600"
        begin = time.time()
        answer = self.client.send("GET", url(self.resource, "", query))
        decoded = decode(answer, answer.read()) if answer.status != 200 else {}
        note(begin, url(self.resource), decoded.get("message", "") if answer.status >= 500 else "")
        if answer.status != 200:
            if answer.status == 410:
                return False
            if not is_later(answer.status, decoded):
                fault(f"a watch of {self.resource} is answered by {answer.status}: {decoded.get('message')}")
            time.sleep(0.1)
            return True
        count("watches")
        rest = b""  # of an event
        try:
            while part := answer.read1(65536):
                *lines, rest = (rest + part).split(b"\n")
                for line in lines:
                    if not self.take(line):
                        return False
                if self.is_over():
                    return True
        except (OSError, http.client.HTTPException):
            count("watches that broke")
            return True
        count("watches that ended well")
        if rest:
            fault(f"a watch of {self.resource} ended well within an event")
        return True

    def run(self):
        self.list()
        while not self.is_over():
            try:
                if not self.watch():
                    self.client.close()
                    self.list()
            except Lost:
                pass
            self.client.close()

    def is_over(self):
        return stopped() and self.last >= self.end

    end = 0  # the revision of the last event that must be seen; infinite while writers are at work

    def judge(self, history):
        """history: all events of the resource in etcd, in order: revision, kind, name."""
        for i, (revision, objects, events) in enumerate(self.segments):
            state = {}
            for at, kind, name in history:
                if at <= revision:
                    state.pop(name, None) if kind == "DELETED" else state.update({name: at})
            if state != objects:
                fault(f"a list of {self.resource} at {revision} is not what there was")
            until = events[-1][0] if events else revision
            if i + 1 == len(self.segments):
                until = max(until, self.end)
            wanted = [e for e in history if revision < e[0] <= until]
            if events != wanted:
                missed, more = set(wanted) - set(events), set(events) - set(wanted)
                fault(f"a watch of {self.resource} from {revision} to {until} missed {sorted(missed)[:5]}, "
                      f"has seen also {sorted(more)[:5]}, in order: {events == sorted(events)}")
            count("events", len(events))


def history_of(resource, begin, end):
    """What etcd has recorded of the resource, by its own API; events of a revision come in one piece."""
    host, port = etcd.split("//")[1].rsplit(":", 1)
    prefix = f"/registry/{resource}/{namespace}/".encode()
    link = http.client.HTTPConnection(host, int(port), timeout=TIMEOUT)
    request = {"create_request": {
        "key": base64.b64encode(prefix).decode(), "start_revision": begin,
        "range_end": base64.b64encode(prefix[:-1] + bytes([prefix[-1] + 1])).decode()}}
    link.request("POST", "/v3/watch", json.dumps(request))
    history = []
    for line in link.getresponse():
        result = json.loads(line)["result"]
        if result.get("canceled"):
            fault(f"etcd has no history of {resource}: {result.get('cancel_reason')}")
            return history
        for event in result.get("events", []):
            kv = event["kv"]
            kind = "DELETED" if event.get("type") == "DELETE" else "ADDED" \
                if kv["create_revision"] == kv["mod_revision"] else "MODIFIED"
            history.append((int(kv["mod_revision"]), kind, base64.b64decode(kv["key"])[len(prefix):].decode()))
        if history and history[-1][0] >= end:
            link.close()
            return history
    fault(f"the history of {resource} ended early")
    return history


# ---- The run -----------------------------------------------------------------------------------------------------


def start(run, *args):
    def guarded():
        try:
            run(*args)
        except Exception as error:  # pylint: disable=broad-except
            fault(f"{run.__qualname__}{args}: {error!r}")
    thread = threading.Thread(target=guarded, daemon=True)
    thread.start()
    return thread


def main():
    writers = [Writer(resource) for resource in RESOURCES]
    watchers = [Watcher(resource) for resource in RESOURCES]
    first = 0
    for writer in writers:
        body = dict(RESOURCES[writer.resource][1], metadata={"name": "seed"})
        status, decoded = writer.write("POST", url(writer.resource), body)
        if status != 201:
            sys.exit(f"the seed of {writer.resource} is not created: {status} {decoded}")
        first = first or int(decoded["metadata"]["resourceVersion"])
        writer.begin()
    for watcher in watchers:
        watcher.end = float("inf")
    following = [start(watcher.run) for watcher in watchers]
    working = [start(writer.run) for writer in writers] + [start(read, resource) for resource in RESOURCES]
    for thread in working:
        thread.join()
    # Watchers end with an event that comes after all others.
    for writer, watcher in zip(writers, watchers):
        writer.step(1)
        watcher.end = int(writer.counter["metadata"]["resourceVersion"])
    while any(thread.is_alive() for thread in following):
        for writer in writers:
            writer.step(1)
        time.sleep(0.2)
    for writer, watcher in zip(writers, watchers):
        status, decoded = patiently(writer.client, "GET", url(writer.resource))
        writer.judge(decoded.get("items", []))
        watcher.judge(history_of(writer.resource, first, max(watcher.end, watcher.last)))
    with open(report_path, "w", encoding="utf-8") as out:
        json.dump({"counts": dict(sorted(counts.items())), "unavailable": dict(unavailable), "faults": faults,
                   **judge_promise()}, out, indent=1)


main()
