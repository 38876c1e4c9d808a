// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import NetlinkReachability
package import RoutingModel

/// A statement of the recorder between the kernel's messages.
///
/// An annotation is the payload of an NLMSG_NOOP, which `ip monitor file` and all other readers skip. The payload, in
/// host byte order:
///
///     0  8 bytes  "netflags"
///     8  u16      version of the annotation's layout: 1
///    10  u16      kind
///    12  ...      body
///
/// Readers skip NOOPs of other programs, later versions and unknown kinds. `docs/examples/recording-format.md` lists
/// the kinds.
package enum RecordingAnnotation: Hashable, Sendable {
    /// The origin of the recording: operating system, release, machine. Kind 1, text.
    case origin(String)
    /// A dump of all tables begins. It replaces all earlier state. Kind 2, empty.
    case dumpBegins
    /// The dump and its annotations end. Kind 3, empty.
    case dumpEnds
    /// The indices of the interfaces that nl80211 lists as Wi-Fi. Kind 4, u32 each.
    case wirelessInterfaces([UInt32])
    /// The indices of the interfaces that sysfs reports as cellular modems. Kind 5, u32 each.
    case cellularInterfaces([UInt32])
    /// Tables that changed during each attempt to dump them, so that entries can be missing or duplicate. Outside of
    /// a dump, changes of these tables are omitted until the next dump. Kind 6.
    case changingTables([Table])
    /// Tables that the kernel does not have or refused to dump. Kind 7.
    case missingTables([Table])
    /// The recorder could not receive notifications during the dump. Kind 8, empty.
    case unwatched
    /// The kernel dropped notifications here; a new dump follows. Kind 9, empty.
    case overrun
    /// The recording is complete. Kind 10, empty.
    case end
    /// The machine slept for this many milliseconds; a new dump follows. Kind 11, u64.
    case suspended(milliseconds: UInt64)
    /// The recorder could not write for a while, with this errno; a new dump follows. Kind 12, i32.
    case unwritten(number: Int32)
    /// The file continues the previous file, and nothing is missing in between. Kind 13, empty.
    case continued
    /// The clocks of the host: the following time stamps in the file have the offset of this wall clock. Kind 14: u64
    /// and u64 of the boot identifier, i64 CLOCK_BOOTTIME and i64 CLOCK_REALTIME in microseconds. Kind 15 is the same
    /// with a number of the recorder's own, if it does not know the boot identifier.
    case clock(ClockReading)
    /// The number of the recorder's previous file in a directory, 0 for none. Kind 16, u64.
    case follows(UInt64)
    /// The owner of a netlink port in the changes up to the next dump; `nil` if the owner is unknown again. Kind 17:
    /// u32 port, u8 certainty (0 for none), u8 1 if the list is incomplete, u16 number of processes, and for each
    /// process i32 number, u8 and u8 lengths of its name and its unit, and both texts.
    case requester(port: UInt32, Recording.Event.Requester?)

    /// The recorder could not read notifications for this many milliseconds; a new dump follows. Kind 18, u64.
    case stalled(milliseconds: UInt64)
    /// IPv4 settings of all interfaces that no kernel message contains. Kind 19: for each setting u32 its number
    /// (IPV4_DEVCONF_...) and i32 its value.
    case settingsOfAll([Setting])
    /// Whether anything answers on the default path, from here to the next statement or dump; `nil` if that is left
    /// out up to the next dump. Kind 20: u8 verdict (0 for `nil`), u8 whether the gateway answers, u8 family of the
    /// gateway (0 for none), u8 zero, u32 index of the interface (0 for none), u32 connections, u32 those that wait,
    /// u32 remotes, u32 tries, u64 milliseconds of the age, u64 those since the last answer (all bits set for none),
    /// and the gateway in network order and zeros, 16 bytes.
    case evidence(NetworkEvidence?)

    /// A setting of `net.ipv4.conf.all`.
    package struct Setting: Hashable, Sendable {
        /// IPV4_DEVCONF_...
        package var number: UInt32
        /// The value.
        package var value: Int32
    }

    /// One table of one family.
    ///
    /// In the body: u16 number of the request (RTM_GETLINK ...), u8 family, u8 zero, i32 errno.
    package struct Table: Hashable, Sendable {
        /// The table.
        package var table: DumpRequest.Table
        /// The family; `nil` for a table without a family.
        package var family: IPAddress.Family?
        /// The errno of the kernel's refusal, 0 for none.
        package var number: Int32

        /// Creates the name of a table.
        package init(_ table: DumpRequest.Table, family: IPAddress.Family? = nil, number: Int32 = 0) {
            self.table = table
            self.family = family
            self.number = number
        }
    }
}

