# SPDX-License-Identifier: Apache-2.0
"""Reads a Kubernetes source tree: feature gates, the lifecycle of kinds, fields, and the documents of discovery.

The places are those of 1.36. A declaration whose form is not known ends the program: a table with a gap would say
of what is in the gap that the version does not have it.
"""
import base64
import glob
import hashlib
import json
import os
import re

STAGING = "staging/src/k8s.io"
# Folders whose gates no component registers with its flag --feature-gates.
NO_GATES = ("/vendor/", "/_output/", "/hack/", "/test/", "/cmd/", "/sample-apiserver/", "/third_party/")
NO_FLAGS = ("/vendor/", "/_output/", "/test/", "/third_party/")
STAGES = {"Alpha": "ALPHA", "Beta": "BETA", "GA": "GA", "Deprecated": "DEPRECATED"}
# staging/src/k8s.io/component-base/featuregate/feature_gate.go: defaultFeatures
ALL_GATES = {"AllAlpha": "ALPHA", "AllBeta": "BETA"}


def fail(text):
    raise SystemExit(f"record: {text}")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_comments(text):
    """Go text without its comments. Strings with // in them are not what this module reads."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def block(text, start):
    """The text between the brace that is at or after `start`, and the brace that ends it."""
    first = text.index("{", start)
    depth = 0
    for at in range(first, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[first + 1:at]
    return fail("a block of Go does not end")


def members(text):
    """The members `Name: {...}` of a Go map, in order: name and the text in the braces."""
    at = 0
    while match := re.compile(r"\s*,?\s*\"?([\w.]+)\"?:\s*").match(text, at):
        inside = block(text, match.end())
        yield match[1], inside
        at = text.index("{", match.end()) + len(inside) + 2
    if text[at:].strip(" \t\n,"):
        fail(f"a Go map cannot be read at: {text[at:].strip()[:60]}")


def minor_of(text):
    match = re.search(r"version\.MustParse\(\"(\d+\.\d+)\"\)|version\.MajorMinor\((\d+), (\d+)\)", text or "")
    if not match:
        fail(f"no version in: {text}")
    return match[1] or f"{match[2]}.{match[3]}"


def spec_of(name, text):
    """One versioned specification of a gate: {Version: ..., Default: ..., PreRelease: ...}."""
    value = dict(re.findall(r"(\w+):\s*((?:\([^)]*\)|[^,(])+)", text))
    stage = value.get("PreRelease", "").strip().rpartition(".")[2] or "GA"
    if stage not in STAGES or "Version" not in value:
        fail(f"gate {name}: unknown form: {text}")
    ret = {"version": minor_of(value.pop("Version")), "default": value.pop("Default", "false").strip() == "true",
           "lockToDefault": value.pop("LockToDefault", "false").strip() == "true", "preRelease": STAGES[stage]}
    if "MinCompatibilityVersion" in value:
        ret["minCompatibilityVersion"] = minor_of(value.pop("MinCompatibilityVersion"))
    value.pop("PreRelease", None)
    if value:
        fail(f"gate {name}: unknown member {', '.join(value)}")
    return ret


def go_packages(tree, word, without):
    """The Go packages with a file that has `word`, but for those below the folders `without`: the text of all their files, without comments."""
    ret = {}
    for folder, names, files in os.walk(tree):
        relative = "/" + os.path.relpath(folder, tree) + "/"
        if any(no in relative for no in without):
            names[:] = []
            continue
        texts = [without_comments(read(os.path.join(folder, f))) for f in sorted(files)
                 if f.endswith(".go") and not f.endswith("_test.go")]
        if any(word in text for text in texts):
            ret[os.path.relpath(folder, tree)] = "\n".join(texts)
    return ret


# Name featuregate.Feature = "Name", Name = "Name", Name = featuregate.Feature("Name")
CONSTANT = re.compile(r"^\s*(?:const\s+)?([A-Z]\w+)\s+(?:(?:\w+\.)?Feature\s*)?=\s*(?:\w+\.Feature\()?\"(\w+)\"",
                      re.M)


def gates_of(tree):
    """All gates, with the packages that declare them: those of maps to VersionedSpecs that are written out."""
    names, specs, needs = {}, {}, {}
    packages = go_packages(tree, "VersionedSpecs", NO_GATES)
    for text in packages.values():
        names.update(CONSTANT.findall(text))
    for folder, text in sorted(packages.items()):
        for match in re.finditer(r"map\[(?:\w+\.)?Feature\](?:\w+\.)?VersionedSpecs\{(?=\s*[A-Z])", text):
            for name, inside in members(block(text, match.start())):
                gate = names.get(name.rpartition(".")[2]) or fail(f"gate {name} has no constant")
                rows = [spec_of(gate, one) for one in re.findall(r"\{([^{}]*)\}", inside)]
                if specs.setdefault(gate, (rows, folder))[0] != rows:
                    fail(f"gate {gate} is declared in two ways")
        for match in re.finditer(r"map\[(?:\w+\.)?Feature\]\[\](?:\w+\.)?Feature\{(?=\s*[A-Z])", text):
            for name, inside in members(block(text, match.start())):
                gate = names.get(name.rpartition(".")[2]) or fail(f"gate {name} has no constant")
                needs[gate] = sorted(names[n] for n in re.findall(r"(\w+)\s*\)?\s*(?:,|$)", inside.strip()))
    if not specs:
        fail(f"{tree} declares no feature gate")
    for gate, stage in ALL_GATES.items():
        off = {"version": "0.0", "default": False, "lockToDefault": False, "preRelease": stage}
        specs[gate] = ([off], None)
    return [{"name": gate, "specs": rows, "dependencies": needs.get(gate, []), "folder": folder}
            for gate, (rows, folder) in sorted(specs.items())]


def imported_by(tree, folder):
    """The packages of the tree that the package in `folder` imports, and what those import."""
    seen, todo = set(), [folder]
    while todo:
        at = todo.pop()
        if at in seen or not os.path.isdir(os.path.join(tree, at)):
            continue
        seen.add(at)
        for path in glob.glob(os.path.join(tree, at, "*.go")):
            if path.endswith(("_test.go", "_windows.go")):
                continue
            head = "\n".join(re.findall(r"^import\s*(?:\(.*?^\)|[^\n]*)", read(path), flags=re.S | re.M))
            for name in re.findall(r"\"k8s\.io/([^\"]+)\"", head):
                todo.append(name[len("kubernetes/"):] if name.startswith("kubernetes/") else f"{STAGING}/{name}")
    return seen


def without_component(tree, gates):
    """Adds `not_in`: the components that do not import the package that declares the gate."""
    components = ("kube-controller-manager", "kube-proxy", "kube-scheduler", "kubelet")
    seen = {name: imported_by(tree, f"cmd/{name}") for name in components}
    server = imported_by(tree, "cmd/kube-apiserver")
    ret = []
    for gate in gates:
        folder = gate.pop("folder")
        if folder and os.path.isdir(os.path.join(tree, folder, "register")):
            folder = os.path.join(folder, "register")
        if folder and folder not in server:
            continue
        lacks = [name for name in components if folder and folder not in seen[name]]
        ret.append(gate | ({"not_in": lacks} if lacks else {}))
    return ret


def installs(tree):
    """The install packages of the API server's scheme: the text and the imports of each."""
    places = (f"{tree}/pkg/apis/*/install", f"{tree}/{STAGING}/apiextensions-apiserver/pkg/apis/*/install",
              f"{tree}/{STAGING}/kube-aggregator/pkg/apis/*/install")
    for place in places:
        for folder in sorted(glob.glob(place)):
            text = without_comments(read(os.path.join(folder, "install.go")))
            yield text, imports_of(text)


