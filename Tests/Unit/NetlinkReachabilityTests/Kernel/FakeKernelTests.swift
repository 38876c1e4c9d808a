// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import CNetlinkShim
import Glibc
import RoutingModel
import TestSupport
import Testing

@testable import NetlinkReachability

/// What a socket does with the kernel's datagrams: late, lost, foreign, cut, out of order.
struct FakeKernelTests {
    private static let peer: IPAddress = "198.51.100.7"

    /// A route through an interface, whose index says which request it answers.
    private static func route(_ interface: Int) -> MessageBytes {
        let oif = MessageBytes.bytes(of: UInt32(interface))
        return .route(prefix: 32).adding(UInt16(RTA_DST.rawValue), [198, 51, 100, 7]).adding(
            UInt16(RTA_OIF.rawValue), oif)
    }

    private static func lookups(_ count: Int) -> [RouteLookup] {
        (0..<count).map { index in
            var query = RouteQuery(destination: peer)
            query.mark = UInt32(index)
            return RouteLookup(query)
        }
    }

    /// Looks up routes; returns the interface of each.
    private func interfaces(_ count: Int, _ kernel: FakeKernel) throws -> [UInt32] {
        var lookups = Self.lookups(count)
        try kernel.withSocket { try $0.answer(&lookups, from: 0) }
        return try lookups.map { Self.interface(try $0.result.get()) }
    }

    /// The interface of a route, 0 for a refusal.
    private static func interface(_ answer: RouteAnswer) -> UInt32 {
        guard case .taken(let match) = answer else { return 0 }
        return match.nexthop?.interfaceIndex ?? 0
    }

    private func error(_ kernel: FakeKernel) throws -> ReachabilityError {
        try #require(throws: ReachabilityError.self) { try interfaces(1, kernel) }
    }

    // MARK: Answers

    @Test func `answers in any order, in one datagram or many, are those of their requests`() throws {
        let kernel = FakeKernel { requests, _ in
            let answers = requests.enumerated().map { $1.answer(Self.route($0 + 1)) }
            return [
                .datagram(Array(answers[2...].reversed().joined())), .datagram(answers[1]),
                .datagram(answers[0]),
            ]
        }
        #expect(try interfaces(5, kernel) == [1, 2, 3, 4, 5])
        #expect(kernel.sent.map(\.count) == [5])
    }

    @Test func `a datagram has 64 requests at most`() throws {
        let kernel = FakeKernel { requests, _ in
            [.datagram(Array(requests.map { $0.answer(Self.route(7)) }.joined()))]
        }
        #expect(try interfaces(130, kernel) == Array(repeating: 7, count: 130))
        #expect(kernel.sent.map(\.count) == [64, 64, 2])
        let sequences = kernel.sent.joined().map(\.sequence)
        #expect(Set(sequences).count == 130)
    }

    @Test func `only a request whose answer is lost is sent again`() throws {
        let kernel = FakeKernel { requests, attempt in
            requests.enumerated().compactMap { index, request in
                attempt == 1 && index == 1 ? nil : .datagram(request.answer(Self.route(attempt)))
            }
        }
        #expect(try interfaces(3, kernel) == [1, 2, 1])
        #expect(kernel.sent.map(\.count) == [3, 1])
        #expect(kernel.sent[1][0].bytes.dropFirst(16) == kernel.sent[0][1].bytes.dropFirst(16))
    }

    @Test func `a late answer to what was sent before is not that of the request sent again`() throws {
        var late: [UInt8] = []
        let kernel = FakeKernel { requests, attempt in
            guard attempt > 1 else {
                late = requests[0].answer(Self.route(9))
                return []
            }
            return [.datagram(late), .datagram(requests[0].answer(Self.route(2)))]
        }
        #expect(try interfaces(1, kernel) == [2])
    }

    @Test func `an answer to another port is none`() throws {
        let kernel = FakeKernel { requests, _ in
            [
                .datagram(requests[0].answer(Self.route(9), from: 99)),
                .datagram(requests[0].answer(Self.route(2))),
            ]
        }
        #expect(try interfaces(1, kernel) == [2])
    }

    @Test func `three requests without an answer are an error`() throws {
        let kernel = FakeKernel { _, _ in [] }
        #expect(try error(kernel).number == ETIMEDOUT)
        #expect(kernel.sent.count == 3)
    }

    @Test func `stale datagrams without end do not keep a lookup`() throws {
        let stale = MessageBytes.route().bytes
        let kernel = FakeKernel { _, _ in Array(repeating: .datagram(stale), count: 10_000) }
        #expect(try error(kernel).number == ETIMEDOUT)
    }

    @Test func `a refusal has the errno and the text of the kernel`() throws {
        let kernel = FakeKernel { requests, _ in [.datagram(requests[0].refusal(EPERM, "not for you"))] }
        let error = try error(kernel)
        #expect(error.number == EPERM && error.message.contains("not for you"), "\(error)")
    }

    /// The negative of the last one is no 32-bit number.
    @Test(arguments: [0, -1, Int32.min])
    func `a refusal whose number is no errno is malformed`(number: Int32) throws {
        let kernel = FakeKernel { requests, _ in [.datagram(requests[0].refusal(number))] }
        #expect(try error(kernel).number == EBADMSG)
    }

