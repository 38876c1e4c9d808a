// SPDX-License-Identifier: Apache-2.0

import NetlinkReachability

/// A line of `netflags order`: an address, or a target that has none.
struct OrderLine {
    /// The target as given; the first of several with the same address.
    let target: String
    /// The address with what is known of it; `nil` where there is none.
    var entry: OrderedAddress?
    /// The address or `nil`, also where it could not be evaluated.
    var address: IPAddress?
    /// Why there is no address, or none that could be evaluated.
    var reason = "the target could not be evaluated"
    /// Why the address could not be evaluated, or the name not be resolved.
    var error: ReachabilityError?

    /// The reason of the flags.
    var words: String { entry?.reason.description ?? reason }
}

extension OrderLine {
    /// Writes the table of `netflags order`.
    static func writeText(_ lines: [OrderLine], for output: Output, to buffer: inout ByteBuffer) {
        // A target that is an address needs no second column for it.
        let showsTarget =
            lines.contains { !$0.isAddress } && Set(lines.map(\.target)).count > 1
        let headings =
            ["RANK", "ADDRESS"] + (showsTarget ? ["TARGET"] : [])
            + [ReachabilityFlags.heading, "UP", "DEV", "SOURCE", "RULE", "REASON"]
        var table = TextTable(headings, widths: headings.dropLast().map { _ in 0 }, for: output)
        for line in lines {
            let entry = line.entry
            table.add(entry?.rank.map(String.init) ?? "-")
            table.add(line.address?.description ?? "-")
            if showsTarget { table.add(line.isAddress ? "-" : line.target) }
            table.add((entry?.flags ?? []).letters)
            let (state, colour) = line.state
            table.add(state, in: colour)
            table.add(entry?.interface?.name ?? "-")
            table.add(entry?.sourceAddress?.description ?? "-")
            table.add(entry?.rule?.description ?? "-")
            table.add(line.error.map { "error: \($0)" } ?? line.words)
            table.endRow(isWhole: entry?.rank == nil)
        }
        table.flush(to: &buffer)
    }

    /// Whether the target is the address.
    private var isAddress: Bool { target == address?.description }

    private var state: (String, Colour) {
        error != nil ? ("?", .magenta) : entry?.rank != nil ? ("yes", .green) : ("no", .red)
    }

    /// Writes the line as a JSON object.
    func writeJSON(to buffer: inout ByteBuffer) {
        buffer.line { json in
            json.member("target", target)
            json.member("address", address)
            json.member("sourceAddress", entry?.sourceAddress)
            json.member("rank", entry?.rank)
            json.member("rule", entry?.rule?.description)
            json.members(entry?.flags ?? [])
            json.pathMembers(entry?.interface, entry?.gateway, entry?.reason, words, error)
        }
    }
}
