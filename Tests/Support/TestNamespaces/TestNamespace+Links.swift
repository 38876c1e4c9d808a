// SPDX-License-Identifier: Apache-2.0

internal import Glibc

// Interfaces, and waits for asynchronous work of the kernel.

extension TestNamespace {
    /// Creates an Ethernet link that is up and has a carrier: a veth pair whose other end, named with the suffix
    /// `-far`, stays in this namespace or is moved to a peer.
    package func wire(
        _ name: String,
        _ addresses: String...,
        to peer: TestNamespace? = nil
    ) throws {
        let pair = "link add \(name) type veth peer name \(name)-far"
        if let peer {
            try ip("\(pair) netns \(peer.processIdentifier)", "link set \(name) up")
            try peer.ip("link set \(name)-far up")
        } else {
            try ip(pair, "link set \(name)-far up", "link set \(name) up")
        }
        try wait(for: name, state: "UP")
        try address(name, addresses)
    }

    /// Creates a tunnel that is up and has a carrier; the probe holds its descriptor.
    package func tunnel(_ name: String, _ addresses: String..., kind: String = "tun") throws {
        try command([kind, name])
        try ip("link set \(name) up")
        try address(name, addresses)
    }

    /// Creates a tunnel with the hardware type of PPP, which is down.
    package func dialUp(_ name: String) throws {
        try command(["tun", name])
        try command(["set-hardware-type", name, "512"])
    }

    /// Adds addresses such as `192.0.2.1/24` to an interface, and waits until they are local: the kernel completes IPv6
    /// addresses asynchronously, even without duplicate address detection.
    package func address(_ name: String, _ addresses: String...) throws {
        try address(name, addresses)
    }

    private func address(_ name: String, _ addresses: [String]) throws {
        try ip(addresses.map { "addr add \($0) dev \(name)\($0.contains(":") ? " nodad" : "")" })
        for address in addresses where address.contains(":") {
            let own = address.prefix { $0 != "/" }
            try wait(until: "\(own) is this host's") {
                try ip("-o -6 route show table local").contains("local \(own) dev \(name) ")
            }
        }
    }

    /// Sets the carrier of a tunnel, and waits for the new operational state.
    package func setCarrier(_ name: String, isPresent: Bool) throws {
        try command(["set-carrier", name, isPresent ? "1" : "0"])
        try wait(for: name, state: isPresent ? "UP" : "DOWN")
    }

    /// Waits until an interface has an operational state such as `UP`, `DOWN` or `DORMANT`; `DOWN` includes
    /// `LOWERLAYERDOWN`, the state of an upper interface.
    ///
    /// The kernel changes the state and notifies up to a second after the cause.
    package func wait(for link: String, state: String) throws {
        try wait(until: "\(link) is \(state)") {
            let shown = try ip("-o link show dev \(link)")
            return shown.contains(" state \(state) ")
                || (state == "DOWN" && shown.contains(" state LOWERLAYERDOWN "))
        }
    }

    /// Waits until a condition holds.
    ///
    /// - Throws: An error when the condition does not hold after two minutes.
    package func wait(
        until what: String,
        _ isSo: () throws -> Bool
    ) throws {
        let limit = ContinuousClock.now + .seconds(120)
        var pause: Int32 = 2
        while try !isSo() {
            guard ContinuousClock.now < limit else {
                throw NamespaceFailure("did not happen within two minutes: \(what)")
            }
            // Lets the kernel's workers run. Most conditions start a program, so the pause grows in long waits.
            poll(nil, 0, pause)
            pause = min(2 * pause, 50)
        }
    }

    /// The index of an interface.
    package func index(of link: String) throws -> Int {
        let output = try ip("-o link show dev \(link)")
        guard let index = Int(output.prefix { $0 != ":" }) else { throw NamespaceFailure(output) }
        return index
    }
}