    @Test func `a refusal to send is an error`() throws {
        let kernel = FakeKernel { _, _ in [] }
        kernel.sendFailure = ENOBUFS
        #expect(try error(kernel).number == ENOBUFS)
    }

    // MARK: Damage

    @Test func `a datagram that does not fit is an error`() throws {
        #expect(
            try error(FakeKernel { _, _ in [.datagram(Array(repeating: 0, count: 70_000))] }).number
                == EMSGSIZE)
    }

    @Test func `an answer that is cut is an error, wherever it is cut`() throws {
        for length in 1..<Self.route(2).bytes.count {
            let kernel = FakeKernel { requests, _ in
                [.datagram(Array(requests[0].answer(Self.route(2)).prefix(length)))]
            }
            #expect(try error(kernel).number == EBADMSG, "\(length)")
        }
    }

    @Test func `after an overrun what is left without its answer is sent again`() throws {
        let kernel = FakeKernel { requests, attempt in
            let answers = requests.map { FakeKernel.Reading.datagram($0.answer(Self.route(attempt))) }
            return attempt == 1 ? [answers[0], .failure(ENOBUFS)] : answers
        }
        #expect(try interfaces(3, kernel) == [1, 2, 2])
        #expect(kernel.sent.map(\.count) == [3, 2])
    }

    /// Answers with changed bytes, cut, doubled, missing, and of other sockets.
    @Test func `datagrams of random bytes end a lookup with an answer or an error`() throws {
        for seed in UInt64(1)...2_000 {
            var random = SeededGenerator(seed: seed)
            let kernel = FakeKernel { requests, _ in
                (0..<Int.random(in: 0...6, using: &random)).map { _ in
                    var bytes = requests.randomElement(using: &random)?.answer(Self.route(2)) ?? []
                    for _ in 0..<Int.random(in: 0...3, using: &random) {
                        bytes[Int.random(in: bytes.indices, using: &random)] = .random(
                            in: 0...255, using: &random)
                    }
                    bytes.removeLast(
                        Bool.random(using: &random) ? 0 : Int.random(in: 0...bytes.count, using: &random))
                    switch Int.random(in: 0...9, using: &random) {
                    case 0: return .failure(ENOBUFS)
                    case 1: return .notification(bytes)
                    default: return .datagram(bytes)
                    }
                }
            }
            var lookups = Self.lookups(3)
            do {
                try kernel.withSocket { try $0.answer(&lookups, from: 0) }
                #expect(
                    lookups.allSatisfy {
                        if case .failure(let error) = $0.result { error.number > 0 } else { true }
                    })
            } catch let error as ReachabilityError {
                #expect([ETIMEDOUT, EBADMSG, ENOMSG].contains(error.number), "seed \(seed): \(error)")
            }
        }
    }

    // MARK: Notifications

    @Test func `notifications ahead of an answer are noted, and are no answers`() throws {
        let notified: [(MessageBytes, isRule: Bool)] = [
            (.link(), false), (.address(), false), (Self.route(9), false), (.rule(), true),
        ]
        for (message, isRule) in notified {
            let kernel = FakeKernel { requests, _ in
                [.notification(requests[0].answer(message)), .datagram(requests[0].answer(Self.route(2)))]
            }
            var lookups = Self.lookups(1)
            let changes = try kernel.withSocket { socket in
                try socket.answer(&lookups, from: 0)
                let changes = socket.readChanges()
                #expect(!socket.readChanges().any)
                return changes
            }
            #expect(changes.any && changes.rules == isRule)
        }
    }

    @Test func `a notification that is lost, cut or too long can have been about anything`() throws {
        let lost: [FakeKernel.Reading] = [
            .failure(ENOBUFS), .notification([20, 0, 0, 0, 24]),
            .notification(Array(repeating: 0, count: 70_000)),
        ]
        for reading in lost {
            let kernel = FakeKernel { requests, attempt in
                (attempt == 1 ? [reading] : []) + [.datagram(requests[0].answer(Self.route(2)))]
            }
            var lookups = Self.lookups(1)
            let changes = try kernel.withSocket { socket in
                try socket.answer(&lookups, from: 0)
                return socket.readChanges()
            }
            #expect(changes.any && changes.rules)
        }
    }

    // MARK: Old kernels

    @Test func `a kernel that ignores ports is asked once, and is refused for them`() throws {
        let kernel = FakeKernel(isStrict: false) { requests, _ in
            [.datagram(requests[0].answer(Self.route(2)))]
        }
        var query = RouteQuery(destination: Self.peer)
        query.destinationPort = 443
        let error = #expect(throws: ReachabilityError.self) {
            try kernel.withSocket { try $0.answer(to: query) }
        }
        #expect(error?.number == EOPNOTSUPP && error?.message.contains("Linux 4.17") == true)
    }

    @Test func `a kernel that knows ports is probed for them once`() throws {
        let kernel = FakeKernel(isStrict: false) { requests, attempt in
            [.datagram(attempt == 1 ? requests[0].refusal(EOPNOTSUPP) : requests[0].answer(Self.route(2)))]
        }
        var query = RouteQuery(destination: Self.peer)
        query.destinationPort = 443
        try kernel.withSocket { socket in
            for _ in 0..<3 {
                let found = try socket.answer(to: query)
                #expect(Self.interface(found) == 2)
            }
        }
        #expect(kernel.sent.count == 4)
    }

    /// IPv6 takes a lookup without a protocol for protocol 0, so UDP is named; a kernel can refuse that it is.
    @Test func `an IPv6 lookup whose protocol is refused is sent again without one`() throws {
        let answer = MessageBytes.route(family: 10, prefix: 0).adding(
            UInt16(RTA_OIF.rawValue), MessageBytes.bytes(of: UInt32(2)))
        let kernel = FakeKernel { requests, attempt in
            [.datagram(attempt == 1 ? requests[0].refusal(EOPNOTSUPP) : requests[0].answer(answer))]
        }
        let query = RouteQuery(destination: "2001:db8::7")
        let found = try kernel.withSocket { try $0.answer(to: query) }
        #expect(Self.interface(found) == 2)
        #expect(kernel.sent.count == 2)
        #expect(kernel.sent[1][0].bytes.count < kernel.sent[0][0].bytes.count)
    }

    // MARK: Dumps

    @Test func `a dump ends with its end, over several datagrams`() throws {
        let kernel = FakeKernel { requests, _ in
            [
                .datagram(requests[0].answer(.link()) + requests[0].answer(.link())),
                .notification(MessageBytes.link().bytes),
                .datagram(requests[0].answer(.link())), .datagram(requests[0].end),
            ]
        }
        var count = 0
        let isInterrupted = try kernel.withSocket { try $0.dump(DumpRequest(.links)) { _ in count += 1 } }
        #expect(count == 3 && !isInterrupted)
    }

    @Test func `a dump without an end is an error, and is not sent again`() throws {
        let kernel = FakeKernel { requests, _ in [.datagram(requests[0].answer(.link()))] }
        let error = #expect(throws: ReachabilityError.self) {
            try kernel.withSocket { try $0.dump(DumpRequest(.links)) { _ in } }
        }
        #expect(error?.number == ETIMEDOUT && kernel.sent.count == 1)
    }

    @Test func `a dump goes on after an overrun of notifications`() throws {
        let kernel = FakeKernel { requests, _ in
            [.datagram(requests[0].answer(.link())), .failure(ENOBUFS), .datagram(requests[0].end)]
        }
        var count = 0
        _ = try kernel.withSocket { try $0.dump(DumpRequest(.links)) { _ in count += 1 } }
        #expect(count == 1)
    }

    /// A link in the answer to a request, and whether the list changed meanwhile.
    private static func listed(
        _ index: UInt32,
        _ request: FakeKernel.Request,
        isInterrupted: Bool
    ) -> FakeKernel.Reading {
        var message = MessageBytes.link(index: index).bytes
        if isInterrupted {
            message.replaceSubrange(6..<8, with: MessageBytes.bytes(of: UInt16(NLM_F_DUMP_INTR)))
        }
        message.replaceSubrange(8..<16, with: request.end[8..<16])
        return .datagram(message + request.end)
    }

    @Test func `a list that changes during each dump is asked for five times`() throws {
        let kernel = FakeKernel { requests, _ in [Self.listed(7, requests[0], isInterrupted: true)] }
        let error = #expect(throws: ReachabilityError.self) {
            try kernel.withSocket {
                try $0.list(Request(RTM_GETLINK, isDump: true, ifinfomsg()), "list", from: ()) { _, _ in }
            }
        }
        #expect(error?.number == EAGAIN && kernel.sent.count == 5)
    }

    @Test func `answers with secrets leave nothing in the memory of the socket`() throws {
        let kernel = FakeKernel { requests, _ in [Self.listed(0x5ec2_e700, requests[0], isInterrupted: false)]
        }
        let secret = MessageBytes.bytes(of: UInt32(0x5ec2_e700))
        func isStored() -> Bool {
            kernel.received.indices.dropLast(3).contains {
                kernel.received[$0..<$0 + 4].elementsEqual(secret)
            }
        }
        try kernel.withSocket { socket in
            try socket.list(Request(RTM_GETLINK, isDump: true, ifinfomsg()), "list", from: ()) { _, _ in }
            #expect(isStored())
            socket.wipe()
            #expect(!isStored())
        }
    }

    /// What had moved in between counted twice.
    @Test func `a list that is asked for again has nothing of the interrupted dump`() throws {
        let kernel = FakeKernel { requests, attempt in
            [Self.listed(attempt == 1 ? 7 : 8, requests[0], isInterrupted: attempt == 1)]
        }
        let found = try kernel.withSocket {
            try $0.list(Request(RTM_GETLINK, isDump: true, ifinfomsg()), "list", from: [UInt32]()) {
                (found, message) throws(MalformedMessage) in
                if let report = try LinkReport(message) { found.append(report.link.index) }
            }
        }
        #expect(found == [8])
    }
}
