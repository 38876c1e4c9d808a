// SPDX-License-Identifier: Apache-2.0

#if NetworkManagers

    internal import CSystemd

    extension BusValue {
        /// Reads the next value of a message; `nil` at the end of the message or of a container.
        ///
        /// sd-bus has checked the message. Its containers are nested at most 64 deep.
        ///
        /// - Throws: The error of sd-bus.
        init?(nextOf message: OpaquePointer) throws(ManagerError) {
            var type: CChar = 0
            var contents: UnsafePointer<CChar>?
            guard try ManagerError.check(sd_bus_message_peek_type(message, &type, &contents)) > 0 else {
                return nil
            }
            switch UInt8(bitPattern: type) {
            case UInt8(ascii: "s"), UInt8(ascii: "o"), UInt8(ascii: "g"):
                var text: UnsafePointer<CChar>?
                try ManagerError.check(sd_bus_message_read_basic(message, type, &text))
                self = .text(text.map { String(cString: $0) } ?? "")
            case UInt8(ascii: "y"): self = .number(Int64(try Self.basic(message, type, UInt8(0))))
            case UInt8(ascii: "b"): self = .number(Int64(try Self.basic(message, type, Int32(0))))
            case UInt8(ascii: "n"): self = .number(Int64(try Self.basic(message, type, Int16(0))))
            case UInt8(ascii: "q"): self = .number(Int64(try Self.basic(message, type, UInt16(0))))
            case UInt8(ascii: "i"): self = .number(Int64(try Self.basic(message, type, Int32(0))))
            case UInt8(ascii: "u"): self = .number(Int64(try Self.basic(message, type, UInt32(0))))
            case UInt8(ascii: "x"): self = .number(try Self.basic(message, type, Int64(0)))
            case UInt8(ascii: "t"): self = .number(Int64(clamping: try Self.basic(message, type, UInt64(0))))
            case UInt8(ascii: "a") where contents.map { String(cString: $0) } == "y":
                var start: UnsafeRawPointer?
                var count = 0
                try ManagerError.check(
                    sd_bus_message_read_array(message, CChar(UInt8(ascii: "y")), &start, &count))
                self = .bytes(Array(UnsafeRawBufferPointer(start: start, count: count)))
            case UInt8(ascii: "a"), UInt8(ascii: "v"), UInt8(ascii: "r"), UInt8(ascii: "e"):
                let isDictionary = contents.map { $0[0] == CChar(UInt8(ascii: "{")) } == true
                let isVariant = type == CChar(UInt8(ascii: "v"))
                try ManagerError.check(sd_bus_message_enter_container(message, type, contents))
                var values: [BusValue] = []
                while let value = try BusValue(nextOf: message) { values.append(value) }
                try ManagerError.check(sd_bus_message_exit_container(message))
                self =
                    isVariant
                    ? values.first ?? .other : isDictionary ? Self.dictionary(of: values) : .list(values)
            default:
                try ManagerError.check(sd_bus_message_skip(message, nil))
                self = .other
            }
        }

        private static func basic<Number>(
            _ message: OpaquePointer, _ type: CChar, _ zero: Number
        ) throws(ManagerError) -> Number {
            var number = zero
            let status = withUnsafeMutablePointer(to: &number) {
                sd_bus_message_read_basic(message, type, $0)
            }
            try ManagerError.check(status)
            return number
        }

        /// Creates a dictionary from its entries, which are lists of a key and a value.
        ///
        /// Entries whose key is not text are dropped.
        private static func dictionary(of entries: [BusValue]) -> BusValue {
            .dictionary(
                entries.reduce(into: [:]) { values, entry in
                    guard case .list(let pair) = entry, pair.count == 2, case .text(let key) = pair[0] else {
                        return
                    }
                    values[key] = pair[1]
                })
        }
    }

#endif
