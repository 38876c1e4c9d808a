// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import Testing

struct TargetTextTests {
    // MARK: What is taken

    @Test(
        arguments: [
            "example.com", "localhost", "a", "EXAMPLE.com", "under_score.example", "_sip._tcp.example.com",
            "trailing.dot.example.", "xn--bcher-kva.example", "bücher.example", "例え.テスト", "1password.com",
            "3com.com", "a-b.c-d", "0x.example", "deadbeef", "1.2.3.4.example", "نامه\u{200C}ای.example",
            String(repeating: "a", count: 63) + ".example",
            String(repeating: "abcdefg.", count: 31) + "abcde",
            String(repeating: "abcdefg.", count: 31) + "abcde.",
        ]
    )
    func `names are taken as they are`(text: String) throws {
        #expect(try ReachabilityTarget.host(text).kind == .host(text))
    }

    @Test(
        arguments: [
            ("192.0.2.1", "192.0.2.1"), ("2001:db8::1", "2001:db8::1"), ("fe80::1%eth0", "fe80::1%eth0"),
            ("fe80::1%3", "fe80::1%3"), ("192.0.2.1%eth0", "192.0.2.1%eth0"), ("127.1", "127.0.0.1"),
            ("1.2.3", "1.2.0.3"), ("2130706433", "127.0.0.1"), ("0x7f.1", "127.0.0.1"),
            ("017700000001", "127.0.0.1"),
            ("127.1%eth0", "127.0.0.1%eth0"), ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
        ]
    )
    func `numeric addresses are read, with their interface`(text: String, expected: String) throws {
        #expect(try ReachabilityTarget.host(text) == .address(address(expected)))
    }

    @Test(arguments: ["0", "0.0", "0.0.0.0", "::", "0x0", "0:0::0"])
    func `zero in any notation is the default path`(text: String) throws {
        #expect(try ReachabilityTarget.host(text) == .defaultPath)
    }

    // MARK: What is refused

