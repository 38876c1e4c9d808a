// SPDX-License-Identifier: Apache-2.0

/// A question that could not be answered.
///
/// It is never used for a negative answer, which is a ``RouteAnswer``.
package struct RoutingFault: Error, Hashable, Sendable {
    /// What kind of failure it is.
    package enum Kind: Hashable, Sendable {
        /// A netlink socket failed, or the kernel refused a request or gave no usable answer.
        case system
        /// A system call that has nothing to do with netlink failed.
        case systemCall
        /// No thread could be started.
        case thread
        /// The known facts do not decide it.
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
