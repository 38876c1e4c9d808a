// SPDX-License-Identifier: Apache-2.0

import Glibc
internal import NetlinkReachability
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkRecording

/// The files of a directory, without a kernel: dumps and notifications are made up.
struct RecordingRotationTests {
    private static let limit: UInt64 = 256 << 10
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func rotation(_ limit: UInt64 = Self.limit) throws -> RecordingRotation {
        try RecordingRotation(path: folder.path, limit: limit)
    }

    /// A dump of some routes, at a time.
    static func snapshot(_ second: UInt32 = 0, routes: Int = 10) -> RecordedSnapshot {
        var table = RecordedTable(.routes, .v4)
        table.messages = (0..<routes).flatMap { _ in SampleMessage.route(interface: 1, flags: 2) }
        return RecordedSnapshot(
            clock: ClockReading(
                boot: 1, sinceBoot: Int64(second) * 1_000_000,
                sinceEpoch: Int64(second) * 1_000_000),
            wirelessInterfaces: [],
            cellularInterfaces: [],
            isWatched: true,
            tables: [table]
        )
    }

    /// Notifications of one second.
    static func events(_ second: UInt32, count: Int = 40) -> [UInt8] {
        SampleMessage.timeStamp(Recording.Time(seconds: second, microseconds: 1))
            + (0..<count).flatMap { _ in SampleMessage.route(interface: 2) }
    }

    /// The seconds of all notifications of the directory, and the ends of its files.
    private func read() throws -> (seconds: [UInt32], fileEnds: Int) {
        var stream = try RecordingStream(path: folder.path)
        var (seconds, fileEnds): ([UInt32], Int) = ([], 0)
        while case let entry? = stream.next({ entry -> (second: UInt32?, isEnd: Bool) in
            switch entry.content {
            case .message(let message): (message.isDumped ? nil : entry.time?.seconds, false)
            case .annotation: (nil, false)
            case .fileEnd: (nil, true)
            }
        }) {
            if let second = entry.second, seconds.last != second { seconds.append(second) }
            if entry.isEnd { fileEnds += 1 }
        }
        return (seconds, fileEnds)
    }

