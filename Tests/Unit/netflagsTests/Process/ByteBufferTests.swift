// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import Testing

@testable import netflags

struct ByteBufferTests {
    private func text(_ write: (inout ByteBuffer) -> Void) -> String {
        var buffer = ByteBuffer()
        write(&buffer)
        return String(decoding: buffer.bytes, as: UTF8.self)
    }

    @Test func `commas stand between values and nowhere else`() {
        let json = text { json in
            json.object { json in
                json.member("a", [[1, 2], []])
                json.member("b", objects: ["x", ""]) { $1.member("text", $0) }
                json.member("c", object: 3) { _, _ in }
                json.member("d", objects: nil as [Int]?) { _, _ in }
                json.member("e", true)
                json.member("f", nil as String?)
            }
        }
        #expect(json == #"{"a":[[1,2],[]],"b":[{"text":"x"},{"text":""}],"c":{},"d":null,"e":true,"f":null}"#)
    }

    @Test func `a value that ends like the start of an array or object is followed by a comma`() {
        let json = text { ["[", "{", ":", "\n", ""].writeJSON(to: &$0) }
        #expect(json == #"["[","{",":","\n",""]"#)
    }

    @Test(
        arguments: [
            ("plain", #""plain""#), ("a\"b", #""a\"b""#), ("a\\b", #""a\\b""#), ("\n\r\t", #""\n\r\t""#),
            ("\u{0}\u{1F}\u{7F}", #""\u0000\u001f\u007f""#),
            ("a\u{80}\u{9B}\u{9F}\u{A0}é", "\"a\\u0080\\u009b\\u009f\u{A0}é\""), ("é€😀", "\"é€😀\""),
            ("", #""""#),
        ]
    )
    func `strings are escaped as RFC 8259 wants it`(given: String, expected: String) {
        #expect(text { given.writeJSON(to: &$0) } == expected)
    }

    @Test func `every scalar up to U+0FFF comes back from a strict reader`() {
        for number in UInt32(0)...0xFFF {
            guard let scalar = Unicode.Scalar(number) else { continue }
            let given = "x\(Character(scalar))y"
            let json = text { given.writeJSON(to: &$0) }
            #expect(JSONValue(json) == .string(given), "U+\(String(number, radix: 16))")
        }
    }

    @Test func `an address is a string, with the zone escaped`() throws {
        let scoped = try #require(IPAddress("fe80::1%a\"b"))
        #expect(text { IPAddress.loopbackV6.writeJSON(to: &$0) } == "\"::1\"")
        #expect(text { scoped.writeJSON(to: &$0) } == #""fe80::1%a\"b""#)
        #expect(text { (nil as IPAddress?).writeJSON(to: &$0) } == "null")
    }

    @Test(
        arguments: [
            ("plain é", "plain é"), ("\u{1B}[31m", "\u{FFFD}[31m"),
            ("a\nb\rc\td", "a\u{FFFD}b\u{FFFD}c\u{FFFD}d"),
            ("\u{202E}evil", "\u{FFFD}evil"), ("\u{9B}1m", "\u{FFFD}1m"), ("\u{2028}", "\u{FFFD}"),
        ]
    )
    func `what could disturb a terminal is replaced in text`(given: String, expected: String) {
        #expect(text { $0.append(printable: given) } == expected)
    }
}
