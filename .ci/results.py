#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the results of a gate, repeats failed tests, and prints what failed last.

usage: results.py ctest FOLDER STAGE REPEAT CTEST...      runs CTEST; stores and prints its results
       results.py add FOLDER STAGE NAME STATUS REPEAT LOG   stores one result: passed, failed or skipped
       results.py summary FOLDER STAGE...                   prints failures, slow tests and totals; exits 1 on failure,
                                                            and when one of the stages has stored nothing

FOLDER has a file for each stage, and belongs to one run. REPEAT is the command that repeats a test alone; "{name}"
in REPEAT stands for the test.

A failed test is repeated alone, up to RETRIES times. A test that passes then counts as passed, and is listed as FLAKY
with the output of its failure: a defect to repair in the next change. What a sanitizer reports, and lint, fail at once.
More than LIMIT failed tests in a stage are not repeated: so many have one cause.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

RETRIES = 2
LIMIT = 5
LINES = 30  # of a failed test's output
ROOM = 110  # lines for all failed tests, so that the last 150 lines of a run have everything
SLOWEST = 10
WORDS = {"flaky": "FLAKY", "failed": "FAILED"}
SANITIZER = re.compile(r"(ERROR|WARNING|SUMMARY): \w*Sanitizer|: runtime error: ")
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def store(folder, stage, results):
    with open(os.path.join(folder, stage + ".jsonl"), "a", encoding="utf-8") as out:
        for result in results:
            out.write(json.dumps({"stage": stage, **result}) + "\n")


def run(command):
    """Runs ctest; returns its results, its exit code, and what else it has said."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "junit.xml")
        command = command + ["--output-junit", path, "--test-output-size-failed", "200000",
                             "--test-output-truncation", "head", "--no-tests=error"]
        said = []
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace") as ctest:
            for line in ctest.stdout:
                if re.match(r" *\d+/\d+ Test +#", line):
                    print(line, end="", flush=True)
                else:
                    said.append(line)
        code, said = ctest.returncode, "".join(said)
        if not os.path.exists(path):
            return [], code or 1, said
        with open(path, encoding="utf-8", errors="replace") as file:
            root = xml.fromstring(NOT_IN_XML.sub("?", file.read()))
    results = []
    for case in root.iter("testcase"):
        output = case.findtext("system-out") or ""
        status = {"run": "passed", "notrun": "skipped", "disabled": "skipped"}.get(case.get("status"), "failed")
        skip = case.find("skipped")
        if status == "skipped" and skip is not None and "Unable to find executable" in skip.get("message", ""):
            status, output = "failed", skip.get("message")
        failure = case.find("failure")
        if status == "failed" and failure is not None and not output.strip():
            output = failure.get("message", "")
        results.append({"name": case.get("name"), "status": status, "seconds": float(case.get("time") or 0),
                        "output": output})
    return results, code, said


def may_repeat(result):
    return not result["name"].startswith("lint/") and not SANITIZER.search(result["output"])


def repeat_failed(command, results):
    failed = [r for r in results if r["status"] == "failed"]
    if len(failed) > LIMIT:
        return
    # Alone: neither beside other tests nor with the selection of the stage.
    alone = [word for i, word in enumerate(command)
             if not word.startswith("-j") and word not in ("-L", "-LE", "-R", "-E")
             and (i == 0 or command[i - 1] not in ("-L", "-LE", "-R", "-E"))]
    for result in failed:
        if not may_repeat(result):
            continue
        for _ in range(RETRIES):
            again, _, _ = run(alone + ["-R", "^" + re.escape(result["name"]) + "$"])
            again = [r for r in again if r["name"] == result["name"]]
            if again and again[0]["status"] == "passed":
                result["status"] = "flaky"
                break
            if again and not may_repeat(again[0]):
                result["output"] = again[0]["output"]
                break


def command_ctest(folder, stage, repeat, *command):
    results, code, said = run(list(command))
    if not results or (code and not any(r["status"] == "failed" for r in results)):
        results.append({"name": "ctest", "status": "failed", "seconds": 0.0,
                        "output": f"{said}\n{' '.join(command)} exits with {code} and reports no failed test"})
    else:
        repeat_failed(list(command), results)
    for result in results:
        result["repeat"] = repeat.replace("{name}", result["name"])
        if result["status"] == "passed":
            result["output"] = ""
    store(folder, stage, results)
    counts = count(results)
    print(f"{counts['passed'] + counts['flaky']} passed, {counts['failed']} failed, {counts['skipped']} skipped")


def command_add(folder, stage, name, status, repeat, log):
    with open(log, encoding="utf-8", errors="replace") as file:
        output = file.read()[-200000:]
    store(folder, stage, [{"name": name, "status": status, "seconds": 0.0, "repeat": repeat,
                           "output": output}])


def count(results):
    counts = {"passed": 0, "flaky": 0, "failed": 0, "skipped": 0}
    for result in results:
        counts[result["status"]] += 1
    return counts


def command_summary(folder, *stages):
    results = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                results += [json.loads(line) for line in file]
    for stage in sorted(set(stages) - {r["stage"] for r in results}):
        results.append({"stage": stage, "name": "stage", "status": "failed", "seconds": 0.0, "repeat": "the whole run",
                        "output": "the stage has ended before it stored a result"})
    skipped = [r for r in results if r["status"] == "skipped"]
    if skipped:
        print("\n== skipped")
        for result in skipped:
            why = result["output"].strip().splitlines()[-1:] or [""]
            print(f"{result['stage']}: {result['name']}: {why[0]}")
    bad = [r for r in results if r["status"] == "failed"]
    shown = ([r for r in results if r["status"] == "flaky"] + bad)[-2 * LIMIT:]
    for result in shown:
        print(f"\n== {WORDS[result['status']]} {result['name']} ({result['stage']})\nrepeat: {result['repeat']}")
        for line in result["output"].rstrip().splitlines()[-min(LINES, ROOM // len(shown)):]:
            print("  | " + line[:400])
    print(f"\n== the slowest {SLOWEST}")
    for result in sorted(results, key=lambda r: -r["seconds"])[:SLOWEST]:
        print(f"{result['seconds']:8.1f} s  {result['stage']}: {result['name']}")
    print()
    for result in [r for r in results if r["status"] in WORDS][-2 * LIMIT:]:
        print(f"{WORDS[result['status']]} {result['name']} ({result['stage']}): {result['repeat']}")
    counts = count(results)
    print(f"{counts['passed'] + counts['flaky']} passed, {counts['failed']} failed, {counts['skipped']} skipped, "
          f"{counts['flaky']} flaky")
    return 1 if bad or not results else 0


def main():
    commands = {"ctest": (command_ctest, 4), "add": (command_add, 6), "summary": (command_summary, 1)}
    arguments = sys.argv[2:]
    if len(sys.argv) < 2 or sys.argv[1] not in commands or len(arguments) < commands[sys.argv[1]][1]:
        print(__doc__, file=sys.stderr)
        return 2
    return commands[sys.argv[1]][0](*arguments) or 0


if __name__ == "__main__":
    sys.exit(main())
