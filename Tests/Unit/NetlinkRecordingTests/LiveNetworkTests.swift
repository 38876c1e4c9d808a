// SPDX-License-Identifier: Apache-2.0

import NamespaceTraits
import Testing

@Suite(.needsNetwork)
struct LiveNetworkTests {
    private let network: LiveNetwork

    init() throws {
        network = try LiveNetwork()
    }

    @Test func `a new namespace has a loopback interface alone`() throws {
        #expect(try network.shell("ip -o link | cut -d: -f2").split(separator: "\n") == [" lo"])
    }

    @Test func `a script that fails is an error with its output`() {
        let failure = #expect(throws: LiveNetwork.Failure.self) {
            try network.shell("ip link set eth7 up; echo after")
        }
        #expect(failure?.description.contains("Cannot find device \"eth7\"") == true)
        #expect(failure?.description.contains("after\n") == false)
    }

    @Test func `a closure in the namespace belongs to the running test`() throws {
        let name = Test.current?.name
        #expect(name != nil)
        #expect(try network.run { Test.current?.name } == name)
    }
}
