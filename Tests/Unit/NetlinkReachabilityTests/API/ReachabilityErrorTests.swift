// SPDX-License-Identifier: Apache-2.0

import Glibc
import NetlinkReachability
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
        let error = ReachabilityError(RoutingFault(operation: "open a netlink socket", number: number))
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
            (.thread, EAGAIN, "ulimit -u"), (.system, EPERM, "AF_NETLINK"),
        ] as [(RoutingFault.Kind, Int32, String)]
    )
    func `advice follows from what failed and its errno, not from words`(
        kind: RoutingFault.Kind,
        number: Int32,
        advice: String
    ) {
        for operation in ["open it", "handle the thread's signal pipe by epoll"] {
            let error = ReachabilityError(RoutingFault(kind: kind, operation: operation, number: number))
            #expect(error.description.contains(advice))
        }
    }

    @Test(arguments: [EPERM, ETIMEDOUT])
    func `a resolver's errno has no advice about netlink`(number: Int32) {
        let error = ReachabilityError(
            .resolverFailure, RoutingFault(operation: "resolve a name", number: number))
        #expect(error.description.hasSuffix("(errno \(number))"))
    }

    @Test func `the kernel's own words are shown`() {
        let fault = RoutingFault(
            operation: "ask for a route",
            number: EINVAL,
            libnl: 7,
            text: "Invalid values in header for route get request"
        )
        let error = ReachabilityError(fault)
        #expect(error.number == EINVAL)
        #expect(error.libnlNumber == 7)
        #expect(error.operation == "ask for a route")
        #expect(error.message == fault.text)
        #expect(error.description.hasSuffix(": " + fault.text))
    }

    @Test func `an errno without words is named by its number`() {
        let error = ReachabilityError(RoutingFault(operation: "ask for a route", number: 4_242))
        #expect(error.description.contains("4242"))
    }

    @Test func `an undecided question names what is missing`() {
        let fault = RoutingFault(kind: .undecided, operation: "look up", text: "no neighbours recorded")
        let error = ReachabilityError(fault)
        #expect(error.code == .undecided)
        #expect(error.description == "undecided: no neighbours recorded")
    }

    @Test(
        arguments: [
            ReachabilityError.Code.invalidHost, .invalidAddress, .unsupportedFamily, .unknownInterface,
        ]
    )
    func `a wrong input's description is the advice itself`(code: ReachabilityError.Code) {
        let error = ReachabilityError(code, operation: "read", message: "give a name")
        #expect(error.description == "give a name")
    }

    @Test func `codes are named and differ`() {
        let codes: [ReachabilityError.Code] = [
            .invalidHost, .invalidAddress, .unsupportedFamily, .unknownInterface, .systemFailure,
            .resolverFailure, .undecided, .unreadableRecording,
        ]
        #expect(Set(codes).count == codes.count)
        #expect(Set(codes.map(\.description)).count == codes.count)
        #expect(ReachabilityError.Code.resolverFailure.description == "resolverFailure")
    }

    @Test func `a resolver failure keeps the number and text of the fault`() {
        let fault = RoutingFault(
            operation: "resolve a name", number: EAGAIN, text: "is the resolver hanging?")
        let error = ReachabilityError(.resolverFailure, fault)
        #expect(error.description.hasPrefix("cannot resolve a name: "))
        #expect(error.description.contains("(errno \(EAGAIN))"))
        #expect(error.description.hasSuffix("is the resolver hanging?"))
    }
}
