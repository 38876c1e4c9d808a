# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/fleet.md in SQLite, of Python's standard library: `ask` takes a query of the page."""

import datetime, glob, json, os, sqlite3

def flat(row):
    times = [datetime.datetime.fromisoformat(row[key].replace("Z", "+00:00")).timestamp() for key in ("from", "to")]
    cause = row["cause"] or {}
    processes = (cause.get("requester") or {}).get("processes")
    return (row["host"], row["target"], *times, row["durationSeconds"], row["isRecorded"], row["reachable"], row["kind"],
            row["gateway"], row["code"], cause.get("code"), processes[0]["unit"] if processes else None)

def host_of(row):
    return os.path.basename(row["recording"]).removesuffix(".rtnl")

def loss(row):
    return host_of(row), row["kind"], row["description"], row["outcome"]

def difference(row):
    old, new = row["old"] or {}, row["new"] or {}
    return host_of(row), row["error"], old.get("reachable"), new.get("reachable"), new.get("code")

def database(ledger, spof_before, spof, what_if):
    engine = sqlite3.connect(":memory:")
    engine.create_function("least", 2, min)
    engine.create_function("greatest", 2, max)
    def table(name, columns, rows):
        engine.execute(f"CREATE TABLE {name} ({columns})")
        engine.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns.split()))})", rows)
    table("ledger", "host, target, begins, ends, seconds, recorded, reachable, kind, gateway, code, cause, unit",
          map(flat, ledger))
    table("spof_before", "host, kind, description, outcome", map(loss, spof_before))
    table("spof", "host, kind, description, outcome", map(loss, spof))
    table("what_if", "host, error, was, becomes, code", map(difference, what_if))
    return lambda query: engine.execute(query).fetchall()

def rows(pattern):
    for name in sorted(glob.glob(pattern)):
        with open(name) as file:
            yield from map(json.loads, file)

ask = database(*map(rows, ("ledger/*.jsonl", "spof-before.jsonl", "spof.jsonl", "what-if.jsonl")))
