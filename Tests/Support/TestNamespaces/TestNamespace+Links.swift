// SPDX-License-Identifier: Apache-2.0

internal import Glibc

// Interfaces, and the wait for what the kernel does in its own time.

extension TestNamespace {
    /// Makes an Ethernet link that is up and has a carrier: a veth pair whose other end, called the same with
    /// `-far` behind, stays in this namespace or goes to a peer.
    package func wire(
        _ name: String,
        _ addresses: String...,
        to peer: TestNamespace? = nil
    ) throws {
        let end = peer.map { " netns \($0.processIdentifier)" } ?? ""
        try ip("link add \(name) type veth peer name \(name)-far\(end)")
        try (peer ?? self).ip("link set \(name)-far up")
        try ip("link set \(name) up")
        try wait(for: name, state: "UP")
        try address(name, addresses)
    }

    /// Makes a tunnel that is up and has a carrier, and whose descriptor the probe holds.
    package func tunnel(_ name: String, _ addresses: String..., kind: String = "tun") throws {
        try command([kind, name])
        try ip("link set \(name) up")
        try address(name, addresses)
    }

    /// Makes a tunnel that dresses as one of pppd's interfaces, and is down.
    package func dialUp(_ name: String) throws {
        try command(["tun", name])
        try command(["set-hardware-type", name, "512"])
    }

    /// Gives an interface addresses, such as `192.0.2.1/24`, and waits until the host answers to them: the
    /// kernel finishes those of IPv6 in its own time, even without asking the neighbours.
    package func address(_ name: String, _ addresses: String...) throws {
        try address(name, addresses)
    }

    private func address(_ name: String, _ addresses: [String]) throws {
        for address in addresses {
            guard address.contains(":") else {
                try ip("addr add \(address) dev \(name)")
                continue
            }
            try ip("addr add \(address) dev \(name) nodad")
            let own = address.prefix { $0 != "/" }
            try wait(until: "\(own) is this host's") {
                try ip("-o -6 route show table local").contains("local \(own) dev \(name) ")
            }
        }
    }

    /// Plugs a tunnel's cable in or out, and waits until the kernel has told everybody.
    package func setCarrier(_ name: String, isPresent: Bool) throws {
        try command(["set-carrier", name, isPresent ? "1" : "0"])
        try wait(for: name, state: isPresent ? "UP" : "DOWN")
    }

    /// Waits until an interface has an operational state, such as `UP`, `DOWN` or `DORMANT`; `DOWN` stands for
    /// `LOWERLAYERDOWN` too, which the kernel says of the interfaces that have another below.
    ///
    /// The kernel changes it up to a second after its cause, and announces it in the same breath.
    package func wait(for link: String, state: String) throws {
        try wait(until: "\(link) is \(state)") {
            let shown = try ip("-o link show dev \(link)")
            return shown.contains(" state \(state) ")
                || (state == "DOWN" && shown.contains(" state LOWERLAYERDOWN "))
        }
    }

    /// Asks the kernel again and again until it is so.
    ///
    /// - Throws: When it is not so after two minutes: a bound for what never comes, not a measure.
    package func wait(
        until what: String,
        _ isSo: () throws -> Bool
    ) throws {
        let limit = ContinuousClock.now + .seconds(120)
        while try !isSo() {
            guard ContinuousClock.now < limit else { throw NamespaceFailure("never came: \(what)") }
            // Leaves the processor to the kernel's own work for a moment.
            poll(nil, 0, 5)
        }
    }

    /// The index of an interface.
    package func index(of link: String) throws -> Int {
        let output = try ip("-o link show dev \(link)")
        guard let index = Int(output.prefix { $0 != ":" }) else { throw NamespaceFailure(output) }
        return index
    }
}
