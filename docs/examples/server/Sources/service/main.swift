// SPDX-License-Identifier: Apache-2.0

// service [HOST]: logs the reachability of HOST, or of the default path, until SIGINT or SIGTERM.

import Logging
import NetlinkReachability
import Recipes
import ServiceLifecycle

let logger = Logger(label: "service")
// Each evaluation and its cause, at the level debug.
let source = NetworkSource.kernel.tracing { trace in logger.debug("\(trace)") }
let reachability =
    if let host = CommandLine.arguments.dropFirst().first {
        try NetworkReachability(host: host, source: source)
    } else {
        NetworkReachability(source: source)
    }
let group = ServiceGroup(
    services: [
        ReachabilityService(reachability, logger: logger),
        MonitorMetrics(of: source),
    ],
    gracefulShutdownSignals: [.sigint, .sigterm],
    logger: logger
)
try await group.run()
