// SPDX-License-Identifier: Apache-2.0

internal import Glibc

/// The name of a file, or a path, as a text.
///
/// A name can have any bytes. The text of a name in valid UTF-8 is the name itself. In other names, each byte that is
/// not part of a character becomes a private-use character: U+10F700 plus the byte. If the name itself contains such a
/// character, each byte of that character is replaced in the same way, so that different names have different texts.
extension String {
    /// The text of a name.
    package init(fileName: UnsafePointer<CChar>) {
        self.init(fileName: UnsafeRawBufferPointer(start: fileName, count: strlen(fileName)))
    }

    /// The text of a name.
    package init(fileName bytes: some Collection<UInt8>) {
        if let text = String(validating: bytes, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.fileNameByte != nil })
        {
            self = text
            return
        }
        self.init()
        var rest = bytes[...]
        while true {
            var parser = Unicode.UTF8.ForwardParser()
            var iterator = rest.makeIterator()
            let count: Int
            switch parser.parseScalar(from: &iterator) {
            case .emptyInput: return
            case .error(let length): count = length
            case .valid(let encoded):
                let scalar = Unicode.UTF8.decode(encoded)
                count = encoded.count
                guard scalar.fileNameByte != nil else {
                    unicodeScalars.append(scalar)
                    rest = rest.dropFirst(count)
                    continue
                }
            }
            unicodeScalars.append(
                contentsOf: rest.prefix(count).compactMap(Unicode.Scalar.init(fileNameByte:)))
            rest = rest.dropFirst(count)
        }
    }

    /// The bytes of the name that has this text, with a final 0, for system calls.
    package var fileName: [CChar] {
        var name: [CChar] = []
        name.reserveCapacity(utf8.count + 1)
        for scalar in unicodeScalars {
            if let byte = scalar.fileNameByte {
                name.append(CChar(bitPattern: byte))
            } else {
                name.append(contentsOf: UTF8.encode(scalar).map { $0.map(CChar.init(bitPattern:)) } ?? [])
            }
        }
        return name + [0]
    }

    /// The text with `\xE9` for a byte E9 that is not UTF-8.
    package var showingFileNameBytes: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            guard let byte = scalar.fileNameByte else { return text.unicodeScalars.append(scalar) }
            text += "\\x\(String(byte, radix: 16, uppercase: true))"
        }
    }
}

extension Unicode.Scalar {
    private static let firstFileNameByte: UInt32 = 0x10_F780

    fileprivate init?(fileNameByte byte: UInt8) {
        self.init(Self.firstFileNameByte - 0x80 + UInt32(byte))
    }

    /// The byte that this character replaces in the text of a name; `nil` for other characters.
    var fileNameByte: UInt8? {
        guard value >= Self.firstFileNameByte, value <= Self.firstFileNameByte + 0x7F else { return nil }
        return UInt8(truncatingIfNeeded: value)
    }
}
