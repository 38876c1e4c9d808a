// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import Glibc
internal import RoutingModel

/// A family of generic netlink, whose number the kernel assigns.
struct GenericFamily {
    /// Wi-Fi.
    static let nl80211 = GenericFamily(name: NL80211_GENL_NAME)
    /// WireGuard, whose answers hold private and preshared keys.
    static let wireGuard = GenericFamily(name: WG_GENL_NAME, holdsSecrets: true)

    let name: String
    /// Whether its answers are overwritten once they are read.
    var holdsSecrets = false

    /// Dumps what a command lists, through a socket of its own.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - operation: What an error names.
    ///   - attributes: The attributes of the request.
    ///   - empty: What has been found before the first message.
    ///   - body: Adds a message, valid during the call, to what has been found.
    /// - Returns: What was found.
    /// - Throws: An error, with ENOENT when the kernel has no such family.
    func dump<Found>(
        _ command: some BinaryInteger,
        _ operation: String,
        _ attributes: [Request.Attribute] = [],
        from empty: Found,
        _ body: (inout Found, NetlinkMessage) throws(MalformedMessage) -> Void
    ) throws(ReachabilityError) -> Found {
        var socket = try QuerySocket(netlinkProtocol: NETLINK_GENERIC)
        defer { if holdsSecrets { socket.wipe() } }
        let naming = Request(
            GENL_ID_CTRL, genlmsghdr(cmd: UInt8(CTRL_CMD_GETFAMILY), version: 1, reserved: 0),
            [Request.Attribute(CTRL_ATTR_FAMILY_NAME, text: name)])
        let family = try socket.value(naming, operation, missingFor: []) {
            (message) throws(MalformedMessage) -> UInt16? in
            try message.parts(genlmsghdr.self).attributes.value(CTRL_ATTR_FAMILY_ID)
        }
        guard let family else { throw ReachabilityError(operation: operation, number: EBADMSG) }
        let header = genlmsghdr(cmd: UInt8(command), version: 1, reserved: 0)
        let request = Request(family, isDump: true, header, attributes)
        return try socket.list(request, operation, from: empty, body)
    }
}