def imports_of(text):
    """The name that a Go file gives to each package of k8s.io: name -> path below k8s.io."""
    found = re.findall(r"^\s*(?:import\s+)?(?:(\w+)\s+)?\"k8s\.io/([^\"]+)\"", text, flags=re.M)
    return {name or os.path.basename(path): path for name, path in found}


def package_of(tree, path):
    """The folder of the Go package k8s.io/`path`."""
    folder = path[len("kubernetes/"):] if path.startswith("kubernetes/") else f"{STAGING}/{path}"
    return os.path.join(tree, folder)


def group_versions(tree):
    """Group -> its versions in the order of the scheme, each with the folder of its types."""
    ret = {}
    for text, aliases in installs(tree):
        first = re.search(r"SetVersionPriority\((.*?)\)\)", text, flags=re.S)
        order = re.findall(r"(\w+)\.SchemeGroupVersion", first[1]) if first else []
        others = [a for a in re.findall(r"(\w+)\.AddToScheme\(", text) if re.search(r"v\d+\w*$", aliases[a])]
        for alias in order + [a for a in others if a not in order]:
            here = package_of(tree, aliases[alias])
            version = os.path.basename(here)
            here = types_of(tree, here)
            register = without_comments(read(os.path.join(here, "register.go")))
            group = re.search(r"GroupName\s*=\s*\"([^\"]*)\"", register)
            if not group:
                fail(f"{here} has no GroupName")
            ret.setdefault(group[1], {})[version] = here
    return ret


