// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import NetlinkReachability
internal import RoutingModel
internal import SystemSupport

/// A network at one moment, on which changes are tried without making them.
///
/// ```swift
/// let now = try NetworkState.live()
/// let after = try now.applying([NetworkState.Change("link set eth0 down")])
/// for answer in after.answers(for: [.defaultPath, .address(IPAddress(192, 0, 2, 7))]) {
///     print(try answer.get().flags)
/// }
/// ```
///
/// A change has the kernel's side effects: an interface that is set down loses its routes, the routes of an address
/// are removed with it, a lost carrier removes nexthop objects. Carriers and duplicate address detection, which take
/// the kernel time, change at once. Reactions of programs, such as routing daemons and DHCP clients, are not simulated.
///
/// The state is a value: changes do not touch the host, and need no privilege.
public struct NetworkState: Sendable {
    private let recorded: RecordedRouting
    /// The tables, which change with the kernel's side effects.
    package var host: HostState

    /// The network, as a source of facts.
    package var routing: RecordedRouting { recorded.showing(host.routing) }

    package init(_ recorded: RecordedRouting) {
        self.recorded = recorded
        host = HostState(recorded.routing)
    }

    /// The network of a recording at an instant.
    ///
    /// - Parameters:
    ///   - recording: The recording.
    ///   - time: The instant; `nil` for the end of the recording.
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.unreadableRecording` if the recording
    ///   cannot be opened, or has no whole dump before its damage.
    public init(_ recording: Recording, at time: Recording.Time? = nil) throws(ReachabilityError) {
        self.init(try recording.routing(at: time))
    }

    /// The network of the calling thread's network namespace.
    ///
    /// - Throws: `ReachabilityError` with the code `ReachabilityError.Code.systemFailure` if the kernel does not
    ///   answer.
    public static func live() throws(ReachabilityError) -> NetworkState {
        var state = NetworkState(try RecordedRouting.live())
        let all = setting("all") == true
        for link in state.host.links {
            state.host.interfaces[link.index]?.promotesSecondaries = setting(link.name).map { $0 || all }
        }
        return state
    }

    /// The setting `promote_secondaries`; `nil` if it cannot be read.
    private static func setting(_ interface: String) -> Bool? {
        KernelSetting.isSet("net/ipv4/conf/\(interface)/promote_secondaries")
    }

    // MARK: Changes

    /// A change in the words of ip(8).
    ///
    /// Supported are `link set` and `del`, `addr` and `route` with all their verbs and `flush`, `rule add`, `del` and
    /// `flush`, in the abbreviations of ip(8) and optionally after `ip` and its family options; `carrier NAME on` or
    /// `off` for a cable; and `sysctl` for `rp_filter`, `disable_ipv6` and forwarding.
    public struct Change: Hashable, Sendable, CustomStringConvertible {
        package let change: HostChange

        /// Parses a change.
        ///
        /// - Parameter text: The words, such as `route replace default via 192.0.2.1`.
        /// - Throws: ``Refusal`` without a number; its reason lists the supported words.
        public init(_ text: String) throws(Refusal) {
            do {
                change = try HostChange(text)
            } catch {
                throw Refusal(change: text, number: nil, isUnknown: true, reason: error.message)
            }
        }

        /// The words as given.
        public var description: String { change.text }
    }

    /// Why a change cannot be tried.
    public struct Refusal: Error, Hashable, Sendable, CustomStringConvertible {
        /// The words of the change.
        public let change: String
        /// The errno with which the kernel would refuse the change; `nil` if the kernel's reaction is unknown.
        public let number: Int32?
        /// Whether the words are not supported.
        public let isUnknown: Bool
        /// What is wrong.
        public let reason: String

        /// The change, the error, and the reason.
        public var description: String {
            let unknown = isUnknown ? "" : "it is not known what the kernel would do: "
            let fate =
                number.map { "the kernel would refuse it: \(SystemCallError.message($0)): " } ?? unknown
            return "\"\(change)\": \(fate)\(reason)"
        }
    }

    /// Returns the network after changes, which are made in order.
    ///
    /// - Parameter changes: The changes.
    /// - Returns: The changed network.
    /// - Throws: ``Refusal`` for the first change that the kernel would refuse, or whose effect is unknown.
    public func applying(_ changes: [Change]) throws(Refusal) -> NetworkState {
        var state = self
        for change in changes {
            do {
                try state.host.make(change.change)
            } catch {
                throw Refusal(
                    change: change.description, number: error.number, isUnknown: false, reason: error.message)
            }
        }
        return state
    }

    // MARK: Queries

    /// A source that answers every query in process.
    public var source: NetworkSource {
        NetworkSource(routing: routing, resolver: SystemResolver.shared)
    }

    /// Evaluates targets.
    ///
    /// - Parameters:
    ///   - targets: The targets. This host resolves their names.
    ///   - options: The options of the socket.
    /// - Returns: A report or an error for each target, in order.
    public func answers(
        for targets: [ReachabilityTarget],
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> [Result<ReachabilityReport, ReachabilityError>] {
        source.blockingValues(of: targets.map { .report(of: $0, options: options, .full) })
    }
}
