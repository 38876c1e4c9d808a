// SPDX-License-Identifier: Apache-2.0

// service [HOST]: logs the reachability of HOST, or of the default path, until SIGINT or SIGTERM.

import Logging
import NetlinkReachability
import Recipes
import ServiceLifecycle

let logger = Logger(label: "service")
let reachability =
    if let host = CommandLine.arguments.dropFirst().first {
        try NetworkReachability(host: host)
    } else {
        NetworkReachability()
    }
let group = ServiceGroup(
    services: [
        ReachabilityService(reachability, logger: logger),
        MonitorMetrics(of: .kernel),
    ],
    gracefulShutdownSignals: [.sigint, .sigterm],
    logger: logger
)
try await group.run()
