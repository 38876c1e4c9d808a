// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import SystemSupport

extension DoctorFindings {
    /// Writes the findings as one JSON object on one line.
    ///
    /// All keys are always present. null means that the fact could not be found.
    func writeJSON(to buffer: inout ByteBuffer) {
        buffer.line { json in
            json.member("kernel", kernelRelease)
            json.member("libnl", libnlRelease)
            json.member("namespace", namespace)
            json.member("lookup", object: lookup) { lookup, json in
                json.member("works", lookup.failure == nil)
                json.key("microseconds")
                json.append((try? lookup.get()).map(microseconds) ?? "null")
                json.member("errno", lookup.failure?.number)
                json.member("error", lookup.failure?.description)
            }
            json.member("strictChecking", try? checksStrictly.get())
            json.member("groups", objects: memberships) { membership, json in
                json.member("name", membership.group.name)
                json.member("joined", (try? membership.outcome.get()) ?? false)
                json.error(membership.outcome.failure)
            }
            json.member("receiveBuffer", object: receiveBuffer) { result, json in
                let buffer = try? result.get()
                json.member("asked", Self.askedBuffer)
                json.member("effective", buffer?.effective)
                json.member("forced", buffer?.isForced)
                json.error(result.failure)
            }
            json.member("routes", object: routes) { result, json in
                let routes = try? result.get()
                json.member("ipv4", object: routes) { $1.members($0.ipv4, $0.lostCount(.v4)) }
                json.member("ipv6", object: routes) { $1.members($0.ipv6, $0.lostCount(.v6)) }
                let words = DifferenceText(names: interfaceNames)
                json.member("lost", routes?.lost?.map { words.words($0) } ?? [])
                json.member("altered", routes?.altered?.map { words.words($0) } ?? [])
                json.member("skipped", routes?.skipReason)
                json.error(result.failure)
            }
            json.member("interfaceWarnings", interfaceWarnings)
            json.member("nl80211", try? wireless.map { $0 != nil }.get())
            json.member("filteringInterfaces", try? filters.get())
            json.member("processes", processes.rawValue)
            json.member("resolver", object: resolver) { resolver, json in
                json.member("nameservers", resolver.nameservers.map(\.description))
                json.member("search", resolver.search)
                json.member("options", resolver.options)
                json.member("hosts", resolver.hosts)
                json.member("gaiConf", addressPolicyNotes)
                json.member("troubles", resolver.errors.map(\.words))
            }
            // Only a build that queries managers has this member.
            if !managers.isEmpty {
                json.member("managers", objects: managers) { manager, json in
                    json.member("name", manager.label)
                    json.member("state", manager.value)
                }
            }
        }
    }
}

extension ByteBuffer {
    fileprivate mutating func members(_ counts: RouteComparison.Counts, _ lost: Int?) {
        member("kernel", counts.kernel)
        member("libnl", counts.libnl)
        member("lost", lost)
    }

    /// Writes the members `errno` and `error`.
    fileprivate mutating func error(_ error: ReachabilityError?) {
        member("errno", error?.number)
        member("error", error?.reason)
    }
}
