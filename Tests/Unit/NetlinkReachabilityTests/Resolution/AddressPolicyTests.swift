// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import NetlinkReachability

/// ``AddressPolicy``, and how it reads gai.conf.
struct AddressPolicyTests {
    private static let labels = [
        "::1", "2002::1", "::1.2.3.4", "192.0.2.1", "fec0::1", "fd00::1", "2001::1", "2600::1",
    ]

    @Test func `the standard labels and precedences are those of the GNU C library`() {
        let policy = AddressPolicy.standard
        #expect(Self.labels.map { policy.label(of: address($0)) } == [0, 2, 3, 4, 5, 6, 7, 1])
        #expect(Self.labels.map { policy.precedence(of: address($0)) } == [50, 30, 20, 10, 40, 40, 40, 40])
    }

    @Test func `RFC 6724 puts unique local addresses behind IPv4`() {
        let policy = AddressPolicy.rfc6724
        #expect(Self.labels.map { policy.label(of: address($0)) } == [0, 2, 3, 4, 11, 13, 5, 1])
        #expect(Self.labels.map { policy.precedence(of: address($0)) } == [50, 30, 1, 35, 1, 3, 5, 40])
    }

    @Test(arguments: [
        ("fe80::1", 2), ("::1", 2), ("fec0::1", 5), ("2600::1", 14), ("fd00::1", 14), ("ff02::1", 2),
        ("ff15::1", 5),
        ("ff0e::1", 14), ("127.9.9.9", 2), ("169.254.0.1", 2), ("10.0.0.1", 14), ("192.0.2.1", 14),
    ])
    func `an address has the scope of RFC 6724`(text: String, scope: Int) {
        #expect(AddressPolicy.standard.scope(of: address(text)) == scope)
    }

    @Test func `a text without entries is the standard policy`() {
        #expect(AddressPolicy(gaiConf: "") == .standard)
        #expect(AddressPolicy(gaiConf: "# label ::1/128 7\n\n \t#\nreload no\n") == .standard)
    }

    @Test func `one line replaces the table of its kind and no other`() {
        let policy = AddressPolicy(gaiConf: "label 2001:db8::/32 9\n")
        #expect(policy.label(of: address("2001:db8::1")) == 9)
        #expect(Self.labels.map { policy.label(of: address($0)) } == Array(repeating: 1, count: 8))
        #expect(policy.precedences == AddressPolicy.standard.precedences)
        #expect(policy.scopes == AddressPolicy.standard.scopes)
    }

    @Test func `what no prefix matches has the label 1, the precedence 40 and the scope 14`() {
        let policy = AddressPolicy(
            gaiConf: "label fd00::/8 7\nprecedence fd00::/8 7\nscopev4 10.0.0.0/8 5")
        #expect(policy.label(of: address("::1")) == 1)
        #expect(policy.precedence(of: address("::1")) == 40)
        #expect(policy.scope(of: address("127.0.0.1")) == 14)
        #expect(policy.scope(of: address("10.1.2.3")) == 5)
    }

    @Test func `a prefix of length 0 replaces that`() {
        let policy = AddressPolicy(
            gaiConf: "label ::/0 7\nprecedence ::/0 8\nscopev4 ::ffff:0.0.0.0/96 9")
        #expect(policy.label(of: address("2600::1")) == 7)
        #expect(policy.precedence(of: address("2600::1")) == 8)
        #expect(policy.scope(of: address("127.0.0.1")) == 9)
    }

    @Test func `the longest prefix counts, and the first of equally long ones`() {
        let policy = AddressPolicy(
            gaiConf: """
                label 2001:db8::/32 2
                label 2001:db8:1::/48 3
                label 2001:db8:1::/48 4
                label 2001:d00::/24 5
                """)
        #expect(policy.label(of: address("2001:db8:1::1")) == 3)
        #expect(policy.label(of: address("2001:db8:2::1")) == 2)
        #expect(policy.label(of: address("2001:d00::1")) == 5)
    }