extension RecordingAnnotation {
    /// The origin of a recording of this host: the output of `uname -srm`.
    package static var currentOrigin: RecordingAnnotation {
        var name = utsname()
        guard uname(&name) == 0 else { return .origin("Linux") }
        let words = [name.sysname, name.release, name.machine].map { String(fixedBytes: $0) }
        return .origin(words.joined(separator: " "))
    }
}

// MARK: - Settings

extension RoutingSettings {
    /// The settings that kind 19 can contain, by number.
    private static var numbered: [(number: UInt32, path: WritableKeyPath<RoutingSettings, Bool?>)] {
        [
            (6, \.sendsRedirects), (23, \.takesOwnSources), (24, \.looksBackByMark),
            (26, \.routesLoopback), (32, \.forwardsBroadcasts),
        ]
    }

    /// The settings with a known value.
    var annotated: [RecordingAnnotation.Setting] {
        Self.numbered.compactMap { number, path in
            self[keyPath: path].map { RecordingAnnotation.Setting(number: number, value: $0 ? 1 : 0) }
        }
    }

    /// Applies the settings of an annotation.
    ///
    /// Settings that this version does not support are skipped.
    mutating func apply(_ settings: [RecordingAnnotation.Setting]) {
        for (number, path) in Self.numbered {
            if let setting = settings.last(where: { $0.number == number }) {
                self[keyPath: path] = setting.value != 0
            }
        }
    }
}

// MARK: - Bytes

extension RecordingAnnotation {
    static let magic = Array("netflags".utf8)
    static let version: UInt16 = 1
    private static let bodyOffset = 12

    /// Reads the payload of an NLMSG_NOOP; `nil` for another program's payload, a later version or an unknown kind.
    package init?(payload: UnsafeRawBufferPointer) {
        guard payload.count >= Self.bodyOffset, payload.prefix(8).elementsEqual(Self.magic),
            payload.loadUnaligned(fromByteOffset: 8, as: UInt16.self) == Self.version
        else { return nil }
        let body = UnsafeRawBufferPointer(rebasing: payload[Self.bodyOffset...])
        let kind = payload.loadUnaligned(fromByteOffset: 10, as: UInt16.self)
        switch kind {
        case 1: self = .origin(String(decoding: body.prefix { $0 != 0 }, as: UTF8.self))
        case 2: self = .dumpBegins
        case 3: self = .dumpEnds
        case 4: self = .wirelessInterfaces(Self.indexes(body))
        case 5: self = .cellularInterfaces(Self.indexes(body))
        case 6: self = .changingTables(Self.tables(body))
        case 7: self = .missingTables(Self.tables(body))
        case 8: self = .unwatched
        case 9: self = .overrun
        case 10: self = .end
        case 11 where body.count >= 8: self = .suspended(milliseconds: body.loadUnaligned(as: UInt64.self))
        case 18 where body.count >= 8: self = .stalled(milliseconds: body.loadUnaligned(as: UInt64.self))
        case 12 where body.count >= 4: self = .unwritten(number: body.loadUnaligned(as: Int32.self))
        case 13: self = .continued
        case 14 where body.count >= 32, 15 where body.count >= 32:
            guard var reading = ClockReading(body) else { return nil }
            reading.isBootKnown = kind == 14
            self = .clock(reading)
        case 16 where body.count >= 8: self = .follows(body.loadUnaligned(as: UInt64.self))
        case 17 where body.count >= 8:
            let requester = Recording.Event.Requester(body)
            guard requester != nil || body[4] == 0 else { return nil }
            self = .requester(port: body.loadUnaligned(as: UInt32.self), requester)
        case 19:
            self = .settingsOfAll(
                (0..<body.count / 8).map {
                    Setting(
                        number: body.loadUnaligned(fromByteOffset: $0 * 8, as: UInt32.self),
                        value: body.loadUnaligned(fromByteOffset: $0 * 8 + 4, as: Int32.self))
                })
        case 20 where body.count >= 4:
            let evidence = NetworkEvidence(body)
            guard evidence != nil || body[0] == 0 else { return nil }
            self = .evidence(evidence)
        default: return nil
        }
    }

