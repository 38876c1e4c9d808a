// SPDX-License-Identifier: Apache-2.0

// Prints the flags of a name, an address, a socket address, a pair and the default path.

import Glibc
import NetlinkReachability

func show(_ what: String, _ reachability: NetworkReachability) throws {
    let report = try reachability.blockingReport()
    print("\(what): \(report.flags.letters) \(isNetworkReachable(flags: report.flags)) - \(report.reason)")
}

do {
    try show("a name", NetworkReachability(host: CommandLine.arguments.dropFirst().first ?? "localhost"))
    try show("an address", NetworkReachability(address: .loopbackV6))

    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    let bySocketAddress = try withUnsafePointer(to: &address) { pointer in
        try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
            NetworkReachability(
                target: try .sockaddr(pointer, length: socklen_t(MemoryLayout<sockaddr_in>.size)))
        }
    }
    try show("a socket address", bySocketAddress)
    try show(
        "a pair", NetworkReachability(target: .pair(local: .loopbackV4, remote: IPAddress(127, 1, 2, 3))))
    try show("the default path", NetworkReachability())

    _ = try NetworkReachability(host: "https://example.com/")
} catch let error as ReachabilityError {
    print("a URL is refused: \(error)")
}
