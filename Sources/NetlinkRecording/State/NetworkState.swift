// SPDX-License-Identifier: Apache-2.0

internal import Glibc
public import NetlinkReachability
internal import RoutingModel
internal import SystemSupport

/// A network at one moment; changes are tried on it without being made.
///
/// ```swift
/// let now = try NetworkState.live()
/// let after = try now.applying([NetworkState.Change("link set eth0 down")])
/// for answer in after.answers(for: [.defaultPath, .address(IPAddress(192, 0, 2, 7))]) {
///     print(try answer.get().flags)
/// }
/// ```
///
/// A change has the side effects that the kernel gives it: an interface that is set down loses its routes, an address
/// takes its routes with it, a nexthop object goes with a carrier. What takes the kernel time, such as carriers and
/// duplicate address detection, happens at once. Programs that react to changes, such as routing daemons and DHCP
/// clients, are not part of it.
///
/// It is a value: nothing on the host is touched, and no privilege is needed.
public struct NetworkState: Sendable {
    private let recorded: RecordedRouting
    /// The tables, with the kernel's side effects.
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
    /// Known are `link set` and `del`, `addr` and `route` with all their verbs and `flush`, `rule add`, `del` and
    /// `flush`, with the abbreviations of objects and commands; and `carrier NAME on` or `off` for a cable. The word
    /// `ip` and its options for the family can stand before.
    public struct Change: Hashable, Sendable, CustomStringConvertible {
        package let change: HostChange

        /// Parses a change.
        ///
        /// - Parameter text: The words, such as `route replace default via 192.0.2.1`.
        /// - Throws: ``Refusal`` without a number; its message says what is known.
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
        /// The errno with which the kernel would refuse the change; `nil` where it is not known what it would do.
        public let number: Int32?
        /// Whether the words are not known.
        public let isUnknown: Bool
        /// What is wrong.
        public let reason: String

        /// The change, what refuses it, and why.
        public var description: String {
            guard let number else {
                return
                    "\"\(change)\": \(isUnknown ? "" : "it is not known what the kernel would do: ")\(reason)"
            }
            return
                "\"\(change)\": the kernel would refuse it: \(SystemCallError.message(number)): \(reason)"
        }
    }

    /// The network after changes, made one after the other.
    ///
    /// - Parameter changes: The changes.
    /// - Returns: The network after them.
    /// - Throws: ``Refusal`` for the first change that the kernel would refuse, or whose effect is not known.
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
    ///   - targets: The targets; names are resolved by this host.
    ///   - options: The socket of the queries.
    /// - Returns: A report, or why there is none, for each target in order.
    public func answers(
        for targets: [ReachabilityTarget],
        options: ReachabilityOptions = ReachabilityOptions()
    ) -> [Result<ReachabilityReport, ReachabilityError>] {
        source.blockingValues(of: targets.map { .report(of: $0, options: options, .full) })
    }
}
