// SPDX-License-Identifier: Apache-2.0

/// The detail of an evaluation.
///
/// A higher level costs further queries and never changes the flags.
package enum QueryDetail: Hashable, Sendable, CaseIterable {
    /// The flags.
    case flags
    /// Also the reason, and the interface with its type.
    case reason
    /// Also the source address.
    case source
    /// Also the table's entry, and every candidate of the target.
    case full
}
