// SPDX-License-Identifier: Apache-2.0

import AddressLiterals
import NetlinkReachability
import NetlinkReachabilityTestKit
import NetlinkRecording
import Testing

struct NetworkStateTests {
    private static func network() throws -> SimulatedNetwork {
        let network = SimulatedNetwork()
        try network.change { host in
            for name in ["eth0", "eth1"] { try host.addInterface(name) }
            try host.addAddress("192.0.2.2", prefixLength: 24, to: "eth0")
            try host.addAddress("198.51.100.2", prefixLength: 24, to: "eth1")
            try host.addRoute(.default(via: "192.0.2.1"))
            try host.addRoute(.default(via: "198.51.100.1", metric: 10))
        }
        return network
    }

    @Test func `a change that is tried gives the answers of the same change made, and makes none`()
        async throws
    {
        let network = try Self.network()
        let targets = [ReachabilityTarget.defaultPath, .address(IPAddress(192, 0, 2, 9))]
        let before = NetworkState(network.tables)
        let after = try before.applying([NetworkState.Change("link set eth0 down")])
        func gateways(_ state: NetworkState) -> [String?] {
            state.answers(for: targets).map { try? $0.get().gateway?.description }
        }
        #expect(gateways(before) == ["192.0.2.1", nil])
        #expect(gateways(after) == ["198.51.100.1", "198.51.100.1"])
        #expect(gateways(NetworkState(network.tables)) == gateways(before))
        try network.change { try $0.setDown("eth0") }
        #expect(gateways(NetworkState(network.tables)) == gateways(after))
    }

    @Test func `a refusal names the change, and has the errno of the kernel`() throws {
        let state = NetworkState(try Self.network().tables)
        let change = try NetworkState.Change("route add default via 192.0.2.7")
        #expect(throws: NetworkState.Refusal.self) { try state.applying([change]) }
        do throws(NetworkState.Refusal) {
            _ = try state.applying([change])
        } catch {
            #expect(error.change == "route add default via 192.0.2.7")
            #expect(error.number == 17 && !error.isUnknown)
        }
        do throws(NetworkState.Refusal) {
            _ = try NetworkState.Change("route frobnicate default")
        } catch {
            #expect(error.number == nil && error.isUnknown)
            #expect(error.reason.contains("add, append, prepend"))
        }
    }

    // MARK: Expectations

    @Test func `a line has a target, expectations in any order, socket options and a comment`() throws {
        let expectation = try NetworkState.Expectation(
            "10.0.0.1 dev eth0 --mark 0x7 via 192.0.2.1 -4 from 192.0.2.2 flags -R ------d # uplink")
        #expect(expectation.target == .address(IPAddress(10, 0, 0, 1)))
        #expect(expectation.interface == "eth0" && expectation.options.mark == 7)
        #expect(expectation.options.families == .v4)
        #expect(expectation.gateway == IPAddress(192, 0, 2, 1))
        #expect(expectation.sourceAddress == IPAddress(192, 0, 2, 2))
        #expect(expectation.letters == "-R ------d" && expectation.isReachable == nil)
        #expect(expectation.description.hasSuffix("------d"))
        let joined = try NetworkState.Expectation("--interface=wg0 default flags -R-------")
        #expect(joined.letters == "-R -------" && joined.options.interface == "wg0")
        #expect(try NetworkState.Expectation("default").isReachable == true)
        #expect(try NetworkState.Expectation("default unreachable").isReachable == false)
    }

    @Test func `each socket option has the value that the command line gives it`() throws {
        let line = "default --source 192.0.2.2 --uid 7 --protocol tcp --port 443 --source-port 0x10 --tos 8"
        var options = ReachabilityOptions()
        (options.sourceAddress, options.user, options.ipProtocol) = (IPAddress(192, 0, 2, 2), 7, 6)
        (options.destinationPort, options.sourcePort, options.typeOfService) = (443, 16, 8)
        #expect(try NetworkState.Expectation(line).options == options)
    }

    @Test(
        arguments: [
            ("default --port 0", "\"0\" is not a port"), ("default --protocol x", "is not a protocol"),
            ("default --source 192.0.2.2 -6", "does not belong to the only family"),
            ("2001:db8::1 --source 192.0.2.2", "of different families"),
            ("default --mark", "--mark needs a value"),
            ("default --interface=", "the interface is empty: give one that `ip link` lists"),
        ])
    func `what is wrong with a line is said`(line: String, message: String) {
        do throws(NetworkState.Expectation.Malformation) {
            _ = try NetworkState.Expectation(line)
            Issue.record("no error")
        } catch {
            #expect(error.description.contains(message), "\(error)")
        }
    }

    @Test func `expectations are compared with the answers of a network, and after a change`() throws {
        let expectations = try ["default via 192.0.2.1 from 192.0.2.2", "192.0.2.9 dev eth0"].map {
            try NetworkState.Expectation($0)
        }
        let state = NetworkState(try Self.network().tables)
        #expect(state.outcomes(of: expectations) == [.holds, .holds])
        let after = try state.applying([NetworkState.Change("link set eth0 down")])
        let reasons = after.outcomes(of: expectations).map { $0.reason ?? "holds" }
        #expect(
            reasons[0].hasPrefix("the gateway is 198.51.100.1, the source address is 198.51.100.2: "))
        #expect(reasons[1].hasPrefix("the interface is eth1: "))
    }

    /// It failed: "it has no source address".
    @Test func `a source address that is open is not determined, and one of no route fails`() throws {
        let network = try Self.network()
        try network.change { host in
            for last in [IPAddress("2001:db8::2"), IPAddress("2001:db8::3")] {
                try host.addAddress(last, prefixLength: 64, to: "eth0")
            }
        }
        func outcome(_ line: String) throws -> NetworkState.Expectation.Outcome {
            NetworkState(network.tables).outcomes(of: [try NetworkState.Expectation(line)])[0]
        }
        guard case .undetermined(let reason) = try outcome("2001:db8::9 from 2001:db8::2") else {
            Issue.record("decided")
            return
        }
        #expect(reason.hasPrefix("the kernel can select several source addresses"))
        #expect(
            try outcome("2001:db8:9::9 from 2001:db8::2").reason?.hasPrefix("it is not reachable") == true)
    }
}
