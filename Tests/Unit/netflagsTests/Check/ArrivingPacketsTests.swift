// SPDX-License-Identifier: Apache-2.0

import Testing

/// `netflags --arriving`: what it prints, and its exit status.
struct ArrivingPacketsTests {
    @Test func `a packet that no host outside can send is dropped, and the status is 1`() throws {
        let result = try NetflagsProcess.run("--arriving", "lo", "--from", "ff02::1", "::1")
        #expect(result.status == 1)
        #expect(result.lines == ["::1: dropped: no packet from outside can come from ff02::1; silently"])
    }

    /// They had been dropped as martian.
    ///
    /// Raw sockets send each of these on Linux 6.18, and a UDP socket has received it.
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("12.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"),
        ("240.0.0.1", "127.0.0.1"), ("::1", "::1"), ("2600::1", "::1"),
    ])
    func `what this host sends to itself over the loopback interface is delivered`(
        source: String, target: String
    ) throws {
        let result = try NetflagsProcess.run("--arriving", "lo", "--from", source, target)
        #expect(result.status == 0)
        #expect(result.lines == ["\(target): delivered: this host's own address"])
    }

    @Test func `a line of JSON has every key`() throws {
        let result = try NetflagsProcess.run("--json", "--arriving", "lo", "--from", "ff02::1", "::1")
        let json = try #require(result.lines.first.flatMap { JSONValue($0) })
        #expect(
            json.keys == [
                "target", "outcome", "interface", "gateway", "code", "reason", "error", "icmp",
            ])
        #expect(json["outcome"]?.string == "dropped")
        #expect(json["code"]?.string == "martianSource")
        #expect(json["icmp"] == .null)
    }

    @Test(arguments: [
        (["--from", "192.0.2.1", "192.0.2.2"], "--arriving INTERFACE"),
        (["--arriving", "lo", "--interface", "lo", "192.0.2.2"], "--from"),
        (["--arriving", "lo", "--explain", "192.0.2.2"], "leave out --explain"),
    ])
    func `options that mean nothing for a packet are wrong usage`(arguments: [String], text: String) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 64)
        #expect(result.errors.contains(text), "\(result.errors)")
    }

    @Test(arguments: [
        (["--arriving", "nosuch0", "192.0.2.2"], "192.0.2.2: error: there is no interface \"nosuch0\"\n"),
        (["--arriving", "lo", "db.internal"], "give one that netflags order db.internal prints"),
        (["--arriving", "lo", "--from", "::1", "192.0.2.2"], "different families"),
    ])
    func `what cannot be known has the status 2, and says why`(arguments: [String], text: String) throws {
        let result = try NetflagsProcess.run(arguments)
        #expect(result.status == 2)
        #expect(result.output.contains(text), "\(result.output)")
    }
}
