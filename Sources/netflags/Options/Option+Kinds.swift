// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkPlanning
import NetlinkReachability
import NetlinkRecording

extension Option {
    /// An option for a number: a text that begins with a minus sign is its value, and no other option.
    ///
    /// - Parameters:
    ///   - abstract: What the option does.
    ///   - name: What its value is called.
    ///   - transform: Parses the value.
    init<Number>(
        number abstract: String, _ name: String,
        _ transform: @escaping @Sendable (String) throws -> Number
    ) where Value == Number? {
        self.init(
            parsing: .unconditional, help: ArgumentHelp(abstract, valueName: name), transform: transform)
    }
}

extension Option where Value == String? {
    /// An option for the name of a file.
    ///
    /// - Parameters:
    ///   - name: The name of the option; that of the property is the default.
    ///   - abstract: What the option does.
    ///   - extensions: How the names end that completion offers; empty for all.
    init(name: NameSpecification = .long, file abstract: String, extensions: [String] = []) {
        self.init(
            name: name, help: ArgumentHelp(abstract, valueName: "file"),
            completion: .file(extensions: extensions))
    }
}

extension Option where Value == RecordedTime? {
    /// An option for a time of a recording: a text that begins with a minus sign is its value, and no other option.
    ///
    /// - Parameter abstract: What the option does.
    init(time abstract: String) {
        self.init(
            parsing: .unconditional, help: ArgumentHelp(abstract, valueName: "time"),
            transform: RecordedTime.init)
    }
}

extension Option where Value == ReachabilityReport.Change {
    /// The option `--changes`.
    ///
    /// - Parameters:
    ///   - wrappedValue: The default.
    ///   - effect: What a change does.
    init(wrappedValue: Value, changes effect: String) {
        self.init(
            wrappedValue: wrappedValue,
            help: ArgumentHelp(
                "\(effect): flags, or report (also the reason, interface, gateway and source address).",
                valueName: "what"),
            completion: .list(["flags", "report"])
        ) { text in
            guard let changes = Value(rawValue: text) else {
                throw UsageError("\"\(text)\" is not a kind of change: give flags or report")
            }
            return changes
        }
    }
}
