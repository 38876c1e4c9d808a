// SPDX-License-Identifier: Apache-2.0

public import Glibc
internal import NetlinkRoute
internal import SystemSupport

/// Tells whether and how this host can send to a target.
///
/// ```swift
/// import NetlinkReachability
///
/// let reachability = try NetworkReachability(host: "example.com")
/// let flags = try reachability.flags()
/// print(flags.letters, isNetworkReachable(flags: flags))   // -R ------- true
/// ```
///
/// Every question goes to the kernel, when it is asked: its routing policy, tables, metrics and neighbours
/// decide, not a copy of them. Nothing is sent to the target. A handle is cheap, can be kept, and can be used
/// from any number of threads at once.
///
/// What it cannot know: whether the target answers, what a firewall drops, and which route a socket takes that
/// is bound or marked in ways that ``ReachabilityOptions`` do not say.
///
/// Apple's counterpart is `SCNetworkReachability`.
public final class NetworkReachability: Sendable {
    /// What the questions are about.
    public var target: ReachabilityTarget { subject.target }
    /// What is special about the socket.
    public var options: ReachabilityOptions { subject.options }

    let subject: MonitoredTarget
    let source: NetworkSource
    /// What a started handle holds; `nil` for one that is not.
    let session = Locked<Session?>(nil)
    let current = CurrentFlags()

    var evaluator: TargetEvaluator {
        subject.evaluator(source.facts)
    }

    /// Asks about a target.
    ///
    /// - Parameters:
    ///   - target: What to ask about.
    ///   - options: What is special about the socket.
    ///   - source: Where the facts come from; `nil` for the live kernel, see ``NetworkSource/kernel()``.
    /// - Throws: ``ReachabilityError`` when there is no netlink socket to be had.
    public init(
        target: ReachabilityTarget,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil
    ) throws(ReachabilityError) {
        subject = MonitoredTarget(target: target, options: options)
        if let source {
            self.source = source
        } else {
            self.source = try .kernel()
        }
    }

    deinit {
        stop()
    }

    /// Asks about the default path, the way to anywhere.
    ///
    /// Apple's counterpart is a target with the zero address.
    ///
    /// - Throws: ``ReachabilityError`` when there is no netlink socket to be had.
    public convenience init() throws(ReachabilityError) {
        try self.init(target: .defaultPath)
    }

    /// Asks about a host name, an address, or an address with an interface (`fe80::1%eth0`).
    ///
    /// A name is resolved anew by each question, off the caller's thread, but the caller waits: at most
    /// ``ReachabilityOptions/resolutionTimeout``.
    ///
    /// - Parameters:
    ///   - host: The name or address, without scheme, port and path.
    ///   - options: What is special about the socket.
    ///   - source: Where the facts come from; `nil` for the live kernel.
    /// - Throws: ``ReachabilityError`` when the text is neither, or there is no netlink socket to be had.
    public convenience init(
        host: String,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil
    ) throws(ReachabilityError) {
        try self.init(target: .host(host), options: options, source: source)
    }

    /// Asks about an address.
    ///
    /// - Parameters:
    ///   - address: The address; 0.0.0.0 and :: stand for the default path.
    ///   - options: What is special about the socket.
    ///   - source: Where the facts come from; `nil` for the live kernel.
    /// - Throws: ``ReachabilityError`` when there is no netlink socket to be had.
    public convenience init(
        address: IPAddress,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil
    ) throws(ReachabilityError) {
        try self.init(target: .address(address), options: options, source: source)
    }

    /// Asks about the address of a socket address; its port is ignored.
    ///
    /// - Parameters:
    ///   - sockaddr: An IPv4 or IPv6 socket address; it is copied.
    ///   - length: The size of what it points to, in bytes.
    ///   - options: What is special about the socket.
    ///   - source: Where the facts come from; `nil` for the live kernel.
    /// - Throws: ``ReachabilityError`` when the socket address is too short or of another family, or there is
    ///   no netlink socket to be had.
    public convenience init(
        sockaddr: UnsafePointer<sockaddr>,
        length: socklen_t,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil
    ) throws(ReachabilityError) {
        try self.init(target: .sockaddr(sockaddr, length: length), options: options, source: source)
    }

    /// Asks about a remote address as a socket sees it that is bound to a local one.
    ///
    /// - Parameters:
    ///   - local: An address of this host; when it is not one, the target is not reachable.
    ///   - remote: The address to send to.
    ///   - options: What else is special about the socket.
    ///   - source: Where the facts come from; `nil` for the live kernel.
    /// - Throws: ``ReachabilityError`` when one is IPv4 and the other IPv6, or there is no netlink socket to be
    ///   had.
    public convenience init(
        local: IPAddress,
        remote: IPAddress,
        options: ReachabilityOptions = ReachabilityOptions(),
        source: NetworkSource? = nil
    ) throws(ReachabilityError) {
        try self.init(target: .pair(local: local, remote: remote), options: options, source: source)
    }
}

// MARK: - Questions

extension NetworkReachability {
    /// Asks now.
    ///
    /// For an address this takes one question to the kernel, a few microseconds.
    ///
    /// Apple's counterpart is `SCNetworkReachabilityGetFlags`.
    ///
    /// - Returns: The flags; an empty set means that there is no way.
    /// - Throws: ``ReachabilityError`` when the question could not be answered, which is not the same as no.
    public func flags() throws(ReachabilityError) -> ReachabilityFlags {
        try evaluator.evaluate(target, detail: .flags).flags
    }

    /// Asks now, and tells why.
    ///
    /// Every address of a name is judged, and the interfaces are looked at more closely, so this costs a
    /// little more than ``flags()``; the flags are the same.
    ///
    /// - Parameter detail: How much to find out. What is left out costs nothing.
    /// - Returns: The flags with the address, route, interface and words that led to them.
    /// - Throws: ``ReachabilityError`` when the question could not be answered, which is not the same as no.
    public func report(
        _ detail: ReachabilityReport.Detail = .full
    ) throws(ReachabilityError) -> ReachabilityReport {
        try evaluator.report(on: target, detail)
    }
}