    /// The payload of the annotation's NLMSG_NOOP.
    package var payload: [UInt8] {
        switch self {
        case .origin(let text): Self.payload(1, Array(text.utf8.prefix(255)))
        case .dumpBegins: Self.payload(2)
        case .dumpEnds: Self.payload(3)
        case .wirelessInterfaces(let indexes): Self.payload(4, indexes.flatMap(\.hostBytes))
        case .cellularInterfaces(let indexes): Self.payload(5, indexes.flatMap(\.hostBytes))
        case .changingTables(let tables): Self.payload(6, tables.flatMap(\.bytes))
        case .missingTables(let tables): Self.payload(7, tables.flatMap(\.bytes))
        case .unwatched: Self.payload(8)
        case .overrun: Self.payload(9)
        case .end: Self.payload(10)
        case .suspended(let milliseconds): Self.payload(11, milliseconds.hostBytes)
        case .stalled(let milliseconds): Self.payload(18, milliseconds.hostBytes)
        case .unwritten(let number): Self.payload(12, number.hostBytes)
        case .continued: Self.payload(13)
        case .clock(let reading): Self.payload(reading.isBootKnown ? 14 : 15, reading.bytes)
        case .follows(let number): Self.payload(16, number.hostBytes)
        case .settingsOfAll(let settings):
            Self.payload(19, settings.flatMap { $0.number.hostBytes + $0.value.hostBytes })
        case .requester(let port, let requester):
            Self.payload(17, port.hostBytes + (requester?.bytes ?? [0, 0, 0, 0]))
        case .evidence(let evidence): Self.payload(20, evidence?.bytes ?? [0, 0, 0, 0])
        }
    }

    private static func payload(_ kind: UInt16, _ body: [UInt8] = []) -> [UInt8] {
        magic + version.hostBytes + kind.hostBytes + body
    }

    private static func indexes(_ body: UnsafeRawBufferPointer) -> [UInt32] {
        (0..<body.count / 4).map { body.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self) }
    }

    private static func tables(_ body: UnsafeRawBufferPointer) -> [Table] {
        (0..<body.count / 8).compactMap { Table(UnsafeRawBufferPointer(rebasing: body[($0 * 8)...])) }
    }
}

extension RecordingAnnotation.Table {
    fileprivate var bytes: [UInt8] {
        table.rawValue.hostBytes + [family?.rawValue ?? 0, 0] + number.hostBytes
    }

    /// Reads 8 bytes; `nil` for a table of a later version.
    fileprivate init?(_ bytes: UnsafeRawBufferPointer) {
        guard let table = DumpRequest.Table(rawValue: bytes.loadUnaligned(as: UInt16.self)) else {
            return nil
        }
        self.init(
            table,
            family: IPAddress.Family(rawValue: bytes[2]),
            number: bytes.loadUnaligned(fromByteOffset: 4, as: Int32.self)
        )
    }
}

extension Recording.Event.Requester {
    private static let certainties: [Certainty] = [.holder, .holders, .candidates, .gone]

    fileprivate var bytes: [UInt8] {
        let number = UInt8((Self.certainties.firstIndex(of: certainty) ?? 0) + 1)
        return [number, isCut ? 1 : 0] + UInt16(processes.count).hostBytes + processes.flatMap(\.bytes)
    }

    /// Reads the body after the port; `nil` for an unknown certainty, and for a missing or truncated list of
    /// processes.
    fileprivate init?(_ body: UnsafeRawBufferPointer) {
        let number = Int(body[4])
        guard Self.certainties.indices.contains(number - 1) else { return nil }
        var (processes, rest) = ([Process](), body[8...])
        for _ in 0..<min(Int(body.loadUnaligned(fromByteOffset: 6, as: UInt16.self)), Self.limit) {
            guard let process = Process(&rest) else { return nil }
            processes.append(process)
        }
        let certainty = Self.certainties[number - 1]
        let isPlausible =
            switch certainty {
            case .holder: processes.count == 1
            case .holders: processes.count > 1
            case .candidates: !processes.isEmpty
            case .gone: processes.isEmpty
            }
        guard isPlausible else { return nil }
        self.init(certainty: certainty, processes: processes, isCut: body[5] == 1)
    }
}

extension Recording.Event.Requester.Process {
    fileprivate var bytes: [UInt8] {
        let (name, unit) = (name.utf8.prefix(255), unit?.utf8.prefix(255) ?? "".utf8[...])
        return identifier.hostBytes + [UInt8(name.count), UInt8(unit.count)] + name + unit
    }

