// SPDX-License-Identifier: Apache-2.0

// Asks about and watches the network of the namespace that it is started in, through Apple's functions, changes that
// network, and prints its callbacks. Only live tests start it.

import LinuxSystemConfiguration
import SystemSupport

/// What callbacks were called with, by name.
private let received = Locked<[String: [String]]>([:])

/// What a context points to.
private final class Name: Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }
}

private func letters(_ flags: SCNetworkReachabilityFlags) -> String {
    let names: [(SCNetworkReachabilityFlags, String)] = [
        (.reachable, "R"), (.connectionRequired, "c"), (.transientConnection, "t"), (.isLocalAddress, "l"),
        (.isDirect, "d"),
    ]
    return flags.isEmpty ? "none" : names.filter { flags.contains($0.0) }.map(\.1).joined()
}

private func ip(_ line: String) {
    var words: [UnsafeMutablePointer<CChar>?] = "ip \(line)".split(separator: " ").map { strdup(String($0)) }
    words.append(nil)
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    var status: Int32 = -1
    guard posix_spawnp(&child, "ip", nil, nil, &words, environ) == 0, waitpid(child, &status, 0) == child,
        status == 0
    else { fatalError("ip \(line): \(status)") }
}

private func address<Result>(_ text: String, _ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_len = UInt8(MemoryLayout<sockaddr_in>.size)
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, text, &address.sin_addr)
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0) }
    }
}

private func ask(_ what: String, _ target: SCNetworkReachability?) {
    var flags = SCNetworkReachabilityFlags()
    guard let target, SCNetworkReachabilityGetFlags(target, &flags) else {
        return print("\(what): error \(SCError())")
    }
    print("\(what): \(letters(flags))")
}

private func watch(_ name: String, _ target: SCNetworkReachability?, queueFirst: Bool)
    -> SCNetworkReachability
{
    guard let target else { fatalError("\(name): \(SCError())") }
    let queue = DispatchQueue(label: name)
    var context = SCNetworkReachabilityContext()
    context.info = Unmanaged.passRetained(Name(name)).toOpaque()
    context.release = { Unmanaged<Name>.fromOpaque($0).release() }
    if queueFirst { SCNetworkReachabilitySetDispatchQueue(target, queue) }
    let callback: SCNetworkReachabilityCallBack = { _, flags, info in
        guard let info else { return }
        let name = Unmanaged<Name>.fromOpaque(info).takeUnretainedValue().text
        received.withLock { $0[name, default: []].append(letters(flags)) }
    }
    SCNetworkReachabilitySetCallback(target, callback, &context)
    if !queueFirst { SCNetworkReachabilitySetDispatchQueue(target, queue) }
    return target
}

/// Waits until a callback was called so often, and prints what with.
private func expect(_ name: String, _ count: Int) {
    for _ in 0..<30_000 {
        if received.withLock({ $0[name, default: []].count }) >= count { break }
        usleep(2_000)
    }
    print("\(name) received: \(received.withLock { $0[name, default: []] }.joined(separator: ", "))")
}

/// All of it: what is made in here is gone at the end, for the leak checker to see.
private func run() {
    let zero = address("0.0.0.0") { SCNetworkReachabilityCreateWithAddress(nil, $0) }
    let linkLocal = address("169.254.0.0") { SCNetworkReachabilityCreateWithAddress(nil, $0) }
    let pair = address("192.0.2.2") { local in
        address("198.51.100.1") { SCNetworkReachabilityCreateWithAddressPair(nil, local, $0) }
    }
    func named(_ text: String) -> SCNetworkReachability? {
        SCNetworkReachabilityCreateWithName(nil, text)
    }

    func askAll(_ when: String) {
        ask("\(when), 0.0.0.0", zero)
        ask("\(when), 169.254.0.0", linkLocal)
        ask("\(when), pair", pair)
        ask("\(when), a name", named("no-such-name.invalid"))
        ask("\(when), localhost", named("localhost"))
    }

    askAll("no network")
    for line in [
        "link set lo up", "link add eth0 type veth peer name far", "link set eth0 up", "link set far up",
        "addr add 192.0.2.2/24 dev eth0",
    ] { ip(line) }
    let first = watch("callback first", zero, queueFirst: false)
    let second = watch("queue first", pair, queueFirst: true)
    let host = watch("localhost", named("localhost"), queueFirst: true)
    expect("localhost", 1)
    ip("route add default via 192.0.2.1")
    expect("callback first", 1)
    expect("queue first", 1)
    askAll("default route")
    let invalid = watch("an invalid name", named("no-such-name.invalid"), queueFirst: false)
    expect("an invalid name", 1)
    ip("route del default")
    expect("callback first", 2)
    expect("queue first", 2)
    ask("scheduled, 0.0.0.0", zero)
    expect("localhost", 1)
    for target in [first, second, host, invalid] {
        print(SCNetworkReachabilitySetDispatchQueue(target, nil), terminator: " ")
    }
    print("taken off")
}

run()
