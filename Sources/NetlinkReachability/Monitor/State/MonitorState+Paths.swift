// SPDX-License-Identifier: Apache-2.0

// Paths: targets whose answer is more than flags, so that whoever asks compares it. They rest on name servers too.
extension MonitorState {
    /// The targets that are paths.
    struct Paths: Sendable {
        private var ids: Set<ID> = []
        private var refreshDue: MonitorInstant?
    }

    /// Adds a path, to be asked about at once.
    mutating func insertPath(_ id: ID, at now: MonitorInstant) {
        insert(id, at: now)
        paths.insert(id)
    }

    /// Takes in that a path was found, or why not.
    ///
    /// - Parameters:
    ///   - id: The path's number.
    ///   - basis: What it rests on; `nil` when the question failed.
    ///   - now: The present.
    /// - Returns: Whether anybody still wants to know.
    mutating func foundPath(_ id: ID, on basis: Basis?, at now: MonitorInstant) -> Bool {
        guard var record = records[id] else { return false }
        if let basis {
            settle(id, &record, on: basis, at: now)
        } else {
            failures.note(id, at: now)
        }
        return true
    }
}

extension MonitorState.Paths {
    /// When to come back if nothing happens before.
    var due: MonitorInstant? { refreshDue }

    mutating func insert(_ id: MonitorState.ID) {
        ids.insert(id)
    }

    mutating func remove(_ id: MonitorState.ID) {
        ids.remove(id)
        if ids.isEmpty { refreshDue = nil }
    }

    /// The name servers can be others once the files are written to their end.
    mutating func noteResolverChange(at now: MonitorInstant) {
        guard !ids.isEmpty, refreshDue == nil else { return }
        refreshDue = now + MonitorTiming.resolverSettling
    }

    /// Hands out what is to be asked about.
    mutating func take(at now: MonitorInstant) -> Set<MonitorState.ID> {
        guard let due = refreshDue, due <= now else { return [] }
        refreshDue = nil
        return ids
    }
}
