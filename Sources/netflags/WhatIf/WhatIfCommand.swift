// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import NetlinkReachability
internal import NetlinkRecording

/// `netflags what-if`.
struct WhatIf: NetflagsCommand {
    static let configuration = CommandConfiguration(
        commandNamed: .whatIf,
        abstract: "Print what a change would do, without making it.",
        usage: """
            netflags what-if [options] <change> ... [-- <target> ...]
            netflags what-if --each [options] <target> ...
            """,
        discussion: """
            A change is one argument in the words of ip(8): 'link set eth0 down', 'route replace default via \
            192.0.2.1', 'addr del 192.0.2.2/24 dev eth0', 'rule add to 198.51.100.0/24 lookup 100', and \
            'carrier eth0 off' for a cable. None is made.

            The changes of links, addresses, routes and rules come first, then targets as in diff. Without \
            targets after -- they are the default path, an address of each concerned network, and of the running \
            kernel name servers and the other ends of a hundred connections at most. --each takes away \
            each link, carrier, gateway, address, route and rule that answers about targets use, one at a time: \
            none (the answer stays), fallback (another path), lost, or unknown.

            Exit status: 0 no target differs, every expectation holds, or no loss alone cuts a target off; 1 at least \
            one does or does not; 2 a change would be refused, or a target or loss could not be evaluated; 64 wrong \
            usage.
            """
    )

    @OptionGroup(title: "Socket options") var socket: SocketOptions

    @Flag(help: "One JSON object a target, as diff has it.")
    var json = false

    @Flag(help: "Take away what the answers use, one thing at a time.")
    var each = false

    @Option(
        name: .customLong("assert"),
        file: "Instead check these expectations; - for stdin.")
    var expectations: String?

    @Option(
        name: [.customLong("batch"), .customLong("batch", withSingleDash: true)],
        file: "First the changes of an ip -batch file; - for stdin.")
    var batch: String?

    @OptionGroup var recorded: RecordingListOptions

    @Option(
        name: .customLong("target"),
        help: ArgumentHelp("A target, as after --.", valueName: "target"))
    var targets: [String] = []

    @Argument(
        help: ArgumentHelp("A change in the words of ip(8); with --each a target.", valueName: "change"))
    var changes: [String] = []

