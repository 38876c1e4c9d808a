// SPDX-License-Identifier: Apache-2.0

import Glibc
import RoutingModel
import Testing

struct ReachabilityErrorTests {
    @Test(
        arguments: [
            (EMFILE, "ulimit -n"), (ENFILE, "ulimit -n"), (EPERM, "AF_NETLINK"), (EACCES, "AF_NETLINK"),
            (EAFNOSUPPORT, "AF_NETLINK"), (EPROTONOSUPPORT, "AF_NETLINK"), (ETIMEDOUT, "ask again"),
        ]
    )
    func `a failure of the system says what failed, why, and what to do`(number: Int32, advice: String) {
        let error = ReachabilityError(operation: "open a netlink socket", number: number)
        #expect(error.code == .systemFailure)
        #expect(error.description.hasPrefix("cannot open a netlink socket: "))
        #expect(error.description.contains(String(cString: strerror(number))))
        #expect(error.description.contains("(errno \(number))"))
        #expect(error.description.contains(advice))
    }

    /// The advice once followed from words of the operation: a file named `pipe` was a pipe.
    @Test(
        arguments: [
            (.systemCall, EPERM, "SystemCallFilter="), (.systemCall, ENOSYS, "SystemCallFilter="),
            (.systemCall, EMFILE, "ulimit -n"), (.thread, EPERM, "SystemCallFilter="),
            (.thread, EAGAIN, "ulimit -u"), (.netlink, EPERM, "AF_NETLINK"),
        ] as [(ReachabilityError.Part, Int32, String)]
    )
    func `advice follows from what failed and its errno, not from words`(
        part: ReachabilityError.Part,
        number: Int32,
        advice: String
    ) {
        for operation in ["open it", "handle the thread's signal pipe by epoll"] {
            let error = ReachabilityError(in: part, operation: operation, number: number)
            #expect(error.description.contains(advice))
        }
    }

    @Test(arguments: [EPERM, ETIMEDOUT])
    func `a resolver's errno has no advice about netlink`(number: Int32) {
        let error = ReachabilityError(
            .resolverFailure, operation: "resolve a name", number: number)
        #expect(error.description.hasSuffix("(errno \(number))"))
    }

    @Test func `the kernel's own words are shown`() {
        let words = "Invalid values in header for route get request"
        let error = ReachabilityError(operation: "ask for a route", number: EINVAL, message: words)
        #expect(error.description.hasSuffix(": " + words))
    }

    @Test func `an errno without words is named by its number`() {
        let error = ReachabilityError(operation: "ask for a route", number: 4_242)
        #expect(error.description.contains("4242"))
    }

    @Test func `an undecided query names what is missing`() {
        let error = ReachabilityError(.undecided, operation: "look up", message: "no neighbours recorded")
        #expect(error.code == .undecided)
        #expect(error.description == "undecided: no neighbours recorded")
    }

    @Test(
        arguments: [ReachabilityError.Code.invalidHost, .invalidAddress, .unsupportedFamily]
    )
    func `a wrong input's description is the advice itself`(code: ReachabilityError.Code) {
        let error = ReachabilityError(code, operation: "read", message: "give a name")
        #expect(error.description == "give a name")
    }

    @Test func `errors are equal whose words and numbers are, whatever a program's own error is`() {
        struct Cause: Error {}
        let error = ReachabilityError(.resolverFailure, operation: "resolve a", message: "no")
        let other = ReachabilityError(
            .resolverFailure, operation: "resolve a", message: "no", underlyingError: Cause())
        #expect(error == other && error.hashValue == other.hashValue)
        #expect(error.underlyingError == nil && other.underlyingError is Cause)
        #expect(error != ReachabilityError(.resolverFailure, operation: "resolve a", message: "yes"))
    }

    @Test func `codes are named and differ`() {
        let codes: [ReachabilityError.Code] = [
            .invalidHost, .invalidAddress, .unsupportedFamily, .systemFailure,
            .resolverFailure, .undecided, .unreadableRecording,
        ]
        #expect(Set(codes).count == codes.count)
        #expect(Set(codes.map(\.description)).count == codes.count)
        #expect(ReachabilityError.Code.resolverFailure.description == "resolverFailure")
    }

    @Test func `a resolver's failure has its errno and its words`() {
        let error = ReachabilityError(
            .resolverFailure, operation: "resolve a name", number: EAGAIN, message: "is the resolver hanging?"
        )
        #expect(error.description.hasPrefix("cannot resolve a name: "))
        #expect(error.description.contains("(errno \(EAGAIN))"))
        #expect(error.description.hasSuffix("is the resolver hanging?"))
    }
}
