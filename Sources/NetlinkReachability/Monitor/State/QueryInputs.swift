// SPDX-License-Identifier: Apache-2.0

/// What an answer can depend on besides routes and interfaces.
struct QueryInputs: OptionSet, Sendable {
    let rawValue: UInt8

    /// Which name servers are configured.
    static let nameservers = QueryInputs(rawValue: 1)
    /// The hardware addresses of neighbours, as ``EvaluationBatch/noteNeighbours(_:of:)`` has them.
    static let neighbours = QueryInputs(rawValue: 2)
}
