// SPDX-License-Identifier: Apache-2.0

/// A point in time on the monitor's clock, which stands still while the machine sleeps.
package struct MonitorInstant: Hashable, Comparable, Sendable {
    /// Nanoseconds since a start that the clock chooses.
    package var nanoseconds: Int64

    /// Wraps a number of nanoseconds.
    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    package static func < (left: Self, right: Self) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    /// The instant some time later; the last one there is when that is too far.
    package static func + (instant: Self, duration: Duration) -> Self {
        let (sum, isTooFar) = instant.nanoseconds.addingReportingOverflow(Int64(duration.nanoseconds))
        return Self(nanoseconds: isTooFar ? .max : sum)
    }

    /// How long ago another instant was; zero when it is yet to come.
    package static func - (later: Self, earlier: Self) -> Duration {
        // Compared first: the difference of the ends of time does not fit.
        guard later > earlier else { return .zero }
        let (difference, isTooFar) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(isTooFar ? .max : difference)
    }
}
