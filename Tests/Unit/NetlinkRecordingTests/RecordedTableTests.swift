// SPDX-License-Identifier: Apache-2.0

import CNetlinkShim
import Glibc
internal import NetlinkReachability
import RoutingModel
import Testing

@testable import NetlinkRecording

struct RecordedTableTests {
    @Test func `a kernel without nexthop objects has an empty table of them, not a missing one`() {
        var table = RecordedTable(.nexthops)
        let isAccepted = table.accepts(refusal: EOPNOTSUPP)
        #expect(isAccepted)
        #expect(table.state == .consistent && table.count == 0)
    }

    @Test(arguments: [EOPNOTSUPP, EAFNOSUPPORT]) func `a table of a family that the kernel lacks is missing`(
        number: Int32
    ) {
        for kind in [DumpRequest.Table.addresses, .routes, .rules, .neighbours, .settings] {
            var table = RecordedTable(kind, .v6)
            let isAccepted = table.accepts(refusal: number)
            #expect(isAccepted)
            #expect(table.state == .missing(number))
        }
    }

    @Test func `another refusal, or one of the interfaces, fails the recording`() {
        let refusals: [(RecordedTable, Int32)] = [
            (RecordedTable(.links), EOPNOTSUPP), (RecordedTable(.routes, .v4), EPERM),
            (RecordedTable(.nexthops), EPERM),
        ]
        for (refused, number) in refusals {
            var table = refused
            let isAccepted = table.accepts(refusal: number)
            #expect(!isAccepted)
        }
    }

    @Test func `the tables are named by the kernel's requests`() {
        let numbers: [(DumpRequest.Table, Int)] = [
            (.links, RTM_GETLINK), (.addresses, RTM_GETADDR), (.routes, RTM_GETROUTE),
            (.neighbours, RTM_GETNEIGH), (.rules, RTM_GETRULE), (.settings, RTM_GETNETCONF),
            (.nexthops, RTM_GETNEXTHOP),
        ]
        for (table, number) in numbers { #expect(Int(table.rawValue) == number) }
    }
}
