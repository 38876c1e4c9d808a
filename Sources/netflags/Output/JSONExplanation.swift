// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel

/// The members that `--explain` adds to a JSON line.
enum JSONExplanation {
    /// Writes the members, with null and an empty array when there is no report.
    static func write(_ report: ReachabilityReport?, to json: inout ByteBuffer) {
        json.key("sourceAddress")
        json.value(report?.sourceAddress)
        json.key("explanation")
        json.array { json in
            for finding in report?.findings ?? [] { write(finding, to: &json) }
        }
    }

    private static func write(_ finding: ReachabilityReport.Finding, to json: inout ByteBuffer) {
        json.object { json in
            json.key("address")
            json.value(finding.address)
            json.key("letters")
            json.value(finding.flags.letters)
            json.key("rawValue")
            json.value(finding.flags.rawValue)
            json.key("code")
            json.value(finding.reason.code.description)
            json.key("reason")
            json.value(finding.reason.description)
            json.key("kernelError")
            write(error: finding.kernelError, to: &json)
            json.key("route")
            write(finding.route, to: &json)
            json.key("interface")
            write(finding.link, finding.interface, to: &json)
        }
    }

    private static func write(error number: Int32?, to json: inout ByteBuffer) {
        guard let number else { return json.null() }
        json.object { json in
            json.key("number")
            json.value(number)
            json.key("message")
            json.value(systemMessage(number))
        }
    }

    private static func write(_ route: Route?, to json: inout ByteBuffer) {
        guard let route else { return json.null() }
        json.object { json in
            json.key("prefix")
            json.value(route.destination.description)
            json.key("type")
            json.value(route.type.description)
            json.key("table")
            json.value(route.table)
            json.key("metric")
            json.value(route.priority)
            json.key("nexthopID")
            json.value(route.nexthopID)
            json.key("nexthops")
            json.array { json in
                for nexthop in route.nexthops { write(nexthop, to: &json) }
            }
        }
    }

    private static func write(_ nexthop: Nexthop, to json: inout ByteBuffer) {
        json.object { json in
            json.key("interfaceIndex")
            json.value(nexthop.interfaceIndex)
            json.key("gateway")
            json.value(nexthop.gateway)
            json.key("weight")
            json.value(nexthop.weight)
            json.key("flags")
            json.array(nexthop.flags.words)
        }
    }

    private static func write(_ link: Link?, _ interface: NetworkInterface?, to json: inout ByteBuffer) {
        guard let link else { return json.null() }
        json.object { json in
            json.key("name")
            json.value(link.name)
            json.key("index")
            json.value(link.index)
            json.key("type")
            json.value(interface?.type.rawValue)
            json.key("kind")
            json.value(link.kind.isEmpty ? nil : link.kind)
            json.key("up")
            json.value(link.flags.contains(.up))
            json.key("lowerUp")
            json.value(link.flags.contains(.lowerUp))
            json.key("operationalState")
            json.value(link.operationalState.description)
        }
    }
}

extension NexthopFlags {
    /// The words that `ip route` uses, in bit order.
    var words: [String] {
        let named: [(NexthopFlags, String)] = [
            (.dead, "dead"), (.onLink, "onlink"), (.linkDown, "linkdown"), (.unresolved, "unresolved"),
        ]
        return named.filter { contains($0.0) }.map(\.1)
    }
}
