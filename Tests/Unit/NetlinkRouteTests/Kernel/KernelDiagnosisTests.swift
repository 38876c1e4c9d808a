// SPDX-License-Identifier: Apache-2.0

import NetlinkReachabilityTestKit
import NetlinkRoute
import TestSupport
import Testing

@Suite(
    .enabled(if: LiveNetwork.blocker == nil, "\(LiveNetwork.blocker ?? "")"),
    .enabled(if: ShellCommand.has("ip"), "needs ip of iproute2")
)
struct KernelDiagnosisTests {
    @Test func `libnl's route cache holds the routes of both families, but for those that it merges`() throws
    {
        try LiveNetwork().run {
            try ShellCommand.check(
                """
                ip link set lo up; ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up
                ip addr add 192.0.2.2/24 dev v0; ip addr add 2001:db8::2/64 dev v0 nodad
                for i in 1 2 3 4 5; do
                  ip route add 198.51.100.$i via 192.0.2.1; ip -6 route add 2001:db8:$i::/48 via 2001:db8::1
                done
                for i in $(seq 200); do ip -6 addr show tentative | grep -q . || break; sleep 0.05; done
                """)
            let kernel = try KernelDiagnosis.kernelRoutes()
            #expect(kernel.ipv4 == ShellCommand.lines("ip -o -4 route show table all"))
            #expect(kernel.ipv6 == ShellCommand.lines("ip -o -6 route show table all"))
            let libnl = try KernelDiagnosis.libnlRoutes()
            #expect(libnl.ipv4 == kernel.ipv4)
            #expect((5...kernel.ipv6).contains(libnl.ipv6))
            // The key of libnl 3.7 has no nexthop.
            try ShellCommand.check("ip route append 198.51.100.1 via 192.0.2.3")
            #expect(try KernelDiagnosis.kernelRoutes().ipv4 == kernel.ipv4 + 1)
            #expect((kernel.ipv4...kernel.ipv4 + 1).contains(try KernelDiagnosis.libnlRoutes().ipv4))
        }
    }
}
