// SPDX-License-Identifier: Apache-2.0

package import RoutingModel

/// Evidence, and when a recorder stated it.
package struct StatedEvidence: Hashable, Sendable {
    package let value: NetworkEvidence
    package let time: Recording.Time

    package init(_ value: NetworkEvidence, at time: Recording.Time) {
        (self.value, self.time) = (value, time)
    }

    /// The evidence with the age that it has at a time.
    package func at(_ time: Recording.Time) -> NetworkEvidence {
        value.aged(by: max(self.time.duration(to: time), .zero))
    }
}
