// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import TestNamespaces
import Testing

extension ReachabilityFlags {
    /// Reachable through a gateway.
    static let routed: Self = [.reachable]
    /// Reachable without a gateway.
    static let direct: Self = [.reachable, .isDirect]
    /// An address of the host itself.
    static let own: Self = [.reachable, .isLocalAddress, .isDirect]
    /// Reachable over a tunnel.
    static let tunnelled: Self = [.reachable, .transientConnection]
    /// Not reachable.
    static let none: Self = []
}

extension TestNamespace {
    /// Expects the flags of a target from the kept handle, the same report from a new process, and no
    /// contradiction by a socket.
    ///
    /// - Parameters:
    ///   - query: What to ask about.
    ///   - flags: The expected flags.
    ///   - reason: The code of the report's reason.
    ///   - interface: The outgoing interface. `ip route get` must name it too where it can ask the query.
    ///   - gateway: The gateway.
    ///   - options: The options of the socket.
    ///   - location: The location of the expectation.
    /// - Throws: When the query could not be asked.
    func expect(
        _ query: Query,
        _ flags: ReachabilityFlags,
        _ reason: String? = nil,
        through interface: String? = nil,
        gateway: String? = nil,
        options: String...,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        try expect(
            query, flags, reason, through: interface, gateway: gateway, options: options, at: location)
    }

    /// Expects the same of a query whose options are a list.
    func expect(
        _ query: Query,
        _ flags: ReachabilityFlags,
        _ reason: String? = nil,
        through interface: String? = nil,
        gateway: String? = nil,
        options: [String],
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let answer = try ask(query, options)
        let what = "\(query): \(answer)"
        #expect(answer.error == nil, "\(what)", sourceLocation: location)
        #expect(answer.flags == flags, "\(what)", sourceLocation: location)
        #expect(answer.flagsAlone == flags, "\(what)", sourceLocation: location)
        #expect(answer.together == "", "\(what)", sourceLocation: location)
        #expect(answer.witness == "", "\(what)", sourceLocation: location)
        if let reason { #expect(answer.reason == reason, "\(what)", sourceLocation: location) }
        if let interface { #expect(answer.interface == interface, "\(what)", sourceLocation: location) }
        if let gateway { #expect(answer.gateway == gateway, "\(what)", sourceLocation: location) }
        let fresh = try askAfresh(query, options)
        #expect(fresh == answer, "\(query) asked afresh", sourceLocation: location)
        if let interface, options.isEmpty, case .host(let target) = query,
            !flags.contains(.isLocalAddress)
        {
            try expectWay(to: target, through: interface, gateway: gateway, at: location)
        }
    }

    /// Expects the kernel to send packets this way.
    private func expectWay(
        to target: String,
        through interface: String,
        gateway: String?,
        at location: SourceLocation
    ) throws {
        guard let address = IPAddress(target), address.zone == nil else { return }
        let way = try ip("-o route get \(address.unmapped)")
        // It does not show where a packet goes that is routed again inside another one.
        if way.contains("encap seg6 ") { return }
        #expect(way.contains("dev \(interface) "), "\(way)", sourceLocation: location)
        if let gateway { #expect(way.contains(" \(gateway) "), "\(way)", sourceLocation: location) }
    }

    /// Expects the library to throw.
    func expectError(
        _ query: Query,
        _ code: String,
        options: String...,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let answer = try ask(query, options)
        #expect(answer.error == code, "\(query): \(answer)", sourceLocation: location)
        #expect(try askAfresh(query, options) == answer, sourceLocation: location)
    }
}
