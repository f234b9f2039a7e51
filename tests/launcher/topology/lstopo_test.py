#!/usr/bin/env python3
"""Compares ddprun topo with hwloc's lstopo, on this machine and on those that tests know:
lstopo_test.py DDPRUN MACHINE_TREE MACHINE... (the tool that reads folders with a machine's sys and proc)

Both read the same files, so sockets, cores, NUMA nodes, shared caches and the bridges above each GPU
and network card must be the same. Exit code 77: lstopo is not here (Debian's package hwloc)."""

import json
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

LSTOPO = shutil.which("lstopo-no-graphics") or shutil.which("lstopo")
NOT_HERE = 77
LIMIT_S = 60


def numbers(cpus):
    """The CPUs of "0-3,8"."""
    parts = [part.split("-") for part in cpus.split(",") if part]
    return {cpu for part in parts for cpu in range(int(part[0]), int(part[-1]) + 1)}


def members(mask):
    """The CPUs of hwloc's "0x0000ffff,,0xff": 32 bits each, the highest first."""
    words = [int(word or "0", 16) for word in reversed(mask.split(","))]
    return {32 * i + bit for i, word in enumerate(words) for bit in range(32) if word >> bit & 1}


class Lstopo:
    """What lstopo sees: a core, socket and cache group for each CPU, and a path for each PCI device."""

    def __init__(self, options):
        text = subprocess.run([LSTOPO, "--of", "xml", "--whole-io", *options], check=True,
                              capture_output=True, text=True, timeout=LIMIT_S).stdout
        self.cores, self.packages, self.caches, self.nodes = [], [], [], {}
        self.paths, self.places = {}, {}
        root = ElementTree.fromstring(text)
        for top in root.findall("object"):
            self.walk(top, [], set())

    def walk(self, node, bridges, cpus):
        kind = node.get("type")
        if node.get("cpuset"):
            cpus = members(node.get("cpuset"))
        if kind == "Core":
            self.cores.append(frozenset(cpus))
        elif kind == "Package":
            self.packages.append(frozenset(cpus))
        elif kind == "L3Cache":
            self.caches.append(frozenset(cpus))
        elif kind == "NUMANode":
            self.nodes[int(node.get("os_index"))] = cpus
        elif kind == "Bridge" and node.get("pci_busid"):
            bridges = [*bridges, node.get("pci_busid")]
        elif kind == "PCIDev":
            self.paths[node.get("pci_busid")] = bridges
            self.places[node.get("pci_busid")] = cpus
        for child in node.findall("object"):
            self.walk(child, bridges, cpus)


def groups(cpus, what):
    """Which CPUs share what: a set of sets."""
    found = {}
    for cpu in cpus:
        found.setdefault(cpu[what], set()).add(cpu["id"])
    return {frozenset(group) for group in found.values()}


def compare(name, machine, theirs):
    def same(what, ours, others):
        if ours != others:
            sys.exit(f"lstopo_test: {name}: {what}\n  ddprun: {ours}\n  lstopo: {others}")
    same("cores", groups(machine["cpus"], "core"), set(theirs.cores))
    same("sockets", groups(machine["cpus"], "package"), set(theirs.packages))
    if theirs.caches:
        same("shared caches", groups(machine["cpus"], "cache"), set(theirs.caches))
    same("NUMA nodes", {node["id"]: numbers(node["cpus"]) for node in machine["numa_nodes"]},
         theirs.nodes)
    for device in machine["devices"]:
        bus_id = device["bus_id"]
        same(f"the bridges above {bus_id}", device["path"][1:], theirs.paths.get(bus_id))
        if device["numa_node"] is not None:
            same(f"the CPUs near {bus_id}", numbers(device["cpus"]), theirs.places[bus_id])
    print(f"{name}: {len(machine['cpus'])} CPUs, {len(machine['numa_nodes'])} NUMA nodes, "
          f"{len(machine['devices'])} devices as lstopo has them")


def read(*command):
    run = subprocess.run(command, check=True, capture_output=True, text=True, timeout=LIMIT_S)
    return json.loads(run.stdout)


def main():
    ddprun, machine_tree, *machines = sys.argv[1:]
    if not LSTOPO:
        print("lstopo_test: there is no lstopo here: apt-get install hwloc-nox")
        sys.exit(NOT_HERE)
    compare("this machine", read(ddprun, "topo", "--json"), Lstopo([]))
    for machine in machines:
        compare(os.path.basename(machine), read(machine_tree, "--json", machine),
                Lstopo(["--input", machine]))


if __name__ == "__main__":
    main()
