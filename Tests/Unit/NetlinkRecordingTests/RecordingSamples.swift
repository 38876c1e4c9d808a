// SPDX-License-Identifier: Apache-2.0

import Glibc
internal import NetlinkReachability
import Testing

@testable import NetlinkRecording

/// What a test wants to know about an entry after it is gone.
struct SeenEntry: Equatable {
    var offset: UInt64
    var time: Recording.Time?
    var type: UInt16 = 1
    var bytes: [UInt8] = []
    var annotation: RecordingAnnotation?
    var isMalformed = false

    init(_ entry: RecordingEntry) {
        offset = entry.offset
        time = entry.time
        switch entry.content {
        case .annotation(let annotation):
            self.annotation = annotation
        case .message(let message):
            type = message.type
            bytes = Array(message.bytes)
            isMalformed = message.content == .malformed
        case .fileEnd: break
        }
    }
}

extension RecordingReader {
    /// Reads all entries.
    mutating func readAll(_ body: (RecordingEntry) -> Void) throws(RecordingError) {
        while try next({ body($0) }) != nil {}
    }
}

/// Reads a recording out of memory: all entries up to its end or its error.
func readRecording(_ bytes: [UInt8]) -> (entries: [SeenEntry], error: RecordingError?) {
    var entries: [SeenEntry] = []
    var reader = RecordingReader(bytes: bytes)
    do {
        try reader.readAll { entries.append(SeenEntry($0)) }
        return (entries, nil)
    } catch {
        return (entries, error)
    }
}

/// Bytes of messages that no kernel sent.
enum SampleMessage {
    static let time = Recording.Time(seconds: 1_700_000_000, microseconds: 123_456)

    /// A message of 16 bytes and a payload, padded.
    static func bytes(
        type: UInt16,
        flags: UInt16 = 0,
        sequence: UInt32 = 0,
        payload: [UInt8] = [],
        length: UInt32? = nil
    ) -> [UInt8] {
        var bytes = (length ?? UInt32(16 + payload.count)).hostBytes
        bytes += type.hostBytes + flags.hostBytes + sequence.hostBytes + UInt32(0).hostBytes
        payload.withUnsafeBytes { bytes.appendPadded($0) }
        return bytes
    }

    /// RTM_NEWROUTE of 192.0.2.0/24 by way of an interface.
    static func route(interface: UInt8, flags: UInt16 = 0, sequence: UInt32 = 0, type: UInt16 = 24) -> [UInt8]
    {
        let header: [UInt8] = [2, 24, 0, 0, 254, 3, 253, 1, 0, 0, 0, 0]
        let destination = UInt16(8).hostBytes + UInt16(1).hostBytes + [192, 0, 2, 0]
        let output = UInt16(8).hostBytes + UInt16(4).hostBytes + UInt32(interface).hostBytes
        return bytes(type: type, flags: flags, sequence: sequence, payload: header + destination + output)
    }

    static func timeStamp(_ time: Recording.Time = time) -> [UInt8] {
        timeStamp(seconds: time.seconds, microseconds: time.microseconds)
    }

    static func timeStamp(seconds: UInt32, microseconds: UInt32) -> [UInt8] {
        bytes(type: 15, payload: seconds.hostBytes + microseconds.hostBytes)
    }
}

extension [UInt8] {
    /// Swaps the bytes of each 16-byte header's numbers, as a machine of the other byte order writes them.
    var withForeignHeaders: [UInt8] {
        var swapped = self
        var offset = 0
        while offset + 16 <= count {
            let length = Int(self[offset]) | Int(self[offset + 1]) << 8 | Int(self[offset + 2]) << 16
            for (start, size) in [(0, 4), (4, 2), (6, 2), (8, 4), (12, 4)] {
                swapped[(offset + start)..<(offset + start + size)].reverse()
            }
            offset += RecordingFormat.padded(length)
        }
        return swapped
    }
}

/// The recordings in the folder beside this file: one that is put there is read by the tests.
struct RecordingFixture: Hashable, Sendable, CustomTestStringConvertible {
    static let wifi = RecordingFixture(name: "wifi.rtnl")
    static let wireguard = RecordingFixture(name: "wireguard.rtnl")
    static let policy = RecordingFixture(name: "policy.rtnl")
    static let nexthopObjects = RecordingFixture(name: "nexthop-objects.rtnl")
    static let wwanEvents = RecordingFixture(name: "wwan-events.rtmon")
    static let multipathEvents = RecordingFixture(name: "multipath-events.rtmon")
    static let neighbours = RecordingFixture(name: "neighbours-done.nl")

    /// All files of the folder, and those named above, which must not be missing.
    static let all: [RecordingFixture] = {
        var names: Set = [wifi, wireguard, policy, nexthopObjects, wwanEvents, multipathEvents, neighbours]
        guard let folder = opendir(path("")) else { return Array(names) }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix("."), !name.hasSuffix(".md") { names.insert(RecordingFixture(name: name)) }
        }
        return names.sorted { $0.name < $1.name }
    }()

    let name: String

    var testDescription: String {
        name
    }

    var path: String {
        Self.path(name)
    }

    private static func path(_ name: String) -> String {
        let folder = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return (folder.map(String.init) + ["Recordings", name]).joined(separator: "/")
    }

    var bytes: [UInt8] {
        get throws { try readFile(path) }
    }
}

/// Reads a whole file.
func readFile(_ path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else {
        throw RecordingError(path: path, offset: 0, reason: .unreadable(errno))
    }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 { bytes += chunk[..<count] }
    return bytes
}

/// A pipe that ends when the test closes its end for writing.
///
/// A program that another test starts can inherit the ends of `pipe(2)`, and has them for as long as it runs. The ends
/// of a named pipe are opened with `O_CLOEXEC`.
func openPipe() throws -> (reading: Int32, writing: Int32) {
    let folder = try TemporaryFolder()
    let path = "\(folder.path)/pipe"
    try #require(mkfifo(path, 0o600) == 0)
    let reading = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    let writing = open(path, O_WRONLY | O_CLOEXEC)
    try #require(reading >= 0 && writing >= 0 && fcntl(reading, F_SETFL, 0) == 0)
    return (reading, writing)
}

/// A file of a test's own, removed with the value.
final class TemporaryFile: Sendable {
    let path: String

    init(_ bytes: [UInt8]? = nil) throws {
        var name = Array("/tmp/netlink-recording-XXXXXX".utf8CString)
        let descriptor = mkstemp(&name)
        guard descriptor >= 0 else {
            throw RecordingError(path: "/tmp", offset: 0, reason: .unwritable(errno, isCut: false))
        }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        var rest = (bytes ?? [])[...]
        while !rest.isEmpty,
            case let count = rest.withUnsafeBytes({ write(descriptor, $0.baseAddress, $0.count) }), count > 0
        {
            rest = rest.dropFirst(count)
        }
        close(descriptor)
    }

    deinit {
        unlink(path)
    }
}

extension Recording.Time {
    /// The fields of a stamp.
    var seconds: UInt32 { UInt32(microsecondsSince1970 / 1_000_000) }
    var microseconds: UInt32 { UInt32(microsecondsSince1970 % 1_000_000) }
}
