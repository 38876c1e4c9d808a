// SPDX-License-Identifier: Apache-2.0

import Foundation
import LinuxSystemConfiguration
import NetlinkReachability
import Testing

struct NamesTests {
    @Test func `the ten flags have Apple's bits, which are this package's`() {
        let flags: [(SCNetworkReachabilityFlags, ReachabilityFlags, UInt32)] = [
            (.transientConnection, .transientConnection, 0x1),
            (.reachable, .reachable, 0x2),
            (.connectionRequired, .connectionRequired, 0x4),
            (.connectionOnTraffic, .connectionOnTraffic, 0x8),
            (.connectionAutomatic, .connectionOnTraffic, 0x8),
            (.interventionRequired, .interventionRequired, 0x10),
            (.connectionOnDemand, .connectionOnDemand, 0x20),
            (.isLocalAddress, .isLocalAddress, 0x10000),
            (.isDirect, .isDirect, 0x20000),
            (.isWWAN, .isWWAN, 0x40000),
        ]
        for (apple, own, bits) in flags {
            #expect(apple.rawValue == bits)
            #expect(own.rawValue == bits)
        }
    }

    @Test func `the older constants are numbers of the same bits`() {
        let flags: SCNetworkReachabilityFlags = [.reachable, .connectionRequired]
        #expect(flags.rawValue & UInt32(kSCNetworkFlagsReachable) != 0)
        #expect(flags.rawValue & UInt32(kSCNetworkFlagsConnectionRequired) != 0)
        #expect(flags.rawValue & UInt32(kSCNetworkFlagsInterventionRequired) == 0)
        #expect(kSCNetworkFlagsTransientConnection == 1)
        #expect(kSCNetworkFlagsConnectionAutomatic == 8)
        #expect(kSCNetworkFlagsIsLocalAddress == 1 << 16)
        #expect(kSCNetworkFlagsIsDirect == 1 << 17)
    }

    @Test func `C's names are the flags`() {
        #expect(kSCNetworkReachabilityFlagsReachable == .reachable)
        #expect(kSCNetworkReachabilityFlagsConnectionAutomatic == .connectionOnTraffic)
        #expect(kSCNetworkReachabilityFlagsIsWWAN == .isWWAN)
    }

    @Test func `socket addresses have the length of their family for any set value`() {
        var plain = sockaddr(
            sa_len: 0, sa_family: sa_family_t(AF_INET), sa_data: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        plain.sa_len = 99
        #expect(plain.sa_len == 16)
        plain.sa_family = sa_family_t(AF_INET6)
        #expect(plain.sa_len == 28)
        let v4 = sockaddr_in(
            sin_len: 0, sin_family: sa_family_t(AF_INET), sin_port: 0, sin_addr: in_addr(s_addr: 0),
            sin_zero: (0, 0, 0, 0, 0, 0, 0, 0))
        #expect(v4.sin_len == 16)
        let v6 = sockaddr_in6(
            sin6_len: 0, sin6_family: sa_family_t(AF_INET6), sin6_port: 0, sin6_flowinfo: 0,
            sin6_addr: in6_addr(),
            sin6_scope_id: 3)
        #expect(v6.sin6_len == 28)
        #expect(v6.sin6_scope_id == 3)
        var storage = sockaddr_storage()
        #expect(storage.ss_len == 128)
        storage.ss_family = sa_family_t(AF_INET)
        #expect(storage.ss_len == 16)
    }

    @Test func `a String is a CFString, and a run loop mode has its name`() {
        let text = "example" as CFString
        #expect(text as String == "example")
        #expect(CFRunLoopMode.defaultMode == CFRunLoopMode("kCFRunLoopDefaultMode" as CFString))
        #expect(CFRunLoopMode.defaultMode != CFRunLoopMode.commonModes)
    }

    @Test func `a CFString is the key of a dictionary`() {
        let values: [CFString: Int] = ["one" as CFString: 1, "two" as CFString: 2]
        #expect(values["two" as CFString] == 2)
    }

    @Test func `targets are keys, each equal to itself only`() throws {
        let first = try #require(SCNetworkReachabilityCreateWithName(nil, "192.0.2.1"))
        let second = try #require(SCNetworkReachabilityCreateWithName(nil, "192.0.2.1"))
        let names = [first: "first", second: "second"]
        #expect(names[first] == "first" && names[second] == "second")
        #expect(first == first && first != second)
        #expect(Set([first, second, first]).count == 2)
    }

    @Test func `the type number is one`() {
        #expect(SCNetworkReachabilityGetTypeID() == SCNetworkReachabilityGetTypeID())
        #expect(SCNetworkReachabilityGetTypeID() != CFRunLoopGetTypeID())
    }
}
