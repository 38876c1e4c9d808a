// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CoreFoundation
public import LinuxSocketAddresses
public import LinuxSystemConfiguration.SCNetworkReachability
internal import NetlinkReachability

/// Creates a target from a host name or a numeric address.
///
/// A numeric address creates the same target as `SCNetworkReachabilityCreateWithAddress`. A name is resolved only
/// while the target is scheduled, never on a caller's thread.
///
/// - Parameters:
///   - allocator: Not used.
///   - nodename: The name or address, without scheme, port and path, in UTF-8.
/// - Returns: The target; `nil` with `kSCStatusInvalidArgument` if the text is neither a name nor an address
///   (Apple's function returns `nil` only for empty text); `nil` with `kSCStatusFailed` if no netlink socket can be
///   opened.
@discardableResult
public func SCNetworkReachabilityCreateWithName(
    _ allocator: CFAllocator?,
    _ nodename: UnsafePointer<CChar>
) -> SCNetworkReachability? {
    create { () throws(ReachabilityError) in try .named(String(cString: nodename)) }
}

/// Creates a target from a socket address.
///
/// The zero addresses mean the default path, over IPv4 or IPv6. The port is ignored.
///
/// - Parameters:
///   - allocator: Not used.
///   - address: An IPv4 or IPv6 socket address, which is copied. The family determines its length: an `AF_INET6`
///     address must be a complete `sockaddr_in6`.
/// - Returns: The target; `nil` with `kSCStatusInvalidArgument` for another family, with `kSCStatusFailed` if no
///   netlink socket can be opened.
@discardableResult
public func SCNetworkReachabilityCreateWithAddress(
    _ allocator: CFAllocator?,
    _ address: UnsafePointer<sockaddr>
) -> SCNetworkReachability? {
    create { () throws(ReachabilityError) in try .at(IPAddress(lengthless: address)) }
}

/// Creates a target from a remote address, for a socket that is bound to a local address.
///
/// - Parameters:
///   - allocator: Not used.
///   - localAddress: An address of this host; `nil` for any address.
///   - remoteAddress: The remote address; `nil` for the default path.
/// - Returns: The target; `nil` with `kSCStatusInvalidArgument` if both are `nil`, one has a family other than IPv4 and
///   IPv6, or the families differ; with `kSCStatusFailed` if no netlink socket can be opened.
@discardableResult
public func SCNetworkReachabilityCreateWithAddressPair(
    _ allocator: CFAllocator?,
    _ localAddress: UnsafePointer<sockaddr>?,
    _ remoteAddress: UnsafePointer<sockaddr>?
) -> SCNetworkReachability? {
    create { () throws(ReachabilityError) in
        try .between(
            localAddress.map(IPAddress.init(lengthless:)), remoteAddress.map(IPAddress.init(lengthless:)))
    }
}

/// Returns the type number of targets.
///
/// Core Foundation on Linux does not know this type: `CFGetTypeID` does not accept a target.
///
/// - Returns: A number that no type of Core Foundation has.
@discardableResult
public func SCNetworkReachabilityGetTypeID() -> CFTypeID {
    CFTypeID(UInt32.max) - 1
}

private func create(_ make: () throws(ReachabilityError) -> HandleSubject) -> SCNetworkReachability? {
    do {
        return Handle(try make()).reference
    } catch {
        _ = fail(error.code == .systemFailure ? kSCStatusFailed : kSCStatusInvalidArgument)
        return nil
    }
}

extension IPAddress {
    /// Reads a socket address with the length that its family has.
    fileprivate init(lengthless address: UnsafePointer<sockaddr>) throws(ReachabilityError) {
        let family = UnsafeRawPointer(address).loadUnaligned(as: sa_family_t.self)
        let length = SocketAddressLength.of(family) ?? UInt8(MemoryLayout<sa_family_t>.size)
        try self.init(sockaddr: address, length: socklen_t(length))
    }
}