    /// Reads a process and removes it from the bytes; `nil` if it is truncated.
    fileprivate init?(_ rest: inout Slice<UnsafeRawBufferPointer>) {
        guard rest.count >= 6 else { return nil }
        let identifier = UnsafeRawBufferPointer(rebasing: rest.prefix(4)).loadUnaligned(as: Int32.self)
        let (name, unit) = (Int(rest[rest.startIndex + 4]), Int(rest[rest.startIndex + 5]))
        rest = rest.dropFirst(6)
        guard rest.count >= name + unit else { return nil }
        func text(_ count: Int) -> String {
            defer { rest = rest.dropFirst(count) }
            return String(decoding: rest.prefix(count), as: UTF8.self)
        }
        let words = (text(name), text(unit))
        self.init(identifier: identifier, name: words.0, unit: words.1.isEmpty ? nil : words.1)
    }
}

extension NetworkEvidence {
    private static let verdicts: [Verdict] = [
        .none, .answered, .silent, .gatewaySilent, .notLeaving, .newConnectionsUnanswered,
    ]
    private static let gateways: [Gateway] = [.unknown, .answers, .silent]

    /// The body of an annotation, without what identifies a remote.
    fileprivate var bytes: [UInt8] {
        func index<Element: Equatable>(_ value: Element, _ all: [Element]) -> UInt8 {
            UInt8(all.firstIndex(of: value) ?? 0)
        }
        func milliseconds(_ age: Duration?) -> UInt64 {
            age.map { UInt64(max(0, $0 / .milliseconds(1))) } ?? .max
        }
        let counts = [connections, waitingConnections, remotes, tries].map { UInt32(clamping: $0) }
        let address = gatewayAddress?.networkBytes ?? []
        let head = [
            index(verdict, Self.verdicts) + 1, index(gateway, Self.gateways),
            gatewayAddress?.family.rawValue ?? 0, 0,
        ]
        return head + (interfaceIndex ?? 0).hostBytes + counts.flatMap(\.hostBytes)
            + milliseconds(age).hostBytes + milliseconds(lastAnswer).hostBytes
            + address + Array(repeating: 0, count: 16 - address.count)
    }

    /// Reads a body; `nil` for one without evidence, and for one that is truncated or has an unknown verdict.
    fileprivate init?(_ body: UnsafeRawBufferPointer) {
        guard body.count >= 56, Self.verdicts.indices.contains(Int(body[0]) - 1),
            Self.gateways.indices.contains(Int(body[1]))
        else { return nil }
        func number(_ offset: Int) -> UInt32 { body.loadUnaligned(fromByteOffset: offset, as: UInt32.self) }
        func age(_ offset: Int) -> Duration? {
            let milliseconds = body.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            // Two centuries: sums of longer times could overflow.
            return milliseconds < 1 << 43 ? .milliseconds(Int64(milliseconds)) : nil
        }
        self.init()
        (verdict, gateway) = (Self.verdicts[Int(body[0]) - 1], Self.gateways[Int(body[1])])
        interfaceIndex = number(4) == 0 ? nil : number(4)
        (connections, waitingConnections) = (Int(number(8)), Int(number(12)))
        (remotes, tries) = (Int(number(16)), Int(number(20)))
        (self.age, lastAnswer) = (age(24), age(32))
        gatewayAddress = IPAddress.Family(rawValue: body[2]).flatMap {
            IPAddress(bytes: body[40..<($0 == .v4 ? 44 : 56)])
        }
    }
}

extension ClockReading {
    fileprivate var bytes: [UInt8] {
        UInt64(boot >> 64).hostBytes + UInt64(truncatingIfNeeded: boot).hostBytes + sinceBoot.hostBytes
            + sinceEpoch.hostBytes
    }

    /// Reads 32 bytes; `nil` for times of more than two centuries, whose sums could overflow.
    fileprivate init?(_ bytes: UnsafeRawBufferPointer) {
        self.init(
            boot: UInt128(bytes.loadUnaligned(as: UInt64.self)) << 64
                | UInt128(bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)),
            sinceBoot: bytes.loadUnaligned(fromByteOffset: 16, as: Int64.self),
            sinceEpoch: bytes.loadUnaligned(fromByteOffset: 24, as: Int64.self)
        )
        guard max(sinceBoot.magnitude, sinceEpoch.magnitude) < 1 << 53 else { return nil }
    }
}

extension FixedWidthInteger {
    /// The bytes of the number in host order.
    var hostBytes: [UInt8] {
        withUnsafeBytes(of: self, Array.init)
    }
}
