// SPDX-License-Identifier: Apache-2.0

/// The bytes of rtnetlink messages, as a recording holds them.
struct MessageWriter {
    private(set) var bytes: [UInt8]

    /// Begins a message with its own header, such as `struct ifinfomsg`.
    init(_ type: UInt16, flags: UInt16, _ header: [UInt8]) {
        bytes =
            Self.number(UInt32(0)) + Self.number(type) + Self.number(flags) + [UInt8](repeating: 0, count: 8)
        bytes += header
        finish()
    }

    /// Adds an attribute.
    mutating func add(_ type: UInt16, _ payload: [UInt8]) {
        bytes += Self.attribute(type, payload)
        finish()
    }

    mutating func add(_ type: UInt16, _ number: UInt32) {
        add(type, Self.number(number))
    }

    private mutating func finish() {
        bytes.replaceSubrange(0..<4, with: Self.number(UInt32(bytes.count)))
    }

    static func attribute(_ type: UInt16, _ payload: [UInt8]) -> [UInt8] {
        let padding = [UInt8](repeating: 0, count: (4 - payload.count % 4) % 4)
        return number(UInt16(payload.count + 4)) + number(type) + payload + padding
    }

    static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    /// A time stamp.
    static func time(_ seconds: UInt32) -> [UInt8] {
        MessageWriter(15, flags: 0, number(seconds) + number(UInt32(0))).bytes
    }

    /// An annotation.
    static func annotation(_ kind: UInt16, _ body: [UInt8] = []) -> [UInt8] {
        var message = MessageWriter(
            1, flags: 0, Array("netflags".utf8) + number(UInt16(1)) + number(kind) + body)
        while message.bytes.count % 4 != 0 { message.bytes.append(0) }
        return message.bytes
    }
}
