// SPDX-License-Identifier: Apache-2.0

internal import NetlinkReachability

/// Parses the texts of a test, with errors that say what to write.
enum Parsing {
    static func address(_ text: String) throws(SimulationError) -> IPAddress {
        guard let address = IPAddress(text), address.zone == nil else {
            throw SimulationError(
                .invalidAddress,
                "\"\(text)\" is not an address: write it as \"192.0.2.2\" or \"2001:db8::2\", without an interface"
            )
        }
        return address
    }

    static func addressWithLength(
        _ text: String
    ) throws(SimulationError) -> (address: IPAddress, length: Int) {
        guard text.contains("/"), let address = IPAddress(String(text.prefix { $0 != "/" })),
            let prefix = IPPrefix(text)
        else {
            throw SimulationError(
                .invalidPrefix,
                "\"\(text)\" is not an address with a prefix length: write it as \"192.0.2.2/24\""
            )
        }
        return (address, prefix.length)
    }

    /// A route's destination; `default` takes the family of the rest of the route.
    static func destination(_ text: String, _ family: IPAddress.Family) throws(SimulationError) -> IPPrefix {
        if text == "default" { return family == .v4 ? .allV4 : .allV6 }
        guard let prefix = IPPrefix(text) else {
            throw SimulationError(
                .invalidPrefix,
                "\"\(text)\" is not a destination: write \"198.51.100.0/24\", \"2001:db8::/32\" or \"default\""
            )
        }
        guard text.contains("/"), prefix.address != IPAddress(String(text.prefix { $0 != "/" })) else {
            return prefix
        }
        throw SimulationError(
            .invalidPrefix,
            "\"\(text)\" has bits after its prefix: write \"\(prefix)\""
        )
    }
}
