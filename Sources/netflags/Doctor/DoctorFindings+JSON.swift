// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import NetlinkRoute

extension DoctorFindings {
    /// Writes the findings as one JSON object on one line.
    ///
    /// All keys are always there.
    func writeJSON(to json: inout ByteBuffer) {
        json.object { json in
            json.key("kernel")
            json.value(kernelRelease)
            json.key("libnl")
            json.value(libnlRelease)
            json.key("namespace")
            if let namespace { json.value(namespace) } else { json.null() }
            json.key("lookup")
            writeLookup(to: &json)
            json.key("strictChecking")
            json.value(checksStrictly) { $1.value($0) }
            json.key("groups")
            json.array { json in
                for membership in memberships { write(membership, to: &json) }
            }
            json.key("receiveBuffer")
            writeBuffer(to: &json)
            json.key("routes")
            writeRoutes(to: &json)
            json.key("nl80211")
            json.value(wireless) { $1.value($0 != nil) }
            json.key("resolver")
            write(resolver, to: &json)
        }
        json.append(UInt8(ascii: "\n"))
    }

    private func writeLookup(to json: inout ByteBuffer) {
        json.object { json in
            json.key("works")
            json.value(lookup.trouble == nil)
            json.key("microseconds")
            json.value(lookup) { time, json in
                json.separate()
                json.append(microseconds(time))
            }
            json.error(lookup.trouble)
        }
    }

    private func write(_ membership: Registration, to json: inout ByteBuffer) {
        json.object { json in
            json.key("name")
            json.value(membership.group.description)
            json.key("joined")
            json.value(membership.isJoined)
            json.error(membership.outcome.trouble)
        }
    }

    private func writeBuffer(to json: inout ByteBuffer) {
        json.object { json in
            json.key("asked")
            json.value(ReceiveBuffer.asked)
            json.key("effective")
            json.value(receiveBuffer) { $1.value($0.effective) }
            json.key("forced")
            json.value(receiveBuffer) { $1.value($0.isForced) }
            json.error(receiveBuffer.trouble)
        }
    }

    private func writeRoutes(to json: inout ByteBuffer) {
        json.object { json in
            json.key("ipv4")
            json.value(routes) { write($0, \.ipv4, to: &$1) }
            json.key("ipv6")
            json.value(routes) { write($0, \.ipv6, to: &$1) }
            json.key("skipped")
            json.value(routes) { $1.value($0.skipReason) }
            json.error(routes.trouble)
        }
    }

    private func write(
        _ routes: RouteComparison,
        _ family: KeyPath<KernelDiagnosis.RouteCounts, Int>,
        to json: inout ByteBuffer
    ) {
        json.object { json in
            json.key("kernel")
            json.value(routes.kernel[keyPath: family])
            json.key("libnl")
            json.value(number: routes.libnl?[keyPath: family])
            json.key("lost")
            json.value(number: routes.lost(family))
        }
    }

    private func write(_ resolver: ResolverConfiguration, to json: inout ByteBuffer) {
        json.object { json in
            json.key("nameservers")
            json.array(resolver.nameservers)
            json.key("search")
            json.array(resolver.search)
            json.key("options")
            json.array(resolver.options)
            json.key("hosts")
            json.value(resolver.hosts)
            json.key("troubles")
            json.array(resolver.troubles.map(\.words))
        }
    }
}

extension Result where Failure == DoctorFindings.Trouble {
    fileprivate var trouble: DoctorFindings.Trouble? {
        if case .failure(let trouble) = self { trouble } else { nil }
    }
}

extension ByteBuffer {
    /// Writes a value that was found out, and null for one that was not.
    fileprivate mutating func value<Value>(
        _ result: Result<Value, DoctorFindings.Trouble>,
        _ write: (Value, inout ByteBuffer) -> Void
    ) {
        switch result {
        case .success(let value): write(value, &self)
        case .failure: null()
        }
    }

    fileprivate mutating func value(number: Int?) {
        if let number { value(number) } else { null() }
    }

    /// Writes the members `errno` and `error`.
    fileprivate mutating func error(_ trouble: DoctorFindings.Trouble?) {
        key("errno")
        value(number: trouble.map { Int($0.number) })
        key("error")
        value(trouble?.message)
    }
}