    @Test func `the files never take more than the limit, and the newest notifications stay`() throws {
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot())
        for second in 1...600 as ClosedRange<UInt32> {
            try rotation.append(Self.events(second))
            if rotation.isFull { try rotation.begin(.continued, Self.snapshot(second)) }
            #expect(folder.diskUsage <= Self.limit)
        }
        try rotation.end()
        let (seconds, fileEnds) = try read()
        let first = try #require(seconds.first)
        #expect(seconds == Array(first...600))
        #expect(first > 1 && seconds.count > 50)
        #expect(fileEnds >= 3)
        #expect(folder.names.count == fileEnds + 1)
    }

    @Test func `a dump of a large host gets files of twice its size`() throws {
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot(routes: 1_000))
        try rotation.append(Self.events(1, count: 600))
        let isFull = rotation.isFull
        #expect(!isFull)
        try rotation.append(Self.events(2, count: 1_000))
        let isFullNow = rotation.isFull
        #expect(isFullNow)
    }

    /// As many routes as take a part of the limit in a dump.
    private static func routes(_ part: Double) -> Int {
        Int(Double(limit) * part) / SampleMessage.route(interface: 1, flags: 2).count
    }

    @Test func `a first dump that leaves no room for changes is refused with the size to keep`() throws {
        var rotation = try rotation()
        let error = #expect(throws: RecordingError.self) {
            try rotation.begin(nil, Self.snapshot(routes: Self.routes(1)))
        }
        #expect(error?.description.hasSuffix("--keep is too small for this host: use at least 1M") == true)
        #expect(folder.names.isEmpty)
    }

    // A dump above a third of the limit ended the recording.
    @Test(arguments: [0.34, 0.45, 0.6, 0.8])
    func `a dump above a third of the limit is written with one warning, within the limit`(part: Double)
        throws
    {
        let warnings = Warnings()
        var rotation = try RecordingRotation(path: folder.path, limit: Self.limit) {
            warnings.errors.append($0)
        }
        let routes = Self.routes(part)
        try rotation.begin(nil, Self.snapshot(routes: routes))
        var dumps = 1
        for second in 1...300 as ClosedRange<UInt32> {
            try rotation.append(Self.events(second, count: 10))
            if rotation.isFull {
                try rotation.begin(.continued, Self.snapshot(second, routes: routes))
                dumps += 1
            }
            #expect(folder.diskUsage <= Self.limit)
        }
        #expect(dumps > 1 && dumps < 30)
        #expect(try read().seconds.last == 300)
        #expect(
            warnings.errors.map(\.description) == [
                "\(folder.path): --keep is too small for this host: use at least 1M"
            ])
    }

    // The file was closed before the dump was found too large.
    @Test func `changes continue in the current file when the next dump has outgrown the limit`() throws {
        let warnings = Warnings()
        var rotation = try RecordingRotation(path: folder.path, limit: Self.limit) {
            warnings.errors.append($0)
        }
        try rotation.begin(nil, Self.snapshot())
        let hasRoom = rotation.hasRoom(for: Self.snapshot(1, routes: Self.routes(1)))
        #expect(!hasRoom)
        var refusal: RecordingError?
        var last: UInt32 = 0
        while refusal == nil {
            do throws(RecordingError) { try rotation.append(Self.events(last + 1)) } catch { refusal = error }
            if refusal == nil { last += 1 }
            let isFull = rotation.isFull
            #expect(!isFull)
        }
        #expect(refusal?.description.contains("--keep is too small") == true)
        #expect(folder.diskUsage <= Self.limit && folder.diskUsage > Self.limit * 7 / 8)
        #expect(warnings.errors.count == 1)
        // A dump that still does not fit leaves the files alone; one that fits marks the gap.
        try rotation.reopen()
        #expect(throws: RecordingError.self) {
            try rotation.begin(.unwritten(number: EFBIG), Self.snapshot(1, routes: Self.routes(1)))
        }
        #expect(try read().seconds == Array(1...last))
        try rotation.begin(.unwritten(number: EFBIG), Self.snapshot(last + 2))
        #expect(warnings.errors.count == 1)
    }

    // The closing dump deleted the changes that a user had stopped the recorder to read.
    @Test func `a closing dump that does not fit beside the changes is left out`() throws {
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot(routes: Self.routes(0.6)))
        try rotation.append(Self.events(1))
        rotation.isEnding = true
        try rotation.append(Self.snapshot(2, routes: Self.routes(0.6)))
        #expect(try read().seconds == [1])
        #expect(folder.names == [RecordingDirectory.name(1)])
    }

    @Test func `what others put into the directory is neither followed, overwritten, counted nor deleted`()
        throws
    {
        let victim = try TemporaryFile(Array("precious".utf8))
        let own = try TemporaryFile([UInt8].origin)
        symlink(victim.path, folder.path(1))
        symlink("/nonexistent", folder.path(5))
        mkfifo(folder.path(2), 0o600)
        try folder.write(3, Array(repeating: 7, count: 1 << 20))
        link(own.path, folder.path(4))
        mkdir(folder.path(6), 0o700)
        let names = folder.names
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot())
        #expect(Set(folder.names).subtracting(names) == [RecordingDirectory.name(7)])
        for second in 1...300 as ClosedRange<UInt32> {
            try rotation.append(Self.events(second))
            if rotation.isFull { try rotation.begin(.continued, Self.snapshot(second)) }
        }
        #expect(Set(names).isSubset(of: folder.names))
        #expect(!folder.names.contains(RecordingDirectory.name(7)))
        #expect(try readFile(victim.path) == Array("precious".utf8))
        #expect(try readFile(folder.path(3)).count == 1 << 20)
    }

    @Test func `a file that another has put in the place of an own one is not deleted`() throws {
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot())
        try rotation.append(Self.events(1))
        try rotation.begin(.continued, Self.snapshot())
        unlink(folder.path(1))
        try folder.write(1, [1, 2, 3])
        for second in 1...600 as ClosedRange<UInt32> {
            try rotation.append(Self.events(second))
            if rotation.isFull { try rotation.begin(.continued, Self.snapshot(second)) }
        }
        #expect(try readFile(folder.path(1)) == [1, 2, 3])
        #expect(!folder.names.contains(RecordingDirectory.name(2)))
    }

    @Test func `files of an earlier recorder are continued, counted and deleted`() throws {
        do {
            var rotation = try rotation()
            try rotation.begin(nil, Self.snapshot())
            try rotation.append(Self.events(1, count: 2_000))
            try rotation.begin(.continued, Self.snapshot(1))
            try rotation.append(Self.events(2, count: 2_000))
        }
        #expect(folder.names == [RecordingDirectory.name(1), RecordingDirectory.name(2)])
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot(3))
        #expect(folder.names.last == RecordingDirectory.name(3))
        try rotation.append(Self.events(4, count: 2_000))
        #expect(folder.diskUsage <= Self.limit)
        #expect(try read().seconds == [2, 4])
    }

    @Test func `a symbolic link, a file and a directory of another recorder are refused`() throws {
        let link = folder.path + "-link"
        symlink(folder.path, link)
        defer { unlink(link) }
        let file = try TemporaryFile()
        for path in [link, link + "/", file.path, "/nonexistent/directory"] {
            #expect(throws: RecordingError.self) { _ = try RecordingRotation(path: path, limit: Self.limit) }
        }
        let rotation = try rotation()
        let error = #expect(throws: RecordingError.self) { _ = try self.rotation() }
        #expect(error?.reason == .inUse)
        _ = consume rotation
        _ = try self.rotation()
    }

    // A child process has a copy of each descriptor from its start to the program that it executes.
    @Test func `a recorder that ended holds nothing, though copies of its descriptors are open`() throws {
        var first = try rotation()
        try first.begin(nil, Self.snapshot())
        let copies = ProcessResources.descriptors(beginning: folder.path).map { dup($0) }
        defer { for copy in copies { close(copy) } }
        try #require(copies.count == 2)
        try first.end()
        _ = consume first
        let file = open(folder.path(1), O_RDONLY | O_CLOEXEC)
        #expect(WriterLock.state(closing: file) == WriterLock.State())
        _ = try rotation()
    }

    // The recorder ended with a trap at each start.
    @Test(arguments: [9_999_999_999, UInt64.max - 1, .max])
    func `a file with the last number is an error, and one beyond it is of others`(number: UInt64) throws {
        try folder.write(number, [UInt8].origin)
        var rotation = try rotation()
        do throws(RecordingError) {
            try rotation.begin(nil, Self.snapshot())
            #expect(number > 9_999_999_999 && folder.names.contains(RecordingDirectory.name(1)))
        } catch {
            #expect(error.reason == .uncreatable(EOVERFLOW) && number == 9_999_999_999)
        }
        #expect(folder.names.contains(RecordingDirectory.name(number)))
    }

    // The sum of the sizes ended the recorder with a trap.
    @Test(.enabled(if: TemporaryFolder.hasHoles, "/dev/shm has no files of exabytes here"))
    func `files with holes of exabytes are counted, and the oldest are deleted`() throws {
        let folder = try TemporaryFolder(in: "/dev/shm")
        for number in 1...3 as ClosedRange<UInt64> {
            try folder.write(number, [UInt8].origin)
            truncate(folder.path(number), off_t.max)
        }
        var rotation = try RecordingRotation(path: folder.path, limit: Self.limit)
        try rotation.begin(nil, Self.snapshot())
        #expect(folder.names == [RecordingDirectory.name(4)])
    }

    @Test func `a directory that vanishes is an error, and is created again`() throws {
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot())
        folder.remove()
        let error = #expect(throws: RecordingError.self) { try rotation.append(Self.events(1)) }
        #expect(error?.reason == .unwritable(ENOENT, isCut: false))
        try rotation.reopen()
        try rotation.begin(.unwritten(number: ENOENT), Self.snapshot(2))
        try rotation.append(Self.events(3))
        #expect(try read().seconds == [3])
    }

    @Test func `a written file is synchronised once its time has come`() throws {
        var rotation = try rotation()
        try rotation.begin(nil, Self.snapshot())
        var due = rotation.syncDue
        #expect(due == nil)
        try rotation.append(Self.events(1))
        due = rotation.syncDue
        #expect(try #require(due) < .now + .seconds(10))
        try rotation.sync()
        due = rotation.syncDue
        #expect(due == nil)
    }
}

