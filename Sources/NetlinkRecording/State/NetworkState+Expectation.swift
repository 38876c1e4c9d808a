// SPDX-License-Identifier: Apache-2.0

public import NetlinkReachability

extension NetworkState {
    /// The expected answer about a target: a line of a file for `netflags assert`.
    ///
    /// ```swift
    /// let expectation = try NetworkState.Expectation("10.8.3.4 reachable via 203.0.113.1 --protocol tcp --port 443")
    /// let after = try NetworkState.live().applying([NetworkState.Change("link set eth1 down")])
    /// for outcome in after.outcomes(of: [expectation]) { print(outcome.reason ?? "holds") }
    /// ```
    ///
    /// A line is `TARGET [reachable | unreachable] [via GATEWAY] [dev NAME] [from SOURCE] [answers OUTCOME] [flags
    /// LETTERS]` with the socket options of `netflags check`, in any order after the target. Options can also precede
    /// the target. OUTCOME is `delivered` or `dropped`. A line without `reachable`, `unreachable` and `flags`, or with
    /// `answers`, expects `reachable`. A word with an initial `#` begins a comment.
    public struct Expectation: Hashable, Sendable, CustomStringConvertible {
        /// The words of the line, without a comment.
        public let description: String
        /// The target.
        public private(set) var target = ReachabilityTarget.defaultPath
        /// The word that names the target.
        package private(set) var name = ""
        /// The socket.
        public private(set) var options = ReachabilityOptions()
        /// Whether the target is expected to be reachable; `nil` if only the flags are compared.
        public private(set) var isReachable: Bool?
        /// The expected gateway; `nil` to compare none.
        public private(set) var gateway: IPAddress?
        /// The name of the expected interface; `nil` to compare none.
        public private(set) var interface: String?
        /// The expected source address; `nil` to compare none.
        public private(set) var sourceAddress: IPAddress?
        /// Whether this host is expected to receive an answer that arrives on the interface through which packets leave
        /// (`ReachabilityReport.returns`); `nil` to compare nothing.
        public private(set) var receivesAnswers: Bool?
        /// The expected flags, as `ReachabilityFlags.letters`; `nil` to compare none.
        public private(set) var letters: String?

        /// What is wrong with a line.
        public struct Malformation: Error, Hashable, Sendable, CustomStringConvertible {
            /// What is wrong, and what to write instead.
            public let description: String

            package init(_ description: String) {
                self.description = description
            }

            /// Throws unless a condition holds.
            package static func require(
                _ condition: Bool, _ description: @autoclosure () -> String
            ) throws(Self) {
                guard condition else { throw Self(description()) }
            }
        }

        /// The result of comparing an answer with an expectation.
        public enum Outcome: Hashable, Sendable {
            /// The answer is as expected.
            case holds
            /// The answer differs: in what, and why.
            case fails(String)
            /// There is no answer, or the answer does not decide the expectation: why.
            case undetermined(String)

            /// What differs, or why the outcome is undetermined; `nil` if the expectation holds.
            public var reason: String? {
                switch self {
                case .holds: nil
                case .fails(let reason), .undetermined(let reason): reason
                }
            }
        }

        /// Parses a line.
        ///
        /// - Parameter line: The line, such as `default via 192.0.2.1 dev eth0`.
        /// - Throws: ``Malformation``, which says what is expected.
        public init(_ line: String) throws(Malformation) {
            var words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            if let comment = words.firstIndex(where: { $0.hasPrefix("#") }) {
                words.removeSubrange(comment...)
            }
            description = words.joined(separator: " ")
            try read(words[...])
        }