def types_of(tree, folder):
    """The folder of the types that a package of conversions is made for (its register.go imports them)."""
    for path in re.findall(r"\"k8s\.io/(api/[^\"]+)\"", read(os.path.join(folder, "register.go"))):
        if os.path.basename(path) == os.path.basename(folder):
            return package_of(tree, path)
    return folder


LIFECYCLE = re.compile(r"func \(\w+ \*(\w+)\) APILifecycle(\w+)\(\)[^\n]*\{\s*return ([^\n]*)\n")


def lifecycle_of(folder):
    """Kind -> what its lifecycle methods return."""
    ret = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.go"))):
        for kind, what, value in LIFECYCLE.findall(without_comments(read(path))):
            row = ret.setdefault(kind, {})
            if what == "Replacement":
                row["replacement"] = dict(zip(("group", "version", "kind"), re.findall(r"\"([^\"]*)\"", value)))
            else:
                row[what.lower()] = ".".join(part.strip() for part in value.split(","))
    return ret


def registered_in(folder):
    """The kinds that register.go adds for its version."""
    text = without_comments(read(os.path.join(folder, "register.go")))
    kinds = set()
    for match in re.finditer(r"AddKnownTypes\(\s*SchemeGroupVersion,(.*?)\n\t\)", text, flags=re.S):
        kinds |= set(re.findall(r"&(\w+)\{", match[1]))
    if not kinds:
        fail(f"{folder}/register.go adds no kind")
    return kinds


def kinds_of(versions):
    """The lifecycle of each kind of the scheme, in the order of group, version and kind."""
    ret = []
    for group, folders in versions.items():
        for version, folder in folders.items():
            life = lifecycle_of(folder)
            for kind in registered_in(folder):
                row = {"group": group, "version": version, "kind": kind}
                row |= {k: life[kind][k] for k in ("introduced", "deprecated", "removed", "replacement")
                        if k in life.get(kind, {})}
                ret.append(row | ({"list": True} if kind.endswith("List") else {}))
    return ret


def paths_of(value, path, ret):
    """Adds the path of each field. The one key of a made-up map is the field's name and "Key"."""
    if isinstance(value, dict):
        name = re.split(r"[.\[{]", path.rstrip("[]{}"))[-1]
        for key, one in value.items():
            if len(value) == 1 and path and key == name + "Key":
                here = path + "{}"
            else:
                here = f"{path}.{key}" if path else key
                ret.add(here)
            paths_of(one, here, ret)
    elif isinstance(value, list):
        for one in value:
            paths_of(one, path + "[]", ret)


