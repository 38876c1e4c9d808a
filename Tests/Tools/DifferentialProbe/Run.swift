// SPDX-License-Identifier: Apache-2.0

internal import TestSupport

/// A comparison of network after network.
protocol Run {
    /// The seed of the first network.
    var seed: UInt64 { get }
    /// The number of differences.
    var differing: Int { get }
    /// The number of answers that agree.
    var agreed: Int { get }
    /// Compares until enough was asked, or a signal came.
    mutating func compareAll() throws
    /// Prints the counts besides the differences and the agreement.
    func printCounts()
}

extension Run {
    /// Compares, and prints what comes out.
    ///
    /// - Returns: The exit status.
    mutating func execute() -> Int32 {
        print("seed", seed)
        do {
            try Namespace.prepare()
            try compareAll()
        } catch {
            print("failure", error)
            return 2
        }
        printCounts()
        print("differing", differing)
        print("agreed", agreed)
        if let signal = Interruption.signal { return 128 + signal }
        return differing == 0 ? 0 : 1
    }
}