        /// Compares with an answer.
        ///
        /// - Parameters:
        ///   - answer: The answer about ``target`` with ``options``.
        ///   - source: The network of the answer, which knows alternative names of interfaces; `nil` to ignore them.
        /// - Returns: The outcome.
        public func outcome(
            of answer: Result<ReachabilityReport, ReachabilityError>, in source: NetworkSource? = nil
        ) -> Outcome {
            let report: ReachabilityReport
            switch answer {
            case .success(let given): report = given
            case .failure(let error): return .undetermined(error.description)
            }
            let (differences, isOpen) = differences(from: report, source)
            guard differences.isEmpty else {
                return .fails("\(differences.joined(separator: ", ")): \(report.reason)")
            }
            if isOpen {
                let count = report.otherNexthops.count + 1
                return .undetermined("\(SnapshotLookup.choice(of: count)): \(report.reason)")
            }
            if sourceAddress != nil, report.sourceAddress == nil {
                return .undetermined("the kernel can select several source addresses: \(report.reason)")
            }
            if receivesAnswers != nil, report.receivesAnswers == nil {
                let cause = report.returns?.unknown ?? report.reason.description
                return .undetermined("whether an answer would be delivered is not known: \(cause)")
            }
            return .holds
        }

        /// What differs, and whether the kernel's choice among several nexthops decides.
        private func differences(
            from report: ReachabilityReport, _ source: NetworkSource?
        ) -> (words: [String], isOpen: Bool) {
            let reachable = report.isReachable
            if let isReachable, isReachable != reachable {
                return ([reachable ? "it is reachable" : "it is not reachable"], false)
            }
            var found: [String] = []
            func compare<Value: Equatable>(_ name: String, _ expected: Value?, _ value: Value?) {
                guard let expected, expected != value else { return }
                found.append(value.map { "the \(name) is \($0)" } ?? "it has no \(name)")
            }
            let index = interface.flatMap { try? source?.facts.routing.interfaceIndex(named: $0) }
            // An alternative name is another name of the same interface.
            func name(_ own: String?, _ place: UInt32?) -> String? {
                index != nil && index == place ? interface : own
            }
            typealias Hop = (gateway: IPAddress?, interface: String?)
            let first: Hop = (
                report.gateway?.withoutZone, name(report.interface?.name, report.interface?.index)
            )
            let nexthops =
                [first]
                + report.otherNexthops.map { (other) -> Hop in
                    (other.gateway?.withoutZone, name(other.interfaceName, other.interfaceIndex))
                }
            // One nexthop has to meet both.
            let matches = nexthops.count { nexthop in
                (gateway ?? nexthop.gateway) == nexthop.gateway
                    && (interface ?? nexthop.interface) == nexthop.interface
            }
            if matches == 0 {
                compare("gateway", gateway, first.gateway)
                compare("interface", interface, first.interface)
            }
            let isOpen = matches > 0 && matches < nexthops.count
            if !reachable || report.sourceAddress != nil {
                compare("source address", sourceAddress, report.sourceAddress?.withoutZone)
            }
            if let receivesAnswers, let isReceived = report.receivesAnswers, isReceived != receivesAnswers {
                found.append("an answer would be \(isReceived ? "delivered" : "dropped")")
            }
            if let letters, letters != report.flags.letters {
                found.append("the flags are \(report.flags.letters)")
            }
            return (found, isOpen)
        }
    }

    /// Compares expectations with the answers of this network.
    ///
    /// - Parameter expectations: The expectations; names are resolved by this host.
    /// - Returns: An outcome for each expectation in order.
    public func outcomes(of expectations: [Expectation]) -> [Expectation.Outcome] {
        expectations.map { expectation in
            expectation.outcome(
                of: answers(for: [expectation.target], options: expectation.options)[0], in: source)
        }
    }
}

// MARK: - Parsing

extension NetworkState.Expectation {
    /// The words that can follow the target, for messages.
    private static let grammar =
        """
        reachable, unreachable, via GATEWAY, dev NAME, from SOURCE, answers delivered or dropped, flags LETTERS, or a \
        socket option
        """
    /// The socket options, for messages.
    private static let options =
        "-4, -6, --interface, --source, --mark, --uid, --protocol, --port, --source-port or --tos"