def fields_at(folder):
    """(apiVersion, kind) -> the fields, of the objects that a release has serialized into `folder`."""
    ret = {}
    for path in glob.glob(f"{folder}/*.json"):
        if path.endswith(".after_roundtrip.json"):
            continue
        group, version, kind = os.path.basename(path)[:-len(".json")].rsplit(".", 2)
        fields = set()
        paths_of(json.loads(read(path)), "", fields)
        ret[(version if group == "core" else f"{group}/{version}", kind)] = fields
    return ret


def fields_of(tree, at, newest):
    """What came and went with minor version `at`, of a tree of `newest`: one value for each kind with a change.

    A repository of staging that has not stored the objects of the release before is left out: nothing is known of it."""
    here, before = {}, {}
    for folder in glob.glob(f"{tree}/{STAGING}/*/**/testdata", recursive=True):
        pair = [f"{folder}/{'HEAD' if at == newest else f'v1.{at}.0'}", f"{folder}/v1.{at - 1}.0"]
        if all(map(os.path.isdir, pair)):
            here |= fields_at(pair[0])
            before |= fields_at(pair[1])
    if not here or not before:
        fail(f"{tree} has no serialized objects of 1.{at} and of 1.{at - 1}")
    ret = []
    for api_version, kind in sorted(set(here) | set(before)):
        now, old = here.get((api_version, kind)), before.get((api_version, kind))
        row = {"apiVersion": api_version, "kind": kind}
        if old is None:
            row["new"] = True
        elif now is None:
            row["gone"] = True
        else:
            row |= {k: sorted(v) for k, v in (("came", now - old), ("went", old - now)) if v}
        if len(row) > 2:
            ret.append(row)
    return ret


def documents_of(tree):
    """The lists of resources in api/discovery, which the project makes with a server that serves all APIs."""
    return [json.loads(read(path)) for path in sorted(glob.glob(f"{tree}/api/discovery/api*__v*.json"))]


GATED = re.compile(r"if resource := \"(\w+)\"; apiResourceConfigSource\.ResourceEnabled\((\w+)\.SchemeGroupVersion\."
                   r"WithResource\(resource\)\) \{\s*if utilfeature\.DefaultFeatureGate\.Enabled\((?:\w+\.)?(\w+)\) \{")


def gates_of_resources(tree):
    """(group, version, resource) -> the gate without which a server does not list the resource."""
    ret = {}
    for path in glob.glob(f"{tree}/pkg/registry/*/rest/storage_*.go"):
        text = without_comments(read(path))
        aliases = imports_of(text)
        for resource, alias, gate in GATED.findall(text):
            folder = package_of(tree, aliases[alias])
            group = re.search(r"GroupName\s*=\s*\"([^\"]*)\"", read(os.path.join(folder, "register.go")))[1]
            ret[(group, os.path.basename(folder), resource)] = gate
    return ret


def overrides_of(tree):
    """(group, resource) -> the version of ResourceEncodingOverrides, which no lifecycle moves."""
    text = without_comments(read(f"{tree}/pkg/kubeapiserver/default_storage_factory_builder.go"))
    match = re.search(r"\[\]schema\.GroupVersionResource\{(.*?)\n\t\}", text, flags=re.S)
    if not match:
        fail("default_storage_factory_builder.go has no list of GroupVersionResource")
    aliases = imports_of(text)
    ret = {}
    for alias, resource, version in re.findall(r"(\w+)\.Resource\(\"(\w+)\"\)\.WithVersion\(\"(\w+)\"\)", match[1]):
        register = read(os.path.join(package_of(tree, aliases[alias]), "register.go"))
        ret[(re.search(r"GroupName\s*=\s*\"([^\"]*)\"", register)[1], resource)] = version
    return ret


def source_words(tree):
    """The flags that the source hides or deprecates, which --help does not list."""
    ret = set()
    for text in go_packages(tree, "Mark", NO_FLAGS).values():
        ret |= set(re.findall(r"Mark(?:Hidden|Deprecated)\(\"([\w-]+)\"", text))
    return ret


def storage_hash(group, version, kind):
    """staging/src/k8s.io/apiserver/pkg/endpoints/discovery/storageversionhash.go: StorageVersionHash"""
    return base64.b64encode(hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()[:8]).decode()
