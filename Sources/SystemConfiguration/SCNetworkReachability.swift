// SPDX-License-Identifier: Apache-2.0

// The names are Apple's.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

public import CSystemConfiguration
public import CoreFoundation
public import Glibc
internal import NetlinkReachability

/// Makes a target of a host name or a numeric address.
///
/// A numeric address makes the same target as `SCNetworkReachabilityCreateWithAddress`. A name is resolved only
/// while the target is scheduled, never on a caller's thread.
///
/// - Parameters:
///   - allocator: Not used.
///   - nodename: The name or address, without scheme, port and path, in UTF-8.
/// - Returns: The target; `nil` with `kSCStatusInvalidArgument` when the text is neither, which Apple's function
///   tells of empty text alone; `nil` with `kSCStatusFailed` when no netlink socket can be had.
@discardableResult
public func SCNetworkReachabilityCreateWithName(
    _ allocator: CFAllocator?,
    _ nodename: UnsafePointer<CChar>
) -> SCNetworkReachability? {
    create { () throws(ReachabilityError) in try .named(String(cString: nodename)) }
}

/// Makes a target of a socket address.
///
/// The zero addresses stand for the default path, over IPv4 or IPv6. The port is ignored.
///
/// - Parameters:
///   - allocator: Not used.
///   - address: An IPv4 or IPv6 socket address, which is copied. The family tells its length: behind an
///     `AF_INET6` a whole `sockaddr_in6` has to follow.
/// - Returns: The target; `nil` with `kSCStatusInvalidArgument` for another family, with `kSCStatusFailed` when no
///   netlink socket can be had.
@discardableResult
public func SCNetworkReachabilityCreateWithAddress(
    _ allocator: CFAllocator?,
    _ address: UnsafePointer<sockaddr>
) -> SCNetworkReachability? {
    create { () throws(ReachabilityError) in try .at(IPAddress(lengthless: address)) }
}

/// Makes a target of a remote address as a socket sees it that is bound to a local one.
///
/// - Parameters:
///   - allocator: Not used.
///   - localAddress: An address of this host; `nil` for any.
///   - remoteAddress: The address to send to; `nil` for the default path.
/// - Returns: The target; `nil` with `kSCStatusInvalidArgument` when both are `nil`, one has another family than
///   IPv4 and IPv6, or the two do not go together; with `kSCStatusFailed` when no netlink socket can be had.
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

/// The type number of targets.
///
/// Core Foundation on Linux does not know the type: `CFGetTypeID` cannot be asked about a target.
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
    /// Reads a socket address that is as long as its family says.
    fileprivate init(lengthless address: UnsafePointer<sockaddr>) throws(ReachabilityError) {
        let family = UnsafeRawPointer(address).loadUnaligned(as: sa_family_t.self)
        let length = SocketAddressLength.of(family) ?? UInt8(MemoryLayout<sa_family_t>.size)
        try self.init(sockaddr: address, length: socklen_t(length))
    }
}