    private func message(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> String {
        let error = #expect(throws: ReachabilityError.self, sourceLocation: sourceLocation) {
            try ReachabilityTarget.host(text)
        }
        #expect(error?.code == .invalidHost, sourceLocation: sourceLocation)
        #expect(error?.operation == "read a host", sourceLocation: sourceLocation)
        let message = error?.description ?? ""
        #expect(
            message.contains("give") || message.contains("may have") || message.contains("at most")
                || message.contains("check"), "\(message)", sourceLocation: sourceLocation)
        #expect(message.utf8.count < 700, sourceLocation: sourceLocation)
        #expect(
            message.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control },
            sourceLocation: sourceLocation)
        return message
    }

    @Test(
        arguments: [
            ("http://example.com", "example.com"), ("https://example.com/path?x=1#y", "example.com"),
            ("https://example.com:8443/", "example.com"), ("ftp://user:secret@example.com/", "example.com"),
            ("http://[2001:db8::1]:80/", "2001:db8::1"), ("http://192.0.2.1?x", "192.0.2.1"),
            ("ssh://user@example.com", "example.com"), ("x://example.com#y", "example.com"),
        ]
    )
    func `of a URL the host alone is asked for`(text: String, host: String) {
        #expect(message(text).hasSuffix("is a URL: give the host alone, \(host)"))
    }

    @Test(
        arguments: [
            ("example.com/path", "example.com"), ("example.com:80", "example.com"),
            ("example.com:", "example.com"),
            ("192.0.2.1:80", "192.0.2.1"), ("[2001:db8::1]:80", "2001:db8::1"), ("[::1]", "::1"),
            ("user@example.com", "example.com"), ("192.0.2.0/24", "192.0.2.0"),
            ("2001:db8::/32", "2001:db8::"),
        ]
    )
    func `of a host with something around it the host alone is asked for`(text: String, host: String) {
        #expect(message(text).hasSuffix("give the host alone, \(host)"))
    }

    @Test(arguments: ["http://", "/", "://", ":80", "user@", "[]", "["])
    func `without any host the advice names none`(text: String) {
        #expect(message(text).hasSuffix("give the host alone"))
    }

    @Test func `empty text is refused`() {
        #expect(message("").contains("empty"))
    }

    @Test(arguments: [".", "..", "...", "a..b", ".a", ".example.com", "example.com.."])
    func `empty parts are refused`(text: String) {
        #expect(message(text).contains("empty part"))
    }

    @Test(
        arguments: [
            "300.1.1.1", "1.2.3.4.5", "256.256.256.256", "1.2.3.4.", "192.0.2.999", "99999999999", "1.2.3.08",
            "example.123",
        ]
    )
    func `a text that only looks like an IPv4 address is refused`(text: String) {
        #expect(message(text).contains("not an IPv4 address: give four numbers up to 255"))
    }

    @Test(
        arguments: [
            "::g", "1:2:3", "2001:db8::1::2", ":::", "fe80:", "12345::", "1:2:3:4:5:6:7:8:9", "::1.2.3",
            "a:b",
        ]
    )
    func `a text that only looks like an IPv6 address is refused`(text: String) {
        let message = message(text)
        #expect(
            message.contains("not an IPv6 address: check its groups")
                || message.contains("give the host alone"))
    }

    @Test func `an interface without an address is refused`() {
        #expect(message("%eth0").contains("no address before its interface"))
        #expect(message("%").contains("no address before its interface"))
    }

    @Test(arguments: ["name%eth0", "example.com%3", "name%"]) func `an interface on a name is refused`(
        text: String
    ) {
        let name = text.prefix { $0 != "%" }
        #expect(message(text).contains("ask about \(name) and give the interface as an option"))
    }

    @Test(
        arguments: [
            "fe80::1%", "fe80::1%averyveryverylongname", "192.0.2.1%", "127.1%", "fe80::1%sixteen_bytes_xy",
        ]
    )
    func `an address with an impossible interface blames the interface`(text: String) {
        #expect(
            message(text).contains("does not name an interface: give a name of 1 to 15 bytes or an index"))
    }

    @Test(
        arguments: [
            ("exa mple.com", "a space"), (" example.com", "a space"), ("exa\tmple", "white space"),
            ("example.com\n", "white space"), ("exa\u{0}mple", "a control character"),
            ("exa\u{1b}[31mmple", "a control character"), ("exa\u{7f}mple", "a control character"),
            ("exa\u{85}mple", "a control character"), ("exa\u{202e}mple", "a control character"),
            ("exa\u{a0}mple", "white space"), ("exa\u{2028}mple", "a control character"),
            ("exa,mple", "the character ,"), ("a*b", "the character *"), ("exa\"mple", "the character \""),
            ("what?", "the character ?"),
        ]
    )
    func `characters that no name has are refused and named`(text: String, named: String) {
        #expect(message(text).contains("has \(named) in it"))
    }

    @Test(arguments: ["127.0.0.1\u{0}", "::1\u{0}x", "a\u{0}"])
    func `text after a NUL is refused, not dropped`(text: String) {
        #expect(throws: ReachabilityError.self) { try ReachabilityTarget.host(text) }
    }

    @Test func `names that are too long are refused`() {
        #expect(message(String(repeating: "a", count: 64) + ".example").contains("64 bytes: it may have 63"))
        let name = String(repeating: "abcdefg.", count: 31) + "abcdef"
        #expect(message(name).contains("has 254 bytes: a host name has at most 253"))
        // The limit counts bytes: beyond ASCII there are fewer characters than bytes.
        #expect(message(String(repeating: "ü", count: 32) + ".example").contains("64 bytes"))
    }

    @Test(arguments: ["a", ".", ":", "1", "%", "/", "@", "[", "a.", "http://", "\u{0}", "é", "1.", "\u{301}"])
    func `a megabyte is refused with a short message`(piece: String) {
        let text = String(repeating: piece, count: 1_048_576 / piece.utf8.count)
        #expect(message(text).utf8.count < 700)
    }

    @Test func `a megabyte after a scheme is not repeated in the error`() {
        #expect(message("http://" + String(repeating: "a", count: 1_048_576)).utf8.count < 700)
    }
}
