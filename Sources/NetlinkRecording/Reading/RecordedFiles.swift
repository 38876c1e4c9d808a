// SPDX-License-Identifier: Apache-2.0

/// The files of a directory that were read so far: finds those that are missing between them.
///
/// A recorder deletes its oldest files, so that those before the first one are not missing. Each file states the number
/// of the one before it. One of an earlier version continues the number before its own; where others took that name,
/// the recorder passed it over.
struct RecordedFiles {
    private let folder: String
    /// The present file; `nil` before the first.
    private(set) var number: UInt64?
    private var first: UInt64?
    private var opened: Set<UInt64> = []
    /// Names of others.
    private var foreign: Set<UInt64> = []
    /// Whether the present file has said what it follows.
    private var isStated = false

    /// Starts before the first file of a directory.
    init(in path: String) {
        folder = path.hasSuffix("/") ? path : path + "/"
    }

    /// The path of a file.
    func path(_ number: UInt64) -> String {
        folder + RecordingDirectory.name(number)
    }

    /// Begins the next file.
    mutating func begin(_ number: UInt64) {
        self.number = number
        first = first ?? number
        opened.insert(number)
        isStated = false
    }

    /// Passes over a name that is not that of a regular file.
    mutating func pass(_ number: UInt64) {
        foreign.insert(number)
    }

    /// Takes an entry, and puts the end of a file that is missing before it in its place.
    mutating func take(_ entry: inout RecordingEntry) {
        guard case .annotation(let annotation) = entry.content, let missing = missing(annotation) else {
            return
        }
        let path = path(missing)
        entry = .fileEnd(of: path, RecordingError(path: path, offset: 0, reason: .missing))
    }

    /// The missing file that the present one follows, as an annotation says; `nil` for none.
    private mutating func missing(_ annotation: RecordingAnnotation) -> UInt64? {
        guard let first, let number, number > first else { return nil }
        var before = number - 1
        switch annotation {
        case .follows(let stated): (before, isStated) = (stated, true)
        case .continued where !isStated && !foreign.contains(before): break
        default: return nil
        }
        return (first..<number).contains(before) && !opened.contains(before) ? before : nil
    }
}
