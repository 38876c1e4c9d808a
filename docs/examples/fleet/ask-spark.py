# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/fleet.md in Spark, which runs netflags where the shard of the folder `hosts` is."""

import glob, json, os, subprocess

def netflags(*arguments):
    done = subprocess.run(["netflags", *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode > 2:
        raise RuntimeError(f"netflags {' '.join(arguments)}: status {done.returncode}")
    return done.stdout.splitlines()

def ledger(paths):
    hosts = [os.path.basename(path).removesuffix(".rtnl") for path in paths]
    made = [netflags("timeline", "--json", "--host", *pair, "default") for pair in zip(hosts, paths)]
    return [row for rows in made for row in rows]

def spof_before(paths):
    return netflags("what-if", "--each", "--json", *replay(paths), "--at", "2026-11-01T00:30:00Z", "default")

def spof(paths):
    return netflags("what-if", "--each", "--json", *replay(paths), "default")

def what_if(paths):
    return netflags("what-if", "--json", *replay(paths), "route del default dev eth0", "--", "default")

def replay(paths):
    return [f"--replay={path}" for path in paths]

paths = sorted(glob.glob("hosts/*"))

from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()

def view(make, schema, query):
    lines = spark.sparkContext.parallelize(paths, 16).mapPartitions(lambda shard: make(list(shard)))
    spark.read.schema(schema).json(lines).createOrReplaceTempView("rows")
    spark.sql(query).cache().createOrReplaceTempView(make.__name__)

view(ledger, """host string, target string, `from` timestamp, `to` timestamp, durationSeconds double,
    isRecorded boolean, reachable boolean, kind string, gateway string, code string,
    cause struct<code: string, requester: struct<processes: array<struct<unit: string>>>>""", """
    SELECT host, target, unix_millis(`from`) / 1000 AS begins, unix_millis(`to`) / 1000 AS ends,
           durationSeconds AS seconds, isRecorded AS recorded, reachable, kind, gateway, code, cause.code AS cause,
           get(cause.requester.processes, 0).unit AS unit
    FROM rows""")
for make in spof_before, spof:
    view(make, "recording string, kind string, description string, outcome string", """
        SELECT regexp_extract(recording, '([^/]+?)([.]rtnl)?$', 1) AS host, kind, description, outcome FROM rows""")
view(what_if, """recording string, error string, old struct<reachable: boolean>,
    new struct<reachable: boolean, code: string>""", """
    SELECT regexp_extract(recording, '([^/]+?)([.]rtnl)?$', 1) AS host, error, old.reachable AS was,
           new.reachable AS becomes, new.code AS code
    FROM rows""")
ask = lambda query: [tuple(row) for row in spark.sql(query).collect()]
