// SPDX-License-Identifier: Apache-2.0

/// The query for the default path of a socket, through interfaces of some types.
struct PathQuery: MonitorQuery {
    /// The only type of interface that the path can take; `nil` for any.
    var required: NetworkInterface.InterfaceType?
    /// The types that the path must not take.
    var prohibited: Set<NetworkInterface.InterfaceType> = []
    /// The socket.
    var options = ReachabilityOptions()
    /// What the interfaces cost.
    var metering = NetworkMetering.unmetered
    /// Whether to find out what identifies the network, too.
    var identifies = false

    var description: String { "default path" }

    var inputs: QueryInputs { identifies ? [.nameservers, .neighbours] : .nameservers }

    /// Whether the path can take only interfaces of some types.
    var restrictsTypes: Bool {
        required != nil || !prohibited.isEmpty
    }

    /// Whether the path can take an interface.
    func admits(_ interface: NetworkInterface) -> Bool {
        guard required ?? interface.type == interface.type else { return false }
        return !prohibited.contains(interface.type)
    }

    /// Whether the paths are equal: another reason for the same path is not a change.
    func areSame(_ one: NetworkPath, _ other: NetworkPath) -> Bool {
        one.withoutReason == other.withoutReason
    }
}

/// The query for what identifies the network of the default path.
struct IdentityQuery: MonitorQuery {
    let query: PathQuery

    var description: String { "identity of the network" }

    var inputs: QueryInputs { query.inputs }

    /// Not the identity itself: traces and debug descriptions are logged.
    func words(_ answer: NetworkIdentity?) -> String { answer == nil ? "unknown" : "known" }

    func areSame(_ one: NetworkIdentity?, _ other: NetworkIdentity?) -> Bool { one == other }

    func plan(_ batch: inout EvaluationBatch) { query.plan(&batch) }

    func answer(
        from batch: inout EvaluationBatch,
        _ entries: Range<Int>
    ) throws(ReachabilityError) -> NetworkIdentity? {
        try query.answer(from: &batch, entries).identity
    }
}
