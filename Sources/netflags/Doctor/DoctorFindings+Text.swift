// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability
import RoutingModel
import SystemSupport

extension DoctorFindings {
    /// Writes the findings as text, one per line.
    ///
    /// The meaning for the user follows after a semicolon.
    func writeText(to text: inout ByteBuffer) {
        text.line("kernel", "\(kernelRelease); its route lookups decide every answer")
        text.line("libnl", "\(libnlRelease); it opens the sockets and builds the requests")
        text.line(
            "namespace",
            (namespace.map { "net:[\($0)]" } ?? "unknown: /proc is not there")
                + "; answers are about its interfaces, routes and rules")
        text.line(
            "lookups",
            words(lookup, "no target can be evaluated", failure: \.description) {
                "answered, \(microseconds($0)) us each (median); targets can be evaluated"
            })
        text.line(
            "strict checks",
            words(checksStrictly, "no target can be evaluated") {
                $0
                    ? "yes; the kernel sends only the entries that are asked for"
                    : "no: the kernel is older than 4.20; it sends whole tables, which takes longer"
            })
        writeGroups(to: &text)
        text.line("buffer", words(receiveBuffer, "changes cannot be followed", bufferWords))
        writeRoutes(to: &text)
        for (index, words) in interfaceWarnings.enumerated() {
            text.line(index == 0 ? "interfaces" : "", "\(words); its packets may not arrive")
        }
        text.line("wifi", words(wireless, "no interface is known to be wifi", wirelessWords))
        text.line(
            "filters",
            words(filters, "nothing is known of answers") {
                $0.isEmpty
                    ? "no reverse path filter drops answers; sockets that are bound to an interface get them"
                    : "\($0.joined(separator: " ")): the reverse path filter (rp_filter) drops the answers of sockets "
                        + "that are bound there; with 2 in place of 1 it takes them"
            })
        text.line("processes", processes.words)
        writeResolver(to: &text)
        for (index, manager) in managers.enumerated() {
            let meaning = manager.answers ? "paths have what it says" : "what it knows is unknown"
            text.line(index == 0 ? "managers" : "", "\(manager.label): \(manager.value); \(meaning)")
        }
    }

    /// The text of a result, or of its failure with its consequence.
    private func words<Value>(
        _ result: Result<Value, ReachabilityError>,
        _ consequence: String,
        failure: (ReachabilityError) -> String = \.reason,
        _ words: (Value) -> String
    ) -> String {
        switch result {
        case .success(let value): words(value)
        case .failure(let error): "failed: \(failure(error)); \(consequence)"
        }
    }

    private func writeGroups(to text: inout ByteBuffer) {
        let joined = memberships.filter { (try? $0.outcome.get()) == true }.map(\.group.name)
        text.line(
            "groups",
            joined.isEmpty
                ? "none could be joined; changes are polled for"
                : joined.joined(separator: " ") + "; changes are noticed at once")
        for membership in memberships {
            switch membership.outcome {
            case .success(true): continue
            case .success(false):
                text.line("", "\(membership.group.name): newer than this kernel; it has no such changes")
            case .failure(let error):
                text.line(
                    "", "\(membership.group.name) refused: \(error.reason); its changes are polled for")
            }
        }
    }

    private func bufferWords(_ buffer: (effective: Int, isForced: Bool)) -> String {
        let words = "\(buffer.effective) bytes of \(Self.askedBuffer) asked for (the kernel counts double)"
        return words + (buffer.isForced ? ", forced" : ", not forced: net.core.rmem_max is the limit")
            + "; when changes overrun it, everything is evaluated again"
    }

    private func writeRoutes(to text: inout ByteBuffer) {
        switch routes {
        case .failure(let error):
            text.line(
                "routes", "failed: \(error.reason); answers do not use the cache")
        case .success(let routes):
            text.line("routes", "IPv4: \(words(routes.ipv4, routes.lostCount(.v4)))")
            text.line("", "IPv6: \(words(routes.ipv6, routes.lostCount(.v6)))")
            if let reason = routes.skipReason { text.line("", reason) }
            write(routes.lost ?? [], "in the kernel alone", to: &text)
            write(routes.altered ?? [], "in libnl's cache alone", to: &text)
        }
    }

    private func words(_ counts: RouteComparison.Counts, _ lost: Int?) -> String {
        var words = "\(counts.kernel) in the kernel"
        if let libnl = counts.libnl, let lost { words += ", \(libnl) in libnl's own cache, \(lost) lost" }
        return words + "; answers do not use the cache"
    }

    /// Writes the first ten of some routes.
    private func write(_ routes: [Route], _ place: String, to text: inout ByteBuffer) {
        let (limit, words) = (10, DifferenceText(names: interfaceNames))
        for route in routes.prefix(limit) { text.line("", "\(place): \(words.words(route))") }
        if routes.count > limit { text.line("", "\(place): \(routes.count - limit) more, see --json") }
    }

    private func wirelessWords(_ count: Int?) -> String {
        count.map { "nl80211 is there and lists \($0) interfaces; their type is wifi" }
            ?? "this kernel has no nl80211; no interface has the type wifi"
    }

    private func writeResolver(to text: inout ByteBuffer) {
        let servers = resolver.nameservers.map(\.description)
        text.line(
            "nameservers",
            (servers.isEmpty ? "none named: 127.0.0.1" : servers.joined(separator: " "))
                + "; the C library asks them for names")
        if !resolver.search.isEmpty {
            text.line("search", resolver.search.joined(separator: " ") + "; short names are tried in them")
        }
        if !resolver.options.isEmpty {
            text.line("options", resolver.options.joined(separator: " ") + "; the C library resolves so")
        }
        text.line(
            "hosts",
            (resolver.hosts ?? "no line in nsswitch.conf: the C library's default")
                + "; names are looked for there, in this order")
        for note in addressPolicyNotes { text.line("gai.conf", "\(note); no effect") }
        for error in resolver.errors { text.line("", "\(error.words); its defaults are used") }
    }
}

extension ProcessVisibility {
    /// The visible facts about processes, and the facts that a recording states about the requesters of changes.
    fileprivate var words: String {
        switch self {
        case .sockets: "sockets of all shown; a recording states who asks for a change"
        case .names: "names shown, sockets not of all; a recording states who can have asked for a change"
        case .own: "hidden by hidepid= or ProtectProc=; a recording states the ports of requests alone"
        }
    }
}

extension ResolverConfiguration.FileError {
    /// The file, and the system's text for the errno.
    var words: String {
        "\(path): \(SystemCallError.message(number))"
    }
}

/// Nanoseconds as microseconds with one decimal place.
func microseconds(_ nanoseconds: Int) -> String {
    "\((nanoseconds + 50) / 1_000).\((nanoseconds + 50) % 1_000 / 100)"
}

extension ByteBuffer {
    fileprivate mutating func line(_ label: String, _ words: String) {
        line(label, words, indentation: 15)
    }
}