    /// The arguments of this command in a form that the parser can read.
    ///
    /// The parser supports only one list of operands, so each target after the terminator becomes an option. It
    /// treats `-6 route del` as letters of options, so a change that begins with an option of ip(8) gets the prefix
    /// `ip`.
    static func readable(_ arguments: [String]) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        let changes = arguments[..<end].map { $0.isChangeWithOption ? "ip \($0)" : $0 }
        return changes + arguments[end...].dropFirst().map { "--target=\($0)" }
    }

    func perform() throws -> ExitStatus {
        let recordings = try recorded.list()
        let inputs = [batch, expectations].count { $0 == "-" } + (recordings?.readingStandardInput ?? 0)
        try UsageError.require(inputs < 2, "stdin can be read only once: give files for the others")
        if each { return try tryEachLoss(recordings) }
        try checkOperands()
        var changes = try batch.map(Self.changes(ofFile:)) ?? []
        try UsageError.wrapping {
            for text in self.changes { changes.append(try NetworkState.Change(text)) }
        }
        guard !changes.isEmpty else { throw UsageError("no change: give one such as 'link set eth0 down'") }
        guard let expectations else { return try compare(changes, recordings) }
        guard targets.isEmpty else { throw Self.targetsBesideExpectations }
        guard try socket.options(isReplay: true) == ReachabilityOptions() else {
            throw UsageError("the sockets are those of the expectations: give the options in their lines")
        }
        let file = try ExpectationFile(expectations, isReplay: true)
        let format = AssertFormat(file: file.name, isJSON: json)
        guard let recordings else {
            let before = try NetworkState.live()
            return try Output.standard.deliver {
                file.check(try before.applying(changes).source, after: before.source, format, to: &$0)
            }
        }
        return try recordings.forEach(
            isJSON: json, finding: "do not meet the expectations", errorRow: AssertFormat.errorRow
        ) { instant, routing, buffer in
            var format = format
            format.recording = instant.operand
            try routing.checkIsKnown()
            let before = NetworkState(routing)
            return file.check(
                try before.applying(changes).source, after: before.source, format, to: &buffer)
        }
    }

    private func tryEachLoss(_ recordings: RecordingList?) throws -> ExitStatus {
        guard batch == nil, expectations == nil else {
            throw UsageError("--each makes changes of its own: leave out --batch and --assert")
        }
        let options = try socket.options(isReplay: true)
        let named = try TargetQuery(targets: changes + targets, options: options).recordedTargets(
            needsOne: true)
        guard let recordings else {
            return try Output.standard.deliver {
                LossFormat(isJSON: json).write(try .live(), named, options, to: &$0)
            }
        }
        return try recordings.forEach(
            isJSON: json, finding: "are cut off, or would be by one loss", errorRow: LossFormat.errorRow
        ) { instant, routing, buffer in
            LossFormat(isJSON: json, recording: instant.operand)
                .write(NetworkState(routing), named, options, to: &buffer)
        }
    }

    /// Throws for a change whose words are not quoted, and for targets without the terminator.
    private func checkOperands() throws(UsageError) {
        let words = changes.filter { !$0.contains(where: \.isWhitespace) }
        guard !words.isEmpty, changes.count > 1 || batch != nil else { return }
        guard let (whole, all) = sorted(words) else {
            let isRecording = words.contains(where: Recording.isStored)
            throw UsageError(Self.operandRule + (isRecording ? "; a recording goes to --replay" : ""))
        }
        guard expectations == nil || all.isEmpty else { throw Self.targetsBesideExpectations }
        var line = whole.map(\.quotedForShell)
        if expectations == nil {
            line += ["--"] + (all.isEmpty ? ["TARGET"] : all.map(\.quotedForShell))
        }
        throw UsageError("\(Self.operandRule): behind the options write \(line.joined(separator: " "))")
    }

    private static let operandRule = "a change is one argument, and targets come after --"

    private static let targetsBesideExpectations = UsageError(
        "the targets are those of the expectations: leave out --assert, or the targets")

    /// The intended changes and targets if some operands are single words; `nil` if that is not known.
    private func sorted(_ words: [String]) -> (changes: [String], targets: [String])? {
        func isChange(_ text: String) -> Bool { (try? NetworkState.Change(text)) != nil }
        let whole = words.joined(separator: " ")
        if words.count == changes.count, isChange(whole) { return ([whole], targets) }
        let changes = changes.filter { !words.contains($0) }
        // With --batch and no other change, the operands can only be targets.
        let isTargets = changes.isEmpty ? batch != nil : words.allSatisfy(TargetQuery.isRecordedTarget)
        return isTargets && changes.allSatisfy(isChange) ? (changes, words + targets) : nil
    }

    /// The changes in a file that is parsed like that of `ip -batch` (`getcmdline`): one per line, with comments, and
    /// backslashes at the ends of lines that continue.
    private static func changes(ofFile path: String) throws -> [NetworkState.Change] {
        var changes: [NetworkState.Change] = []
        var begun: String?
        let file = LineFile(path)
        try file.forEachLine(isRaw: true, of: "change", such: "link set eth0 down") { _, line in
            let text = line.utf8.prefix { $0 != UInt8(ascii: "#") }
            let goesOn = text.endIndex == line.endIndex && text.last == UInt8(ascii: "\\")
            let whole = (begun ?? "") + (goesOn ? line.dropLast() : Substring(text))
            begun = goesOn ? whole : nil
            guard !goesOn, whole.contains(where: { !$0.isWhitespace }) else { return }
            changes.append(try UsageError.wrapping { try NetworkState.Change(whole) })
        }
        try UsageError.require(
            begun == nil, "\(file.name): the last line ends with a backslash, and none follows it")
        return changes
    }

    private func compare(
        _ changes: [NetworkState.Change],
        _ recordings: RecordingList?
    ) throws -> ExitStatus {
        let options = try socket.options(isReplay: true)
        let named = try TargetQuery(targets: targets, options: options).recordedTargets()
        func comparison(_ before: NetworkState) throws -> RecordedComparison {
            RecordedComparison(before.routing, try before.applying(changes).routing, isPrediction: true)
        }
        func print(
            _ comparison: RecordedComparison, _ recording: String?, beside own: [IPAddress] = []
        ) throws -> ExitStatus {
            if !json { try Output.standard.deliver(comparison.writeEffects) }
            let format = DifferenceFormat(text: comparison.text, isJSON: json, recording: recording)
            return try comparison.print(named, options, beside: own, format)
        }
        guard let recordings else {
            return try print(
                try comparison(try .live()), nil, beside: targets.isEmpty ? Self.ownTargets : [])
        }
        return try recordings.forEach(
            isJSON: json, finding: "differ", errorRow: DifferenceFormat.errorRow
        ) { instant, routing, buffer in
            try routing.checkIsKnown()
            let comparison = try comparison(NetworkState(routing))
            guard recordings.isNamed else { return try print(comparison, instant.operand) }
            let (queries, omitted) = comparison.queries(options, named)
            if omitted > 0 { printError("\(instant.operand): \(RecordedComparison.omission(omitted))") }
            let format = DifferenceFormat(text: comparison.text, isJSON: json, recording: instant.operand)
            var rows = ByteBuffer()
            let status = comparison.forEachDifference(queries) { found in
                format.write(found, to: &rows)
                found.printMistake(of: instant.operand)
            }
            if status != .success, !json { comparison.writeEffects(to: &buffer) }
            buffer.append(bytes: rows.bytes)
            return status
        }
    }

    /// The name servers of this host, and the remote addresses of its connections.
    private static var ownTargets: [IPAddress] {
        let servers = (try? NetworkSource.kernel.blockingValue(of: .path()).nameservers) ?? []
        var remotes: [IPAddress] = []
        do {
            remotes = try SocketList(source: .kernel, namesProcesses: false).remotes()
        } catch {
            printError("the other ends of connections are not compared: \(error)")
        }
        let limit = RecordedComparison.networkLimit
        if remotes.count > limit {
            printError(
                "\(remotes.count - limit) more ends of connections were not compared: give them as targets")
        }
        return servers + remotes.prefix(limit).filter { !servers.contains($0) }
    }
}

extension RecordedRouting {
    /// Throws if the recording has no interfaces at its instant.
    ///
    /// Otherwise a change would be refused for another reason.
    fileprivate func checkIsKnown() throws(ReachabilityError) {
        _ = try links()
    }
}

extension String {
    /// Whether this is a change that begins with an option, such as `-6 route del default`, in one operand.
    fileprivate var isChangeWithOption: Bool {
        guard hasPrefix("-"), let end = firstIndex(where: \.isWhitespace) else { return false }
        return !self[..<end].contains("=")
    }

    /// The text as one word of a shell.
    fileprivate var quotedForShell: String {
        let isPlain = allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "%+,-./:=@_".contains($0)) }
        return isPlain && !isEmpty ? self : "'\(replacing("'", with: #"'\''"#))'"
    }
}