    @Test func `bits behind the length do not count`() {
        let policy = AddressPolicy(gaiConf: "label 2001:db8::ffff/32 2\nscopev4 10.9.9.9/8 5")
        #expect(policy.label(of: address("2001:db8::1")) == 2)
        #expect(policy.scope(of: address("10.1.1.1")) == 5)
    }

    @Test func `an IPv4 address has the label of its mapped prefix`() {
        let policy = AddressPolicy(gaiConf: "label ::ffff:10.0.0.0/104 8\nprecedence ::ffff:0:0/96 100")
        #expect(policy.label(of: address("10.0.0.1")) == 8)
        #expect(policy.label(of: address("192.0.2.1")) == 1)
        #expect(policy.precedence(of: address("192.0.2.1")) == 100)
    }

    @Test func `the rest of a line, comments and white space do not count`() {
        let policy = AddressPolicy(gaiConf: "\u{b} \tlabel\u{c}fd00::/8 \t 7 8 9 # 10\r\nlabel fe00::/8 6#7")
        #expect(policy.label(of: address("fd00::1")) == 7)
        #expect(policy.label(of: address("fe00::1")) == 6)
        #expect(policy.notes == [])
    }

    @Test func `numbers are those of strtoul, and a missing one is 0`() {
        let policy = AddressPolicy(
            gaiConf: "label fd00::/+8 +7\nlabel 2001:db8::/32\nlabel 2002::/ 3\nlabel ::1 -0")
        #expect(policy.label(of: address("fd00::1")) == 7)
        #expect(policy.label(of: address("2001:db8::1")) == 0)
        #expect(policy.label(of: address("2600::1")) == 3)
        #expect(policy.label(of: address("::1")) == 0)
        #expect(policy.notes == [])
    }

    @Test(arguments: [
        ("label 2001:db8::/129 1", "\"2001:db8::/129\" has no length from 0 to 128"),
        ("label 2001:db8::/3x 1", "\"2001:db8::/3x\" has no length from 0 to 128"),
        ("label 2001:db8::/32/1 1", "\"2001:db8::/32/1\" has no length from 0 to 128"),
        ("label ::/-1 1", "\"::/-1\" has no length from 0 to 128"),
        ("label ::/+ 1", "\"::/+\" has no length from 0 to 128"),
        ("label 10.0.0.0/8 1", "\"10.0.0.0\" is not an IPv6 address"),
        ("label fe80::%eth0/64 1", "\"fe80::%eth0\" is not an IPv6 address"),
        ("label", "\"\" is not an IPv6 address"),
        ("precedence ::/0 x", "\"x\" is not a number from 0 to 2147483647"),
        ("precedence ::/0 -1", "\"-1\" is not a number from 0 to 2147483647"),
        ("precedence ::/0 2147483648", "\"2147483648\" is not a number from 0 to 2147483647"),
        (
            "precedence ::/0 99999999999999999999999",
            "\"99999999999999999999999\" is not a number from 0 to 2147483647"
        ),
        ("scopev4 ::ffff:10.0.0.0/95 1", "\"::ffff:10.0.0.0/95\" has no length from 96 to 128"),
        ("scopev4 10.0.0.0/33 1", "\"10.0.0.0/33\" has no length from 0 to 32"),
        ("scopev4 fd00::/100 1", "\"fd00::\" is not an IPv4 or IPv4-mapped address"),
        ("lable ::/0 1", "\"lable\" is none of label, precedence, scopev4 and reload"),
        ("Label ::/0 1", "\"Label\" is none of label, precedence, scopev4 and reload"),
    ])
    func `a malformed line has no effect, and a note`(line: String, note: String) {
        let policy = AddressPolicy(gaiConf: "# first\n\(line)\n")
        #expect(policy.notes == ["line 2: \(note)"])
        var without = policy
        without.notes = []
        #expect(without == .standard)
    }

    @Test func `a file is read again only after reload yes`() {
        #expect(AddressPolicy(gaiConf: "reload yes").isReloaded)
        #expect(!AddressPolicy(gaiConf: "reload yes\nreload no").isReloaded)
        #expect(!AddressPolicy(gaiConf: "reload").isReloaded)
    }
}
