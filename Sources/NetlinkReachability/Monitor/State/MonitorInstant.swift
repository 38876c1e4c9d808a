// SPDX-License-Identifier: Apache-2.0

/// A point in time on the monitor's clock, which stops while the machine sleeps.
package struct MonitorInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since a start that the clock chooses.
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    static let distantPast = Self(nanoseconds: .min)
    static let distantFuture = Self(nanoseconds: .max)

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant some time later, at most the last representable one.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, overflows) = instant.nanoseconds.addingReportingOverflow(Int64(duration.nanoseconds))
        return Self(nanoseconds: overflows ? .max : sum)
    }

    /// The time since an earlier instant; zero if that is not earlier.
    package static func - (later: Self, earlier: Self) -> Duration {
        // Compared first: the difference of the extreme instants overflows.
        guard later > earlier else { return .zero }
        let (difference, overflows) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflows ? .max : difference)
    }
}
