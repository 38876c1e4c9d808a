// SPDX-License-Identifier: Apache-2.0

internal import CNetlinkShim
internal import RoutingModel

/// A message or an attribute is cut, or too short for its value.
package struct MalformedMessage: Error {}

/// The attributes of a message, or those that are nested in another attribute.
///
/// Valid as long as the bytes of the message. Of several attributes of a type the last one counts.
struct Attributes {
    private var attributes = cnl_attributes()

    /// Reads attributes one after the other up to the end of the bytes.
    init(_ bytes: UnsafeRawBufferPointer) throws(MalformedMessage) {
        guard cnl_parse_attributes(bytes.baseAddress, bytes.count, &attributes) == 0 else {
            throw MalformedMessage()
        }
    }

    /// The highest type of an attribute.
    var highestType: UInt16 { attributes.highest_type }

    /// The bytes of the value of an attribute, whose type is below 64; `nil` where it is missing.
    subscript(_ type: Int) -> UnsafeRawBufferPointer? {
        let attribute = withUnsafeBytes(of: attributes.by_type) { table in
            table.bindMemory(to: UnsafePointer<nlattr>?.self)[type]
        }
        return attribute.map(Self.value)
    }

    /// A value of fixed size; `nil` where it is missing.
    func value<Value: BitwiseCopyable>(
        _ type: Int,
        as _: Value.Type = Value.self
    ) throws(MalformedMessage) -> Value? {
        guard let bytes = self[type] else { return nil }
        guard bytes.count >= MemoryLayout<Value>.size else { throw MalformedMessage() }
        return bytes.loadUnaligned(as: Value.self)
    }

    /// A number; `nil` where it is missing or 0.
    func nonzero<Number: FixedWidthInteger & BitwiseCopyable>(
        _ type: Int
    ) throws(MalformedMessage) -> Number? {
        let number = try value(type, as: Number.self)
        return number == 0 ? nil : number
    }

    /// An address of a family; `nil` where it is missing.
    func address(_ type: Int, _ family: IPAddress.Family?) throws(MalformedMessage) -> IPAddress? {
        guard let bytes = self[type] else { return nil }
        guard let family, bytes.count == family.byteCount, let start = bytes.baseAddress else {
            throw MalformedMessage()
        }
        return IPAddress(family: family, networkBytes: start)
    }

    /// A text of at most some bytes, with or without a NUL behind it; empty where it is missing.
    func text(_ type: Int, limit: Int) throws(MalformedMessage) -> String {
        guard let text = self[type]?.prefix(while: { $0 != 0 }) else { return "" }
        guard text.count <= limit else { throw MalformedMessage() }
        return String(decoding: text, as: UTF8.self)
    }

    /// The attributes in an attribute; `nil` where it is missing.
    func nested(_ type: Int) throws(MalformedMessage) -> Attributes? {
        guard let bytes = self[type] else { return nil }
        return try Attributes(bytes)
    }

    /// Passes each attribute of a list, whose types mean nothing, with the attributes in it; none where the list is
    /// missing.
    func forEach(
        in type: Int,
        _ body: (Attributes) throws(MalformedMessage) -> Void
    ) throws(MalformedMessage) {
        guard let bytes = self[type] else { return }
        var (offset, attribute) = (0, UnsafePointer<nlattr>?.none)
        while true {
            let status = cnl_next_attribute(bytes.baseAddress, bytes.count, &offset, &attribute)
            guard status >= 0 else { throw MalformedMessage() }
            guard status > 0, let attribute else { return }
            try body(Attributes(Self.value(of: attribute)))
        }
    }

    private static func value(of attribute: UnsafePointer<nlattr>) -> UnsafeRawBufferPointer {
        let header = MemoryLayout<nlattr>.size
        return UnsafeRawBufferPointer(
            start: UnsafeRawPointer(attribute) + header, count: Int(attribute.pointee.nla_len) - header)
    }
}

extension NetlinkMessage {
    /// Reads the fixed part of the message, and the attributes behind it.
    func parts<Body: BitwiseCopyable>(
        _: Body.Type
    ) throws(MalformedMessage) -> (body: Body, attributes: Attributes) {
        // Attributes begin at a multiple of four bytes.
        let start = (Self.headerLength + MemoryLayout<Body>.size + 3) & ~3
        let attributes = try Attributes(UnsafeRawBufferPointer(rebasing: bytes.dropFirst(start)))
        return (try body(Body.self), attributes)
    }

    /// Reads the fixed part of the message.
    func body<Body: BitwiseCopyable>(_: Body.Type) throws(MalformedMessage) -> Body {
        guard bytes.count >= Self.headerLength + MemoryLayout<Body>.size else { throw MalformedMessage() }
        return bytes.loadUnaligned(fromByteOffset: Self.headerLength, as: Body.self)
    }
}