extension [UInt8] {
    fileprivate static var origin: [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(.origin("Linux"))
        return bytes
    }
}

private final class Warnings {
    var errors: [RecordingError] = []
}

/// A folder of a test's own, removed with the value.
final class TemporaryFolder: Sendable {
    let path: String

    /// Whether /dev/shm has files that take nothing and are as long as a number allows.
    static let hasHoles: Bool = {
        guard let folder = try? TemporaryFolder(in: "/dev/shm"), (try? folder.write(1, [])) != nil else {
            return false
        }
        return truncate(folder.path(1), off_t.max) == 0
    }()

    init(in parent: String = "/tmp") throws {
        var name = Array("\(parent)/netlink-recording-XXXXXX".utf8CString)
        guard mkdtemp(&name) != nil else {
            throw RecordingError(path: parent, offset: 0, reason: .uncreatable(errno))
        }
        path = String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        remove()
    }

    func remove() {
        for name in names where unlink("\(path)/\(name)") != 0 { rmdir("\(path)/\(name)") }
        rmdir(path)
    }

    /// The path of a file of a recorder.
    func path(_ number: UInt64) -> String {
        "\(path)/\(RecordingDirectory.name(number))"
    }

    func write(_ number: UInt64, _ bytes: [UInt8]) throws {
        let descriptor = open(path(number), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        defer { close(descriptor) }
        let count = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
        try #require(count == bytes.count)
    }

    /// The names in the folder, sorted.
    var names: [String] { ProcessResources.names(in: path) }

    /// What the regular files take on the disk, in bytes.
    var diskUsage: UInt64 {
        names.reduce(0) { sum, name in
            var status = stat()
            guard lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                return sum
            }
            return sum + UInt64(status.st_blocks) * 512
        }
    }
}
