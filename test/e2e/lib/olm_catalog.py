"""Writes a file-based catalog of package `widget`, channel `stable`, with its objects inline.
Versions after the word package=NAME are those of another package.

usage: olm_catalog.py FILE GROUP VERSION... [package=NAME VERSION...]...

A VERSION is "2.0.0 replaces=1.0.0 skips=1.5.0 range=>=1.0.0_<2.0.0 requires=gadget owns=gadget defect=crd": the
edges of the entry ('_' in a range is a blank), a package whose kind it requires, one whose kind it owns beside its
own, and what is wrong with it:
  crd        the schema of its CustomResourceDefinition does not parse: the plan fails, the CSV stays Pending
  csv        the API server refuses the CSV itself: the plan fails, no CSV
  deployment the Deployment is invalid: the installer fails again and again
  crash      the container crashes after two seconds
  notready   the container is never Ready, and the deadline of the Deployment is 30 seconds
  kube       the version requires a Kubernetes that does not exist: the plan completes, the CSV stays Pending
  narrow     not broken: the schema of its definition allows a size of at most 10
  rule       not broken: a rule of its definition allows a size below 20
  storage    not broken: its definition has the version v2 in the place of v1
  renamed    not broken: its Deployment has another name
  service    not broken: it has a Service, too
The file replaces the one before at once.
"""
import base64
import json
import os
import sys


def api_version(defect):
    return "v2" if defect == "storage" else "v1"


def definition(package, group, defect):
    size = "integr" if defect == "crd" else "integer"
    spec = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"size": {"type": size}}}
    if defect == "narrow":
        spec["properties"]["size"]["maximum"] = 10
    if defect == "rule":
        spec["x-kubernetes-validations"] = [
            {"rule": "!has(self.size) || self.size < 20", "message": "the size is too large"}]
    schema = {"type": "object", "properties": {"spec": spec}}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{package}s.{group}"},
            "spec": {"group": group, "scope": "Namespaced",
                     "names": {"plural": package + "s", "singular": package, "kind": package.title(),
                               "listKind": package.title() + "List"},
                     "versions": [{"name": api_version(defect), "served": True, "storage": True,
                                   "schema": {"openAPIV3Schema": schema}}]}}


def deployment(package, version, defect):
    labels = {"app": package + "-manager"}
    kubelet = defect if defect in ("crash", "notready") else "ready"
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "other"} if defect == "deployment" else labels},
            "template": {"metadata": {"labels": {**labels, "kubelet": kubelet}},
                         "spec": {"serviceAccountName": package + "-sa",
                                  "containers": [{"name": "manager", "image": f"example/{package}:{version}"}]}}}
    if defect == "notready":
        spec["progressDeadlineSeconds"] = 30
    return {"name": package + ("-manager2" if defect in ("deployment", "renamed") else "-manager"), "spec": spec}


def csv(package, group, version, defect, edges, required, owned):
    spec = {
        "displayName": package, "version": version,
        "installModes": [{"type": mode, "supported": True}
                         for mode in ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")],
        "install": {"strategy": "deployment", "spec": {
            "permissions": [{"serviceAccountName": package + "-sa", "rules": [
                {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]}],
            "deployments": [deployment(package, version, defect)]}},
        "customresourcedefinitions": {"owned": [
            {"name": f"{package}s.{group}", "version": api_version(defect), "kind": package.title()}]}}
    if owned:
        spec["customresourcedefinitions"]["owned"].append(
            {"name": f"{owned}s.{group}", "version": "v1", "kind": owned.title()})
    if required:
        spec["customresourcedefinitions"]["required"] = [
            {"name": f"{required}s.{group}", "version": "v1", "kind": required.title()}]
    if defect == "csv":
        spec["webhookdefinitions"] = [{
            "type": "NoSuchWebhook", "generateName": f"v.{package}.example.org", "deploymentName": package + "-manager",
            "containerPort": 443, "sideEffects": "None", "admissionReviewVersions": ["v1"]}]
    if defect == "kube":
        spec["minKubeVersion"] = "99.0.0"
    if "replaces" in edges:
        spec["replaces"] = edges["replaces"]
    meta = {"name": f"{package}.v{version}"}
    if "skipRange" in edges:
        meta["annotations"] = {"olm.skipRange": edges["skipRange"]}
    return {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
            "metadata": meta, "spec": spec}


def package_blobs(package, group, versions):
    entries, bundles = [], []
    for text in versions:
        version, *words = text.split()
        edges, defect, required, owned = {}, None, None, None
        for word in words:
            key, value = word.split("=", 1)
            if key == "replaces":
                edges["replaces"] = f"{package}.v{value}"
            elif key == "skips":
                edges.setdefault("skips", []).append(f"{package}.v{value}")
            elif key == "range":
                edges["skipRange"] = value.replace("_", " ")
            elif key == "defect":
                defect = value
            elif key == "requires":
                required = value
            elif key == "owns":
                owned = value
            else:
                sys.exit(f"olm_catalog.py: no such word: {word}")
        objects = [csv(package, group, version, defect, edges, required, owned), definition(package, group, defect)]
        if owned:
            objects.append(definition(owned, group, None))
        if defect == "service":
            objects.append({"apiVersion": "v1", "kind": "Service", "metadata": {"name": package + "-metrics"},
                            "spec": {"selector": {"app": package + "-manager"}, "ports": [{"port": 80}]}})
        entries.append({"name": f"{package}.v{version}", **edges})
        bundles.append({"schema": "olm.bundle", "package": package, "name": f"{package}.v{version}", "properties": [
            {"type": "olm.package", "value": {"packageName": package, "version": version}},
            {"type": "olm.gvk", "value": {"group": group, "version": api_version(defect), "kind": package.title()}},
            *([{"type": "olm.gvk.required", "value": {"group": group, "version": "v1", "kind": required.title()}}]
              if required else []),
            *([{"type": "olm.gvk", "value": {"group": group, "version": "v1", "kind": owned.title()}}]
              if owned else []),
            *({"type": "olm.bundle.object", "value": {"data": base64.b64encode(json.dumps(o).encode()).decode()}}
              for o in objects)]})
    return [{"schema": "olm.package", "name": package, "defaultChannel": "stable"},
            {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries}, *bundles]


def main():
    path, group = sys.argv[1:3]
    packages, versions = {}, []
    packages["widget"] = versions
    for text in sys.argv[3:]:
        if text.startswith("package="):
            versions = packages.setdefault(text.split("=", 1)[1], [])
        else:
            versions.append(text)
    blobs = [blob for package in packages for blob in package_blobs(package, group, packages[package])]
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.writelines(json.dumps(blob) + "\n" for blob in blobs)
    os.rename(path + ".new", path)


main()
