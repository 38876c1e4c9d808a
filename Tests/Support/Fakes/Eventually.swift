// SPDX-License-Identifier: Apache-2.0

/// A condition did not become true within the bound of ``eventually(_:within:_:)``.
package struct NeverHappened: Error, CustomStringConvertible {
    package let description: String
}

/// Waits until a condition is true.
///
/// - Parameters:
///   - claim: The condition in words, for the error.
///   - limit: A bound in real time, far longer than a loaded machine needs. The condition is also tried at least
///     1,000 times, because tests that block the threads of the pool can delay this test and the work that it awaits.
///   - condition: The condition.
/// - Throws: ``NeverHappened`` after the bound; `CancellationError` when the task is cancelled.
package func eventually(
    _ claim: @autoclosure () -> String,
    within limit: Duration = .seconds(120),
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    var trials = 0
    while try await !condition() {
        trials += 1
        guard trials < 1_000 || ContinuousClock.now < end else {
            throw NeverHappened(description: "did not happen within \(limit): \(claim())")
        }
        try await Task.sleep(for: .milliseconds(1))
    }
}
