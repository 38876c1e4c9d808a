# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/fleet.md in DuckDB: `views` are the views of the page, and `ask` takes a query of it."""

import duckdb

engine = duckdb.connect()
engine.execute(views)
ask = lambda query: engine.execute(query).fetchall()