    private mutating func read(_ words: ArraySlice<String>) throws(Malformation) {
        var rest = words
        var target: String?
        var (families, given): (Set<String>, Set<String>) = ([], [])
        while let word = rest.popFirst() {
            if word == "-4" || word == "-6" {
                families.insert(word)
            } else if word.hasPrefix("-") {
                try readOption(word, &rest)
            } else if target == nil {
                target = word
            } else {
                let isState = ["reachable", "unreachable"].contains(word)
                let name = isState ? "reachable or unreachable" : word
                try Malformation.require(given.insert(name).inserted, "\(name) is given twice")
                try readWord(word, &rest)
            }
        }
        guard let target else { throw Malformation("there is no target: begin with one, such as default") }
        try options.restrict(onlyIPv4: families.contains("-4"), onlyIPv6: families.contains("-6"))
        name = target
        do {
            self.target = try SocketText.target(target, options)
        } catch {
            throw Malformation("\(error)")
        }
        guard receivesAnswers == nil || isReachable != false else {
            throw Malformation("an unreachable target has no answers: leave out unreachable or answers")
        }
        if isReachable == nil, letters == nil || receivesAnswers != nil { isReachable = true }
    }

    /// Reads a socket option, whose value can follow an equals sign.
    private mutating func readOption(_ word: String, _ rest: inout ArraySlice<String>) throws(Malformation) {
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init)
        if parts.count == 2 { rest = [parts[1]] + rest }
        func value() throws(Malformation) -> String { try Self.value(of: parts[0], &rest) }
        switch parts[0] {
        case "--interface": options.interface = try SocketText.interface(try value())
        case "--source": options.sourceAddress = try SocketText.address(try value())
        case "--mark": options.mark = try SocketText.mark(try value())
        case "--uid": options.user = try SocketText.user(try value())
        case "--protocol": options.ipProtocol = try SocketText.ipProtocol(try value())
        case "--port": options.destinationPort = try SocketText.port(try value())
        case "--source-port": options.sourcePort = try SocketText.port(try value())
        case "--tos": options.typeOfService = try SocketText.typeOfService(try value())
        default: throw Malformation("\"\(parts[0])\" is not known here: give \(Self.options)")
        }
    }

    private mutating func readWord(_ word: String, _ rest: inout ArraySlice<String>) throws(Malformation) {
        switch word {
        case "reachable", "unreachable": isReachable = word == "reachable"
        case "via": gateway = try Self.address(word, &rest)
        case "from": sourceAddress = try Self.address(word, &rest)
        case "dev": interface = try Self.value(of: word, &rest)
        case "answers":
            let outcome = try Self.value(of: word, &rest)
            guard ["delivered", "dropped"].contains(outcome) else {
                throw Malformation("\"\(outcome)\" after answers is neither delivered nor dropped")
            }
            receivesAnswers = outcome == "delivered"
        case "flags": letters = try Self.letters(&rest)
        default: throw Malformation("\"\(word)\" is not known here: give \(Self.grammar)")
        }
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) throws(Malformation)
        -> String
    {
        guard let value = rest.popFirst() else { throw Malformation("\(word) needs a value") }
        return value
    }

    private static func address(
        _ word: String, _ rest: inout ArraySlice<String>
    ) throws(Malformation) -> IPAddress {
        let text = try value(of: word, &rest)
        guard let address = IPAddress(text), address.zone == nil else {
            let isName = word == "via" && text.first?.isLetter == true && !text.contains(":")
            throw Malformation(
                "\"\(text)\" after \(word) is not an address: give one such as 192.0.2.1"
                    + (isName ? ", or the interface as dev \(text)" : ""))
        }
        return address
    }

    /// Reads the letters of `check`, as one word or as the two words that `check` prints.
    private static func letters(_ rest: inout ArraySlice<String>) throws(Malformation) -> String {
        var text = try value(of: "flags", &rest)
        if text.count == 2, let second = rest.popFirst() { text += second }
        let all = "WRctiCDld"
        try Malformation.require(
            text.count == all.count && zip(text, all).allSatisfy({ $0 == "-" || $0 == $1 }),
            "\"\(text)\" after flags are not the letters WR ctiCDld, with - for each that is not set")
        return "\(text.prefix(2)) \(text.dropFirst(2))"
    }
}

extension ReachabilityReport {
    /// Whether this host receives an answer; `nil` if that is not known, or if there is no such answer.
    fileprivate var receivesAnswers: Bool? {
        returns.map(\.isDelivered) ?? (flags.contains(.isLocalAddress) ? true : nil)
    }
}
