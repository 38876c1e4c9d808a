// SPDX-License-Identifier: Apache-2.0

// The types of Apple's module that this module does not provide, with their documented initializers. Code that uses
// them gets an error with the reason, instead of an error about an unknown name.

/// Not provided: this module describes paths, and makes no connections.
@available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
public final class NWConnection: Sendable {
    /// Not provided.
    public init(to endpoint: NWEndpoint, using parameters: NWParameters) {}

    /// Not provided.
    public init(host: NWEndpoint.Host, port: NWEndpoint.Port, using parameters: NWParameters) {}
}

/// Not provided: this module describes paths, and makes no connections.
@available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
public final class NWConnectionGroup: Sendable {}

/// Not provided: this module describes paths, and accepts no connections.
@available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
public final class NWListener: Sendable {
    /// Not provided.
    public init(using parameters: NWParameters, on port: NWEndpoint.Port = .any) throws {}
}

/// Not provided: this module describes paths, and finds no services.
@available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
public final class NWBrowser: Sendable {
    /// Not provided.
    public enum Descriptor: Sendable {
        /// Not provided.
        case bonjour(type: String, domain: String?)
        /// Not provided.
        case bonjourWithTXTRecord(type: String, domain: String?)
    }

    /// Not provided.
    public init(for descriptor: Descriptor, using parameters: NWParameters) {}
}

/// Not provided: this module describes paths, and makes no connections.
@available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
public final class NWParameters: Sendable {
    /// Not provided.
    public init() {}

    /// Not provided.
    public static var tcp: NWParameters { NWParameters() }
    /// Not provided.
    public static var udp: NWParameters { NWParameters() }
    /// Not provided.
    public static var tls: NWParameters { NWParameters() }
    /// Not provided.
    public static var dtls: NWParameters { NWParameters() }
}

/// Not provided: errors of connections, which this module does not make.
@available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
public enum NWError: Error {}

/// Not provided: the record of a Bonjour service, which this module does not find.
@available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
public struct NWTXTRecord: Hashable, Sendable {}

extension NWInterface {
    /// Not provided: Linux does not report the radio generation of a connection.
    @available(
        *, unavailable,
        message: "LinuxNetwork does not know generations of radio: see docs/coming-from-apple.md"
    )
    public enum RadioType: Hashable, Sendable {}
}

extension NWEndpoint {
    /// Not provided: this module finds no services.
    @available(*, unavailable, message: "LinuxNetwork describes paths only: see docs/coming-from-apple.md")
    public var txtRecord: NWTXTRecord? { nil }
}
