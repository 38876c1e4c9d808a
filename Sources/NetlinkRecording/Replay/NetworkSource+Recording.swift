// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

extension NetworkSource {
    /// A recorded network: the routing state of a host as it was at the end of a recording.
    ///
    /// ```swift
    /// let source = try NetworkSource.recording(path: "router.rtnl")   // written by `netflags record`
    /// let reachability = try NetworkReachability(target: .host("192.0.2.7"), source: source)
    /// print(try await reachability.flags())
    /// ```
    ///
    /// It is read once. ``Recording`` has the network of earlier times, and the changes. Every query is answered in
    /// process, without a netlink socket. A query that the recording does not decide fails with
    /// `ReachabilityError.Code.undecided`.
    ///
    /// A recording contains no names: this host's resolver resolves them at the time of the query. Rules that match
    /// the user see the user of this process, unless `ReachabilityOptions.user` is set.
    ///
    /// - Parameter path: A file or directory of `netflags record`, a file of `rtmon` or `ip monitor file`, or a packet
    ///   capture of an nlmon device in pcap format.
    /// - Returns: The source; it keeps no descriptor.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the file cannot
    ///   be opened, or has no whole dump before its ``damage``; the message has the byte and the reason.
    public static func recording(path: String) throws(ReachabilityError) -> NetworkSource {
        try Recording(path: path).source()
    }

    /// Where the recording of this source could not be read; empty for a whole recording and for the live kernel.
    ///
    /// The network is that before the damage, or that of a later file of a directory.
    public var damage: [Recording.Damage] {
        (facts.routing as? RecordedRouting)?.damage ?? []
    }
}
