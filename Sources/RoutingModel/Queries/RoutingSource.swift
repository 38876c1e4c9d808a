// SPDX-License-Identifier: Apache-2.0

/// Where facts come from: the live kernel, a recording or a simulated network.
///
/// The rules ask through this seam and cannot tell the sources apart.
package protocol RoutingSource: Sendable {
    /// Asks which way a packet would go.
    func answer(to query: RouteQuery) throws(RoutingFault) -> RouteAnswer

    /// Asks which nexthop a packet would take and which source address it would get: a ``Route`` with one nexthop
    /// and that address as its preferred source.
    func choice(for query: RouteQuery) throws(RoutingFault) -> RouteAnswer

    /// Tells what is known about an interface; `nil` when there is none of that index.
    func facts(
        aboutInterface index: UInt32,
        detail: InterfaceDetail
    ) throws(RoutingFault) -> InterfaceFacts?

    /// Finds an interface by its name; `nil` when there is none.
    func interfaceIndex(named name: String) throws(RoutingFault) -> UInt32?

    /// Lists every interface, in no promised order.
    func allLinks() throws(RoutingFault) -> [Link]

    // The same two questions for flags alone. A source that can answer them cheaper does; it must not answer
    // them otherwise.

    /// Asks which way a packet would go, for the rules alone.
    func outline(for query: RouteQuery) throws(RoutingFault) -> RouteSummary

    /// Tells how the rules read an interface; `nil` when there is none of that index.
    func traits(ofInterface index: UInt32) throws(RoutingFault) -> InterfaceTraits?
}

/// How much to find out about an interface.
package enum InterfaceDetail: Sendable {
    /// What the flags depend on.
    case flags
    /// Also what a report shows: ports and Wi-Fi, which cost further questions.
    case report
}

/// A question that could not be answered.
///
/// Never a "no": that is a ``RouteAnswer``.
package struct RoutingFault: Error, Hashable, Sendable {
    /// What kind of failure it is.
    package enum Kind: Hashable, Sendable {
        /// A system call failed, the kernel refused or gave no usable answer.
        case system
        /// The facts at hand do not decide it.
        case undecided
    }

    /// What kind of failure it is.
    package var kind: Kind
    /// What was being done, as an infinitive without "to": "ask for a route".
    package var operation: String
    /// The errno, 0 for none.
    package var number: Int32
    /// libnl's own code, positive, 0 for none.
    package var libnl: Int32
    /// The kernel's own words, or what was missing; empty for none.
    package var text: String

    /// Describes a failure.
    package init(
        kind: Kind = .system,
        operation: String,
        number: Int32 = 0,
        libnl: Int32 = 0,
        text: String = ""
    ) {
        self.kind = kind
        self.operation = operation
        self.number = number
        self.libnl = libnl
        self.text = text
    }
}
