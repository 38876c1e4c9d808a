// SPDX-License-Identifier: Apache-2.0

/// What a recorder writes to: one file, or the files of a directory.
package protocol RecordingOutput: ~Copyable {
    /// Writes whole, padded messages.
    mutating func append(_ messages: [UInt8]) throws(RecordingError)

    /// Writes a dump of all tables between its annotations.
    mutating func append(_ snapshot: RecordedSnapshot) throws(RecordingError)

    /// Says to readers whether all notifications that were received are written.
    func setCurrent(_ isCurrent: Bool)
}

extension RecordingOutput where Self: ~Copyable {
    /// Writes an annotation, after a time stamp if it marks an instant.
    package mutating func append(
        _ annotation: RecordingAnnotation,
        at time: Recording.Time? = nil
    ) throws(RecordingError) {
        var bytes: [UInt8] = []
        if let time { bytes.appendTimeStamp(time) }
        bytes.append(annotation)
        try append(bytes)
    }
}
